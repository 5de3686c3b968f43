//! Phases of a run: from a time on, its random numbers come from another seed, and it has other
//! faults. What happens before that time stays the same.
//!
//! ```text
//! T seed S [FAULT VALUE]...        12.5 seed 99 loss 0.1 churn 20
//! ```
//! The faults are those of the options of `sim`. Clocks are set once, when a run starts. Nodes that
//! churn has ended start again when a phase begins.

use std::fmt;

use tidemill_diag::nearest;

use super::fault_options::FaultOptions;
use crate::script::{self, NumberError};

/// A phase of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Phase {
    /// Its start, in nanoseconds, above 0.
    pub from_ns: u64,
    /// The seed of random numbers.
    pub seed: u64,
    /// Its faults, in the place of those before.
    pub faults: FaultOptions,
}

/// Why a text is no phase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseError {
    /// The offset of the word that is wrong.
    pub offset: usize,
    /// What is wrong with it.
    pub reason: PhaseReason,
}

/// What is wrong with a word of a phase.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PhaseReason {
    /// It is no number of its kind.
    Number(NumberError),
    /// Another word is expected.
    Unexpected {
        /// The word; empty at the end.
        found: String,
        /// What is expected.
        wanted: &'static str,
    },
    /// No fault has this name.
    NoFault(String),
    /// The fault is named twice.
    Twice(&'static str),
    /// Clocks are set at the start of a run, not later.
    LateClock,
}

impl fmt::Display for PhaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            PhaseReason::Number(error) => error.fmt(f),
            PhaseReason::Unexpected { found, wanted } if found.is_empty() => {
                write!(f, "expected {wanted}, found the end")
            }
            PhaseReason::Unexpected { found, wanted } => {
                write!(f, "expected {wanted}, found `{found}`")
            }
            PhaseReason::NoFault(name) => {
                write!(f, "`{name}` is no fault: ")?;
                if let Some(similar) = nearest(name, FaultOptions::NAMES) {
                    write!(f, "is {similar} meant? ")?;
                }
                write!(f, "there are {}", FaultOptions::NAMES.join(", "))
            }
            PhaseReason::Twice(name) => write!(f, "{name} is given twice"),
            PhaseReason::LateClock => f.write_str("clocks are set when a run starts, not later"),
        }
    }
}

impl std::error::Error for PhaseError {}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Phase { from_ns, seed, faults } = self;
        write!(f, "{} ", script::seconds_text(*from_ns))?;
        write_seeded(f, *seed, faults)
    }
}

/// Writes `seed S` and faults.
pub(crate) fn write_seeded(
    out: &mut impl fmt::Write,
    seed: u64,
    faults: &FaultOptions,
) -> fmt::Result {
    write!(out, "seed {seed}")?;
    faults.words().iter().try_for_each(|(name, value)| write!(out, " {name} {value}"))
}

impl Phase {
    /// Parses the text of a phase.
    ///
    /// # Errors
    /// The first word that is wrong.
    pub fn parse(text: &str) -> Result<Phase, PhaseError> {
        let mut words = PhaseWords::new(text);
        let phase = words.phase()?;
        words.end()?;
        Ok(phase)
    }
}

