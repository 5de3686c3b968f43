//! Meters: token buckets.
//!
//! Tokens are counted in units times 10^9, so that no fraction is lost between packets that are
//! nanoseconds apart. A bucket is full at first.

use super::ast::{Constant, Expr, ExprKind, MeterDef, MeterUnit, Statement, Word};
use super::lower::Lower;
use super::names::{Amount, DeclaredMeter, Meaning, Type};
use crate::kernel::{Expr as Computed, Operator, Value};

const NANOS: u64 = 1_000_000_000;

impl Lower<'_> {
    pub(super) fn declare_meter(&mut self, meter: &MeterDef) {
        let rate = self.amount(meter, meter.rate.as_ref(), "rate");
        let burst = self.amount(meter, meter.burst.as_ref(), "burst");
        let burst = self.scaled(&meter.name, burst);
        let tokens = self.build.state(&format!("@{}_tokens", meter.name.text), u64::MAX);
        let filled_ns = self.build.state(&format!("@{}_filled_ns", meter.name.text), 0);
        let unit = meter.unit;
        self.meters.push(DeclaredMeter { unit, rate, burst, tokens, filled_ns });
        self.name(&meter.name, Meaning::Meter(self.meters.len() - 1));
    }

    fn amount(&mut self, meter: &MeterDef, given: Option<&Expr>, what: &str) -> Amount {
        let name = &meter.name;
        let Some(given) = given else {
            let message = format!("`{}` does not say its {what}", name.text);
            self.error("bad-meter", name.span, message, &format!("write `{what} 1000;`"));
            return Amount::Number(1);
        };
        match &given.kind {
            ExprKind::Constant(Constant::Number(number @ 1..)) => return Amount::Number(*number),
            ExprKind::Name(key) => {
                let key = Word { text: key.clone(), span: given.span };
                match self.meaning(&key) {
                    Some(Meaning::Word(word, Type::Number, false)) => return Amount::Word(word),
                    Some(Meaning::Constant(Constant::Number(number))) => {
                        return Amount::Number(number);
                    }
                    None => return Amount::Number(1),
                    _ => {}
                }
            }
            _ => {}
        }
        let message = format!("the {what} of a meter is a number, 1 at least, or a key");
        self.error("bad-meter", given.span, message, "compute it where the config is written");
        Amount::Number(1)
    }

    /// A burst times 10^9, computed with the config.
    fn scaled(&mut self, name: &Word, burst: Amount) -> Amount {
        match burst {
            Amount::Number(number) => Amount::Number(number.saturating_mul(NANOS)),
            Amount::Word(word) => {
                let burst = self.build.initial(word).saturating_mul(NANOS);
                let word = self.build.state(&format!("@{}_burst", name.text), burst);
                self.config_words.push(word);
                Amount::Word(word)
            }
        }
    }

    fn amount_of(&mut self, amount: Amount) -> Value {
        match amount {
            Amount::Number(number) => self.build.constant(number),
            Amount::Word(word) => self.build.word(word),
        }
    }

    pub(super) fn within(
        &mut self,
        name: &Word,
        by: Option<&Expr>,
        yes: &[Statement],
        no: &[Statement],
    ) -> bool {
        let meter = match self.meaning(name) {
            Some(Meaning::Meter(meter)) => self.meters[meter],
            Some(_) => {
                let message = format!("`{}` is no meter", name.text);
                let help = format!("declare it: `meter {} packets {{ ... }}`", name.text);
                self.error("bad-meter", name.span, message, &help);
                return false;
            }
            None => return false,
        };
        let cost = match (by, meter.unit) {
            (Some(by), _) => self.number(by),
            (None, MeterUnit::Packets) => self.build.constant(1),
            (None, MeterUnit::Bytes) if !self.needs_packet(name.span) => return false,
            (None, MeterUnit::Bytes) => self.build.value(Computed::WireLength),
        };
        let filled = self.refill(meter);
        let cost = self.with(Operator::MulSat, cost, NANOS);
        let is_within = self.build.binary(Operator::Le, cost, filled);
        let (mut missed, known) = (Vec::new(), self.known());
        self.guard(is_within, &mut missed);
        let left = self.build.binary(Operator::Sub, filled, cost);
        self.build.set_word(meter.tokens, left);
        self.branches(yes, no, missed, known)
    }

    /// The tokens now: those since the last refill are added, up to a burst.
    fn refill(&mut self, meter: DeclaredMeter) -> Value {
        let (now, before) = (self.build.value(Computed::Now), self.build.word(meter.filled_ns));
        let elapsed = self.build.binary(Operator::SubSat, now, before);
        self.build.set_word(meter.filled_ns, now);
        let rate = self.amount_of(meter.rate);
        let gained = self.build.binary(Operator::MulSat, elapsed, rate);
        let had = self.build.word(meter.tokens);
        let filled = self.build.binary(Operator::AddSat, had, gained);
        let burst = self.amount_of(meter.burst);
        let filled = self.build.binary(Operator::Min, filled, burst);
        self.build.set_word(meter.tokens, filled);
        filled
    }
}
