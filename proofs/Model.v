(* The model. This file has definitions alone: whoever believes them can believe the theorems of the
   other files, because the machine has checked the rest. They are the book's, chapters 1 to 3, to
   the letter. *)
(* The library, with its usual settings, for this file and those that import it. *)
From mathcomp Require Export all_ssreflect all_algebra ring.
#[export] Set Implicit Arguments.
#[export] Unset Strict Implicit.
#[export] Unset Printing Implicit Defensive.
Export Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Model.
(* Over any ordered field, such as the rationals or the reals; n tokens in d dimensions. *)
Variables (R : realFieldType) (n d : nat).
Implicit Types (x y s v : 'rV[R]_d) (A : 'M[R]_d) (Z : 'I_n -> 'rV[R]_d) (i j l : 'I_n) (k : nat).

(* <x, y>, and <A x, y>. Tokens are rows, so that A x is written x A^T. *)
Definition dot x y : R := \sum_(c < d) x 0 c * y 0 c.
Definition score A x y : R := dot (x *m A^T) y.

(* A is symmetric and positive definite. *)
Definition spd A := A^T = A /\ forall x, x != 0 -> 0 < score A x x.

(* def-attention-set: C_i(Z), all tokens with the largest score. *)
Definition attends A Z i : {set 'I_n} :=
  [set j | [forall l, score A (Z i) (Z l) <= score A (Z i) (Z j)]].

(* def-model: one layer, and layer k of a run. The strength alpha may change from layer to layer;
   the book's run has the same one in all, alpha k = a. *)
Definition step A (a : R) Z i : 'rV[R]_d :=
  (1 + a)^-1 *: (Z i + (a / #|attends A Z i|%:R) *: \sum_(j in attends A Z i) Z j).
Fixpoint run A (alpha : nat -> R) Z k : 'I_n -> 'rV[R]_d :=
  if k is k'.+1 then step A (alpha k') (run A alpha Z k') else Z.

(* x is a convex combination of the tokens. *)
Definition hull Z x := exists w : 'I_n ->
  R, [/\ forall j, 0 <= w j, \sum_j w j = 1 & x = \sum_j w j *: Z j].

(* The limit of the hulls. *)
Definition limit_hull A alpha Z x := forall k, hull (run A alpha Z k) x.

(* def-leader: a token that at some layer follows itself alone. *)
Definition leader A alpha Z i := exists k, attends A (run A alpha Z k) i = [set i].

(* def-leader, its last paragraph: equal tokens count once. Token i leads at layer k if it follows
   its copies alone and is the first of them. *)
Definition leads_at A alpha Z k i :=
  (forall j, j \in attends A (run A alpha Z k) i -> Z j = Z i) /\ forall j, Z j = Z i -> (i <= j)%N.

(* def-S: the possible limits in a convex set K. *)
Definition cluster_point A (K : 'rV[R]_d -> Prop) s :=
  [/\ K s, s != 0 & forall x, K x -> score A s x <= score A s s].

(* A vertex of K: between no two other points of K. *)
Definition vertex (K : 'rV[R]_d -> Prop) v :=
  K v /\ forall x y t, K x -> K y -> 0 < t < 1 -> v = t *: x + (1 - t) *: y -> x = v.

(* A sequence of tokens goes to s: in every coordinate it comes, and stays, as near as one likes. *)
Definition converges (u : nat -> 'rV[R]_d) s :=
  forall e, 0 < e -> exists N, forall k, (N <= k)%N -> forall c, `|u k 0 c - s 0 c| < e.

End Model.
