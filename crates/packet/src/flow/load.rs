//! From files to a graph.

use std::io;
use std::path::{Path, PathBuf};

use tidemill_diag::{Diagnostic, FileId, Sources, Span, has_errors, meant};
use tidemill_stdx::hash::{Map, Set};

use super::code::app::declare;
use super::code::ast::Definition;
use super::parse::{Item, Stop, Word, Written, parse, parse_definition, parse_value};
use crate::app::{Catalogue, Config, Count, Declaration, Direction, Value};
use crate::graph::{End, Graph, LinkSpec, Problem, Subject};
use crate::kernel::table::spec::TableSpec;

/// Files within files.
const INCLUDE_DEPTH_MAX: usize = 32;

/// Files of one graph.
const FILES_MAX: usize = 1000;

/// Bytes of a file; spans count in 32 bits.
const FILE_BYTES_MAX: usize = 1 << 30;

/// The options of the command line for a graph's sources.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// `-D NAME=VALUE`, as one string each. A value that is none of the language is a text.
    pub defines: Vec<String>,
    /// Where included files are looked for besides the folder of the including file.
    pub include_dirs: Vec<PathBuf>,
}

/// A loaded graph.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The graph; nothing if there are errors.
    pub graph: Option<Graph>,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Where the apps of the graph are declared, in its order.
    pub apps: Vec<Span>,
    /// The tables of its apps.
    pub tables: Vec<AppTable>,
}

/// A table of an app whose type the files define.
#[derive(Clone, Debug)]
pub struct AppTable {
    /// The app, by its position in the graph.
    pub app: usize,
    /// The declaration of the table.
    pub spec: TableSpec,
    /// Where.
    pub span: Span,
}

/// Loads the files of one graph. Every error is a diagnostic.
pub fn load(
    files: &[PathBuf],
    options: &Options,
    catalogue: &Catalogue,
    sources: &mut Sources,
) -> Loaded {
    let mut loader = Loader::new(options, catalogue, sources);
    for path in files {
        let name = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => loader.file(&name, text, path.parent().unwrap_or(Path::new(""))),
            Err(error) => {
                let file = loader.sources.add(name, "");
                let span = Span { file, start: 0, end: 0 };
                let message = format!("cannot read the file: {error}");
                loader.found.push(Diagnostic::error("file-unreadable", span, message));
            }
        }
    }
    loader.finish()
}

/// Loads a graph from a text, which diagnostics call `name`.
///
/// ```
/// use tidemill_packet::app::Catalogue;
/// use tidemill_packet::flow::{Options, load_text};
/// use tidemill_diag::Sources;
///
/// let mut sources = Sources::new();
/// let text = "src :: Sourse { packets: 10 }";
/// let (options, catalogue) = (Options::default(), Catalogue::default());
/// let loaded = load_text("a.flow", text, &options, &catalogue, &mut sources);
/// let found = sources.render(&loaded.diagnostics[0]);
/// assert!(found.starts_with("a.flow:1:8: error[unknown-type]: there is no app type `Sourse`"));
/// ```
pub fn load_text(
    name: &str,
    text: &str,
    options: &Options,
    catalogue: &Catalogue,
    sources: &mut Sources,
) -> Loaded {
    let mut loader = Loader::new(options, catalogue, sources);
    loader.file(name, text.to_owned(), Path::new(""));
    loader.finish()
}

/// The spans of the words of a graph, for diagnostics.
#[derive(Default)]
struct Places {
    /// The name of each app.
    apps: Vec<Span>,
    /// The value of each key.
    keys: Map<(usize, String), Span>,
    /// Both ends of each link.
    links: Vec<(Span, Span)>,
    /// The apps whose config lacks a value that has been reported.
    unread: Set<usize>,
}

/// Problems of a graph that no other mistake leads to. So is a missing key, unless something could
/// not be read.
const STANDS: [&str; 4] = ["no-such-key", "bad-value", "no-such-port", "two-links"];

