//! The text of a corpus: an input a line.
//!
//! ```text
//! # Kept for: r7 derived, p before q                comments begin with #
//! nodes 3 seed 12 loss 0.1 then 3.5 seed 1007 churn 20
//! ```
//! A [phase](crate::sim::Phase) follows each `then`.

use std::fmt::Write;
use std::ops::RangeInclusive;

use tidemill_diag::{Diagnostic, FileId, Span, add_limited};

use crate::script::{self, seconds_text};
use crate::sim::{FaultOptions, PhaseError, PhaseWords};
use crate::test::faults::{Fault, Faults};
use crate::test::input::{Input, PHASES_MAX};

const HEADER: &str = "# The corpus of `tidemill test --corpus`: each run covers what the others do \
                      not.\n";

/// The maximum number of inputs. Further ones are not kept.
pub(in crate::test) const ENTRIES_MAX: usize = 1000;

/// The maximum number of diagnostics.
const DIAGNOSTICS_MAX: usize = 20;

/// The maximum number of features named in a comment.
const NAMED_MAX: usize = 6;

/// What inputs may have in this test.
#[derive(Clone, Debug)]
pub(in crate::test) struct Limits<'t> {
    /// The numbers of nodes.
    pub(in crate::test) nodes: RangeInclusive<u32>,
    /// The faults.
    pub(in crate::test) faults: &'t Faults,
    /// The end of faults; `None` if they need not end.
    pub(in crate::test) faults_end_ns: Option<u64>,
}

/// Parses a corpus; returns the inputs that could be parsed, and diagnostics of the other lines.
pub(in crate::test) fn parse(
    file: FileId,
    text: &str,
    limits: &Limits<'_>,
) -> (Vec<Input>, Vec<Diagnostic>) {
    let (mut inputs, mut found) = (Vec::new(), Vec::new());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let place = Place { file, start, line };
        start += line.len();
        let content = line.split('#').next().unwrap_or("").trim_end();
        if content.is_empty() {
            continue;
        }
        let input = place.input(content).and_then(|input| {
            let is_full = inputs.len() >= ENTRIES_MAX;
            if is_full { Err(place.too_many()) } else { place.fitting(input, limits) }
        });
        match input {
            Ok(input) => inputs.push(input),
            Err(wrong) => {
                if !add_limited(&mut found, DIAGNOSTICS_MAX, wrong) {
                    break;
                }
            }
        }
    }
    (inputs, found)
}

/// A line of the file.
struct Place<'t> {
    file: FileId,
    start: usize,
    line: &'t str,
}

impl Place<'_> {
    /// The word at an offset.
    fn word(&self, offset: usize) -> Span {
        let rest = self.line.get(offset..).unwrap_or("");
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let place = |at| u32::try_from(self.start + at).unwrap_or(u32::MAX);
        Span { file: self.file, start: place(offset), end: place(offset + length) }
    }

    /// The first word that is this one.
    fn named(&self, name: &str) -> Span {
        let found = PhaseWords::new(self.line).find(|(_, word)| *word == name);
        self.word(found.map_or(0, |(offset, _)| offset))
    }

    fn input(&self, content: &str) -> Result<Input, Diagnostic> {
        let mut words = PhaseWords::new(content);
        read(&mut words).map_err(|error| {
            let form =
                "a run is `nodes N seed S [FAULT VALUE]... [then T seed S [FAULT VALUE]...]...`";
            Diagnostic::error("corpus-syntax", self.word(error.offset), error.to_string())
                .help(form)
        })
    }

    fn too_many(&self) -> Diagnostic {
        let message = format!("a corpus has at most {ENTRIES_MAX} runs");
        Diagnostic::error("corpus-size", self.word(0), message).help("remove some lines")
    }

    /// The input, if it fits the test.
    fn fitting(&self, input: Input, limits: &Limits<'_>) -> Result<Input, Diagnostic> {
        let unfit = |at, message: String| Diagnostic::error("corpus-unfit", at, message);
        let another = "another test needs a corpus of its own";
        let (least, most) = (limits.nodes.start(), limits.nodes.end());
        if !limits.nodes.contains(&input.nodes) {
            let message = format!("{} nodes, but runs have {least} to {most}", input.nodes);
            let help = format!("allow it by --nodes; {another}");
            return Err(unfit(self.named("nodes"), message).help(help));
        }
        let phases = || input.then.iter().map(|phase| &phase.faults);
        let has =
            |kind: Fault| std::iter::once(&input.faults).chain(phases()).any(|it| kind.is_in(it));
        if let Some(kind) =
            Fault::ALL.into_iter().find(|kind| has(*kind) && !limits.faults.has(*kind))
        {
            let message = format!("the fault {} is not among those of this test", kind.name());
            let help = format!("allow it by --faults; {another}");
            return Err(unfit(self.named(kind.option()), message).help(help));
        }
        let then = || self.named("then");
        if input.then.len() > PHASES_MAX {
            let message = format!("a run has at most {PHASES_MAX} phases after the first");
            return Err(unfit(then(), message));
        }
        let mut before_ns = 0;
        for phase in &input.then {
            let from = seconds_text(phase.from_ns);
            if phase.from_ns <= before_ns {
                let message = format!("the phase of {from} s comes after a later one");
                return Err(unfit(then(), message).help("phases come in order of time"));
            }
            if let Some(end_ns) = limits.faults_end_ns.filter(|end| phase.from_ns >= *end) {
                let end = seconds_text(end_ns);
                let message = format!("the phase of {from} s never begins: faults end at {end} s");
                return Err(unfit(then(), message).help(format!("make runs longer; {another}")));
            }
            before_ns = phase.from_ns;
        }
        Ok(input)
    }
}

