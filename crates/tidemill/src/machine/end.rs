//! The end of a run: ends what is left of each node, and sums up the results.

use tidemill_event::Loop;
use tidemill_proc::console::{Console, Lines};

use super::Machine;
use crate::borders;
use crate::components::system;
use crate::run::{ComponentsEnded, Report};

impl Machine {
    /// Calls `f` for each live node, as the current node.
    pub(crate) fn at_each_node(
        &mut self,
        events: &mut Loop<Machine>,
        mut f: impl FnMut(&mut Machine, &mut Loop<Machine>),
    ) {
        if !self.has_scopes() {
            return f(self, events);
        }
        for id in self.fleet.ids() {
            if let Some(scope) = self.scope_of(id) {
                events.within(self, scope, &mut f);
            }
        }
    }

    /// Ends the remaining processes; returns whether the network still has unsent data.
    pub(crate) fn clear(&mut self, events: &mut Loop<Machine>) -> bool {
        let mut has_unsent = false;
        self.at_each_node(events, |machine, events| {
            machine.node.how = machine.node.runner.worker().ended().cloned();
            clear(machine, events);
            has_unsent |= machine.node.systems.has_unsent();
        });
        has_unsent
    }

    /// Ends the engines of all nodes, and adds their results to a report. Also notes errors that no
    /// component or app has seen.
    pub(crate) fn sum_up(&mut self, events: &mut Loop<Machine>, report: &mut Report) {
        self.at_each_node(events, |machine, events| {
            let packets = machine.stop_packets(events);
            let mut problems = machine.node.systems.problems();
            problems.extend(borders::finish_node_files(machine));
            let out_of_order = packets.iter().flat_map(|packets| &packets.out_of_order);
            problems
                .extend(out_of_order.map(|app| format!("app {app} was out of order at the end")));
            problems.iter().for_each(|problem| machine.note(problem));
            report.problems.append(&mut problems);
            let components = stop(machine).map(|ended| {
                let peak_bytes = machine.former.peak_bytes(machine.node.id, ended.peak_bytes);
                ComponentsEnded { peak_bytes, ..ended }
            });
            report.add(components, packets);
        });
        self.former.add_to(report);
        let lost = borders::finish_files(self);
        lost.iter().for_each(|problem| self.note(problem));
        report.problems.extend(lost);
        self.meters.update(&self.fleet, events);
        // The first of several workers counts when the others have ended.
        if self.crew.is_none() {
            self.count_borders(report);
        }
    }

    /// Adds the counters of the borders of all workers to a report.
    pub(crate) fn count_borders(&self, report: &mut Report) {
        let counters = self.registry.counters("border/");
        if let Some(packets) = &mut report.packets {
            for app in self.flow_apps() {
                packets.add(app, borders::flows::of_app(app, &counters));
            }
        }
        let of_border = |(name, count): (String, u64)| {
            name.strip_prefix("border/").map(|name| (name.to_owned(), count))
        };
        report.borders = counters.into_iter().filter_map(of_border).collect();
    }

    /// The apps with a component instance for each flow.
    fn flow_apps(&self) -> impl Iterator<Item = &str> {
        let of_nodes = self.maker.iter().flat_map(|maker| &maker.parts.borders.flows);
        let of_run = self.node.borders.flows.checked().filter(|_| self.maker.is_none());
        of_nodes.chain(of_run).map(|border| &*border.app)
    }
}

/// Ends the remaining processes, and closes their system resources.
pub(super) fn clear(machine: &mut Machine, events: &mut Loop<Machine>) {
    borders::flows::clear(machine);
    let worker = machine.node.runner.worker();
    worker.clear();
    // Ends the last line.
    *worker.console() = Console::new(Box::new(()), Lines::Together);
    // Drops their pending requests.
    while let Some(request) = worker.take_request() {
        worker.reuse(request.values);
    }
    let communications: Vec<_> = machine.node.systems.communications().collect();
    for communication in communications {
        system::finished(machine, events, communication);
    }
}

/// Stops the threads; returns how the components of a node ended, if it has some.
pub(super) fn stop(machine: &mut Machine) -> Option<ComponentsEnded> {
    machine.node.runner.stop();
    machine.has.components.then(|| ComponentsEnded {
        how: machine.node.how.take(),
        counts: machine.node.runner.counts(),
        peak_bytes: machine.node.runner.worker().peak_bytes(),
        pore_drops: machine.node.systems.pore_drops(),
        given: machine.node.runner.components_given(),
    })
}
