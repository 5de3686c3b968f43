//! Apps that failed: their packets and state are dropped, their links stay, and after a pause they
//! are made anew from their config, and from what an app that is killed leaves. The pause doubles
//! with each fault in a row. Those whose fault is final are not made anew.

use super::note::Note;
use super::{Engine, construct};
use crate::app::{Fault, Instance};

/// The pause after the first fault.
const PAUSE_NS: u64 = 100_000_000;

/// The longest pause.
const PAUSE_NS_MAX: u64 = 10_000_000_000;

/// Notes kept until they are taken.
const NOTES_MAX: usize = 1000;

impl Engine {
    /// Makes an app fail, as if it had returned a fault; false if there is none, or it is out of
    /// order. The driver must be woken.
    pub fn kill(&mut self, app: &str) -> bool {
        let index = self.graph.find(app).filter(|&index| self.slots[index].runs());
        let Some(index) = index else { return false };
        let slot = &mut self.slots[index];
        slot.left = slot.instance.as_mut().and_then(Instance::leave);
        self.take_out(index, Fault::new("killed from outside"));
        true
    }

    /// Takes a failed app out; the reason is in its `Io`.
    #[cold]
    pub(super) fn failed(&mut self, index: usize) {
        let fault = self.slots[index].io.fault.take();
        let fault = fault.unwrap_or_else(|| Fault::new("it failed without saying why"));
        if fault.is_final {
            self.end_by(index, fault);
        } else {
            self.take_out(index, fault);
        }
    }

    /// Ends an app that would only fail again. Its counters stay readable.
    fn end_by(&mut self, index: usize, fault: Fault) {
        let slot = &mut self.slots[index];
        (slot.done, slot.is_broken) = (true, true);
        slot.wake.set(false);
        slot.wake_at_ns = u64::MAX;
        self.stats.faults += 1;
        self.descriptors_changed = true;
        let app = slot.name.clone();
        self.note(Note::Failed { app, fault, restart_in_ns: None });
    }

    fn take_out(&mut self, index: usize, fault: Fault) {
        let now_ns = self.common.now_ns.get();
        let slot = &mut self.slots[index];
        // Long enough without a fault, and it is no longer a row. One that could not be made anew
        // has not run meanwhile.
        if slot.runs() && now_ns.saturating_sub(slot.started_ns) > PAUSE_NS_MAX {
            slot.faults_in_a_row = 0;
        }
        slot.keep_counts();
        // Packets that it held are lost.
        let before = self.common.pool.stats().alive();
        slot.vacate();
        let lost = before.saturating_sub(self.common.pool.stats().alive());
        slot.io.count_drops("lost", lost);
        let pause = (PAUSE_NS << slot.faults_in_a_row.min(16)).min(PAUSE_NS_MAX);
        slot.faults_in_a_row = slot.faults_in_a_row.saturating_add(1);
        slot.wake.set(false);
        (slot.wake_at_ns, slot.tick_at_ns) = (u64::MAX, u64::MAX);
        slot.restart_at_ns = now_ns.saturating_add(pause);
        self.due_ns = self.due_ns.min(slot.restart_at_ns);
        self.stats.faults += 1;
        self.descriptors_changed = true;
        let app = self.slots[index].name.clone();
        self.note(Note::Failed { app, fault, restart_in_ns: Some(pause) });
    }

    /// Makes a failed app anew, on the links it had.
    pub(super) fn restart(&mut self, index: usize) {
        // Tables that the program writes are the program's; those of the kernel are dropped with
        // it.
        let tables = self.slots[index].kept.clone();
        let left = self.slots[index].left.take();
        let made = construct(&self.graph.apps[index], &self.common, (tables, left));
        let made = made.and_then(|mut instance| {
            let all = || self.graph.links.iter().enumerate();
            let inputs: Vec<usize> =
                all().filter(|(_, link)| link.to.app == index).map(|(at, _)| at).collect();
            let outputs: Vec<usize> =
                all().filter(|(_, link)| link.from.app == index).map(|(at, _)| at).collect();
            self.link_up(index, &mut instance, &inputs, &outputs)?;
            Ok(instance)
        });
        match made {
            Ok(instance) => {
                let now_ns = self.common.now_ns.get();
                let slot = &mut self.slots[index];
                slot.install(instance, now_ns);
                slot.restarts += 1;
                slot.wake.set(self.graph.apps[index].kind.pulls);
                slot.arm();
                self.descriptors_changed = true;
                self.code_fits(index);
                let app = self.slots[index].name.clone();
                self.note(Note::Restarted { app });
            }
            Err(fault) => self.take_out(index, fault),
        }
    }

    pub(super) fn note(&mut self, note: Note) {
        if self.notes.len() < NOTES_MAX {
            self.notes.push(note);
        }
    }
}
