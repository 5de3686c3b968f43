//! The costs of view rules, while a caller measures them.

use tidemill_stdx::sorted::SortedMap;

use crate::cost::{Clock, Cost};
use crate::plan::Plan;

/// A part of a view rule whose cost is measured by itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ViewPart {
    /// The stratum, by its position in [`Plan::strata`].
    pub stratum: u32,
    /// The rule, by its position in the stratum.
    pub rule: u32,
    /// The part of the work.
    pub work: ViewWork,
}

/// A part of the work for a view rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ViewWork {
    /// Rows of the body atom at this position were inserted or removed.
    Delta(u32),
    /// Groups are updated, and their rows computed.
    Groups,
    /// Retracted rows are derived again, if they still can be.
    Rederive,
}

/// The costs of the parts that have run.
pub type ViewCosts = SortedMap<ViewPart, Cost>;

/// Measures views.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    pub(super) clock: Clock,
    pub(super) costs: ViewCosts,
    /// The counts of the running part, and the time of parts inside it.
    running: Cost,
}

/// When a part began, and the counts of the part around it.
pub(super) struct Began {
    at: u64,
    around: Cost,
}

impl Meter {
    pub(super) fn new(clock: Clock) -> Meter {
        Meter { clock, costs: ViewCosts::new(), running: Cost::default() }
    }

    /// A part begins. Parts nest; each has the time outside of those inside it.
    pub(super) fn begin(&mut self) -> Began {
        let around = std::mem::take(&mut self.running);
        Began { at: (self.clock)(), around }
    }

    /// Counts rows that have run, derivations from them, and rows examined.
    pub(super) fn count(&mut self, fired: usize, derived: usize, probes: u64) {
        self.running += Cost { fired: fired as u64, derived: derived as u64, probes, ns: 0 };
    }

    pub(super) fn end(&mut self, Began { at, around }: Began, part: ViewPart) {
        let ns = (self.clock)().saturating_sub(at);
        let own = Cost { ns: ns.saturating_sub(self.running.ns), ..self.running };
        *self.costs.entry(part).or_default() += own;
        self.running = Cost { ns: around.ns + ns, ..around };
    }
}

impl ViewPart {
    /// The relation whose rows started it, if it is a delta.
    pub fn atom(self, plan: &Plan) -> Option<crate::plan::Atom> {
        let rule = plan.strata.get(self.stratum as usize)?.rules.get(self.rule as usize)?;
        match self.work {
            ViewWork::Delta(atom) => rule.body.get(atom as usize).copied(),
            ViewWork::Groups | ViewWork::Rederive => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::value::Value;
    use crate::view::Contents;
    use crate::view::tests::Bench;

    const JOIN: &str = r#"
relation p0 "left" at 0 (int64, int64)
  table key(0, 1) index(1)
relation p1 "right" at 0 (int64, int64)
  table key(0, 1) index(0)
relation p2 "both" at 0 (int64, int64)
  table key(0, 1)
rule r0 "join" at "t:1:1"
stratum heads(p2) selected()
  view r0 maintained p2 from p0, p1
    scan r0 on scan p2 () regs 3
      join p0 scan [] atom 0 (v0, v1)
      join p1 index 0 [v1] atom 1 (_, v2)
      insert p2 (v0, v2)
    delta r0 on delta p0 (v0, v1) regs 3
      join p1 index 0 [v1] atom 1 (_, v2)
      insert p2 (v0, v2)
    delta r0 on delta p1 (v1, v2) regs 3
      join p0 index 0 [v1] atom 0 (v0, _)
      insert p2 (v0, v2)
    check r0 on head p2 (v0, v2) regs 3
      join p0 scan [] atom 0 (=v0, v1)
      join p1 primary [v1, v2] atom 1 (_, _)
      insert p2 (v0, v2)
"#;

    thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    /// A clock that advances by 7 ns each time it is read.
    fn clock() -> u64 {
        NOW.set(NOW.get() + 7);
        NOW.get()
    }

    fn change(bench: &mut Bench, relation: u32, row: [i64; 2], delete: bool) {
        bench.change(relation, &row.map(Value::Int), delete);
    }

    fn taken(bench: &mut Bench) -> Vec<(ViewWork, Cost)> {
        let costs = std::mem::take(bench.views.costs().expect("it is measured"));
        costs.into_iter().map(|(part, cost)| (part.work, cost)).collect()
    }

    /// `rows` rows that meet three others each: the interpreter runs a few, words run many.
    fn join(rows: u64) -> u64 {
        let mut bench = Bench::new(JOIN);
        for to in 0..3 {
            change(&mut bench, 1, [7, to], false);
        }
        change(&mut bench, 1, [8, 0], false);
        let before = bench.commit(&Contents::new());
        bench.views.measure(Some(clock));
        for from in 0..rows as i64 {
            change(&mut bench, 0, [from, 7], false);
        }
        let before = bench.commit(&before);
        let cost = Cost { fired: rows, derived: 3 * rows, probes: 3 * rows, ns: 7 };
        assert_eq!(taken(&mut bench), [(ViewWork::Delta(0), cost)]);

        // Each row that went is looked for in a scan of `left`, and its second step finds nothing.
        change(&mut bench, 1, [7, 0], true);
        bench.commit(&before);
        let retracted = Cost { fired: 1, derived: rows, probes: rows, ns: 7 * (rows + 1) };
        let scanned = Cost { fired: rows, derived: 0, probes: rows * rows, ns: 7 * rows };
        let expected = [(ViewWork::Delta(1), retracted), (ViewWork::Rederive, scanned)];
        assert_eq!(taken(&mut bench), expected);
        bench.views.ran_on_words()
    }

    #[test]
    fn the_probes_of_a_join_are_counted_by_either_engine() {
        assert_eq!(join(5), 0);
        assert_eq!(join(50), 1);
    }

    #[test]
    fn no_clock_is_read_and_nothing_kept_unless_views_are_measured() {
        let mut bench = Bench::new(JOIN);
        let before = NOW.get();
        bench.views.measure(Some(clock));
        bench.views.measure(None);
        change(&mut bench, 0, [1, 7], false);
        change(&mut bench, 1, [7, 2], false);
        bench.commit(&Contents::new());
        assert!(bench.views.costs().is_none());
        assert_eq!(NOW.get(), before);
    }
}
