//! A program of components embedded in a host, which provides time and packets: the app `Script` of
//! packet graphs.
//!
//! It runs on a loop of its own, in virtual time that the host advances. Nothing in it blocks or
//! runs longer than its budget of steps; its output goes to the log.

use std::cell::RefCell;
use std::rc::Rc;

use tidemill_event::{Host, Loop, Outcome, Sim, Time};
use tidemill_proc::arm;
use tidemill_proc::console::{Console, Lines, Sink};
use tidemill_proc::fault::{Ended, Fault, Reports};
use tidemill_stat::Registry;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use tidemill_packet::fields::Fields;
use tidemill_packet::packet::Packet;
use tidemill_stdx::id::Id;

use super::report::{deadlock_text, fault_text};
use super::system::{packets, ports::Ports};
use crate::borders::flows::{self, FlowBorder, Flows, Limits, Room};
use crate::error::Error;
use crate::machine::node::Node;
use crate::machine::parts::Has;
use crate::machine::{Machine, components, silent_journal};
use crate::program::Program;
use crate::run::{ComponentOptions, DRAIN_MAX};

/// The maximum log level of this file.
const CEILING: Level = Level::Info;

/// The maximum length of a log line; longer output continues on the next.
const LINE_BYTES_MAX: usize = 4096;

/// The approximate budget of steps for instances at the end.
const END_STEPS_MAX: u64 = 100_000_000;

/// The state of a program after a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum HostedState {
    /// The budget was used up before the work was done.
    Busy,
    /// It waits for packets, or for this time at the latest.
    Waits(Option<Time>),
    /// It has ended.
    Over,
    /// It failed, for this reason.
    Failed(String),
}

/// A program that runs when its host calls [`run`](Hosted::run).
pub(crate) struct Hosted {
    machine: Machine,
    lp: Loop<Machine>,
    reported: Rc<RefCell<Reported>>,
    has_begun: bool,
}

/// Reports about the program.
#[derive(Default)]
struct Reported {
    /// The reason for which the whole program failed.
    end: Option<String>,
    /// The number of components that failed.
    faults: u64,
}

/// Records failures for the host, and logs the rest.
struct HostReporter {
    name: String,
    reported: Rc<RefCell<Reported>>,
}

impl Reports for HostReporter {
    fn fault(&mut self, fault: &Fault) {
        let text = fault_text(fault, "");
        let mut reported = self.reported.borrow_mut();
        reported.faults += 1;
        if fault.entry {
            reported.end = Some(text)
        } else {
            say!(Warn, "script", "{}: {text}", self.name)
        }
    }

    fn deadlock(&mut self, waiting: u64, some: &[String]) {
        self.reported.borrow_mut().end = Some(deadlock_text(waiting, some));
    }
}

/// The number of the entry component, of which each flow has an instance.
fn per_flow(program: &Program) -> Result<u32, Error> {
    let lacks = |what| move || Error::program(what);
    let program = &program.components.program;
    let program = program.as_ref().ok_or_else(lacks("the program has errors"))?;
    let entry = program.entry.ok_or_else(lacks("the program has no component"))?;
    let component = &program.components[entry];
    match component.offers.first() {
        None => Ok(entry.index() as u32),
        Some(offer) => {
            let interface = &program.interfaces[offer.interface].name;
            let name = &component.name;
            Err(Error::Program(format!("{name} offers {interface}, which nothing requires")))
        }
    }
}

/// Writes lines to the log.
struct Logged {
    name: String,
    line: Vec<u8>,
}

impl Logged {
    fn end_line(&mut self) {
        say!(Info, "script", "{}: {}", self.name, String::from_utf8_lossy(&self.line));
        self.line.clear();
    }
}

impl Sink for Logged {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte != b'\n' {
                self.line.push(byte);
            }
            if byte == b'\n' || self.line.len() >= LINE_BYTES_MAX {
                self.end_line();
            }
        }
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
    }
}

