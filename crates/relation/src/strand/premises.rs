//! The premises of what a traced strand derives.

use smallvec::SmallVec;

use super::joined::JoinedRow;
use crate::aggregate::Aggregate;
use crate::flat::OwnedValue;
use crate::plan::{HeadColumn, Output};
use crate::value::Value;

/// Rows that are recorded of a result of an aggregate.
pub const PREMISES_MAX: usize = 64;

/// Collects what a traced run reports to its sink, and gives the premises of each result: the rows
/// that were joined for it. Those of a MIN or MAX are of the row that wins, those of any other
/// aggregate all that were joined, [`PREMISES_MAX`] of them at most.
#[derive(Debug, Default)]
pub struct Premises {
    /// The strand has a single aggregate, which takes one of its inputs.
    extreme: Option<Aggregate>,
    aggregates: bool,
    /// The input that wins so far.
    best: Option<OwnedValue>,
    joined: SmallVec<[JoinedRow; 8]>,
    kept: SmallVec<[JoinedRow; 8]>,
}

impl Premises {
    /// For a strand with this output.
    pub fn new(output: &Output) -> Premises {
        let mut functions = output.columns.iter().filter_map(|column| match column {
            HeadColumn::Aggregate { function, .. } => Some(*function),
            HeadColumn::Value(_) => None,
        });
        let (first, second) = (functions.next(), functions.next());
        let takes_one = |function: &Aggregate| {
            matches!(function, Aggregate::Min | Aggregate::Max | Aggregate::ArgMax)
        };
        let extreme = first.filter(|function| second.is_none() && takes_one(function));
        Premises { extreme, aggregates: first.is_some(), ..Premises::default() }
    }

    /// Takes the rows of [`Sink::joined`](super::Sink::joined).
    pub fn joined(&mut self, rows: &[JoinedRow]) {
        self.joined.clear();
        self.joined.extend_from_slice(rows);
    }

    /// Takes the inputs of [`Sink::gathered`](super::Sink::gathered).
    pub fn gathered(&mut self, inputs: &[Value<'_>]) {
        if let (Some(function), [input]) = (self.extreme, inputs) {
            match &mut self.best {
                Some(best) if !function.is_better(*input, best.get()) => return,
                Some(best) => best.set(*input),
                None => self.best = Some(OwnedValue::new(*input)),
            }
            self.kept.clone_from(&self.joined);
            return;
        }
        for row in &self.joined {
            if self.kept.len() < PREMISES_MAX && !self.kept.contains(row) {
                self.kept.push(*row);
            }
        }
    }

    /// The premises of the result that is derived now.
    pub fn of_result(&self) -> &[JoinedRow] {
        if self.aggregates { &self.kept } else { &self.joined }
    }
}
