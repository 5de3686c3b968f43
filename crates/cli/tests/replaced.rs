//! Components that change while they run: new instances run the new code, existing ones finish on
//! theirs.

use crate::common::Folder;
use crate::reload::{EACH, ended, start};

/// A run whose components are these versions one after the other; returns its output.
fn versions(folder: &Folder, components: &[&str], options: &[&str]) -> (String, String) {
    let path = folder.file("a.com", components[0]);
    let over = (EACH * components.len() as u32 + EACH / 2).as_secs_f64().to_string();
    let own = [&*path, "--for", &*over];
    let child = start(folder, &[&own, options].concat());
    for components in &components[1..] {
        std::thread::sleep(EACH);
        folder.file("a.com", components);
    }
    ended(child)
}

/// A component that answers with a number, kept by Main and made anew for each round.
fn asking(answer: &str) -> String {
    format!(
        "INTERFACE Ask; {{ IN Question OUT Answer(t: TEXT) }} END Ask;
         COMPONENT Oracle OFFERS Ask;
           IMPLEMENTATION Ask;
             BEGIN WHILE ?Question DO ?Question; !Answer({answer:?}) END
           END Ask;
         END Oracle;
         COMPONENT {{ENTRYPOINT}} Main REQUIRES SystemTime;
           VARIABLE kept, made: Oracle; t: TEXT;
           BEGIN
             NEW(kept);
             WHILE TRUE DO
               kept!Question; kept?Answer(t); WRITE(t); WRITE(\" \");
               NEW(made); made!Question; made?Answer(t); WRITE(t); WRITELINE;
               SystemTime!Wait(50); SystemTime?Passed
             END
         END Main;"
    )
}

#[test]
fn new_components_have_the_new_code() {
    for engine in ["compiled", "interpret"] {
        let folder = Folder::new();
        let all = ["first", "second", "third"].map(asking);
        let all = all.each_ref().map(String::as_str);
        let (data, notes) = versions(&folder, &all, &["--engine", engine]);
        assert_eq!(notes.matches("goes on with the new components").count(), 2, "{notes}");
        let mut lines: Vec<&str> = data.lines().collect();
        lines.dedup();
        assert_eq!(lines, ["first first", "first second", "first third"], "{notes}");
    }
}

/// A change that cannot be applied is reported, and changes nothing.
#[test]
fn an_interface_in_use_is_kept() {
    let folder = Folder::new();
    let first = asking("first");
    let other = first.replace("OUT Answer(t: TEXT) }", "OUT Answer(t: TEXT) | IN Never }");
    let (data, notes) = versions(&folder, &[&first, &other], &[]);
    assert!(notes.contains("the old program goes on: "), "{notes}");
    assert!(data.lines().count() > 10 && data.lines().all(|line| line == "first first"), "{data}");
}

/// An instance of a stage continues with its key; that of a new key runs the new code. Errors of
/// the new version are reported at their place.
#[test]
fn instances_of_stages_finish_on_their_code() {
    let folder = Folder::new();
    let adder = |step: &str| {
        format!(
            "INTERFACE Adding;
               {{ IN Add(key: TEXT; n: INTEGER) {{ OUT Sum(key: TEXT; sum: INTEGER) }} OUT Done }}
             END Adding;
             COMPONENT Adder OFFERS Adding;
               VARIABLE sum: INTEGER;
               IMPLEMENTATION Adding;
                 VARIABLE key: TEXT; n: INTEGER;
                 BEGIN {{EXCLUSIVE}}
                   WHILE ?Add DO ?Add(key, n); {step}; !Sum(key, sum); !Done END
               END Adding;
               BEGIN sum := 0
             END Adder;"
        )
    };
    let rules = "materialize(now, infinity, infinity, keys(1)). now(@NODE, 0).
        c1 now(@N, X + 1) :- periodic(@N, E, 0.05), now(@N, X).
        a1 add(@N, \"kept\", 1) :- periodic(@N, E, 0.05).
        a2 add(@N, f_tostr(X), 1) :- periodic(@N, E, 0.05), now(@N, X).
        stage(\"cl:Adder\", add, sum, keys(2)).
        w1 shown(@N, K, S) :- sum(@N, K, S). watchmod(shown, \"h\").
        f1 stage_fault(@N, K, R) :- stage::fault(@N, C, K, R). watch(stage_fault).";
    let rules = folder.file("a.olg", rules);
    let all = [
        adder("sum := sum + n"),
        adder("sum := sum + 1000 * n"),
        adder("(* Below. *)\n\nASSERT(n = 2, 7)"),
    ];
    let all = all.each_ref().map(String::as_str);
    let (data, notes) = versions(&folder, &all, &[&rules, "--listen", "localhost:0"]);
    assert_eq!(notes.matches("goes on with the new components").count(), 2, "{notes}");
    let of = |kept: bool| -> Vec<u64> {
        let number = |line: &str| line.rsplit_once(", ")?.1.strip_suffix(')')?.parse().ok();
        let lines = data.lines().filter(|line| line.contains(" shown("));
        lines.filter(|line| line.contains("\"kept\"") == kept).filter_map(number).collect()
    };
    let kept = of(true);
    assert!(kept.len() > 20 && kept.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{data}");
    let mut others = of(false);
    others.dedup();
    assert_eq!(others, [1, 1000], "{data}");
    let place = format!("{}:11:", folder.path().join("a.com").display());
    assert!(notes.contains(&place), "{place}: {notes}");
}
