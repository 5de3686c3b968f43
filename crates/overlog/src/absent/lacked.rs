//! What an execution of a rule did not find: its negated terms, with the values of what it joined.

use tidemill_relation::OwnedValue;
use tidemill_stdx::sorted::SortedMap;

use super::rules::Rules;
use super::terms::{is_predicate, literal, shown};
use crate::ast::{Functor, Term};

impl Rules {
    /// The rows that were absent when the rule of a place, `file:line:column`, joined these tuples:
    /// relation and columns of each. Columns that only such a row would bind are `_`.
    pub fn lacked(&self, place: &str, joined: &[(String, Vec<OwnedValue>)]) -> Vec<String> {
        let Some(named) = self.at(place) else { return Vec::new() };
        let mut values = SortedMap::new();
        for term in named.rule.body.iter().filter(|it| is_predicate(it)) {
            if let Term::Predicate(it) = term {
                joined.iter().any(|row| bind(&it.functor, row, &mut values));
            }
        }
        let negated = named.rule.body.iter().filter_map(|term| match term {
            Term::Predicate(it) if it.negated => Some(&it.functor),
            _ => None,
        });
        negated.map(|it| shown(it, &values)).collect()
    }
}

/// Binds the variables of a predicate to the values of a row, if it matches.
fn bind(
    functor: &Functor,
    (relation, columns): &(String, Vec<OwnedValue>),
    values: &mut SortedMap<String, OwnedValue>,
) -> bool {
    if functor.name.resolved != *relation || functor.args.len() != columns.len() {
        return false;
    }
    let mut found = values.clone();
    for (arg, column) in functor.args.iter().zip(columns) {
        let Some(arg) = arg.as_expr() else { return false };
        let known = literal(arg).or_else(|| found.get(arg.as_var()?).cloned());
        match (known, arg.as_var()) {
            (Some(value), _) if !value.get().equal(&column.get()) => return false,
            (None, Some(name)) => drop(found.insert(name.to_owned(), column.clone())),
            _ => {}
        }
    }
    *values = found;
    true
}
