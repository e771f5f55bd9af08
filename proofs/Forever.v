(* Chapter 3, sets that stay for ever: also ties whose mean moves.

   While all attention sets stay what they are, a layer averages: z becomes r z + (1 - r) N z, where
   N puts each token to the mean of those that it follows. So after t layers the tokens are a
   weighted mean of Z, N Z, N N Z, ..., with the same weights for all: those of the number of heads
   in t throws of a coin. If N^K Z = N^(K+1) Z, the tokens go there, because the other weights fade.
   And the sets stay if all gaps of scores between these clouds, two by two, have the right sign;
   or nearly so, because the products of two weights fade faster than the weight of Z itself. *)
From Hardmax Require Import Model Geometry Layers Settlement.
Local Open Scope ring_scope.

Section Mix.
Variables (R : realFieldType) (r : nat -> R) (r01 : forall l, 0 < r l < 1).
Implicit Types (t m l : nat) (V U : lmodType R).

(* The weighted mean of F 0, F 1, ... after t layers. *)
Fixpoint mix V t (F : nat -> V) : V :=
  if t is t'.+1 then r t' *: mix t' F + (1 - r t') *: mix t' (fun m => F m.+1) else F 0%N.

Lemma eq_mix V t (F G : nat -> V) : F =1 G -> mix t F = mix t G.
Proof.
by elim: t F G => [|t IH] F G eq /=; [exact: eq | rewrite (IH _ _ eq) (IH _ _ (fun m => eq m.+1))].
Qed.

Lemma mix_map V U (f : V -> U) t (F : nat -> V) :
  (forall a b x y, f (a *: x + b *: y) = a *: f x + b *: f y) ->
  f (mix t F) = mix t (fun m => f (F m)).
Proof. by move=> lin; elim: t F => //= t IH F; rewrite lin !IH. Qed.

Lemma mixD V t (F G : nat -> V) : mix t (fun m => F m + G m) = mix t F + mix t G.
Proof. by elim: t F G => //= t IH F G; rewrite !IH !scalerDr addrACA. Qed.
Lemma mixB V t (F G : nat -> V) : mix t (fun m => F m - G m) = mix t F - mix t G.
Proof. by elim: t F G => //= t IH F G; rewrite !IH !scalerBr opprD addrACA. Qed.

Lemma mixZ V t (a : R) (F : nat -> V) : mix t (fun m => a *: F m) = a *: mix t F.
Proof. by elim: t F => //= t IH F; rewrite !IH scalerDr !scalerA ![a * _]mulrC. Qed.
Lemma mix_const V t (x : V) : mix t (fun=> x) = x.
Proof. by elim: t => //= t ->; rewrite -scalerDl addrC subrK scale1r. Qed.
Lemma mix_swap V t u (F : nat -> nat -> V) :
  mix t (fun m => mix u (F m)) = mix u (fun l => mix t (fun m => F m l)).
Proof. by elim: t F => //= t IH F; rewrite !IH -!mixZ -mixD. Qed.

Implicit Types F G : nat -> R^o.

Lemma r0 l : 0 < r l. Proof. by case/andP: (r01 l). Qed.
Lemma r1 l : 0 < 1 - r l. Proof. by rewrite subr_gt0; case/andP: (r01 l). Qed.

Lemma mix_le t F G : (forall m, F m <= G m :> R) -> mix t F <= mix t G :> R.
Proof. by elim: t F G => [|t IH] F G le /=; rewrite ?ler_add ?ler_pmul2l ?r0 ?r1 ?IH. Qed.

Lemma mix_norm t F : `|mix t F : R| <= mix t (fun m => `|F m : R| : R^o) :> R.
Proof. elim: t F => //= t IH F; apply: le_trans (ler_norm_add _ _) _.
rewrite !normrM (gtr0_norm (r0 t)) (gtr0_norm (r1 t)).
by apply: ler_add; [apply: (ler_wpmul2l (ltW (r0 t))) | apply: (ler_wpmul2l (ltW (r1 t)))].
Qed.

Lemma mix_ge0 t F : (forall m, 0 <= F m :> R) -> 0 <= mix t F :> R.
Proof. by move/(mix_le t); rewrite mix_const. Qed.

Lemma mix_gt0 t F : (forall m, 0 <= F m :> R) -> 0 < F 0%N :> R -> 0 < mix t F :> R.
Proof. elim: t F => //= t IH F F0 F00; apply: ltr_spaddl; first by rewrite mulr_gt0 ?IH ?r0.
by rewrite mulr_ge0 ?mix_ge0 ?ltW ?r1.
Qed.

(* How fast weights fade: the m-th weight is at most q^-m times a product of small numbers s, and
   the square of that product is below the weight of 0. *)