/// The words of a phase, or of several.
#[derive(Clone, Debug)]
pub(crate) struct PhaseWords<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> PhaseWords<'t> {
    pub(crate) fn new(text: &'t str) -> PhaseWords<'t> {
        PhaseWords { text, at: 0 }
    }

    /// The next word with its offset, without consuming it; empty at the end.
    pub(crate) fn peek(&self) -> (usize, &'t str) {
        let rest = &self.text[self.at..];
        let word = rest.trim_start();
        let offset = self.at + (rest.len() - word.len());
        (offset, word.split_whitespace().next().unwrap_or(""))
    }

    /// The same, and consumes it.
    fn word(&mut self) -> (usize, &'t str) {
        let (offset, word) = self.peek();
        self.at = offset + word.len();
        (offset, word)
    }

    /// Parses the next word.
    pub(crate) fn read<T>(
        &mut self,
        read: impl FnOnce(&str) -> Result<T, NumberError>,
    ) -> Result<T, PhaseError> {
        let (offset, word) = self.word();
        read(word).map_err(|error| PhaseError { offset, reason: PhaseReason::Number(error) })
    }

    /// Requires the next word to be this one, which is `wanted`.
    pub(crate) fn expect(&mut self, word: &str, wanted: &'static str) -> Result<(), PhaseError> {
        match self.word() {
            (_, found) if found == word => Ok(()),
            (offset, found) => Err(unexpected(offset, found, wanted)),
        }
    }

    /// Requires the end.
    pub(crate) fn end(&mut self) -> Result<(), PhaseError> {
        self.expect("", "the end")
    }

    /// `seed S [FAULT VALUE]...`, up to the end or a word `then`.
    pub(crate) fn seeded(&mut self) -> Result<(u64, FaultOptions), PhaseError> {
        self.expect("seed", "`seed S`")?;
        let seed = self.read(script::seed)?;
        let (mut faults, mut named) = (FaultOptions::default(), Vec::new());
        while !["", "then"].contains(&self.peek().1) {
            let (offset, word) = self.word();
            let known = FaultOptions::NAMES.into_iter().find(|name| *name == word);
            let name = known.ok_or_else(|| PhaseError {
                offset,
                reason: PhaseReason::NoFault(word.to_owned()),
            })?;
            if named.contains(&name) {
                return Err(PhaseError { offset, reason: PhaseReason::Twice(name) });
            }
            named.push(name);
            self.read(|value| faults.set(name, value).unwrap_or(Ok(())))?;
        }
        Ok((seed, faults))
    }

    /// `T seed S [FAULT VALUE]...`.
    pub(crate) fn phase(&mut self) -> Result<Phase, PhaseError> {
        let from_ns = self.read(script::some_seconds)?;
        let mut start = self.clone();
        let (seed, faults) = self.seeded()?;
        if faults.skew_ns.is_some() {
            let offset = start.find(|(_, word)| *word == "skew").map_or(0, |(offset, _)| offset);
            return Err(PhaseError { offset, reason: PhaseReason::LateClock });
        }
        Ok(Phase { from_ns, seed, faults })
    }
}

/// The words with their offsets.
impl<'t> Iterator for PhaseWords<'t> {
    type Item = (usize, &'t str);

    fn next(&mut self) -> Option<(usize, &'t str)> {
        Some(self.word()).filter(|(_, word)| !word.is_empty())
    }
}

fn unexpected(offset: usize, found: &str, wanted: &'static str) -> PhaseError {
    PhaseError { offset, reason: PhaseReason::Unexpected { found: found.to_owned(), wanted } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_read_as_they_are_printed() {
        for text in ["12.5 seed 99", "0.001 seed 18446744073709551615 latency 5..20:tail loss 0.1"]
        {
            assert_eq!(Phase::parse(text).expect(text).to_string(), text);
        }
        let phase = Phase::parse(" 3 seed 7  churn 20 slow 1.5 ").expect("a phase");
        assert_eq!((phase.from_ns, phase.seed), (3_000_000_000, 7));
        assert_eq!(
            (phase.faults.churn_ns, phase.faults.slow_ns),
            (Some(20_000_000_000), Some(1_500_000))
        );
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let cases = [
            ("", 0, "expected a time"),
            ("0 seed 1", 0, "a time of 0"),
            ("1", 1, "expected `seed S`, found the end"),
            ("1 loss 0.1", 2, "expected `seed S`, found `loss`"),
            ("1 seed x", 7, "`x` is no seed"),
            ("1 seed 1 los 0.1", 9, "`los` is no fault: is loss meant?"),
            ("1 seed 1 loss 7", 14, "`7` is no probability"),
            ("1 seed 1 loss 0.5 loss 0.5", 18, "loss is given twice"),
            ("1 seed 1 loss 0.5 skew 2", 18, "clocks are set when a run starts"),
            ("1 seed 1 then 2 seed 3", 9, "expected the end, found `then`"),
        ];
        for (text, offset, start) in cases {
            let error = Phase::parse(text).expect_err(text);
            assert_eq!(error.offset, offset, "{text}");
            assert!(error.to_string().starts_with(start), "{text}: {error}");
        }
    }
}
