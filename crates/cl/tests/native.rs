//! Programs given as IR run as machine code.

use std::cell::RefCell;
use std::rc::Rc;

use tidemill_cl::compile::{Checkpoints, Choices, compile};
use tidemill_cl::ir::parse;
use tidemill_cl::ir::verify::verify;
use tidemill_diag::Sources;
use tidemill_proc::Worker;
use tidemill_proc::console::{Console, Lines, Sink};
use tidemill_proc::{Counts, Options};

#[derive(Clone, Default)]
struct Written(Rc<RefCell<Vec<u8>>>);

impl Sink for Written {
    fn write(&mut self, bytes: &[u8]) {
        self.0.borrow_mut().extend_from_slice(bytes);
    }
}

/// The output of the program, and its counts at the end.
fn run(text: &str, checkpoints: Checkpoints) -> (String, Counts) {
    run_within(u64::MAX, text, checkpoints)
}

/// The same with a limit of memory, in bytes.
fn run_within(memory_max: u64, text: &str, checkpoints: Checkpoints) -> (String, Counts) {
    let program = parse(text).unwrap();
    assert_eq!(verify(&program), Ok(()));
    let mut sources = Sources::new();
    sources.add("test.com", "");
    let choices = Choices { checkpoints, several: false, listing: false, observed: false };
    let compiled = compile(&program, &sources, 0, &choices).unwrap();
    let written = Written::default();
    let console = Console::new(Box::new(written.clone()), Lines::Together);
    let mut worker =
        Worker::new(compiled.program, Options { console, memory_max, ..Options::quiet() });
    worker.start().unwrap();
    for _ in 0..10_000 {
        worker.run(1000);
        if worker.ended().is_some() {
            break;
        }
    }
    assert!(worker.ended().is_some(), "the program has not ended");
    worker.console().flush();
    let text = String::from_utf8(written.0.borrow().clone()).unwrap();
    (text, worker.counts())
}

const HELLO: &str = r#"
component component0 "Hello" ~0:0..0
  begin -
  activity fn0
  finally -
text text0 "hello"
function fn0 "Hello.ACTIVITY" component0 activity [] -
  register %0 integer
  register %1 integer
  register %2 boolean
  register %3 integer
  local $0 "" text
  block b0
    text-constant $0 text0 ~0:0..0
    write copy $0 plain ~0:0..0
    write-line ~0:0..0
    constant %0 integer 0 ~0:0..0
    constant %1 integer 1 ~0:0..0
    constant %3 integer 100000 ~0:0..0
    jump b1 ~0:0..0
  block b1
    binary %0 add %0 %1 ~0:0..0
    binary %2 less %0 %3 ~0:0..0
    checkpoint ~0:0..0
    branch %2 b1 b2 ~0:0..0
  block b2
    write register %0 plain ~0:0..0
    write-line ~0:0..0
    return - ~0:0..0
entry component0
"#;

#[test]
fn a_program_writes_and_leaves_nothing() {
    for checkpoints in [Checkpoints::Flag, Checkpoints::Count, Checkpoints::None] {
        let (text, counts) = run(HELLO, checkpoints);
        assert_eq!(text, "hello\n100000\n");
        assert_eq!(
            (counts.texts.alive, counts.components.alive, counts.processes.alive),
            (0, 0, 0)
        );
    }
}

/// 10! by a recursive procedure, and a server that adds.
const CALLS: &str = r#"
interface interface0 "Adder" user
  message m0 in "Add" [integer]
  message m1 out "Sum" [integer text]
  state [m0] true
  state [m1] false
  state [m0] true
component component0 "Main" ~0:0..0
  variable @0 "adder" component own
  begin -
  activity fn0
  finally -
component component1 "Main.Adder" ~0:0..0
  offer interface0 1 1 fn2
  variable @0 "sum" integer own
  begin -
  activity -
  finally -
