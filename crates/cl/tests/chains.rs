//! Declarations that need each other in long chains: no chain exhausts the stack.

use tidemill_cl::check::check;
use tidemill_cl::parse::parse_text;
use tidemill_diag::Sources;

/// The text for one of many.
type Part<'p> = &'p dyn Fn(usize) -> String;

fn each(count: usize, part: Part<'_>) -> Vec<String> {
    (0..count).map(part).collect()
}

/// The diagnostics of a program.
fn found(source: &str) -> String {
    let mut sources = Sources::new();
    let (tree, mut found) = parse_text("chain.com", source, &mut sources);
    found.extend(check(&tree).1);
    found.iter().map(|it| sources.render(it)).collect()
}

/// On a thread with a third of the usual stack.
fn on_little_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(700_000);
    thread.spawn(work).expect("a thread").join().expect("no panic");
}

/// Constants of which each is computed from the next one.
fn constants(count: usize, last: &str) -> String {
    let all = each(count, &|i| format!("C{i} = C{} + 1;", i + 1)).join(" ");
    format!("COMPONENT Main; CONSTANT {all} C{count} = {last}; BEGIN WRITE(C0) END Main;")
}

#[test]
fn a_chain_of_constants_may_be_of_any_length() {
    on_little_stack(|| {
        assert_eq!(found(&constants(50_000, "1")), "");
        // Its value is there: C0 is 50,001.
        let sum = constants(50_000, "1; Zero = 1 DIV (C0 - 50001)");
        assert!(found(&sum).contains("division by zero"));
    });
}

#[test]
fn a_cycle_of_constants_may_be_of_any_length() {
    on_little_stack(|| {
        let expected = "chain.com:1:26: error[constant]: the value of `C0` needs itself\n  \
                        help: constants that need each other have no value\n";
        assert_eq!(found(&constants(50_000, "C0")), expected);
        assert_eq!(found(&constants(50_000, "2 * (C0 - C0)")), expected);
    });
}
