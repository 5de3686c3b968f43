//! The tuples of the command line: `--fact` and `--inject`.

use tidemill::program::Program;
use tidemill::sim::node_number;
use tidemill::tuples::{self, Location};
use tidemill_diag::{Diagnostic, Sources as Texts, Span};
use tidemill_overlog::fleet::Extra;
use tidemill_relation::text::{TextError, parse_pattern};

use crate::args::Tuples;
use crate::report::Reporter;
use crate::status::Status;

/// The addresses of the nodes that are started, as far as they are known before.
#[derive(Clone, Debug)]
pub enum Addresses {
    /// Those of so many nodes of a simulation.
    Simulated(u32),
    /// That of one node.
    One(String),
    /// The system chooses them.
    Chosen,
}

impl Addresses {
    /// Of a run: the address that its node is given, that where it listens, or several nodes.
    pub fn of_run(given: Option<&str>, listen: Option<&str>, nodes: Option<u32>) -> Addresses {
        match given.or(listen) {
            _ if nodes.is_some() => Addresses::Chosen,
            // The system chooses the port.
            Some(address) if address.ends_with(":0") => Addresses::Chosen,
            Some(address) => Addresses::One(address.to_owned()),
            None => Addresses::One(tidemill::run::NODE.to_owned()),
        }
    }

    fn has(&self, address: &str) -> bool {
        match self {
            Addresses::Simulated(count) => node_number(address).is_some_and(|node| node < *count),
            Addresses::One(own) => own == address,
            Addresses::Chosen => true,
        }
    }

    /// What they are, in a sentence.
    fn help(&self) -> String {
        let are = match self {
            Addresses::Simulated(1) => "the only node is `n0:1`".to_owned(),
            Addresses::Simulated(count) => format!("the nodes are `n0:1` to `n{}:1`", count - 1),
            Addresses::One(own) => format!("the only node is `{own}`"),
            Addresses::Chosen => "the system chooses the addresses of the nodes".to_owned(),
        };
        format!("{are}; `NODE` is the address of each")
    }
}

/// The tuples of `--fact` and `--inject` for the rules of a program, in that order. Warns of those
/// that no node gets.
pub fn extra(
    given: &Tuples,
    program: &Program,
    addresses: &Addresses,
    report: Reporter,
) -> Result<Vec<Extra>, Status> {
    let facts = given.fact.iter().enumerate().map(|(at, text)| ("--fact", at, text));
    let injected = given.inject.iter().enumerate().map(|(at, text)| ("--inject", at, text));
    let origin = report.origin();
    let mut sources = origin.map(|origin| origin.sources.clone()).unwrap_or_default();
    let (mut extra, mut found, mut status) = (Vec::new(), Vec::new(), None);
    for (option, index, text) in facts.chain(injected) {
        let value = origin.and_then(|origin| origin.value(option, index));
        match tuple(program, text) {
            Ok(one) => {
                let message = one.as_ref().and_then(|one| nowhere(option, one, addresses));
                if let Some(message) = message {
                    let at = value.unwrap_or_else(|| whole(&mut sources, option, text));
                    let warning = Diagnostic::warning("fact-nowhere", at, message);
                    found.push(warning.help(addresses.help()));
                }
                extra.extend(one);
            }
            Err(WrongTuple { offset, message }) => {
                status = status.or(Some(Status::Failed));
                let offset = u32::try_from(offset).unwrap_or(u32::MAX);
                let span = match value {
                    // Within a text with escapes there is no place.
                    Some(at) if sources.slice(at) != text.as_str() => at,
                    Some(at) => Span { start: at.start.saturating_add(offset), ..at },
                    None => {
                        status = Some(Status::Usage);
                        let at = whole(&mut sources, option, text);
                        Span { start: offset, end: offset, ..at }
                    }
                };
                found.push(Diagnostic::error("tuple", span, message));
            }
        }
    }
    report.diagnostics(&sources, &found);
    status.map_or(Ok(extra), Err)
}

/// The place of the value of an option.
fn whole(sources: &mut Texts, option: &str, text: &str) -> Span {
    let file = sources.add(option, text.to_owned());
    Span { file, start: 0, end: u32::try_from(text.len()).unwrap_or(u32::MAX) }
}

/// Why no node gets a tuple, if so.
fn nowhere(option: &str, tuple: &Extra, addresses: &Addresses) -> Option<String> {
    let what = if option == "--fact" { "fact" } else { "event" };
    match tuples::location(tuple) {
        Location::Nowhere => Some(format!("no node has this {what}: its location is no address")),
        Location::At(address) if !addresses.has(address) => {
            Some(format!("no node has this {what}: none has the address `{address}`"))
        }
        Location::At(_) | Location::AtNodes => None,
    }
}

/// What is wrong with a tuple, and where in its text.
struct WrongTuple {
    offset: usize,
    message: String,
}

/// A tuple for the rules of a program, if it has any.
fn tuple(program: &Program, text: &str) -> Result<Option<Extra>, WrongTuple> {
    let Some(rules) = &program.rules.program else { return Ok(None) };
    let malformed = |error: TextError| WrongTuple { offset: error.offset, message: error.message };
    let unsuited =
        |unsuited: tuples::Unsuited| WrongTuple { offset: 0, message: unsuited.to_string() };
    let pattern = parse_pattern(text).map_err(malformed)?;
    let relation = tuples::writable_of(&rules.plan, &pattern).map_err(unsuited)?;
    if let Some(name) = program.borders.fills(relation) {
        return Err(unsuited(tuples::Unsuited::System { name }));
    }
    let columns = tuples::expressions(&pattern).ok_or(tuples::Unsuited::Wildcard);
    let columns = columns.map_err(unsuited)?;
    let location = tuples::location_of(&rules.plan, relation, &pattern);
    Ok(Some(Extra { relation, columns, location }))
}
