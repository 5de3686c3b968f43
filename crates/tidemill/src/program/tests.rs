//! Errors in files of all kinds, and programs of several.

use super::*;

fn rendered(program: &Program) -> String {
    program.diagnostics.iter().map(|one| program.sources.render(one)).collect()
}

#[test]
fn unknown_kinds_and_missing_files_are_diagnostics() {
    let files = ["no-such-file.olg", "x.txt", "y.flow", "z.com"].map(PathBuf::from);
    let program = Program::load(&files, &LoadOptions::default());
    assert!(program.has_errors());
    let text = rendered(&program);
    assert!(text.contains("x.txt:1:1: error[file-kind]"), "{text}");
    for missing in ["y.flow", "no-such-file.olg", "z.com"] {
        let line = format!("{missing}:1:1: error[file-unreadable]: ");
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn what_has_no_source_is_warned_of_once() {
    let options = LoadOptions { injected: Some(SortedSet::new()), ..LoadOptions::default() };
    let text = "materialize(table, infinity, infinity, keys(1)). table(\"a:1\").
        watch(tables). watch(other). r1 out(@N) :- table(@N), never(@N). watch(out).";
    let program = Program::of_text("p.olg", text, &options);
    let codes: Vec<_> = program.diagnostics.iter().map(|it| (it.code, it.span.start)).collect();
    let at = |word: &str| text.find(word).unwrap() as u32;
    let expected = [
        ("undefined-relation", at("tables")),
        ("no-source", at("other")),
        ("no-source", at("never")),
    ];
    assert_eq!(codes, expected, "{:?}", program.diagnostics);
}

const GREETER: &str = "INTERFACE Greet; IN Hello END Greet;\n\
    COMPONENT Greeter OFFERS Greet; IMPLEMENTATION Greet; BEGIN ?Hello END Greet;\n\
    END Greeter;\n";
const MAIN: &str = "COMPONENT Main; VARIABLE g: Greeter; BEGIN NEW(g); g!Hello END Main;\n";

#[test]
fn several_files_of_components_are_one_program() {
    let folder = std::env::temp_dir().join(format!("tidemill-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (one, two) = (folder.join("a.com"), folder.join("b.Com"));
    std::fs::write(&one, GREETER).expect("written");
    std::fs::write(&two, MAIN).expect("written");
    let load = |files: &[PathBuf]| Program::load(files, &LoadOptions::default());
    let both = load(&[one, two.clone()]);
    assert!(both.components.program.is_some(), "{}", rendered(&both));
    assert!(load(&[two]).components.program.is_none());
    std::fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn texts_of_all_kinds_are_one_program() {
    let texts = [
        ("a.olg", "r1 pong(@N, X) :- ping(@N, X). watch(pong)."),
        ("a.com", GREETER),
        ("a.flow", "src :: Source { packets: 1 }\nend :: Sink\nsrc -> end"),
        ("b.com", MAIN),
        ("a.proto", "syntax = \"proto3\"; message M { int32 x = 1; }"),
    ];
    let program = Program::of_texts(&texts, &LoadOptions::default());
    assert!(!program.has_errors(), "{}", rendered(&program));
    assert!(program.rules.program.is_some() && program.components.program.is_some());
    assert!(program.packets.is_some());
    assert!(program.schema.is_some());
    assert_eq!(program.kinds.names(), "rules, components, packet graphs and schemas");
}

#[test]
fn errors_of_all_kinds_come_together_with_their_files() {
    let texts = [("a.olg", "r1 pong(@N, X) :- ."), ("a.com", "COMPONENT"), ("a.flow", "x :: Nope")];
    let program = Program::of_texts(&texts, &LoadOptions::default());
    let text = rendered(&program);
    for file in ["a.olg:1:", "a.com:1:", "a.flow:1:"] {
        assert!(text.contains(file), "{file} in {text}");
    }
}
