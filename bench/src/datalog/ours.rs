//! Our rules, loaded at run time: the views alone, and the whole program.

use tidemill::console::Console;
use tidemill::program::{LoadOptions, Program};
use tidemill::sim::SimOptions;
use tidemill_relation::Value;
use tidemill_relation::database::Database;
use tidemill_relation::expr::{Ambient, Param, Scope};
use tidemill_relation::plan::{Plan, RelationId};
use tidemill_relation::view::{DERIVED_MAX, Progress, Views};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;

use super::engine::Found;
use super::facts::{Files, Key, Keys};
use super::rules;
use super::workload::{Rules, Workload};
use crate::clock::cpu_seconds;
use crate::program::{ADDRESS, compiled};

struct Here;

impl Ambient for Here {
    fn now_ns(&self) -> i64 {
        0
    }

    fn random(&self) -> u64 {
        0
    }

    fn param(&self, _: Param) -> Value<'_> {
        Value::Str(ADDRESS)
    }
}

/// The relations that a program reads.
pub fn inputs(rules: Rules) -> &'static [&'static str] {
    match rules {
        Rules::PointsTo => &["addressOf", "edge", "load", "store"],
        Rules::Shortest => &["arc"],
        _ => &["edge"],
    }
}

/// Views of a program, with the tables that they fill.
pub struct Tables {
    plan: Plan,
    database: Database,
    views: Views,
    result: RelationId,
}

/// Rows of a relation, to insert.
pub type Rows = Vec<Vec<Value<'static>>>;

impl Tables {
    pub fn new(rules: Rules) -> Result<Tables, String> {
        let (source, result) = rules::source(rules);
        let plan = compiled("datalog.olg", source)?.plan;
        let secret = Secret::of_process();
        let (database, views) = (Database::new(&plan, secret), Views::new(&plan, secret));
        let result = plan.find(result).ok_or("the program has no result table")?;
        Ok(Tables { plan, database, views, result })
    }

    fn relation(&self, name: &str) -> Result<RelationId, String> {
        self.plan.find(name).ok_or_else(|| format!("the program has no `{name}`"))
    }

    pub fn insert(&mut self, name: &str, rows: &Rows) -> Result<(), String> {
        let relation = self.relation(name)?;
        for row in rows {
            self.views.insert(&self.plan, &mut self.database, relation, row, 0);
        }
        Ok(())
    }

    pub fn delete(&mut self, name: &str, rows: &Rows) -> Result<(), String> {
        let relation = self.relation(name)?;
        for row in rows {
            self.views.delete(&self.plan, &mut self.database, relation, row);
        }
        Ok(())
    }

    /// Brings the views to their fixed point.
    pub fn commit(&mut self) -> Result<(), String> {
        let scratch = Bump::new();
        let scope = Scope { scratch: &scratch, ambient: &Here };
        loop {
            match self.views.step(&self.plan, &mut self.database, scope, 0, &mut ()) {
                Progress::More => {}
                Progress::Done => break,
                Progress::Exceeded => return Err("the views derive too much".to_owned()),
            }
        }
        self.views.settle(&mut self.database);
        Ok(())
    }

    /// The number of tuples of the result, and its size in bytes.
    pub fn result(&self) -> (usize, usize) {
        let table = self.database.table(self.result);
        (table.len(), table.bytes())
    }
}

/// The rows of a relation, without the location.
pub fn rows(workload: &Workload, files: &Files, relation: &str) -> Result<Rows, String> {
    let text = files.kept_text(relation)?;
    let value = |field: &'static str| match workload.keys {
        Keys::Near | Keys::Far => i64::read(field).map(Value::Int).ok_or(field.to_owned()),
        Keys::Text => Ok(Value::Str(field)),
    };
    let row = |line: &'static str| {
        let fields = line.split(',').map(value);
        std::iter::once(Ok(Value::Str(ADDRESS))).chain(fields).collect()
    };
    text.lines().map(row).collect()
}

pub fn run(workload: &Workload, files: &Files) -> Result<Option<Found>, String> {
    let relations = inputs(workload.rules);
    let facts = relations.iter().map(|name| Ok((*name, rows(workload, files, name)?)));
    let facts = facts.collect::<Result<Vec<_>, String>>()?;
    let (cpu_s, tables) = cpu_seconds(|| {
        let mut tables = Tables::new(workload.rules)?;
        for (name, rows) in &facts {
            tables.insert(name, rows)?;
        }
        tables.commit()?;
        Ok::<Tables, String>(tables)
    });
    let (tuples, bytes) = tables?.result();
    let (door_s, through) = cpu_seconds(|| door(workload, files));
    if through? != tuples as u64 {
        return Err(format!("{}: other tuples through the door", workload.name));
    }
    Ok(Some(Found { tuples, bytes: Some(bytes), cpu_s: Some(cpu_s), door_s }))
}

/// Reads the facts and runs the program with them; returns the number of tuples.
fn door(workload: &Workload, files: &Files) -> Result<u64, String> {
    let (source, result) = rules::source(workload.rules);
    let mut text = source.to_owned();
    for name in inputs(workload.rules) {
        for line in files.text(name)?.lines() {
            text += name;
            text += "(\"n0:1\"";
            for field in line.split(',') {
                text += match workload.keys {
                    Keys::Text => ", \"",
                    Keys::Near | Keys::Far => ", ",
                };
                text += field;
                text += if workload.keys == Keys::Text { "\"" } else { "" };
            }
            text += ").\n";
        }
    }
    let program = Program::of_text("datalog.olg", &text, &LoadOptions::default());
    if let Some(first) = program.diagnostics.first().filter(|_| program.has_errors()) {
        return Err(program.sources.render(first));
    }
    let options = SimOptions { turn_tuples_max: Some(DERIVED_MAX), ..SimOptions::default() };
    let report = program.sim(options, Console::silent()).map_err(|error| error.to_string())?;
    let tables = report.nodes.map(|nodes| nodes.tables).unwrap_or_default();
    let found = tables.into_iter().find(|(name, _)| name == result);
    found.map(|(_, rows)| rows).ok_or_else(|| "the run has no result table".to_owned())
}