struct Loader<'l> {
    options: &'l Options,
    catalogue: &'l Catalogue,
    sources: &'l mut Sources,
    /// Set by the command line, which wins.
    given: Map<String, Value>,
    defined: Map<String, (Value, Span)>,
    chains: Vec<Vec<Stop>>,
    /// App types that the files define.
    types: Map<String, (&'static Declaration, Span)>,
    /// The tables that each of them declares.
    tables: Map<String, Vec<(TableSpec, Span)>>,
    found: Vec<Diagnostic>,
    open: Vec<PathBuf>,
    files: usize,
    /// The first file.
    first: Option<FileId>,
}

impl<'l> Loader<'l> {
    fn new(options: &'l Options, catalogue: &'l Catalogue, sources: &'l mut Sources) -> Self {
        let mut given = Map::default();
        for define in &options.defines {
            let (name, text) = define.split_once('=').unwrap_or((define, "true"));
            let value = parse_value(text).unwrap_or_else(|| Value::Text(text.to_owned()));
            given.insert(name.to_owned(), value);
        }
        Loader {
            options,
            catalogue,
            sources,
            given,
            defined: Map::default(),
            chains: Vec::new(),
            types: Map::default(),
            tables: Map::default(),
            found: Vec::new(),
            open: Vec::new(),
            files: 0,
            first: None,
        }
    }

    fn file(&mut self, name: &str, text: String, folder: &Path) {
        self.files += 1;
        let is_large = text.len() > FILE_BYTES_MAX;
        let file = self.sources.add(name, if is_large { String::new() } else { text });
        self.first.get_or_insert(file);
        if is_large {
            let span = Span { file, start: 0, end: 0 };
            self.found.push(Diagnostic::error("file-too-large", span, "the file is too large"));
            return;
        }
        let parsed = parse(file, self.sources.text(file));
        self.found.extend(parsed.diagnostics);
        for (start, item) in parsed.items {
            match item {
                Item::Include(path) => self.include(&path, folder),
                Item::Define(name, value) => self.define(name, &value),
                Item::App(definition) => {
                    let definition = self.with_values(*definition, file, start as usize);
                    self.define_app(&definition);
                }
                Item::Chain(stops) => self.chains.push(stops),
            }
        }
    }

    fn include(&mut self, wanted: &Word, folder: &Path) {
        if self.open.len() >= INCLUDE_DEPTH_MAX || self.files >= FILES_MAX {
            let message = "files include each other too deeply, or too many are included";
            return self.found.push(Diagnostic::error("too-many-files", wanted.span, message));
        }
        let folders = std::iter::once(folder.to_owned()).chain(self.options.include_dirs.clone());
        let mut error = io::Error::from(io::ErrorKind::NotFound);
        for path in folders.map(|folder| folder.join(&wanted.text)) {
            match std::fs::read_to_string(&path) {
                Ok(text) => {
                    if self.open.contains(&path) {
                        let message = "this file includes itself";
                        let cycle = Diagnostic::error("include-cycle", wanted.span, message);
                        return self.found.push(cycle);
                    }
                    self.open.push(path.clone());
                    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
                    self.file(&path.display().to_string(), text, &folder);
                    self.open.pop();
                    return;
                }
                Err(new) if new.kind() == io::ErrorKind::NotFound => {}
                Err(new) => error = new,
            }
        }
        let message = format!("cannot include `{}`: {error}", wanted.text);
        let diagnostic = Diagnostic::error("file-unreadable", wanted.span, message);
        self.found.push(diagnostic.help("it is looked for beside this file and in -I folders"));
    }

    fn define(&mut self, name: Word, value: &Written) {
        let Some(value) = self.value(value) else { return };
        if let Some((_, before)) = self.defined.get(&name.text) {
            let message = format!("parameter `{}` is defined twice", name.text);
            let twice = Diagnostic::error("duplicate-parameter", name.span, message);
            self.found.push(twice.label(*before, "here first"));
        }
        self.defined.insert(name.text, (value, name.span));
    }