Variables (q : R) (s : nat -> R) (q0 : 0 <= q).
Hypotheses (rs : forall l, r l + (1 - r l) * q <= s l) (sr : forall l, s l ^+ 2 <= r l).
Local Notation powers t := (mix t (fun m => q ^+ m : R^o) : R).

Lemma mix_power t : 0 <= powers t <= \prod_(l < t) s l.
Proof. rewrite mix_ge0 /= => [|m]; last exact: exprn_ge0.
elim: t => [|t IH]; first by rewrite big_ord0.
rewrite big_ord_recr /= [X in _ <= X]mulrC.
have -> : mix t (fun m => q ^+ m.+1 : R^o) = q *: mix t (fun m => q ^+ m : R^o).
  by rewrite -mixZ; apply: eq_mix => m; rewrite exprS.
rewrite scalerA -scalerDl; apply: ler_pmul => //.
- by rewrite addr_ge0 ?mulr_ge0 // ltW ?r0 ?r1.
by apply: mix_ge0 => m; exact: exprn_ge0.
Qed.

Lemma mix_first t : mix t (fun m => (m == 0%N)%:R : R^o) = \prod_(l < t) r l.
Proof. elim: t => [|t IH]; rewrite ?big_ord0 // big_ord_recr /= [RHS]mulrC IH.
by rewrite mix_const scaler0 addr0.
Qed.

Lemma power_first t : powers t ^+ 2 <= mix t (fun m => (m == 0%N)%:R : R^o) :> R.
Proof. case/andP: (mix_power t) => ge0 le.
apply: (@le_trans _ _ ((\prod_(l < t) s l) ^+ 2)).
  by rewrite ler_expn2r // nnegrE ?(le_trans ge0).
rewrite mix_first -prodrXl; apply: ler_prod => l _; rewrite sr andbT exprn_ge0 //.
by rewrite (le_trans _ (rs l)) // addr_ge0 ?mulr_ge0 // ltW ?r0 ?r1.
Qed.

(* A sum of products of two weights is positive if its negative terms are small beside the term of
   the first weight alone, h. *)
Lemma mix2_gt0 t h (F : nat -> nat -> R) : 0 <= h -> 0 < F 0%N 0%N ->
  (forall m l, h * ((m == 0%N)%:R + (l == 0%N)%:R) - h * 2%:R * (q ^+ m * q ^+ l) <= F m l) ->
  0 < mix t (fun m => mix t (fun l => F m l : R^o)) :> R.
Proof. move=> h0 F00 low_; pose f m : R^o := (m == 0%N)%:R; pose g m : R^o := q ^+ m.
pose w : R := mix t f; pose p : R := mix t g.
have lin (a b c : R) : mix t (fun m => a + b * f m + c * g m : R^o) = a + b * w + c * p.
  rewrite (mixD t (fun m => a + b * f m : R^o)) (mixD t (fun=> a : R^o)) mix_const.
  by rewrite (mixZ t b f) (mixZ t c g).
pose low m l : R^o := h * (f m + f l) - h * 2%:R * (g m * g l).
have lowE : mix t (fun m => mix t (low m)) = h * 2%:R * (w - p ^+ 2).
  rewrite (eq_mix t (G := fun m => h * w + h * f m + (- (h * 2%:R * p)) * g m : R^o)) => [|m].
    by rewrite lin; ring.
  rewrite (eq_mix t (G := fun l => h * f m + h * f l + (- (h * 2%:R * g m)) * g l : R^o)) => [|l].
    by rewrite lin; ring.
  by rewrite /low; ring.
have low0 : 0 <= mix t (fun m => mix t (low m)) :> R.
  by rewrite lowE !mulr_ge0 ?ler0n ?subr_ge0 ?power_first.
suff : 0 < mix t (fun m => mix t (fun l => F m l - low m l : R^o)) :> R.
  rewrite (eq_mix t (fun m => mixB t (F m : nat -> R^o) (low m))) mixB subr_gt0.
  exact: le_lt_trans.
