//! Views of generated programs, under random changes, against the naive oracle.
//!
//! A program has a few stored tables and views over them in layers: joins, negation, recursion
//! within a layer, aggregates, several rules per head, keys that several derivations share. After
//! every commit the tables must equal an evaluation from scratch, and the net changes must lead
//! from the state before to the state after. A failing case is shrunk before it is shown.

mod generated;
mod model;

use generated::{Case, Change};
use model::Model;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tidemill_diag::{Sources, has_errors};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{MemoryFiles, Options as ParseOptions};
use tidemill_overlog::{Options, compile};
use tidemill_relation::database::Database;
use tidemill_relation::expr::{Ambient, Param, Scope};
use tidemill_relation::flat::write_value;
use tidemill_relation::plan::{Plan, RelationId, ViewKind};
use tidemill_relation::table::{Access, Key, RowId, Table, Visible};
use tidemill_relation::text::DisplayTuple;
use tidemill_relation::view::{ChangeKind, Contents, Progress, Views, contents, evaluate_naively};
use tidemill_relation::{TupleBuf, Value};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;
use tidemill_stdx::rng::Rng;

/// Applications of a stratum's rules after which the oracle is given up.
const ROUNDS_MAX: usize = 200;
/// Rounds of a commit: many times what the small tables here need.
const STEPS_MAX: usize = 20_000;

#[test]
fn generated_programs_agree_with_the_oracle() {
    let count = tidemill_support::variable("CASES").unwrap_or(400);
    for seed in 0..count {
        let case = Case::random(&mut Rng::new(seed));
        if let Err(wrong) = judge(&case) {
            let small = shrink(case);
            let wrong = judge(&small).err().unwrap_or(wrong);
            panic!("seed {seed}: {wrong}\n{small}");
        }
    }
}

/// [`run`], with panics as findings.
fn judge(case: &Case) -> Result<(), String> {
    let run = AssertUnwindSafe(|| run(case));
    catch_unwind(run).unwrap_or_else(|_| Err("a panic".to_owned()))
}

/// Removes rules, commits and changes as long as the case still fails.
fn shrink(mut case: Case) -> Case {
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    loop {
        let smaller = case.smaller();
        let wrong = |case: &Case| judge(case).is_err_and(|wrong| !wrong.starts_with("rejected"));
        match smaller.into_iter().find(wrong) {
            Some(smaller) => case = smaller,
            None => break,
        }
    }
    std::panic::set_hook(quiet);
    case
}

fn plan(source: &str) -> Result<Plan, String> {
    let mut sources = Sources::new();
    let files = MemoryFiles::default();
    let (tree, found) = parse_text("v.olg", source, &ParseOptions::default(), &files, &mut sources);
    let render = |found: &[_]| found.iter().map(|one| sources.render(one)).collect::<String>();
    if has_errors(&found) {
        return Err(format!("rejected: {}", render(&found)));
    }
    let (compiled, found) = compile(&tree, &sources, &Options::default());
    compiled.map(|it| it.plan).ok_or_else(|| format!("rejected: {}", render(&found)))
}

/// Runs all commits of a case; an error names the difference and the commit.
fn run(case: &Case) -> Result<(), String> {
    let mut world = World::new(plan(&case.to_string())?);
    for (index, commit) in case.commits.iter().enumerate() {
        world.now_ns += 1_000_000_000;
        world.expire();
        commit.iter().for_each(|change| world.change(change));
        world.commit().map_err(|wrong| format!("after commit {index}: {wrong}"))?;
    }
    Ok(())
}

struct World {
    plan: Plan,
    database: Database,
    views: Views,
    scratch: Bump,
    before: Contents,
    /// The asserted rows, computed independently.
    model: Model,
    now_ns: u64,
}

impl World {
    fn new(plan: Plan) -> World {
        let mut views = Views::new(&plan, Secret::FIXED);
        // Keeps even the small groups of these cases.
        views.keep_groups_from(1);
        (0..plan.relations.len() as u32).for_each(|index| views.observe(RelationId(index)));
        let database = Database::new(&plan, Secret::FIXED);
        World {
            database,
            views,
            plan,
            scratch: Bump::new(),
            before: Contents::new(),
            model: Model::default(),
            now_ns: 0,
        }
    }

    fn expire(&mut self) {
        for index in 0..self.plan.relations.len() as u32 {
            let relation = RelationId(index);
            let spec = self.plan.relation(relation).table();
            let Some(lifetime_ns) = spec.and_then(|spec| spec.lifetime_ns) else { continue };
            while self.views.expire(&mut self.database, relation, self.now_ns) {}
            self.model.expire(relation, lifetime_ns, self.now_ns);
        }
    }

    fn change(&mut self, change: &Change) {
        let (table, row, delete) = match change {
            Change::Insert(table, row) => (table, row, false),
            Change::Delete(table, row) => (table, row, true),
        };
        let mut columns = vec![Value::Str("n0:1")];
        columns.extend(row.iter().map(|&value| Value::Int(value)));
        // Of a table that no rule mentions the plan has at most the key.
        let known = |id: &RelationId| self.plan.relation(*id).arity() == columns.len();
        let Some(relation) = self.plan.find(table).filter(known) else { return };
        let (plan, database) = (&self.plan, &mut self.database);
        let Some(spec) = plan.relation(relation).table() else { return };
        if delete {
            self.model.delete(relation, spec, row);
            self.views.delete(plan, database, relation, &columns);
        } else {
            self.model.insert(relation, spec, row, self.now_ns);
            self.views.insert(plan, database, relation, &columns, self.now_ns);
        }
    }

