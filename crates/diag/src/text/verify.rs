//! The errors of verifiers of IRs: where, at which instruction, and what is wrong.
//!
//! An IR has one function `verify`, which returns [`Verified`]. It walks over the program with
//! [`Findings`], which know the place, so that the rules only state what is wrong.

use std::error::Error;
use std::fmt;

/// A rule of an IR that a program breaks: a mistake of the compiler, or of the author of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The place, in the words of the text form: a function, block or strand. Empty for the whole.
    pub place: String,
    /// The instruction in its text form; empty if the error is not about a single one.
    pub instruction: String,
    /// The error, without a final period.
    pub message: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VerifyError { place, instruction, message } = self;
        f.write_str(place)?;
        if !instruction.is_empty() {
            let blank = if place.is_empty() { "" } else { " " };
            write!(f, "{blank}`{instruction}`")?;
        }
        let colon = if place.is_empty() && instruction.is_empty() { "" } else { ": " };
        write!(f, "{colon}{message}")
    }
}

impl Error for VerifyError {}

/// All errors of a program, in order; at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyErrors(Vec<VerifyError>);

impl VerifyErrors {
    /// The errors, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, VerifyError> {
        self.0.iter()
    }
}

impl fmt::Display for VerifyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if number == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl Error for VerifyErrors {}

/// The result of verifying.
pub type Verified = Result<(), VerifyErrors>;

/// The errors found so far, and the place where the verifier is.
#[derive(Clone, Default, Debug)]
pub struct Findings {
    place: String,
    instruction: String,
    errors: Vec<VerifyError>,
}

impl Findings {
    /// None, at the whole program.
    pub fn new() -> Findings {
        Findings::default()
    }

    /// Goes to a place.
    pub fn at(&mut self, place: impl fmt::Display) {
        self.place = place.to_string();
        self.instruction.clear();
    }

    /// Goes to an instruction at a place.
    pub fn at_instruction(&mut self, place: impl fmt::Display, instruction: impl fmt::Display) {
        self.place = place.to_string();
        self.instruction = instruction.to_string();
    }

    /// Records an error at this place.
    pub fn fail(&mut self, message: impl fmt::Display) {
        let (place, instruction) = (self.place.clone(), self.instruction.clone());
        self.errors.push(VerifyError { place, instruction, message: message.to_string() });
    }

    /// Records an error at this place unless the rule holds; returns whether it does.
    pub fn require(&mut self, holds: bool, message: impl fmt::Display) -> bool {
        if !holds {
            self.fail(message);
        }
        holds
    }

    /// The number of errors.
    pub fn count(&self) -> usize {
        self.errors.len()
    }

    /// The result.
    ///
    /// # Errors
    /// All that were recorded.
    pub fn finish(self) -> Verified {
        if self.errors.is_empty() { Ok(()) } else { Err(VerifyErrors(self.errors)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_where_and_what() {
        let mut findings = Findings::new();
        findings.fail("no block");
        findings.at("b0");
        assert!(findings.require(true, "holds") && !findings.require(false, "no end"));
        findings.at_instruction("b0.2", "add v1 v2");
        findings.fail("v2 is not set");
        findings.at_instruction("", "jump b9");
        findings.fail("b9 does not exist");
        assert_eq!(findings.count(), 4);
        let errors = findings.finish().unwrap_err();
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let expected = [
            "no block",
            "b0: no end",
            "b0.2 `add v1 v2`: v2 is not set",
            "`jump b9`: b9 does not exist",
        ];
        assert_eq!(lines, expected);
        assert_eq!(errors.to_string(), expected.join("; "));
        assert_eq!(Findings::new().finish(), Ok(()));
    }
}