fn read(words: &mut PhaseWords<'_>) -> Result<Input, PhaseError> {
    words.expect("nodes", "`nodes N`")?;
    let nodes = words.read(script::nodes)?;
    let (seed, faults): (u64, FaultOptions) = words.seeded()?;
    let mut then = Vec::new();
    while !words.peek().1.is_empty() {
        words.expect("then", "`then T`")?;
        then.push(words.phase()?);
    }
    Ok(Input { nodes, seed, faults, then })
}

/// The text of a corpus, each input below the names of what it is kept for.
pub(in crate::test) fn print<'c>(
    entries: impl IntoIterator<Item = (&'c Input, Vec<String>)>,
) -> String {
    let mut text = HEADER.to_owned();
    for (input, names) in entries {
        // Writing to a string cannot fail.
        if !names.is_empty() {
            let shown = names.len().min(NAMED_MAX);
            let _ = write!(text, "# Kept for: {}", names[..shown].join(", "));
            let more = names.len() - shown;
            let _ = if more > 0 { writeln!(text, " and {more} more") } else { writeln!(text) };
        }
        let _ = writeln!(text, "{input}");
    }
    text
}

#[cfg(test)]
mod tests {
    use tidemill_diag::Sources;
    use tidemill_stdx::rng::Rng;

    use super::*;
    use crate::sim::Phase;

    fn check(text: &str, faults: &Faults) -> (Vec<Input>, String) {
        let mut sources = Sources::new();
        let file = sources.add("corpus", text);
        let limits = Limits { nodes: 1..=5, faults, faults_end_ns: Some(40_000_000_000) };
        let (inputs, found) = parse(file, text, &limits);
        (inputs, found.iter().map(|one| sources.render(one)).collect())
    }

    /// An input of random faults and phases.
    fn drawn(random: &mut Rng) -> Input {
        let faults = |random: &mut Rng| Faults::swarm().draw(&Rng::new(random.next_u64()));
        let mut from_ns = 0;
        let then = (0..random.below(PHASES_MAX as u64 + 1)).map(|_| {
            from_ns += random.range(1..=2_000) * 1_000_000;
            let faults = FaultOptions { skew_ns: None, ..faults(random) };
            Phase { from_ns, seed: random.next_u64(), faults }
        });
        let then: Vec<Phase> = then.collect();
        let nodes = random.range(1..=5) as u32;
        Input { nodes, seed: random.next_u64(), faults: faults(random), then }
    }

