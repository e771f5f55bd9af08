(* The checker over the rationals of Coq's library, and what its yes means over any real field. *)
From Coq Require Import ZArith QArith Qreduction.
From mathcomp Require Import ssrZ zify.
From Hardmax Require Import Model Checker Soundness.
Local Open Scope ring_scope.

Definition rationals : numbers := @Numbers Q (0 # 1)%Q (1 # 1)%Q
  (fun x y => Qred (Qplus x y)) (fun x y => Qred (Qmult x y))
  (fun x => Qred (Qopp x)) (fun x => Qred (Qinv x)) Qle_bool.

Definition check_rational : nat -> nat -> seq (seq Q) -> seq Q -> seq (seq Q) ->
  certificate Q -> bool := @check rationals.

Section Embedding.
Variable R : realFieldType.

(* A fraction of Coq's library as a number of the field. *)
Definition of_Z (z : Z) : R := (int_of_Z z)%:~R.
Definition of_Q (q : Q) : R := of_Z (Qnum q) / of_Z (Zpos (Qden q)).

Lemma of_ZD x y : of_Z (x + y)%Z = of_Z x + of_Z y.
Proof. by rewrite /of_Z -intrD; congr _%:~R; lia. Qed.
Lemma of_ZM x y : of_Z (x * y)%Z = of_Z x * of_Z y.
Proof. by rewrite /of_Z -intrM; congr _%:~R; lia. Qed.
Lemma of_Z_le x y : (of_Z x <= of_Z y) = Z.leb x y.
Proof. by rewrite /of_Z ler_int; lia. Qed.
Lemma of_pos_gt0 p : 0 < of_Z (Zpos p).
Proof. by rewrite /of_Z ltr0z; lia. Qed.
Lemma of_pos_neq0 p : of_Z (Zpos p) != 0. Proof. by rewrite gt_eqF // of_pos_gt0. Qed.

Lemma of_Q_eq x y : Qeq x y -> of_Q x = of_Q y.
Proof. rewrite /Qeq => /(congr1 of_Z); rewrite !of_ZM => eq.
by apply/eqP; rewrite /of_Q eqr_div ?of_pos_neq0 //; apply/eqP.
Qed.

Lemma of_Q_red x : of_Q (Qred x) = of_Q x.
Proof. exact: of_Q_eq (Qred_correct x). Qed.

Lemma rationals_are_faithful : @faithful rationals R of_Q.
Proof. split=> [||x y|x y|x|x|x y].
- by rewrite /of_Q mul0r.
- by rewrite /of_Q divr1.
- by rewrite [LHS]of_Q_red /of_Q /= -[Zpos (_ * _)]/(Zpos _ * Zpos _)%Z of_ZD !of_ZM
  addf_div ?of_pos_neq0.
- by rewrite [LHS]of_Q_red /of_Q /= -[Zpos (_ * _)]/(Zpos _ * Zpos _)%Z !of_ZM mulf_div.
- by rewrite [LHS]of_Q_red /of_Q /= -mulNr /of_Z -rmorphN; congr (_%:~R / _); lia.
- rewrite [LHS]of_Q_red /of_Q /Qinv invf_div; case: (Qnum x) => [|p|p] /=;
  rewrite ?mul0r ?invr0 ?mulr0 //.
  rewrite -[Zneg p]/(-1 * Zpos p)%Z -[Zneg (Qden x)]/(-1 * Zpos (Qden x))%Z !of_ZM.
  by rewrite invfM mulrA [_ * (of_Z (-1))^-1]mulrC /of_Z /= invrN1.
rewrite /of_Q ler_pdivr_mulr ?of_pos_gt0 // mulrAC ler_pdivl_mulr ?of_pos_gt0 //.
by rewrite -!of_ZM of_Z_le.
Qed.

(* ... over the rational numbers: this is the program that the suite runs. *)
Theorem rational_certificate_is_sound n d A alphas Z (c : certificate Q) :
  check_rational n d A alphas Z c -> @holds rationals R of_Q n d A alphas Z c.
Proof. by move=> yes; apply: (certificate_is_sound rationals_are_faithful). Qed.

End Embedding.
