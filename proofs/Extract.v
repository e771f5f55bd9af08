(* The checker over the rationals as an OCaml program. Coq's whole numbers become those of the
   library Zarith. *)
From Coq Require Import ZArith ExtrOcamlBasic ExtrOcamlZBigInt.
From Hardmax Require Import Checker Rationals.

(* The greatest common divisor, too; for 0 and 0 as in Coq. *)
Extract Constant Z.ggcd => "(fun a b -> let open Big_int_Z in let g = gcd_big_int a b in
  if sign_big_int g = 0 then (g, (a, b)) else (g, (div_big_int a g, div_big_int b g)))".

Extraction "checker.ml" check_rational.