have D0 m l : 0 <= F m l - low m l by rewrite subr_ge0 low_.
apply: mix_gt0 => [m|]; first by apply: mix_ge0 => l.
apply: mix_gt0 => [l|//]; rewrite // /low /f /g /=.
by have -> : F 0%N 0%N - (h * (1 + 1) - h * 2%:R * (1 * 1)) = F 0%N 0%N by ring.
Qed.

End Mix.

Section ForEver.
Variables (R : realFieldType) (n d : nat) (A : 'M[R]_d).
Implicit Types (Z Y : 'I_n -> 'rV[R]_d) (i j x : 'I_n) (m l t : nat).

(* N, and how far token x stays behind what i follows, between N^m Z and N^l Z. *)
Definition averages Z Y i := mean (attends A Z i) Y.
Definition cloud Z m := iter m (averages Z) Z.
Definition lead Z i x m l := score A (cloud Z m i) (cloud Z l.+1 i - cloud Z l x).

Lemma cloud_at_rest Z K : cloud Z K.+1 =1 cloud Z K -> forall m j, (K <= m)%N ->
  cloud Z m j = cloud Z K j.
Proof.
move=> rest m j Km; rewrite -(subnKC Km); elim: (m - K)%N j => [|t IH] j; rewrite ?addn0 // addnS.
by rewrite -rest; apply: eq_mean => l _; exact: IH.
Qed.

(* What is to be checked: in the set, no gap at all; outside of it, a gap that is as good as
   positive. *)
Definition lasting q Z := forall i x,
  if x \in attends A Z i then forall m l, lead Z i x m l + lead Z i x l m = 0
  else exists2 h, 0 <= h & forall m l,
    h * ((m == 0%N)%:R + (l == 0%N)%:R) - h * 2%:R * (q ^+ m * q ^+ l)
      <= lead Z i x m l + lead Z i x l m.

Variables (alpha : nat -> R) (alpha0 : forall l, 0 < alpha l) (q : R) (q0 : 0 < q).
Hypothesis q1 : forall l, q * (2%:R + alpha l) <= 1.
Local Notation r := (fun l => (1 + alpha l)^-1).
Local Notation s := (fun l => (1 + alpha l / 2%:R)^-1).

Fact r01 l : 0 < r l < 1. Proof. by rewrite rate_gt0 ?rate_lt1. Qed.
Fact half0 l : 0 < 1 + alpha l / 2%:R.
Proof. by rewrite addr_gt0 ?ltr01 // divr_gt0 ?ltr0n. Qed.

Fact rs l : r l + (1 - r l) * q <= s l.
Proof. have b0 := alpha0 l; have p1 : 0 < 1 + alpha l by rewrite addr_gt0 ?ltr01.
have -> : r l + (1 - r l) * q = (1 + alpha l * q) / (1 + alpha l) by field; rewrite gt_eqF.
rewrite -[s l]mul1r ler_pdivr_mulr // mulrAC ler_pdivl_mulr ?half0 // mul1r.
have : alpha l / 2%:R * (q * (2%:R + alpha l)) <= alpha l / 2%:R.
  by rewrite ger_pmulr ?q1 // divr_gt0 ?ltr0n.
rewrite -(ler_add2l (1 + alpha l / 2%:R)).
have -> : 1 + alpha l / 2%:R + alpha l / 2%:R = 1 + alpha l by field.
by apply: le_trans; rewrite le_eqVlt; apply/orP; left; apply/eqP; field.
Qed.

Fact sr l : s l ^+ 2 <= r l.
Proof. rewrite exprVn lef_pinv ?posrE ?exprn_gt0 ?half0 ?addr_gt0 ?ltr01 //.
have -> : (1 + alpha l / 2%:R) ^+ 2 = 1 + alpha l + (alpha l / 2%:R) ^+ 2 by field.
by rewrite ler_addl exprn_ge0 // divr_ge0 ?ler0n ?ltW.
Qed.

Lemma mean_mix t (C : {set 'I_n}) (F : 'I_n -> nat -> 'rV[R]_d) :
  mean C (fun j => mix r t (F j)) = mix r t (fun m => mean C (fun j => F j m)).
Proof. by elim: t F => //= t IH F; rewrite meanD !IH. Qed.

Lemma score_mix t (F G : nat -> 'rV[R]_d) : score A (mix r t F) (mix r t G) =
  mix r t (fun m => mix r t (fun l => score A (F m) (G l) : R^o)) :> R^o.
Proof. rewrite (@mix_map _ r _ _ (fun u => score A u _ : R^o)) => [|*]; last by rewrite !score_lin.
by apply: eq_mix => m; rewrite (@mix_map _ r _ _ (score A (F m) : _ -> R^o)) // => *;
  rewrite !score_lin.
Qed.

(* While the sets stay, every layer is known in closed form. *)
Lemma closed_form Z t : (forall l i, (l < t)%N -> attends A (run A alpha Z l) i = attends A Z i) ->
  forall i, run A alpha Z t i = mix r t (fun m => cloud Z m i).
Proof.
elim: t => // t IH same i; rewrite /= stepE // same // IH => [|l j lt]; last exact: same (ltnW lt).
congr (_ + _ *: _); rewrite -[RHS]mean_mix; apply: eq_mean => j _.
by apply: IH => l ? lt; exact: same (ltnW lt).
Qed.

(* lem-forever, one way: by this criterion the sets stay for ever, also where alpha changes, and
   every layer is known in closed form. *)
Theorem sets_last Z : lasting q Z -> forall t i,
  attends A (run A alpha Z t) i = attends A Z i /\
  run A alpha Z t i = mix r t (fun m => cloud Z m i).
Proof. move=> last; suff same t i : attends A (run A alpha Z t) i = attends A Z i.
  by move=> t i; split; [exact: same | apply: closed_form => l j _; exact: same].
elim/ltn_ind: t i => t IH i; have next := closed_form (fun l j lt => IH l lt j).
set z := run A alpha Z t; set C := attends A Z i; pose M := mean C z.
have ME : M = mix r t (fun m => cloud Z m.+1 i).
  by rewrite -[RHS]mean_mix; apply: eq_mean => l _; exact: next.
have gapE x : score A (z i) (M - z x) * 2%:R =
  mix r t (fun m => mix r t (fun l => lead Z i x m l + lead Z i x l m : R^o)) :> R^o.
  rewrite ME /z !next -mixB score_mix mulr_natr mulr2n {2}mix_swap.
  by apply: etrans (esym (mixD r t _ _)) _; apply: eq_mix => m; exact: (esym (mixD r t _ _)).
have [j0 j0C] := attends_nonempty A Z i; apply: (attends_eq j0C (b := score A (z i) M)) => x xC.
  have := last i x; rewrite -/C xC => all0; have : score A (z i) (M - z x) * 2%:R = 0.
    rewrite gapE (eq_mix r t (G := fun=> 0 : R^o)) ?mix_const // => m.
    by rewrite (eq_mix r t (G := fun=> 0 : R^o)) ?mix_const // => l; exact: all0.
  by move/eqP; rewrite mulf_eq0 pnatr_eq0 orbF scoreBr subr_eq0 => /eqP.
have := last i x; rewrite -/C (negbTE xC) => -[h h0 low].
rewrite -subr_gt0 -scoreBr -(pmulr_lgt0 _ (ltr0Sn R 1)) gapE.
apply: (mix2_gt0 r01 (ltW q0) rs sr _ h0 _ low).
by rewrite -mulr2n -mulr_natr mulr_gt0 ?ltr0n // /lead /cloud /= scoreBr subr_gt0 not_attends.
Qed.

(* ... for a settled token, of which N Z, N N Z, ... are one and the same g, this is the form that
   lem-settlement has. *)
Theorem closed_form_at_rest (F : nat -> 'rV[R]_d) g t : (forall m, F m.+1 = g) ->
  mix r t F = g + \prod_(l < t) r l *: (F 0%N - g).
Proof. move=> Fg; elim: t => [|t IH] /=; first by rewrite big_ord0 scale1r addrC subrK.
rewrite IH (@eq_mix _ _ _ t _ _ Fg) mix_const big_ord_recr /= mulrC scalerDr scalerA.
by rewrite addrAC -scalerDl [X in X *: g]addrC subrK scale1r.
Qed.

(* ... and if the clouds come to rest, the tokens go where the last of them is. *)
Theorem lasting_sets_converge Z K : lasting q Z -> cloud Z K.+1 =1 cloud Z K ->
  exists B, forall t i c,
    `|run A alpha Z t i 0 c - cloud Z K i 0 c| <= B * \prod_(l < t) (1 + alpha l / 2%:R)^-1.
Proof. move=> last rest; have at_rest := cloud_at_rest rest.
pose F i c m : R := cloud Z m i 0 c - cloud Z K i 0 c.
exists (\sum_(p : 'I_K * 'I_n * 'I_d) `|F p.1.2 p.2 p.1.1| / q ^+ p.1.1) => t i c.
set B := \sum_p _; have B0 : 0 <= B.
  by apply: sumr_ge0 => p _; rewrite divr_ge0 // exprn_ge0 ?ltW.
have le m : `|F i c m| <= B * q ^+ m.
  have [mK|Km] := ltnP m K; last by rewrite /F at_rest // subrr normr0 mulr_ge0 // exprn_ge0 ?ltW.
  rewrite -ler_pdivr_mulr ?exprn_gt0 // /B (bigD1 (Ordinal mK, i, c)) //= ler_addl.
  by apply: sumr_ge0 => p _; rewrite divr_ge0 // exprn_ge0 ?ltW.
have -> : run A alpha Z t i 0 c - cloud Z K i 0 c = mix r t (F i c : nat -> R^o) :> R^o.
  rewrite mixB mix_const (sets_last last t i).2.
  by rewrite (@mix_map _ r _ _ (fun u : 'rV[R]_d => u 0 c : R^o)) // => *; rewrite !mxE.
apply: le_trans (mix_norm r01 t _) (le_trans (mix_le r01 t le) _).
rewrite (mixZ r t B (fun m => q ^+ m : R^o)) ler_wpmul2l //.
by have /andP [] := mix_power r01 (ltW q0) rs t.
Qed.

End ForEver.
