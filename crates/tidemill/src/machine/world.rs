//! Callbacks of the loop and the engines of a machine: each is passed to the engine or border that
//! it concerns.

use std::time::Duration;

use tidemill_event::{Loop, Time};
use tidemill_overlog::fleet::{self, Call, Fleet, NodeId, Switched, Takes};
use tidemill_overlog::global::SIM;
use tidemill_overlog::node::{Crossing, Emptied};
use tidemill_overlog::query::AskerId;
use tidemill_packet::drive::{self, Driver};
use tidemill_packet::engine::{Changes, Rest};
use tidemill_proc::{Communication, Home, Over, Request, Runner};
use tidemill_relation::{OwnedValue, TupleBuf};
use tidemill_stdx::sorted::SortedSet;

use super::emptied::note_emptied;
use super::{Machine, nodes, others, packets, posts, reload, system};
use crate::borders;
use crate::components::system as offered;
use crate::journal::SharedJournal;
use crate::properties::{Moment, Properties};

/// The time for which apps are measured after somebody has read it.
const MEASURED_FOR: Duration = Duration::from_secs(3);

/// The maximum time that data is buffered.
const FLUSH_AFTER: Duration = Duration::from_millis(20);

/// The capture time after the last packet in which an entry component may end: more than time-outs
/// of flows and windows of rules usually last.
const AFTER_CAPTURES: Duration = Duration::from_secs(600);

impl fleet::World for Machine {
    fn fleet(&mut self) -> &mut Fleet {
        &mut self.fleet
    }

    fn system_rows(
        &mut self,
        events: &mut Loop<Machine>,
        node: NodeId,
        name: &str,
    ) -> Vec<Vec<OwnedValue>> {
        self.log.read(events.wall());
        self.at_node(node, |machine| system::rows(machine, name)).unwrap_or_default()
    }

    fn measure_apps(&mut self, events: &mut Loop<Machine>, node: NodeId) {
        // A simulation has none: nothing in it may depend on the time that something takes.
        let Some(clock) = events.host().stopwatch() else { return };
        let until = events.now() + MEASURED_FOR;
        self.at_node(node, |machine| machine.node.driver.engine.measure_apps(clock, until.0));
    }

    fn foreign_rows(&mut self, node: NodeId, name: &str) -> Option<Vec<Vec<OwnedValue>>> {
        self.at_node(node, |machine| borders::tables::rows(machine, name))?
    }

    fn answered(&mut self, events: &mut Loop<Machine>, asker: AskerId, part: &[u8]) -> Takes {
        others::answer(self, events, asker, part)
    }

    fn called(&mut self, events: &mut Loop<Machine>, node: NodeId, call: Call<'_>) {
        crate::control::adopt(self, events, call.endpoint, (node, call.from), call.bytes);
    }

    fn crossed(&mut self, events: &mut Loop<Machine>, node: NodeId, tuples: &TupleBuf<Crossing>) {
        borders::crossed(self, events, node, tuples);
        self.with_properties(events, |properties, fleet, moment, observer| {
            let address = &fleet.identity(node).address;
            properties.turned(address, tuples, moment, observer);
        });
        self.note_unsettled(events, node, tuples);
    }

    fn replacing(&mut self, _: &mut Loop<Machine>, emptied: &SortedSet<Emptied>) {
        note_emptied(self, emptied);
    }

    fn replaced(&mut self, events: &mut Loop<Machine>, switched: Switched) {
        self.meters.start_over();
        reload::rebind(self, events, switched);
        if self.share.me == 0 {
            self.note("goes on with the new rules");
        }
    }

    fn turned(&mut self, events: &mut Loop<Machine>, node: NodeId) {
        if self.may_take_packets() {
            drive::wake(self, events);
        }
        borders::turned(self, events);
        self.log.read(events.wall());
        self.journal.get_mut().turned(node, events.now().0);
        self.stop_if_over(events);
        if let Some(sim) = &self.sim {
            // All is written at the end, as a pending timer would keep the simulation going.
            return sim.turned(events);
        }
        if !self.flush_is_set && self.journal.get().console.is_dirty() {
            self.flush_is_set = true;
            let at: Time = events.now() + FLUSH_AFTER;
            events.timer(at, |machine: &mut Machine, events: &mut Loop<Machine>| {
                machine.flush_is_set = false;
                machine.journal.get_mut().console.flush();
                if machine.journal.get().is_over() {
                    events.stop();
                }
            });
        }
    }
}

impl Home for Machine {
    fn runner(&mut self) -> &mut Runner {
        &mut self.node.runner
    }

    fn request(&mut self, events: &mut Loop<Machine>, request: Request) {
        if !borders::rules::serve(self, events, &request)
            && !borders::flows::serve(self, events, &request)
        {
            offered::serve(self, events, &request);
        }
        self.node.runner.worker().reuse(request.values);
        borders::instances::post_later(self, events);
    }

    fn noted(&mut self, events: &mut Loop<Machine>, from: Communication) {
        borders::components::noted(self, events, from);
    }

    fn over(&mut self, events: &mut Loop<Machine>, over: Over) {
        borders::flows::over(self, events, over);
    }

    fn look(&mut self, events: &mut Loop<Machine>) -> bool {
        offered::look(self, events)
    }

    fn ended(&mut self, events: &mut Loop<Machine>) {
        self.main_part_ended(events);
    }
}

impl drive::World for Machine {
    fn driver(&mut self) -> &mut Driver {
        &mut self.node.driver
    }