    #[test]
    fn what_is_printed_is_read_as_it_was() {
        let mut random = Rng::new(1);
        let inputs: Vec<Input> = (0..200).map(|_| drawn(&mut random)).collect();
        let names = |number: usize| (0..number % 9).map(|it| format!("r{it} derived")).collect();
        let text = print(inputs.iter().enumerate().map(|(number, input)| (input, names(number))));
        assert!(text.contains("# Kept for: r0 derived, r1 derived\nnodes "), "{text}");
        assert!(text.contains("r5 derived and 2 more\nnodes "), "{text}");
        let (read, errors) = check(&text, &Faults::swarm());
        assert_eq!(errors, "");
        assert_eq!(read, inputs);
    }

    #[test]
    fn what_is_wrong_has_its_place_and_help() {
        let cases = [
            ("seed 1", "corpus:1:1: error[corpus-syntax]: expected `nodes N`, found `seed`"),
            ("nodes 0 seed 1", "corpus:1:7: error[corpus-syntax]: `0` is no number of nodes"),
            ("nodes 1 seed 1 los 1", "corpus:1:16: error[corpus-syntax]: `los` is no fault: is"),
            ("nodes 1 seed 1 then", "corpus:1:20: error[corpus-syntax]: expected a time"),
            ("nodes 1 seed 1 then 5 seed", "corpus:1:27: error[corpus-syntax]: expected a seed"),
            ("nodes 1 # b\n", "corpus:1:8: error[corpus-syntax]: expected `seed S`, found the end"),
            ("nodes 6 seed 1", "corpus:1:1: error[corpus-unfit]: 6 nodes, but runs have 1 to 5"),
            ("nodes 1 seed 1 churn 9", "corpus:1:16: error[corpus-unfit]: the fault churn is not"),
            (
                "nodes 1 seed 1 then 5 seed 2 then 5 seed 3",
                "corpus:1:16: error[corpus-unfit]: the phase of 5 s comes after a later one",
            ),
            (
                "nodes 1 seed 1 then 40 seed 2",
                "corpus:1:16: error[corpus-unfit]: the phase of 40 s never begins",
            ),
        ];
        let faults = Faults::parse("loss,clock").expect("faults");
        for (line, start) in cases {
            let (inputs, errors) = check(line, &faults);
            assert!(errors.starts_with(start) && inputs.is_empty(), "{line}\n{errors}\n{start}");
        }
        let (inputs, errors) = check("# a\n\nnodes 1 seed 7 skew 1 # b\nx\ny", &faults);
        assert_eq!((inputs.len(), errors.matches("error[").count()), (1, 2), "{errors}");
        let many = "nodes 1 seed 1\n".repeat(ENTRIES_MAX + 1);
        let (inputs, errors) = check(&many, &faults);
        assert_eq!(inputs.len(), ENTRIES_MAX);
        assert!(errors.starts_with("corpus:1001:1: error[corpus-size]"), "{errors}");
    }

    /// Lines with random changes are read, or have errors; what is read is printed as it is read.
    #[test]
    fn hostile_lines_are_read_or_refused() {
        let (mut random, faults) = (Rng::new(2), Faults::swarm());
        let (mut read, mut refused) = (0, 0);
        for _ in 0..5_000 {
            let mut text = print([(&drawn(&mut random), Vec::new())]).into_bytes();
            for _ in 0..random.range(1..=4) {
                let at = random.below(text.len() as u64) as usize;
                match random.below(4) {
                    0 => text[at] = *random.pick(b"0 9.#\nathens\xc3").unwrap_or(&b' '),
                    1 if text.len() > 1 => drop(text.remove(at)),
                    2 => text.truncate(at.max(1)),
                    _ => {
                        let piece = text[at..(at + 9).min(text.len())].to_vec();
                        let to = random.below(text.len() as u64) as usize;
                        text.splice(to..to, piece);
                    }
                }
            }
            let text = String::from_utf8_lossy(&text);
            let (inputs, errors) = check(&text, &faults);
            let again = print(inputs.iter().map(|input| (input, Vec::new())));
            assert_eq!(check(&again, &faults).0, inputs, "{text}");
            read += inputs.len();
            refused += usize::from(!errors.is_empty());
        }
        assert!(read > 500 && refused > 500, "{read} {refused}");
    }
}
