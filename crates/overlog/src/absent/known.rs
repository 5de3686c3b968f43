//! The known rows of all nodes together, as tables of one node.
//!
//! Each table has a column more, before the others, with the place of that one node; so a location
//! is a column like any other, and a rule over several nodes is a query of one.

use std::sync::Arc;

use tidemill_relation::database::Database;
use tidemill_relation::plan::{Plan, Relation, RelationId, Storage};
use tidemill_relation::table::{Key, RowId, TableSpec};
use tidemill_relation::{OwnedValue, TypeSet, Value};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::answer::Wanted;
use super::made::{expr, name, nowhere};
use crate::ast::{Arg, ExprKind, Functor, Literal, Predicate, Rule, Term};
use crate::node::Identity;
use crate::query::{Failure, Holder, Limits, first};
use crate::stage::Registry;

/// The table of the requested columns: question, column, value.
const GIVEN: &str = "why!given";

/// The relation that a probe derives.
const PROBE: &str = "why!probe";

/// The limits of one probe.
const LIMITS: Limits = Limits {
    rows: 4_000_000,
    bytes: 256 << 20,
    derived: 1_000_000,
    steps: 20_000_000,
    time_ns: 10_000_000_000,
};

/// Rows of a relation.
#[derive(Clone, Debug)]
pub struct KnownTable {
    /// The relation.
    pub name: String,
    /// The rows, of any node; of an event, the tuples known to have occurred.
    pub rows: Vec<Vec<OwnedValue>>,
}

/// The known rows of all nodes.
#[derive(Debug)]
pub struct Known {
    plan: Plan,
    database: Database,
    operators: Arc<Registry>,
    identity: Identity,
    /// Questions so far.
    questions: i64,
    /// Relations whose rows are not known.
    silent: SortedSet<String>,
}

impl Known {
    /// The rows of these tables. Relations without a table here are unknown; of two tables of one
    /// name the first counts.
    pub fn new(tables: Vec<KnownTable>, operators: Arc<Registry>) -> Known {
        let mut plan = Plan::default();
        plan.relations.push(relation(GIVEN, 4));
        let mut numbers: SortedMap<String, RelationId> = SortedMap::new();
        let mut silent = SortedSet::new();
        for table in &tables {
            let columns = table.rows.first().map_or(0, Vec::len);
            if columns == 0 {
                silent.insert(table.name.clone());
            } else if !numbers.contains_key(&table.name) {
                numbers.insert(table.name.clone(), RelationId(plan.relations.len() as u32));
                plan.relations.push(relation(&table.name, columns + 1));
            }
        }
        let mut database = Database::new(&plan, Secret::FIXED);
        let place = "here";
        for table in tables {
            let Some(number) = numbers.remove(&table.name) else { continue };
            let arity = plan.relation(number).arity();
            for row in &table.rows {
                let own = std::iter::once(Value::Str(place));
                let columns: Vec<Value<'_>> = own.chain(row.iter().map(OwnedValue::get)).collect();
                if columns.len() == arity {
                    // A full table keeps the rows that fit.
                    let _ = database.table_mut(number).insert(&columns, 0);
                }
            }
        }
        let place = place.to_owned();
        let identity = Identity { landmark: place.clone(), address: place, index: 0, count: 1 };
        Known { plan, database, operators, identity, questions: 0, silent }
    }

    /// Whether rows of a relation are known, or that it has none.
    pub(super) fn knows(&self, relation: &str) -> bool {
        self.plan.find(relation).is_some() || self.silent.contains(relation)
    }

    /// Whether it is known that a relation has no rows.
    pub(super) fn is_empty(&self, relation: &str) -> bool {
        self.silent.contains(relation)
    }

    /// Whether a matching row is present.
    pub(super) fn has(&self, wanted: &Wanted) -> bool {
        let all = 0..wanted.columns.len();
        self.find(wanted, &all.collect::<Vec<_>>()).is_some()
    }

