(* Chapter 2, three facts about one layer; and chapter 1, one layer is a step of an optimiser. *)
From Hardmax Require Import Model Geometry.
Local Open Scope ring_scope.

Section Rate.
Variables (R : realFieldType) (a : R) (a0 : 0 < a).

(* The weight r = 1/(1+a) of the old token, between 0 and 1. *)
Lemma rate_gt0 : 0 < (1 + a)^-1.
Proof. by rewrite invr_gt0 addr_gt0 ?ltr01. Qed.
Lemma rate_lt1 : (1 + a)^-1 < 1.
Proof. by rewrite invf_lt1 ?addr_gt0 ?ltr01 // ltr_addl. Qed.
Lemma rate_ge0 : 0 <= (1 + a)^-1. Proof. exact: ltW rate_gt0. Qed.
Lemma pull_gt0 : 0 < 1 - (1 + a)^-1. Proof. by rewrite subr_gt0 rate_lt1. Qed.
Lemma pull_ge0 : 0 <= 1 - (1 + a)^-1. Proof. exact: ltW pull_gt0. Qed.
Lemma pull_le (b : R) : a <= b -> 1 - (1 + a)^-1 <= 1 - (1 + b)^-1.
Proof. move=> ab; have b0 := lt_le_trans a0 ab.
by rewrite ler_add2l ler_opp2 lef_pinv ?posrE ?addr_gt0 ?ltr01 // ler_add2l.
Qed.

Lemma splitE (q b : R) : q * b + (1 - q) * b = b.
Proof. by rewrite -mulrDl addrC subrK mul1r. Qed.

End Rate.

