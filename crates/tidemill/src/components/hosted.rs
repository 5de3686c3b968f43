//! A program of components inside something else, which gives it time and packets: the app `Script`
//! of packet graphs.
//!
//! It runs on a loop of its own, in virtual time that whoever hosts it moves on. Nothing of it
//! blocks and nothing runs longer than the steps it is given; what it writes goes to the log.

use std::cell::RefCell;
use std::rc::Rc;

use tidemill_event::{Loop, Outcome, Sim, Time};
use tidemill_proc::arm;
use tidemill_proc::console::{Console, Lines, Sink};
use tidemill_proc::fault::{Ended, Fault, Reports};
use tidemill_stat::Registry;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::report::{deadlock_text, fault_text};
use super::system::{packets, ports::Ports};
use crate::machine::{Has, Machine, components, silent_journal};
use crate::program::Program;
use crate::run::ComponentOptions;

/// What this file says at most.
const CEILING: Level = Level::Info;

/// A line of the log; what is longer goes on in the next.
const LINE_BYTES_MAX: usize = 4096;

/// How it stands with a program after a stretch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Its steps were not enough for all it has to do.
    Busy,
    /// It waits for packets, or for this time at the latest.
    Waits(Option<Time>),
    /// It has come to its end.
    Over,
    /// It failed, and why.
    Failed(String),
}

/// A program that runs when it is told to.
pub(crate) struct Hosted {
    machine: Machine,
    lp: Loop<Machine>,
    said: Rc<RefCell<Said>>,
    has_begun: bool,
}

/// What was reported of the program.
#[derive(Default)]
struct Said {
    /// Why the whole program failed.
    end: Option<String>,
    /// Components that failed.
    faults: u64,
}

/// Keeps what concerns the host, and tells the log of the rest.
struct Reporter {
    name: String,
    files: Vec<String>,
    said: Rc<RefCell<Said>>,
}

impl Reports for Reporter {
    fn fault(&mut self, fault: &Fault) {
        let text = fault_text(&self.files, fault, "");
        let mut said = self.said.borrow_mut();
        said.faults += 1;
        match fault.entry {
            true => said.end = Some(text),
            false => say!(Warn, "script", "{}: {text}", self.name),
        }
    }

    fn deadlock(&mut self, waiting: u64, some: &[String]) {
        self.said.borrow_mut().end = Some(deadlock_text(waiting, some));
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
    /// Compiles a program, which the log calls `name`. It begins when it first runs.
    ///
    /// # Errors
    /// The program has errors, or cannot be run here.
    pub(crate) fn new(
        program: &Program,
        name: &str,
        seed: u64,
        options: ComponentOptions,
    ) -> Result<Hosted, String> {
        let mut options = options;
        let program = components::compiled(program, &mut options, true)?;
        let program = program.ok_or("the program has errors")?;
        let said = Rc::new(RefCell::new(Said::default()));
        let (name, files) = (name.to_owned(), program.files.clone());
        let logged = Logged { name: name.clone(), line: Vec::new() };
        let console = Console::new(Box::new(logged), Lines::Together);
        let reports = Box::new(Reporter { name, files, said: said.clone() });
        let disk = super::system::disk::Disk::System;
        let outputs = components::Outputs { console, reports, disk };
        let mut host = Box::new(Sim::new(seed));
        let seeds = components::Seeds::of(Some(seed), &mut *host)?;
        let engine = components::engine(program, &mut options, seeds, outputs)?;
        let has = Has { components: true, entry: true, ..Has::default() };
        let machine = Machine::new(engine, silent_journal(), Registry::in_memory(), has)?;
        let mut hosted = Hosted { machine, lp: Loop::new(host), said, has_begun: false };
        hosted.machine.node.systems.lead_to_ports();
        Ok(hosted)
    }

    /// What Packets leads to.
    pub(crate) fn ports(&mut self) -> Option<&mut Ports> {
        self.machine.node.systems.ports()
    }

    /// Whether the program has opened an input.
    pub(crate) fn has_opened(&self, input: usize) -> bool {
        self.machine.node.systems.has_opened(input)
    }

    /// How many components have failed.
    pub(crate) fn faults(&self) -> u64 {
        self.said.borrow().faults
    }

    /// Runs what is due by `now`, for about so many steps at most. Not after it is over.
    pub(crate) fn run(&mut self, now: Time, steps: u64) -> State {
        let Hosted { machine, lp, has_begun, .. } = self;
        if !std::mem::replace(has_begun, true) && machine.node.runner.worker().start().is_ok() {
            arm(machine, lp);
        }
        packets::deliver_all(machine, lp);
        let outcome = lp.run_within(machine, now, steps);
        match (machine.node.runner.worker().ended(), outcome) {
            (Some(Ended::Finished | Ended::Halted), _) => State::Over,
            (Some(ended), _) => {
                let said = self.said.borrow_mut().end.take();
                State::Failed(said.unwrap_or_else(|| format!("the program ended: {ended:?}")))
            }
            (None, Outcome::Failed(error)) => State::Failed(error.to_string()),
            (None, Outcome::Stopped) => State::Busy,
            (None, _) => State::Waits(self.lp.next_timer()),
        }
    }
}
