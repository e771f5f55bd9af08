(* Chapter 1, why tokens settle at corners: near a corner one sees it ahead, and all the others
   behind. *)
From Hardmax Require Import Model Geometry.
Local Open Scope ring_scope.

Section Separation.
Variables (R : rcfType) (d : nat) (A : 'M[R]_d) (spdA : spd A).
  (* an ordered field with square roots *)
Implicit Types (x y s h : 'rV[R]_d).

(* The length |x| that belongs to A. *)
Definition len x : R := Num.sqrt (score A x x).

Lemma len_ge0 x : 0 <= len x. Proof. exact: sqrtr_ge0. Qed.
Lemma len2 x : len x * len x = score A x x. Proof. by rewrite -expr2 sqr_sqrtr ?score_ge0. Qed.
Lemma len_gt0 x : (0 < len x) = (x != 0). Proof. by rewrite sqrtr_gt0 score_gt0. Qed.
Lemma lenN x : len (- x) = len x. Proof. by rewrite /len scoreNl scoreNr opprK. Qed.

Lemma cauchy_schwarz x y : score A x y <= len x * len y.
Proof. have [->|x0] := eqVneq x 0; first by rewrite score0l mulr_ge0 ?len_ge0.
have [->|y0] := eqVneq y 0; first by rewrite score0r mulr_ge0 ?len_ge0.
have xy0 : 0 < len x * len y by rewrite mulr_gt0 ?len_gt0.
have := score_half spdA (len y *: x) (len x *: y); rewrite !(scoreZr, scoreZl) -!len2.
rewrite [X in _ <= X](_ : _ = len x * len y * (len x * len y)); last by field.
by rewrite mulrA [len x * _]mulrC ler_pmul2l // mulrC.
Qed.

Lemma len_combination I (r : seq I) (w : I -> R) (f : I -> 'rV[R]_d) : (forall i, 0 <= w i) ->
  len (\sum_(i <- r) w i *: f i) <= \sum_(i <- r) w i * len (f i).
Proof. move=> w0; elim: r => [|i r IH]; first by rewrite !big_nil /len score0l sqrtr0.
rewrite !big_cons; set y := \sum_(j <- r) _ in IH *; apply: le_trans (ler_add (lexx _) IH).
have b0 : 0 <= w i * len (f i) + len y by rewrite addr_ge0 ?mulr_ge0 ?len_ge0.
rewrite -(ler_pexpn2r (n := 2)) ?nnegrE ?len_ge0 // !expr2 len2 length_sum //
  !(scoreZr, scoreZl) -!len2.
rewrite [X in _ <= X](_ : _ =
  w i * (w i * (len (f i) * len (f i))) + 2%:R * (w i * (len (f i) * len y)) + len y * len y);
    last by ring.
by rewrite ler_add2r ler_add2l ler_wpmul2l ?ler0n // ler_wpmul2l // cauchy_schwarz.
Qed.

(* lem-separation: with delta at most the book's, for any points W farther back than s in its
   direction. *)
Theorem separation m (W : 'I_m -> 'rV[R]_d) s delta (w : 'I_m -> R) :
  (forall j, delta <= score A s (s - W j) / (len (s - W j) + len s)) ->
    (forall j, score A s (W j) < score A s s) ->
  (* every x in the hull of s and the points W that is nearer to s than delta has the W behind it,
     and s ahead. *)
  (forall j, 0 <= w j) -> \sum_j w j <= 1 -> let x := (1 - \sum_j w j) *: s + \sum_j w j *: W j in
  0 < len (x - s) < delta ->
  (forall j, score A x (W j - x) < 0) /\ 0 < score A x (s - x).
Proof.
move=> bound less w0 _ x; have [h xh] : exists h, x = s + h by exists (x - s); rewrite addrC subrK.
have hE : h = \sum_j w j *: (W j - s).
  have -> : h = x - s by rewrite xh addrC addKr.
  rewrite /x scalerBl scale1r; under [RHS]eq_bigr do rewrite scalerBr.
  by rewrite sumrB -scaler_suml addrAC [s - _]addrC addrK addrC.
rewrite {x}xh [s + h - s]addrC addKr => /andP [h0 hd].
have gap j : delta * (len (s - W j) + len s) <= score A s (s - W j).
  rewrite -ler_pdivl_mulr // ltr_spaddl ?len_ge0 // len_gt0 subr_eq0.
  by apply: contraTneq (less j) => <-; rewrite ltxx.
split=> [j|].
  have -> : score A (s + h) (W j - (s + h)) =
      score A h (W j - s) + score A s (- h) - score A s (s - W j) - len h * len h.
    by rewrite len2 !score_lin; ring.
  rewrite subr_lt0; apply: (@le_lt_trans _ _ 0); last by rewrite mulr_gt0.
  rewrite subr_le0; apply: le_trans (gap j); rewrite mulrDr ler_add //.
    apply: le_trans (cauchy_schwarz _ _) _.
    by rewrite -[len (s - _)]lenN opprB ler_wpmul2r ?len_ge0 // ltW.
  by apply: le_trans (cauchy_schwarz _ _) _; rewrite lenN mulrC ler_wpmul2r ?len_ge0 // ltW.
have -> : score A (s + h) (s - (s + h)) = score A s (- h) - len h * len h.
  by rewrite len2 !score_lin; ring.
rewrite subr_gt0; apply: (@lt_le_trans _ _ (delta * len h)); first by rewrite ltr_pmul2r.
have -> : score A s (- h) = \sum_j w j * score A s (s - W j).
  rewrite scoreNr hE score_sumr -sumrN; apply: eq_bigr => j _;
    by rewrite scoreZr -mulrN -scoreNr opprB.
have d0 : 0 <= delta by rewrite ltW // (lt_trans h0).
apply: (@le_trans _ _ (delta * \sum_j w j * len (s - W j))).
  rewrite ler_wpmul2l // hE; apply: le_trans (len_combination _ _ w0) _.
  by apply: ler_sum => j _; rewrite -[len (s - _)]lenN opprB.
rewrite mulr_sumr; apply: ler_sum => j _; rewrite mulrCA ler_wpmul2l //; apply: le_trans (gap j).
by rewrite ler_wpmul2l // ler_addl len_ge0.
Qed.

End Separation.
