//! The choice of the atom from which the derivations of a delta start.
//!
//! The strand of a delta starts from its rows. Where they are many, and join with many rows of
//! which few join further, it is better to start from another atom and to look up rows of the delta
//! at its own atom. In `pt(y, w) :- load(y, x), pt(x, z), pt(z, w)` a round with new rows of the
//! last atom so goes through the few loads and what they load from, and not from each new row to
//! all who point to its `z`, hardly any of which is loaded from.
//!
//! The cost of an order is the number of rows that it is expected to reach before the last step, if
//! keys are uniform; the final result of all orders is the same. It depends on the contents of the
//! tables alone, so a run can be repeated. An index that only the plain order reads is not brought
//! up to date as long as that would cost more than doing without has cost.

use super::extend::semi_naive;
use super::rounds::{BATCH, Round};
use crate::expr::Expr;
use crate::operator::Binary;
use crate::plan::{Bind, HeadColumn, Lookup, Step, Strand, ViewKind, ViewRule};
use crate::table::{Access, Part, RowId, Visible};

/// Rules with fewer atoms have no order to choose: they look for each row once either way.
const ATOMS_MIN: usize = 3;

impl Round<'_> {
    /// The atom to start from for the rows of a delta, if it is not the one whose rows they are.
    pub(super) fn better_start(
        &mut self,
        index: usize,
        atom: usize,
        rows: &[RowId],
    ) -> Option<usize> {
        let rule = &self.stratum.rules[index];
        let (Some(&first), Some(&last)) = (rows.first(), rows.last()) else { return None };
        let is_range = || {
            let in_order = rows.windows(2).all(|pair| pair[0] < pair[1]);
            in_order && (last.0 - first.0) as usize + 1 == rows.len()
        };
        if rule.body.len() < ATOMS_MIN
            || rule.body[atom].negated
            || rule.kind != ViewKind::Maintained
            || !self.fills_set(rule)
            || self.selected_from(rule.head).is_some()
            || self.is_traced(index)
            || !rule.deltas.iter().all(cannot_fail)
            || !is_range()
        {
            return None;
        }
        let (plain, indexing) = self.cost(rule, atom, atom, rows.len());
        let others = (0..rule.body.len()).filter(|&at| at != atom && !rule.body[at].negated);
        let cost = |at| {
            let (cost, indexing) = self.cost(rule, at, atom, rows.len());
            (cost + indexing, at)
        };
        let (other, start) = others.map(cost).min_by(|a, b| a.0.total_cmp(&b.0))?;
        let is_better = other * self.views.reorder_better < plain;
        let spared = self.views.spared.entry((self.views.stratum, index, atom)).or_default();
        // The index is made once the extra cost without it has reached its own.
        let is_spared = !is_better && other + *spared < indexing;
        *spared = if is_spared { *spared + other } else { 0.0 };
        (is_better || is_spared).then_some(start)
    }

    /// The expected cost of the derivations from `rows` rows of the delta of `atom`, from `start`
    /// on, and that of bringing indexes up to date.
    fn cost(&self, rule: &ViewRule, start: usize, atom: usize, rows: usize) -> (f64, f64) {
        let all = self.database.table(rule.body[atom].relation).len().max(1) as f64;
        let part = rows as f64 / all;
        let (mut reached, mut cost) = if start == atom {
            (rows as f64, rows as f64)
        } else {
            let from = self.database.table(rule.body[start].relation).len() as f64;
            (from, from + rows as f64)
        };
        let mut indexing = 0.0;
        for step in &rule.deltas[start].steps {
            let (Step::Join(lookup) | Step::Exists(lookup)) = step else { continue };
            let table = self.database.table(lookup.relation);
            let is_delta = usize::from(lookup.atom) == atom;
            let mut found = table.rows_a_key(lookup.access);
            if is_delta {
                found *= part
            } else {
                indexing += f64::from(table.unprepared(lookup.access))
            }
            cost += match lookup.access {
                Access::Scan => reached * found.max(1.0),
                Access::Primary | Access::Index(_) | Access::Ordered(_) => reached,
            };
            reached *= match step {
                Step::Exists(_) => found.min(1.0),
                _ => found,
            };
        }
        (cost, indexing)
    }

    /// Derives from all rows of the atom `start` that lead to one of `rows`, which are the delta
    /// of `atom`.
    pub(super) fn extend_from(
        &mut self,
        index: usize,
        atom: usize,
        start: usize,
        rows: &[RowId],
        limits: &[RowId],
    ) {
        let rule = &self.stratum.rules[index];
        let (Some(&first), Some(&RowId(last))) = (rows.first(), rows.last()) else { return };
        let delta = first..RowId(last + 1);
        let others = semi_naive(rule, atom, limits);
        let visible = |other: u16, lookup: &Lookup| {
            if usize::from(other) == atom {
                Visible::Within(delta.start, delta.end)
            } else {
                others(other, lookup)
            }
        };
        let table = self.database.table(rule.body[start].relation);
        let seen = if start > atom {
            Visible::Below(limits[rule.body[start].relation.index()])
        } else {
            Visible::Live
        };
        let from: Vec<RowId> = table.rows(Access::Scan, &[], seen).collect();
        self.views.reordered += 1;
        let part = self.part(&rule.deltas[start], atom, delta.clone());
        // One row can join with many.
        for batch in from.chunks(BATCH / 8) {
            self.extend_batch(index, start, batch, &visible, part.as_ref());
        }
    }

    /// The rows of a delta by the key that a strand looks them up with.
    fn part(&self, strand: &Strand, atom: usize, rows: std::ops::Range<RowId>) -> Option<Part> {
        let mut lookups = strand.steps.iter().filter_map(|step| match step {
            Step::Join(lookup) | Step::Exists(lookup) => Some(lookup),
            _ => None,
        });
        let lookup = lookups.find(|lookup| usize::from(lookup.atom) == atom)?;
        let table = self.database.table(lookup.relation);
        let columns = table.access_columns(lookup.access).filter(|columns| !columns.is_empty())?;
        Some(Part::new(table, rows, columns))
    }
}