    /// A definition, with values for its parameters.
    fn with_values(&mut self, definition: Definition, file: FileId, start: usize) -> Definition {
        let mut values = Map::default();
        for name in &definition.parameters {
            if let Some(value) = self.value(&Written::Parameter(name.clone())) {
                values.insert(name.text.clone(), value);
            }
        }
        if definition.parameters.is_empty() {
            return definition;
        }
        let place = start..start + definition.source.len();
        let (made, found) = parse_definition((file, self.sources.text(file)), place, &values);
        // The rest has been found without values.
        let new = found.into_iter().filter(|one| !self.found.contains(one));
        let new: Vec<Diagnostic> = new.collect();
        self.found.extend(new);
        // Its documentation is before its place.
        let about = definition.about.clone();
        made.map_or(definition, |made| Definition { about, ..made })
    }

    fn define_app(&mut self, definition: &Definition) {
        let name = &definition.name;
        let before = self.types.get(&name.text).map(|(_, span)| *span);
        if before.is_some() || self.catalogue.get(&name.text).is_some() {
            let message = format!("there is an app type `{}` already", name.text);
            let mut twice = Diagnostic::error("duplicate-type", name.span, message);
            if let Some(before) = before {
                twice = twice.label(before, "here first");
            }
            self.found.push(twice);
        }
        let (declaration, tables, found) = declare(definition);
        self.found.extend(found);
        let places = definition.tables.iter().map(|table| table.name.span);
        self.tables.insert(name.text.clone(), tables.into_iter().zip(places).collect());
        self.types.insert(name.text.clone(), (declaration, name.span));
    }

    fn value(&mut self, written: &Written) -> Option<Value> {
        match written {
            Written::Literal(value) => Some(value.clone()),
            Written::List(values) => {
                let values: Vec<Option<Value>> =
                    values.iter().map(|value| self.value(value)).collect();
                values.into_iter().collect::<Option<Vec<Value>>>().map(Value::List)
            }
            Written::Parameter(name) => {
                let defined = self.defined.get(&name.text).map(|(value, _)| value);
                let value = self.given.get(&name.text).or(defined).cloned();
                if value.is_none() {
                    let message = format!("parameter `{}` is not defined", name.text);
                    let help = format!("say -D {}=VALUE, or #define {0} value above", name.text);
                    let unknown = Diagnostic::error("unknown-parameter", name.span, message);
                    self.found.push(unknown.help(help));
                }
                value
            }
        }
    }

    fn finish(mut self) -> Loaded {
        let (mut graph, mut places) = (Graph::new(), Places::default());
        let is_read = !has_errors(&self.found);
        let chains = std::mem::take(&mut self.chains);
        let mut names = Map::default();
        for stop in chains.iter().flatten() {
            self.declare(stop, &mut names, &mut graph, &mut places);
        }
        for chain in &chains {
            self.link(chain, &names, &mut graph, &mut places);
        }
        // What is missing may be missing because of an earlier error; only other errors are
        // reported.
        let is_whole = !has_errors(&self.found);
        let stands = |problem: &Problem| match problem.place {
            Subject::App(at) if problem.code == "bad-config" => {
                is_read && !places.unread.contains(&at)
            }
            _ => STANDS.contains(&problem.code),
        };
        let problems = graph.verify().into_iter();
        let problems = problems.filter(|problem| is_whole || stands(problem));
        self.found.extend(problems.map(|problem| report(problem, &places)));
        if graph.apps.is_empty() && !has_errors(&self.found) {
            let span = Span { file: self.first.unwrap_or(FileId(0)), start: 0, end: 0 };
            let empty = Diagnostic::warning("empty-graph", span, "there are no apps");
            self.found.push(empty);
        }
        let tables = graph.apps.iter().enumerate().flat_map(|(app, spec)| {
            let own = self.tables.get(spec.kind.name).filter(|_| spec.kind.source.is_some());
            let own = own.into_iter().flatten();
            own.map(move |(spec, span)| AppTable { app, spec: spec.clone(), span: *span })
        });
        let tables = tables.collect();
        let graph = (!has_errors(&self.found)).then_some(graph);
        Loaded { graph, diagnostics: self.found, apps: places.apps, tables }
    }

