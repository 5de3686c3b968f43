//! The explanation of an absent tuple, printed as a tree.

use std::fmt::{self, Display, Formatter};

use super::answer::{Attempt, Skipped, Standing, TermKind, Verdict, Wanted, WhyNot};

/// Terms of one kind that are named.
const NAMED_MAX: usize = 3;

impl Display for Wanted {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.relation)?;
        for (position, column) in self.columns.iter().enumerate() {
            f.write_str(if position > 0 { ", " } else { "" })?;
            match column {
                Some(value) => value.get().fmt(f)?,
                None => f.write_str("_")?,
            }
        }
        f.write_str(")")
    }
}

impl Display for WhyNot {
    /// Lines, each with its end.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f, "")
    }
}

impl WhyNot {
    fn write(&self, f: &mut Formatter<'_>, indent: &str) -> fmt::Result {
        let WhyNot { wanted, standing, attempts } = self;
        match standing {
            Standing::Present => return writeln!(f, "{wanted}  is there"),
            Standing::NoRule => {
                return writeln!(f, "{wanted}  is not there, and no rule derives it");
            }
            Standing::Above => return writeln!(f, "{wanted}  is not there, see above"),
            Standing::Cut => return writeln!(f, "{wanted}  is not there; and more"),
            Standing::Replaced(row) => {
                writeln!(f, "{wanted}  is not there, its key has {row}")?;
            }
            Standing::Absent => writeln!(f, "{wanted}  is not there")?,
        }
        if attempts.is_empty() {
            return writeln!(f, "{indent}└─ no rule has a head that fits it");
        }
        for (position, attempt) in attempts.iter().enumerate() {
            let (branch, below) = if position + 1 == attempts.len() {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            writeln!(f, "{indent}{branch}{attempt}")?;
            if let Some(inner) = &attempt.below {
                write!(f, "{indent}{below}└─ ")?;
                inner.write(f, &format!("{indent}{below}   "))?;
            }
        }
        Ok(())
    }
}

impl Display for Attempt {
    /// One line.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Attempt { rule, place, held, terms, .. } = self;
        write!(f, "{rule} at {place}: ")?;
        let events = self.skipped(Skipped::Event);
        match &self.verdict {
            Verdict::Fails { term, kind, values, is_alone } => {
                match kind {
                    TermKind::NoRow => write!(f, "there is no {term}")?,
                    TermKind::Row => write!(f, "there is a {term}")?,
                    TermKind::Condition => write!(f, "not {term}")?,
                }
                for (position, (name, value)) in values.iter().enumerate() {
                    let before = if position > 0 { ", " } else { " with " };
                    write!(f, "{before}{name} = {}", value.get())?;
                }
                match is_alone {
                    true if *terms == 1 => {}
                    true => f.write_str(" (all other terms hold)")?,
                    false => write!(f, " ({held} of {terms} terms hold)")?,
                }
            }
            Verdict::Differs { column, text, value } => {
                write!(f, "column {column}, {text}, is {}", value.get())?;
            }
            Verdict::Holds if !events.is_empty() => {
                write!(f, "waits for {} ({held} of {terms} terms hold)", list(&events))?;
            }
            Verdict::Holds if self.is_deleting => write!(f, "deletes it, all terms hold now")?,
            Verdict::Holds => write!(f, "{held} of {terms} terms hold now, none fails")?,
        }
        if !events.is_empty() && self.verdict != Verdict::Holds {
            write!(f, "; events are not kept: {}", list(&events))?;
        }
        for (why, text) in
            [(Skipped::Open, "cannot be evaluated now"), (Skipped::Long, "takes too long")]
        {
            let all = self.skipped(why);
            if !all.is_empty() {
                write!(f, "; {text}: {}", list(&all))?;
            }
        }
        Ok(())
    }
}

impl Attempt {
    fn skipped(&self, why: Skipped) -> Vec<&str> {
        self.skipped.iter().filter(|it| it.1 == why).map(|(term, _)| term.as_str()).collect()
    }
}

fn list(terms: &[&str]) -> String {
    let named = terms.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join("; ");
    if terms.len() > NAMED_MAX { format!("{named} and more") } else { named }
}
