//! The rules of a program, parsed from the sources that it keeps.

use std::fmt;

use tidemill_diag::{Diagnostic, Sources, has_errors, nearest};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::terms;
use crate::ast::{Materialize, Rule, Statement, Term};
use crate::parse::parse_text;
use crate::pre::{self, MemoryFiles};
use crate::program::Written;

/// The maximal depth of nested questions.
pub(super) const DEPTH_MAX: usize = 5;

/// Why the text of a rule does not parse.
#[derive(Clone, Debug)]
pub struct RulesError {
    /// The text.
    pub sources: Sources,
    /// What was found in it.
    pub found: Vec<Diagnostic>,
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.found.iter().try_for_each(|it| f.write_str(&self.sources.render(it)))
    }
}

impl std::error::Error for RulesError {}

/// The rules of a program, searched for why a tuple is absent.
#[derive(Debug, Default)]
pub struct Rules {
    rules: Vec<Named>,
    pub(super) tables: SortedMap<String, Materialize>,
}

/// A rule, with its name and place.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) place: String,
    pub(super) rule: Rule,
}

impl Rules {
    /// Parses [`Compiled::written`](crate::program::Compiled::written).
    ///
    /// # Errors
    /// A statement does not parse, as it comes from another version.
    pub fn read(written: &[Written]) -> Result<Rules, RulesError> {
        let mut rules = Rules::default();
        let (files, options) = (MemoryFiles::default(), pre::Options::default());
        for Written { name, place, text } in written {
            let mut sources = Sources::new();
            let (tree, found) = parse_text(place, text, &options, &files, &mut sources);
            if has_errors(&found) {
                return Err(RulesError { sources, found });
            }
            for statement in tree.statements {
                match statement {
                    Statement::Rule(rule) => {
                        let (name, place) = (name.clone(), place.clone());
                        rules.rules.push(Named { name, place, rule });
                    }
                    Statement::Materialize(it) => {
                        rules.tables.insert(it.name.resolved.clone(), it);
                    }
                    _ => {}
                }
            }
        }
        Ok(rules)
    }

    /// Whether a relation is mentioned at all; if not, suggests one.
    ///
    /// # Errors
    /// The relation with the nearest name, if there is one.
    pub fn find(&self, relation: &str) -> Result<(), Option<String>> {
        let bodies =
            self.rules.iter().flat_map(|it| it.rule.body.iter().filter_map(terms::relation));
        let heads = self.rules.iter().map(|it| it.rule.head.name.resolved.as_str());
        let all: SortedSet<&str> =
            bodies.chain(heads).chain(self.tables.keys().map(String::as_str)).collect();
        if all.contains(relation) {
            return Ok(());
        }
        Err(nearest(relation, all.iter().copied()).map(str::to_owned))
    }

    /// The numbers of columns, location included, with which rules use a relation.
    pub fn columns(&self, relation: &str) -> SortedSet<usize> {
        let bodies = self.rules.iter().flat_map(|it| it.rule.body.iter().filter_map(Term::functor));
        let heads = self.rules.iter().map(|it| &it.rule.head);
        let body = bodies.map(|it| (&it.name, it.args.len()));
        let all = body.chain(heads.map(|it| (&it.name, it.args.len())));
        all.filter(|(name, _)| name.resolved == relation).map(|(_, count)| count).collect()
    }

    /// Whether rows of a relation stay.
    pub fn is_table(&self, relation: &str) -> bool {
        self.tables.contains_key(relation)
    }

    /// The relations that an answer about a tuple of one may read, that one included.
    pub fn reads(&self, relation: &str) -> SortedSet<String> {
        let mut all = SortedSet::from_iter([relation.to_owned()]);
        let mut open = vec![(relation.to_owned(), 0)];
        while let Some((head, depth)) = open.pop() {
            for Named { rule, .. } in self.of(&head) {
                for name in rule.body.iter().filter_map(terms::relation) {
                    if all.insert(name.to_owned()) && depth + 1 < DEPTH_MAX {
                        open.push((name.to_owned(), depth + 1));
                    }
                }
            }
        }
        all
    }

    /// Whether an answer may need rows of other nodes than one: some rule among those that it reads
    /// joins several.
    pub fn is_spread(&self, relation: &str) -> bool {
        let reads = self.reads(relation);
        let mut rules = self.rules.iter().filter(|it| reads.contains(&it.rule.head.name.resolved));
        rules.any(|it| {
            let body = it.rule.body.iter().filter_map(Term::functor);
            let all = body.chain([&it.rule.head]);
            let mut places = all.filter_map(|it| it.location_arg()?.as_expr()?.as_var());
            let first = places.next();
            places.any(|place| Some(place) != first)
        })
    }

    /// The rule at a place.
    pub(super) fn at(&self, place: &str) -> Option<&Named> {
        self.rules.iter().find(|it| it.place == place)
    }

    /// The rules whose head is a relation.
    pub(super) fn of<'r>(&'r self, relation: &'r str) -> impl Iterator<Item = &'r Named> {
        self.rules.iter().filter(move |it| it.rule.head.name.resolved == relation)
    }
}