    fn declare(
        &mut self,
        stop: &Stop,
        names: &mut Map<String, Option<usize>>,
        graph: &mut Graph,
        places: &mut Places,
    ) {
        let Some(declares) = &stop.declares else { return };
        let name = &stop.app;
        if let Some(before) = names.get(&name.text) {
            let message = format!("there are two apps `{}`", name.text);
            let mut twice = Diagnostic::error("duplicate-app", name.span, message);
            if let Some(before) = before {
                twice = twice.label(places.apps[*before], "here first");
            }
            return self.found.push(twice);
        }
        let own = self.types.get(&declares.kind.text).map(|(kind, _)| *kind);
        let kind = own.or_else(|| self.catalogue.get(&declares.kind.text));
        names.insert(name.text.clone(), kind.map(|_| graph.apps.len()));
        let Some(kind) = kind else { return self.unknown_type(&declares.kind) };
        let (app, mut config) = (graph.apps.len(), Config::new());
        for entry in &declares.entries {
            let Some(value) = self.value(&entry.value) else {
                places.unread.insert(app);
                continue;
            };
            if let Some(before) = places.keys.get(&(app, entry.key.text.clone())) {
                let message = format!("`{}` is given twice", entry.key.text);
                let twice = Diagnostic::error("duplicate-key", entry.key.span, message);
                self.found.push(twice.label(*before, "here first"));
            }
            let is_known = kind.keys.iter().any(|key| key.name == entry.key.text);
            let span = if is_known { entry.span } else { entry.key.span };
            places.keys.insert((app, entry.key.text.clone()), span);
            config.set(&entry.key.text, value);
        }
        places.apps.push(name.span);
        graph.app(&name.text, kind, config);
    }

    fn unknown_type(&mut self, kind: &Word) {
        let message = format!("there is no app type `{}`", kind.text);
        let types = self.catalogue.types().iter().map(|one| one.name);
        let own = self.types.keys().map(String::as_str);
        let help =
            meant(&kind.text, types.chain(own), || "`tidemill apps` lists the types".to_owned());
        self.found.push(Diagnostic::error("unknown-type", kind.span, message).help(help));
    }

    fn link(
        &mut self,
        chain: &[Stop],
        names: &Map<String, Option<usize>>,
        graph: &mut Graph,
        places: &mut Places,
    ) {
        let middle = chain.len().saturating_sub(1).max(1);
        for stop in chain.get(1..middle).unwrap_or_default() {
            if let Some(port) = &stop.port {
                let message = "in the middle of a chain a port may be its input or its output";
                let unclear = Diagnostic::error("port-in-chain", port.span, message);
                let app = &stop.app.text;
                let help =
                    format!("write two chains: `... -> {app}.input` and `{app}.output -> ...`");
                self.found.push(unclear.help(help));
                return;
            }
        }
        for pair in chain.windows(2) {
            let [from, to] = pair else { continue };
            let apps = (self.app(from, names), self.app(to, names));
            let (Some(a), Some(b)) = apps else { continue };
            let from_port = self.port(graph, a, Direction::Output, from, &to.app.text);
            let to_port = self.port(graph, b, Direction::Input, to, &from.app.text);
            let (Some((from_port, from_span)), Some((to_port, to_span))) = (from_port, to_port)
            else {
                continue;
            };
            let (from, to) = (End { app: a, port: from_port }, End { app: b, port: to_port });
            graph.links.push(LinkSpec { from, to });
            places.links.push((from_span, to_span));
        }
    }

