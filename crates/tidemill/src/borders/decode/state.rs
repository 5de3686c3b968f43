//! The apps of a graph that decode messages, with their files.

use tidemill_packet::graph::Graph;
use tidemill_relation::SeqBuilder;
use tidemill_stat::{Counter, Registry};

use super::border::{DECODE, DecodeBorder, Target};
use crate::borders::apps;
use crate::borders::files::{Destination, Files};
use crate::borders::latency::Latency;
use crate::borders::schemas::{MessageReader, Reason};

/// The apps of a graph that decode messages.
#[derive(Default)]
pub(crate) struct Decoders {
    pub(super) apps: Vec<DecodeApp>,
    /// Packets were left on links because many events wait.
    pub(crate) are_held: bool,
}

/// An app that decodes.
pub(super) struct DecodeApp {
    /// Its place among these apps.
    pub(super) number: u32,
    pub(super) checked: DecodeBorder,
    pub(super) reader: MessageReader,
    /// Its files; none at a worker that does not write them.
    pub(super) files: Option<Files>,
    /// The links to it, and from it.
    pub(super) inputs: Vec<usize>,
    pub(super) rest: Option<usize>,
    /// A buffer for the row of a file.
    pub(super) row: SeqBuilder,
    pub(super) counters: DecodeCounters,
}

/// `border/<app>/messages` and so on.
pub(super) struct DecodeCounters {
    pub(super) messages: Counter,
    pub(super) rest: Counter,
    pub(super) no_rest: Counter,
    /// Packets without the field that holds messages.
    pub(super) absent: Counter,
    /// By [`Reason`].
    pub(super) failed: Vec<Counter>,
    pub(super) latency: Latency,
}

impl DecodeCounters {
    fn new(registry: &Registry, app: &str) -> DecodeCounters {
        let counter = |name: &str| registry.counter(&format!("border/{app}/{name}"));
        DecodeCounters {
            messages: counter("messages"),
            rest: counter("rest"),
            no_rest: counter("dropped_no_rest"),
            absent: counter("failed_absent"),
            failed: Reason::ALL.iter().map(|reason| counter(reason.name())).collect(),
            latency: Latency::new(registry, app),
        }
    }
}

impl Decoders {
    /// Of a program with these borders.
    pub(in crate::borders) fn new(checked: &[DecodeBorder], registry: &Registry) -> Decoders {
        let border = |(number, checked): (u32, &DecodeBorder)| {
            let DecodeBorder { app, target, .. } = checked;
            let reader = checked.reader();
            let files = match target {
                Target::File(file, columns) => {
                    Some(Files::new(file.clone(), columns.clone(), registry, app))
                }
                Target::Event(_) => None,
            };
            let counters = DecodeCounters::new(registry, app);
            let checked = checked.clone();
            let (inputs, rest, row) = (Vec::new(), None, SeqBuilder::new());
            DecodeApp { number, checked, reader, files, inputs, rest, row, counters }
        };
        Decoders { apps: (0..).zip(checked).map(border).collect(), are_held: false }
    }

    /// The same without files, which another worker writes.
    pub(in crate::borders) fn without_files(mut self) -> Decoders {
        self.apps.iter_mut().for_each(|app| app.files = None);
        self
    }

    /// The borders.
    pub(in crate::borders) fn checked(&self) -> impl ExactSizeIterator<Item = &DecodeBorder> {
        self.apps.iter().map(|app| &app.checked)
    }

    /// Rebinds unchanged apps to other schemas and to the relations of other rules.
    pub(in crate::borders) fn rebind(&mut self, checked: &[DecodeBorder]) {
        for app in &mut self.apps {
            if let Some(border) = checked.iter().find(|it| it.app == app.checked.app) {
                (app.reader, app.checked) = (border.reader(), border.clone());
            }
        }
    }

    /// An app whose file would get other columns.
    pub(crate) fn of_other_columns<'c>(&self, checked: &'c [DecodeBorder]) -> Option<&'c str> {
        let is_it = |new: &&DecodeBorder| {
            let own = self.apps.iter().map(|app| &app.checked).find(|own| own.app == new.app);
            own.is_some_and(|own| own.target != new.target && own.file().is_some())
        };
        checked.iter().find(is_it).map(|border| &*border.app)
    }

    /// The app of another graph that differs from all checked ones: its destination was settled
    /// when the program was loaded.
    pub(in crate::borders) fn unchecked<'g>(&self, graph: &'g Graph) -> Option<&'g str> {
        let checked = self.apps.iter().map(|it| (&*it.checked.app, &it.checked.config));
        apps::unchecked(graph, |app| app.kind.name == DECODE, checked)
    }

    /// Whether some write files.
    pub(in crate::borders) fn have_files(&self) -> bool {
        self.apps.iter().any(|border| border.files.is_some())
    }

    /// Opens the files. Returns errors.
    pub(in crate::borders) fn open(
        &mut self,
        destination: &Destination,
        time_ns: i64,
    ) -> Vec<String> {
        self.each(|files| files.open(destination.clone(), time_ns))
    }

    /// Writes buffered rows, and ends files whose period is over. Returns errors.
    pub(in crate::borders) fn tick(&mut self, time_ns: i64) -> Vec<String> {
        self.each(|files| files.tick(time_ns))
    }

    /// Ends all files. Returns errors.
    pub(in crate::borders) fn finish(&mut self) -> Vec<String> {
        self.each(Files::finish)
    }

    /// Reports of lost rows.
    pub(in crate::borders) fn problems(&self) -> impl Iterator<Item = String> {
        self.apps.iter().filter_map(|border| border.files.as_ref()?.problem())
    }

    fn each(&mut self, mut what: impl FnMut(&mut Files) -> Option<String>) -> Vec<String> {
        let fault = |border: &mut DecodeApp| {
            let fault = what(border.files.as_mut()?)?;
            Some(error_text(&border.checked.app, &fault))
        };
        self.apps.iter_mut().filter_map(fault).collect()
    }
}

pub(super) fn error_text(app: &str, fault: &str) -> String {
    format!("tidemill: app {app}: {fault}")
}
