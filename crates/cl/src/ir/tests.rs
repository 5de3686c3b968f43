use crate::ir::liveness::Liveness;
use crate::ir::verify::verify;
use crate::ir::{BlockId, FunctionId, Program, Register, parse};

const RING: &str = r#"
interface interface0 "Token" user
  message m0 in "Token" [integer]
  state [m0] true
  state [m0] true
component component0 "Node" ~0:0..90
  offer interface0 1 1 fn0
  require interface0 1 1
  variable @0 "hops" integer own
  variable @1 "names" collection [text integer] text own
  begin -
  activity fn1
  finally -
text text0 "d\22one\0a"
function fn0 "Node.Token" component0 implementation interface0 [] -
  register %0 integer
  register %1 integer
  register %2 boolean
  register %3 integer
  block b0
    constant %1 integer 1 ~0:1..2
    jump b1 ~0:1..2
  block b1
    test %2 client message m0 ~0:1..2
    branch %2 b2 b3 ~0:1..2
  block b2
    receive client m0 [register %0] ~0:1..2
    lock true ~0:1..2
    load %3 @0 ~0:1..2
    binary %3 add %3 %1 ~0:1..2
    store @0 %3 ~0:1..2
    send required interface0 - m0 [register %0] ~0:1..2
    unlock ~0:1..2
    checkpoint ~0:1..2
    jump b1 ~0:1..2
  block b3
    return - ~0:1..2
function fn1 "Node.Activity" component0 activity [] -
  register %0 address
  register %1 integer
  register %2 real
  local $0 "key" text
  local $1 "" text
  block b0
    text-constant $0 text0 ~0:1..2
    constant %1 integer -9223372036854775808 ~0:1..2
    constant %2 real 3ff8000000000000 ~0:1..2
    element %0 @1 collection [text integer] text [text $0 register %1] make ~0:1..2
    text-copy %0 $0 ~0:1..2
    text-of $1 %2 plain ~0:1..2
    write copy $1 plain ~0:1..2
    write-line ~0:1..2
    end-scope [$0 $1] ~0:1..2
    return - ~0:1..2
entry component0
"#;

#[test]
fn the_text_form_comes_back() {
    let program = parse(RING).unwrap();
    assert_eq!(verify(&program), Ok(()));
    let text = program.to_string();
    assert_eq!(parse(&text).unwrap(), program);
    assert_eq!(text.trim(), RING.trim());
}

#[test]
fn a_suspended_process_keeps_what_it_needs() {
    let program = parse(RING).unwrap();
    let function = &program.functions[FunctionId::new(0)];
    let liveness = Liveness::of(function);
    let mut kept = Vec::new();
    liveness.visit(&function.blocks[BlockId::new(2)], |_, instruction, before, _| {
        if instruction.suspends(|_| true) {
            kept.push(before.iter().collect::<Vec<_>>());
        }
    });
    kept.reverse();
    let (token, one) = (Register::new(0), Register::new(1));
    assert_eq!(kept, [vec![one], vec![token, one], vec![token, one], vec![one]]);
}

/// One of the errors of the program contains the text.
fn assert_fault(program: &Program, expected: &str) {
    let faults: Vec<String> =
        verify(program).unwrap_err().iter().map(ToString::to_string).collect();
    assert!(faults.iter().any(|fault| fault.contains(expected)), "{expected}: {faults:?}");
}

#[test]
fn broken_rules_are_reported() {
    let cases = [
        ("binary %3 add %3 %1", "binary %2 add %3 %1", "%2 is no Integer"),
        ("load %3 @0", "load %9 @0", "%9 does not exist"),
        ("load %3 @0", "load %2 @0", "holds no Boolean"),
        ("load %3 @0", "load %3 $7", "does not exist"),
        ("branch %2 b2 b3", "branch %2 b2 b9", "b9 does not exist"),
        ("branch %2 b2 b3", "branch %0 b2 b3", "%0 is no Boolean"),
        ("m0 [register %0]", "m0 []", "0 parts for 1 parameters"),
        ("[text $0 register %1] make", "[register %1] make", "1 keys instead of 2"),
        ("text-copy %0 $0", "checkpoint ~0:1..2 text-copy %0 $0", "kept across"),
        ("entry component0", "entry component5", "the entry"),
        ("activity fn1", "activity fn7", "fn7 is none"),
        ("state [m0]", "state [m0 m1]", "interface0: what may follow"),
    ];
    for (from, to, expected) in cases {
        assert!(RING.contains(from), "{from}");
        let program = parse(&RING.replace(from, to)).unwrap();
        assert_fault(&program, expected);
    }
    let program = parse(&RING.replace("load %3 @0", "load %9 @0")).unwrap();
    let errors = verify(&program).unwrap_err();
    assert_eq!(errors.to_string(), "fn0 b2.2 `load %9 @0`: %9 does not exist");
}

const VIEW: &str = r#"
component component0 "Main" ~0:0..1
  variable @0 "a" array integer 2 own
  variable @1 "b" array integer 2 own
  begin fn0
  activity -
  finally -
function fn0 "Main.BEGIN" component0 begin [] -
  register %0 address
  register %1 integer
  register %2 address
  block b0
    constant %1 integer 3 ~0:0..1
    array-new @0 array integer 2 [%1 %1] ~0:0..1
    array-view %0 @0 ~0:0..1
    checkpoint ~0:0..1
    view-element %2 @0 %0 [] [%1 %1] true ~0:0..1
    return - ~0:0..1
entry component0
"#;

#[test]
fn a_view_ends_with_its_array() {
    let program = parse(VIEW).unwrap();
    assert_eq!(verify(&program), Ok(()));
    assert_eq!(program.to_string().trim(), VIEW.trim());
    let cases = [
        ("checkpoint", "array-new @0 array integer 2 [%1 %1]", "a view is kept across it"),
        ("checkpoint", "passivate %1", "a view is kept across it"),
        ("checkpoint", "end-scope [@0]", "a view is kept across it"),
        ("checkpoint", "array-view %0 @1", "a view of two arrays"),
        ("array-view %0 @0", "array-view %1 @0", "%1 is no Address"),
        ("%0 [] [%1 %1]", "%0 [%1] [%1 %1]", "extents of other dimensions"),
        ("%0 [] [%1 %1]", "%0 [] [%1]", "no array of 1 dimensions"),
    ];
    for (from, to, expected) in cases {
        assert!(VIEW.contains(from), "{from}");
        assert_fault(&parse(&VIEW.replacen(from, to, 1)).unwrap(), expected);
    }
    let other = VIEW.replace("checkpoint", "write-line");
    assert_eq!(verify(&parse(&other).unwrap()), Ok(()));
}

#[test]
fn errors_of_a_text_have_the_line() {
    for cut in (0..RING.len()).filter(|at| RING.is_char_boundary(*at)) {
        if let Err(error) = parse(&RING[..cut]) {
            assert!(error.line <= 60 && !error.message.is_empty());
        }
    }
    let error = parse(&RING.replace("write-line", "wrote")).unwrap_err();
    assert_eq!((error.line, &*error.message), (52, "expected an instruction, not `wrote`"));
}
