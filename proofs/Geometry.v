(* Chapter 1: who is followed; what normalisation does; every A is the identity in disguise. *)
From Hardmax Require Import Model.
Local Open Scope ring_scope.

(* The inner product <A x, y> *)
Section Score.
Variables (R : realFieldType) (d : nat) (A : 'M[R]_d).
Implicit Types x y z : 'rV[R]_d.

Lemma scoreE x y : score A x y = (x *m A^T *m y^T) 0 0.
Proof. by rewrite mxE; apply: eq_bigr => c _; rewrite [y^T _ _]mxE. Qed.

Lemma scoreDr x y z : score A x (y + z) = score A x y + score A x z.
Proof. by rewrite !scoreE linearD mulmxDr mxE. Qed.
Lemma scoreZr a x y : score A x (a *: y) = a * score A x y.
Proof. by rewrite !scoreE linearZ -scalemxAr mxE. Qed.
Lemma scoreDl x y z : score A (x + y) z = score A x z + score A y z.
Proof. by rewrite !scoreE !mulmxDl mxE. Qed.
Lemma scoreZl a x y : score A (a *: x) y = a * score A x y.
Proof. by rewrite !scoreE -!scalemxAl mxE. Qed.
Lemma scoreNr x y : score A x (- y) = - score A x y.
Proof. by rewrite -scaleN1r scoreZr mulN1r. Qed.
Lemma scoreNl x y : score A (- x) y = - score A x y.
Proof. by rewrite -scaleN1r scoreZl mulN1r. Qed.
Lemma scoreBr x y z : score A x (y - z) = score A x y - score A x z.
Proof. by rewrite scoreDr scoreNr. Qed.
Lemma scoreBl x y z : score A (x - y) z = score A x z - score A y z.
Proof. by rewrite scoreDl scoreNl. Qed.
Lemma score0r x : score A x 0 = 0.
Proof. by rewrite -(scale0r 0) scoreZr mul0r. Qed.
Lemma score0l x : score A 0 x = 0.
Proof. by rewrite -(scale0r 0) scoreZl mul0r. Qed.
Lemma score_sumr x I (r : seq I) (P : pred I) (F : I -> 'rV_d) :
  score A x (\sum_(i <- r | P i) F i) = \sum_(i <- r | P i) score A x (F i).
Proof. by apply: big_morph; [exact: scoreDr | exact: score0r]. Qed.

(* Opens all brackets. *)
Definition score_lin := (scoreDr, scoreDl, scoreNr, scoreNl, scoreZr, scoreZl).

Hypothesis spdA : spd A.

Lemma scoreC x y : score A x y = score A y x.
Proof. case: spdA => symA _; rewrite !scoreE -[in LHS](trmxK (x *m _ *m _)) mxE.
by rewrite !trmx_mul !trmxK symA mulmxA.
Qed.

Lemma score_ge0 x : 0 <= score A x x.
Proof. by case: (eqVneq x 0) => [->|/(proj2 spdA)/ltW //]; rewrite score0l. Qed.

Lemma score_eq0 x : (score A x x == 0) = (x == 0).
Proof. apply/eqP/eqP => [x0|->]; last exact: score0l.
by apply/eqP; apply: contraT => /(proj2 spdA); rewrite x0 ltxx.
Qed.

Lemma score_gt0 x : (0 < score A x x) = (x != 0).
Proof. by rewrite lt_def score_ge0 score_eq0 andbT. Qed.
Lemma length_sum x y : score A (x + y) (x + y) = score A x x + 2%:R * score A x y + score A y y.
Proof. by rewrite !score_lin (scoreC y x); ring. Qed.

Lemma score_half x y : score A x y <= (score A x x + score A y y) / 2%:R.
Proof. have := score_ge0 (x - y); rewrite length_sum !score_lin opprK mulrN addrAC subr_ge0.
by rewrite ler_pdivl_mulr ?ltr0n // mulrC.
Qed.

End Score.

(* Means and hulls *)
Section Means.
Variables (R : realFieldType) (n d : nat).
Implicit Types (x y : 'rV[R]_d) (Z : 'I_n -> 'rV[R]_d) (j l : 'I_n) (C : {set 'I_n}).

Fact mean_key : unit. Proof. by []. Qed.
  (* locked: a mean is not to be taken for the product that defines it *)
Definition mean C Z : 'rV[R]_d := locked_with mean_key (#|C|%:R^-1 *: \sum_(j in C) Z j).
Lemma meanE C Z : mean C Z = #|C|%:R^-1 *: \sum_(j in C) Z j. Proof. by rewrite /mean unlock. Qed.
Lemma card_neq0 C j : j \in C -> #|C|%:R != 0 :> R.
Proof. by move=> jC; rewrite pnatr_eq0 -lt0n; apply/card_gt0P; exists j. Qed.
Lemma score_meanr A x C Z : score A x (mean C Z) = #|C|%:R^-1 * \sum_(j in C) score A x (Z j).
Proof. by rewrite meanE scoreZr score_sumr. Qed.

Lemma score_mean_le A x C Z b j0 : j0 \in C -> (forall j, j \in C -> score A x (Z j) <= b) ->
  score A x (mean C Z) <= b.
Proof. move=> j0C le; rewrite score_meanr mulrC ler_pdivr_mulr ?lt0r ?(card_neq0 j0C) ?ler0n //.
by apply: le_trans (ler_sum _ le) _; rewrite sumr_const mulr_natr.
Qed.

Lemma score_mean_eq A x C Z b j0 : j0 \in C -> (forall j, j \in C -> score A x (Z j) = b) ->
  score A x (mean C Z) = b.
Proof. move=> j0C eq; rewrite score_meanr (eq_bigr _ eq) sumr_const -[b *+ _]mulr_natr mulrCA.
by rewrite mulVf ?mulr1 ?(card_neq0 j0C).
Qed.

Lemma meanD C Z Y (a b : R) : mean C (fun j => a *: Z j + b *: Y j) = a *: mean C Z + b *: mean C Y.
Proof. by rewrite !meanE big_split /= -!scaler_sumr scalerDr !scalerA !(mulrC _^-1) -!scalerA. Qed.

Lemma eq_mean C Z Y : {in C, Z =1 Y} -> mean C Z = mean C Y.
Proof. by move=> eq; rewrite !meanE (eq_bigr _ eq). Qed.
Lemma mean1 Z i : mean [set i] Z = Z i.
Proof. by rewrite meanE big_set1 cards1 invr1 scale1r. Qed.

(* Hulls: tokens are in them, they are convex, and a hull of points of a hull lies in it. *)

Lemma mean_weights C Z j0 (w := fun j => (j \in C)%:R / #|C|%:R : R) : j0 \in C ->
  [/\ forall j, 0 <= w j, \sum_j w j = 1 & mean C Z = \sum_j w j *: Z j].
Proof. move=> j0C; split=> [j||]; first by rewrite divr_ge0 ?ler0n.
  by rewrite -mulr_suml -natr_sum -[X in X%:R]big_mkcond sum1_card mulfV ?(card_neq0 j0C).
rewrite meanE scaler_sumr big_mkcond; apply: eq_bigr => j _.
by rewrite /w; case: ifP; rewrite ?mul1r ?mul0r ?scale0r.
Qed.

Lemma hull_mean C Z j0 : j0 \in C -> hull Z (mean C Z).
Proof. by move=> j0C; eexists; exact: mean_weights j0C. Qed.
Lemma hull_token Z i : hull Z (Z i).
Proof. by rewrite -(mean1 Z i); exact: hull_mean (set11 i). Qed.

Lemma hull_in_hull m (Y : 'I_m -> 'rV[R]_d) Z x : (forall i, hull Z (Y i)) -> hull Y x -> hull Z x.
Proof. move=> YZ [w [w0 w1 ->]].
have [u uP] := fin_all_exists YZ.
exists (fun j => \sum_i w i * u i j); split=> [j||].
- by apply: sumr_ge0 => i _; apply: mulr_ge0; [exact: w0 | case: (uP i)].
- by rewrite exchange_big -[RHS]w1; apply: eq_bigr => i _; rewrite -mulr_sumr;
  case: (uP i) => _ -> _; rewrite mulr1.
under [RHS]eq_bigr do rewrite scaler_suml.
rewrite exchange_big; apply: eq_bigr => i _.
by case: (uP i) => _ _ ->; rewrite scaler_sumr; apply: eq_bigr => j _; rewrite scalerA.
Qed.

Lemma hull_convex Z x y (t : R) : 0 <= t <= 1 -> hull Z x -> hull Z y ->
  hull Z (t *: x + (1 - t) *: y).
Proof. case/andP=> t0 t1 [u [u0 u1 ->]] [w [w0 w1 ->]].
exists (fun j => t * u j + (1 - t) * w j); split=> [j||].
- by rewrite addr_ge0 ?mulr_ge0 ?subr_ge0.
- by rewrite big_split /= -!mulr_sumr u1 w1; ring.
by rewrite !scaler_sumr -big_split /=; apply: eq_bigr => j _; rewrite [in RHS]scalerDl !scalerA.
Qed.

Lemma hull_score_le A x Z y b : (forall j, score A x (Z j) <= b) -> hull Z y -> score A x y <= b.
Proof. move=> le [w [w0 w1 ->]]; rewrite score_sumr -[b]mul1r -w1 mulr_suml.
by apply: ler_sum => j _; rewrite scoreZr ler_wpmul2l.
Qed.

(* A combination of numbers that are at most b is b only if all that have a weight are b. *)
Lemma tight A x Z w b : (forall j, w j != 0 -> score A x (Z j) <= b) -> (forall j, 0 <= w j) ->
  \sum_j w j = 1 -> score A x (\sum_j w j *: Z j) = b ->
  forall j, w j != 0 -> score A x (Z j) = b.
Proof. move=> le w0 w1 eq j wj; have ge0 l : true -> 0 <= w l * (b - score A x (Z l)).
  by have [->|/le lb] := eqVneq (w l) 0; rewrite ?mul0r ?mulr_ge0 ?subr_ge0.
have /(psumr_eq0P ge0)/(_ j isT)/eqP : \sum_l w l * (b - score A x (Z l)) = 0.
  under eq_bigr do rewrite mulrBr; rewrite sumrB -mulr_suml w1 mul1r -{1}eq score_sumr -sumrB.
  by apply: big1 => l _; rewrite scoreZr subrr.
by rewrite mulf_eq0 (negbTE wj) subr_eq0 => /eqP.
Qed.

End Means.

(* Who is followed *)
Section Followed.
Variables (R : realFieldType) (n d : nat) (A : 'M[R]_d) (spdA : spd A).
Implicit Types (Z : 'I_n -> 'rV[R]_d) (i j l : 'I_n) (C : {set 'I_n}).

Lemma attendsP Z i j : reflect (forall l, score A (Z i) (Z l) <= score A (Z i) (Z j))
  (j \in attends A Z i).
Proof. by rewrite inE; exact: forallP. Qed.

Lemma attends_nonempty Z i : exists j, j \in attends A Z i.
Proof. have [j _ jmax] := Order.TotalTheory.arg_maxP (P := xpredT) (fun l => score A (Z i) (Z l))
  (i0 := i) isT.
by exists j; apply/attendsP => l; exact: jmax.
Qed.

(* All that are followed have the same score; so has their mean. *)
Lemma attends_mean Z i j : j \in attends A Z i ->
  score A (Z i) (Z j) = score A (Z i) (mean (attends A Z i) Z).
Proof. move=> ij; apply/esym; apply: (score_mean_eq ij) => l /attendsP il.
by apply/eqP; rewrite eq_le il (attendsP _ _ _ ij).
Qed.

Lemma score_attends Z i l : score A (Z i) (Z l) <= score A (Z i) (mean (attends A Z i) Z).
Proof. by have [j ij] := attends_nonempty Z i; rewrite -(attends_mean ij); move/attendsP: ij. Qed.

Lemma attends_alone Z i : (forall j, j \in attends A Z i -> j = i) -> attends A Z i = [set i].
Proof. move=> only; have [l il] := attends_nonempty Z i; apply/setP => j.
by apply/idP/set1P => [/only|->] //; rewrite -{1}(only l il).
Qed.

Lemma score_means_le x Z i b : (forall j, score A x (Z j) <= b) ->
  score A x (mean (attends A Z i) Z) <= b.
Proof. by move=> le; have [j ij] := attends_nonempty Z i; apply: score_mean_le ij _. Qed.

(* Who is not followed scores less. *)
Lemma not_attends Z i l : l \notin attends A Z i ->
  score A (Z i) (Z l) < score A (Z i) (mean (attends A Z i) Z).
Proof. move=> il; rewrite lt_neqAle score_attends andbT; apply: contra il => /eqP eq.
by apply/attendsP => j; rewrite eq score_attends.
Qed.

(* If all of C score b and all others less, C is followed. *)
Lemma attends_eq Z i C b j0 : j0 \in C -> (forall j, j \in C -> score A (Z i) (Z j) = b) ->
  (forall j, j \notin C -> score A (Z i) (Z j) < b) -> attends A Z i = C.
Proof. move=> j0C eq lt; apply/setP => j; apply/attendsP/idP => [all|jC l].
  by apply: contraT => /lt; rewrite ltNge -(eq _ j0C) all.
by rewrite (eq j jC); case: (boolP (l \in C)) => [/eq ->|/lt/ltW].
Qed.

(* lem-half-space: whatever a token follows lies ahead of it. *)
Theorem half_space Z i j : j \in attends A Z i -> 0 <= score A (Z i) (Z j - Z i).
Proof. by move/attendsP/(_ i); rewrite !score_lin subr_ge0. Qed.

(* lem-longer: whoever is followed is longer. (Also if the follower is at 0.) *)
Theorem followed_is_longer Z i j :
  j \in attends A Z i -> Z j != Z i -> score A (Z i) (Z i) < score A (Z j) (Z j).
Proof.
move=> /half_space ahead ji; rewrite -[in X in _ < X](subrK (Z i) (Z j)) addrC length_sum // -addrA.
by rewrite ltr_addl ltr_spaddr ?mulr_ge0 ?ler0n ?score_gt0 // subr_eq0.
Qed.

(* ... so a walk along the arrows never comes back: on a path that ends where it began, all tokens
   are equal. *)
Theorem no_cycles Z i (p : seq 'I_n) :
  path (fun j l => l \in attends A Z j) i p -> Z (last i p) = Z i -> forall j, j \in p -> Z j = Z i.
Proof. have longer j (q : seq 'I_n) : path (fun j l => l \in attends A Z j) j q ->
    score A (Z j) (Z j) <= score A (Z (last j q)) (Z (last j q)).
  elim: q j => //= l q IH j /andP [jl /IH]; apply: le_trans.
  by case: (eqVneq (Z l) (Z j)) => [->//|/(followed_is_longer jl)/ltW].
elim: p i => //= l p IH i /andP [il lp] back j; rewrite inE.
have li : Z l = Z i.
  apply/eqP; apply: contraT => /(followed_is_longer il); rewrite ltNge -back => /negP; case;
    exact: longer.
by case/orP => [/eqP ->|jp] //; rewrite -li (IH l) // back li.
Qed.

(* ... and the longest token follows only itself and its copies. *)
Theorem longest_leads Z i : (forall j, score A (Z j) (Z j) <= score A (Z i) (Z i)) ->
  forall j, j \in attends A Z i -> Z j = Z i.
Proof. move=> longest j ij; apply/eqP; apply: contraT => /(followed_is_longer ij).
by rewrite ltNge longest.
Qed.

(* lem-never-empty: of distinct tokens, the longest follows itself alone; so there is a leader at
   layer 0. *)
Theorem leader_at_layer_0 alpha Z (i0 : 'I_n) : injective Z -> exists i, leader A alpha Z i.
Proof. move=> injZ.
have [i _ imax] := Order.TotalTheory.arg_maxP (P := xpredT) (fun l => score A (Z l) (Z l))
  (i0 := i0) isT.
by exists i, 0%N; apply: attends_alone => j /(longest_leads (fun l => imax l isT))/injZ.
Qed.

(* ... and where tokens may be equal, the first of the longest leads. *)
Theorem first_of_the_longest_leads alpha Z i :
  (forall j, score A (Z j) (Z j) <= score A (Z i) (Z i)) -> (forall j, Z j = Z i -> (i <= j)%N) ->
  leads_at A alpha Z 0 i.
Proof. by move=> longest first; split=> //; exact: longest_leads. Qed.

(* One layer as a convex combination, z + gamma (m - z). *)
Lemma stepE a Z i : 0 < a ->
  step A a Z i = (1 + a)^-1 *: Z i + (1 - (1 + a)^-1) *: mean (attends A Z i) Z.
Proof. move=> a0; have a1 : 1 + a != 0 by rewrite gt_eqF // addr_gt0 // ltr01.
rewrite /step meanE scalerDr !scalerA; congr (_ + _ *: _).
have [j /card_neq0 c0] := attends_nonempty Z i; by field; rewrite a1 c0.
Qed.

End Followed.

(* Normalisation, and the reduction to the identity *)
Section Scale.
Variables (R : realFieldType) (n d : nat) (A : 'M[R]_d).
Implicit Types (Z W : 'I_n -> 'rV[R]_d) (i j : 'I_n).

(* The model without its normalisation. *)
Definition bare_step a W i := W i + (a / #|attends A W i|%:R) *: \sum_(j in attends A W i) W j.
Fixpoint bare_run (alpha : nat -> R) W k :=
  if k is k'.+1 then bare_step (alpha k') (bare_run alpha W k') else W.

Lemma attends_scale c Z W i : 0 < c -> (forall j, W j = c *: Z j) -> attends A W i = attends A Z i.
Proof. move=> c0 WZ; apply/setP => j; rewrite !inE; apply: eq_forallb => l.
by rewrite !WZ !score_lin !ler_pmul2l.
Qed.

(* lem-normalisation: it is a change of scale, W^k = (1+alpha)^k Z^k; the attention sets are the
   same. *)
Theorem normalisation alpha Z k i : (forall k, 0 < alpha k) ->
  bare_run alpha Z k i = \prod_(l < k) (1 + alpha l) *: run A alpha Z k i /\
  attends A (bare_run alpha Z k) i = attends A (run A alpha Z k) i.
Proof. move=> a0; have a1 l : 0 < 1 + alpha l by rewrite addr_gt0 ?ltr01.
suff eq : forall i, bare_run alpha Z k i = \prod_(l < k) (1 + alpha l) *: run A alpha Z k i.
  by split=> //; apply: attends_scale eq; apply: prodr_gt0.
elim: k => [|k IH] {}i; first by rewrite big_ord0 scale1r.
have c0 : 0 < \prod_(l < k) (1 + alpha l) by apply: prodr_gt0.
rewrite big_ord_recr /= /bare_step /step (attends_scale _ c0 IH) scalerA mulfK ?gt_eqF // IH.
rewrite [RHS]scalerDr; congr (_ + _).
by rewrite (eq_bigr _ (fun j _ => IH j)) -scaler_sumr !scalerA mulrC.
Qed.

(* lem-reduction: with A = T^t T, the tokens T z follow the model with the identity. *)
Theorem reduction (T : 'M[R]_d) alpha Z k i : A = T^T *m T ->
  let Y j := Z j *m T^T in
  run 1%:M alpha Y k i = run A alpha Z k i *m T^T /\
  attends 1%:M (run 1%:M alpha Y k) i = attends A (run A alpha Z k) i.
Proof.
move=> AT Y; have same W V j : (forall l, W l = V l *m T^T) -> attends 1%:M W j = attends A V j.
  have eq x y : score 1%:M (x *m T^T) (y *m T^T) = score A x y.
    by rewrite !scoreE trmx1 mulmx1 AT !trmx_mul !trmxK !mulmxA.
  by move=> WV; apply/setP => l; rewrite !inE; apply: eq_forallb => l'; rewrite !WV !eq.
suff eq : forall j, run 1%:M alpha Y k j = run A alpha Z k j *m T^T by split=> //; exact: same.
elim: k => [//|k IH] j /=; rewrite /step (same _ _ _ IH) IH -scalemxAl mulmxDl
  -scalemxAl mulmx_suml.
by congr (_ *: (_ + _ *: _)); apply: eq_bigr => l _; exact: IH.
Qed.

End Scale.
