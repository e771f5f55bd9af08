(* Chapter 2, settlement: a finite check decides for ever, in closed form. This is what makes a
   certificate sound.

   The book's lemma settles a token that follows one other, C_i = {v} and C_v = {v}. The version
   here allows exact ties: a set S of tokens has settled, token i on the point g i, if they follow
   each other alone, if g i is the mean of what i follows, now (Z) and in the end (g), and if nobody
   lies farther in the direction of g i than g i itself. That all ties stay ties need not be asked
   for: a mean of numbers is their upper bound only if all of them are. *)
From Hardmax Require Import Model Geometry Layers.
Local Open Scope ring_scope.

Section Settlement.
Variables (R : realFieldType) (n d : nat) (A : 'M[R]_d).
Implicit Types (Z g : 'I_n -> 'rV[R]_d) (i j l v : 'I_n) (S C : {set 'I_n}).

Definition settled Z S g := forall i, i \in S ->
  [/\ attends A Z i \subset S, mean (attends A Z i) Z = g i, mean (attends A Z i) g = g i &
      forall l, score A (g i) (Z l) <= score A (g i) (g i)].

Lemma mean_at_most x C (Y : 'I_n -> 'rV[R]_d) b : (forall j, j \in C -> score A x (Y j) <= b) ->
  score A x (mean C Y) = b -> forall j, j \in C -> score A x (Y j) = b.
Proof.
move=> le eq j jC; have [w0 w1 mw] := mean_weights Y jC.
apply: (tight _ w0 w1) => [l||]; first by case: (boolP (l \in C)) => [/le|_]; rewrite ?mul0r ?eqxx.
  by rewrite -mw.
by rewrite jC mul1r invr_neq0 ?(card_neq0 _ jC).
Qed.

Variables (a : R) (a0 : 0 < a).
Local Notation r := (1 + a)^-1.

Lemma settled_step Z S g : settled Z S g ->
  settled (step A a Z) S g /\
  forall i, i \in S ->
    attends A (step A a Z) i = attends A Z i /\ step A a Z i = r *: Z i + (1 - r) *: g i.
Proof.
move=> st; have := stepE A Z _ a0; move: (step A a Z) => Z' new.
have pos : 0 < r /\ 0 < 1 - r by rewrite rate_gt0 ?pull_gt0.
have Z'E i : i \in S -> Z' i = r *: Z i + (1 - r) *: g i by move=> /st [_ <- _ _].
have top i l : i \in S -> score A (g i) (mean (attends A Z l) Z) <= score A (g i) (g i).
  move=> /st [_ _ _ le]; have [j lj] := attends_nonempty A Z l; exact: score_mean_le lj _.