impl Hosted {
    /// Compiles a program, named `name` in the log. It starts on the first run.
    ///
    /// # Errors
    /// The program has errors, or is not supported here.
    pub(crate) fn new(
        program: &Program,
        name: &str,
        seed: u64,
        options: ComponentOptions,
        flows: Option<(Fields, Limits)>,
    ) -> Result<Hosted, Error> {
        let mut options = options;
        let border = flows.map(|(per, limits)| {
            let kind = per_flow(program)?;
            Ok::<_, Error>(FlowBorder::own(name, kind, per, limits))
        });
        let border = border.transpose()?;
        let program = components::Making::new(program, &mut options, true).first(program)?;
        let program = program.ok_or_else(|| Error::program("the program has errors"))?;
        let reported = Rc::new(RefCell::new(Reported::default()));
        let name = name.to_owned();
        let logged = Logged { name: name.clone(), line: Vec::new() };
        let console = Console::new(Box::new(logged), Lines::Together);
        let reports = Box::new(HostReporter { name, reported: reported.clone() });
        let disk = super::system::disk::Disk::System;
        let outputs = components::Outputs { console, reports, disk };
        let mut host = Box::new(Sim::new(seed));
        let seeds = components::Seeds::of(Some(seed), &mut *host)?;
        let engine = components::engine(program, &mut options, seeds, outputs)?;
        let secret = host.hash_secret().map_err(Error::no_random)?;
        let has = Has { components: true, entry: border.is_none(), ..Has::default() };
        let machine = Machine::new(engine, silent_journal(), Registry::in_memory(), has);
        let mut hosted = Hosted { machine, lp: Loop::new(host), reported, has_begun: false };
        let Node { systems, borders, runner, .. } = &mut *hosted.machine.node;
        systems.lead_to_ports();
        if let Some(border) = border {
            borders.flows = Flows::new(&[border], &hosted.machine.registry, secret);
            borders.flows.know(runner.worker());
        }
        Ok(hosted)
    }

    /// Sets the names of the ports.
    pub(crate) fn name(&mut self, inputs: &[String], outputs: &[String]) {
        self.machine.node.borders.flows.name(inputs, outputs);
        if let Some(ports) = self.ports() {
            ports.name(inputs, outputs);
        }
    }

    /// Whether it has an instance for each flow, and gets packets by [`give`](Hosted::give).
    pub(crate) fn has_flows(&self) -> bool {
        !self.machine.node.borders.flows.is_empty()
    }

    /// Delivers a packet to its flow.
    pub(crate) fn give(&mut self, input: usize, packet: Packet) -> Room {
        flows::give(&mut self.machine, &mut self.lp, (input, packet))
    }

    /// Whether it only waits for packets, and timers only for idle flows.
    pub(crate) fn rests(&self) -> bool {
        !flows::has_other_timers(&self.machine, &self.lp)
    }

    /// Asks its instances to end, and runs them.
    pub(crate) fn end(&mut self, now: Time) {
        if !flows::end(&mut self.machine, &mut self.lp) {
            self.lp.run_within(&mut self.machine, now + DRAIN_MAX, END_STEPS_MAX);
        }
    }

    /// The counters of its flows.
    pub(crate) fn counted(&self) -> Vec<(&'static str, u64)> {
        flows::counted(&self.machine)
    }

    /// The ports that `Packets` leads to.
    pub(crate) fn ports(&mut self) -> Option<&mut Ports> {
        self.machine.node.systems.ports()
    }

    /// Whether the program has opened an input.
    pub(crate) fn has_opened(&self, input: usize) -> bool {
        self.machine.node.systems.has_opened(input)
    }

    /// The number of failed components.
    pub(crate) fn faults(&self) -> u64 {
        self.reported.borrow().faults
    }

    /// Runs what is due by `now`, for about `steps` steps at most. Must not be called after the
    /// end.
    pub(crate) fn run(&mut self, now: Time, steps: u64) -> HostedState {
        let Hosted { machine, lp, has_begun, .. } = self;
        let begins = !std::mem::replace(has_begun, true) && machine.has.entry;
        if begins && machine.node.runner.worker().start().is_ok() {
            arm(machine, lp);
        }
        packets::deliver_all(machine, lp);
        let outcome = lp.run_within(machine, now, steps);
        match (machine.node.runner.worker().ended(), outcome) {
            (Some(Ended::Finished | Ended::Halted), _) => HostedState::Over,
            (Some(ended), _) => {
                let reported = self.reported.borrow_mut().end.take();
                HostedState::Failed(
                    reported.unwrap_or_else(|| format!("the program ended: {ended:?}")),
                )
            }
            (None, Outcome::Failed(error)) => HostedState::Failed(error.to_string()),
            (None, Outcome::Stopped) => HostedState::Busy,
            (None, _) => HostedState::Waits(self.lp.next_timer()),
        }
    }
}
