(* The certificate is sound: if the checker says yes, then every claim of the certificate is true of
   the run. *)
From Hardmax Require Import Model Geometry Layers Settlement Forever Checker.
Local Open Scope ring_scope.

(* The numbers of the program stand for numbers of the field R, and compute like them. *)
Record faithful (N : numbers) (R : realFieldType) (phi : N -> R) : Prop := Faithful {
  phi0 : phi (zero N) = 0; phi1 : phi (one N) = 1;
  phiD : forall x y, phi (add x y) = phi x + phi y;
  phiM : forall x y, phi (mul x y) = phi x * phi y; phiN : forall x, phi (opp x) = - phi x;
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

Lemma all_iota m (P : pred nat) : reflect (forall i : 'I_m, P i) (all P (iota 0 m)).
Proof. apply: (iffP allP) => all i; first by apply: all; rewrite mem_iota ltn_ord.
by rewrite mem_iota => im; exact: (all (Ordinal im)).
Qed.

Lemma sum_iota m (F : nat -> R) (P : pred nat) :
  \sum_(j <- iota 0 m | P j) F j = \sum_(j < m | P j) F j.
Proof. by rewrite -[m in LHS]subn0 -/(index_iota 0 m) big_mkord. Qed.
Lemma sumE s f : phi (sum s f) = \sum_(j <- s) phi (f j).
Proof. by elim: s => [|j s IH] /=; rewrite ?big_nil ?phi0 // big_cons phiD // -IH. Qed.
Lemma row_vector f : row (vector d f) = \row_c phi (f c).
Proof. by apply/rowP => c; rewrite !mxE /coordinate nth_mkseq. Qed.
Lemma productE x y : phi (product d x y) = dot (row x) (row y).
Proof. by rewrite sumE sum_iota; apply: eq_bigr => c _; rewrite phiM // !mxE. Qed.

Lemma score_look x y : phi (product d (look d A x) y) = score matrix (row x) (row y).
Proof. rewrite productE row_vector; congr dot; apply/rowP => c; rewrite !mxE productE.
by apply: eq_bigr => c' _; rewrite !mxE mulrC.
Qed.

Lemma sameE x y : same d x y = (row x == row y).
Proof. apply/all_iota/eqP => [eq|eq c]; last first.
  by move/rowP/(_ c): eq; rewrite !mxE !(phi_le ok) => ->; rewrite lexx.
by apply/rowP => c; rewrite !mxE; apply/eqP; rewrite eq_le -!(phi_le ok); exact: eq.
Qed.

Lemma mem_attention_set Z i (j : 'I_n) :
  let scores := mkseq (fun j => product d (look d A (token Z i)) (token Z j)) n in
  all (fun l => le (nth (zero N) scores l) (nth (zero N) scores j)) (iota 0 n)
  = (j \in attends matrix (rows Z) i).
Proof. apply/all_iota/attendsP => all l; have := all l;
  by rewrite !nth_mkseq // (phi_le ok) !score_look.
Qed.

Lemma mem_sets Z i (j : 'I_n) :
  (val j \in nth [::] (attention_sets n d A Z) i) = (j \in attends matrix (rows Z) i).
Proof. by rewrite nth_mkseq // mem_filter mem_attention_set mem_iota ltn_ord /= andbT. Qed.
Lemma sum_attention_set Z i (F : nat -> R) :
  \sum_(j <- attention_set n d A Z i) F j = \sum_(j in attends matrix (rows Z) i) F j.
Proof. by rewrite big_filter sum_iota; apply: eq_bigl => j; exact: mem_attention_set. Qed.

Lemma row_average Y Z i :
  row (average d Y (attention_set n d A Z i)) = mean (attends matrix (rows Z) i) (rows Y).
Proof. rewrite row_vector meanE; apply/rowP => c;
  rewrite !mxE phiM // phiV // !sumE !sum_attention_set summxE.
congr (_^-1 * _); first by rewrite phi1 // sumr_const.
by apply: eq_bigr => j _; rewrite !mxE.
Qed.

Lemma rows_layer a Z i : rows (layer n d a Z (attention_sets n d A Z)) i =
  step matrix (phi a) (rows Z) i.
Proof. rewrite /rows {1}/token nth_mkseq // nth_mkseq // row_vector /step -[_ / _ *: _]scalerA
  -meanE -row_average.
by apply/rowP => c; rewrite !mxE phiM // phiV // !phiD // phi1 // phiM.
Qed.

Lemma eq_attends (V W : 'I_n -> 'rV[R]_d) i : V =1 W -> attends matrix V i = attends matrix W i.
Proof. by move=> eq; apply/setP => j; rewrite !inE; apply: eq_forallb => l; rewrite !eq. Qed.

Lemma eq_run (beta delta : nat -> R) (V W : 'I_n -> 'rV[R]_d) k :
  beta =1 delta -> V =1 W -> run matrix beta V k =1 run matrix delta W k.
Proof. move=> bd VW; elim: k => //= k IH i; rewrite /step (eq_attends _ IH) IH bd.
by congr (_ *: (_ + _ *: _)); apply: eq_bigr => j _; exact: IH.
Qed.

Lemma size_path Z k t : size (path_from n d A alphas Z k t) = t.+1.
Proof. by elim: t Z k => //= t IH Z k; rewrite IH. Qed.

(* Layer l of the program is layer l of the model. *)
Lemma path_is_run p0 t l Z k : (l <= t)%N -> exists2 Y,
  nth p0 (path_from n d A alphas Z k t) l = (Y, attention_sets n d A Y) &
  rows Y =1 run matrix (fun s => rates (k + s)) (rows Z) l.
Proof. elim: t l Z k => [|t IH] [|l] Z k //=; try by exists Z.
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
Proof. apply: (iffP andP) => [[/allP all /all_iota first]|[all first]]; split.
- by move=> j; rewrite -mem_sets nth_mkseq // => /all; rewrite sameE => /eqP.
- by move=> j /eqP ji; have := first j; rewrite sameE [row _ == _]ji orbF.
- apply/allP => j; rewrite mem_filter mem_iota => /andP [ij jn]; move: ij.
  by rewrite (mem_attention_set Y i (Ordinal jn)) sameE => /all; rewrite /rows /= => ->.
by apply/all_iota => j; rewrite sameE; case: eqP => [/first -> //|_]; rewrite orbT.
Qed.

(* The clouds N^m Z, and the gaps between them. *)
Local Notation clouds Z := (traject (averaged n d (attention_sets n d A Z)) Z n.+2).

Lemma rows_cloud Z m i : (m <= n.+1)%N -> rows (nth Z (clouds Z) m) i = cloud matrix (rows Z) m i.
Proof. move=> mn; rewrite nth_traject //; elim: m i {mn} => [|m IH] i //=.
rewrite /rows {1}/token nth_mkseq // nth_mkseq // row_average.
by apply: eq_mean => j _; exact: IH.
Qed.

Lemma gapE Z i (v : 'I_n) m l : (m <= n)%N -> (l <= n)%N ->
  phi (gap d A Z (clouds Z) i v m l) = lead matrix (rows Z) i v m l + lead matrix (rows Z) i v l m.
Proof. have sub x y : row (vector d (fun c => add (coordinate x c) (opp (coordinate y c)))) =
    row x - row y by rewrite row_vector; apply/rowP => c; rewrite !mxE phiD // phiN.
have one u w : (u <= n)%N -> (w <= n)%N -> score matrix (rows (nth Z (clouds Z) u) i)
    (rows (nth Z (clouds Z) w.+1) i - rows (nth Z (clouds Z) w) v) = lead matrix (rows Z) i v u w.
  by move=> un wn; rewrite !rows_cloud // ltnW.
by move=> mn ln; rewrite phiD // !score_look !sub -!one.
Qed.

Lemma rate_in k : (0 < size alphas)%N ->
  exists2 j, (j < size alphas)%N & rate alphas k = nth (zero N) alphas j.
Proof. move=> s0; have [lt|ge] := ltnP k (size alphas).
  by exists k => //; exact: set_nth_default.
by exists (size alphas).-1; rewrite ?prednK // /rate nth_default // nth_last; case: (alphas) s0.
Qed.

Lemma phi_power q m : phi (power q m) = phi q ^+ m.
Proof. by elim: m => [|m IH]; rewrite ?phi1 // exprS -IH -phiM. Qed.
Lemma minn_below a b : (minn a b < b)%N -> minn a b = a.
Proof. by rewrite /minn; case: (a < b)%N => //; rewrite ltnn. Qed.

(* If the program says where the tokens go, they go there, and the attention sets stay. *)
Lemma goals_atP Z G : 0 < phi (fading alphas) ->
  goals_at n d A alphas Z (attention_sets n d A Z) = Some G ->
  lasting matrix (phi (fading alphas)) (rows Z) /\ exists2 K, rows G =1 cloud matrix (rows Z) K &
    cloud matrix (rows Z) K.+1 =1 cloud matrix (rows Z) K.
Proof.
move=> q0; rewrite /goals_at; set K := (find _ _).+1; case: ifP => // /andP [Kn /all_iota yes] [<-].
have KS : (K.+1 <= n.+1)%N by [].
have rest i : cloud matrix (rows Z) K.+1 i = cloud matrix (rows Z) K i.
  rewrite -(rows_cloud Z i KS) -(rows_cloud Z i (ltnW KS)); apply/eqP; rewrite -sameE.
  have hK : (K.-1 < size (iota 1 n))%N by rewrite size_iota.
  rewrite -has_find in hK; have := nth_find 0%N hK.
  by rewrite nth_iota // add1n => /all_iota /(_ i).
split; last by exists K => // i; exact: rows_cloud (ltnW KS).
have K0 : (0 < K)%N by []; clearbody K.
(* Beyond K the clouds, and so the gaps, are those at K. *)
have low m i : cloud matrix (rows Z) m i = cloud matrix (rows Z) (minn m K) i.
  by case: (leqP m K) => // /ltnW Km; exact: cloud_at_rest rest _ _ Km.
have leadE i v m l : lead matrix (rows Z) i v m l =
    lead matrix (rows Z) i v (minn m K) (minn l K).
  rewrite /lead -!low; congr (score _ _ (_ - _)).
  by case: (leqP l K) => // /ltnW Kl; rewrite rest; apply: (cloud_at_rest rest); exact: ltnW.
have minK m : (minn m K <= K)%N by exact: geq_minr.
have inK m : minn m K \in iota 0 K.+1 by rewrite mem_iota ltnS minK.
pose g i (v : 'I_n) := gap d A Z (clouds Z) i v.
have gE i v m l : phi (g i v (minn m K) (minn l K)) =
    lead matrix (rows Z) i v m l + lead matrix (rows Z) i v l m.
  by rewrite gapE ?(leq_trans (minK _)) // -!leadE.
move=> i v; have /all_iota /(_ v) := yes i; rewrite -/(g i v).
rewrite mem_sets; case: (boolP (v \in _)) => _.
  move=> /allP lev m l; rewrite -gE; have := lev _ (inK m) => /allP /(_ _ (inK l)).
  by rewrite !(phi_le ok) phi0 // => /andP [le ge]; apply/eqP; rewrite eq_le le.
rewrite /behind; set h := foldr _ _ _; rewrite (phi_le ok) phi0 // => /andP [h0 /allP beh].
exists (phi h) => // m l; rewrite -gE ler_subl_addr.
have first k : phi (if minn k K == 0%N then h else zero N) = phi h * (k == 0%N)%:R.
  by rewrite -leqn0 geq_min leqn0 leqNgt K0 orbF; case: eqP; rewrite ?phi0 // ?mulr1 ?mulr0.
have := beh _ (inK m) => /allP /(_ _ (inK l)); rewrite (phi_le ok) !phiD // !first -mulrDr.
move=> /le_trans; apply; rewrite ler_add2l; case: ifP => [/andP [mK lK]|_].
  by rewrite !phiM // phiD // phi1 // !phi_power {1}(minn_below mK) {1}(minn_below lK).
by rewrite phi0 // !mulr_ge0 ?ler0n ?exprn_ge0 ?(ltW q0).
Qed.

(* The same, seen some layers later. *)
Lemma goalsP t k Y G : goals n d A alphas Y k t (attention_sets n d A Y) = Some G ->
  exists s X, [/\ (s <= t)%N, rows X =1 run matrix (fun l => rates (k + l)) (rows Y) s,
    goals_at n d A alphas X (attention_sets n d A X) = Some G &
    forall l i, (l <= s)%N -> attends matrix (run matrix (fun l => rates (k + l)) (rows Y) l) i =
      attends matrix (rows Y) i].
Proof. elim: t k Y => [|t IH] k Y /=; case eq : goals_at => [H|] //;
  try by case=> <-; exists 0%N, Y; split=> // l i; rewrite leqn0 => /eqP ->.
set Y' := layer _ _ _ _ _; case: eqP => // same; rewrite -{1}same => /IH [s [X [st XE GE keep]]].
have Y'E l i : run matrix (fun l => rates (k.+1 + l)) (rows Y') l i =
    run matrix (fun l => rates (k + l)) (rows Y) l.+1 i.
  rewrite -[l.+1]add1n run_add; apply: eq_run => [u|j]; first by rewrite addSnnS.
  by rewrite rows_layer /= addn0.
have sameE_ i : attends matrix (rows Y') i = attends matrix (rows Y) i.
  by apply/setP => j; rewrite -!mem_sets same.
exists s.+1, X; split=> // [i|[|l] i ls]; first by rewrite XE Y'E.
  by [].
by rewrite -(eq_attends i (Y'E l)) keep // sameE_.
Qed.

(* What a certificate claims, in the words of the model. *)
Definition holds Z (c : certificate N) :=
  let z := run matrix rates (rows Z) in let k := settled_at c in
  exists g : 'I_n -> 'rV[R]_d,
  [/\ (* from layer k on nobody's attention changes, and all layers are known in closed form; *)
      forall t i, attends matrix (z (k + t)%N) i = attends matrix (z k) i /\
        z (k + t)%N i = mix (fun l => (1 + rates (k + l))^-1) t (fun m => cloud matrix (z k) m i),
      (* the tokens go to limits g, at a geometric rate, from a layer s later on; *)
      exists s B, (s <= within c)%N /\ forall t i e, `|z (k + s + t)%N i 0 e - g i 0 e| <=
        B * \prod_(l < t) (1 + rates (k + s + l)%N / 2%:R)^-1,
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
Proof. rewrite /check; set K := settled_at c; set p := path_from _ _ _ _ _ _ _.
have [Y YE Yrun] := path_is_run (Z, [::]) Z 0 (leqnn K).
have -> : last (Z, [::]) p = (Y, attention_sets n d A Y) by rewrite -nth_last size_path YE.
case goalsE : goals => [G|] // /and5P [s0 q0 /(all_nthP (zero N)) small /all_iota births].
move=> /andP [/all_iota follow /all_iota near_]; rewrite (phi_le ok) phi0 // -ltNge in q0.
have {}Yrun : rows Y =1 run matrix rates (rows Z) K := Yrun; pose g i := rows G i.
have small_rate k : 0 < rates k /\ phi (fading alphas) * (2%:R + rates k) <= 1.
  have [j js] := rate_in k s0; rewrite /rates => ->; have /andP [] := small j js.
  by rewrite !(phi_le ok) phi0 // phiM // !phiD // phi1 // ltNge.
have [s [X [sw XE GE keep]]] := goalsP goalsE.
have [lasts [m GX rest]] := goals_atP q0 GE.
pose beta l := rates (K + s + l).
have beta0 l : 0 < beta l by case: (small_rate (K + s + l)%N).
have q1 l : phi (fading alphas) * (2%:R + beta l) <= 1 by case: (small_rate (K + s + l)%N).
have Yfrom l i : run matrix rates (rows Z) (K + l) i =
    run matrix (fun l => rates (K + l)) (rows Y) l i.
  by rewrite run_add; apply: eq_run => // j; rewrite Yrun.
have Xfrom t i : run matrix rates (rows Z) (K + s + t) i = run matrix beta (rows X) t i.
  by rewrite run_add; apply: eq_run => // j; rewrite XE Yfrom.
have always t i : attends matrix (run matrix rates (rows Z) (K + t)) i =
  attends matrix (run matrix rates (rows Z) K) i.
  rewrite -[RHS](eq_attends i Yrun).
  have [ts|/ltnW st] := leqP t s; first by rewrite (eq_attends i (Yfrom t)) keep.
  rewrite -(subnKC st) addnA (eq_attends i (Xfrom _)).
  by rewrite (sets_last beta0 q0 q1 lasts _ i).1 (eq_attends i XE) keep.
exists g; split.
- move=> t i; split; first exact: always.
  rewrite run_add; apply: (closed_form (fun l => (small_rate (K + l)%N).1)) => l j _.
  by rewrite -run_add always.
- have [B BE] := lasting_sets_converge beta0 q0 q1 lasts rest.
  by exists s, B; split=> // t i e; rewrite Xfrom /g GX; exact: BE.
- move=> i e; have /all_iota /(_ e) := near_ i; rewrite /= !(phi_le ok) !phiD //.
  rewrite /g !mxE ler_distl andbC ler_subl_addr => H; exact: H.
- have leads l i : (l <= K)%N ->
      leads_at matrix rates (rows Z) l i <-> alone n d Z i (nth [::] (nth (Z, [::]) p l).2 i).
    move=> lK; have [V -> Vrun] := path_is_run (Z, [::]) Z 0 lK; rewrite /= nth_mkseq //.
    have eqX := eq_attends i (Vrun : _ =1 run matrix rates (rows Z) l).
    by rewrite /leads_at -eqX; exact: (rwP (aloneP _ _ _)).
  move=> i; have := births i; rewrite /is_born [size p]size_path.
  case: (nth None (born c) i) => [b|].
    case/and3P => bK lead_b /allP none; split=> [|l lb]; first exact/(leads _ _ bK).
    by move/(leads l i (leq_trans (ltnW lb) bK)); apply/negP/none; rewrite mem_iota.
  move=> /allP none k; wlog kK : k / (k <= K)%N => [low|].
    case: (leqP k K) => [|/ltnW Kk]; first exact: low.
    by rewrite -(subnKC Kk) /leads_at always; exact: low.
  by move/(leads _ _ kK); apply/negP/none; rewrite mem_iota.
move=> i; have := follow i; rewrite /is_followed.
have there (v : 'I_n) : same d (token Y v) (token G i) = (run matrix rates (rows Z) K v == g i).
  by rewrite sameE -Yrun.
case: (nth None (follows c) i) => [v /and3P [vn bv]|/all_iota none v bv /eqP].
  by rewrite (there (Ordinal vn)) => /eqP eq; exists (Ordinal vn).
by rewrite -there; apply/negP; have := none v; rewrite bv.
Qed.

End Soundness.
