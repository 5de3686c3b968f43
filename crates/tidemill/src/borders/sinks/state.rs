//! The sinks of a run, with their files.

use tidemill_overlog::node::{Crossing, CrossingKind};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{TupleBuf, Value};
use tidemill_stat::Registry;
use tidemill_stdx::marks;

use super::border::SinkBorder;
use crate::borders::files::{Destination, Existing, Files};

/// The sinks of all nodes: each tuple contains its node.
#[derive(Default)]
pub(crate) struct Sinks {
    sinks: Vec<Sink>,
    /// The folder of the files, once they are open.
    destination: Option<Destination>,
    /// The timer that writes each second is running.
    are_flushed: bool,
    /// Reports of lost rows of sinks that have ended.
    lost: Vec<String>,
}

struct Sink {
    relation: RelationId,
    name: String,
    place: String,
    files: Files,
}

impl Sinks {
    /// Of a program with these sinks.
    pub(crate) fn new(checked: &[SinkBorder], registry: &Registry) -> Sinks {
        let sinks = checked.iter().map(|checked| Sink::new(checked, registry)).collect();
        Sinks { sinks, ..Sinks::default() }
    }

    /// Rebinds to the sinks of other rules: files named by both stay open, the others end. Returns
    /// errors.
    pub(crate) fn rebind(
        &mut self,
        checked: &[SinkBorder],
        registry: &Registry,
        time_ns: i64,
    ) -> Vec<String> {
        let mut before = std::mem::take(&mut self.sinks);
        let mut faults = Vec::new();
        for checked in checked {
            let SinkBorder { file, relation, name, columns, place } = checked;
            let goes_on = |sink: &Sink| sink.files.are(file, columns);
            let Some(at) = before.iter().position(goes_on) else {
                self.sinks.push(Sink::new(checked, registry));
                continue;
            };
            let files = before.swap_remove(at).files;
            let (name, place) = (name.clone(), place.clone());
            self.sinks.push(Sink { relation: *relation, name, place, files });
        }
        for mut sink in before {
            faults.extend(sink.files.finish().map(|fault| sink.error_text(&fault)));
            self.lost.extend(sink.files.problem());
        }
        // After the others, as a file may have the name of one that has just ended.
        for sink in self.sinks.iter_mut().filter(|sink| sink.files.are_closed()) {
            let fault = match &self.destination {
                Some(destination) => sink.files.open(destination.clone(), time_ns),
                None => Some("there is no folder for its files".to_owned()),
            };
            faults.extend(fault.map(|fault| sink.error_text(&fault)));
        }
        faults
    }

    /// Whether to start the timer that writes each second: false if it runs, or in virtual time.
    pub(crate) fn begin_flushing(&mut self) -> bool {
        let waits = |it: &Destination| it.existing == Existing::Kept;
        let begins = !self.are_flushed && self.destination.as_ref().is_none_or(waits);
        self.are_flushed |= begins;
        begins
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.sinks.is_empty()
    }

    /// Opens the files. Returns the errors of sinks that failed, as text.
    pub(crate) fn open(&mut self, destination: Destination, time_ns: i64) -> Vec<String> {
        let faults = self.each(|files| files.open(destination.clone(), time_ns));
        self.destination = Some(destination);
        faults
    }

    /// Writes the tuples derived in a turn. Returns errors.
    pub(crate) fn take(&mut self, time_ns: i64, tuples: &TupleBuf<Crossing>) -> Vec<String> {
        let mut faults = Vec::new();
        for sink in &mut self.sinks {
            for (crossing, columns) in tuples.iter() {
                marks::leave();
                let is_of_it = crossing.relation == sink.relation;
                if is_of_it && crossing.kind != CrossingKind::Delete {
                    let columns: Vec<Value<'_>> = columns.iter().collect();
                    let fault = sink.files.write(time_ns, &columns);
                    faults.extend(fault.map(|fault| sink.error_text(&fault)));
                }
            }
        }
        faults
    }

    /// Writes buffered rows, and ends files whose period is over. Returns errors.
    pub(crate) fn tick(&mut self, time_ns: i64) -> Vec<String> {
        self.each(|files| files.tick(time_ns))
    }

    /// Ends all files. Returns errors.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        self.each(Files::finish)
    }

    /// Reports of lost rows.
    pub(crate) fn problems(&self) -> impl Iterator<Item = String> {
        let problems = self.sinks.iter().filter_map(|sink| sink.files.problem());
        self.lost.iter().cloned().chain(problems)
    }

    fn each(&mut self, mut what: impl FnMut(&mut Files) -> Option<String>) -> Vec<String> {
        let fault = |sink: &mut Sink| {
            let fault = what(&mut sink.files)?;
            Some(sink.error_text(&fault))
        };
        self.sinks.iter_mut().filter_map(fault).collect()
    }
}

impl Sink {
    fn new(checked: &SinkBorder, registry: &Registry) -> Sink {
        let SinkBorder { file, relation, name, columns, place } = checked.clone();
        let border = file.as_str().to_owned();
        let files = Files::new(file, columns, registry, &border);
        Sink { relation, name, place, files }
    }

    /// An error with the place of its sink.
    fn error_text(&self, fault: &str) -> String {
        format!("{}: fault[sink]: {fault} ({})", self.place, self.name)
    }
}
