//! The files of a program, read once: rules that are installed while it runs are checked with them,
//! whatever becomes of the files meanwhile.

use std::fmt;
use std::path::PathBuf;

use tidemill_diag::{Diagnostic, FileId};
use tidemill_overlog::parse::Join;
use tidemill_overlog::pre::Disk;
use tidemill_stdx::sorted::SortedSet;
use tidemill_wire::proto;

use super::{FileKind, Kinds, LoadOptions, Program, components};
use crate::borders::components::named;

/// The files of one program, read and parsed.
pub struct Parsed {
    options: LoadOptions,
    /// The schemas and the graph, and the texts of all files.
    base: Program,
    rules: Option<Join>,
    components: Vec<FileId>,
    /// Files of components that cannot be read.
    unreadable: Vec<Diagnostic>,
    /// Files of no kind.
    unknown: Vec<PathBuf>,
    /// Errors and warnings in the graph.
    graph: Vec<Diagnostic>,
}

impl Parsed {
    /// Reads and parses files.
    pub fn read(files: &[PathBuf], options: &LoadOptions) -> Parsed {
        let mut base = Program { kinds: Kinds::of(files), ..Program::default() };
        let of = |kind| -> Vec<PathBuf> {
            files.iter().filter(|file| FileKind::of(file) == Some(kind)).cloned().collect()
        };
        if base.kinds.has(FileKind::Schemas) {
            base.take_schemas(proto::load(&of(FileKind::Schemas), &options.include_dirs));
        }
        let rules = base.kinds.has(FileKind::Rules).then(|| {
            let rules = of(FileKind::Rules);
            Join::of_files(&rules, &options.rules(), &Disk, &mut base.sources)
        });
        let mut graph = Vec::new();
        if base.kinds.has(FileKind::Packets) {
            graph = base.read_packets(&of(FileKind::Packets), options);
        }
        let of_components = of(FileKind::Components);
        let (components, unreadable) = components::read_files(&of_components, &mut base.sources);
        let unknown = files.iter().filter(|file| FileKind::of(file).is_none()).cloned().collect();
        let options = options.clone();
        Parsed { options, base, rules, components, unreadable, unknown, graph }
    }

    /// With another [`LoadOptions::injected`].
    pub fn with_injected(mut self, injected: Option<SortedSet<String>>) -> Parsed {
        self.options.injected = injected;
        self
    }

    /// The program of these files, followed by rules that are installed, by name.
    pub fn program(&self, installed: &[(String, String)]) -> Program {
        let mut copy = Parsed {
            options: self.options.clone(),
            base: self.base.start_again(),
            rules: self.rules.clone(),
            components: self.components.clone(),
            unreadable: self.unreadable.clone(),
            unknown: self.unknown.clone(),
            graph: self.graph.clone(),
        };
        if let Some(join) = &mut copy.rules {
            let options = copy.options.rules();
            for (name, text) in installed {
                join.add_text(name, text, &options, &mut copy.base.sources);
            }
        }
        copy.into_program()
    }

    /// The program of these files, which nothing is installed into.
    pub fn into_program(self) -> Program {
        let Parsed { options, base: mut program, rules, components, unreadable, unknown, graph } =
            self;
        let rules = rules.map(Join::finish);
        program.made_by_rules = rules.iter().flat_map(|(tree, _)| named(tree)).collect();
        if unreadable.is_empty() {
            program.lower_components(&components);
        }
        program.diagnostics.extend(unreadable);
        unknown.iter().for_each(|file| program.refuse(file));
        program.diagnostics.extend(graph);
        if let Some((tree, found)) = rules {
            program.plan_rules(tree, found, &options);
        }
        program.check_borders();
        program
    }
}

impl Program {
    /// A copy with schemas and graph, before rules and components.
    fn start_again(&self) -> Program {
        Program {
            sources: self.sources.clone(),
            diagnostics: self.diagnostics.clone(),
            kinds: self.kinds,
            packets: self.packets.clone(),
            schema: self.schema.clone(),
            apps: self.apps.clone(),
            tables: self.tables.clone(),
            border: self.border.clone(),
            made_by_apps: self.made_by_apps.clone(),
            ..Program::default()
        }
    }
}

impl fmt::Debug for Parsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parsed").field("kinds", &self.base.kinds).finish_non_exhaustive()
    }
}
