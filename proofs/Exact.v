(* Chapter 7: exact classification. For any N labelled sequences, as sets, there is a hardmax
   transformer of at most 2N - 1 blocks and 16Nd + 9N parameters that gives each its label. *)
From mathcomp Require Import zify.
From Hardmax Require Import Model Geometry.
Local Open Scope ring_scope.

(* The definitions of chapter 7 *)
Section Blocks.
Variables (R : realFieldType) (d : nat).

(* def-block. Q^T K has at most the rank `keys`; V is a product of two factors, and has at most the
   rank `values`. *)
Record block := Block {
  neurons : nat; U : 'M[R]_(neurons, d); b : 'rV[R]_neurons; W : 'M[R]_(d, neurons); eta : R;
  keys : nat; Q : 'M[R]_(keys, d); K : 'M[R]_(keys, d);
  values : nat; V1 : 'M[R]_(d, values); V2 : 'M[R]_(values, d); rho : R }.

Definition relu m (x : 'rV[R]_m) : 'rV[R]_m := map_mx (Num.max 0) x.
Definition feed_forward B x : 'rV[R]_d := eta B *: x + relu (x *m (U B)^T + b B) *m (W B)^T.
Definition hears B n (Z : 'I_n -> 'rV[R]_d) i : {set 'I_n} :=
  let s l := dot (Z i *m (Q B)^T) (Z l *m (K B)^T) in
  [set j | [forall l, s l <= s j]].
Definition self_attention B n (Z : 'I_n -> 'rV[R]_d) i :=
  rho B *: Z i + mean (hears B Z i) Z *m (V1 B *m V2 B)^T.
Definition apply_block n (Z : 'I_n -> 'rV[R]_d) B :=
  self_attention B (fun i => feed_forward B (Z i)).
Definition transform n (Bs : seq block) (Z : 'I_n -> 'rV[R]_d) := foldl (@apply_block n) Z Bs.

(* All numbers of a block, zero or not. *)
Definition parameters B : nat :=
  neurons B * d + neurons B + d * neurons B + 2 * (keys B * d) + 2 * (d * values B) + 2.

End Blocks.

(* Numbers that avoid finitely many others *)
Section Avoid.
Variable R : realFieldType.

Lemma avoid (L : seq (R * R)) : exists2 s, 0 < s &
  forall p, p \in L -> p.1 != 0 \/ p.2 != 0 -> p.1 + s * p.2 != 0.
Proof. exists (1 + \sum_(p <- L) `|p.1 / p.2|) => [|[x y] xyL /= xy0].
  by rewrite ltr_spaddl ?ltr01 ?sumr_ge0.
set s := 1 + _; have less : `|x / y| < s.
  by rewrite /s (big_rem _ xyL) /= addrCA ltr_addl ltr_spaddl ?ltr01 ?sumr_ge0.
have s0 : 0 < s by apply: le_lt_trans less.
have [y0|y0] := eqVneq y 0; first by rewrite y0 mulr0 addr0; case: xy0 => //; rewrite y0 eqxx.
apply: contraTneq less => /eqP; rewrite addr_eq0 => /eqP ->.
by rewrite -mulNr mulfK // normrN gtr0_norm // ltxx.
Qed.

(* <x, y> is the score of the identity, so it opens brackets as scores do. *)
Lemma dotE d (x y : 'rV[R]_d) : dot x y = score 1%:M x y.
Proof. by rewrite /score trmx1 mulmx1. Qed.

Lemma dot_neq0 d (v : 'rV[R]_d) : v != 0 -> dot v v != 0.
Proof. apply: contra; rewrite psumr_eq0 => [/allP v0|c _]; last by rewrite -expr2 sqr_ge0.
apply/eqP/rowP => c; apply/eqP; rewrite mxE -sqrf_eq0 expr2; exact: v0.
Qed.

(* Almost every g will do; one is enough. *)
Lemma some_direction d (L : seq 'rV[R]_d) : exists g, forall v, v \in L -> v != 0 -> dot g v != 0.
Proof. elim: L => [|w L [g gL]]; first by exists 0.
have [s s0 sL] := avoid [seq (dot g v, dot w v) | v <- w :: L].
exists (g + s *: w) => v vL v0; rewrite dotE !score_lin -!dotE.
apply: (sL (dot g v, dot w v)); first exact: (map_f (fun v => (dot g v, dot w v)) vL).
by move: vL; rewrite inE => /predU1P [<-|/gL /(_ v0)]; [right; exact: dot_neq0 | left].
Qed.

End Avoid.

(* How many different values a function on N sequences has *)
Section Distinct.
Variables (T : eqType) (N : nat).
Implicit Types (f g : 'I_N -> T) (i j : 'I_N).

Definition distinct f := size (undup (codom f)).

Lemma distinct_le f : (distinct f <= N)%N.
Proof. by rewrite (leq_trans (size_undup _)) // size_codom card_ord. Qed.
Lemma distinct_gt0 f (i : 'I_N) : (0 < distinct f)%N.
Proof. by rewrite -has_predT; apply/hasP; exists (f i); rewrite ?mem_undup ?codom_f. Qed.

(* If g tells apart what f does, and two more, it has more values: all of f come from those of g but
   one. *)
Lemma more_distinct f g i j : (forall i j, g i = g j -> f i = f j) -> f i = f j -> g i != g j ->
  (distinct f < distinct g)%N.
Proof. move=> gf fij gij; pose f' t := if [pick l | g l == t] is Some l then f l else f i.
have f'E l : f' (g l) = f l.
  by rewrite /f'; case: pickP => [l' /eqP /gf//|/(_ l)]; rewrite eqxx.
have in_g l : g l \in undup (codom g) by rewrite mem_undup codom_f.
have sub : {subset undup (codom f) <= [seq f' t | t <- rem (g j) (undup (codom g))]}.
  move=> t; rewrite mem_undup => /codomP [l ->]; have [lj|lj] := eqVneq (g l) (g j).
    by rewrite (gf _ _ lj) -fij -f'E map_f // mem_rem_uniq ?undup_uniq // inE gij; exact: in_g.
  by rewrite -f'E map_f // mem_rem_uniq ?undup_uniq // inE lj; exact: in_g.
have := uniq_leq_size (undup_uniq _) sub; rewrite size_map size_rem // => /leq_ltn_trans; apply.
by rewrite ltn_predL (distinct_gt0 g i).
Qed.

End Distinct.

(* The blocks of the construction. A token is a point (p, q) of a plane, and p its place; before the
   first block the place is read off the token, as <u, x> + c. *)
Section Construction.
Variables (R : realFieldType) (d : nat).
Local Notation point := 'rV[R]_(d.+2).
Implicit Types (x u : point) (c t s : R) (B : block R d.+2).

Definition at0 : 'I_d.+2 := ord0.
Definition at1 : 'I_d.+2 := lift ord0 ord0.
Definition axis (i : 'I_d.+2) : 'rV[R]_(d.+2) := delta_mx 0 i.
Definition plane (p q : R) : point := p *: axis at0 + q *: axis at1.
Definition place u c x := dot u x + c.

Lemma plane0 p q : plane p q 0 at0 = p. Proof. by rewrite !mxE !eqxx mulr1 mulr0 addr0. Qed.
Lemma plane1 p q : plane p q 0 at1 = q. Proof. by rewrite !mxE !eqxx mulr1 mulr0 add0r. Qed.

Lemma dot_axis i x : dot (axis i) x = x 0 i.
Proof.
rewrite /dot (bigD1 i) //= big1 ?addr0 => [|c /negbTE ci]; rewrite !mxE eqxx ?eqxx ?mul1r //=.
by rewrite ci mul0r.
Qed.

Lemma score_axes (i j : 'I_d.+2) x y : dot (x *m (axis i)^T) (y *m (axis j)^T) = x 0 i * y 0 j.
Proof. by rewrite !trmx_delta -!colE /dot big_ord1 !mxE. Qed.

(* The greatest of finitely many numbers, and how near they come to t. *)
Definition greatest n (f : 'I_n.+1 -> R) := f [arg max_(j > ord0) f j]%O.
Definition nearest n t (f : 'I_n.+1 -> R) := - greatest (fun j => - `|f j - t|).

Lemma le_greatest n (f : 'I_n.+1 -> R) j : f j <= greatest f.
Proof. by rewrite /greatest; case: arg_maxP => // l _; apply. Qed.

Lemma eq_greatest n (f g : 'I_n.+1 -> R) : f =1 g -> greatest f = greatest g.
Proof. move=> fg; apply/eqP.
by rewrite eq_le {1}/greatest fg le_greatest {1}/greatest -fg le_greatest.
Qed.

Lemma greatestD n (f : 'I_n.+1 -> R) s : greatest (fun j => f j + s) = greatest f + s.
Proof. apply/eqP; rewrite eq_le {1}/greatest ler_add2r le_greatest /=.
exact: (le_greatest (fun j => f j + s)).
Qed.

Lemma nearest_eq0 n t (f : 'I_n.+1 -> R) : (nearest t f == 0) = (t \in codom f).
Proof. rewrite oppr_eq0; apply/eqP/codomP => [/eqP|[j ->]].
  by rewrite oppr_eq0 normr_eq0 subr_eq0 => /eqP <-; eexists.
apply/eqP; rewrite eq_le oppr_le0 normr_ge0 /=.
by rewrite -[X in X <= _](_ : - `|f j - f j| = 0) ?le_greatest ?subrr ?normr0 ?oppr0.
Qed.

Lemma mean_entry n (Y : 'I_n -> point) (C : {set 'I_n}) r w j0 :
  j0 \in C -> (forall j, j \in C -> Y j 0 r = w) -> mean C Y 0 r = w.
Proof. move=> jC Yw; rewrite -dot_axis dotE; apply: (score_mean_eq jC) => j /Yw <-.
by rewrite -dotE dot_axis.
Qed.

(* Whoever attends along the first coordinate, where all are positive, hears the greatest in
   coordinate r. *)
Lemma hears_the_greatest B n (Y : 'I_n.+1 -> point) r i (F := fun j => Y j 0 r) : 0 < Y i 0 at0 ->
  (forall j l, dot (Y j *m (Q B)^T) (Y l *m (K B)^T) = Y j 0 at0 * Y l 0 r) ->
  exists2 j, j \in hears B Y i & forall j, j \in hears B Y i -> F j = greatest F.
Proof. move=> Y0 scores; exists [arg max_(j > ord0) F j]%O => [|j].
  by rewrite inE; apply/forallP => l; rewrite !scores ler_pmul2l //; exact: (le_greatest F).
rewrite inE => /forallP /(_ [arg max_(j > ord0) F j]%O); rewrite !scores ler_pmul2l // => max_le.
by apply/eqP; rewrite eq_le le_greatest.
Qed.

(* A feed-forward layer by its neurons: each reads <u, x> + b, and writes along w. *)
Record neuron := Neuron { reads : point; bias : R; writes : point }.
Definition of_neurons (ns : seq neuron) eta r Q K m V1 V2 rho : block R d.+2 :=
  let v i := nth (Neuron 0 0 0) ns i in @Block R d.+2
    (size ns) (\matrix_(i, e) reads (v i) 0 e) (\row_i bias (v i)) (\matrix_(e, i) writes (v i) 0 e)
    eta r Q K m V1 V2 rho.

Lemma feed_neurons ns eta r Q K m V1 V2 rho x :
  feed_forward (@of_neurons ns eta r Q K m V1 V2 rho) x =
  eta *: x + \sum_(v <- ns) Num.max 0 (dot (reads v) x + bias v) *: writes v.
Proof. congr (_ + _); apply/rowP => e; rewrite mxE (big_nth (Neuron 0 0 0)) big_mkord summxE.
apply: eq_bigr => i _; rewrite !mxE; congr (Num.max 0 (_ + _) * _).
by apply: eq_bigr => e' _; rewrite !mxE mulrC.
Qed.

(* The separating block: three neurons make (p, - |p - t|) of a token, and attention of rank one
   adds. *)
Definition separating u c t s : block R d.+2 := @of_neurons
  [:: Neuron u c (axis at0); Neuron u (c - t) (- axis at1); Neuron (- u) (t - c) (- axis at1)] 0
  1 (axis at0) (axis at1) 1 (- s *: (axis at0)^T) (axis at1) 1.

Lemma max0_norm (p : R) : Num.max 0 p + Num.max 0 (- p) = `|p|.
Proof. case: (ltrgt0P p) => [p0|p0|->]; last by rewrite oppr0 maxxx addr0.
  by rewrite max_l ?addr0 // oppr_le0 ltW.
by rewrite max_r ?add0r // oppr_ge0 ltW.
Qed.

Lemma feed_separating u c t s x : 0 < place u c x ->
  feed_forward (separating u c t s) x = plane (place u c x) (- `|place u c x - t|).
Proof.
rewrite feed_neurons !big_cons big_nil /= scale0r add0r addr0 [dot (- u) x]dotE scoreNl -dotE => p0.
have -> : dot u x + (c - t) = place u c x - t by rewrite addrA.
have -> : - dot u x + (t - c) = t - place u c x by rewrite opprD addrCA addrA.
rewrite -/(place u c x); move: (place u c x) p0 => p p0.
rewrite !scalerN -opprD -scalerDl -[t - p]opprB max0_norm (max_r (ltW p0)).
by rewrite /plane scaleNr.
Qed.

Lemma move_along s x : (x *m (- s *: (axis at0)^T *m axis at1)^T) 0 at0 = - s * x 0 at1.
Proof. rewrite trmx_mul linearZ /= trmxK trmx_delta mulmxA -colE -scalemxAr mxE; congr (_ * _).
by rewrite mxE big_ord1 !mxE !eqxx mulr1.
Qed.

(* lem-separating-block: every token of a sequence moves by s D_t, the same amount. *)
Theorem separating_block n (Z : 'I_n.+1 -> point) u c t s i : (forall j, 0 < place u c (Z j)) ->
  apply_block Z (separating u c t s) i 0 at0 = place u c (Z i) + s * nearest t
    (fun j => place u c (Z j)).
Proof. move=> pos; rewrite /apply_block; set Y := fun j => feed_forward _ (Z j).
have YE j : Y j = plane (place u c (Z j)) (- `|place u c (Z j) - t|) by exact: feed_separating.
rewrite /self_attention mxE move_along scale1r YE plane0; congr (_ + _);
  rewrite /nearest mulrN mulNr; congr (- (_ * _)).
have [|j l|j0 j0C heard] := @hears_the_greatest (separating u c t s) n Y at1 i.
- by rewrite YE plane0.
- exact: score_axes.
by rewrite (mean_entry j0C heard); apply: eq_greatest => j; rewrite YE plane1.
Qed.

Definition separators (vs : seq (point * R * R * R)) :=
  [seq (let: (u, c, t, s) := v in separating u c t s) | v <- vs].

Lemma parameters_separating vs :
  all (fun B => (parameters B == 10 * d.+2 + 5)%N && (keys B <= 1)%N) (separators vs).
Proof. elim: vs => //= -[[[u c] t] s] vs ->.
by rewrite /parameters /= !andbT; apply/eqP; lia.
Qed.

(* The collapse: all tokens of a sequence become the one with the greatest place, and say y. *)
Definition in_plane : 'M[R]_(2, d.+2) := \matrix_(k, e) axis (if k == 0 then at0 else at1) 0 e.
Definition collapse u c y : block R d.+2 := @of_neurons
  [:: Neuron u c (axis at0); Neuron 0 1 (y *: axis at1)] 0 1 (axis at0) (axis at0) 2
    in_plane^T in_plane 0.

Lemma project_plane x : x *m (in_plane^T *m in_plane)^T = plane (x 0 at0) (x 0 at1).
Proof. rewrite trmx_mul trmxK mulmxA; apply/rowP => e;
  rewrite mxE !big_ord_recl big_ord0 addr0 !mxE -!(dot_axis _ x) /=.
by congr (_ * _ + _ * _); apply: eq_bigr => e' _; rewrite !mxE mulrC.
Qed.

Lemma collapses n (Z : 'I_n.+1 -> point) u c y i : (forall j, 0 < place u c (Z j)) ->
  apply_block Z (collapse u c y) i = plane (greatest (fun j => place u c (Z j))) y.
Proof. move=> pos; rewrite /apply_block /self_attention project_plane scale0r add0r.
set Y := fun j => feed_forward _ (Z j); have YE j : Y j = plane (place u c (Z j)) y.
  rewrite /Y feed_neurons !big_cons big_nil /= scale0r add0r addr0 [dot 0 _]dotE score0l add0r.
  rewrite [Num.max 0 1]max_r ?ler01 // scale1r.
  by rewrite -/(place u c _) max_r ?ltW.
have [|j l|j0 j0C heard] := @hears_the_greatest (collapse u c y) n Y at0 i.
- by rewrite YE plane0.
- exact: score_axes.
rewrite (mean_entry j0C heard) (@mean_entry _ _ _ _ y _ j0C) => [|j _]; last by rewrite YE plane1.
by congr plane; apply: eq_greatest => j; rewrite YE plane0.
Qed.

(* Labels: a ramp between the places l and m, and no attention; beyond it, q is larger by y. *)
Definition ramp l m y : block R d.+2 :=
  let u := (m - l)^-1 *: axis at0 in let c := - (l / (m - l)) in @of_neurons
  [:: Neuron u c (y *: axis at1); Neuron u (c - 1) (- y *: axis at1)] 1 1 0 0 0 0 0 1.

Lemma apply_ramp n (Z : 'I_n -> point) l m y i p q : Z i = plane p q -> l < m ->
  (p <= l -> apply_block Z (ramp l m y) i = plane p q) /\
  (m <= p -> apply_block Z (ramp l m y) i = plane p (q + y)).
Proof. move=> Zi lm; have ml0 : 0 < m - l by rewrite subr_gt0.
rewrite /apply_block /self_attention /= mul0mx trmx0 mulmx0 addr0 scale1r Zi.
rewrite feed_neurons !big_cons big_nil /= addr0 scale1r.
have -> : dot ((m - l)^-1 *: axis at0) (plane p q) = p / (m - l).
  by rewrite dotE scoreZl -dotE dot_axis plane0 mulrC.
rewrite [p / _ + (_ - 1)]addrA -mulrBl; split=> [pl|mp].
  have le0 : (p - l) / (m - l) <= 0 by rewrite pmulr_lle0 ?invr_gt0 // subr_le0.
  by rewrite !max_l // ?scale0r ?addr0 // subr_le0 (le_trans le0) ?ler01.
have ge1 : 1 <= (p - l) / (m - l) by rewrite ler_pdivl_mulr // mul1r ler_add2r.
rewrite !max_r ?subr_ge0 //; last exact: le_trans ler01 ge1.
by rewrite scaleNr scalerN -scalerBl subKr scale1r /plane [in RHS]scalerDl addrA.
Qed.

(* N - 1 ramps write any labels on N places: with the places in order, one ramp for each gap. *)
Lemma write_labels (L : seq (R * R)) m0 y0 : path <%R m0 (unzip1 L) ->
  exists Bs : seq (block R d.+2),
  [/\ size Bs = size L, all (fun B => (parameters B == 6 * d.+2 + 4)%N && (keys B <= 1)%N) Bs &
      forall n (Z : 'I_n -> point) i p q, Z i = plane p q ->
        (p <= m0 -> transform Bs Z i = plane p q) /\
        (forall y, (p, y) \in (m0, y0) :: L -> transform Bs Z i = plane p (q + (y - y0)))].
Proof. elim: L m0 y0 => [|[m1 y1] L IH] m0 y0 /=.
  move=> _; exists [::]; split=> // n Z i p q Zi; split=> // y.
  by rewrite inE => /eqP [_ ->]; rewrite subrr addr0.
case/andP => m01 sorted; have [Bs [sz par run]] := IH m1 y1 sorted.
exists (ramp m0 m1 (y1 - y0) :: Bs); split=> /= [||n Z i p q Zi]; first by rewrite sz.
  by rewrite par /parameters /= andbT; apply/eqP; lia.
have [low high] := apply_ramp (y1 - y0) Zi m01.
have first : p <= m0 -> transform Bs (apply_block Z (ramp m0 m1 (y1 - y0))) i = plane p q.
  by move=> pm; apply: (run _ _ _ _ _ (low pm)).1; rewrite (le_trans pm) ?ltW.
split=> // y; rewrite inE => /predU1P [[pm ->]|pL]; first by rewrite subrr addr0;
  apply: first; rewrite pm.
have m1p : m1 <= p.
  move: pL; rewrite inE => /predU1P [[-> _]|/(map_f fst) pL] //.
  by have /allP /(_ _ pL) := order_path_min lt_trans sorted; exact: ltW.
by rewrite ((run _ _ _ _ _ (high m1p)).2 _ pL); congr plane; ring.
Qed.

(* Separation: N - 1 blocks suffice *)
Section Enough.
Variables (N : nat) (n : 'I_N -> nat) (y : 'I_N -> R).
Implicit Types (Z : forall i, 'I_(n i).+1 -> point).

(* M(X), the last place of a sequence; and whether sequences of different labels, with the same M,
   differ as sets of places. This is so from layer to layer: sequences with equal M have been moved
   by the same amounts so far. *)
Definition last_place u c Z i := greatest (fun l => place u c (Z i l)).
Definition differ u c Z := forall i j, y i != y j -> last_place u c Z i = last_place u c Z j ->
  exists t, (t \in codom (fun l => place u c (Z i l))) !=
    (t \in codom (fun l => place u c (Z j l))).
Definition separates (Bs : seq (block R d.+2)) u c Z :=
  exists u' c', let Z' i := transform Bs (Z i) in
  (forall i l, 0 < place u' c' (Z' i l)) /\
  forall i j, y i != y j -> last_place u' c' Z' i != last_place u' c' Z' j.

(* Each block makes one more different M at least. *)
Lemma separation_goes_on m u c Z : (N - distinct (last_place u c Z) < m)%N ->
  (forall i l, 0 < place u c (Z i l)) -> differ u c Z ->
  exists2 vs, separates (separators vs) u c Z &
    (size vs <= N - distinct (last_place u c Z))%N && all (fun v => 0 < v.2) vs.
Proof. elim: m u c Z => // m IH u c Z few pos diff.
set M := last_place u c Z in few *.
have [/existsP [i0 /existsP [j0 /andP [yij /eqP Mij]]]|] := boolP
  [exists i, exists j, (y i != y j) && (M i == M j)];
  last first.
  move=> none; exists [::] => //; exists u, c; split=> // i j yij; apply: contra none => eqM.
  by apply/existsP; exists i; apply/existsP; exists j; rewrite yij.
have [t tij] := diff i0 j0 yij Mij; pose D i := nearest t (fun l => place u c (Z i l)).
have D0 i : 0 <= D i by rewrite oppr_ge0 oppr_le0.
have [s s0 avoids] := avoid [seq (M i - M j, D i - D j) | i <- enum 'I_N, j <- enum 'I_N].
pose B := separating u c t s; pose Z' i := apply_block (Z i) B;
  pose M' := last_place (axis at0) 0 Z'.
have place' i l : place (axis at0) 0 (Z' i l) = place u c (Z i l) + s * D i.
  by rewrite {1}/place addr0 dot_axis separating_block.
have M'E i : M' i = M i + s * D i by rewrite -greatestD; apply: eq_greatest => l.
have same i j : M' i = M' j -> M i = M j /\ D i = D j.
  move=> /eqP; rewrite !M'E -subr_eq0 opprD addrACA -mulrBr => eq0.
  have {}avoids := avoids (M i - M j, D i - D j) (allpairs_f _ (mem_enum _ i) (mem_enum _ j)).
  split; apply/eqP; rewrite -subr_eq0; apply: contraT => ne; move: avoids; rewrite /= eq0; apply.
    by left.
  by right.
have more_of_them : (distinct M < distinct M')%N.
  apply: (more_distinct (i := i0) (j := j0)) => [i j /same []||] //.
  by apply: contraNneq tij => /same [_ eqD]; rewrite -!nearest_eq0 -/(D i0) -/(D j0) eqD.
have [||i j ynij /same [eqM eqD]|vs sep /andP [sz par]] := IH (axis at0) 0 Z'.
- by have := distinct_le M'; rewrite -/M'; lia.
- by move=> i l; rewrite place' ltr_paddr // mulr_ge0 // ltW.
- have [t' t'ij] := diff i j ynij eqM; exists (t' + s * D i).
  have shift k : D k = D i -> (t' + s * D i \in codom (fun l => place (axis at0) 0 (Z' k l))) =
      (t' \in codom (fun l => place u c (Z k l))).
    move=> Dk; apply/codomP/codomP => -[l] => [|->]; last by exists l; rewrite place' Dk.
    by rewrite place' Dk => /addIr ->; exists l.
  by rewrite !shift.
exists ((u, c, t, s) :: vs); first exact: sep.
rewrite /= s0 par !andbT; apply: leq_ltn_trans sz _.
by rewrite ltn_sub2l // (leq_trans more_of_them) ?distinct_le.
Qed.

(* lem-enough: with at most N - 1 separating blocks of positive strengths all sequences with
   different labels get different M. *)
Theorem enough_blocks u c Z : (forall i l, 0 < place u c (Z i l)) -> differ u c Z ->
  exists2 vs, separates (separators vs) u c Z & (size vs <= N - 1)%N && all (fun v => 0 < v.2) vs.
Proof. move=> pos diff; have [vs sep /andP [sz pos']] := separation_goes_on (leqnn _) pos diff.
exists vs; rewrite // pos' andbT; apply: leq_trans sz _.
case: (posnP N) => [|N0]; first by lia.
by rewrite leq_sub2l // (distinct_gt0 _ (Ordinal N0)).
Qed.

End Enough.

(* thm-exact, for sequences that differ as sets: its blocks, and its parameters in all. *)
Theorem exact_classification N (n : 'I_N -> nat) (X : forall i, 'I_(n i).+1 -> point)
  (y : 'I_N -> R) :
  (forall i j, y i != y j -> exists x, (x \in codom (X i)) != (x \in codom (X j))) ->
  exists Bs : seq (block R d.+2),
  [/\ (size Bs <= 2 * N - 1)%N, (\sum_(B <- Bs) parameters B <= 16 * N * d.+2 + 9 * N)%N,
      all (fun B => keys B <= 1)%N Bs & forall i l, transform Bs (X i) l 0 at1 = y i].
Proof. move=> diff; pose tokens := flatten [seq codom (X i) | i <- enum 'I_N].
have token i l : X i l \in tokens by apply/flatten_mapP; exists i; rewrite ?mem_enum ?codom_f.
have [g gP] := some_direction [seq x - x' | x <- tokens, x' <- tokens].
have g_inj x x' : x \in tokens -> x' \in tokens -> dot g x = dot g x' -> x = x'.
  move=> xT x'T eq; apply/eqP; rewrite -subr_eq0; apply: contraT => /(gP _ (allpairs_f _ xT x'T)).
  by rewrite dotE scoreBr -!dotE eq subrr eqxx.
pose c := 1 + \sum_(x <- tokens) `|dot g x|.
have pos i l : 0 < place g c (X i l).
  have le_sum : `|dot g (X i l)| <= \sum_(x <- tokens) `|dot g x|.
    by rewrite (big_rem _ (token i l)) /= ler_addl sumr_ge0.
  rewrite /place /c addrCA ltr_spaddl ?ltr01 // -ler_subl_addl sub0r (le_trans _ le_sum) //.
  by rewrite -normrN ler_norm.
have places x i : x \in tokens -> (place g c x \in codom (fun l => place g c (X i l))) =
  (x \in codom (X i)).
  move=> xT; apply/codomP/codomP => -[l] => [/addIr /(g_inj _ _ xT (token i l)) ->|->]; by exists l.
have [|vs [u [c1 [pos1 diff1]]] /andP [sz1 _]] := @enough_blocks N n y g c X pos.
  move=> i j ynij _; have [x xij] := diff i j ynij; exists (place g c x).
  suff xT : x \in tokens by rewrite !places.
  apply: contraT => xT; have none k : (x \in codom (X k)) = false.
    by apply/negbTE; apply: contra xT => /codomP [l ->].
  by rewrite !none in xij.
have par1 := parameters_separating vs.
have szB : size (separators vs) = size vs by rewrite size_map.
set Bs1 := separators vs in pos1 diff1 par1 szB; rewrite -szB in sz1.
set M := last_place u c1 _ in diff1.
case: (posnP N) => [N0|N0].
  by exists [::]; split; rewrite ?big_nil // => i; have := ltn_ord i; rewrite {2}N0.
(* The places in order, each with its label. *)
pose label m := y (odflt (Ordinal N0) [pick i | M i == m]).
have labelE i : label (M i) = y i.
  rewrite /label; case: pickP => [j /eqP eqM|/(_ i)]; last by rewrite eqxx.
  by apply/eqP; apply: contraT => /diff1; rewrite -/M eqM eqxx.
case msE : (sort <=%R (undup (codom M))) => [|m0 ms].
  by have : M (Ordinal N0) \in [::] by rewrite -msE mem_sort mem_undup codom_f.
have inM i : M i \in m0 :: ms by rewrite -msE mem_sort mem_undup codom_f.
have sorted : path <%R m0 ms by have := sort_lt_sorted (undup (codom M)); rewrite undup_uniq msE.
have szM : (size ms < N)%N.
  by rewrite -[(size ms).+1]/(size (m0 :: ms)) -msE size_sort (leq_trans (size_undup _)) //
    size_codom card_ord.
have [|Bs3 [sz3 par3 run3]] := @write_labels [seq (m, label m) | m <- ms] m0 (label m0).
  by rewrite /unzip1 -map_comp map_id.
rewrite size_map in sz3; exists (Bs1 ++ collapse u c1 (label m0) :: Bs3); split.
- have -> : (2 * N - 1 = (N - 1) + N)%N by lia.
  by rewrite size_cat /= sz3 leq_add.
- have total (Bs : seq (block R d.+2)) k :
      all (fun B => (parameters B == k) && (keys B <= 1)%N) Bs ->
      (\sum_(B <- Bs) parameters B = size Bs * k)%N.
    elim: Bs => [|B Bs IH] /=; first by rewrite big_nil.
    by case/andP => /andP [/eqP parB _] /IH sumB; rewrite big_cons parB sumB mulSn.
  rewrite big_cat big_cons /= (total _ _ par1) (total _ _ par3) sz3.
  have := leq_mul sz1 (leqnn (10 * d.+2 + 5)); have : (size ms <= N - 1)%N by lia.
  move=> szN; have := leq_mul szN (leqnn (6 * d.+2 + 4)).
  have NE : (N = (N - 1) + 1)%N by lia.
  by rewrite /parameters /= [in X in _ -> _ -> (_ <= X)%N]NE; move: (N - 1)%N => N'; lia.
- rewrite all_cat /=; apply/andP; split; [move: par1 | move: par3]; by apply: sub_all => B /andP [].
move=> i l; rewrite /transform foldl_cat /= -/(transform Bs1 _) -/(transform Bs3 _).
have at_M := collapses (label m0) l (pos1 i);
  rewrite -/(last_place u c1 (fun i => transform Bs1 (X i)) i) in at_M.
rewrite ((run3 _ _ _ _ _ at_M).2 (y i)) ?plane1 ?(addrC _ (y i - _)) ?subrK // -labelE.
exact: (map_f (fun m => (m, label m)) (inM i)).
Qed.

End Construction.
