//! What can be wrong with a graph.

use std::fmt;

use tidemill_stdx::hash::Map;

use super::{APPS_MAX, End, Graph};
use crate::app::{Count, Declaration, Direction, Port};

/// What of a graph a problem is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// An app, by position.
    App(usize),
    /// A config key of an app.
    Key(usize, String),
    /// The output end of a link, by position.
    From(usize),
    /// The input end of a link.
    To(usize),
}

/// Something wrong with a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where.
    pub place: Subject,
    /// Stable name of the class, for example `no-such-port`.
    pub code: &'static str,
    /// One sentence without a final period.
    pub message: String,
    /// A replacement.
    pub help: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Problem {
    fn new(place: Subject, code: &'static str, message: String) -> Problem {
        Problem { place, code, message, help: None }
    }

    fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }
}

impl Graph {
    /// All errors; empty, if an engine can run it.
    pub fn verify(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.apps.len() > APPS_MAX {
            let message = format!("a graph has at most {APPS_MAX} apps");
            return vec![Problem::new(Subject::App(APPS_MAX), "too-many-apps", message)];
        }
        self.verify_apps(&mut problems);
        self.verify_links(&mut problems);
        self.verify_ports(&mut problems);
        problems
    }

    fn verify_apps(&self, problems: &mut Vec<Problem>) {
        let mut names: Map<&str, usize> = Map::default();
        for (at, app) in self.apps.iter().enumerate() {
            if names.insert(&app.name, at).is_some() {
                let message = format!("there are two apps `{}`", app.name);
                problems.push(Problem::new(Subject::App(at), "duplicate-app", message));
            }
            for (key, message) in app.kind.check(&app.config) {
                let (place, code) = match &key {
                    Some(key) if app.kind.keys.iter().all(|known| known.name != key) => {
                        (Subject::Key(at, key.clone()), "no-such-key")
                    }
                    Some(key) => (Subject::Key(at, key.clone()), "bad-value"),
                    None => (Subject::App(at), "bad-config"),
                };
                let problem = Problem::new(place, code, format!("{}: {message}", app.name));
                problems.push(problem.help(keys_help(app.kind)));
            }
        }
    }

    fn verify_links(&self, problems: &mut Vec<Problem>) {
        for (at, link) in self.links.iter().enumerate() {
            self.verify_end(&link.from, Direction::Output, Subject::From(at), problems);
            self.verify_end(&link.to, Direction::Input, Subject::To(at), problems);
        }
    }

    fn verify_end(
        &self,
        end: &End,
        direction: Direction,
        place: Subject,
        problems: &mut Vec<Problem>,
    ) {
        let Some(app) = self.apps.get(end.app) else {
            let message = format!("there is no app {}", end.app);
            return problems.push(Problem::new(place, "no-such-app", message));
        };
        if app.kind.port(direction, &end.port).is_none() {
            let word = word(direction);
            let kind = app.kind.name;
            let message = format!("{kind} has no {word} `{}`", end.port);
            let problem = Problem::new(place, "no-such-port", message);
            problems.push(problem.help(ports_help(app.kind, direction)));
        }
    }

    /// One link to a port, and one at least where it must be.
    fn verify_ports(&self, problems: &mut Vec<Problem>) {
        let mut taken: Map<(usize, Direction, &str), usize> = Map::default();
        for (at, link) in self.links.iter().enumerate() {
            let from = (link.from.app, Direction::Output, link.from.port.as_str());
            if taken.insert(from, at).is_some() {
                let message = format!("two links come from {}", self.end_name(&link.from));
                let problem = Problem::new(Subject::From(at), "two-links", message);
                problems.push(problem.help("put a Tee between: it has any number of outputs"));
            }
            let to = (link.to.app, Direction::Input, link.to.port.as_str());
            if taken.insert(to, at).is_some() {
                let message = format!("two links go to {}", self.end_name(&link.to));
                let problem = Problem::new(Subject::To(at), "two-links", message);
                problems.push(problem.help("put a Join between: it has any number of inputs"));
            }
        }
        for (at, app) in self.apps.iter().enumerate() {
            for port in app.kind.ports.iter().filter(|port| port.count == Count::One) {
                if !taken.contains_key(&(at, port.direction, port.name)) {
                    problems.push(unlinked(at, &app.name, port));
                }
            }
        }
    }
}

fn word(direction: Direction) -> &'static str {
    match direction {
        Direction::Input => "input",
        Direction::Output => "output",
    }
}

fn unlinked(at: usize, name: &str, port: &Port) -> Problem {
    let (word, port_name) = (word(port.direction), port.name);
    let message = format!("{word} `{port_name}` of `{name}` has no link");
    let problem = Problem::new(Subject::App(at), "port-without-link", message);
    problem.help(match port.direction {
        Direction::Input => format!("link something to it: ... -> {name}.{port_name}"),
        Direction::Output => format!("link it to something: {name}.{port_name} -> ..."),
    })
}

fn keys_help(kind: &Declaration) -> String {
    let names: Vec<&str> = kind.keys.iter().map(|key| key.name).collect();
    match names.as_slice() {
        [] => format!("{} has no keys", kind.name),
        names => format!("the keys of {} are {}", kind.name, names.join(", ")),
    }
}

fn ports_help(kind: &Declaration, direction: Direction) -> String {
    let names: Vec<&str> = kind.ports(direction).map(|port| port.name).collect();
    let word = word(direction);
    match names.as_slice() {
        [] => format!("{} has no {word}s", kind.name),
        [one] => format!("its {word} is {one}"),
        names => format!("its {word}s are {}", names.join(", ")),
    }
}
