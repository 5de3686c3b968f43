//! Rules hand tuples to components: `stage("cl:Component", in, out, keys(2))`.

use std::io::Write;
use std::sync::mpsc;
use std::time::Duration;

use tidemill::console::Console;
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{Engine, Report, RunOptions};
use tidemill::tape::taped;

use super::{first_error, found};

/// Sums its input and yields the sum; negative numbers make it fail, 0 is not answered.
const ADDER: &str = "
INTERFACE Adding;
  { IN Add(key: TEXT; n: INTEGER) { OUT Sum(key: TEXT; sum: INTEGER) } OUT Done }
END Adding;

COMPONENT Adder OFFERS Adding;
  VARIABLE sum: INTEGER;
  IMPLEMENTATION Adding;
    VARIABLE key: TEXT; n: INTEGER;
  BEGIN
    WHILE ?Add DO
      ?Add(key, n);
      ASSERT(n >= 0, 9);
      BEGIN {EXCLUSIVE} INC(sum, n); n := sum END;
      IF n # 0 THEN !Sum(key, n) END;
      !Done
    END
  END Adding;
BEGIN sum := 0
FINALLY WRITE(\"sum\"); WRITE(sum); WRITELINE
END Adder;";

/// The result of a run that ends by itself after a while.
pub(super) struct Ran {
    pub(super) data: String,
    pub(super) notes: String,
    pub(super) report: Report,
    registry: tidemill_stat::Registry,
}

impl Ran {
    /// A counter of a border.
    pub(super) fn count(&self, name: &str) -> u64 {
        let counters = self.registry.snapshot().counters;
        let found = counters.iter().find(|(other, _)| **other == *format!("border/{name}"));
        found.map(|(_, count)| *count).unwrap_or_else(|| panic!("{name} in {counters:?}"))
    }

    /// Whether a line of the data has these words after the address.
    pub(super) fn has(&self, words: &str) -> bool {
        self.data.lines().any(|line| line.contains(words))
    }
}

pub(super) fn load(rules: &str, components: &str) -> Program {
    let texts = [("a.olg", rules), ("a.com", components)];
    let options = LoadOptions { injected: Some(Default::default()), ..LoadOptions::default() };
    Program::of_texts(&texts, &options)
}

pub(super) fn options() -> RunOptions {
    let mut options = RunOptions { seed: Some(1), ..RunOptions::default() };
    options.nodes.listen = tidemill::run::Listen::Address("localhost:0".to_owned());
    options
}

pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// Runs a program until it ends, or is drained after a while.
pub(super) fn run_with(
    rules: &str,
    components: &str,
    (mut options, after): (RunOptions, Duration),
) -> Ran {
    let program = load(rules, components);
    assert_eq!(found(&program), "");
    let registry = options.registry.clone();
    let (console, data, notes) = taped();
    let (read, mut write) = std::io::pipe().expect("a pipe");
    options.drain = Some(read.into());
    let (over, is_over) = mpsc::channel::<()>();
    let drains = std::thread::spawn(move || {
        if is_over.recv_timeout(after) == Err(mpsc::RecvTimeoutError::Timeout) {
            write.write_all(&[1]).expect("written");
        }
        write
    });
    let report = program.run(options, console).expect("it runs");
    drop(over);
    drains.join().expect("no panic");
    Ran { data: data.text(), notes: notes.text(), report, registry }
}

pub(super) fn run(rules: &str, components: &str) -> Ran {
    run_with(rules, components, (options(), seconds(0.4)))
}

/// The message, the texts of its labels, and the help of the error of this code.
pub(super) fn error(rules: &str, components: &str, code: &str) -> (String, Vec<String>, String) {
    first_error(&load(rules, components), |one| one.code == code)
}

#[test]
fn each_key_has_an_instance_that_answers_in_order() {
    let rules = "
        materialize(sum, infinity, infinity, keys(2, 3)).
        stage(\"cl:Adder\", add, added, keys(2)).
        a1 add(@N, \"a\", 1) :- periodic(@N, E, 0.01, 1).
        a2 add(@N, \"a\", 2) :- periodic(@N, E, 0.01, 1).
        a3 add(@N, \"b\", 10) :- periodic(@N, E, 0.01, 1).
        a4 add(@N, \"a\", 3) :- periodic(@N, E, 0.01, 1).
        s1 sum(@N, Key, Sum) :- added(@N, Key, Sum).
        watchmod(added, \"c\").";
    for engine in [Engine::Native, Engine::Interpreter] {
        let mut options = options();
        options.components.engine = engine;
        let ran = run_with(rules, ADDER, (options, seconds(0.4)));
        assert_eq!(ran.notes, "");
        assert!(ran.report.is_well());
        let sums: Vec<&str> = ran.data.lines().filter_map(|line| line.split(", ").last()).collect();
        let of_a: Vec<&str> = sums.iter().copied().filter(|sum| *sum != "10)").collect();
        assert_eq!(of_a, ["1)", "3)", "6)"], "{}", ran.data);
        assert!(ran.has("\"b\", 10)"), "{}", ran.data);
        let counts =
            ["in", "out", "instances", "faults"].map(|it| ran.count(&format!("cl:Adder/{it}")));
        assert_eq!(counts, [4, 4, 2, 0]);
        let components = ran.report.components.expect("components");
        // Instances end with the run.
        assert_eq!((components.counts.components.created, components.how), (2, None));
        assert_eq!(components.counts.components.alive, 0);
    }
}

#[test]
fn without_keys_there_is_one_instance() {
    let rules = "
        stage(\"cl:Adder\", add, added).
        a1 add(@N, Key, 5) :- periodic(@N, E, 0.01, 3), Key := \"k\" + f_tostr(f_rand()).
        watchmod(added, \"c\").";
    let ran = run(rules, ADDER);
    assert!(ran.has(", 5)") && ran.has(", 10)") && ran.has(", 15)"), "{}", ran.data);
    assert_eq!((ran.count("cl:Adder/instances"), ran.count("cl:Adder/in")), (1, 3));
}

#[test]
fn an_instance_that_fails_is_reported_to_rules_and_the_next_tuple_makes_another() {
    let rules = "
        stage(\"cl:Adder\", add, added, keys(2)).
        a1 add(@N, \"a\", 4) :- periodic(@N, E, 0.01, 1).
        a2 add(@N, \"a\", -1) :- periodic(@N, E, 0.02, 1).
        a3 add(@N, \"a\", 2) :- periodic(@N, E, 0.02, 1).
        a4 add(@N, \"a\", 3) :- periodic(@N, E, 0.05, 1).
        f1 failed(@N, Component, Key, Why) :- stage::fault(@N, Component, Key, Why).
        watchmod(failed, \"c\").
        watchmod(added, \"c\").";
    let ran = run(rules, ADDER);
    assert!(ran.has("\"Adder\", \"a\", \"assertion failed with code 9\")"), "{}", ran.data);
    // Queued inputs are not lost, but start with a new instance.
    assert!(ran.has("\"a\", 2)") && ran.has("\"a\", 5)"), "{}", ran.data);
    assert!(ran.notes.contains("fault[assertion]: assertion failed with code 9 (Adder, Adding)"));
    let counts = ["in", "out", "instances", "faults", "lost"];
    assert_eq!(counts.map(|it| ran.count(&format!("cl:Adder/{it}"))), [4, 3, 2, 1, 1]);
    assert!(ran.report.is_well(), "an instance is not the program");
}

#[test]
fn keys_of_several_columns_are_a_list_for_rules() {
    let components = "
        INTERFACE Pairs; { IN Pair(a, b: INTEGER) { OUT Never } OUT Done } END Pairs;
        COMPONENT Breaks OFFERS Pairs;
          IMPLEMENTATION Pairs; VARIABLE a, b: INTEGER;
          BEGIN WHILE ?Pair DO ?Pair(a, b); IF a = 1 THEN HALT(3) END; !Done END END Pairs;
        END Breaks;";
    let rules = "
        stage(\"cl:Breaks\", pair, never, keys(2, 3)).
        p1 pair(@N, 1, 2) :- periodic(@N, E, 0.01, 1).
        f1 failed(@N, Key) :- stage::fault(@N, C, Key, Why).
        watchmod(failed, \"c\"). watchmod(never, \"c\").";
    let ran = run(rules, components);
    assert!(ran.has(", [1, 2])"), "{}", ran.data);
}

/// The rows of a table are the inputs; a deleted row ends its instance.
#[test]
fn instances_end_with_their_rows_when_they_have_done_all() {
    let rules = "
        materialize(add, infinity, infinity, keys(2)).
        stage(\"cl:Adder\", add, added, keys(2)).
        add(@NODE, \"a\", 1).
        add(@NODE, \"b\", 7).
        a1 add(@N, \"a\", 2) :- periodic(@N, E, 0.02, 1).
        d1 delete add(@N, \"a\", 2) :- periodic(@N, E, 0.05, 1).
        a2 add(@N, \"a\", 5) :- periodic(@N, E, 0.1, 1).
        watchmod(added, \"c\").";
    let ran = run(rules, ADDER);
    // A row that replaces another of its key is the next input of the same instance.
    let line = |words: &str| ran.data.lines().position(|line| line.contains(words));
    let places = ["\"a\", 1)", "\"a\", 3)", "sum3", "\"a\", 5)"].map(line);
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}", ran.data);
    // Instances alive at the end of the run see no end of input.
    assert!(!ran.has("sum7") && !ran.has("sum5"), "{}", ran.data);
    assert_eq!(ran.count("cl:Adder/instances"), 3);
}

/// The fault is after the row was deleted and the instance forgotten, so that its key has another
/// instance already.
#[test]
fn an_instance_that_fails_in_its_finally_is_reported_to_rules() {
    let components = ADDER.replace("FINALLY WRITE", "FINALLY ASSERT(sum # 3, 5); WRITE");
    let rules = "
        materialize(add, infinity, infinity, keys(2)).
        stage(\"cl:Adder\", add, added, keys(2)).
        add(@NODE, \"a\", 3).
        add(@NODE, \"b\", 7).
        d1 delete add(@N, Key, X) :- periodic(@N, E, 0.05, 1), add(@N, Key, X).
        a1 add(@N, \"a\", 4) :- removed(@N).
        r1 removed(@N) :- periodic(@N, E, 0.06, 1).
        f1 failed(@N, Component, Key, Why) :- stage::fault(@N, Component, Key, Why).
        watchmod(failed, \"c\").
        watchmod(added, \"c\").";
    for engine in [Engine::Native, Engine::Interpreter] {
        let mut options = options();
        options.components.engine = engine;
        let ran = run_with(rules, &components, (options, seconds(0.4)));
        let failed = "\"Adder\", \"a\", \"assertion failed with code 5\")";
        assert!(ran.has(failed) && ran.has("\"a\", 4)"), "{}", ran.data);
        assert!(ran.has("sum7") && !ran.has("sum3"), "{}", ran.data);
        let counts = ["in", "out", "instances", "faults", "lost"];
        assert_eq!(counts.map(|it| ran.count(&format!("cl:Adder/{it}"))), [3, 3, 3, 1, 0]);
        let components = ran.report.components.expect("components");
        assert_eq!(components.counts.components.alive, 0);
    }
}

#[test]
fn inputs_wait_up_to_a_limit_and_the_rest_is_counted() {
    let components = "
        INTERFACE Slow; { IN Work(n: INTEGER) { OUT Out(n: INTEGER) } OUT Done } END Slow;
        COMPONENT Sleepy OFFERS Slow REQUIRES SystemTime;
          IMPLEMENTATION Slow; VARIABLE n: INTEGER;
          BEGIN
            WHILE ?Work DO
              ?Work(n);
              IF n = 1 THEN {EXCLUSIVE} SystemTime!Wait(100); SystemTime?Passed END;
              !Out(n); !Done
            END
          END Slow;
        END Sleepy;";
    let rules = "
        materialize(number, infinity, infinity, keys(2)).
        materialize(last, infinity, 1, keys(1)).
        stage(\"cl:Sleepy\", work, out).
        number(@NODE, 1).
        n1 number(@N, X) :- number(@N, Y), Y < 1500, X := Y + 1.
        w1 work(@N, X) :- periodic(@N, E, 0.05, 1), number(@N, X).
        l1 last(@N, X) :- out(@N, X).";
    let ran = run(rules, components);
    let count = |name: &str| ran.count(&format!("cl:Sleepy/{name}"));
    assert_eq!((count("in"), count("out"), count("dropped_full")), (1025, 1025, 475));
}

#[test]
fn nulls_and_what_is_no_parameter_are_counted() {
    let components = "
        INTERFACE Kinds;
          { IN All(i: INTEGER; r: REAL; b: BOOLEAN; c: CHARACTER; t: TEXT)
            { OUT Back(i: INTEGER; r: REAL; b: BOOLEAN; c: CHARACTER; t: TEXT) }
            OUT Done }
        END Kinds;
        COMPONENT Echo OFFERS Kinds;
          IMPLEMENTATION Kinds;
            VARIABLE i: INTEGER; r: REAL; b: BOOLEAN; c: CHARACTER; t: TEXT;
          BEGIN
            WHILE ?All DO ?All(i, r, b, c, t); !Back(i, r, b, c, t); !Done END
          END Kinds;
        END Echo;";
    let rules = "
        stage(\"cl:Echo\", all, back).
        a1 all(@N, 1, 2, true, \"x\", \"text\") :- periodic(@N, E, 0.01, 1).
        a2 all(@N, 1, 2.5, false, \"\\xe9\", b\"\\xff\\x00\\x01\") :- periodic(@N, E, 0.01, 1).
        a3 all(@N, 1, 2, true, \"x\", null) :- periodic(@N, E, 0.01, 1).
        a4 all(@N, 1, 2, true, \"long\", \"\") :- periodic(@N, E, 0.01, 1).
        a5 all(@N, T, 2, true, \"y\", 0x7I) :- periodic(@N, E, 0.01, 1), T := f_now() - f_now().
        watchmod(back, \"c\").";
    let ran = run(rules, components);
    let count = |name: &str| ran.count(&format!("cl:Echo/{name}"));
    assert_eq!(["in", "dropped_null", "dropped_type"].map(count), [3, 1, 1], "{}", ran.data);
    assert!(ran.has(", 1, 2.0, true, \"x\", \"text\")"), "{}", ran.data);
    assert!(ran.has(", 1, 2.5, false, \"é\", b\"\\xff\\x00\\x01\")"), "{}", ran.data);
    assert!(ran.has(", 0, 2.0, true, \"y\", \"0x0000000000000000000000000000000000000007I\")"));
}

/// An instance that yields without end is blocked, and no other is.
#[test]
fn what_is_yielded_faster_than_it_is_taken_waits_with_the_instance() {
    let components = "
        INTERFACE Flood; { IN Go(n: INTEGER) { OUT Drop(n: INTEGER) } OUT Done } END Flood;
        COMPONENT Floods OFFERS Flood;
          IMPLEMENTATION Flood; VARIABLE n, i: INTEGER;
          BEGIN
            WHILE ?Go DO ?Go(n); FOR i := 1 TO n DO !Drop(i) END; !Done END
          END Flood;
        END Floods;";
    let rules = "
        materialize(count, infinity, 1, keys(1)).
        count(@NODE, 0).
        stage(\"cl:Floods\", go, drop).
        g1 go(@N, 20000) :- periodic(@N, E, 0.01, 1).
        c1 count(@N, C) :- drop(@N, I), count(@N, P), C := P + 1.";
    let ran = run_with(rules, components, (options(), seconds(3.0)));
    assert_eq!((ran.count("cl:Floods/out"), ran.count("cl:Floods/dropped_full")), (20_000, 0));
    let nodes = ran.report.nodes.expect("nodes");
    assert!(nodes.turns >= 20_000);
}

/// Instances use system components, beside an entry component with which the run ends.
#[test]
fn a_program_may_have_an_entry_component_too() {
    let main = "COMPONENT Main REQUIRES SystemTime;
        BEGIN SystemTime!Wait(100); SystemTime?Passed; WRITE(\"main\"); WRITELINE END Main;";
    let rules = "
        stage(\"cl:Adder\", add, added, keys(2)).
        a1 add(@N, \"a\", 1) :- periodic(@N, E, 0.01, 0).
        watchmod(added, \"c\").";
    for components in [format!("{ADDER}\n{main}"), format!("{main}\n{ADDER}")] {
        let ran = run_with(rules, &components, (options(), seconds(20.0)));
        assert!(ran.has("main") && ran.has("\"a\", 1)"), "{}", ran.data);
        let how = ran.report.components.expect("components").how;
        assert!(how.is_some_and(|how| how.exit_status() == 0));
    }
}

/// A program of components that only stages use, and of others made by these, has no entry.
#[test]
fn what_instances_make_is_not_the_program() {
    let components = format!(
        "{ADDER}
        INTERFACE Two; {{ IN Give(n: INTEGER) {{ OUT Got(n: INTEGER) }} OUT Done }} END Two;
        COMPONENT Twice OFFERS Two;
          IMPLEMENTATION Two;
            VARIABLE a: Adder; n: INTEGER; key: TEXT;
          BEGIN
            NEW(a);
            WHILE ?Give DO
              ?Give(n); a!Add(\"\", n); a?Sum(key, n); a?Done; !Got(2 * n); !Done
            END
          END Two;
        END Twice;"
    );
    let rules = "
        stage(\"cl:Twice\", give, got).
        g1 give(@N, 4) :- periodic(@N, E, 0.01, 2).
        watchmod(got, \"c\").";
    // Nor is an unused component that could only serve others.
    let components = format!("{components}\n{}", ADDER.replace("Add", "Sub"));
    let ran = run(rules, &components);
    assert!(ran.has(", 8)") && ran.has(", 16)"), "{}", ran.data);
    assert!(ran.report.components.expect("components").how.is_none());
}

#[test]
fn an_implementation_that_ends_early_is_a_fault_and_one_that_ends_late_begins_anew() {
    let components = "
        INTERFACE One; { IN Ask(n: INTEGER) { OUT Reply(n: INTEGER) } OUT Done } END One;
        COMPONENT Short OFFERS One;
          IMPLEMENTATION One; VARIABLE n: INTEGER;
          BEGIN ?Ask(n); !Reply(n); IF n < 3 THEN !Done END END One;
        END Short;";
    let rules = "
        stage(\"cl:Short\", ask, reply).
        a1 ask(@N, 1) :- periodic(@N, E, 0.01, 1).
        a2 ask(@N, 2) :- periodic(@N, E, 0.02, 1).
        a3 ask(@N, 3) :- periodic(@N, E, 0.03, 1).
        a4 ask(@N, 1) :- periodic(@N, E, 0.04, 1).
        f1 failed(@N, Key, Why) :- stage::fault(@N, C, Key, Why).
        watchmod(reply, \"c\"). watchmod(failed, \"c\").";
    let ran = run(rules, components);
    assert!(ran.has("null, \"the implementation has ended without"), "{}", ran.data);
    let count = |name: &str| ran.count(&format!("cl:Short/{name}"));
    assert_eq!(["in", "out", "instances", "faults"].map(count), [4, 4, 2, 1]);
}

/// The next input is sent when `Done` has come, which may be long before the implementation ends,
/// or in the same moment. The instance is the same: its variable goes on.
#[test]
fn an_input_that_an_ending_implementation_has_not_taken_starts_the_next_one() {
    let rules = "
        stage(\"cl:Late\", ask, reply).
        a1 ask(@N, X, Text) :- periodic(@N, E, 0.01, 2), X := I, Text := \"the next\", range(@N, I).
        materialize(range, infinity, infinity, keys(1, 2)).
        range(@NODE, 1). range(@NODE, 2). range(@NODE, 3). range(@NODE, 4).
        f1 failed(@N, Key, Why) :- stage::fault(@N, C, Key, Why).
        watchmod(reply, \"c\"). watchmod(failed, \"c\").";
    let late = |after: &str| {
        format!(
            "INTERFACE One;
              {{ IN Ask(n: INTEGER; t: TEXT) {{ OUT Reply(n: INTEGER; t: TEXT) }} OUT Done }}
            END One;
            COMPONENT Late OFFERS One REQUIRES SystemTime;
              VARIABLE count: INTEGER;
              IMPLEMENTATION One; VARIABLE n: INTEGER; t: TEXT;
              BEGIN
                ?Ask(n, t); BEGIN {{EXCLUSIVE}} INC(count); n := count END;
                !Reply(n, t); !Done; {after}
              END One;
            BEGIN count := 0
            END Late;"
        )
    };
    let spins = "FOR n := 1 TO 3000000 DO END";
    let waits = "BEGIN {EXCLUSIVE} SystemTime!Wait(5); SystemTime?Passed END";
    let looks = "IF ?Ask THEN n := 0 END";
    for after in ["", spins, waits, looks] {
        let ran = run(rules, &late(after));
        for count in 1..=8 {
            assert!(ran.has(&format!(", {count}, \"the next\")")), "{after}: {}", ran.data);
        }
        assert!(!ran.has("failed"), "{after}: {}", ran.data);
        let count = |name: &str| ran.count(&format!("cl:Late/{name}"));
        let counts = ["in", "out", "instances", "faults", "lost"].map(count);
        assert_eq!(counts, [8, 8, 1, 0, 0], "{after}");
    }
}

/// Whatever waits for it: an implementation that takes no input is not started for ever.
#[test]
fn an_implementation_that_takes_no_input_is_a_fault_for_each_input() {
    let components = "
        INTERFACE One; { IN Ask(n: INTEGER) { OUT Reply(n: INTEGER) } OUT Done } END One;
        COMPONENT Deaf OFFERS One;
          IMPLEMENTATION One; BEGIN END One;
        END Deaf;";
    let rules = "
        stage(\"cl:Deaf\", ask, reply).
        a1 ask(@N, 1) :- periodic(@N, E, 0.01, 1).
        a2 ask(@N, 2) :- periodic(@N, E, 0.01, 1).
        f1 failed(@N, Key, Why) :- stage::fault(@N, C, Key, Why).
        watchmod(reply, \"c\"). watchmod(failed, \"c\").";
    let ran = run(rules, components);
    let count = |name: &str| ran.count(&format!("cl:Deaf/{name}"));
    assert_eq!(["in", "out", "instances", "faults", "lost"].map(count), [2, 0, 2, 2, 2]);
}

#[test]
fn many_instances_are_small_and_all_of_them_end() {
    let rules = "
        materialize(add, infinity, infinity, keys(2)).
        stage(\"cl:Adder\", add, added, keys(2)).
        add(@NODE, \"1\", 1).
        a1 add(@N, Key, X) :- add(@N, Other, Y), Y < 5000, X := Y + 1, Key := f_tostr(X).
        d1 delete add(@N, Key, X) :- periodic(@N, E, 0.1, 1), add(@N, Key, X).";
    let ran = run_with(rules, ADDER, (options(), seconds(3.0)));
    assert_eq!(ran.count("cl:Adder/instances"), 5000);
    assert_eq!(ran.data.matches("sum").count(), 5000);
    let components = ran.report.components.expect("components");
    assert!(components.peak_bytes < 5000 * 700, "{}", components.peak_bytes);
}

#[test]
fn memory_that_runs_out_is_counted_and_the_rest_goes_on() {
    let rules = "
        materialize(add, infinity, infinity, keys(2)).
        stage(\"cl:Adder\", add, added, keys(2)).
        add(@NODE, \"1\", 1).
        a1 add(@N, Key, X) :- add(@N, Other, Y), Y < 5000, X := Y + 1, Key := f_tostr(X).";
    let mut options = options();
    options.components.memory_max = Some(1 << 20);
    let ran = run_with(rules, ADDER, (options, seconds(1.0)));
    let count = |name: &str| ran.count(&format!("cl:Adder/{name}"));
    assert!(count("dropped_refused") > 0 && count("in") > 1000, "{}", ran.notes);
    assert_eq!(count("in") + count("dropped_refused"), 5000);
}

#[test]
fn several_loops_change_nothing() {
    let rules = "
        materialize(add, infinity, infinity, keys(2)).
        materialize(sums, infinity, infinity, keys(2)).
        stage(\"cl:Adder\", add, added, keys(2)).
        add(@NODE, \"1\", 1).
        a1 add(@N, Key, X) :- add(@N, Other, Y), Y < 500, X := Y + 1, Key := f_tostr(X).
        s1 sums(@N, Key, Sum) :- added(@N, Key, Sum).
        d1 delete add(@N, Key, X) :- periodic(@N, E, 0.3, 1), add(@N, Key, X).";
    let mut options = options();
    options.seed = None;
    options.components.workers = Some(3);
    options.components.spread_eagerly = true;
    let ran = run_with(rules, ADDER, (options, seconds(2.0)));
    let nodes = ran.report.nodes.expect("nodes");
    assert!(nodes.tables.contains(&("sums".to_owned(), 500)), "{:?}", nodes.tables);
    assert_eq!(ran.data.matches("sum").count(), 500);
}

#[test]
fn sides_that_do_not_fit_are_found_when_they_are_loaded() {
    let stage = |rest: &str| format!("stage(\"cl:Adder\", add, added). {rest}");
    let use_it =
        "a1 add(@N, K, X) :- go(@N, K, X). w1 seen(@N, S) :- added(@N, K, S). watch(seen).";
    let fine = stage(use_it).replace("go(@N, K, X)", "periodic(@N, E, 1), K := \"\", X := 1");
    assert_eq!(found(&load(&fine, ADDER)), "");
    // Columns.
    let few = stage(&use_it.replace("K, X", "X")).replace("go", "periodic(@N, E, 1), x");
    let (message, places, _) = error(&few, ADDER, "arity");
    assert!(message.contains("needs 3 columns here, but `add` has 2"), "{message}");
    assert_eq!(places[0], "a.olg: add");
    assert_eq!(places.last().map(String::as_str), Some("a.com: Adding"));
    // Types: wrong, mixed, and lists.
    let of = |value: &str| format!("{fine} a2 add(@N, \"k\", {value}) :- other(@N).");
    let (message, places, _) = error(&of("2.5"), ADDER, "type");
    assert!(
        message.contains("`n: null|int64|time|interval`") && message.contains("is mixed"),
        "{message}"
    );
    assert!(places.contains(&"a.com: n".to_owned()), "{places:?}");
    let only = fine.replace("X := 1", "X := [1]");
    let (message, ..) = error(&only, ADDER, "type");
    assert!(message.contains("which holds list"), "{message}");
    // Names.
    let (message, _, help) = error(&fine.replace("cl:Adder", "cl:Added"), ADDER, "unknown-stage");
    assert_eq!((&*message, &*help), ("the program has no component `Added`", "there is `Adder`"));
    let alone = Program::of_text("a.olg", &fine, &LoadOptions::default());
    assert!(found(&alone).contains("give the file of the component"), "{}", found(&alone));
    // Interfaces.
    let other = ADDER.replace(
        "{ OUT Sum(key: TEXT; sum: INTEGER) } OUT Done",
        "OUT Sum(key: TEXT; sum: INTEGER) OUT Done",
    );
    let (message, places, help) = error(&fine, &other, "unknown-stage");
    assert!(message.contains("has another form than stages talk by"), "{message}");
    assert_eq!(places, ["a.olg: \"cl:Adder\"", "a.com: Adding"]);
    assert!(help.contains("{ IN A(..) { OUT B(..) } OUT Done }"), "{help}");
    let none = "COMPONENT Adder; BEGIN END Adder;";
    let (message, ..) = error(&fine, none, "unknown-stage");
    assert!(message.contains("`Adder` offers 0 interfaces"), "{message}");
    // The interfaces that it requires must be available.
    let lonely = ADDER.replace("OFFERS Adding;", "OFFERS Adding REQUIRES Other;");
    let lonely = format!("INTERFACE Other; IN X END Other;\n{lonely}");
    let (message, _, help) = error(&fine, &lonely, "no-entry");
    assert!(message.contains("Other is no interface of the system"), "{message}");
    assert!(help.contains("a stage or app makes Adder"), "{help}");
    // Keys, and tables.
    let (message, ..) = error(&fine.replace("added).", "added, keys(4))."), ADDER, "key-column");
    assert!(message.contains("there is no column 4"), "{message}");
    let tokens = "stage(\"TOKENIZER\", line, word, keys(2)). watch(word).
        l1 line(@N, \" \", \"a\") :- periodic(@N, E, 1).";
    let (message, ..) = error(tokens, ADDER, "stage-keys");
    assert!(message.contains("one instance, whatever the key"), "{message}");
    let table = format!("materialize(added, infinity, infinity, keys(2)). {fine}");
    let (message, ..) = error(&table, ADDER, "stage-table");
    assert!(message.contains("the output of a stage is an event"), "{message}");
    let fault = format!("{fine} f1 x(@N) :- stage::fault(@N, C). watch(x).");
    let (message, ..) = error(&fault, ADDER, "border");
    assert!(message.contains("`stage::fault` is an event of 4 columns"), "{message}");
}

#[test]
fn errors_of_components_hide_those_of_stages_only() {
    let rules = "stage(\"cl:Adder\", add, added). r1 x(@N) :- added(@N, A), Y > 1.";
    let broken = ADDER.replace("INC(sum, n)", "INC(som, n)");
    let program = load(rules, &broken);
    let codes: Vec<&str> = program.diagnostics.iter().map(|one| one.code).collect();
    assert_eq!(codes, ["unknown-name"], "{}", found(&program));
    // A program may be prepared and never run.
    let mut few = options();
    few.end_ns = Some(1);
    let program = load("stage(\"cl:Adder\", add, added). watch(added). watch(add).", ADDER);
    assert!(program.run(few, Console::silent()).is_ok());
}