    /// A row that has the same key, if that is given.
    pub(super) fn of_key(&self, wanted: &Wanted, keys: &[usize]) -> Option<Wanted> {
        let is_given = |key: &usize| wanted.columns.get(*key).is_some_and(Option::is_some);
        keys.iter().all(is_given).then(|| self.find(wanted, keys))?
    }

    /// A row that is equal in some columns, where those are given.
    fn find(&self, wanted: &Wanted, equal: &[usize]) -> Option<Wanted> {
        let table = self.database.get(self.plan.find(&wanted.relation)?)?;
        let is_equal = |row: RowId, column: &usize| match wanted.columns.get(*column) {
            Some(Some(value)) => table.value(row, *column as u32 + 1).equal(&value.get()),
            _ => true,
        };
        if table.spec().arity as usize != wanted.columns.len() + 1 {
            return None;
        }
        let mut rows = (0..table.next_row().0).map(RowId).filter(|row| table.is_live(*row));
        let row = rows.find(|row| equal.iter().all(|it| is_equal(*row, it)))?;
        let columns = 1..table.spec().arity;
        let columns = columns.map(|it| Some(OwnedValue::new(table.value(row, it)))).collect();
        Some(Wanted { relation: wanted.relation.clone(), columns })
    }

    /// Notes the columns of a question; returns its number.
    pub(super) fn ask(&mut self, wanted: &Wanted) -> i64 {
        self.questions += 1;
        let given = self.database.table_mut(RelationId(0));
        for (column, value) in wanted.columns.iter().enumerate() {
            let Some(value) = value else { continue };
            let (question, column) = (Value::Int(self.questions), Value::Int(column as i64));
            let row = [Value::Str(&self.identity.address), question, column, value.get()];
            // The table holds the columns of all questions.
            let _ = given.insert(&row, 0);
        }
        self.questions
    }

    /// The term that makes a variable one of the columns of a question.
    pub(super) fn given(question: i64, column: usize, variable: &str) -> Term {
        let int = |value| expr(ExprKind::Literal(Literal::Int(value)));
        let variable = expr(ExprKind::Var(variable.to_owned()));
        let args = [int(question), int(column as i64), variable];
        let args = args.into_iter().map(Arg::Expr).collect();
        let functor = Functor::new(name(GIVEN), None, args, nowhere());
        Term::Predicate(Predicate { negated: false, functor, span: nowhere() })
    }

    /// Values of `variables` for which all terms hold, if there are any.
    ///
    /// # Errors
    /// Why that cannot be evaluated.
    pub(super) fn probe(
        &self,
        terms: &[Term],
        variables: &[Arg],
    ) -> Result<Option<Vec<OwnedValue>>, Failure> {
        let span = nowhere();
        let head = Functor::new(name(PROBE), None, variables.to_vec(), span);
        let body = terms.iter().cloned().map(here).collect();
        let rule = Rule { label: None, delete: false, head, body, span };
        let (plan, database) = (&self.plan, &self.database);
        let (operators, identity) = (&self.operators, &self.identity);
        first(Holder { plan, database, operators, identity }, rule, LIMITS)
    }
}

/// A table of `columns` columns, without duplicate rows.
fn relation(name: &str, columns: usize) -> Relation {
    let spec = TableSpec {
        arity: columns as u32,
        key: Key::Columns((0..columns as u32).collect()),
        lifetime_ns: None,
        size_max: None,
        indexes: Vec::new(),
        ordered: Vec::new(),
    };
    Relation {
        name: name.to_owned(),
        columns: vec![TypeSet::ANY; columns],
        location: 0,
        storage: Storage::Table { spec, soft: false },
        hidden: false,
        candidates: None,
    }
}

/// Rewrites a term to the tables here.
fn here(mut term: Term) -> Term {
    if let Some(functor) = term.functor_mut() {
        functor.args.insert(0, Arg::Expr(expr(ExprKind::Fresh)));
        functor.location = Some(0);
    }
    term
}