text text0 "a text of some length"
function fn0 "Main.ACTIVITY" component0 activity [] -
  register %0 integer
  register %1 integer
  register %2 integer
  register %3 boolean
  local $0 "" text
  block b0
    constant %0 integer 10 ~0:0..0
    call register %1 fn1 [value register %0] ~0:0..0
    write register %1 plain ~0:0..0
    write-line ~0:0..0
    lock true ~0:0..0
    new @0 component1 false ~0:0..0
    jump b1 ~0:0..0
  block b1
    send sub @0 interface0 - m0 [register %0] ~0:0..0
    receive sub @0 interface0 - m1 [register %2 move $0] ~0:0..0
    write register %2 plain ~0:0..0
    write copy $0 plain ~0:0..0
    write-line ~0:0..0
    constant %1 integer 25 ~0:0..0
    binary %3 less %2 %1 ~0:0..0
    checkpoint ~0:0..0
    branch %3 b3 b2 ~0:0..0
  block b2
    delete @0 ~0:0..0
    unlock ~0:0..0
    return - ~0:0..0
  block b3
    text-constant $0 text0 ~0:0..0
    text-new $0 %0 ~0:0..0
    text-constant $0 text0 ~0:0..0
    text-move $0 $0 ~0:0..0
    jump b4 ~0:0..0
  block b4
    constant %1 integer 0 ~0:0..0
    text-new $0 %1 ~0:0..0
    jump b1 ~0:0..0
function fn1 "Main.Factorial" component0 procedure [register %0] integer
  register %0 integer
  register %1 integer
  register %2 boolean
  register %3 integer
  block b0
    checkpoint ~0:0..0
    constant %1 integer 1 ~0:0..0
    binary %2 less %0 %1 ~0:0..0
    branch %2 b1 b2 ~0:0..0
  block b1
    return register %1 ~0:0..0
  block b2
    binary %3 subtract %0 %1 ~0:0..0
    call register %3 fn1 [value register %3] ~0:0..0
    binary %3 multiply %3 %0 ~0:0..0
    return register %3 ~0:0..0
function fn2 "Main.Adder.Adder" component1 implementation interface0 [] -
  register %0 integer
  register %1 integer
  register %2 boolean
  local $0 "" text
  block b0
    test %2 client message m0 ~0:0..0
    branch %2 b1 b2 ~0:0..0
  block b1
    receive client m0 [register %0] ~0:0..0
    lock true ~0:0..0
    load %1 @0 ~0:0..0
    binary %1 add %1 %0 ~0:0..0
    store @0 %1 ~0:0..0
    unlock ~0:0..0
    text-constant $0 text0 ~0:0..0
    send client m1 [register %1 move $0] ~0:0..0
    jump b0 ~0:0..0
  block b2
    return - ~0:0..0
entry component0
"#;

#[test]
fn calls_and_messages() {
    for checkpoints in [Checkpoints::Flag, Checkpoints::Count] {
        let (text, counts) = run(CALLS, checkpoints);
        let lines = ["3628800", "10a text of some length", "20a text of some length"];
        assert_eq!(text, format!("{}\n30a text of some length\n", lines.join("\n")));
        assert_eq!(
            (counts.texts.alive, counts.components.alive, counts.processes.alive),
            (0, 0, 0)
        );
    }
}

/// How deep a recursive procedure calls itself.
const DEPTH: &str = r#"
component component0 "Main" ~0:0..0
  begin -
  activity fn0
  finally -
function fn0 "Main.ACTIVITY" component0 activity [] -
  register %0 integer
  block b0
    constant %0 integer 1000 ~0:0..0
    call register %0 fn1 [value register %0] ~0:0..0
    write register %0 plain ~0:0..0
    return - ~0:0..0
function fn1 "Main.Depth" component0 procedure [register %0] integer
  register %0 integer
  register %1 integer
  register %2 boolean
  block b0
    checkpoint ~0:0..0
    constant %1 integer 1 ~0:0..0
    binary %2 less %0 %1 ~0:0..0
    branch %2 b1 b2 ~0:0..0
  block b1
    return register %0 ~0:0..0
  block b2
    binary %0 subtract %0 %1 ~0:0..0
    call register %0 fn1 [value register %0] ~0:0..0
    binary %0 add %0 %1 ~0:0..0
    return register %0 ~0:0..0
entry component0
"#;

/// Calls are on the native stack: they take no frames, except where the process pauses.
#[test]
fn calls_take_memory_only_where_the_process_pauses() {
    const LITTLE: u64 = 64 << 10;
    assert_eq!(run_within(LITTLE, DEPTH, Checkpoints::None).0, "1000");
    // A slice ends in 1000 calls, each of which gets a frame then.
    let calls = DEPTH.replace("integer 1000", "integer 3000");
    assert_eq!(run_within(LITTLE, &calls, Checkpoints::None).0, "3000");
    assert_eq!(run_within(LITTLE, &calls, Checkpoints::Count).0, "");
    assert_eq!(run(&calls, Checkpoints::Count).0, "3000");
}
