//! The sinks of a run, with their files.

use tidemill_overlog::fleet::NodeId;
use tidemill_overlog::node::{Crossing, CrossingKind};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{TupleBuf, Value};
use tidemill_stat::Registry;
use tidemill_stdx::marks;

use super::border::SinkBorder;
use crate::borders::files::{Existing, Files, Folders};

/// The sinks of all nodes, each of which has files of its own.
#[derive(Default)]
pub(crate) struct Sinks {
    sinks: Vec<Sink>,
    /// The folders of the files, once they are open.
    folders: Option<Folders>,
    /// The timer that writes each second is running.
    are_flushed: bool,
    /// Reports of lost rows of sinks that have ended.
    lost: Vec<String>,
}

struct Sink {
    relation: RelationId,
    name: String,
    place: String,
    /// Of each node, or of all: the first ones until there are folders.
    files: Vec<Files>,
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
            let goes_on = |sink: &Sink| sink.files[0].are(file, columns);
            let Some(at) = before.iter().position(goes_on) else {
                self.sinks.push(Sink::new(checked, registry));
                continue;
            };
            let files = before.swap_remove(at).files;
            let (name, place) = (name.clone(), place.clone());
            self.sinks.push(Sink { relation: *relation, name, place, files });
        }
        for mut sink in before {
            faults.extend(sink.each(Files::finish));
            self.lost.extend(sink.problem());
        }
        // After the others, as a file may have the name of one that has just ended.
        faults.extend(self.open_new(time_ns));
        faults
    }

    /// Opens the files of sinks that have none. Returns the errors.
    fn open_new(&mut self, time_ns: i64) -> Vec<String> {
        let places = self.folders.as_mut().map(Folders::places);
        let mut faults = Vec::new();
        for sink in self.sinks.iter_mut().filter(|sink| sink.files.iter().all(Files::are_closed)) {
            let places = match &places {
                Some(Ok(places)) => *places,
                Some(Err(error)) => {
                    faults.push(sink.error_text(&error.to_string()));
                    continue;
                }
                None => {
                    faults.push(sink.error_text("there is no folder for its files"));
                    continue;
                }
            };
            while sink.files.len() < places.len() {
                sink.files.push(sink.files[0].elsewhere());
            }
            let mut places = places.iter();
            let open = |files: &mut Files| files.open(places.next()?.clone(), time_ns);
            faults.extend(sink.each(open));
        }
        faults
    }

    /// Whether to start the timer that writes each second: false if it runs, or in virtual time.
    pub(crate) fn begin_flushing(&mut self) -> bool {
        let waits = |it: &Folders| it.existing() == Existing::Kept;
        let begins = !self.are_flushed && self.folders.as_ref().is_none_or(waits);
        self.are_flushed |= begins;
        begins
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.sinks.is_empty()
    }

    /// Opens the files. Returns the errors of sinks that failed, as text.
    pub(crate) fn open(&mut self, folders: Folders, time_ns: i64) -> Vec<String> {
        self.folders = Some(folders);
        self.open_new(time_ns)
    }

    /// Writes the tuples derived in a turn of a node. Returns errors.
    pub(crate) fn take(
        &mut self,
        NodeId(node): NodeId,
        time_ns: i64,
        tuples: &TupleBuf<Crossing>,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        for sink in &mut self.sinks {
            for (crossing, columns) in tuples.iter() {
                marks::leave();
                let is_of_it = crossing.relation == sink.relation;
                if is_of_it && crossing.kind != CrossingKind::Delete {
                    let columns: Vec<Value<'_>> = columns.iter().collect();
                    let at = if sink.files.len() > 1 { node as usize } else { 0 };
                    let files = sink.files.get_mut(at);
                    let fault = files.and_then(|files| files.write(time_ns, &columns));
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
        let problems = self.sinks.iter().filter_map(Sink::problem);
        self.lost.iter().cloned().chain(problems)
    }

    fn each(&mut self, mut what: impl FnMut(&mut Files) -> Option<String>) -> Vec<String> {
        self.sinks.iter_mut().flat_map(|sink| sink.each(&mut what)).collect()
    }
}

impl Sink {
    fn new(checked: &SinkBorder, registry: &Registry) -> Sink {
        let SinkBorder { file, relation, name, columns, place } = checked.clone();
        let border = file.as_str().to_owned();
        let files = vec![Files::new(file, columns, registry, &border)];
        Sink { relation, name, place, files }
    }

    /// Does something with the files of each node. Returns errors.
    fn each(&mut self, what: impl FnMut(&mut Files) -> Option<String>) -> Vec<String> {
        let faults: Vec<String> = self.files.iter_mut().filter_map(what).collect();
        faults.iter().map(|fault| self.error_text(fault)).collect()
    }

    /// A report of lost rows: the files of all nodes share the counters.
    fn problem(&self) -> Option<String> {
        self.files.first().and_then(Files::problem)
    }

    /// An error with the place of its sink.
    fn error_text(&self, fault: &str) -> String {
        format!("{}: fault[sink]: {fault} ({})", self.place, self.name)
    }
}
