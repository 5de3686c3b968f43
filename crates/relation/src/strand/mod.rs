//! Interpreting strands: the plain evaluator that compiled ones are compared with.
//!
//! A strand runs as nested loops: each step either continues with the next one, once or for each
//! row it finds, or returns. Tables do not change while a strand runs; what it derives goes to a
//! [`Sink`].

mod interpret;
mod joined;
mod limits;
mod premises;
mod profile;
mod reading;
mod rest;
mod sink;
#[cfg(test)]
mod tests;

use crate::eval::Scope;
use crate::flat::Seq;
use crate::plan::Strand;
use crate::table::RowId;
use crate::value::Value;

use interpret::Space;
pub(crate) use interpret::{Columns, Run};
pub use joined::JoinedRow;
use joined::{Joins, Recorded, Unrecorded};
pub use premises::{PREMISES_MAX, Premises};
pub use profile::TypeProfile;
pub use reading::{Reading, live};
pub use rest::Rest;
pub use sink::Sink;

/// Runs `strand` for a trigger with these columns. The indexes that it reads are
/// [prepared](crate::database::Database::prepare).
pub fn run<'a>(
    strand: &'a Strand,
    trigger: Seq<'a>,
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    let mut columns = trigger.iter();
    run_for::<Unrecorded>(strand, |value| columns.next_into(value), reading, scope, sink);
}

/// [`run`] in the traced variant: [`Sink::joined`] gets the rows that each result was joined from.
pub fn run_traced<'a>(
    strand: &'a Strand,
    trigger: Seq<'a>,
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    let reading = Reading { traced: true, ..reading };
    let mut columns = trigger.iter();
    run_for::<Recorded>(strand, |value| columns.next_into(value), reading, scope, sink);
}

/// [`run`] for a trigger whose columns are values.
pub fn run_values<'a>(
    strand: &'a Strand,
    trigger: impl Iterator<Item = Value<'a>>,
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    run_for::<Unrecorded>(strand, each(trigger), reading, scope, sink);
}

fn run_for<'a, J: Joins>(
    strand: &'a Strand,
    trigger: impl FnMut(&mut Value<'a>) -> bool,
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    let mut space = Space::for_strand(strand);
    let mut run: Run<'_, '_, J> = Run::new(strand, space.parts(), &reading, scope, sink);
    run.start(trigger);
    run.end();
}

/// Values one after the other, each put where it is wanted; false when there are no more.
///
/// They are written in place: a value that is copied right after it was written in parts waits
/// until the parts have reached the cache.
fn each<'a>(mut values: impl Iterator<Item = Value<'a>>) -> impl FnMut(&mut Value<'a>) -> bool {
    move |to| match values.next() {
        Some(value) => {
            *to = value;
            true
        }
        None => false,
    }
}

/// [`run`] for each of some stored rows, which count among the rows looked at.
pub fn run_rows<'a>(
    strand: &'a Strand,
    rows: &[RowId],
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    let mut space = Space::for_strand(strand);
    each_row(rows, Run::<Unrecorded>::new(strand, space.parts(), &reading, scope, sink));
}

/// [`run_rows`] in the traced variant: [`Sink::joined`] gets the rows that each result was joined
/// from, the stored row that started the strand first.
pub fn run_rows_traced<'a>(
    strand: &'a Strand,
    rows: &[RowId],
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    let reading = Reading { traced: true, ..reading };
    let mut space = Space::for_strand(strand);
    each_row(rows, Run::<Recorded>::new(strand, space.parts(), &reading, scope, sink));
}

fn each_row<J: Joins>(rows: &[RowId], mut run: Run<'_, '_, J>) {
    let relation = run.strand.trigger.relation;
    let table = run.reading.database.table(relation);
    for &row in rows {
        if run.is_over() {
            break;
        }
        run.joins.enter(relation, row);
        run.start(each(table.values(row)));
        run.joins.leave(0);
    }
    run.end();
}

/// Runs `strand`, which no tuple triggers, from the position `rest`; false if it rests after
/// examining about `rows` rows.
pub fn run_on<'a>(
    strand: &'a Strand,
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
    (rest, rows): (&mut Rest, u64),
) -> bool {
    debug_assert!(!strand.output.aggregates(), "an aggregate does not rest");
    rest.rows_left = rows;
    rest.resting = false;
    let mut space = Space::for_strand(strand);
    let mut run: Run<'_, '_> = Run::new(strand, space.parts(), &reading, scope, sink);
    run.rest = Some(rest);
    run.start(|_| false);
    !rest.resting
}
