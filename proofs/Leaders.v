(* Chapter 3: leaders stand at the vertices of the limit polytope, one at each. And chapter 2, S(K):
   there are finitely many possible limits, each the projection of the origin onto a face. *)
From mathcomp Require Import all_ssreflect all_algebra ring.
From Hardmax Require Import Model Geometry Layers Settlement.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
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
Proof.
move=> ii hx; have le j : score A (Y i) (Y j) <= score A (Y i) (Y i).
  by case: (eqVneq j i) => [->//|/(only_itself ii)/ltW].
split; first exact: hull_score_le hx.
apply/eqP/eqP => [|->//]; case: hx => w [w0 w1 ->].
rewrite score_sumr -[in RHS](mul1r (score A (Y i) (Y i))) -w1 mulr_suml => eq.
have zero j : j != i -> w j = 0.
  move=> ji; have /eqP := eq; rewrite -subr_eq0 -oppr_eq0 opprB -sumrB psumr_eq0 =>
    [/allP /(_ j)|j' _].
    rewrite mem_index_enum scoreZr -mulrBr mulf_eq0 => /(_ isT) /orP [/eqP//|].
    by rewrite subr_eq0 gt_eqF // only_itself.
  by rewrite scoreZr subr_ge0 ler_wpmul2l.
rewrite (bigD1 i) //= big1 ?addr0 => [|j /zero ->]; last exact: scale0r.
by move: w1; rewrite (bigD1 i) //= big1 ?addr0 => [->|j /zero//]; rewrite scale1r.
Qed.

(* thm-leaders-vertices, first part: from its birth on, a leader stands at a vertex of K. *)
Theorem leader_at_vertex k i : attends A (z k) i = [set i] -> vertex K (z k i).
Proof.
move=> ii; split=> [l|x y t Kx Ky /andP [t0 t1] v].
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

(* Tokens with that property all lead at once, where they are. *)
Lemma exposed_points_lead i : (forall j, j != i -> score A (Z i) (Z j) < score A (Z i) (Z i)) ->
  attends A Z i = [set i].
Proof.
move=> less; apply/setP => j; rewrite !inE; apply/forallP/eqP => [all|-> l].
  by apply/eqP; apply: contraT => /less; rewrite ltNge all.
by case: (eqVneq l i) => [->//|/less/ltW].
Qed.

End AtAVertex.

(* Every vertex is taken. Here the tokens are known to converge; Convergence.v proves that they
   do. *)

Section EveryVertex.
Variables (R : realFieldType) (n d : nat).
Implicit Types (i j : 'I_n) (C : {set 'I_n}) (x y v : 'rV[R]_d) (Y W : 'I_n -> 'rV[R]_d).

(* A vertex is a mean of tokens only if it is all of them. *)
Lemma vertex_of_hull Y v w j0 : vertex (hull Y) v ->
  (forall j, 0 <= w j) -> \sum_j w j = 1 -> v = \sum_j w j *: Y j -> 0 < w j0 -> Y j0 = v.
Proof.
move=> [_ extreme] w0 w1 vw t0; have split1 := w1; rewrite (bigD1 j0) //= in split1.
have rest0 : 0 <= \sum_(j | j != j0) w j by apply: sumr_ge0.
move: vw; rewrite (bigD1 j0) //= => vw.
have rest : 1 - w j0 = \sum_(j | j != j0) w j by apply/eqP; rewrite subr_eq addrC split1.
case: (eqVneq (\sum_(j | j != j0) w j) 0) => [all0|neq0].
  rewrite vw big1 ?addr0 => [|j jj0]; first by move: split1; rewrite all0 addr0 => ->;
    rewrite scale1r.
  by have /(_ _ jj0) -> := psumr_eq0P (fun j _ => w0 j) all0; rewrite scale0r.
set q := \sum_(j | j != j0) w j in rest0 rest neq0.
have q0 : 0 < q by rewrite lt_def neq0.
have [u uE] : exists u, forall j, u j = if j == j0 then 0 else w j / q.
  by exists (fun j => if j == j0 then 0 else w j / q).
have u0 : u j0 = 0 by rewrite uE eqxx.
apply: (extreme _ (\sum_j u j *: Y j) (w j0)); rewrite ?t0 /=.
- exact: hull_token.
- exists u; split=> // [j|]; first by rewrite uE; case: ifP => // _; rewrite divr_ge0 // ltW.
  rewrite (bigD1 j0) //= u0 add0r (eq_bigr (fun j => w j / q)) => [|j /negbTE jj0];
    last by rewrite uE jj0.
  by rewrite -mulr_suml mulfV.
- by rewrite -subr_gt0 rest.
rewrite {1}vw rest; congr (_ + _); rewrite [in RHS](bigD1 j0) //= u0 scale0r add0r scaler_sumr.
by apply: eq_bigr => j /negbTE jj0; rewrite uE jj0 scalerA mulrC divfK.
Qed.

Lemma vertex_is_token Y v : vertex (hull Y) v -> exists j, Y j = v.
Proof.
move=> vert; have [[w [w0 w1 vw]] _] := vert.
have /existsP [j wj] : [exists j, 0 < w j].
  apply: contraT; rewrite negb_exists => /forallP no; move: w1; rewrite big1 => [/eqP|j _].
    by rewrite eq_sym oner_eq0.
  by apply/eqP; rewrite eq_le w0 andbT leNgt no.
by exists j; exact: (vertex_of_hull vert w0 w1 vw wj).
Qed.

Lemma near_mean C Y W c e j0 : j0 \in C -> (forall j, `|Y j 0 c - W j 0 c| < e) ->
  `|mean C Y 0 c - mean C W 0 c| <= e.
Proof.
move=> j0C near; have C0 : 0 < #|C|%:R :> R by rewrite lt_def (card_neq0 _ j0C) ler0n.
rewrite !meanE !mxE -mulrBr !summxE -sumrB normrM ger0_norm ?invr_ge0 ?(ltW C0) //.
rewrite mulrC ler_pdivr_mulr //; apply: le_trans (ler_norm_sum _ _ _) _.
by rewrite mulr_natr -sumr_const; apply: ler_sum => j _; exact: ltW.
Qed.

Lemma eventually_all (T : finType) (P : T -> nat -> Prop) :
  (forall p, exists N, forall k, (N <= k)%N -> P p k) ->
  exists N, forall k, (N <= k)%N -> forall p, P p k.
Proof.
move=> /fin_all_exists [N NP]; exists (\max_p N p) => k Nk p.
by apply: NP; apply: leq_trans Nk; exact: leq_bigmax.
Qed.

Variables (A : 'M[R]_d) (spdA : spd A) (alpha : nat -> R) (a : R) (a0 : 0 < a)
  (alpha_a : forall k, a <= alpha k).
Variables (Z : 'I_n -> 'rV[R]_d) (injZ : injective Z) (zs : 'I_n -> 'rV[R]_d).
Local Notation z := (run A alpha Z).
Hypothesis cvg : forall i, converges (fun k => z k i) (zs i).

Let alpha0 k : 0 < alpha k. Proof. exact: lt_le_trans (alpha_a k). Qed.

Lemma all_near e : 0 < e -> exists N, forall k, (N <= k)%N ->
  forall i c, `|z k i 0 c - zs i 0 c| < e.
Proof.
move=> e0; apply: (eventually_all (P := fun i k => forall c, `|z k i 0 c - zs i 0 c| < e)).
by move=> i; exact: cvg.
Qed.

(* thm-leaders-vertices, second part: at every vertex stands a leader. *)
Theorem every_vertex_is_taken v : vertex (hull zs) v ->
  exists i k, [/\ attends A (z k) i = [set i], z k i = v & zs i = v].
Proof.
move=> vert; pose G := [set i | zs i == v].
(* Late tokens of G follow only tokens of G: the mean of any others is not near v, and a token near
   v would move. *)
have [N stay] : exists N, forall k, (N <= k)%N -> forall JC : 'I_n * {set 'I_n},
    JC.1 \in G -> attends A (z k) JC.1 = JC.2 -> JC.2 \subset G.
  apply: eventually_all => -[J C] /=; case: (boolP (C \subset G)) => [_|CG]; first by exists 0%N.
  case: (boolP (J \in G)) => [|_]; last by exists 0%N.
  rewrite inE => /eqP Jv; have [j0 j0C j0G] := subsetPn CG.
  have off : mean C zs != v.
    apply: contra j0G => /eqP mv; rewrite inE; apply/eqP.
    apply: (vertex_of_hull (w := fun j => (j \in C)%:R / #|C|%:R) vert).
    - by move=> j; rewrite divr_ge0 ?ler0n.
    - rewrite -mulr_suml -natr_sum -[X in X%:R]big_mkcond /= sum1_card mulfV ?(card_neq0 _ j0C) //.
    - rewrite -mv meanE scaler_sumr big_mkcond /=; apply: eq_bigr => j _.
      by case: ifP; rewrite ?mul1r ?mul0r ?scale0r.
    by rewrite j0C mul1r invr_gt0 lt_def ?(card_neq0 _ j0C) ler0n.
  have /existsP [c off_c] : [exists c, mean C zs 0 c != v 0 c].
    rewrite -negb_forall; apply: contra off => /forallP eq; apply/eqP/rowP => c; exact/eqP/eq.
  pose g := 1 - (1 + a)^-1; have g0 : 0 < g by exact: pull_gt0.
  have D0 : 0 < `|mean C zs 0 c - v 0 c| by rewrite normr_gt0 subr_eq0.
  set D := `|_| in D0; pose e := D * g / 4%:R.
  have e0 : 0 < e by rewrite divr_gt0 ?mulr_gt0 ?ltr0n.
  have [M near_] := all_near e0; exists M => k Mk _ JC; exfalso.
  have {}near_ l : (M <= l)%N -> forall i, `|z l i 0 c - zs i 0 c| < e by move=> Ml i; exact: near_.
  have move_ : `|mean C (z k) 0 c - z k J 0 c| * g < e + e.
    have gk : g <= 1 - (1 + alpha k)^-1.
      by rewrite ler_sub // lef_pinv ?posrE ?addr_gt0 ?ltr01 ?ler_add2l //.
    apply: (@le_lt_trans _ _ `|z k.+1 J 0 c - z k J 0 c|).
      have -> : z k.+1 J 0 c - z k J 0 c = (1 - (1 + alpha k)^-1) * (mean C (z k) 0 c - z k J 0 c).
        by have := step_move A (alpha0 k) (z k) J; rewrite JC => /rowP /(_ c); rewrite !mxE.
      by rewrite normrM mulrC ler_wpmul2r // ger0_norm // (le_trans (ltW g0)).
    have := ltr_add (near_ k.+1 (leqW Mk) J) (near_ k Mk J); apply: le_lt_trans.
    by rewrite [X in _ <= _ + X]distrC; apply: le_trans (ler_norm_add _ _); rewrite addrA subrK.
  have far : D <= `|mean C (z k) 0 c - z k J 0 c| + (e + e).
    have mn := near_mean j0C (near_ k Mk); have zn := ltW (near_ k Mk J); rewrite /D -Jv.
    apply: le_trans (ler_dist_add (mean C (z k) 0 c) _ _) _;
      rewrite [`|mean C zs 0 c - _|]distrC addrC addrA.
    by rewrite ler_add // (le_trans (ler_dist_add (z k J 0 c) _ _)) // ler_add2l.
  have : D * g < D * g; last by rewrite ltxx.
  apply: le_lt_trans (ler_wpmul2r (ltW g0) far) _; rewrite mulrDl.
  have -> : D * g = (e + e) + (e + e) by rewrite /e; field.
  rewrite ltr_le_add // ler_pimulr ?addr_ge0 ?(ltW e0) // ltW //.
  by rewrite ltr_subl_addr ltr_addl rate_gt0.
(* So the longest of them follows itself alone. *)
have [i0 i0v] := vertex_is_token vert; have i0G : i0 \in G by rewrite inE i0v.
have [J JG Jmax] := arg_maxP (fun i => score A (z N i) (z N i)) i0G.
have {}stay := stay N (leqnn N) (J, attends A (z N) J) JG erefl.
have only j : j \in attends A (z N) J -> j = J.
  move=> Jj; apply: (run_injective spdA alpha0 (k := N) injZ).
  apply/eqP; apply: contraT => /(followed_is_longer spdA Jj).
  by rewrite ltNge => /negP; case; apply: Jmax; exact: (subsetP stay).
have JJ : attends A (z N) J = [set J].
  apply/eqP; rewrite eqEsubset; apply/andP; split; apply/subsetP => j;
    first by move/only ->; exact: set11.
  by move/set1P ->; have [l Jl] := attends_nonempty A (z N) J; rewrite -{1}(only l Jl).
have zJ : zs J = v by have : J \in G := JG; rewrite inE => /eqP.
exists J, N; split=> //; rewrite -zJ; apply/rowP => c; apply/eqP;
  rewrite -subr_eq0 -normr_le0 leNgt; apply/negP => e0.
have [M near_] := cvg J e0; have := near_ (N + M)%N (leq_addl _ _) c.
by have [-> _] := leaders_frozen alpha0 JJ M; rewrite ltxx.
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
Proof.
move=> less v; have ii i := exposed_points_lead (less i).
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
Proof.
move=> [_ _ le] w0 w1 sw; have le_Y l : score A s (Y l) <= score A s s by apply: le;
  exact: hull_token.
have /eqP : score A s s = \sum_l w l * score A s (Y l).
  by rewrite {2}sw score_sumr; apply: eq_bigr => l _; rewrite scoreZr.
rewrite -[X in X == _]mul1r -w1 mulr_suml -subr_eq0 -sumrB psumr_eq0 => [/allP /(_ j)|l _].
  rewrite mem_index_enum -mulrBr mulf_eq0 inE eq_sym subr_eq0 => /(_ isT) /orP [/eqP//|/eqP ->].
  by rewrite eqxx.
by rewrite -mulrBr mulr_ge0 // subr_ge0.
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
Proof.
move=> _ _ eq; have s0 : score A s (x - s) = 0 by rewrite scoreBr eq subrr.
split=> //; have := length_sum spdA s (x - s); rewrite [s + _]addrC subrK s0 mulr0 addr0 => ->.
by rewrite ler_addl score_ge0.
Qed.

(* ... and on the boundary of K: beyond it there is no point of K. *)
Theorem on_the_boundary s t : cluster_point A K s -> 1 < t -> ~ K (t *: s).
Proof.
move=> [_ s0 le] t1 /le; rewrite scoreZr leNgt -subr_gt0 -{2}[score A s s]mul1r -mulrBl
  mulr_gt0 ?subr_gt0 //.
by rewrite score_gt0.
Qed.

End PossibleLimits.
