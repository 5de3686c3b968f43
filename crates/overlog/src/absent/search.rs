//! The search over rules that could derive a tuple, and over the rows that they lack in turn.

use tidemill_stdx::hash::Set;

use super::answer::{Attempt, Standing, Wanted, WhyNot};
use super::attempt::attempt;
use super::known::Known;
use super::rules::{DEPTH_MAX, Named, Rules};

/// The most rules tried for one question, nested ones included.
const RULES_MAX: usize = 48;

impl Rules {
    /// Explains why a tuple is absent.
    pub fn why_not(&self, known: &mut Known, wanted: Wanted) -> WhyNot {
        Search { rules: self, known, asked: Set::default(), attempts: 0 }.why_not(wanted, 0)
    }
}

/// An answer under way.
struct Search<'a> {
    rules: &'a Rules,
    known: &'a mut Known,
    /// The questions so far, as text.
    asked: Set<String>,
    attempts: usize,
}

impl Search<'_> {
    fn why_not(&mut self, wanted: Wanted, depth: usize) -> WhyNot {
        let standing = self.standing(&wanted, depth);
        let mut attempts = Vec::new();
        if matches!(standing, Standing::Absent | Standing::Replaced(_)) {
            let rules = self.rules;
            let (takers, makers): (Vec<_>, Vec<_>) =
                rules.of(&wanted.relation).partition(|it| it.rule.delete);
            for named in makers {
                attempts.extend(self.attempt(named, &wanted, depth));
            }
            // If nothing fails, it may have been deleted.
            if attempts.iter().any(Attempt::holds) {
                let deleting = takers.into_iter().filter_map(|it| self.attempt(it, &wanted, depth));
                let deleting: Vec<Attempt> = deleting.filter(Attempt::holds).collect();
                attempts.extend(deleting);
            }
        }
        WhyNot { wanted, standing, attempts }
    }

    /// The progress of a rule, and why the row that it lacks is absent.
    fn attempt(&mut self, named: &Named, wanted: &Wanted, depth: usize) -> Option<Attempt> {
        let (mut attempt, lacks) = attempt(self.known, named, wanted)?;
        self.attempts += 1;
        let is_derived = |it: &Wanted| self.rules.of(&it.relation).next().is_some();
        let lacks = lacks.filter(|it| depth < DEPTH_MAX && is_derived(it));
        attempt.below = lacks.map(|it| Box::new(self.why_not(it, depth + 1)));
        Some(attempt)
    }

    fn standing(&mut self, wanted: &Wanted, depth: usize) -> Standing {
        if self.known.has(wanted) {
            return Standing::Present;
        }
        if !self.asked.insert(wanted.to_string()) {
            return Standing::Above;
        }
        let is_derived = self.rules.of(&wanted.relation).any(|it| !it.rule.delete);
        if !is_derived {
            return Standing::NoRule;
        }
        if depth >= DEPTH_MAX || self.attempts >= RULES_MAX {
            return Standing::Cut;
        }
        let place = self.rules.of(&wanted.relation).find_map(|it| it.rule.head.location);
        let keys = self.rules.tables.get(&wanted.relation).map(|it| &it.keys.columns);
        let replaced = keys.filter(|keys| !keys.is_empty()).and_then(|keys| {
            // Each node has a table of its own.
            let keys = keys.iter().map(|key| *key as usize - 1).chain([place.unwrap_or(0)]);
            self.known.of_key(wanted, &keys.collect::<Vec<_>>())
        });
        replaced.map_or(Standing::Absent, Standing::Replaced)
    }
}