    fn switched(&mut self, changes: &Changes) {
        borders::link(self);
        offered::packets::link(self);
        // Instances of one graph are replaced together, graphs of simulated nodes apart.
        if self.share.me == 0 || self.sim.is_some() {
            self.note(&packets::reloaded(changes));
        }
    }

    fn breathed(&mut self, events: &mut Loop<Machine>, rest: Rest) {
        self.note_apps(events);
        super::counters::breathed(self, events);
        offered::packets::deliver_all(self, events);
        borders::take(self, events, rest == Rest::Finished);
        let packets = &mut self.node.borders.packets;
        packets.move_on = rest == Rest::Busy;
        let is_fed = packets.are_the_source;
        let is_held = self.node.borders.hold_packets() || is_fed;
        let is_over = rest == Rest::Finished && !self.node.driver.engine.is_preparing();
        let is_over = is_over && !is_held;
        if is_over && self.has.entry && self.ends_after_captures {
            self.captures_ended(events);
        }
        if is_over && !self.has.entry && self.flows_are_over(events) {
            self.main_part_ended(events);
        }
    }
}

impl Machine {
    /// The main part of a node has ended. If that is so of all nodes, the run ends in order.
    fn main_part_ended(&mut self, events: &mut Loop<Machine>) {
        self.node.is_over = true;
        self.end_if_over(events);
    }

    /// Ends the run in order if the main parts of all nodes have ended.
    fn end_if_over(&mut self, events: &mut Loop<Machine>) {
        if self.sim.as_ref().is_some_and(|sim| sim.lasts) || !self.all_are_over() {
            return;
        }
        // With the entry component of its only node a run ends, whatever the instances of the graph
        // do.
        let ends_all = self.has.entry && self.maker.is_none();
        if !ends_all && !others::is_drained(self, true) {
            // The first worker ends the run with the last node, or the last instance of the graph.
            posts::first(self, Machine::end_if_over);
        } else if self.has.nodes {
            nodes::drain(self, events)
        } else {
            events.stop()
        }
    }

    /// A node has read its captures, beside which it has no input. If that is so of all nodes, the
    /// run ends in order after a while, as time costs nothing: timers may fire until then, and the
    /// entry component may end.
    fn captures_ended(&mut self, events: &mut Loop<Machine>) {
        let had_read = std::mem::replace(&mut self.node.has_read_captures, true);
        if !had_read && self.all_nodes(|node| node.has_read_captures || node.is_over) {
            events.timer(events.now() + AFTER_CAPTURES, nodes::drain);
        }
    }

    /// Runs `f` on the rules about all nodes of a simulation, if there are any.
    pub(crate) fn with_properties(
        &mut self,
        events: &mut Loop<Machine>,
        change: impl FnOnce(&mut Properties, &Fleet, Moment, &mut SharedJournal),
    ) {
        let properties = self.sim.as_mut().and_then(|sim| sim.properties.as_deref_mut());
        let Some(properties) = properties else { return };
        let moment = Moment { now_ns: events.now().0, wall_ns: events.wall() };
        change(properties, &self.fleet, moment, &mut self.journal);
        self.journal.get_mut().all_turned(moment.now_ns);
        let changed = properties.take_unsettled();
        let unsettled = self.sim.as_mut().and_then(|sim| sim.unsettled.as_mut());
        if let Some(unsettled) = unsettled.filter(|_| !changed.is_empty()) {
            for (kind, row) in changed.iter() {
                unsettled.changed(SIM, kind, row, moment.now_ns);
            }
            self.check_settled(events);
        }
    }

    /// Records changed rows of `unsettled` at a node, if they are checked.
    fn note_unsettled(
        &mut self,
        events: &mut Loop<Machine>,
        node: NodeId,
        tuples: &TupleBuf<Crossing>,
    ) {
        let Some(unsettled) = self.sim.as_mut().and_then(|sim| sim.unsettled.as_mut()) else {
            return;
        };
        let address = &self.fleet.identity(node).address;
        let mut has_changed = false;
        for (Crossing { relation, kind }, row) in tuples.iter() {
            if unsettled.relation == Some(relation) {
                has_changed = true;
                unsettled.changed(address, kind, row, events.now().0);
            }
        }
        if has_changed {
            self.check_settled(events);
        }
    }

    /// Fails the run if a row of `unsettled` is overdue; sets the timer for the next one that may
    /// be.
    pub(crate) fn check_settled(&mut self, events: &mut Loop<Machine>) {
        let Some(sim) = &self.sim else { return };
        let (Some(unsettled), Some(timer)) = (&sim.unsettled, sim.settle_timer) else { return };
        let now = events.now();
        match unsettled.due() {
            None => events.rearm(timer, Time::MAX),
            Some((at, ..)) if at > now.0 => events.rearm(timer, Time(at)),
            Some((_, (node, row), since_ns)) => {
                self.journal.get_mut().unsettled(now.0, (node, row), since_ns);
                self.stop_if_over(events);
                true
            }
        };
    }

    /// Ends the run if its journal is over. Where lines are in the order of time, all other events
    /// of this time still happen.
    pub(crate) fn stop_if_over(&self, events: &mut Loop<Machine>) {
        let journal = self.journal.get();
        match journal.is_over() {
            false => {}
            true if journal.is_in_order() && !journal.console.has_failed() => {
                events.stop_after_now();
            }
            true => events.stop(),
        }
    }

    /// No more packets come: returns whether the flows of components have ended, or need not as the
    /// run continues.
    fn flows_are_over(&mut self, events: &mut Loop<Machine>) -> bool {
        self.sim.as_ref().is_some_and(|sim| sim.lasts) || borders::flows::end(self, events)
    }
}