    fn app(&mut self, stop: &Stop, names: &Map<String, Option<usize>>) -> Option<usize> {
        match names.get(&stop.app.text) {
            // Of a type that is unknown, which has been reported.
            Some(app) => *app,
            None => {
                let message = format!("there is no app `{}`", stop.app.text);
                let help = meant(&stop.app.text, names.keys().map(String::as_str), || {
                    format!("declare it: `{} :: Type`", stop.app.text)
                });
                let unknown = Diagnostic::error("unknown-app", stop.app.span, message).help(help);
                // A stop in the middle of a chain is looked up twice.
                if !self.found.contains(&unknown) {
                    self.found.push(unknown);
                }
                None
            }
        }
    }

    /// The port of one end: the one named, or the one that fits.
    fn port(
        &mut self,
        graph: &Graph,
        app: usize,
        direction: Direction,
        stop: &Stop,
        neighbour: &str,
    ) -> Option<(String, Span)> {
        if let Some(port) = &stop.port {
            return Some((port.text.clone(), stop.app.span.to(port.span)));
        }
        let kind = graph.apps[app].kind;
        match the_port(kind, direction) {
            Fits::One(name) => Some((name.to_owned(), stop.app.span)),
            Fits::AnyName => Some((free_name(graph, app, direction, neighbour), stop.app.span)),
            Fits::Several(names) => {
                let word = if direction == Direction::Input { "inputs" } else { "outputs" };
                let message = match names.as_slice() {
                    [] => format!("{} has no {word}", kind.name),
                    _ => format!("{} has several {word}", kind.name),
                };
                let unclear = Diagnostic::error("which-port", stop.app.span, message);
                let name = &stop.app.text;
                self.found.push(match names.as_slice() {
                    [] => unclear,
                    [first, ..] => unclear
                        .help(format!("name one: {name}.{first}; there are {}", names.join(", "))),
                });
                None
            }
        }
    }
}

enum Fits {
    One(&'static str),
    AnyName,
    Several(Vec<&'static str>),
}

fn the_port(kind: &'static Declaration, direction: Direction) -> Fits {
    let of = |count: Option<Count>| -> Vec<&'static str> {
        let is = |port: &&crate::app::Port| count.is_none_or(|count| port.count == count);
        kind.ports(direction).filter(is).map(|port| port.name).collect()
    };
    let all = of(None);
    match (all.as_slice(), of(Some(Count::Many)).as_slice(), of(Some(Count::One)).as_slice()) {
        ([_], [_], _) => Fits::AnyName,
        ([one], ..) | (_, _, [one]) => Fits::One(one),
        _ => Fits::Several(all),
    }
}

/// A port called after the app at the other end.
fn free_name(graph: &Graph, app: usize, direction: Direction, neighbour: &str) -> String {
    let taken = |name: &str| {
        graph.links.iter().any(|link| {
            let end = if direction == Direction::Input { &link.to } else { &link.from };
            end.app == app && end.port == name
        })
    };
    if !taken(neighbour) {
        return neighbour.to_owned();
    }
    (2..)
        .map(|number| format!("{neighbour}_{number}"))
        .find(|name| !taken(name))
        .unwrap_or_default()
}

/// A problem of the graph as a finding in its source.
fn report(problem: Problem, places: &Places) -> Diagnostic {
    let nowhere = Span { file: FileId(0), start: 0, end: 0 };
    let app = |at: usize| places.apps.get(at).copied().unwrap_or(nowhere);
    let link = |at: usize| places.links.get(at).copied().unwrap_or((nowhere, nowhere));
    let span = match &problem.place {
        Subject::App(at) => app(*at),
        Subject::Key(at, key) => {
            places.keys.get(&(*at, key.clone())).copied().unwrap_or_else(|| app(*at))
        }
        Subject::From(at) => link(*at).0,
        Subject::To(at) => link(*at).1,
    };
    let diagnostic = Diagnostic::error(problem.code, span, problem.message);
    match problem.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}
