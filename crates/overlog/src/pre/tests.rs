use super::*;
use std::path::Path;

fn run(files: &[(&str, &str)], defines: &[&str]) -> (String, String) {
    let mut memory = MemoryFiles::default();
    files.iter().for_each(|(path, text)| memory.add(path, *text));
    let options = Options {
        defines: defines.iter().map(ToString::to_string).collect(),
        include_dirs: vec!["lib".into()],
    };
    let mut sources = Sources::new();
    let (_, out) = preprocess_file(Path::new(files[0].0), &options, &memory, &mut sources);
    let words: Vec<_> = out.tokens.iter().map(|t| t.kind.describe()).collect();
    let wrong: String = out.diagnostics.iter().map(|it| sources.render(it)).collect();
    (words.join(" ").replace('`', ""), wrong)
}

fn check(files: &[(&str, &str)], defines: &[&str], expect: &str) {
    let (words, wrong) = run(files, defines);
    assert_eq!(wrong, "");
    assert_eq!(words, format!("{expect} the end of the file").trim_start());
}

#[track_caller]
fn check_wrong(files: &[(&str, &str)], defines: &[&str], expect: &str) {
    let (_, wrong) = run(files, defines);
    assert!(wrong.starts_with(expect), "{wrong}");
}

#[test]
fn macros_expand_and_end() {
    check(&[("a", "#define B c d\nB x\n#undef B\nB")], &[], "c d x variable B");
    check(&[("a", "#define E\n#define B E c\\\n d\nB")], &[], "c d");
    check(&[("a", "B")], &["B=x y"], "x y");
    check(&[("a", "B")], &["B"], "a number");
}

#[test]
fn macros_with_parameters() {
    let check = |text, expect| check(&[("a", text)], &[], expect);
    check("#define F(A, B) q B A\nF(x y, [z])", "q [ z ] x y");
    check("#define F(a) a a\nF(F(x)) F (y) F", "x x x x y y variable F");
    check("#define F() x\nF() F( )", "x x");
    check("#define F(a) x a y\nF()", "x y");
    // As in C: commas in parentheses separate nothing, those in brackets do.
    check("#define F(a, b) b a\nF((x, y), F(p, q))", "q p ( x , y )");
    check("#define F(a, b) b a\nF([x, y])", "y ] [ x");
    check("#define F(a) a .\nF(\n x // c\n y /* , */ )\nz", "x y . z");
    // The value is expanded once more, and arguments are not taken for parameters of the outer.
    check("#define F(a) G(a, b)\n#define G(b, a) a b\nF(x)", "b x");
    check("#define F (x) y\nF", "( x ) y");
    check("#define M(a) (a > 2)\n#if M(3) && !M(M)\nyes\n#endif", "yes");
}

#[test]
fn lines_of_a_c_preprocessor_are_passed_over() {
    let text =
        "# 1 \"b.olg\"\nx\n# 7 \"lib/c.olg\" 1 3\ny\n#line 3 \"b.olg\"\n#pragma once\n# 4\nz";
    check(&[("a", text)], &[], "x y z");
    check_wrong(&[("a", "# 1 x")], &[], "a:1:1: error[unknown-directive]");
}

#[test]
fn errors_and_warnings_of_a_program_keep_their_text() {
    let text = "#ifdef K\n#error no\n#endif\n#error K isn't set: use -D K=3\n";
    check_wrong(&[("a", text)], &[], "a:4:1: error[error-directive]: K isn't set: use -D K=3\n");
    let text = "#warning old\n#error";
    let expect = "a:1:1: warning[warning-directive]: old\n";
    check_wrong(&[("a", text)], &[], expect);
    assert!(run(&[("a", text)], &[]).1.contains("a:2:1: error[error-directive]: no reason is"));
}

#[test]
fn wrong_arguments_of_macros() {
    let check = |text, expect| check_wrong(&[("a", text)], &[], expect);
    check(
        "#define F(a) a\nx F(p, q)",
        "a:2:4: error[macro-arguments]: macro `F` takes 1 arguments, not 2",
    );
    check(
        "#define F(a, b) a\nF()",
        "a:2:2: error[macro-arguments]: macro `F` takes 2 arguments, not 1",
    );
    check(
        "#define F(a) a\nF(x\ny",
        "a:2:1: error[macro-arguments]: the arguments of macro `F` do not end",
    );
    check("#define F(a) a\nF(x\n#undef F\n)", "a:2:1: error[macro-arguments]");
    check("#define F(a) F(a)\nF(x)", "a:2:1: error[macro-recursion]");
}

#[test]
fn conditions() {
    let text =
        "#ifdef A\na\n#ifdef B\nb\n#else\nc\n#endif\n#else\n0xZZ\n#ifdef A\nd\n#endif\n#endif\ne";
    check(&[("a", text)], &["A"], "a c e");
    check(&[("a", text), ("", "")], &["A", "B=1"], "a b e");
    check(&[("a", "#ifndef A\na\n#else\n 0xZZ $ \"x\n#endif")], &[], "a");
    check_wrong(&[("a", "#ifdef A\n")], &[], "a:1:1: error[unbalanced-conditional]");
    check_wrong(&[("a", "x\n  #endif\n")], &[], "a:2:3: error[unbalanced-conditional]");
    check_wrong(&[("a", "#else")], &[], "a:1:1: error[unbalanced-conditional]");
}

