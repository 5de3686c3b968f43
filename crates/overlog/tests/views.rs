//! Random view programs under random changes: the incremental state equals the oracle's
//! recomputation, so the strands of a rule (one per change, one per head row, one over everything)
//! are equivalent.

use std::fmt::Write as _;

use tidemill_diag::{Sources, has_errors};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{MemoryFiles, Options};
use tidemill_relation::Value;
use tidemill_relation::database::Database;
use tidemill_relation::expr::{Ambient, Param, Scope};
use tidemill_relation::plan::{Plan, ViewKind, print, verify};
use tidemill_relation::table::Key;
use tidemill_relation::view::{Progress, Views, contents, evaluate_naively};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;
use tidemill_stdx::rng::Rng;

/// Programs tried; about three quarters of them are valid.
const PROGRAMS: u64 = 1500;
/// Commits of each.
const COMMITS: u64 = 12;
/// Rounds of the oracle: rows hold few values, so a fixed point is reached soon or never.
const ROUNDS_MAX: usize = 60;

const HOME: &str = "n0:1";

struct Home;

impl Ambient for Home {
    fn now_ns(&self) -> i64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    fn param(&self, param: Param) -> Value<'_> {
        match param {
            Param::Node | Param::Landmark => Value::Str(HOME),
            Param::NodeIndex => Value::Int(2),
            Param::NodeCount => Value::Int(3),
            Param::NodeId => Value::Null,
        }
    }
}

/// Tables that are filled from outside and tables that rules fill, each of a location and two
/// columns.
const BASE: [&str; 3] = ["a", "b", "c"];
const DERIVED: [&str; 4] = ["p", "q", "r", "s"];

fn pick<'t>(rng: &mut Rng, from: &[&'t str]) -> &'t str {
    from[rng.below(from.len() as u64) as usize]
}

/// A program over [`BASE`] and [`DERIVED`].
fn program(rng: &mut Rng) -> String {
    let mut text = String::new();
    for table in BASE {
        let keys = pick(rng, &["1, 2, 3", "1, 2", "2, 3", "2"]);
        let _ = writeln!(text, "materialize({table}, infinity, infinity, keys({keys})).");
    }
    let mut keyed = Vec::new();
    for table in DERIVED {
        let keys = pick(rng, &["1, 2, 3", "1, 2, 3", "2, 3", "", "1, 2", "2"]);
        let _ = writeln!(text, "materialize({table}, infinity, infinity, keys({keys})).");
        if matches!(keys, "1, 2" | "2") {
            keyed.push(table);
        }
    }
    for _ in 0..rng.range(1..=5) {
        rule(rng, &keyed, &mut text);
    }
    text
}

/// One rule. A rule has one row per key: which of several wins depends on the order of all changes
/// so far, which the oracle does not model.
fn rule(rng: &mut Rng, keyed: &[&str], text: &mut String) {
    let head = pick(rng, &DERIVED);
    let tables = [BASE, [DERIVED[0], DERIVED[1], DERIVED[2]]].concat();
    let mut body: Vec<String> = Vec::new();
    let mut bound: Vec<&str> = Vec::new();
    for _ in 0..rng.range(1..=3) {
        let table = pick(rng, &tables);
        let mut column = || {
            let column = pick(rng, &["X", "Y", "X", "Y", "Z", "W", "_", "1", "X + 1"]);
            if column.len() == 1 && column.starts_with(char::is_uppercase) {
                bound.push(column);
            }
            column
        };
        let (first, second) = (column(), column());
        body.push(format!("{table}(@N, {first}, {second})"));
    }
    if bound.is_empty() {
        bound.push("X");
        body.push("a(@N, X, _)".to_owned());
    }
    if rng.chance(0.1) {
        let (function, over) = (pick(rng, &["MIN", "COUNT", "MAX"]), pick(rng, &BASE));
        body.push(format!("a_{function}((G), (M), {over}(@N, G, M))"));
        bound.extend(["G", "M"]);
    }
    if rng.chance(0.3) {
        let table = pick(rng, &tables);
        let (known, other) = (pick(rng, &bound), pick(rng, &["U", "_", "0", known_or(&bound)]));
        let columns = if rng.chance(0.5) { [known, other] } else { [other, known] };
        body.push(format!("notin {table}(@N, {}, {})", columns[0], columns[1]));
    }
    let (one, two) = (pick(rng, &bound), pick(rng, &bound));
    if rng.chance(0.3) {
        let operator = pick(rng, &["!=", "<", ">=", "=="]);
        body.push(format!("({one} {operator} {two} || {one} == NODE_INDEX)"));
    }
    // Before the shuffle, so that no earlier predicate binds the assigned variable.
    rng.shuffle(&mut body);
    if rng.chance(0.2) {
        let at = rng.below(body.len() as u64 + 1) as usize;
        body.insert(at, format!("V := ({one} + {two}) % 3"));
        bound.push("V");
    }
    let first = pick(rng, &bound);
    let over = pick(rng, &bound);
    let second = match rng.below(8) {
        0 => "1".to_owned(),
        1 => format!("{first} % 2"),
        2 => format!("a_{}<{over}>", pick(rng, &["MIN", "MAX", "COUNT", "SUM", "MKSET"])),
        3 => "a_COUNT<*>".to_owned(),
        _ if keyed.contains(&head) => format!("{first} + 1"),
        _ => over.to_owned(),
    };
    let _ = writeln!(text, "{head}(@N, {first}, {second}) :- {}.", body.join(", "));
}

