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
Implicit Types (Z g : 'I_n -> 'rV[R]_d) (i j l v : 'I_n) (k t : nat) (S C : {set 'I_n}).

Definition settled Z S g := forall i, i \in S ->
  [/\ attends A Z i \subset S, mean (attends A Z i) Z = g i, mean (attends A Z i) g = g i &
      forall l, score A (g i) (Z l) <= score A (g i) (g i)].

Lemma mean_at_most x C (Y : 'I_n -> 'rV[R]_d) b : (forall j, j \in C -> score A x (Y j) <= b) ->
  score A x (mean C Y) = b -> forall j, j \in C -> score A x (Y j) = b.
Proof. move=> le eq j jC; have [w0 w1 mw] := mean_weights Y jC.
apply: (tight _ w0 w1) => [l||]; first by case: (boolP (l \in C)) => [/le|_]; rewrite ?mul0r ?eqxx.
  by rewrite -mw.
by rewrite jC mul1r invr_neq0 ?(card_neq0 _ jC).
Qed.

Variables (alpha : nat -> R) (alpha0 : forall k, 0 < alpha k).

(* Where nobody lies beyond b in a direction, nobody ever does; who is behind stays behind. *)
Lemma run_below Z x b t l : (forall j, score A x (Z j) <= b) -> score A x (run A alpha Z t l) <= b.
Proof.
by move=> le; apply: hull_score_le le _; apply: (run_hull alpha0 (k := 0)); exact: hull_token.
Qed.

Lemma run_behind Z x b t l : (forall j, score A x (Z j) <= b) -> score A x (Z l) < b ->
  score A x (run A alpha Z t l) < b.
Proof. move=> le lt; elim: t => //= t IH; rewrite stepE // scoreDr !scoreZr.
rewrite -[b](splitE (1 + alpha t)^-1) ltr_le_add ?ltr_pmul2l ?ler_pmul2l ?rate_gt0 ?pull_gt0 //.
by apply: score_means_le => j; exact: run_below.
Qed.

(* Token i of S is on its way from Z i to g i, and all that it follows are level with g i, in the
   direction of Z i and in that of g i. *)
Lemma settled_for_ever Z S g t i (w := fun t => \prod_(m < t) (1 + alpha m)^-1) :
  settled Z S g -> i \in S ->
  attends A (run A alpha Z t) i = attends A Z i /\
  run A alpha Z t i = w t *: Z i + (1 - w t) *: g i.
Proof. move=> st; have w0 u : 0 < w u by apply: prodr_gt0 => l _; exact: rate_gt0.
have w1 u : w u <= 1.
  elim: u => [|u IH]; rewrite /w ?big_ord0 // big_ord_recr mulr_ile1 ?rate_ge0 ?(ltW (w0 _)) //.
  by rewrite ltW ?rate_lt1.
have first j l : j \in S -> score A (Z j) (Z l) <= score A (Z j) (g j).
  by move=> /st [_ <- _ _]; exact: score_attends.
have level x j l : j \in S -> (forall l', score A x (Z l') <= score A x (g j)) ->
    l \in attends A Z j -> score A x (Z l) = score A x (g j) /\ score A x (g l) = score A x (g j).
  move=> jS le jl; have [sub now end_ _] := st j jS.
  split; first by apply: (mean_at_most _ _ jl) => [l' _|]; rewrite ?now.
  apply: (mean_at_most _ _ jl) => [l' /(subsetP sub)/st [_ <- _ _]|]; last by rewrite end_.
  exact: score_means_le.
elim: t i => [|t IH] i iS; first by rewrite /w big_ord0 subrr scale0r scale1r addr0.
have pos j : j \in S -> run A alpha Z t.+1 j = w t.+1 *: Z j + (1 - w t.+1) *: g j.
  move=> jS; have [sub now end_ _] := st j jS; have [same here] := IH j jS.
  rewrite /= stepE // same here (eq_mean (Y := fun l => w t *: Z l + (1 - w t) *: g l)) => [|l jl].
    rewrite meanD now end_ -[in X in _ + X]scalerDl [w t + _]addrC subrK scale1r scalerDr !scalerA.
    rewrite -addrA -scalerDl /w big_ord_recr /=; move: (\prod_(m < t) _) (_^-1) => p q.
    by rewrite [q * p]mulrC; congr (_ + _ *: _); ring.
  by have [] := IH l (subsetP sub l jl).
split; last exact: pos; have [sub now _ le] := st i iS; have [j0 j0C] := attends_nonempty A Z i.
apply: (attends_eq j0C (b := score A (run A alpha Z t.+1 i) (g i))) => l lC; rewrite {1 2}pos //.
  rewrite !(scoreDl, scoreZl) (pos l (subsetP sub l lC)) !(scoreDr, scoreZr).
  have [-> ->] := level (Z i) i l iS (fun l => first i l iS) lC.
  by have [-> ->] := level (g i) i l iS le lC; rewrite !splitE.
rewrite !(scoreDl, scoreZl) ltr_le_add ?ltr_pmul2l // ?ler_wpmul2l ?subr_ge0 ?run_below //.
by apply: run_behind => [j|]; [exact: first | rewrite -now not_attends].
Qed.

End Settlement.

Section ForEver.
Variables (R : realFieldType) (n d : nat) (A : 'M[R]_d) (alpha : nat -> R)
  (alpha0 : forall k, 0 < alpha k).
Implicit Types (Z g : 'I_n -> 'rV[R]_d) (i v : 'I_n) (k t : nat) (S : {set 'I_n}).

Lemma run_add Z k t : run A alpha Z (k + t) = run A (fun m => alpha (k + m)%N) (run A alpha Z k) t.
Proof. by elim: t => [|t IH]; rewrite ?addn0 // addnS /= IH. Qed.

(* lem-settled-ties, for all of S at once: what has settled at layer k stays so, with the same
   attention sets; and each later layer is known in closed form. *)
Theorem settlement Z S g k : settled A (run A alpha Z k) S g -> forall t i, i \in S ->
  attends A (run A alpha Z (k + t)) i = attends A (run A alpha Z k) i /\
  run A alpha Z (k + t) i =
    g i + \prod_(m < t) (1 + alpha (k + m)%N)^-1 *: (run A alpha Z k i - g i).
Proof. move=> st t i iS; rewrite run_add.
have [-> ->] := settled_for_ever (fun m => alpha0 (k + m)%N) t st iS; split=> //.
by rewrite scalerBl scale1r scalerBr addrCA.
Qed.

(* lem-settlement: C_i = {v} and C_v = {v}. *)
Theorem settlement_on_a_leader Z k i v :
  attends A (run A alpha Z k) i = [set v] -> attends A (run A alpha Z k) v = [set v] -> forall t,
  [/\ attends A (run A alpha Z (k + t)) i = [set v], attends A (run A alpha Z (k + t)) v = [set v] &
      run A alpha Z (k + t) i =
        run A alpha Z k v +
          \prod_(m < t) (1 + alpha (k + m)%N)^-1 *: (run A alpha Z k i - run A alpha Z k v)].
Proof. move=> iv vv t; set Y := run A alpha Z k.
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