#[test]
fn conditions_are_computed() {
    let text =
        "#if A > 2 && !defined(B)\na\n#elif A == 1 || defined B\nb\n#elif 1\nc\n#else\nd\n#endif";
    check(&[("a", text)], &["A=3"], "a");
    check(&[("a", text)], &["A=3", "B"], "b");
    check(&[("a", text)], &["A=0+1"], "b");
    check(&[("a", text)], &[], "c");
    check(
        &[("a", "#if 0\n 0xZZ $ \"x\n#if 1\nq\n#else\n#endif\n#elif X\n#else\ne\n#endif")],
        &[],
        "e",
    );
    for (condition, holds) in [
        ("1 + 2 * 3 == 7", true),
        ("(1 + 2) * 3 == 7", false),
        ("1 << 4 >> 2 == 4 % 5", true),
        ("-1 < 0 && ~0 == -1", true),
        ("6 & 3 ^ 1 | 8", true),
        ("7 / 2 - 3", false),
        ("NOBODY", false),
        ("LOOP", false),
        ("!LOOP", true),
    ] {
        let text = format!("#define LOOP LOOP\n#if {condition}\nyes\n#endif");
        check(&[("a", &text)], &[], if holds { "yes" } else { "" });
    }
    for wrong in [
        "",
        "1 +",
        "(1",
        "1 2",
        "1.5",
        "\"a\"",
        "defined",
        "defined(A",
        "1 / 0",
        "99999999999999999999",
    ] {
        check_wrong(&[("a", &format!("#if {wrong}\n#endif"))], &[], "a:1:");
    }
    check_wrong(&[("a", "#elif 1")], &[], "a:1:1: error[unbalanced-conditional]");
    let late = "#if 1\n#else\n#elif 1\n#endif";
    check_wrong(&[("a", late)], &[], "a:3:1: error[unbalanced-conditional]");
}

#[test]
fn a_guarded_file_may_be_included_while_it_is_read() {
    let a = "// first\n#ifndef A\n#define A\n#include \"b\"\na\n#endif";
    let b = "#ifndef B\n#define B\n#include \"a\"\n#include \"b\"\nb\n#endif";
    check(&[("a", a), ("b", b)], &[], "b a");
    check_wrong(&[("a", a), ("b", "#include \"b\"")], &[], "b:1:10: error[include-cycle]");
}

#[test]
fn includes() {
    let files = [
        ("d/a", "x #include\n#include \"b\"\nz"),
        ("d/b", "#include \"./../d/c\""),
        ("lib/c", "no"),
        ("d/c", "c"),
    ];
    let (words, _) = run(&files, &[]);
    assert_eq!(words, "x # include c z the end of the file");
    check(&[("d/a", "#include \"c\"\n#include \"c\""), ("lib/c", "c")], &[], "c c");
    check_wrong(&[("a", "#include \"c\"")], &[], "a:1:10: error[include-not-found]");
    check_wrong(
        &[("a", "#include \"b\""), ("b", "\n#include \"a\"")],
        &[],
        "b:2:10: error[include-cycle]",
    );
    check_wrong(&[("a", "#include <b>")], &[], "a:1:1: error[bad-directive]");
}

#[test]
fn hostile_sources_end() {
    check_wrong(&[("a", "#define A B\n#define B A\nA")], &[], "a:3:1: error[macro-recursion]");
    let mut text: String =
        (0..40).map(|i| format!("#define M{i} M{} M{}\n", i + 1, i + 1)).collect();
    text += "M0";
    check_wrong(&[("a", &text)], &[], "a:41:1: error[macro-too-large]");
    let mut text: String = (0..100).map(|i| format!("#define M{i} M{}\n", i + 1)).collect();
    text += "M0";
    check_wrong(&[("a", &text)], &[], "a:101:1: error[macro-too-large]");
    let call = |depth| format!("{}x{}", "F(".repeat(depth), ")".repeat(depth));
    let text = format!("#define F(a) a a a\n{}", call(30));
    check_wrong(&[("a", &text)], &[], "a:2:61: error[macro-too-large]");
    let text = format!("#define F(a) a\n{}", call(100_000));
    check_wrong(&[("a", &text)], &[], "a:2:1: error[macro-too-large]");
    let mut text: String =
        (0..40).map(|i| format!("#define M{i}(a) M{}(a) M{}(a)\n", i + 1, i + 1)).collect();
    text += "#define M40(a)\nM0()";
    check_wrong(&[("a", &text)], &[], "a:42:1: error[macro-too-large]");
    let names: Vec<String> = (0..70).map(|i| format!("f{i}")).collect();
    let texts: Vec<String> =
        (0..70).map(|i| format!("#include \"f{}\"\n", i + 1).repeat(2)).collect();
    let files: Vec<_> = names.iter().zip(&texts).map(|(n, t)| (n.as_str(), t.as_str())).collect();
    check_wrong(&files, &[], "f63:1:10: error[include-too-deep]");
}

#[test]
fn wrong_directives() {
    check_wrong(&[("a", "#assert 7")], &[], "a:1:1: error[unknown-directive]");
    for parameters in ["(X", "(X,)", "(,X)", "(X X)", "(X, X)", "(5)", "(...)"] {
        let text = format!("#define F{parameters} X");
        check_wrong(&[("a", &text)], &[], "a:1:9: error[bad-directive]");
    }
    check_wrong(&[("a", "#define F(X) #X")], &[], "a:1:14: error[bad-directive]");
    check_wrong(&[("a", "#define 5")], &[], "a:1:1: error[bad-directive]");
    check_wrong(&[("a", "#define A 0x\nA A")], &[], "a:1:11: error[bad-number]");
    check_wrong(&[("a", "#define A 1\n#define A 2")], &[], "a:2:9: warning[macro-redefined]");
    check_wrong(&[("a", "")], &["5=1"], "-D:1:1: error[bad-directive]");
    check_wrong(&[("a", "A")], &["A=\"x"], "-D:1:3: error[unterminated-string]");
}
