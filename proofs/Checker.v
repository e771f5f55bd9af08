(* The checker of certificates, as a program. Soundness.v proves what its yes means; Extract.v makes
   OCaml of it, over the rational numbers. Here the numbers are any type T with the operations of a
   field. *)
From mathcomp Require Import ssreflect ssrbool ssrfun eqtype ssrnat seq path.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Record numbers := Numbers { T :> Type; zero : T; one : T; add : T -> T -> T;
  mul : T -> T -> T; opp : T -> T; inv : T -> T; le : T -> T -> bool }.

(* What is claimed. *)
Record certificate (X : Type) := Certificate {
  settled_at : nat;            (* the layer from which on all attention sets stay; *)
  within : nat;                (* it takes at most so many more to see it *)
  born : seq (option nat);     (* for each token the layer from which it leads, if it does *)
  follows : seq (option nat);  (* for each token the leader where it ends, if there is one *)
  tokens : seq (seq X);        (* the limit of each token, *)
  error : X                    (* up to an error of this size in each coordinate *)
}.

Section Checker.
Variables (N : numbers) (n d : nat) (A : seq (seq N)) (alphas : seq N).
Implicit Types (x y : seq N) (Z : seq (seq N)) (i j k : nat) (C : seq nat).

Definition coordinate x c := nth (zero N) x c.
Definition token Z i := nth [::] Z i.
Definition sum (s : seq nat) (f : nat -> N) : N := foldr (fun j => add (f j)) (zero N) s.
Definition vector (f : nat -> N) : seq N := mkseq f d.
Definition same x y :=
  all (fun c => le (coordinate x c) (coordinate y c) && le (coordinate y c) (coordinate x c))
    (iota 0 d).
Definition product x y := sum (iota 0 d) (fun c => mul (coordinate x c) (coordinate y c)).

(* The model, once more: scores, attention sets, layers. *)
Definition look x := vector (fun c => product (token A c) x).
Definition attention_set Z i : seq nat :=
  let x := look (token Z i) in
  let scores := mkseq (fun j => product x (token Z j)) n in
  let score j := nth (zero N) scores j in
  filter (fun j => all (fun l => le (score l) (score j)) (iota 0 n)) (iota 0 n).
Definition attention_sets Z := mkseq (attention_set Z) n.
Definition average Z C :=
  let w := inv (sum C (fun=> one N)) in
  vector (fun c => mul w (sum C (fun j => coordinate (token Z j) c))).
Definition layer a Z (sets : seq (seq nat)) : seq (seq N) :=
  let r := inv (add (one N) a) in
  mkseq (fun i => let m := average Z (nth [::] sets i) in
    vector (fun c => mul r (add (coordinate (token Z i) c) (mul a (coordinate m c))))) n.

(* alphas goes on with its last value. *)
Definition rate k := nth (last (zero N) alphas) alphas k.

(* Layer k and the t layers after it, each with its attention sets. *)
Fixpoint path_from Z k t : seq (seq (seq N) * seq (seq nat)) :=
  let sets := attention_sets Z in
  (Z, sets) :: if t is t'.+1 then path_from (layer (rate k) Z sets) k.+1 t' else [::].

(* Token i follows its copies alone, and is the first of them. *)
Definition alone Z i C := let copy j := same (token Z j) (token Z i) in
  all copy C && all (fun j => (i <= j) || ~~ copy j) (iota 0 n).

(* Each token at the mean of those that it follows; N^m Z in Forever.v is that, m times. *)
Definition averaged sets Z := mkseq (fun i => average Z (nth [::] sets i)) n.

(* Do the attention sets stay? Then where all tokens go. Between two of the clouds N^m Z, how far
   is token v behind those that i follows? In the set not at all; outside of it at least h if one
   of them is Z itself, and at least 0, or a little less, if not. *)
Definition gap Z (W : seq (seq (seq N))) i v m l :=
  let lead m l := product (look (token (nth Z W m) i)) (vector (fun c =>
    add (coordinate (token (nth Z W l.+1) i) c) (opp (coordinate (token (nth Z W l) v) c)))) in
  add (lead m l) (lead l m).
Definition fading := inv (add (add (one N) (one N))
  (foldr (fun a b => if le b a then a else b) (zero N) alphas)).
Definition power q m := iter m (mul q) (one N).
Definition behind (gap : nat -> nat -> N) K :=
  let h := foldr (fun l h => if le (gap 0 l) h then gap 0 l else h) (gap 0 0) (iota 1 K) in
  let first m := if m == 0 then h else zero N in
  let little m l := if (m < K) && (l < K) then
    mul (mul h (add (one N) (one N))) (mul (power fading m) (power fading l)) else zero N in
  le (zero N) h &&
  all (fun m => all (fun l => le (add (first m) (first l)) (add (gap m l) (little m l)))
    (iota 0 K.+1)) (iota 0 K.+1).
Definition level (gap : nat -> nat -> N) K :=
  all (fun m => all (fun l => le (gap m l) (zero N) && le (zero N) (gap m l)) (iota 0 K.+1))
    (iota 0 K.+1).
Definition goals_at Z sets :=
  let W := traject (averaged sets) Z n.+2 in
  let rest m := all (fun i => same (token (nth Z W m.+1) i) (token (nth Z W m) i)) (iota 0 n) in
  let K := (find rest (iota 1 n)).+1 in
  if (K <= n) && all (fun i => all (fun v =>
      (if v \in nth [::] sets i then level else behind) (gap Z W i v) K) (iota 0 n)) (iota 0 n)
  then Some (nth Z W K) else None.

(* The same, seen at layer k or at one of the t after it. *)
Fixpoint goals Z k t sets :=
  if goals_at Z sets is Some G then Some G
  else if t is t'.+1 then
    let Y := layer (rate k) Z sets in
    if attention_sets Y == sets then goals Y k.+1 t' sets else None
  else None.

(* Token i leads at layer b for the first time, or at no layer of the path. *)
Definition is_born (path : seq (seq (seq N) * seq (seq nat))) start i b :=
  let leads k := alone start i (nth [::] (nth (start, [::]) path k).2 i) in
  if b is Some k then [&& k < size path, leads k & all (fun l => ~~ leads l) (iota 0 k)]
  else all (fun l => ~~ leads l) (iota 0 (size path)).
(* Whoever ends at g ends where leader v stands, or where no leader does. *)
Definition is_followed Z (births : seq (option nat)) g v :=
  let stands v := isSome (nth None births v) && same (token Z v) g in
  if v is Some v then (v < n) && stands v else all (fun v => ~~ stands v) (iota 0 n).
Definition near (e : N) x y :=
  all (fun c => let a := coordinate x c in let b := coordinate y c in
    le a (add b e) && le b (add a e)) (iota 0 d).

Definition check Z (c : certificate N) : bool :=
  let path := path_from Z 0 (settled_at c) in
  let: (Y, sets) := last (Z, [::]) path in
  if goals Y (settled_at c) (within c) sets is Some G then
    [&& 0 < size alphas, ~~ le fading (zero N),
      all (fun a => ~~ le a (zero N) &&
        le (mul fading (add (add (one N) (one N)) a)) (one N)) alphas,
      all (fun i => is_born path Z i (nth None (born c) i)) (iota 0 n),
      all (fun i => is_followed Y (born c) (token G i) (nth None (follows c) i)) (iota 0 n) &
      all (fun i => near (error c) (token (tokens c) i) (token G i)) (iota 0 n)]
  else false.

End Checker.
