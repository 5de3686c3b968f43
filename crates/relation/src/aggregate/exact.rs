//! Sums of doubles that do not depend on the order of the summands.

/// A sum held without rounding error, as doubles that do not overlap.
///
/// After J. R. Shewchuk, *Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
/// Predicates* (1997), section 2: each addition leaves the exact sum as partial sums in ascending
/// magnitude, of which there are some forty at most. A sum that overflows on the way stays
/// infinite.
#[derive(Clone, Debug, Default)]
pub(super) struct ExactSum {
    partials: Vec<f64>,
    /// The sum of the infinities and NaNs, which obey no such scheme.
    special: f64,
}

impl ExactSum {
    /// Adds a summand.
    pub(super) fn add(&mut self, value: f64) {
        if !value.is_finite() {
            self.special += value;
            return;
        }
        let mut carried = value;
        let mut kept = 0;
        for i in 0..self.partials.len() {
            let (sum, error) = two_sum(carried, self.partials[i]);
            if error != 0.0 {
                self.partials[kept] = error;
                kept += 1;
            }
            carried = sum;
        }
        self.partials.truncate(kept);
        if carried.is_finite() {
            self.partials.push(carried);
        } else {
            self.partials.clear();
            self.special += carried;
        }
    }

    /// Adds an integer of up to 127 bits, exactly.
    pub(super) fn add_int(&mut self, value: i128) {
        // Three pieces of 53 bits or fewer are exact doubles each.
        let mut rest = value;
        while rest != 0 {
            let piece = rest as f64;
            // Rounding may have gone up to 2^127, which no integer reaches; the cast saturates
            // and the loop takes the difference back.
            self.add(piece);
            rest = rest.saturating_sub(piece as i128);
        }
    }

    /// Whether the sum is held without error: no infinity or NaN came in or was reached.
    pub(super) fn is_exact(&self) -> bool {
        self.special == 0.0
    }

    /// The sum, rounded once: to nearest, ties to even.
    pub(super) fn total(&self) -> f64 {
        if self.special != 0.0 {
            return self.special;
        }
        let mut partials = self.partials.iter().rev().copied();
        let mut high = partials.next().unwrap_or(0.0);
        while let Some(partial) = partials.next() {
            let (sum, error) = two_sum(high, partial);
            high = sum;
            if error == 0.0 {
                continue;
            }
            // Half a unit left over was rounded to even without regard to the partials below it,
            // which decide: one of the same sign takes the sum to the other neighbour.
            let below = partials.next().unwrap_or(0.0);
            let doubled = error * 2.0;
            let moved = high + doubled;
            if (error < 0.0) == (below < 0.0) && below != 0.0 && moved - high == doubled {
                high = moved;
            }
            break;
        }
        high
    }
}

/// The rounded sum of two doubles and the exact error of the rounding.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let (large, small) = if a.abs() < b.abs() { (b, a) } else { (a, b) };
    let sum = large + small;
    (sum, small - (sum - large))
}
