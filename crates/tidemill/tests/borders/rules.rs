//! Components use rules through an interface that they require: they put tuples, and receive
//! changes.

use tidemill::program::{LoadOptions, Program};
use tidemill::run::Clock;

use super::found;
use super::stages::{error, load, options, run, run_with, seconds};

/// Puts samples, and receives changes of a view and an event until it has received one `over`.
const GAUGE: &str = "
INTERFACE Rules;
  { IN sample(name: TEXT; value: REAL) OUT Taken
  | IN Next ( OUT high(change: CHARACTER; name: TEXT; n: INTEGER)
            | OUT over(change: CHARACTER)
            | OUT End ) }
END Rules;

COMPONENT Gauge REQUIRES Rules;
  VARIABLE i, n: INTEGER; change: CHARACTER; name: TEXT; over: BOOLEAN;
BEGIN
  FOR i := 1 TO 4 DO Rules!sample(\"room\", 20.0 + i); Rules?Taken END;
  Rules!sample(\"hall\", 30.0); Rules?Taken;
  WHILE ~over DO
    Rules!Next;
    IF Rules?high THEN
      Rules?high(change, name, n);
      WRITE(change); WRITE(name); WRITE(n); WRITELINE
    ELSIF Rules?End THEN Rules?End; over := TRUE
    ELSE Rules?over(change); WRITE(\"over \"); WRITE(change); WRITELINE; over := TRUE
    END
  END
END Gauge;";

#[test]
fn components_give_facts_and_hear_of_views_and_events() {
    let rules = "
        materialize(seen, infinity, infinity, keys(2, 3)).
        materialize(high, infinity, infinity, keys(2)).
        s1 seen(@N, Name, Value) :- sample(@N, Name, Value).
        h1 high(@N, Name, a_COUNT<*>) :- seen(@N, Name, Value), Value > 22.0.
        d1 delete seen(@N, \"hall\", 30.0) :- periodic(@N, E, 0.05, 1).
        o1 over(@N) :- periodic(@N, E, 0.1, 1).";
    let ran = run_with(rules, GAUGE, (options(), seconds(20.0)));
    assert_eq!(ran.notes, "");
    // Changes that are not delivered at once coalesce: room has been 1 and then 2.
    let data = ran.data.strip_prefix("+room1\n").unwrap_or(&ran.data);
    assert_eq!(data, "+room2\n+hall1\n-hall1\nover +\n");
    assert!(ran.report.is_well());
    let nodes = ran.report.nodes.as_ref().expect("nodes");
    assert_eq!(nodes.tables, [("seen".to_owned(), 4), ("high".to_owned(), 1)]);
    let count = |name: &str| ran.count(&format!("Rules/{name}"));
    assert_eq!(["in", "dropped_full"].map(count), [5, 0]);
    assert!((4..=5).contains(&count("out")), "{}", count("out"));
}

/// Counts the changes that it receives between two slow answers.
const LISTENER: &str = "
INTERFACE RulesOfTicks;
  { IN start OUT Taken | IN Next ( OUT tick(change: CHARACTER; n: INTEGER) | OUT End ) }
END RulesOfTicks;

COMPONENT Main REQUIRES RulesOfTicks, SystemTime;
  VARIABLE n, count, last: INTEGER; change: CHARACTER; over: BOOLEAN;
BEGIN
  RulesOfTicks!start; RulesOfTicks?Taken;
  SystemTime!Wait(150); SystemTime?Passed;
  RulesOfTicks!Next;
  WHILE ~over DO
    RulesOfTicks?tick(change, n);
    INC(count); last := n;
    over := (n = 1000) OR (n = 3000);
    IF ~over THEN RulesOfTicks!Next END
  END;
  WRITE(count); WRITE(\" \"); WRITE(last); WRITELINE
END Main;";

const TICKS: &str = "
    materialize(number, infinity, infinity, keys(2)).
    n1 number(@N, X) :- start(@N), X := 1.
    n2 number(@N, X) :- number(@N, Y), Y < 3000, X := Y + 1.";

#[test]
fn events_beyond_the_limit_are_dropped_and_counted() {
    let rules = format!("{TICKS} t1 tick(@N, X) :- number(@N, X).");
    let ran = run(&rules, LISTENER);
    assert_eq!(ran.data, "1000 1000\n");
    let count = |name: &str| ran.count(&format!("RulesOfTicks/{name}"));
    assert_eq!(["out", "dropped_full", "coalesced"].map(count), [1000, 2000, 0]);
}

#[test]
fn changes_of_a_row_are_one_delivery_however_many_they_were() {
    let rules = format!(
        "materialize(tick, infinity, infinity, keys(1)).
        {TICKS} t1 tick(@N, a_MAX<X>) :- number(@N, X)."
    );
    let ran = run(&rules, LISTENER);
    assert_eq!(ran.data, "1 3000\n");
    assert_eq!(ran.count("RulesOfTicks/dropped_full"), 0);
    // The view is computed at once, or row by row: each change but the first coalesces.
    assert_eq!(ran.count("RulesOfTicks/out"), 1);
}

#[test]
fn a_null_is_dropped_and_counted() {
    let rules =
        format!("{TICKS} t1 tick(@N, null) :- start(@N). t2 tick(@N, 3000) :- number(@N, 7).");
    let ran = run(&rules, LISTENER);
    assert_eq!(ran.data, "1 3000\n");
    assert_eq!(ran.count("RulesOfTicks/dropped_null"), 1);
}

/// Puts of a component are held back while the node is busy.
#[test]
fn the_inbox_of_the_node_holds_a_fast_component_back() {
    let components = "
        INTERFACE Rules; { IN item(n: INTEGER) OUT Taken } END Rules;
        COMPONENT Main REQUIRES Rules; VARIABLE i: INTEGER;
        BEGIN FOR i := 1 TO 5000 DO Rules!item(i); Rules?Taken END END Main;";
    let rules = "
        materialize(item, infinity, infinity, keys(2)).
        materialize(last, infinity, 1, keys(1)).
        l1 last(@N, a_MAX<X>) :- item(@N, X).";
    let ran = run_with(rules, components, (options(), seconds(20.0)));
    let nodes = ran.report.nodes.as_ref().expect("nodes");
    assert_eq!(nodes.tables, [("item".to_owned(), 5000), ("last".to_owned(), 1)]);
    assert_eq!((ran.count("Rules/in"), ran.count("Rules/dropped_full")), (5000, 0));
}

/// A sub-component is connected to the interfaces that the entry requires, and columns have the
/// types of rules.
#[test]
fn nested_components_reach_rules_and_columns_keep_their_types() {
    let components = "
        INTERFACE Rules;
          { ( IN app__put(id, raw: TEXT; at, span: INTEGER; ok: BOOLEAN; letter: CHARACTER)
            | IN nothing )
            OUT Taken
          | IN Next ( OUT app__got(change: CHARACTER; id, raw: TEXT; at, span: INTEGER;
                                   ok: BOOLEAN; letter: CHARACTER)
                    | OUT End ) }
        END Rules;
        COMPONENT Inner REQUIRES Rules;
          VARIABLE c, letter: CHARACTER; id, raw: TEXT; at, span: INTEGER; ok: BOOLEAN;
        ACTIVITY {EXCLUSIVE}
          Rules!nothing; Rules?Taken;
          Rules!Next;
          Rules?app__got(c, id, raw, at, span, ok, letter);
          Rules!app__put(id, raw, at, span, ok, letter); Rules?Taken
        END Inner;
        COMPONENT Main REQUIRES Rules; VARIABLE inner: Inner;
        BEGIN NEW(inner); CONNECT(Rules(inner), Rules); DELETE(inner) END Main;";
    let rules = "
        namespace app {
            materialize(kept, infinity, infinity, keys(2)).
            k1 got(@N, 0x7I, b\"\\xff\\x00\", T, I, true, \"z\") :- ::nothing(@N), T := f_now(),
                I := f_now() - f_now().
            materialize(put, infinity, infinity, keys(2)).
            put(@NODE, 0x1I, b\"\", 0t, 0s, false, \"a\").
            p1 kept(@N, Id, Raw, f_typeOf(At), f_typeOf(Span)) :- put(@N, Id, Raw, At, Span, Ok, L),
                Ok == true, L == \"z\".
        }
        watchmod(app::kept, \"i\").";
    let rules = rules.replace("0t, 0s", "0, 0");
    let ran = run_with(&rules, components, (options(), seconds(20.0)));
    let id = "0x0000000000000000000000000000000000000007I, b\"\\xff\\x00\", \"int64\", \"int64\")";
    assert!(ran.has(id), "{}", ran.data);
}

/// Instances of stages may require rules themselves, and receive the end of the run.
#[test]
fn instances_of_stages_reach_rules_too() {
    let components = "
        INTERFACE Work; { IN Do(n: INTEGER) { OUT Never } OUT Done } END Work;
        INTERFACE Rules; { IN done(n: INTEGER) OUT Taken } END Rules;
        COMPONENT Worker OFFERS Work REQUIRES Rules;
          IMPLEMENTATION Work; VARIABLE n: INTEGER;
          BEGIN
            WHILE ?Do DO
              ?Do(n); BEGIN {EXCLUSIVE} Rules!done(n); Rules?Taken END; !Done
            END
          END Work;
        END Worker;";
    let rules = "
        stage(\"cl:Worker\", do, never, keys(2)).
        d1 do(@N, 1) :- periodic(@N, E, 0.01, 1).
        d2 do(@N, 2) :- periodic(@N, E, 0.01, 1).
        f1 finished(@N, X) :- done(@N, X).
        watchmod(finished, \"c\"). watch(never).";
    let ran = run(rules, components);
    assert!(ran.has(", 1)") && ran.has(", 2)"), "{}", ran.data);
    assert_eq!((ran.count("Rules/in"), ran.count("cl:Worker/instances")), (2, 2));
}

/// Counts ticks until the end, then writes; slowly, as work may be left when the end comes.
const HEARS: &str = "
        INTERFACE Rules; { IN Next ( OUT tick(change: CHARACTER) | OUT End ) } END Rules;
        COMPONENT Main REQUIRES Rules, SystemTime; VARIABLE change: CHARACTER; n: INTEGER;
        BEGIN
          Rules!Next;
          WHILE ~Rules?End DO Rules?tick(change); INC(n); Rules!Next END;
          Rules?End; SystemTime!Wait(50); SystemTime?Passed;
          WRITE(\"heard \"); WRITE(n > 0); WRITELINE
        END Main;";

/// A draining run sends `End` to components, and waits for those that continue to their end.
#[test]
fn components_hear_of_the_end_of_the_run() {
    let rules = "t1 tick(@N) :- periodic(@N, E, 0.01, 0).";
    let ran = run(rules, HEARS);
    assert_eq!(ran.data, "heard TRUE\n");
    let how = ran.report.components.expect("components").how;
    assert!(how.is_some_and(|how| how.exit_status() == 0));
}

/// So does one that ends at its time, on the clock of the system or on a virtual one.
#[test]
fn components_hear_of_the_end_that_the_user_has_set() {
    let rules = "t1 tick(@N) :- periodic(@N, E, 0.01, 0).";
    for clock in [Clock::Own, Clock::Virtual] {
        let mut options = options();
        (options.clock, options.end_ns) = (clock, Some(200_000_000));
        let ran = run_with(rules, HEARS, (options, seconds(20.0)));
        assert_eq!(ran.data, "heard TRUE\n", "{clock:?}");
        let how = ran.report.components.expect("components").how;
        assert!(how.is_some_and(|how| how.exit_status() == 0), "{clock:?}");
    }
}

/// A component that is slower than the rules gets all that is queued, and then the end.
#[test]
fn the_end_follows_what_is_queued() {
    let rules = "t1 tick(@N) :- periodic(@N, E, 0.01, 10).";
    let slow = HEARS.replace("INC(n);", "INC(n); SystemTime!Wait(100); SystemTime?Passed;");
    let slow = slow.replace("WRITE(n > 0)", "WRITE(n)");
    let mut options = options();
    (options.clock, options.end_ns) = (Clock::Virtual, Some(150_000_000));
    let ran = run_with(rules, &slow, (options, seconds(20.0)));
    assert_eq!(ran.data, "heard 10\n");
}

/// A component that does not end after `End` does not hold the run up for ever.
#[test]
fn an_end_that_nothing_answers_is_waited_for_a_while() {
    let rules = "t1 tick(@N) :- periodic(@N, E, 0.01, 0).";
    let deaf = HEARS.replace("Wait(50)", "Wait(60000)");
    let mut options = options();
    (options.clock, options.end_ns) = (Clock::Virtual, Some(200_000_000));
    let ran = run_with(rules, &deaf, (options, seconds(20.0)));
    assert_eq!(ran.data, "");
    let elapsed_ns = ran.report.nodes.expect("nodes").elapsed_ns;
    assert!((3_200_000_000..3_300_000_000).contains(&elapsed_ns), "{elapsed_ns}");
}

#[test]
fn sides_that_do_not_fit_are_found_when_they_are_loaded() {
    let rules = "
        materialize(high, infinity, infinity, keys(2)).
        s1 high(@N, Name, 1) :- sample(@N, Name, Value), Value > 22.0.
        o1 over(@N) :- periodic(@N, E, 1).";
    assert_eq!(found(&load(rules, GAUGE)), "");
    let border = |rules: &str, components: &str| error(rules, components, "border");
    // Relations.
    let (message, places, help) = border(&rules.replace("sample", "samples"), GAUGE);
    assert_eq!(message, "the rules have no relation `sample`");
    assert_eq!((places, &*help), (vec!["a.com: sample".to_owned()], "is `samples` meant?"));
    let far = rules.replace("sample", "measured");
    let (_, _, help) = border(&far, GAUGE);
    assert_eq!(help, "use `sample(@N, Name, Value)` in a rule");
    let (message, places, help) = border(&rules.replace("Name, 1", "Name"), GAUGE);
    assert_eq!(message, "`high` has 2 columns, and not 3: the location and 2 parameters");
    assert_eq!(places, ["a.com: high", "a.olg: high"]);
    assert_eq!(help, "`high` is `high(@N, Name, N)`");
    // Types.
    for (value, is) in [("\"x\"", "string"), ("[1]", "list"), ("1.5", "double")] {
        let (message, places, _) =
            border(&rules.replace("Name, 1", &format!("Name, {value}")), GAUGE);
        assert_eq!(message, format!("column 3 of `high` is {is}, and `n` of `high` is INTEGER"));
        assert_eq!(places, ["a.com: n", "a.olg: high"]);
    }
    let mixed = format!("{rules} h2 high(@N, \"x\", \"y\") :- periodic(@N, E, 1).");
    let (message, ..) = border(&mixed, GAUGE);
    assert!(message.contains("is mixed, int64|string"), "{message}");
    // The form.
    let bare = "COMPONENT Gauge REQUIRES Rules; END Gauge;";
    let with = |interface: &str| format!("INTERFACE Rules; {interface} END Rules;\n{bare}");
    let wrong = |interface: &str| border(rules, &with(interface)).0;
    let (_, _, help) = border(rules, &with("{ IN sample(name: TEXT; value: REAL) }"));
    assert!(help.contains("OUT Taken | IN Next"), "{help}");
    assert_eq!(wrong("{ IN sample(name: TEXT; value: REAL) }"), "`sample` is answered by `Taken`");
    let text = wrong("{ IN Next OUT over(change: CHARACTER) }");
    assert_eq!(text, "`Next` is answered by any of the changes, or `End`");
    assert_eq!(wrong("OUT Taken"), "`Rules` begins with OUT, and rules do not begin");
    let text = wrong("{ IN Next ( OUT over | OUT End ) }");
    assert_eq!(text, "the first parameter of `over` is no CHARACTER");
    assert_eq!(wrong("{ IN Next(n: INTEGER) OUT End }"), "`Next` has no parameters");
    // Without rules, and in a program where the system does not connect it.
    let alone = Program::of_text("a.com", GAUGE, &LoadOptions::default());
    assert!(found(&alone).contains("`Rules` leads to the rules of the program, which has none"));
    let unused = format!("{GAUGE} COMPONENT Main; BEGIN END Main;");
    assert!(found(&load(rules, &unused)).contains("warning[no-source]: nothing in this program"));
}

/// Relations that only components put have the types of their parameters, and so have views of
/// them.
#[test]
fn rules_know_the_types_of_what_components_give() {
    let mean = "
        materialize(seen, infinity, infinity, keys(2, 3)).
        materialize(high, infinity, infinity, keys(2)).
        s1 seen(@N, Name, Value) :- sample(@N, Name, Value).
        h1 high(@N, Name, a_AVG<Value>) :- seen(@N, Name, Value).
        o1 over(@N) :- periodic(@N, E, 1).";
    let of_real = GAUGE.replace("name: TEXT; n: INTEGER)", "name: TEXT; n: REAL)");
    let of_real = of_real.replace("VARIABLE i, n: INTEGER;", "VARIABLE i: INTEGER; n: REAL;");
    assert_eq!(found(&load(mean, &of_real)), "");
    // Exported relations may have any type.
    let exported = format!("{mean} export(sample).");
    let (message, ..) = error(&exported, &of_real, "border");
    assert!(message.contains("`high` is mixed, double|interval"), "{message}");
    let texts = mean.replace("Value).\n        h1", "Value), f_strlen(Value) > 1.\n        h1");
    let (message, places, _) = error(&texts, &of_real, "type");
    assert!(message.contains("string"), "{message}");
    assert_eq!(places[0], "a.olg: Value");
}

#[test]
fn what_components_give_has_a_source() {
    let rules = "s1 high(@N, Name, 1) :- sample(@N, Name, Value).
        w1 high(@N, \"\", 2) :- other(@N).
        watch(high).
        o1 over(@N) :- periodic(@N, E, 1).";
    let program = load(rules, GAUGE);
    let codes: Vec<&str> = program.diagnostics.iter().map(|one| one.code).collect();
    assert_eq!(codes, ["no-source"], "{}", found(&program));
    assert!(found(&program).contains("`other`"));
}