Section OneLayer.
Variables (R : realFieldType) (n d : nat) (A : 'M[R]_d) (spdA : spd A) (a : R) (a0 : 0 < a).
Implicit Types (Z : 'I_n -> 'rV[R]_d) (i j l : 'I_n).
Local Notation r := (1 + a)^-1.
Local Notation m Z i := (mean (attends A Z i) Z).

Lemma step_in_hull Z i : hull Z (step A a Z i).
Proof. rewrite stepE //; apply: hull_convex; first by rewrite rate_ge0 // ltW ?rate_lt1.
  exact: hull_token.
by have [j ij] := attends_nonempty A Z i; exact: hull_mean ij.
Qed.

(* lem-hulls: hulls decrease. *)
Theorem hulls_decrease Z x : hull (step A a Z) x -> hull Z x.
Proof. by apply: hull_in_hull; exact: step_in_hull. Qed.

Lemma step_move Z i : step A a Z i - Z i = (1 - r) *: (m Z i - Z i).
Proof. by rewrite stepE // scalerBr [X in _ = _ - X]scalerBl scale1r opprB addrAC addrC. Qed.

(* lem-energy: lengths grow, and pay for every step. *)
Theorem energy Z i : let z := Z i in let z' := step A a Z i in
  is_true (score A z z + score A (z' - z) (z' - z) <= score A z' z').
Proof. have := length_sum spdA (Z i) (step A a Z i - Z i); rewrite [Z i + _]addrC subrK => /= ->.
rewrite [X in _ <= X]addrAC ler_addl.
by rewrite step_move scoreZr scoreBr !mulr_ge0 ?ler0n ?pull_ge0 ?subr_ge0 ?score_attends.
Qed.

Lemma longer Z i : score A (Z i) (Z i) <= score A (step A a Z i) (step A a Z i).
Proof. by apply: le_trans (energy Z i); rewrite ler_addl score_ge0. Qed.

(* prop-frank-wolfe: the mean of those that are followed is the best point of the hull in the
   direction A z, which is the gradient of J(z) = <A z, z> / 2; a layer goes a part of the way to
   it, and never decreases J. *)
Theorem frank_wolfe Z i :
  [/\ hull Z (m Z i), forall x, hull Z x -> score A (Z i) x <= score A (Z i) (m Z i),
      step A a Z i = Z i + (1 - r) *: (m Z i - Z i) &
      score A (Z i) (Z i) / 2%:R <= score A (step A a Z i) (step A a Z i) / 2%:R].
Proof. split; last by rewrite ler_pmul2r ?invr_gt0 ?ltr0n // longer.
- by have [j ij] := attends_nonempty A Z i; exact: hull_mean ij.
- by move=> x; apply: hull_score_le => j; exact: score_attends.
by rewrite -step_move addrC subrK.
Qed.

(* lem-no-collisions: a distance shrinks by r at most, so distinct tokens never meet. *)
Theorem no_collisions Z i j : let D := Z i - Z j in let D' := step A a Z i - step A a Z j in
  is_true (r ^+ 2 * score A D D <= score A D' D').
Proof. move=> D D'; pose M := m Z i - m Z j.
have DM : 0 <= score A D M.
  rewrite /D /M scoreDl scoreNl subr_ge0 (le_trans (y := 0)) // scoreBr ?subr_le0 ?subr_ge0;
    by apply: score_means_le => l; exact: score_attends.
have -> : D' = r *: D + (1 - r) *: M.
  by rewrite /D' /D /M !stepE // !scalerBr addrACA -opprD.
clear D'; clearbody D M; rewrite length_sum // !score_lin expr2 -[X in X <= _]mulrA -addrA ler_addl.
by rewrite addr_ge0 ?mulr_ge0 ?ler0n ?rate_ge0 ?pull_ge0 ?score_ge0.
Qed.

Lemma step_injective Z : injective Z -> injective (step A a Z).
Proof. move=> injZ i j eq; apply: injZ; apply/eqP;
  rewrite -subr_eq0 -(score_eq0 spdA) eq_le score_ge0 // andbT.
have /= := no_collisions Z i j; rewrite eq subrr score0l.
by rewrite pmulr_rle0 // exprn_gt0 // rate_gt0.
Qed.

End OneLayer.

Section Run.
Variables (R : realFieldType) (n d : nat) (A : 'M[R]_d) (spdA : spd A).
Variables (alpha : nat -> R) (alpha0 : forall k, 0 < alpha k) (Z : 'I_n -> 'rV[R]_d).
Implicit Types (i j l : 'I_n) (k t : nat).
Local Notation z k := (run A alpha Z k).

(* lem-no-collisions, at all layers: distinct tokens stay distinct for ever. *)
Theorem run_injective k : injective Z -> injective (z k).
Proof. by move=> injZ; elim: k => //= k; exact: step_injective. Qed.

(* lem-energy, at all layers: lengths never decrease, so a nonzero token stays away from 0. *)
Theorem lengths_grow k t i : score A (z k i) (z k i) <= score A (z (k + t) i) (z (k + t) i).
Proof. by elim: t => [|t]; rewrite ?addn0 // addnS => /le_trans; apply; exact: longer. Qed.

Lemma run_hull k t x : hull (z (k + t)) x -> hull (z k) x.
Proof. by elim: t x => [|t IH] x; rewrite ?addn0 // addnS => /(hulls_decrease (alpha0 _)) /IH. Qed.

(* No token is ever longer than the longest at the start. *)
Lemma run_bounded b k i : (forall j, score A (Z j) (Z j) <= b) -> score A (z k i) (z k i) <= b.
Proof. move=> Zb; have zZ : hull Z (z k i) by apply: (@run_hull 0 k); exact: hull_token.
have half j : score A (z k i) (Z j) <= (score A (z k i) (z k i) + b) / 2%:R.
  by apply: le_trans (score_half spdA _ _) _; rewrite ler_pmul2r ?invr_gt0 ?ltr0n // ler_add2l.
by have := hull_score_le half zZ; rewrite ler_pdivl_mulr ?ltr0n // mulr_natr mulr2n ler_add2l.
Qed.

(* ... the squares of all steps together are bounded. *)
Theorem energy_sum b k i : (forall j, score A (Z j) (Z j) <= b) ->
  \sum_(l < k) score A (z l.+1 i - z l i) (z l.+1 i - z l i) <= b - score A (Z i) (Z i).
Proof. move=> Zb; rewrite ler_subr_addr; apply: le_trans (run_bounded k i Zb).
elim: k => [|k IH]; first by rewrite big_ord0 add0r.
rewrite big_ord_recr /= addrAC; apply: le_trans (energy spdA (alpha0 k) (z k) i).
by rewrite ler_add2r.
Qed.

(* ... so among the first T steps there is a short one: its square is at most the T-th part of
   that. *)
Theorem one_short_step b T i : (forall j, score A (Z j) (Z j) <= b) -> (0 < T)%N ->
  exists k : 'I_T, T%:R * score A (z k.+1 i - z k i) (z k.+1 i - z k i) <= b.
Proof. move=> Zb T0; pose s (k : 'I_T) := score A (z k.+1 i - z k i) (z k.+1 i - z k i).
have [k _ kmin] := Order.TotalTheory.arg_minP (P := xpredT) s (i0 := Ordinal T0) isT.
exists k; rewrite mulrC mulr_natr -[X in _ *+ X]card_ord -sumr_const.
apply: (@le_trans _ _ (b - score A (Z i) (Z i))); last by rewrite ler_subl_addr ler_addl score_ge0.
by apply: le_trans (energy_sum T i Zb); apply: ler_sum => l _; exact: kmin.
Qed.

End Run.
