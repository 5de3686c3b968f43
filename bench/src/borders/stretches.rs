//! Converts cycles between marks to nanoseconds of a crossing.

use std::time::{Duration, Instant};

use tidemill_stdx::marks::{self, Stretches};

/// The duration of a cycle, and the cost of marks.
pub struct Scale {
    cycles_per_ns: f64,
    empty_cycles: f64,
}

impl Scale {
    /// Measures both.
    pub fn measure() -> Scale {
        let (start, cycles) = (Instant::now(), marks::cycles());
        let ((), all) = marks::record(|| {
            while start.elapsed() < Duration::from_millis(20) {
                for _ in 0..100 {
                    marks::leave();
                    marks::arrive("empty");
                }
            }
        });
        let (cycles, ns) = (marks::cycles() - cycles, start.elapsed().as_nanos() as f64);
        let empty_cycles = all.first().map_or(0.0, |empty| trimmed_mean(&empty.cycles));
        Scale { cycles_per_ns: cycles as f64 / ns, empty_cycles }
    }

    /// The parts of a crossing in ns, by their marks: only marks along it, and no more stretches
    /// than crossings, as the way back shares some of them.
    pub fn parts(
        &self,
        all: &[Stretches],
        on_the_way: &[&str],
        crossings: usize,
    ) -> Vec<(&'static str, f64)> {
        let of_it = all.iter().filter(|it| on_the_way.contains(&it.name));
        let part = |it: &Stretches| {
            let cycles = (trimmed_mean(&it.cycles) - self.empty_cycles).max(0.0);
            let each = it.cycles.len().min(crossings) as f64 / crossings as f64;
            (it.name, cycles / self.cycles_per_ns * each)
        };
        of_it.map(part).collect()
    }
}

/// The mean without the greatest hundredth.
fn trimmed_mean(cycles: &[u32]) -> f64 {
    let mut sorted = cycles.to_vec();
    sorted.sort_unstable();
    sorted.truncate(sorted.len() - sorted.len() / 100);
    sorted.iter().map(|&cycles| f64::from(cycles)).sum::<f64>() / sorted.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_of_crossings_without_what_marks_take() {
        let scale = Scale { cycles_per_ns: 2.0, empty_cycles: 10.0 };
        let mut slow = vec![30; 200];
        slow[7] = u32::MAX;
        let all = [
            Stretches { name: "queue", cycles: slow },
            Stretches { name: "turn", cycles: vec![50; 50] },
            Stretches { name: "back", cycles: vec![50; 50] },
        ];
        let parts = scale.parts(&all, &["queue", "turn"], 100);
        assert_eq!(parts, [("queue", 10.0), ("turn", 10.0)]);
        assert!(Scale::measure().cycles_per_ns > 0.0);
    }
}
