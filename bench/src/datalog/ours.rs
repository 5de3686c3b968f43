//! The workloads as rules loaded at run time.

use tidemill_relation::Value;
use tidemill_relation::database::Database;
use tidemill_relation::expr::{Ambient, Param, Scope};
use tidemill_relation::plan::{Plan, RelationId};
use tidemill_relation::view::{Progress, Views};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;

use super::facts::{Facts, Found};
use super::workload::Workload;
use crate::program::{ADDRESS, compiled};

const CLOSURE: &str = "
    materialize(edge, infinity, infinity, keys(1, 2, 3)).
    materialize(path, infinity, infinity, keys(1, 2, 3)).
    r1 path(@N, X, Y) :- edge(@N, X, Y).
    r2 path(@N, X, Z) :- path(@N, X, Y), edge(@N, Y, Z).
";

const SAME_GENERATION: &str = "
    materialize(edge, infinity, infinity, keys(1, 2, 3)).
    materialize(sg, infinity, infinity, keys(1, 2, 3)).
    r1 sg(@N, X, Y) :- edge(@N, P, X), edge(@N, P, Y), X != Y.
    r2 sg(@N, X, Y) :- edge(@N, A, X), sg(@N, A, B), edge(@N, B, Y).
";

const POINTS_TO: &str = "
    materialize(addressOf, infinity, infinity, keys(1, 2, 3)).
    materialize(edge, infinity, infinity, keys(1, 2, 3)).
    materialize(load, infinity, infinity, keys(1, 2, 3)).
    materialize(store, infinity, infinity, keys(1, 2, 3)).
    materialize(pt, infinity, infinity, keys(1, 2, 3)).
    r1 pt(@N, Y, X) :- addressOf(@N, Y, X).
    r2 pt(@N, Y, X) :- edge(@N, Y, Z), pt(@N, Z, X).
    r3 pt(@N, Y, W) :- load(@N, Y, X), pt(@N, X, Z), pt(@N, Z, W).
    r4 pt(@N, Z, W) :- store(@N, Y, X), pt(@N, Y, Z), pt(@N, X, W).
";

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

pub fn run(workload: Workload, facts: &Facts) -> Result<Found, String> {
    let (source, result) = match workload {
        Workload::Chain | Workload::Random => (CLOSURE, "path"),
        Workload::SameGeneration => (SAME_GENERATION, "sg"),
        Workload::PointsTo => (POINTS_TO, "pt"),
    };
    let plan = compiled("datalog.olg", source)?.plan;
    let secret = Secret::of_process();
    let (mut database, mut views) = (Database::new(&plan, secret), Views::new(&plan, secret));
    let inputs = [
        ("edge", &facts.edges),
        ("addressOf", &facts.address_of),
        ("load", &facts.load),
        ("store", &facts.store),
    ];
    for (relation, pairs) in inputs {
        let Some(relation) = plan.find(relation) else { continue };
        put(&plan, &mut database, &mut views, relation, pairs);
    }
    let scratch = Bump::new();
    let scope = Scope { scratch: &scratch, ambient: &Here };
    while views.step(&plan, &mut database, scope, 0, &mut ()) == Progress::More {}
    views.settle(&mut database);
    let result = plan.find(result).and_then(|relation| database.get(relation));
    let table = result.ok_or("the program has no result table")?;
    Ok(Found { tuples: table.len(), bytes: Some(table.bytes()) })
}

fn put(
    plan: &Plan,
    database: &mut Database,
    views: &mut Views,
    relation: RelationId,
    pairs: &[(i32, i32)],
) {
    for &(a, b) in pairs {
        let row = [Value::Str(ADDRESS), Value::Int(a.into()), Value::Int(b.into())];
        views.insert(plan, database, relation, &row, 0);
    }
}