have same i : i \in S -> attends A Z' i = attends A Z i.
  move=> iS; have [sub now end_ le] := st i iS; set C := attends A Z i in sub now end_ *.
  set b := score A (Z' i) (g i).
  have old l : score A (Z' i) (Z l) <= b ?= iff (l \in C).
    have /andP [le1 le2] : (score A (Z i) (Z l) <= score A (Z i) (g i)) &&
      (score A (g i) (Z l) <= score A (g i) (g i)).
      by rewrite le -now score_attends.
    rewrite /b Z'E // !score_lin; split; first by rewrite ler_add ?ler_pmul2l //; case: pos.
    case: (boolP (l \in C)) => lC.
      have -> : score A (g i) (Z l) = score A (g i) (g i).
        by apply: (mean_at_most (C := C)) => //; rewrite now.
      by rewrite (attends_mean lC) now eqxx.
    apply/negbTE; rewrite lt_eqF // ltr_le_add ?ler_pmul2l //; try by case: pos.
    by rewrite ltr_pmul2l -?now ?not_attends //; case: pos.
  have mid l : score A (Z' i) (mean (attends A Z l) Z) <= b.
    have [j lj] := attends_nonempty A Z l; apply: score_mean_le lj _ => j' _; exact: (old j').
  have tied l : l \in C -> score A (Z' i) (Z' l) = b.
    move=> lC; have lS := subsetP sub _ lC; rewrite (Z'E l) // !score_lin.
    have -> : score A (Z' i) (g l) = b.
      apply: (mean_at_most (C := C)) => [j jC||//]; last by rewrite end_.
      by have [_ <- _ _] := st j (subsetP sub _ jC); exact: mid.
    have /eqP -> : score A (Z' i) (Z l) == b by rewrite old.
    by rewrite -mulrDl addrC subrK mul1r.
  have less l : l \notin C -> score A (Z' i) (Z' l) < b.
    move=> lC; rewrite (new l) scoreDr !scoreZr -[X in _ < X](splitE r).
    rewrite ltr_le_add ?ltr_pmul2l ?ler_pmul2l ?mid //; try by case: pos.
    by rewrite lt_neqAle (old l).2 (old l).1 lC.
  apply/setP => j; have [j0 j0C] := attends_nonempty A Z i.
  apply/attendsP/idP => [all|jC l]; last first.
    by rewrite (tied j jC); case: (boolP (l \in C)) => [/tied ->//|/less/ltW].
  by apply: contraT => /less; rewrite ltNge -(tied j0 j0C) all.
split=> [i iS|i iS]; last by split; [exact: same | exact: Z'E].
have [sub now end_ le] := st i iS; rewrite (same i iS); split=> // [|l].
  have -> : mean (attends A Z i) Z' = mean (attends A Z i) (fun j => r *: Z j + (1 - r) *: g j).
    by apply: eq_mean => j /(subsetP sub); exact: Z'E.
  by rewrite meanD now end_ -scalerDl addrC subrK scale1r.
rewrite (new l) scoreDr !scoreZr -[X in _ <= X](splitE r).
by rewrite ler_add ?ler_pmul2l ?top //; case: pos.
Qed.

End Settlement.

Section ForEver.
Variables (R : realFieldType) (n d : nat) (A : 'M[R]_d) (alpha : nat -> R)
  (alpha0 : forall k, 0 < alpha k).
Implicit Types (Z g : 'I_n -> 'rV[R]_d) (i j v : 'I_n) (k l t : nat) (S C : {set 'I_n}).

Lemma run_add Z k t : run A alpha Z (k + t) = run A (fun l => alpha (k + l)%N) (run A alpha Z k) t.
Proof. by elim: t => [|t IH]; rewrite ?addn0 // addnS /= IH. Qed.

(* lem-settled-ties, for all of S at once: what has settled at layer k stays so, with the same
   attention sets; and each later layer is known in closed form. *)
Theorem settlement Z S g k : settled A (run A alpha Z k) S g -> forall t i, i \in S ->
  attends A (run A alpha Z (k + t)) i = attends A (run A alpha Z k) i /\
  run A alpha Z (k + t) i =
    g i + \prod_(l < t) (1 + alpha (k + l)%N)^-1 *: (run A alpha Z k i - g i).
Proof.
move=> st t i iS; rewrite run_add; set Y := run A alpha Z k in st *; pose beta l := alpha (k + l)%N.
suff [_ /(_ i iS)] : settled A (run A beta Y t) S g /\ forall i, i \in S ->
    attends A (run A beta Y t) i = attends A Y i /\
    run A beta Y t i = g i + \prod_(l < t) (1 + beta l)^-1 *: (Y i - g i) by [].
elim: t => [|t [IHs IH]]; first by split=> // j _; rewrite big_ord0 scale1r addrC subrK.
have [st' next] := settled_step (alpha0 (k + t)) IHs; split=> //= j jS.
have [<- zt] := IH j jS; have [-> ->] := next j jS; split=> //.
rewrite zt big_ord_recr /= -/(beta t) scalerDr scalerA [X in _ + X *: _]mulrC addrAC -scalerDl.
by rewrite addrC [_^-1 + _]addrC subrK scale1r addrC.
Qed.

(* lem-settlement: C_i = {v} and C_v = {v}. *)
Theorem settlement_on_a_leader Z k i v :
  attends A (run A alpha Z k) i = [set v] -> attends A (run A alpha Z k) v = [set v] -> forall t,
  [/\ attends A (run A alpha Z (k + t)) i = [set v], attends A (run A alpha Z (k + t)) v = [set v] &
      run A alpha Z (k + t) i =
        run A alpha Z k v +
          \prod_(l < t) (1 + alpha (k + l)%N)^-1 *: (run A alpha Z k i - run A alpha Z k v)].
Proof.
move=> iv vv t; set Y := run A alpha Z k.
have st : settled A Y [set i; v] (fun=> Y v).
  have vmax j : score A (Y v) (Y j) <= score A (Y v) (Y v).
    by have /attendsP : v \in attends A Y v by rewrite /Y vv set11.
  by move=> j /set2P [] ->; rewrite /Y ?iv ?vv -/Y; split=> //;
    rewrite ?mean1 // sub1set !inE eqxx orbT.
have [iat ->] := settlement st t (set21 i v); have [vat _] := settlement st t (set22 i v).
by rewrite iat vat.
Qed.

(* lem-frozen: leaders are frozen. *)
Theorem leaders_frozen Z k i : attends A (run A alpha Z k) i = [set i] -> forall t,
  run A alpha Z (k + t) i = run A alpha Z k i /\ attends A (run A alpha Z (k + t)) i = [set i].
Proof.
by move=> ii t; have [-> _ ->] := settlement_on_a_leader ii ii t; rewrite subrr scaler0 addr0.
Qed.

End ForEver.

Section Limit.
Variables (R : archiFieldType) (d : nat).

(* If the strengths do not fade away, the product in the closed form goes to 0. *)
Lemma product_to_0 (beta : nat -> R) a : 0 < a -> (forall k, a <= beta k) ->
  forall e, 0 < e -> exists N, forall t, (N <= t)%N -> \prod_(l < t) (1 + beta l)^-1 < e.
Proof.
move=> a0 ge e e0.
have b1 l : 0 < 1 + beta l by rewrite addr_gt0 ?ltr01 // (lt_le_trans a0).
have grow t : 1 + t%:R * a <= \prod_(l < t) (1 + beta l).
  elim: t => [|t IH]; first by rewrite big_ord0 mul0r addr0.
  rewrite big_ord_recr /= (le_trans (y := (1 + t%:R * a) * (1 + a))) //.
    have -> : (1 + t%:R * a) * (1 + a) = 1 + t.+1%:R * a + t%:R * a * a by rewrite mulrSr; ring.
    by rewrite ler_addl !mulr_ge0 ?ler0n // ltW.
  by apply: ler_pmul => //; rewrite ?ler_add2l // addr_ge0 ?mulr_ge0 ?ler0n ?ler01 ?(ltW a0).
have x0 : 0 < (e * a)^-1 by rewrite invr_gt0 mulr_gt0.
exists (Num.bound (e * a)^-1) => t Nt;
  rewrite prodfV -[e]invrK ltf_pinv ?posrE ?invr_gt0 ?prodr_gt0 //.
apply: lt_le_trans (grow t); apply: (@lt_le_trans _ _ (t%:R * a)); last by rewrite ler_addr ler01.
rewrite -ltr_pdivr_mulr // -invfM; by apply: lt_le_trans (archi_boundP (ltW x0)) _; rewrite ler_nat.
Qed.

End Limit.
