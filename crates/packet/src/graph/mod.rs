//! Graphs: which apps there are and which links join them.
//!
//! A [`Graph`] is data, made from a `.flow` file or by code. It is printed as a `.flow` file that
//! reads back as the same graph, and [`Graph::verify`] lists its errors; the engine takes none that
//! has any.

mod order;
mod verify;

use std::fmt;

use crate::app::{Config, Declaration};

pub use verify::{Problem, Subject};

/// Apps of a graph at most.
pub const APPS_MAX: usize = 100_000;

/// An app of a graph.
#[derive(Clone, Debug)]
pub struct AppSpec {
    /// Its name; no other app of the graph has it.
    pub name: String,
    /// Its type.
    pub kind: &'static Declaration,
    /// Its config in the graph.
    pub config: Config,
}

impl PartialEq for AppSpec {
    fn eq(&self, other: &AppSpec) -> bool {
        self.name == other.name && self.kind == other.kind && self.config == other.config
    }
}

/// One end of a link: a port of an app.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// The app's position in [`Graph::apps`].
    pub app: usize,
    /// The port's name.
    pub port: String,
}

/// A link of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkSpec {
    /// The output of the packets.
    pub from: End,
    /// The input that they go to.
    pub to: End,
}

/// Apps and links.
///
/// ```
/// use tidemill_packet::app::{App, Catalogue, Config, Declared, Fault, Start};
/// use tidemill_packet::graph::Graph;
///
/// tidemill_packet::declare! {
///     /// Has both ends.
///     app Both {
///         config BothConfig {}
///         ports {
///             /// In.
///             input: Input(Push, Optional),
///             /// Out.
///             output: Output(Push, Optional),
///         }
///         traits {}
///     }
/// }
/// struct Both;
/// impl App for Both {
///     fn new(_: BothConfig, _: &mut Start) -> Result<Both, Fault> {
///         Ok(Both)
///     }
/// }
///
/// let mut graph = Graph::new();
/// let a = graph.app("a", Both::declaration(), Config::new());
/// let b = graph.app("b", Both::declaration(), Config::new());
/// graph.link((a, "output"), (b, "input"));
/// assert_eq!(graph.to_string(), "a :: Both\nb :: Both\n\na.output -> b.input\n");
/// assert_eq!(graph.verify(), []);
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// The apps.
    pub apps: Vec<AppSpec>,
    /// The links.
    pub links: Vec<LinkSpec>,
}

impl Graph {
    /// No apps.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Adds an app; its position.
    pub fn app(&mut self, name: &str, kind: &'static Declaration, config: Config) -> usize {
        self.apps.push(AppSpec { name: name.to_owned(), kind, config });
        self.apps.len() - 1
    }

    /// Adds a link from an output to an input.
    pub fn link(&mut self, from: (usize, &str), to: (usize, &str)) {
        let end = |(app, port): (usize, &str)| End { app, port: port.to_owned() };
        self.links.push(LinkSpec { from: end(from), to: end(to) });
    }

    /// The position of an app.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.apps.iter().position(|app| app.name == name)
    }

    /// The name of a link: `src.output->acl.input`.
    pub fn link_name(&self, link: &LinkSpec) -> String {
        format!("{}->{}", self.end_name(&link.from), self.end_name(&link.to))
    }

    /// The name of an end: `src.output`.
    pub fn end_name(&self, end: &End) -> String {
        let app = self.apps.get(end.app).map_or("?", |app| app.name.as_str());
        format!("{app}.{}", end.port)
    }
}

/// As a `.flow` file: definitions of apps, then apps in their order, then links in theirs.
impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut defined: Vec<&str> = Vec::new();
        for source in self.apps.iter().filter_map(|app| app.kind.source) {
            if !defined.contains(&source) {
                defined.push(source);
                writeln!(f, "{source}\n")?;
            }
        }
        for app in &self.apps {
            writeln!(f, "{app}")?;
        }
        if !self.apps.is_empty() && !self.links.is_empty() {
            writeln!(f)?;
        }
        for link in &self.links {
            writeln!(f, "{} -> {}", self.end_name(&link.from), self.end_name(&link.to))?;
        }
        Ok(())
    }
}

impl fmt::Display for AppSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} :: {}", self.name, self.kind.name)?;
        for (i, (key, value)) in self.config.entries().enumerate() {
            write!(f, "{} {key}: {value}", if i == 0 { " {" } else { "," })?;
        }
        if self.config.is_empty() { Ok(()) } else { f.write_str(" }") }
    }
}
