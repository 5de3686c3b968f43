//! Files written by rules: errors are found at load.

use tidemill::program::{LoadOptions, Program};

fn found(text: &str) -> String {
    let program = Program::of_text("a.olg", text, &LoadOptions::default());
    program.diagnostics.iter().map(|one| program.sources.render(one)).collect()
}

const RULE: &str = "r1 tick(@N, E) :- periodic(@N, E, 1). ";

fn wrong(sink: &str) -> String {
    found(&format!("{RULE}{sink}"))
}

#[test]
fn names_determine_form_and_period_of_a_file() {
    assert_eq!(wrong("sink(\"a-%Y%m%d-%H%M%S.jsonl\", tick)."), "");
    let text = wrong("sink(\"a.json\", tick). sink(\"b\", tick). sink(\"%y.csv\", tick).");
    assert!(text.contains("no file is written that ends in `.json`"), "{text}");
    assert!(text.contains("is `.jsonl` meant?"), "{text}");
    assert!(text.contains("`b` has no ending"), "{text}");
    assert!(text.contains("`%y` stands for nothing"), "{text}");
    for name in ["../a.csv", "/tmp/a.csv"] {
        let text = wrong(&format!("sink(\"{name}\", tick)."));
        assert!(text.contains(&format!("`{name}` leads out of the folder")), "{text}");
    }
}

#[test]
fn each_file_has_one_sink() {
    let text = wrong("sink(\"a.csv\", tick). sink(\"./a.csv\", tick).");
    assert!(text.contains("`./a.csv` is written by two sinks"), "{text}");
    assert!(text.contains("first here"), "{text}");
}

#[test]
fn frames_are_bytes() {
    let text = wrong("sink(\"a.pcap\", tick).");
    let message = "the last column of `tick` is int64, and that of frames for `a.pcap` is bytes";
    assert!(text.contains(message), "{text}");
    assert!(text.contains("used here"), "{text}");
    let bytes = "r2 frame(@N, b\"ab\") :- tick(@N, E). sink(\"a.pcap\", frame).";
    assert_eq!(wrong(bytes), "");
}

#[test]
fn parquet_needs_the_build_that_has_it() {
    let text = wrong("sink(\"a.parquet\", tick).");
    if cfg!(feature = "arrow") {
        assert_eq!(text, "")
    } else {
        assert!(text.contains("which this program was built without"), "{text}")
    }
}
