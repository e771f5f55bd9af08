(* Reads claims from the standard input, all numbers as p or p/q, and says of each yes or no: n d, A by rows, the number
   of alphas and these, Z by rows; settled_at and within, for each token its layer of birth, or -1, for each whom it
   follows, or -1, the limits by rows, the error. *)
open Checker

let word () = Scanf.scanf " %s" Fun.id
let whole () = int_of_string (word ())
let rec nat k = if k = 0 then O else S (nat (k - 1))
let maybe k = if k < 0 then None else Some (nat k)

let number () =
  let big = Big_int_Z.big_int_of_string in
  match String.split_on_char '/' (word ()) with
  | [ p; q ] -> { qnum = big p; qden = big q }
  | [ p ] -> { qnum = big p; qden = Big_int_Z.unit_big_int }
  | _ -> failwith "expected p or p/q"

let rec times k read = if k = 0 then [] else let x = read () in x :: times (k - 1) read

let claim n =
  let d = whole () in
  let rows k = times k (fun () -> times d number) in
  let a = rows d in
  let alphas = times (whole ()) number in
  let z = rows n in
  let settled_at = nat (whole ()) in
  let within = nat (whole ()) in
  let born = times n (fun () -> maybe (whole ())) in
  let follows = times n (fun () -> maybe (whole ())) in
  let tokens = rows n in
  let error = number () in
  check_rational (nat n) (nat d) a alphas z { settled_at; within; born; follows; tokens; error }

let () =
  try
    while true do
      match word () with "" -> raise End_of_file | n -> print_endline (if claim (int_of_string n) then "yes" else "no")
    done
  with End_of_file -> ()
