//! Loads files of all kinds, and texts, as a program.

use std::path::{Path, PathBuf};

use tidemill_diag::{Diagnostic, Span};
use tidemill_packet::flow;
use tidemill_wire::proto;

use super::{FileKind, Kinds, LoadOptions, Parsed, Program};
use crate::borders::schemas::Schemas;
use crate::packets;

impl Program {
    /// Loads the files of one program.
    ///
    /// ```no_run
    /// use tidemill::program::{LoadOptions, Program};
    ///
    /// let files = ["monitor.olg".into(), "probe.com".into(), "edge.flow".into()];
    /// let program = Program::load(&files, &LoadOptions::default());
    /// for found in &program.diagnostics {
    ///     eprint!("{}", program.sources.render(found));
    /// }
    /// ```
    pub fn load(files: &[PathBuf], options: &LoadOptions) -> Program {
        Parsed::read(files, options).into_program()
    }

    /// Loads one file's text, named `name` in diagnostics; its ending determines its kind.
    ///
    /// ```
    /// use tidemill::program::{LoadOptions, Program};
    ///
    /// let text = "r1 pong(@N, X) :- ping(@N, X). watch(pong).";
    /// let program = Program::of_text("ping.olg", text, &LoadOptions::default());
    /// assert!(!program.has_errors());
    /// ```
    pub fn of_text(name: &str, text: &str, options: &LoadOptions) -> Program {
        Program::of_texts(&[(name, text)], options)
    }

    /// Loads texts of several kinds, one of rules and one of packet graphs at most.
    pub fn of_texts(texts: &[(&str, &str)], options: &LoadOptions) -> Program {
        let names: Vec<&str> = texts.iter().map(|(name, _)| *name).collect();
        let mut program = Program { kinds: Kinds::of(&names), ..Program::default() };
        let of = |kind| {
            texts.iter().filter(move |(name, _)| FileKind::of(Path::new(name)) == Some(kind))
        };
        let schemas: Vec<&str> = of(FileKind::Schemas).map(|(name, _)| *name).collect();
        if !schemas.is_empty() {
            let files: proto::Texts = of(FileKind::Schemas).copied().collect();
            program.take_schemas(proto::compile(&schemas, &files));
        }
        let rules = of(FileKind::Rules)
            .next()
            .map(|(name, text)| program.parse_rules_text(name, text, options));
        let mut graph = Vec::new();
        for (name, text) in of(FileKind::Packets) {
            let (options, catalogue) = (options.packets(), packets::catalogue());
            let loaded = flow::load_text(name, text, &options, &catalogue, &mut program.sources);
            graph.extend(program.take_packets(loaded));
        }
        program.read_components(of(FileKind::Components));
        names.iter().map(Path::new).filter(|name| FileKind::of(name).is_none()).for_each(|name| {
            program.refuse(name);
        });
        program.diagnostics.extend(graph);
        if let Some((tree, found)) = rules {
            program.plan_rules(tree, found, options);
        }
        program.check_borders();
        program
    }

    /// Takes the schemas, whose texts are the first of the sources.
    pub(super) fn take_schemas(&mut self, compiled: proto::Compiled) {
        let proto::Compiled { sources, diagnostics, schema, spans } = compiled;
        self.sources = sources;
        self.diagnostics = diagnostics;
        self.border = Schemas::new(schema.clone(), spans);
        self.schema = schema;
    }

    /// Reads the packet graph; returns its diagnostics.
    pub(super) fn read_packets(
        &mut self,
        files: &[PathBuf],
        options: &LoadOptions,
    ) -> Vec<Diagnostic> {
        let (options, catalogue) = (options.packets(), packets::catalogue());
        let loaded = flow::load(files, &options, &catalogue, &mut self.sources);
        self.take_packets(loaded)
    }

    fn take_packets(&mut self, loaded: flow::Loaded) -> Vec<Diagnostic> {
        self.packets = loaded.graph;
        self.apps = loaded.apps;
        self.tables = loaded.tables;
        self.made_by_apps = self.components_of_apps();
        loaded.diagnostics
    }

    /// Reports a file of unknown kind.
    pub(super) fn refuse(&mut self, path: &Path) {
        let file = self.sources.add(path.display().to_string(), "");
        let span = Span { file, start: 0, end: 0 };
        let error = Diagnostic::error("file-kind", span, "the ending of this file names no kind");
        self.diagnostics.push(error.help(
            "rules are in files that end in `.olg`, components in `.com` and `.cl`, packet graphs \
             in `.flow`, schemas in `.proto` and `.fds`",
        ));
    }
}