    fn commit(&mut self) -> Result<(), String> {
        let scope = Scope { scratch: &self.scratch, ambient: &Here };
        let mut step =
            || self.views.step(&self.plan, &mut self.database, scope, self.now_ns, &mut ());
        if (0..STEPS_MAX).all(|_| step() == Progress::More) {
            return Err("no fixed point".to_owned());
        }
        let naive = evaluate_naively(&self.plan, &self.database, scope, ROUNDS_MAX)
            .ok_or("the oracle comes to no fixed point")?;
        self.compare_stored()?;
        self.compare(&naive)?;
        let now = contents(&self.database);
        self.replay(&now)?;
        self.before = now;
        self.views.settle(&mut self.database);
        self.scratch.reset();
        Ok(())
    }

    /// Checks that the asserted rows are those of the model.
    fn compare_stored(&self) -> Result<(), String> {
        // Rows inserted by plain rules are asserted, too.
        let rules = self.plan.strata.iter().flat_map(|stratum| &stratum.rules);
        let plain: Vec<RelationId> =
            rules.filter(|rule| rule.kind == ViewKind::Plain).map(|rule| rule.head).collect();
        for relation in self.model.tables() {
            let table = self.database.table(relation);
            let asserted = lines_of(table, |row| table.is_asserted(row));
            let mut wanted: Vec<String> = (self.model.rows(relation))
                .map(|row| DisplayTuple::new("", row.iter().map(|it| Value::Int(*it))).to_string())
                .collect();
            wanted.sort();
            let right = if plain.contains(&relation) {
                wanted.iter().all(|row| asserted.contains(row))
            } else {
                asserted == wanted
            };
            if !right {
                let name = &self.plan.relation(relation).name;
                let (found, wanted) = (asserted.join(" "), wanted.join(" "));
                return Err(format!("of {name} stand\n  {found}\nwhere was put\n  {wanted}"));
            }
        }
        Ok(())
    }

    fn compare(&self, naive: &Database) -> Result<(), String> {
        for (relation, table) in self.database.iter() {
            let description = self.plan.relation(relation);
            let wanted = naive.table(relation);
            let same = match description.candidates {
                None => lines(table) == lines(wanted),
                // The history decides which of several derivations by one rule wins.
                Some(candidates) => self.selects_well(table, candidates),
            };
            if !same {
                let (found, wanted) = (lines(table).join(" "), lines(wanted).join(" "));
                let name = &description.name;
                return Err(format!("{name} holds\n  {found}\nwhere the oracle has\n  {wanted}"));
            }
        }
        Ok(())
    }

    /// One row for each key among the candidates, from the last rule that has one.
    fn selects_well(&self, table: &Table, candidates: RelationId) -> bool {
        let candidates = self.database.table(candidates);
        let rows: Vec<_> = candidates.rows(Access::Scan, &[], Visible::Live).collect();
        let row_of = |from: &Table, row, skip: u32| -> Vec<String> {
            (skip..from.spec().arity).map(|column| from.value(row, column).to_string()).collect()
        };
        let key = |row: &[String]| match &table.spec().key {
            Key::Columns(key) => key.iter().map(|&column| row[column as usize].clone()).collect(),
            Key::Bag => row.to_vec(),
        };
        let mut best = BTreeMap::new();
        for &row in &rows {
            let columns = row_of(candidates, row, 1);
            let rank = candidates.value(row, 0).as_int();
            let entry = best.entry(key(&columns)).or_insert((rank, Vec::new()));
            if entry.0 < rank {
                *entry = (rank, Vec::new());
            }
            if entry.0 == rank {
                entry.1.push(columns);
            }
        }
        let live: Vec<_> = table.rows(Access::Scan, &[], Visible::Live).collect();
        live.len() == best.len()
            && live.iter().all(|&row| {
                let columns = row_of(table, row, 0);
                best.get(&key(&columns)).is_some_and(|(_, rows)| rows.contains(&columns))
            })
    }

    /// Checks that the net changes turn the state before into the state `now`.
    fn replay(&self, now: &Contents) -> Result<(), String> {
        let mut replayed = self.before.clone();
        for change in self.views.net(&self.database) {
            let table = self.database.table(change.relation);
            let mut row = Vec::new();
            let columns = (0..table.spec().arity).map(|column| table.value(change.row, column));
            columns.for_each(|value| write_value(&mut row, value));
            let rows = replayed.entry(change.relation).or_default();
            let fits = match change.kind {
                ChangeKind::Insert => rows.insert(row),
                ChangeKind::Delete => rows.remove(&row),
                ChangeKind::Refresh => rows.contains(&row),
            };
            if !fits {
                let name = &self.plan.relation(change.relation).name;
                return Err(format!("a net {:?} of {name} that makes no sense", change.kind));
            }
        }
        replayed.retain(|_, rows| !rows.is_empty());
        if replayed == *now { Ok(()) } else { Err("the net changes lead elsewhere".to_owned()) }
    }
}

/// The rows of a table as sorted text.
fn lines(table: &Table) -> Vec<String> {
    lines_of(table, |_| true)
}

/// Some rows of a table as sorted text.
fn lines_of(table: &Table, wanted: impl Fn(RowId) -> bool) -> Vec<String> {
    let mut rows = TupleBuf::new();
    let mut columns = Vec::new();
    for row in table.rows(Access::Scan, &[], Visible::Live).filter(|&row| wanted(row)) {
        columns.clear();
        table.read_row(row, &mut columns);
        rows.push((), &columns);
    }
    let mut lines: Vec<String> =
        rows.iter().map(|(_, row)| DisplayTuple::new("", row.iter().skip(1)).to_string()).collect();
    lines.sort();
    lines
}

/// The node of all tables.
struct Here;

impl Ambient for Here {
    fn now_ns(&self) -> i64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    fn param(&self, _: Param) -> Value<'_> {
        Value::Str("n0:1")
    }
}