/// Whether all that a strand reads is given, so that no step can fail: else what is reported would
/// depend on the order.
fn cannot_fail(strand: &Strand) -> bool {
    let bind = |bind: &Bind| match bind {
        Bind::Equal(expr) => expr.is_given(),
        Bind::Ignore | Bind::Reg(_) => true,
    };
    let step = |step: &Step| match step {
        Step::Join(lookup) | Step::Exists(lookup) | Step::Absent(lookup) => {
            lookup.key.iter().all(Expr::is_given) && lookup.columns.iter().all(bind)
        }
        Step::Filter(Expr::Binary(operator, operands)) => {
            matches!(operator, Binary::Equal | Binary::NotEqual)
                && operands.iter().all(Expr::is_given)
        }
        Step::Let(..) | Step::Match(..) | Step::Filter(_) => false,
    };
    let column = |column: &HeadColumn| match column {
        HeadColumn::Value(expr) => expr.is_given(),
        HeadColumn::Aggregate { .. } => false,
    };
    strand.trigger.columns.iter().all(bind)
        && strand.steps.iter().all(step)
        && strand.output.columns.iter().all(column)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Bench;
    use crate::plan::RelationId;
    use crate::value::Value;

    const POINTS_TO: &str = r#"
relation p0 "fact" at 0 (int64, int64)
  table key(0, 1)
relation p1 "load" at 0 (int64, int64)
  table key(0, 1) index(1)
relation p2 "pt" at 0 (int64, int64)
  table key(0, 1) index(0) index(1)
rule r0 "fact" at "t:1:1"
rule r1 "load" at "t:2:1"
stratum heads(p2) selected()
  view r0 maintained p2 from p0
    scan r0 on scan p2 () regs 2
      join p0 scan [] atom 0 (v0, v1)
      insert p2 (v0, v1)
    delta r0 on delta p0 (v0, v1) regs 2
      insert p2 (v0, v1)
    check r0 on head p2 (v0, v1) regs 2
      join p0 primary [v0, v1] atom 0 (_, _)
      insert p2 (v0, v1)
  view r1 maintained p2 from p1, p2, p2
    scan r1 on scan p2 () regs 4
      join p1 scan [] atom 0 (v0, v1)
      join p2 index 0 [v1] atom 1 (_, v2)
      join p2 index 0 [v2] atom 2 (_, v3)
      insert p2 (v0, v3)
    delta r1 on delta p1 (v0, v1) regs 4
      join p2 index 0 [v1] atom 1 (_, v2)
      join p2 index 0 [v2] atom 2 (_, v3)
      insert p2 (v0, v3)
    delta r1 on delta p2 (v1, v2) regs 4
      join p1 index 0 [v1] atom 0 (v0, _)
      join p2 index 0 [v2] atom 2 (_, v3)
      insert p2 (v0, v3)
    delta r1 on delta p2 (v2, v3) regs 4
      join p2 index 1 [v2] atom 1 (v1, _)
      join p1 index 0 [v1] atom 0 (v0, _)
      insert p2 (v0, v3)
    check r1 on head p2 (v0, v3) regs 4
      join p1 scan [] atom 0 (=v0, v1)
      join p2 index 0 [v1] atom 1 (_, v2)
      join p2 primary [v2, v3] atom 2 (_, _)
      insert p2 (v0, v3)
"#;

    #[test]
    #[cfg_attr(miri, ignore = "thousands of rows")]
    fn many_rows_that_lead_nowhere_are_not_followed() {
        let mut bench = Bench::unobserved(POINTS_TO);
        let put = |bench: &mut Bench, relation, row: [i64; 2]| {
            bench.change(relation, &row.map(Value::Int), false);
        };
        // 300 pointers to each of 5 objects, of which few are loaded from.
        for pointer in 0..300 {
            for object in 0..5 {
                put(&mut bench, 0, [100 + pointer, object]);
            }
        }
        for to in 0..40 {
            put(&mut bench, 1, [1000 + to, 100 + to]);
        }
        bench.commit_unobserved();
        let before = bench.views.reordered;
        for object in 0..5 {
            for to in 0..20 {
                put(&mut bench, 0, [object, 2000 + to]);
            }
        }
        bench.commit_unobserved();
        assert!(bench.views.reordered > before);
        assert_eq!(bench.database.table(RelationId(2)).len(), 1500 + 100 + 800);
        // A single row is followed, as soon as the index for that is worth its making.
        let mut others = 0;
        for to in 0..100 {
            let before = bench.views.reordered;
            put(&mut bench, 0, [0, 3000 + to]);
            bench.commit_unobserved();
            others += bench.views.reordered - before;
        }
        assert!((1..50).contains(&others), "{others}");
    }
}
