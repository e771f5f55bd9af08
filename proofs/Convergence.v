(* Chapter 2, the theorem: every token converges to a point of S(K); and with it chapter 3, a leader
   at every vertex.

   Where the book passes to subsequences, an ultrafilter U on the layers does it once and for all:
   along it every bounded sequence has a limit, and every choice among finitely many is made. These
   proofs are over the real numbers, and use the classical axioms of the library of analysis. *)
From Hardmax Require Import Model Geometry Layers Settlement Leaders.
From mathcomp Require Import mathcomp_extra boolp classical_sets reals signed topology normedtype
  sequences.
Import Order.Theory GRing.Theory Num.Theory numFieldNormedType.Exports.
Local Open Scope ring_scope.
Local Open Scope classical_set_scope.

Section AlongAnUltrafilter.
Variables (R : realType) (U : set (set nat)) (UU : UltraFilter U).
Local Existing Instance ultra_proper.
Implicit Types (f g : nat -> R).

Lemma finite_choice (T : finType) (p : nat -> T) : exists t, U [set k | p k = t].
Proof. apply: contrapT => /forallNP no.
have all t : \forall k \near U, p k <> t.
  by have [/no//|] := in_ultra_setVsetC [set k | p k = t] UU.
by have [k /(_ (p k))] := filter_ex (filter_forall _ all).
Qed.

Lemma bounded_limit f b : (forall k, `|f k| <= b) -> exists l, f k @[k --> U] --> (l : R).
Proof. move=> fb; have in_b : (f @ U) `[- b, b]%classic.
  by apply: (@filterE _ U) => k; rewrite /= in_itv /= -ler_norml.
have [l [_ near]] := @segment_compact R (- b) b (f @ U) _ in_b; exists l.
apply/cvgrPdist_lt => e e0; have [//|far] := in_ultra_setVsetC [set k | `|l - f k| < e] UU.
by have [x []] := near [set x | ~ `|l - x| < e] _ far (nbhsx_ballx l (PosNum e0)).
Qed.

Lemma cvg_sum I (s : seq I) (P : pred I) (f : I -> nat -> R) (l : I -> R) :
  (forall i, f i k @[k --> U] --> l i) ->
    (\sum_(i <- s | P i) f i k) @[k --> U] --> \sum_(i <- s | P i) l i.
Proof. move=> fl; elim: s => [|i s IH].
  by rewrite big_nil; under eq_fun do rewrite big_nil; exact: cvg_cst.
rewrite big_cons; under eq_fun do rewrite big_cons.
by case: (P i) => //; apply: cvgD.
Qed.

Lemma one_limit f (l l' : R) : f k @[k --> U] --> l -> f k @[k --> U] --> l' -> l = l'.
Proof. exact: cvg_unique. Qed.
Lemma cvg_score d (A : 'M[R]_d) (x y : nat -> 'rV[R]_d) (u v : 'rV[R]_d) :
  (forall c, x k 0 c @[k --> U] --> u 0 c) -> (forall c, y k 0 c @[k --> U] --> v 0 c) ->
  score A (x k) (y k) @[k --> U] --> score A u v.
Proof. move=> xu yv; apply: cvg_sum => c; apply: cvgM => //.
under eq_fun do rewrite mxE; rewrite mxE; apply: cvg_sum => c'; exact: cvgMl.
Qed.

Lemma cvg_sub d (x y : nat -> 'rV[R]_d) (u v : 'rV[R]_d) :
  (forall c, x k 0 c @[k --> U] --> u 0 c) -> (forall c, y k 0 c @[k --> U] --> v 0 c) ->
  forall c, (x k - y k) 0 c @[k --> U] --> (u - v) 0 c.
Proof. by move=> xu yv c; rewrite !mxE; under eq_fun do rewrite !mxE; apply: cvgB. Qed.

Lemma cvg_mean n d (C : {set 'I_n}) (y : nat -> 'I_n -> 'rV[R]_d) (ys : 'I_n -> 'rV[R]_d) :
  (forall j c, y k j 0 c @[k --> U] --> ys j 0 c) ->
  forall c, mean C (y k) 0 c @[k --> U] --> mean C ys 0 c.
Proof. move=> yys c; rewrite meanE mxE summxE; under eq_fun do rewrite meanE mxE summxE.
by apply: cvgMr; apply: cvg_sum => j.
Qed.

(* What becomes short goes to 0. *)
Lemma vanishing d (A : 'M[R]_d) (x : nat -> 'rV[R]_d) (u : 'rV[R]_d) : spd A ->
  (forall c, x k 0 c @[k --> U] --> u 0 c) ->
  (forall e, 0 < e -> U [set k | score A (x k) (x k) <= e]) -> u = 0.
Proof. move=> spdA xu small; apply/eqP; rewrite -(score_eq0 spdA) eq_le score_ge0 // andbT.
apply/ler_addgt0Pr => e e0; rewrite add0r; exact: cvgr_to_le (cvg_score xu xu) (small e e0).
Qed.

(* A limit of points of hulls is in the hull of the limits. *)
Lemma limit_in_hull n d (y : nat -> 'I_n -> 'rV[R]_d) (ys : 'I_n -> 'rV[R]_d) (x : nat -> 'rV[R]_d)
    (xs : 'rV[R]_d) :
  (forall j c, y k j 0 c @[k --> U] --> ys j 0 c) -> (forall c, x k 0 c @[k --> U] --> xs 0 c) ->
  U [set k | hull (y k) (x k)] -> hull ys xs.
Proof. move=> yys xxs xy.
have /choice [w wP] : forall k, exists w : 'I_n -> R, (forall j, `|w j| <= 1) /\
  (hull (y k) (x k) ->
    [/\ forall j, 0 <= w j, \sum_j w j = 1 & x k = \sum_j w j *: y k j]).
  move=> k.
  have [[w [w0 w1 xw]]|no] := pselect (hull (y k) (x k)); last by exists (fun=> 0); split=> // j;
    rewrite normr0 ler01.
  exists w; split=> // j; rewrite ger0_norm // -w1 (bigD1 j) //= ler_addl; exact: sumr_ge0.
have /choice [ws wws] : forall j, exists l, w k j @[k --> U] --> (l : R).
  by move=> j; apply: (@bounded_limit _ 1) => k; case: (wP k).
exists ws; split=> [j||].
- by apply: (cvgr_to_ge (wws j)); apply: filterS xy => k /(proj2 (wP k)) [].
- apply: (one_limit (f := fun k => \sum_j w k j)); first exact: cvg_sum.
  by apply: cvg_near_cst; apply: filterS xy => k /(proj2 (wP k)) [].
apply/rowP => c; apply: (one_limit (xxs c)); rewrite summxE.
have lim : (\sum_j w k j * y k j 0 c) @[k --> U] --> \sum_j (ws j *: ys j) 0 c.
  by apply: cvg_sum => j; rewrite mxE; apply: cvgM.
apply: cvg_trans lim; apply: near_eq_cvg; apply: filterS xy => k /(proj2 (wP k)) [_ _ ->].
by rewrite summxE; apply: eq_bigr => j _; rewrite mxE.
Qed.

End AlongAnUltrafilter.

(* What is so along every ultrafilter of late layers is so from some layer on. *)
Lemma from_some_layer_on (P : nat -> Prop) :
  (forall U, UltraFilter U -> \oo `<=` U -> U [set k | P k]) ->
    exists N, forall k, (N <= k)%N -> P k.
Proof. move=> all; apply: contrapT => no.
have proper : ProperFilter (within [set k | ~ P k] \oo).
  split; last exact: within_filter.
  by case=> N _ Nbad; apply: no; exists N => k Nk; apply: contrapT => /(Nbad k Nk).
have [U [UU sub]] := ultraFilterLemma proper.
have late : \oo `<=` U by move=> S SN; apply: sub; apply: filterS SN => k Sk _.
have bad : U [set k | ~ P k] by apply: sub; exact: withinT.
by have [k []] := filter_ex (filterI (all U UU late) bad).
Qed.

Section Convergence.
Variables (R : realType) (n d : nat) (A : 'M[R]_d) (spdA : spd A).
Variables (alpha : nat -> R) (a : R) (a0 : 0 < a) (alpha_a : forall k, a <= alpha k).
Variables (Z : 'I_n -> 'rV[R]_d) (Z0 : forall i, Z i != 0).
Implicit Types (i j l : 'I_n) (c : 'I_d) (k : nat) (x s : 'rV[R]_d) (U : set (set nat)).
Local Notation z := (run A alpha Z).
Local Notation K := (limit_hull A alpha Z).
Local Notation S := (cluster_point A K).

Let alpha0 k : 0 < alpha k. Proof. exact: lt_le_trans (alpha_a k). Qed.

Lemma coordinate_bounded k i c : `|z k i 0 c| <= \sum_j `|Z j 0 c|.
Proof. have [w [w0 w1 ->]] : hull Z (z k i) by apply: (@run_hull _ _ _ A alpha alpha0 Z 0 k);
  exact: hull_token.
rewrite summxE; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => j _.
rewrite mxE normrM ger0_norm // ler_pimull // -w1 (bigD1 j) //= ler_addl; exact: sumr_ge0.
Qed.

Lemma limits_exist U : UltraFilter U ->
  exists zs : 'I_n -> 'rV[R]_d, forall i c, z k i 0 c @[k --> U] --> zs i 0 c.
Proof. move=> UU; have /choice [f ff] : forall ic : 'I_n * 'I_d,
    exists y : R, z k ic.1 0 ic.2 @[k --> U] --> y.
  by move=> [i c]; apply: bounded_limit => k; exact: coordinate_bounded.
by exists (fun i => \row_c f (i, c)) => i c; rewrite mxE; exact: (ff (i, c)).
Qed.

(* lem-energy: steps tend to 0, because lengths grow and are bounded. *)
Theorem steps_vanish i e : 0 < e -> exists N, forall k, (N <= k)%N ->
  score A (z k.+1 i - z k i) (z k.+1 i - z k i) < e.
Proof. move=> e0; pose s k := score A (z k.+1 i - z k i) (z k.+1 i - z k i).
pose b := \sum_j score A (Z j) (Z j); have Zb j : score A (Z j) (Z j) <= b.
  by rewrite /b (bigD1 j) //= ler_addl; apply: sumr_ge0 => l _; exact: score_ge0.
have sum_s : cvg (series s).
  apply: nondecreasing_is_cvg; first by apply: nondecreasing_series => k _; exact: score_ge0.
  exists b => _ [k _ <-]; rewrite /series /= big_mkord.
  by apply: le_trans (energy_sum spdA alpha0 k i Zb) _; rewrite ler_subl_addr ler_addl score_ge0.
have /cvgrPdist_lt /(_ e e0) [N _ small] := cvg_series_cvg_0 sum_s; exists N => k /small.
by rewrite /= sub0r normrN ger0_norm // score_ge0.
Qed.

Section LimitPoint.
Variables (U : set (set nat)) (UU : UltraFilter U) (late : \oo `<=` U) (zs : 'I_n -> 'rV[R]_d).
Hypothesis lim : forall i c, z k i 0 c @[k --> U] --> zs i 0 c.
Local Existing Instance ultra_proper.

(* lem-hulls: K is the hull of the limits. *)
Lemma hull_of_limits x : hull zs x <-> K x.
Proof. split=> [hx k|Kx]; last first.
  apply: (limit_in_hull UU (y := z) (x := fun=> x)) => //; first by move=> c; exact: cvg_cst.
  by apply: filterE => k; exact: Kx.
apply: hull_in_hull hx => i; apply: (@limit_in_hull _ _ UU _ _ (fun=> z k) (z k)
  (fun q : nat => z q i)) => //.
  by move=> j c; exact: cvg_cst.
apply: late; exists k => // q /= kq; apply: (run_hull alpha0 (t := q - k)); rewrite subnKC //;
  exact: hull_token.
Qed.

(* Steps vanish, so a token ends at the mean of those that it follows. *)
Lemma limit_is_mean i C : U [set k | attends A (z k) i = C] -> mean C zs = zs i.
Proof. move=> UC; apply/eqP; rewrite -subr_eq0; apply/eqP.
apply: (vanishing UU spdA (cvg_sub UU (cvg_mean UU (C := C) (@lim)) (@lim i))) => e e0.
pose g := 1 - (1 + a)^-1; have g0 : 0 < g ^+ 2 by rewrite exprn_gt0 ?pull_gt0.
have [N small] := steps_vanish i (mulr_gt0 g0 e0).
have lateN : U [set k | (N <= k)%N] by apply: late; exists N.
apply: filterS2 lateN UC => k /= Nk kC; rewrite -(ler_pmul2l g0).
apply: le_trans (ltW (small k Nk)); rewrite step_move // kC scoreZl scoreZr mulrA -expr2.
by rewrite ler_wpmul2r ?score_ge0 // ler_expn2r ?nnegrE ?pull_ge0 ?pull_le.
Qed.

(* Limits are in S(K). *)
Lemma limit_in_S i : S (zs i).
Proof. have [C UC] := finite_choice UU (fun k => attends A (z k) i).
have top l : score A (zs i) (zs l) <= score A (zs i) (zs i).
  rewrite -subr_ge0 -scoreBr -{2}(limit_is_mean UC).
  have lim_l := cvg_score UU (@lim i) (cvg_sub UU (cvg_mean UU (C := C) (@lim)) (@lim l)).
  apply: (cvgr_to_ge (lim_l A)); apply: filterS UC => k <-.
  by rewrite scoreBr subr_ge0 score_attends.
have Kzs : K (zs i) by apply/hull_of_limits; exact: hull_token.
split=> // [|x /hull_of_limits hx]; last exact: hull_score_le hx.
rewrite -(score_gt0 spdA); apply: lt_le_trans (_ : 0 < score A (Z i) (Z i)) _;
  first by rewrite score_gt0.
have lim_s : score A (z k i) (z k i) @[k --> U] --> score A (zs i) (zs i) by exact: cvg_score.
by apply: (cvgr_to_ge lim_s); apply: filterE => k; exact: (lengths_grow spdA alpha0 Z 0).
Qed.

(* The next layer has the same limit. *)
Lemma next_layer i c : z k.+1 i 0 c @[k --> U] --> zs i 0 c.
Proof. have /choice [f ff] : forall c, exists y : R, z k.+1 i 0 c @[k --> U] --> y.
  by move=> e; apply: bounded_limit => k; exact: coordinate_bounded.
pose w : 'rV[R]_d := \row_e f e; have fw e : z k.+1 i 0 e @[k --> U] --> w 0 e.
  by rewrite mxE; exact: ff.
suff /eqP : w - zs i = 0 by rewrite subr_eq0 => /eqP <-; exact: fw.
apply: (vanishing UU spdA (cvg_sub UU fw (@lim i))) => e e0; have [N small] := steps_vanish i e0.
by apply: late; exists N => // k /= Nk; exact: ltW (small k Nk).
Qed.

End LimitPoint.

Definition dist x s : R := \sum_c `|x 0 c - s 0 c|.

Lemma cvg_dist U (UU : UltraFilter U) (x : nat -> 'rV[R]_d) (u s : 'rV[R]_d) :
  (forall c, x k 0 c @[k --> U] --> u 0 c) -> dist (x k) s @[k --> U] --> dist u s.
Proof. by move=> xu; apply: cvg_sum => c; apply: cvg_norm; apply: cvgB => //; exact: cvg_cst. Qed.

Lemma dist_triangle x y s : dist x s <= dist x y + dist y s.
Proof. by rewrite -big_split; apply: ler_sum => c _; exact: ler_dist_add. Qed.
Lemma distC x s : dist x s = dist s x. Proof. by apply: eq_bigr => c _; exact: distrC. Qed.
Lemma dist0 x : dist x x = 0. Proof. by rewrite /dist big1 // => c _; rewrite subrr normr0. Qed.

Lemma dist_gt0 x s : x != s -> 0 < dist x s.
Proof. rewrite lt_def sumr_ge0 // andbT; apply: contra; rewrite psumr_eq0 // => /allP eq;
  apply/eqP/rowP => c.
by apply/eqP; rewrite -subr_eq0 -normr_eq0; exact: eq.
Qed.

(* Finitely many points have a radius: no x is so near to two of them. *)
Lemma common_radius (T : finType) (p : T -> 'rV[R]_d) : exists2 r, 0 < r &
  forall x t t', dist x (p t) <= r -> dist x (p t') <= r -> p t = p t'.
Proof. pose apart tt := dist (p tt.1) (p tt.2).
pose D := \big[Num.min/1]_(tt | p tt.1 != p tt.2) apart tt.
have D0 : 0 < D by apply/bigmin_gtP; split=> // tt; exact: dist_gt0.
have r0 : 0 < D / 3%:R by rewrite divr_gt0 ?ltr0n.
exists (D / 3%:R) => // x t t' near near'; apply/eqP; apply: contraT => pq.
have := @bigmin_le_cond _ _ _ 1 (t, t') (fun tt => p tt.1 != p tt.2) apart pq.
rewrite leNgt -/D => /negP; case.
apply: le_lt_trans (dist_triangle _ x _) _; rewrite distC (le_lt_trans (ler_add near near')) //.
have -> : D / 3%:R + D / 3%:R = D - D / 3%:R by field.
by rewrite gtr_addl oppr_lt0.
Qed.

(* The finitely many points of S, by their faces. *)
Lemma points_by_faces (Y : 'I_n -> 'rV[R]_d) : K = hull Y ->
  exists pt : {set 'I_n} -> 'rV[R]_d, forall F s, S s -> face A Y s = F -> s = pt F.
Proof.
move=> KY; have /choice [pt ptP] : forall F, exists p, forall s, S s -> face A Y s = F -> s = p.
  move=> F; have [[p [Sp pF]]|no] := pselect (exists p, S p /\ face A Y p = F).
    by exists p => s Ss sF; apply: (one_on_a_face spdA (Y := Y)); rewrite -?KY // sF.
  by exists 0 => s Ss sF; case: no; exists s.
by exists pt => F s; exact: ptP.
Qed.

(* thm-convergence. Every token converges to a point of S(K), and K is the hull of the limits. *)
Theorem tokens_converge : exists zs : 'I_n -> 'rV[R]_d,
  (forall i, converges (fun k => z k i) (zs i) /\ S (zs i)) /\ K = hull zs.
Proof. have [U0 [UU0 late0]] := ultraFilterLemma eventually_filter.
have [Y limY] := limits_exist UU0.
have KY : K = hull Y by apply/funext => x; apply/propext; split=> /(hull_of_limits UU0 late0 limY).
have [pt ptP] := points_by_faces KY.
have [r r0 same] := common_radius pt.
have one i : exists s, converges (fun k => z k i) s /\ S s.
  (* From some layer on the token is near a point of S, and so is its next step; so it is the same
     point for ever. *)
  have [N near] : exists N, forall k, (N <= k)%N ->
      exists F, dist (z k i) (pt F) <= r /\ dist (z k.+1 i) (pt F) <= r.
    apply: from_some_layer_on => U UU late; have [zs lim] := limits_exist UU.
    have Sz := limit_in_S UU late lim i; pose F := face A Y (zs i); have zF := ptP F _ Sz erefl.
    have close (x : nat -> 'rV[R]_d) : (forall c, x k 0 c @[k --> U] --> zs i 0 c) ->
        U [set k | dist (x k) (pt F) <= r].
      move=> xz; have := cvg_dist UU (s := pt F) xz; rewrite zF dist0.
      move=> /cvgrPdist_lt /(_ _ r0); apply: filterS => k; rewrite sub0r normrN => /ltW.
      by apply: le_trans; exact: ler_norm.
    have c1 := close (fun k => z k i) (lim i);
    have c2 := close (fun k => z k.+1 i) (@next_layer U UU late zs lim i).
    by apply: filterS2 c1 c2 => k /= k1 k2; exists F.
  have [F0 [near0 _]] := near N (leqnn N).
  have stays k : (N <= k)%N -> dist (z k i) (pt F0) <= r.
    elim: k => [|k IH]; first by rewrite leqn0 => /eqP N0; move: near0; rewrite N0.
    rewrite leq_eqVlt => /predU1P [<-//|Nk]; have [F [zF zF']] := near k Nk.
    by rewrite (same _ F0 F (IH Nk) zF).
  have limit U (UU : UltraFilter U) (late : \oo `<=` U) (zs : 'I_n -> 'rV[R]_d)
      (lim : forall j c, z k j 0 c @[k --> U] --> zs j 0 c) : zs i = pt F0.
    have zF := ptP _ _ (limit_in_S UU late lim i) erefl; rewrite zF.
    apply: (same (zs i)); first by rewrite -zF dist0 ltW.
    apply: (cvgr_to_le (cvg_dist UU (s := pt F0) (lim i))); apply: late.
    by exists N => // k /= Nk; exact: stays.
  exists (pt F0); split=> [e e0|]; last by rewrite -(limit _ UU0 late0 Y limY);
    exact: (limit_in_S UU0 late0 limY i).
  apply: from_some_layer_on => U UU late; have [zs lim] := limits_exist UU.
  apply: filter_forall => c; rewrite -(limit U UU late zs lim).
  by have /cvgrPdist_lt /(_ e e0) := lim i c; apply: filterS => k; rewrite distrC.
have /choice [zs zsP] := one; exists zs; split=> //.
have lim i c : z k i 0 c @[k --> U0] --> zs i 0 c.
  apply/cvgrPdist_lt => e e0; have [N NP] := (zsP i).1 e e0; apply: late0; exists N => // k /= Nk.
  by rewrite distrC; exact: NP.
by apply/funext => x; apply/propext; split=> /(hull_of_limits UU0 late0 lim).
Qed.

(* lem-strict-exposure, as in the book: any two different vertices of K. *)
Theorem vertices_exposed v w : injective Z -> vertex K v -> vertex K w -> w != v ->
  score A v w < score A v v.
Proof. move=> injZ vert [Kw _]; have [zs [conv KE]] := tokens_converge.
rewrite KE in vert; have [i [k [ii <- _]]] := every_vertex_is_taken spdA a0 alpha_a injZ
  (fun i => (conv i).1) vert.
exact: strict_exposure.
Qed.

(* thm-clustering and thm-leaders-vertices, whole. *)
Theorem clustering (i0 : 'I_n) : injective Z -> exists zs : 'I_n -> 'rV[R]_d,
  [/\ (* there is a leader, *) exists i, leader A alpha Z i,
      (* every token converges to a point of S(K), and K is the polytope of these limits, *)
      (forall i, converges (fun k => z k i) (zs i) /\ S (zs i)) /\ K = hull zs,
      (* every leader stands at a vertex of K from its birth on, and different leaders at different
         ones, *)
      forall k i, attends A (z k) i = [set i]%SET ->
        [/\ vertex K (z k i), zs i = z k i & forall j, leader A alpha Z j -> zs j = zs i -> j = i],
      (* at every vertex of K stands a leader, *)
      forall v, vertex K v -> exists i k, attends A (z k) i = [set i]%SET /\ z k i = v &
      (* and S(K) is finite, in the boundary of K, and its points are projections of the origin onto
         faces. *)
      exists L : seq 'rV[R]_d, forall s, S s -> [/\ s \in L, forall t, 1 < t -> ~ K (t *: s) &
        forall x, K x -> score A s x = score A s s -> score A s (x - s) = 0 /\
          score A s s <= score A x x]].
Proof. move=> injZ; have [zs [conv KE]] := tokens_converge; exists zs.
have cvg i := (conv i).1.
have stands k i := leader_limit a0 alpha_a cvg (k := k) (i := i).
split=> //; first exact: leader_at_layer_0.
- move=> k i ii; split; [exact: leader_at_vertex | exact: stands |].
  move=> j [l jj] eq; apply: (run_injective spdA alpha0 (k := (k + l)%N) injZ).
  have [zi _] := leaders_frozen alpha0 ii l; have [zj _] := leaders_frozen alpha0 jj k.
  by rewrite zi [in LHS]addnC zj -(stands _ _ ii) -(stands _ _ jj).
- move=> v; rewrite KE => /(every_vertex_is_taken spdA a0 alpha_a injZ cvg) [i [k [ii zi _]]].
  by exists i, k.
have [pt ptP] := points_by_faces KE; exists (map pt (enum {: {set 'I_n}})) => s Ss.
split; first by rewrite (ptP _ s Ss erefl) map_f // mem_enum.
  by move=> t; rewrite KE in Ss *; exact: (on_the_boundary spdA Ss).
by move=> x; rewrite KE in Ss *; exact: (projection_of_origin spdA Ss).
Qed.

End Convergence.
