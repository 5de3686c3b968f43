//! Runs that rest and resume, profiles of registers, and comparisons without rows.

use super::*;
use crate::database::Database;
use crate::eval::EvalError;
use crate::plan::{Output, Plan, RelationId, RuleId, parse, verify};
use crate::testing::Still;
use crate::types::TypeSet;
use crate::value::Type;
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;

/// Keeps what is derived and what fails, and counts the rows looked at.
#[derive(Default)]
struct Log {
    lines: Vec<String>,
    looked: u64,
}

impl Sink for Log {
    fn derive(&mut self, _: &Output, columns: &[Value<'_>], _: u64) {
        self.lines.push(columns.iter().map(Value::to_string).collect::<Vec<_>>().join(" "));
    }

    fn failed(&mut self, _: RuleId, error: EvalError) {
        self.lines.push(error.to_string());
    }

    fn looked(&mut self, rows: u32) {
        self.looked += u64::from(rows);
    }
}

/// Relations of two columns.
const RELATIONS: &str = r#"
relation p0 "e" at 0 (any, any)
relation p1 "a" at 0 (any, any)
  table key(0, 1) index(0)
relation p2 "b" at 0 (any, any)
  table bag index(0)
relation p3 "h" at 0 (any, any)
"#;

/// Tables of two columns, and the strand `steps` from an event of two.
fn plan(steps: &str) -> Plan {
    let text = format!(
        r#"{RELATIONS}rule r0 "r" at "f:1:1"
strand r0 on event p0 (v0, v1) regs 6
{steps}
  emit p3 (v0, v1)
"#
    );
    let plan = parse(&text).unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(verify(&plan), Ok(()));
    plan
}

/// Tables with these rows, each twice in the bag.
fn database(plan: &Plan, rows: &[(i64, i64)]) -> Database {
    let mut database = Database::new(plan, Secret::new(1));
    for &(a, b) in rows {
        for relation in [1, 2, 2] {
            let row = [Value::Int(a), Value::Int(b)];
            database.table_mut(RelationId(relation)).insert(&row, 0).unwrap();
        }
    }
    database.iter_mut().for_each(|(_, table)| {
        table.settle();
        table.prepare_all();
    });
    database
}

fn run_once(plan: &Plan, database: &Database, event: [Value<'_>; 2]) -> Log {
    let (scratch, ambient) = (Bump::new(), Still::default());
    let scope = Scope { scratch: &scratch, ambient: &ambient };
    let mut log = Log::default();
    let reading = Reading::present(database);
    run_values(&plan.strands[0], event.into_iter(), reading, scope, &mut log);
    log
}

#[test]
fn a_run_that_rests_derives_what_one_without_rest_does() {
    let rows: Vec<(i64, i64)> =
        (0..5).flat_map(|a| (0..4).map(move |b| (a, (a + b) % 5))).collect();
    let nested = [
        "join p1 scan [] atom 0 (v2, v3)\n  join p1 scan [] atom 1 (v4, v5)",
        "join p1 scan [] atom 0 (v2, v3)\n  join p1 index 0 [v3] atom 1 (_, v4)",
        "join p1 scan [] atom 0 (v2, v3)\n  join p2 index 0 [v3] atom 1 (_, v4)",
        "join p1 scan [] atom 0 (v2, v3)\n  join p1 primary [v3, v2] atom 1 (_, _)",
        "join p2 scan [] atom 0 (v2, v3)\n  join p1 index 0 [v3] atom 1 (_, v4)\n  \
         join p2 index 0 [v4] atom 2 (_, v5)",
    ];
    for joins in nested {
        let plan = scanning(joins);
        let database = database(&plan, &rows);
        let (scratch, ambient) = (Bump::new(), Still::default());
        let scope = Scope { scratch: &scratch, ambient: &ambient };
        let strand = &plan.strata[0].rules[0].scan;
        let mut whole = Log::default();
        let reading = Reading::present(&database);
        run(strand, Seq::EMPTY, reading, scope, &mut whole);
        assert!(whole.lines.len() > 10, "{joins}");
        for rows in [1, 2, 3, 7, 50, 1_000_000] {
            let (mut log, mut rest, mut runs) = (Log::default(), Rest::new(), 1);
            loop {
                let before = log.looked;
                if run_on(strand, reading, scope, &mut log, (&mut rest, rows)) {
                    break;
                }
                runs += 1;
                // The row at which each nested join resumes is examined again.
                assert!(log.looked - before <= rows + 4, "{joins}: {}", log.looked - before);
            }
            assert_eq!(log.lines, whole.lines, "{joins}, {rows} rows");
            let expected = whole.looked / (rows + 4)..=whole.looked / rows + 1;
            assert!(expected.contains(&runs), "{joins}, {rows} rows: {runs} of {expected:?}");
        }
    }
}

/// A view that scans.
fn scanning(joins: &str) -> Plan {
    let text = format!(
        r#"{RELATIONS}  table key(0, 1)
rule r0 "r" at "f:1:1"
stratum heads(p3) selected()
  view r0 plain p3 from p1
    scan r0 on scan p3 () regs 6
      {joins}
      insert p3 (v2, (list v2, v3))
    delta r0 on delta p1 (v2, v3) regs 6
      insert p3 (v2, (list v2, v3))
"#
    );
    parse(&text).unwrap_or_else(|error| panic!("{error:?}"))
}

#[test]
fn what_is_computed_from_the_row_itself_is_not_computed_before_there_is_one() {
    let none = plan("  absent p1 index 0 [v0] atom 0 (v2, =(+ v2 v1))");
    let event = [Value::Int(1), Value::Int(2)];
    // Without a row there is nothing to add to.
    assert_eq!(run_once(&none, &database(&none, &[]), event).lines, ["1 2"]);
    assert_eq!(run_once(&none, &database(&none, &[(1, 3)]), event).lines, [""; 0]);
    assert_eq!(run_once(&none, &database(&none, &[(1, 4)]), event).lines, ["1 2"]);
    // What is the same for all rows must have a value all the same.
    let alike = plan("  absent p1 index 0 [v0] atom 0 (_, =(/ v1 0))");
    let derived = run_once(&alike, &database(&alike, &[]), event).lines;
    assert_eq!(derived.len(), 1);
    assert_ne!(derived, ["1 2"]);
}

#[test]
fn lists_have_the_form_that_is_asked_for() {
    let plan = plan("  match v1 [v2, =7 | [v3, _ | v4]]\n  let v1 (list v2, v3, v4)");
    let database = database(&plan, &[]);
    let derived = |text: &str| {
        let list = crate::testing::read(text);
        run_once(&plan, &database, [Value::Int(1), list.get()]).lines
    };
    assert_eq!(derived("[1, 7, 3, 4]"), ["1 [1, 3, []]"]);
    assert_eq!(derived("[1, 7, 3, 4, 5, 6]"), ["1 [1, 3, [5, 6]]"]);
    for other in ["[1, 8, 3, 4]", "[1, 7, 3]", "[]", "7", "\"1734\""] {
        assert_eq!(derived(other), [""; 0], "{other}");
    }
}

#[test]
fn types_of_registers_are_seen_and_add_up() {
    let plan = plan("  let v2 (+ v1 1)\n  filter (> v2 0)\n  let v3 \"text\"");
    let database = database(&plan, &[]);
    let (scratch, ambient) = (Bump::new(), Still::default());
    let scope = Scope { scratch: &scratch, ambient: &ambient };
    let strand = &plan.strands[0];
    let profile = TypeProfile::new(strand);
    assert!(!profile.ran());
    assert_eq!(profile.types(), [TypeSet::NONE; 6]);
    let reading = Reading { profile: Some(&profile), ..Reading::present(&database) };
    let event = [Value::Str("here"), Value::Int(-5)];
    run_values(strand, event.into_iter(), reading, scope, &mut Log::default());
    assert!(profile.ran());
    let of = TypeSet::of;
    let (text, int, none) = (of(Type::Str), of(Type::Int), TypeSet::NONE);
    assert_eq!(profile.types(), [text, int, int, none, none, none]);
    let event = [Value::Str("here"), Value::Double(0.5)];
    run_values(strand, event.into_iter(), reading, scope, &mut Log::default());
    let number = int.union(of(Type::Double));
    assert_eq!(profile.types(), [text, number, number, text, none, none]);
}