fn known_or<'t>(bound: &[&'t str]) -> &'t str {
    bound.last().copied().unwrap_or("0")
}

fn compile(text: &str) -> Option<Plan> {
    let mut sources = Sources::new();
    let files = MemoryFiles::default();
    let (tree, found) = parse_text("p.olg", text, &Options::default(), &files, &mut sources);
    assert!(!has_errors(&found), "{text}");
    let (compiled, _) =
        tidemill_overlog::compile(&tree, &sources, &tidemill_overlog::Options::default());
    compiled.map(|compiled| compiled.plan)
}

struct Bench {
    plan: Plan,
    database: Database,
    views: Views,
    scratch: Bump,
}

impl Bench {
    fn change(&mut self, rng: &mut Rng) {
        let table = pick(rng, &[BASE[0], BASE[1], BASE[2], DERIVED[0]]);
        let Some(relation) = self.plan.find(table) else { return };
        let described = self.plan.relation(relation);
        let sets = Key::Columns(vec![0, 1, 2]);
        let is_set = described.table().is_some_and(|spec| spec.key == sets);
        // A row that replaces a derived one, and the deletion of a derived row, suppress that
        // derivation until it is made again: the oracle has no history.
        let derived = DERIVED.contains(&table);
        if described.arity() != 3 || derived && !is_set {
            return;
        }
        let row =
            [Value::Str(HOME), Value::Int(rng.below(3) as i64), Value::Int(rng.below(3) as i64)];
        if rng.chance(0.6) || derived {
            self.views.insert(&self.plan, &mut self.database, relation, &row, 0)
        } else {
            self.views.delete(&self.plan, &mut self.database, relation, &row)
        }
    }

    /// Updates the views and compares them with the oracle; false if that finds no fixed point.
    fn commit(&mut self, text: &str) -> bool {
        let scope = Scope { scratch: &self.scratch, ambient: &Home };
        let mut rounds = 0;
        while self.views.step(&self.plan, &mut self.database, scope, 0, &mut ()) != Progress::Done {
            rounds += 1;
            assert!(rounds < 100_000, "no end:\n{text}");
        }
        let agrees = match evaluate_naively(&self.plan, &self.database, scope, ROUNDS_MAX) {
            Some(naive) => {
                let (found, expected) = (contents(&self.database), contents(&naive));
                assert!(found == expected, "{text}\n{}{}", print(&self.plan), self.tables(&naive));
                true
            }
            None => false,
        };
        self.views.settle(&mut self.database);
        agrees
    }

    fn tables(&self, naive: &Database) -> String {
        let mut text = String::new();
        for (name, database) in [("kept", &self.database), ("oracle", naive)] {
            for (relation, table) in database.iter() {
                use tidemill_relation::table::{Access, Visible};
                for row in table.rows(Access::Scan, &[], Visible::Live) {
                    let mut columns = Vec::new();
                    table.read_row(row, &mut columns);
                    let columns: Vec<String> = columns.iter().map(Value::to_string).collect();
                    let relation = &self.plan.relation(relation).name;
                    let _ = writeln!(text, "{name} {relation}({})", columns.join(", "));
                }
            }
        }
        text
    }
}

/// Keys shared by rows of several groups or rules, chosen again in every round, need not reach a
/// fixed point, and a row in a cycle through such a choice may have either derivation: the result
/// then depends on the order of changes. Other tests cover such programs.
fn is_choosy(plan: &Plan) -> bool {
    plan.strata.iter().any(|stratum| {
        let recursive = |view: &tidemill_relation::plan::ViewRule| {
            view.body.iter().any(|atom| {
                stratum.heads.contains(&atom.relation) || stratum.selected.contains(&atom.relation)
            })
        };
        let grouped = stratum.rules.iter().any(|view| view.kind == ViewKind::Grouped);
        (!stratum.selected.is_empty() || grouped) && stratum.rules.iter().any(recursive)
    })
}

#[test]
fn views_are_what_the_oracle_computes() {
    let mut compared = 0;
    for seed in 0..PROGRAMS {
        let mut rng = Rng::new(seed);
        let text = program(&mut rng);
        let Some(plan) = compile(&text) else { continue };
        assert_eq!(verify(&plan), Ok(()), "{text}");
        if is_choosy(&plan) {
            continue;
        }
        let views = Views::new(&plan, Secret::FIXED);
        let database = Database::new(&plan, Secret::FIXED);
        let mut bench = Bench { plan, database, views, scratch: Bump::new() };
        for _ in 0..COMMITS {
            for _ in 0..rng.range(1..=4) {
                bench.change(&mut rng);
            }
            if !bench.commit(&text) {
                break;
            }
            compared += 1;
        }
    }
    assert!(compared > PROGRAMS, "only {compared} commits were compared");
}
