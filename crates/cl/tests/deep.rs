//! Programs at the limits of nesting and height need little stack: what reads them may run on a
//! thread that has 2 MiB, in a build for debugging or with a sanitizer, which takes several times
//! as much.

use tidemill_cl::check::check;
use tidemill_cl::compile::{Checkpoints, Choices, compile};
use tidemill_cl::fmt::format;
use tidemill_cl::interpret::interpret;
use tidemill_cl::ir::verify::verify;
use tidemill_cl::lower::lower;
use tidemill_cl::parse::parse_text;
use tidemill_diag::{FileId, Sources, has_errors};

/// A third of what a thread has; `STACK=1000000` tries another size, `soak sanitizer` the whole.
const STACK_BYTES: usize = 700_000;

/// The deepest program of a shape that is no error.
fn deepest(shape: &dyn Fn(usize) -> String) -> String {
    let is_right = |depth: usize| {
        let mut sources = Sources::new();
        !has_errors(&parse_text("deep.com", &shape(depth), &mut sources).1)
    };
    let depth = (1..1000).take_while(|&depth| is_right(depth)).last();
    shape(depth.expect("a right program"))
}

fn main_with(expression: &str) -> String {
    format!(
        "COMPONENT Main;\n  VARIABLE i: INTEGER; b: BOOLEAN; a[i: INTEGER]: INTEGER;\n  \
         PROCEDURE F(i: INTEGER): INTEGER; BEGIN RETURN i END F;\n  \
         BEGIN i := 1; a[1] := 1; {expression}\nEND Main;\n"
    )
}

fn around(open: &str, inner: &str, close: &str) -> impl Fn(usize) -> String {
    let (open, inner, close) = (open.to_owned(), inner.to_owned(), close.to_owned());
    move |depth| format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

fn all(source: &str) {
    let mut sources = Sources::new();
    let (tree, found) = parse_text("deep.com", source, &mut sources);
    assert!(!has_errors(&found), "{source}");
    format(FileId(0), source).expect("a layout");
    let (checked, found) = check(&tree);
    assert!(!has_errors(&found), "{source}");
    let ir = lower(&checked);
    assert_eq!(verify(&ir), Ok(()));
    let choices =
        Choices { checkpoints: Checkpoints::Flag, several: false, listing: false, observed: false };
    drop(compile(&ir, &sources, 1, &choices).expect("code can be made"));
    drop(interpret(&ir, &sources, 1, true));
}

#[test]
fn deep_programs_need_little_stack() {
    let shapes: [Box<dyn Fn(usize) -> String + Send>; 8] = [
        Box::new(|depth| main_with(&format!("i := {}", around("(", "1", ")")(depth)))),
        Box::new(|depth| main_with(&format!("b := {}", around("~(", "b", ")")(depth)))),
        Box::new(|depth| main_with(&format!("i := {}", around("-(1 + 2 * (", "1", "))")(depth)))),
        Box::new(|depth| main_with(&format!("i := {}", around("F(", "1", ")")(depth)))),
        Box::new(|depth| main_with(&format!("i := {}", around("a[", "1", "]")(depth)))),
        Box::new(|depth| main_with(&format!("i := 1{}", " + 1".repeat(depth)))),
        Box::new(|depth| main_with(&format!("b := b{}", " AND (i = 1)".repeat(depth)))),
        Box::new(|depth| main_with(&around("IF b THEN ", "i := 2", " END")(depth))),
    ];
    let bytes = tidemill_support::variable("STACK").unwrap_or(STACK_BYTES);
    for shape in shapes {
        let source = deepest(&*shape);
        let thread = std::thread::Builder::new().stack_size(bytes);
        thread.spawn(move || all(&source)).expect("a thread").join().expect("no panic");
    }
}
