//! The sinks of a run, with their files.

use tidemill_overlog::node::{Crossing, CrossingKind};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{TupleBuf, Value};
use tidemill_stat::Registry;
use tidemill_stdx::marks;

use super::border::SinkBorder;
use crate::borders::files::{Destination, Files};

/// The sinks of all nodes: each tuple has its node.
#[derive(Default)]
pub(crate) struct Sinks(Vec<Sink>);

struct Sink {
    relation: RelationId,
    name: String,
    place: String,
    files: Files,
}

impl Sinks {
    /// Of a program that has these.
    pub(crate) fn new(checked: &[SinkBorder], registry: &Registry) -> Sinks {
        let sink = |checked: &SinkBorder| {
            let SinkBorder { file, relation, name, columns, place } = checked.clone();
            let border = file.as_str().to_owned();
            let files = Files::new(file, columns, registry, &border);
            Sink { relation, name, place, files }
        };
        Sinks(checked.iter().map(sink).collect())
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Opens the files. What fails is a fault of its sink; faults are for people to read.
    pub(crate) fn open(&mut self, destination: &Destination, time_ns: i64) -> Vec<String> {
        self.each(|files| files.open(destination.clone(), time_ns))
    }

    /// Writes what a turn has derived. Gives faults.
    pub(crate) fn take(&mut self, time_ns: i64, tuples: &TupleBuf<Crossing>) -> Vec<String> {
        let mut faults = Vec::new();
        for sink in &mut self.0 {
            for (crossing, columns) in tuples.iter() {
                marks::leave();
                let is_of_it = crossing.relation == sink.relation;
                if is_of_it && crossing.kind != CrossingKind::Delete {
                    let columns: Vec<Value<'_>> = columns.iter().collect();
                    let fault = sink.files.write(time_ns, &columns);
                    faults.extend(fault.map(|fault| sink.says(&fault)));
                }
            }
        }
        faults
    }

    /// Writes what waits, and ends files whose time is over. Gives faults.
    pub(crate) fn tick(&mut self, time_ns: i64) -> Vec<String> {
        self.each(|files| files.tick(time_ns))
    }

    /// Ends all files. Gives faults.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        self.each(Files::finish)
    }

    /// What was lost.
    pub(crate) fn problems(&self) -> impl Iterator<Item = String> {
        self.0.iter().filter_map(|sink| sink.files.problem())
    }

    fn each(&mut self, mut what: impl FnMut(&mut Files) -> Option<String>) -> Vec<String> {
        let fault = |sink: &mut Sink| {
            let fault = what(&mut sink.files)?;
            Some(sink.says(&fault))
        };
        self.0.iter_mut().filter_map(fault).collect()
    }
}

impl Sink {
    /// A fault, with its place.
    fn says(&self, fault: &str) -> String {
        format!("{}: fault[sink]: {fault} ({})", self.place, self.name)
    }
}
