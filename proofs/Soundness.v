(* The certificate is sound: if the checker says yes, then every claim of the certificate is true of
   the run. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Hardmax Require Import Model Geometry Layers Settlement Checker.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The numbers of the program stand for numbers of the field R, and compute like them. *)
Record faithful (N : numbers) (R : realFieldType) (phi : N -> R) : Prop := Faithful {
  phi0 : phi (zero N) = 0; phi1 : phi (one N) = 1;
  phiD : forall x y, phi (add x y) = phi x + phi y;
  phiM : forall x y, phi (mul x y) = phi x * phi y;
  phiV : forall x, phi (inv x) = (phi x)^-1; phi_le : forall x y, le x y = (phi x <= phi y) }.

Section Soundness.
Variables (N : numbers) (R : realFieldType) (phi : N -> R) (ok : faithful phi).
Variables (n d : nat) (A : seq (seq N)) (alphas : seq N).
Implicit Types (x y : seq N) (Z Y G : seq (seq N)) (i : 'I_n) (k t : nat).

(* What the lists of the program stand for. *)
Definition row x : 'rV[R]_d := \row_c phi (coordinate x c).
Definition rows Z i : 'rV[R]_d := row (token Z i).
Definition matrix : 'M[R]_d := \matrix_(r, c) phi (coordinate (token A r) c).
Definition rates k : R := phi (rate alphas k).

Lemma sum_iota m (F : nat -> R) (P : pred nat) :
  \sum_(j <- iota 0 m | P j) F j = \sum_(j < m | P j) F j.
Proof. by rewrite -[m in LHS]subn0 -/(index_iota 0 m) big_mkord. Qed.

Lemma sumE s f : phi (sum s f) = \sum_(j <- s) phi (f j).
Proof. by elim: s => [|j s IH] /=; rewrite ?big_nil ?phi0 // big_cons phiD // -IH. Qed.

Lemma row_vector f : row (vector d f) = \row_c phi (f c).
Proof. by apply/rowP => c; rewrite !mxE /coordinate nth_mkseq. Qed.

Lemma productE x y : phi (product d x y) = dot (row x) (row y).
Proof. by rewrite sumE sum_iota; apply: eq_bigr => c _; rewrite phiM // !mxE. Qed.

Lemma row_look x : row (look d A x) = row x *m matrix^T.
Proof.
rewrite row_vector; apply/rowP => c; rewrite !mxE productE.
by apply: eq_bigr => c' _; rewrite !mxE mulrC.
Qed.

Lemma score_look x y : phi (product d (look d A x) y) = score matrix (row x) (row y).
Proof. by rewrite productE row_look. Qed.

Lemma sameE x y : same d x y = (row x == row y).
Proof.
apply/allP/eqP => [eq|eq c]; last first.
  rewrite mem_iota => /andP [_ cd]; move/rowP/(_ (Ordinal cd)): eq.
  by rewrite !mxE !(phi_le ok) => ->; rewrite lexx.
apply/rowP => c; rewrite !mxE; apply/eqP; rewrite eq_le -!(phi_le ok).
by apply: eq; rewrite mem_iota ltn_ord.
Qed.

Lemma mem_attention_set Z i (j : 'I_n) :
  let scores := mkseq (fun j => product d (look d A (token Z i)) (token Z j)) n in
  all (fun l => le (nth (zero N) scores l) (nth (zero N) scores j)) (iota 0 n)
  = (j \in attends matrix (rows Z) i).
Proof.
rewrite /=; apply/allP/attendsP => [all l|all l].
  by have := all l; rewrite mem_iota !nth_mkseq // (phi_le ok) !score_look; apply; exact: ltn_ord.
rewrite mem_iota => /andP [_ ln]; rewrite !nth_mkseq // (phi_le ok) !score_look;
  exact: (all (Ordinal ln)).
Qed.

Lemma sum_attention_set Z i (F : nat -> R) :
  \sum_(j <- attention_set n d A Z i) F j = \sum_(j in attends matrix (rows Z) i) F j.
Proof. by rewrite big_filter sum_iota; apply: eq_bigl => j; exact: mem_attention_set. Qed.

Lemma row_average Y Z i :
  row (average d Y (attention_set n d A Z i)) = mean (attends matrix (rows Z) i) (rows Y).
Proof.
rewrite row_vector meanE; apply/rowP => c;
  rewrite !mxE phiM // phiV // !sumE !sum_attention_set summxE.
congr (_^-1 * _); first by rewrite phi1 // sumr_const.
by apply: eq_bigr => j _; rewrite !mxE.
Qed.

Lemma rows_layer a Z i : rows (layer n d a Z (attention_sets n d A Z)) i =
  step matrix (phi a) (rows Z) i.
Proof.
rewrite /rows {1}/token nth_mkseq // nth_mkseq // row_vector /step -[_ / _ *: _]scalerA
  -meanE -row_average.
by apply/rowP => c; rewrite !mxE phiM // phiV // !phiD // phi1 // phiM.
Qed.

Lemma eq_attends (V W : 'I_n -> 'rV[R]_d) i : V =1 W -> attends matrix V i = attends matrix W i.
Proof. by move=> eq; apply/setP => j; rewrite !inE; apply: eq_forallb => l; rewrite !eq. Qed.

Lemma eq_run (beta delta : nat -> R) (V W : 'I_n -> 'rV[R]_d) k :
  beta =1 delta -> V =1 W -> run matrix beta V k =1 run matrix delta W k.
Proof.
move=> bd VW; elim: k => //= k IH i; rewrite /step (eq_attends _ IH) IH bd.
by congr (_ *: (_ + _ *: _)); apply: eq_bigr => j _; exact: IH.
Qed.

Lemma size_path Z k t : size (path_from n d A alphas Z k t) = t.+1.
Proof. by elim: t Z k => //= t IH Z k; rewrite IH. Qed.

(* Layer l of the program is layer l of the model. *)
Lemma path_is_run t l Z k : (l <= t)%N -> exists2 Y,
  nth (Z, [::]) (path_from n d A alphas Z k t) l = (Y, attention_sets n d A Y) &
  rows Y =1 run matrix (fun s => rates (k + s)) (rows Z) l.
Proof.
suff gen p0 : (l <= t)%N -> exists2 Y,
  nth p0 (path_from n d A alphas Z k t) l = (Y, attention_sets n d A Y) &
  rows Y =1 run matrix (fun s => rates (k + s)) (rows Z) l by exact: gen.
elim: t l Z k => [|t IH] [|l] Z k //=; try by exists Z.
rewrite ltnS => /(IH l (layer n d (rate alphas k) Z (attention_sets n d A Z)) k.+1) [Y -> eq];
  exists Y => // i.
rewrite eq -[RHS]/(run matrix (fun s => rates (k + s)) (rows Z) (1 + l) i) run_add.
apply: eq_run => [s|j]; first by rewrite addSnnS.
by rewrite rows_layer /= addn0.
Qed.

Lemma aloneP Z Y i : reflect
  ((forall j, j \in attends matrix (rows Y) i -> rows Z j = rows Z i) /\
    forall j, rows Z j = rows Z i -> (i <= j)%N)
  (alone n d Z i (attention_set n d A Y i)).
Proof.
apply: (iffP andP) => [[/allP all /eqP first]|[all first]]; split.
- move=> j ij; apply/eqP; rewrite -sameE; apply: all.
  by rewrite mem_filter mem_attention_set ij mem_iota ltn_ord.
- move=> j ji; rewrite leqNgt {1}first; apply/negP => /(before_find 0%N).
  by rewrite nth_iota // sameE -/(rows Z j) ji eqxx.
- apply/allP => j; rewrite mem_filter mem_iota => /andP [ij jn]; move: ij.
  by rewrite (mem_attention_set Y i (Ordinal jn)) sameE => /all; rewrite /rows /= => ->.
have hs : has (fun j => same d (token Z j) (token Z i)) (iota 0 n).
  by apply/hasP; exists (val i); rewrite ?mem_iota ?ltn_ord // sameE.
have fn := hs; rewrite has_find size_iota in fn.
rewrite eqn_leq; apply/andP; split.
  apply: (first (Ordinal fn)); apply/eqP; rewrite -sameE.
  by have := nth_find 0%N hs; rewrite nth_iota.
rewrite leqNgt; apply/negP => /(before_find 0%N); rewrite nth_iota // add0n.
by rewrite sameE eqxx.
Qed.

(* What a certificate claims, in the words of the model. *)
Definition holds Z (c : certificate N) :=
  let z := run matrix rates (rows Z) in let k := settled_at c in
  exists g : 'I_n -> 'rV[R]_d,
  [/\ (* from layer k on nobody's attention changes, and every layer is known in closed form; *)
      forall t i, attends matrix (z (k + t)%N) i = attends matrix (z k) i /\
        z (k + t)%N i = g i + \prod_(l < t) (1 + rates (k + l)%N)^-1 *: (z k i - g i),
      (* the claimed tokens are the limits g, up to the error; *)
      forall i (e : 'I_d), `|phi (coordinate (token (tokens c) i) e) - g i 0 e| <= phi (error c),
      (* the leaders are those that lead at some layer, each born at the first of these; *)
      forall i, if nth None (born c) i is Some b
        then leads_at matrix rates (rows Z) b i /\
          forall l, (l < b)%N -> ~ leads_at matrix rates (rows Z) l i
        else forall l, ~ leads_at matrix rates (rows Z) l i &
      (* a token follows a leader if it ends where that leader stands, and nobody if no leader
         stands there. *)
      forall i, if nth None (follows c) i is Some v
        then exists2 w : 'I_n, w = v :> nat /\ nth None (born c) w & z k w = g i
        else forall w : 'I_n, nth None (born c) w -> z k w <> g i].

(* lem-settlement: the certificate is sound. All that it claims holds if the checker says yes. *)
Theorem certificate_is_sound Z c : check n d A alphas Z c -> holds Z c.
Proof.
rewrite /check; set K := settled_at c; set p := path_from _ _ _ _ _ _ _.
have [Y YE Yrun] := path_is_run Z 0 (leqnn K).
have -> : last (Z, [::]) p = (Y, attention_sets n d A Y) by rewrite -nth_last size_path YE.
set G := goals _ _ _ _; case/and5P => /(all_nthP (last (zero N) alphas)) pos nonempty.
move=> /allP settles /allP births /andP [/allP follow /allP near_].
have iin i : val i \in iota 0 n by rewrite mem_iota ltn_ord.
have run_eq l (X : seq (seq N)) : rows X =1 run matrix (fun s => rates (0 + s)) (rows Z) l ->
  rows X =1 run matrix rates (rows Z) l by [].
have {}Yrun := run_eq _ _ Yrun; pose g i := rows G i.
have rates0 k : 0 < rates k.
  have [lt|ge] := ltnP k (size alphas); first by have := pos k lt;
    rewrite (phi_le ok) phi0 // ltNge.
  rewrite /rates /rate nth_default // -nth_last.
  have := pos (size alphas).-1; rewrite prednK // leqnn (phi_le ok) phi0 // -ltNge => /(_ isT).
  by rewrite (set_nth_default (zero N)) // prednK.
have gE i : g i = mean (attends matrix (rows Y) i) (rows Y).
  by rewrite /g /rows [token G i]nth_mkseq //
    [nth _ (attention_sets _ _ _ _) _]nth_mkseq // row_average.
have st : settled matrix (run matrix rates (rows Z) K) setT g.
  move=> i _; have eqC := eq_attends i Yrun.
  have /= := settles i (iin i); rewrite sameE => /andP [/eqP mG /allP top].
  split=> [|||l]; first exact: subsetT.
  - by rewrite -eqC gE; apply: eq_mean => j _.
  - rewrite -eqC -[RHS]mG [nth _ (attention_sets _ _ _ _) _]nth_mkseq // row_average;
    exact: eq_mean.
  by have := top l (iin l); rewrite (phi_le ok) !score_look -Yrun.
have always t i : attends matrix (run matrix rates (rows Z) (K + t)) i =
  attends matrix (run matrix rates (rows Z) K) i.
  by have [] := settlement rates0 st t (in_setT i).
exists g; split.
- by move=> t i; have := settlement rates0 st t (in_setT i).
- move=> i e; have := near_ i (iin i) => /allP /(_ (val e));
  rewrite mem_iota ltn_ord /= !(phi_le ok) !phiD // => /(_ isT).
  by rewrite /g !mxE ler_distl andbC ler_subl_addr.
- have leads l i : (l <= K)%N ->
      leads_at matrix rates (rows Z) l i <-> alone n d Z i (nth [::] (nth (Z, [::]) p l).2 i).
    move=> lK; have [X -> Xrun] := path_is_run Z 0 lK; rewrite /= nth_mkseq //.
    have eqX := eq_attends i (run_eq _ _ Xrun); rewrite /leads_at -eqX; exact: (rwP (aloneP _ _ _)).
  move=> i; rewrite (eqP (births i (iin i))) /first_lead.
  have szp : size p = K.+1 := size_path _ _ _.
  rewrite szp; set f := find _ p.
  case: ltnP => fK; last first.
    move=> k; wlog kK : k / (k <= K)%N => [low|].
      case: (leqP k K) => [|/ltnW Kk]; first exact: low.
      by rewrite -(subnKC Kk) /leads_at always; exact: low.
    move/(leads _ _ kK).
    by have := before_find (Z, [::]) (leq_trans (kK : (k < K.+1)%N) fK) => /= ->.
  have found := nth_find (Z, [::]) (_ : has (fun layer => alone n d Z i (nth [::] layer.2 i)) p).
  split; first by apply/(leads _ _ fK); apply: found; rewrite has_find szp.
  move=> l lf /(leads l i (leq_trans (ltnW lf) fK)); by have := before_find (Z, [::]) lf => /= ->.
move=> i; rewrite (eqP (follow i (iin i))) /leader_at; set f := find _ _.
have there (v : 'I_n) : same d (token Y v) (token G i) = (run matrix rates (rows Z) K v == g i).
  by rewrite sameE -Yrun.
case: ltnP => fn.
  have := nth_find 0%N (_ : has (fun v => isSome (nth None (born c) v) &&
    same d (token Y v) (token G i)) (iota 0 n)).
  rewrite has_find size_iota => /(_ fn); rewrite nth_iota // add0n => /andP [bv].
  by rewrite (there (Ordinal fn)) => /eqP eq; exists (Ordinal fn).
move=> v bv eq; have := before_find 0%N (leq_trans (ltn_ord v) fn); rewrite nth_iota // add0n.
by rewrite bv there eq eqxx.
Qed.

End Soundness.
