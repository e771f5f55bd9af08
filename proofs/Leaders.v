(* Chapter 3: leaders stand at the vertices of the limit polytope, one at each. And chapter 2, S(K):
   there are finitely many possible limits, each the projection of the origin onto a face. *)
From Hardmax Require Import Model Geometry Layers Settlement.
Local Open Scope ring_scope.

(* A leader is at a vertex, different leaders at different ones *)
Section AtAVertex.
Variables (R : realFieldType) (n d : nat) (A : 'M[R]_d) (spdA : spd A).
Variables (alpha : nat -> R) (alpha0 : forall k, 0 < alpha k) (Z : 'I_n -> 'rV[R]_d).
Implicit Types (i j : 'I_n) (k l t : nat) (x y v : 'rV[R]_d).
Local Notation z := (run A alpha Z).
Local Notation K := (limit_hull A alpha Z).

Lemma only_itself (Y : 'I_n -> 'rV[R]_d) i j :
  attends A Y i = [set i] -> j != i -> score A (Y i) (Y j) < score A (Y i) (Y i).
Proof. by move=> ii ji; rewrite -[X in _ < score A _ X](mean1 Y i) -ii not_attends // ii inE. Qed.

(* It is the only point of the hull that lies farthest in its direction. *)
Lemma exposed (Y : 'I_n -> 'rV[R]_d) i x : attends A Y i = [set i] -> hull Y x ->
  score A (Y i) x <= score A (Y i) (Y i) ?= iff (x == Y i).
Proof. move=> ii hx; have le j : score A (Y i) (Y j) <= score A (Y i) (Y i).
  by case: (eqVneq j i) => [->//|/(only_itself ii)/ltW].
split; first exact: hull_score_le hx.
apply/eqP/eqP => [|->//]; case: hx => w [w0 w1 ->] eq.
rewrite -[RHS]scale1r -w1 scaler_suml; apply: eq_bigr => j _.
have [->//|ji] := eqVneq j i; have [->|wj] := eqVneq (w j) 0; first by rewrite !scale0r.
by have := only_itself ii ji; rewrite (tight (fun j _ => le j) w0 w1 eq wj) ltxx.
Qed.

(* thm-leaders-vertices, first part: from its birth on, a leader stands at a vertex of K. *)
Theorem leader_at_vertex k i : attends A (z k) i = [set i] -> vertex K (z k i).
Proof. move=> ii; split=> [l|x y t Kx Ky /andP [t0 t1] v].
  case: (leqP l k) => lk; first by apply: (run_hull alpha0 (t := k - l)); rewrite subnKC //;
    exact: hull_token.
  by have [<- _] := leaders_frozen alpha0 ii (l - k); rewrite subnKC ?(ltnW lk) //;
    exact: hull_token.
apply/eqP; rewrite -(exposed ii (Kx k)).2 eq_le (exposed ii (Kx k)) /=.
have := congr1 (score A (z k i)) v; rewrite scoreDr !scoreZr => eq.
rewrite -(ler_pmul2l t0) -(ler_add2r ((1 - t) * score A (z k i) (z k i))) splitE {1}eq ler_add2l.
by rewrite ler_pmul2l ?subr_gt0 // (exposed ii (Ky k)).
Qed.

(* ... and different leaders stand at different vertices. *)
Theorem leaders_differ k i j : injective Z -> i != j -> z k i != z k j.
Proof. by move=> injZ; apply: contra => /eqP /(run_injective spdA alpha0 (k := k) injZ) ->. Qed.

(* lem-strict-exposure, for a leader: in its own direction it outdoes every other point of K. *)
Theorem strict_exposure k i x : attends A (z k) i = [set i] -> K x -> x != z k i ->
  score A (z k i) x < score A (z k i) (z k i).
Proof. by move=> ii Kx xi; rewrite (lt_leif (exposed ii (Kx k))). Qed.

End AtAVertex.

(* Every vertex is taken. Here the tokens are known to converge; Convergence.v proves that they
   do. *)
Section EveryVertex.
Variables (R : realFieldType) (n d : nat).
Implicit Types (i j : 'I_n) (C : {set 'I_n}) (x y v : 'rV[R]_d) (Y W : 'I_n -> 'rV[R]_d).

(* A vertex is a mean of tokens only if it is all of them. *)
Lemma vertex_of_hull Y v w j0 : vertex (hull Y) v ->
  (forall j, 0 <= w j) -> \sum_j w j = 1 -> v = \sum_j w j *: Y j -> 0 < w j0 -> Y j0 = v.
Proof. move=> [_ extreme] w0 w1 vw wj0.
(* It is between Y j0, with half of its weight, and the rest. *)
pose e j : R := (j \in [set j0])%:R / #|[set j0]|%:R; pose t := w j0 / 2%:R.
have [e0 e1 eY] := mean_weights Y (set11 j0); rewrite mean1 -/e in eY.
pose u j := (w j - t * e j) / (1 - t).
have t0 : 0 < t by rewrite divr_gt0 ?ltr0n.
have tw : t < w j0 by rewrite [w j0]splitr ltr_addl.
have t1 : t < 1 by rewrite (lt_le_trans tw) // -w1 (bigD1 j0) //= ler_addl sumr_ge0.
have r0 : 0 < 1 - t by rewrite subr_gt0.
apply: (extreme _ (\sum_j u j *: Y j) t); rewrite ?t0 //; first exact: hull_token.
  exists u; split=> // [j|]; last by rewrite -mulr_suml sumrB -mulr_sumr e1 w1 mulr1 mulfV ?gt_eqF.
  rewrite divr_ge0 ?(ltW r0) // subr_ge0 /e inE cards1 divr1.
  by have [->|_] := eqVneq j j0; rewrite ?mulr1 ?mulr0 ?(ltW tw).
rewrite scaler_sumr (eq_bigr (fun j => w j *: Y j - t *: (e j *: Y j))) => [|j _].
  by rewrite sumrB -vw -scaler_sumr -eY addrC subrK.
by rewrite !scalerA mulrC divfK ?gt_eqF // scalerBl.
Qed.

Lemma vertex_is_token Y v : vertex (hull Y) v -> exists j, Y j = v.
Proof. move=> vert; have [[w [w0 w1 vw]] _] := vert.
have := oner_neq0 R; rewrite -w1 psumr_eq0 // => /allPn [j _ /= wj].
by exists j; apply: (vertex_of_hull vert w0 w1 vw); rewrite lt_def wj w0.
Qed.

Lemma near_mean C Y W c e j0 : j0 \in C -> (forall j, `|Y j 0 c - W j 0 c| < e) ->
  `|mean C Y 0 c - mean C W 0 c| <= e.
Proof. move=> j0C near; have C0 : 0 < #|C|%:R :> R by rewrite lt_def (card_neq0 _ j0C) ler0n.
rewrite !meanE !mxE -mulrBr !summxE -sumrB normrM ger0_norm ?invr_ge0 ?(ltW C0) //.
rewrite mulrC ler_pdivr_mulr //; apply: le_trans (ler_norm_sum _ _ _) _.
by rewrite mulr_natr -sumr_const; apply: ler_sum => j _; exact: ltW.
Qed.

Lemma eventually_all (T : finType) (P : T -> nat -> Prop) :
  (forall p, exists N, forall k, (N <= k)%N -> P p k) ->
  exists N, forall k, (N <= k)%N -> forall p, P p k.
Proof. move=> /fin_all_exists [N NP]; exists (\max_p N p) => k Nk p.
by apply: NP; apply: leq_trans Nk; exact: leq_bigmax.
Qed.

Variables (A : 'M[R]_d) (spdA : spd A) (alpha : nat -> R) (a : R) (a0 : 0 < a)
  (alpha_a : forall k, a <= alpha k).
Variables (Z : 'I_n -> 'rV[R]_d) (injZ : injective Z) (zs : 'I_n -> 'rV[R]_d).
Local Notation z := (run A alpha Z).
Hypothesis cvg : forall i, converges (fun k => z k i) (zs i).

Let alpha0 k : 0 < alpha k. Proof. exact: lt_le_trans (alpha_a k). Qed.

(* A token that follows the same set again and again ends at its mean: otherwise it would move. *)
Lemma ends_at_mean i C :
  exists N, forall k, (N <= k)%N -> attends A (z k) i = C -> mean C zs = zs i.
Proof. have [eq|ne] := eqVneq (mean C zs) (zs i); first by exists 0%N.
have /existsP [c off] : [exists c, mean C zs 0 c != zs i 0 c].
  by rewrite -negb_forall; apply: contra ne => /forallP eq; apply/eqP/rowP => c; exact/eqP/eq.
pose D := `|mean C zs 0 c - zs i 0 c|; have D0 : 0 < D by rewrite normr_gt0 subr_eq0.
pose g := 1 - (1 + a)^-1; pose e := g * D / 2%:R.
have e0 : 0 < e by rewrite divr_gt0 ?mulr_gt0 ?ltr0n ?pull_gt0.
have [N near] := eventually_all (P := fun j k => forall c, `|z k j 0 c - zs j 0 c| < e)
  (fun j => cvg j e0).
exists N => k Nk iC; exfalso.
have [j0 j0C] := attends_nonempty A (z k) i; rewrite iC in j0C.
pose q := 1 - (1 + alpha k)^-1; have q0 : 0 < q := pull_gt0 (alpha0 k).
have old := ltW (near k Nk i c); have new := near k.+1 (leqW Nk) i c.
have Ck := near_mean j0C (fun j => near k Nk j c).
have : q * D < q * e + (e + (1 - q) * e).
  have -> : q * D = `|q * (mean C zs 0 c - mean C (z k) 0 c) +
      ((z k.+1 i 0 c - zs i 0 c) - (1 - q) * (z k i 0 c - zs i 0 c))|.
    rewrite /D -{1}(gtr0_norm q0) -normrM; congr `|_|.
    have := stepE A (z k) i (alpha0 k); rewrite iC => /rowP /(_ c); rewrite !mxE => ->.
    by rewrite /q; move: (_^-1) (z k i 0 c) (mean C (z k) 0 c) (mean C zs 0 c) => r x m m0; ring.
  apply: le_lt_trans (ler_norm_add _ _) _; rewrite normrM (gtr0_norm q0) distrC.
  rewrite ler_lt_add ?ler_pmul2l //; apply: le_lt_trans (ler_norm_sub _ _) _.
  have qr : 1 - q = (1 + alpha k)^-1 by rewrite /q subKr.
  by rewrite ltr_le_add // normrM qr ger0_norm ?rate_ge0 // ler_wpmul2l ?rate_ge0.
have -> : q * e + (e + (1 - q) * e) = g * D by rewrite /e; move: (q) (g) (D) => x y z; field.
by rewrite ltr_pmul2r // ltNge pull_le.
Qed.

(* A leader has come where it goes. *)
Lemma leader_limit k i : attends A (z k) i = [set i] -> zs i = z k i.
Proof. move=> ii; apply/rowP => c; apply/eqP; rewrite -subr_eq0 -normr_le0 leNgt; apply/negP => e0.
have [N near] := cvg i e0; have := near (k + N)%N (leq_addl _ _) c.
by have [-> _] := leaders_frozen alpha0 ii N; rewrite distrC ltxx.
Qed.

(* thm-leaders-vertices, second part: at every vertex stands a leader. *)
Theorem every_vertex_is_taken v : vertex (hull zs) v ->
  exists i k, [/\ attends A (z k) i = [set i], z k i = v & zs i = v].
Proof. move=> vert; pose G := [set i | zs i == v].
(* Late tokens of G follow only tokens of G, because the mean of others is not v. *)
have [N stay] : exists N, forall k, (N <= k)%N -> forall iC : 'I_n * {set 'I_n},
    iC.1 \in G -> attends A (z k) iC.1 = iC.2 -> iC.2 \subset G.
  apply: eventually_all => -[i C] /=; have [N NP] := ends_at_mean i C; exists N => k Nk.
  rewrite inE => /eqP iv iC; apply/subsetP => j jC; have [w0 w1 mw] := mean_weights zs jC.
  rewrite inE; apply/eqP; apply: (vertex_of_hull vert w0 w1); first by rewrite -mw (NP k).
  by rewrite jC mul1r invr_gt0 lt_def (card_neq0 _ jC) ler0n.
(* So the longest of them follows itself alone. *)
have [i0 i0v] := vertex_is_token vert; have i0G : i0 \in G by rewrite inE i0v.
have [J JG Jmax] := arg_maxP (fun i => score A (z N i) (z N i)) i0G.
have {}stay := stay N (leqnn N) (J, attends A (z N) J) JG erefl.
have JJ : attends A (z N) J = [set J].
  apply: attends_alone => j Jj; apply: (run_injective spdA alpha0 (k := N) injZ).
  apply/eqP; apply: contraT => /(followed_is_longer spdA Jj).
  by rewrite ltNge => /negP; case; apply: Jmax; exact: (subsetP stay).
have zJ : zs J = v by have : J \in G := JG; rewrite inE => /eqP.
by exists J, N; split=> //; rewrite -(leader_limit JJ).
Qed.

End EveryVertex.

Section Converse.
Variables (R : realFieldType) (n d : nat) (A : 'M[R]_d).
Variables (alpha : nat -> R) (alpha0 : forall k, 0 < alpha k) (Z : 'I_n -> 'rV[R]_d).
Local Notation K := (limit_hull A alpha Z).

(* lem-strict-exposure, conversely: points of which each outdoes the others in its own direction are
   the vertices of the K of a run, the one that starts with them. *)
Theorem exposed_points_are_vertices :
  (forall i j, j != i -> score A (Z i) (Z j) < score A (Z i) (Z i)) ->
  forall v, vertex K v <-> exists i, Z i = v.
Proof. move=> less v; have ii i : attends A Z i = [set i].
  by apply: (attends_eq (set11 i)) => j; [move/set1P -> | rewrite inE; exact: less].
have still k : run A alpha Z k =1 Z by move=> i; have [] := leaders_frozen alpha0 (k := 0) (ii i) k.
have KZ x : K x <-> hull Z x.
  split=> [Kx|[w [w0 w1 ->]] k]; first exact: (Kx 0%N).
  by exists w; split=> //; apply: eq_bigr => j _; rewrite still.
split=> [[Kv extreme]|[i <-]]; last exact: (leader_at_vertex alpha0 (k := 0) (ii i)).
apply: vertex_is_token; split=> [|x y t /KZ Kx /KZ Ky]; [exact/KZ | exact: extreme].
Qed.

End Converse.

(* S(K): chapter 2, where a token can rest *)
Section PossibleLimits.
Variables (R : realFieldType) (m d : nat) (A : 'M[R]_d) (spdA : spd A) (Y : 'I_m -> 'rV[R]_d).
Implicit Types (s x : 'rV[R]_d) (j : 'I_m).
Local Notation K := (hull Y).

(* The face of K that lies farthest in the direction of s, by the points Y on it. *)
Definition face s : {set 'I_m} := [set j | score A s (Y j) == score A s s].

Lemma on_face s w j : cluster_point A K s -> (forall j, 0 <= w j) -> \sum_j w j = 1 ->
  s = \sum_j w j *: Y j ->
  j \notin face s -> w j = 0.
Proof. move=> [_ _ le] w0 w1 sw; rewrite inE; apply: contraNeq => wj; apply/eqP.
by apply: (tight _ w0 w1 _ wj) => [l _|]; [apply: le; exact: hull_token | rewrite -sw].
Qed.

(* lem-S-finite: two possible limits with the same face are one. *)
Theorem one_on_a_face s s' : cluster_point A K s -> cluster_point A K s' ->
  face s = face s' -> s = s'.
Proof.
have half t t' : cluster_point A K t -> cluster_point A K t' -> face t = face t' -> score A t' t =
  score A t' t'.
  move=> St St' ff; have [[w [w0 w1 tw]] _ _] := St.
  rewrite {1}tw score_sumr -[RHS]mul1r -w1 mulr_suml; apply: eq_bigr => j _; rewrite scoreZr.
  case: (boolP (j \in face t)) => [|/(on_face St w0 w1 tw) ->]; last by rewrite !mul0r.
  by rewrite ff inE => /eqP ->.
move=> Ss Ss' ff; apply/eqP; rewrite -subr_eq0 -(score_eq0 spdA) scoreBr !scoreBl.
by rewrite (half s s' Ss Ss' ff) (half s' s Ss' Ss (esym ff)) subrr.
Qed.

(* ... so there are finitely many. *)
Theorem finitely_many (L : seq 'rV[R]_d) : uniq L -> (forall s, s \in L -> cluster_point A K s) ->
  (size L <= 2 ^ m)%N.
Proof.
move=> uniqL LS; have <- : #|{: {set 'I_m}}| = (2 ^ m)%N by rewrite -cardsT -powersetT card_powerset
  cardsT card_ord.
rewrite -(size_map face); have : uniq (map face L).
  by rewrite map_inj_in_uniq // => s s' /LS Ss /LS Ss'; exact: one_on_a_face.
by move/card_uniqP <-; exact: max_card.
Qed.

(* ... each the projection of the origin onto its face: at a right angle to it, and nearest to the
   origin. *)
Theorem projection_of_origin s x : cluster_point A K s -> K x -> score A s x = score A s s ->
  score A s (x - s) = 0 /\ score A s s <= score A x x.
Proof. move=> _ _ eq; have s0 : score A s (x - s) = 0 by rewrite scoreBr eq subrr.
split=> //; have := length_sum spdA s (x - s); rewrite [s + _]addrC subrK s0 mulr0 addr0 => ->.
by rewrite ler_addl score_ge0.
Qed.

(* ... and on the boundary of K: beyond it there is no point of K. *)
Theorem on_the_boundary s t : cluster_point A K s -> 1 < t -> ~ K (t *: s).
Proof. move=> [_ s0 le] t1 /le; rewrite scoreZr leNgt -subr_gt0 -{2}[score A s s]mul1r -mulrBl
  mulr_gt0 ?subr_gt0 //.
by rewrite score_gt0.
Qed.

End PossibleLimits.
