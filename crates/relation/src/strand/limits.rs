//! The limits of an ordered look-up: its bounds, evaluated.
//!
//! A bound without a value is no limit, nor are those after it: the conditions that follow the
//! look-up then see every row, and each reports as it would without an index.

use smallvec::SmallVec;

use super::interpret::Run;
use super::joined::Joins;
use crate::expr::End;
use crate::operator::compare;
use crate::plan::{Bound, Lookup, side};
use crate::table::{Limit, Side};
use crate::value::Value;

/// The limits of a look-up.
pub(crate) type Limits<'a> = SmallVec<[Limit<'a>; 2]>;

impl<'a, J: Joins> Run<'a, '_, J> {
    /// The limits of a look-up for the registers as they are.
    pub(crate) fn limits(&self, lookup: &'a Lookup) -> Limits<'a> {
        let mut limits = Limits::new();
        for bound in &lookup.bounds {
            if self.put_limits(bound, &mut limits).is_none() {
                break;
            }
        }
        limits
    }

    /// Takes a bound into the limits, if it limits anything; `None`: it has no value.
    fn put_limits(&self, bound: &'a Bound, limits: &mut Limits<'a>) -> Option<()> {
        match bound {
            Bound::Compare { operator, added, value } => {
                let value = self.value(value).ok()?;
                let added = added.as_ref().map(|added| self.value(added)).transpose().ok()?;
                let (value, added) = moved(value, added)?;
                limits.push(Limit { side: side(*operator)?, value, added });
            }
            Bound::Within { from, to, low, high } => {
                let (from, to) = (self.value(from).ok()?, self.value(to).ok()?);
                if compare(from, to).is_lt() {
                    let low = if *low == End::Closed { Side::AtLeast } else { Side::Greater };
                    let high = if *high == End::Closed { Side::AtMost } else { Side::Less };
                    limits.push(Limit { side: low, value: from, added: 0 });
                    limits.push(Limit { side: high, value: to, added: 0 });
                }
            }
        }
        Some(())
    }
}

/// The limit of a column to which an integer is added, and that integer; `None` if the sum is not
/// one of integers, or none has the value.
fn moved<'a>(value: Value<'a>, added: Option<Value<'a>>) -> Option<(Value<'a>, i64)> {
    match (value, added) {
        (value, None) => Some((value, 0)),
        (Value::Int(value), Some(Value::Int(added))) => {
            Some((Value::Int(value.checked_sub(added)?), added))
        }
        _ => None,
    }
}
