//! What the passes make of programs: `tests/cl/optimise/NAME.com`, each beside its IR, which
//! `BLESS=1` rewrites.

use tidemill_cl::check::check;
use tidemill_cl::ir::{parse, verify::verify};
use tidemill_cl::lower::lower;
use tidemill_cl::optimise::optimise;
use tidemill_cl::parse::parse_text;
use tidemill_diag::{Sources, has_errors};
use tidemill_support::golden::Golden;
use tidemill_support::{files, text};

/// The functions of the optimised program, without places in the source.
fn shown(source: &str) -> String {
    let mut sources = Sources::new();
    let (tree, found) = parse_text("program.com", source, &mut sources);
    assert!(!has_errors(&found), "{source}");
    let (checked, found) = check(&tree);
    assert!(
        !has_errors(&found),
        "{}",
        found.iter().map(|it| sources.render(it)).collect::<String>()
    );
    let plain = lower(&checked);
    let better = optimise(&plain);
    assert_eq!(verify(&better), Ok(()));
    let text = better.to_string();
    assert_eq!(parse(&text).expect("a program"), better, "the text form comes back");
    let lines = text.lines().skip_while(|line| !line.starts_with("function "));
    let lines =
        lines.filter(|line| !line.starts_with("  register ") && !line.starts_with("entry "));
    let without_place = |line: &str| match line.rsplit_once(" ~") {
        Some((line, _)) => format!("{line}\n"),
        None => format!("{line}\n"),
    };
    lines.map(without_place).collect()
}

#[test]
fn the_passes_show_what_they_do() {
    let mut golden = Golden::default();
    for path in files("tests/cl/optimise", "com", 3) {
        golden.check(&path.with_extension("ir"), shown(&text(&path)));
    }
}
