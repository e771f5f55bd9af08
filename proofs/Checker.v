(* The checker of certificates, as a program. Soundness.v proves what its yes means; Extract.v makes
   OCaml of it, over the rational numbers. Here the numbers are any type T with the operations of a
   field. *)
From mathcomp Require Import ssreflect ssrbool ssrfun eqtype ssrnat seq.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Record numbers := Numbers { T :> Type; zero : T; one : T; add : T -> T -> T;
  mul : T -> T -> T; inv : T -> T;
                            le : T -> T -> bool }.

(* What is claimed. *)
Record certificate (X : Type) := Certificate {
  settled_at : nat;            (* the layer at which all tokens have settled *)
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
  all copy C && (i == find copy (iota 0 n)).

(* Where each token goes if all have settled, and whether they have. *)
Definition goals Z sets := mkseq (fun i => average Z (nth [::] sets i)) n.
Definition all_settled Z sets (G : seq (seq N)) :=
  all (fun i => let g := token G i in let x := look g in let top := product x g in
    same (average G (nth [::] sets i)) g &&
    all (fun l => le (product x (token Z l)) top) (iota 0 n)) (iota 0 n).

Definition first_lead (path : seq (seq (seq N) * seq (seq nat))) start i :=
  let k := find (fun layer => alone start i (nth [::] layer.2 i)) path in
  if k < size path then Some k else None.
Definition leader_at Z (births : seq (option nat)) g :=
  let v := find (fun v => isSome (nth None births v) && same (token Z v) g) (iota 0 n) in
  if v < n then Some v else None.
Definition near (e : N) x y :=
  all (fun c => let a := coordinate x c in let b := coordinate y c in
    le a (add b e) && le b (add a e)) (iota 0 d).

Definition check Z (c : certificate N) : bool :=
  let path := path_from Z 0 (settled_at c) in
  let: (Y, sets) := last (Z, [::]) path in
  let G := goals Y sets in
  [&& all (fun a => ~~ le a (zero N)) alphas, 0 < size alphas, all_settled Y sets G,
      all (fun i => nth None (born c) i == first_lead path Z i) (iota 0 n),
      all (fun i => nth None (follows c) i == leader_at Y (born c) (token G i)) (iota 0 n) &
      all (fun i => near (error c) (token (tokens c) i) (token G i)) (iota 0 n)].

End Checker.
