//! Mutants that the author of a program has judged equivalent to it.
//!
//! ```text
//! # Times are in nanoseconds: no two of these are ever equal.     the reason, in lines with `#`
//! d1 f_now() - Heard >= 20 instead of f_now() - Heard > 20        mutants: the label of the rule
//! d4 f_now() - Heard >= 60 instead of f_now() - Heard > 60        and the change, as printed
//!                                                                 an empty line ends the reason
//! ```
//! A judgement is checked like any other claim: the mutants are tested all the same, and a run that
//! fails refutes it.

use std::fmt;

use super::Mutant;

/// Mutants that are judged equivalent, each by the label of its rule and its change.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Equivalents(Vec<String>);

/// A line of a list of equivalent mutants that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrongJudgement {
    /// The line, from 1.
    pub line: usize,
    /// The mutant, as the line names it.
    pub mutant: String,
    /// What is wrong with it.
    pub reason: WrongReason,
}

/// Why a line of a list of equivalent mutants is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrongReason {
    /// No reason precedes the mutant.
    NoReason,
    /// The program has no such mutant.
    Unknown,
    /// The mutant is in the list twice.
    Twice,
}

impl fmt::Display for WrongJudgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WrongJudgement { line, mutant, reason } = self;
        write!(f, "line {line}: ")?;
        match reason {
            WrongReason::NoReason => write!(f, "a line `# reason` must precede {mutant}"),
            WrongReason::Unknown => write!(f, "the program has no mutant {mutant}"),
            WrongReason::Twice => write!(f, "{mutant} is in the list twice"),
        }
    }
}

impl std::error::Error for WrongJudgement {}

impl Equivalents {
    /// Reads a list.
    ///
    /// # Errors
    /// A mutant has no reason, is in the list twice, or is not among these.
    pub fn parse<'a>(
        text: &str,
        mutants: impl IntoIterator<Item = &'a Mutant>,
    ) -> Result<Equivalents, WrongJudgement> {
        let known: Vec<String> = mutants.into_iter().map(name_of).collect();
        let mut judged: Vec<String> = Vec::new();
        let mut has_reason = false;
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() || text.starts_with('#') {
                has_reason = text.starts_with('#');
                continue;
            }
            let mutant = text.trim().to_owned();
            let reason = if !has_reason {
                WrongReason::NoReason
            } else if !known.contains(&mutant) {
                WrongReason::Unknown
            } else if judged.contains(&mutant) {
                WrongReason::Twice
            } else {
                judged.push(mutant);
                continue;
            };
            return Err(WrongJudgement { line, mutant, reason });
        }
        Ok(Equivalents(judged))
    }

    /// Whether a mutant is judged equivalent.
    pub fn contains(&self, mutant: &Mutant) -> bool {
        self.0.contains(&name_of(mutant))
    }
}

fn name_of(mutant: &Mutant) -> String {
    format!("{} {}", mutant.rule, mutant.change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{LoadOptions, Program};

    fn mutants() -> Vec<Mutant> {
        let text = "t1 taken(@N, X) :- offer(@N, X), X < 3.\nexport(offer).\n";
        let program = Program::of_text("a.olg", text, &LoadOptions::default());
        program.mutants().into_iter().map(|(mutant, _)| mutant).collect()
    }

    #[test]
    fn a_reason_covers_the_lines_below_it() {
        let mutants = mutants();
        let text = "# A bound\n# that nothing reaches.\n\
                    t1 X <= 3 instead of X < 3\nt1 without X < 3\n";
        let list = Equivalents::parse(text, &mutants).expect("a list");
        let judged: Vec<bool> = mutants.iter().map(|it| list.contains(it)).collect();
        assert_eq!(judged, [false, false, true, true]);
    }

    #[test]
    fn wrong_lists_are_refused() {
        let wrong = |text: &str| {
            let error = Equivalents::parse(text, &mutants()).expect_err("wrong");
            (error.line, error.reason)
        };
        let line = "t1 without X < 3";
        assert_eq!(wrong(line), (1, WrongReason::NoReason));
        assert_eq!(wrong(&format!("# why\n\n{line}")), (3, WrongReason::NoReason));
        assert_eq!(wrong(&format!("# why\n{line}\n{line}")), (3, WrongReason::Twice));
        assert_eq!(wrong("# why\nt2 without the rule"), (2, WrongReason::Unknown));
    }
}
