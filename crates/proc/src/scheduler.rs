//! The scheduler: runs ready processes, and between two of them does what must not happen while
//! code runs.

use std::sync::atomic::Ordering;

use tidemill_stdx::marks;

use crate::component;
use crate::fault::Ended;
use crate::machine::Worker;
use crate::paused::Paused;
use crate::process::{ProcessState, Role};
use crate::{clock, crew, fault, monitor, pieces, system, tear};

/// Components that are advanced towards their end in one increment.
const ENDS: usize = 256;

/// Names of waiting processes in a report of a deadlock.
const NAMES: usize = 20;

impl Worker {
    /// Runs ready processes for one slice: until the flag is set, or for `budget` steps and
    /// checkpoints.
    pub fn run(&mut self, budget: i64) -> Paused {
        if self.machine.desk.is_some() {
            return self.run_first();
        }
        self.flag.store(0, Ordering::Relaxed);
        monitor::begin(self, budget);
        pieces::begin(self, budget);
        let paused = self.run_slice();
        monitor::settle(self);
        paused
    }

    fn run_slice(&mut self) -> Paused {
        loop {
            if self.machine.attention {
                self.do_due_work();
                let rests = self.machine.attention && self.machine.ended.is_none();
                if rests && (self.is_cut_off() || self.budget <= 0) {
                    return Paused::Slice;
                }
                if self.machine.ended.is_some() {
                    return self.end_run();
                }
                if self.machine.is_noted() {
                    return Paused::Requests;
                }
                if self.machine.stopping.is_some() {
                    // None of what is being torn down may run.
                    continue;
                }
            }
            let Some(process) = self.pop_ready() else {
                if monitor::look_due(self) {
                    continue;
                }
                let more = self.machine.attention || clock::advance(self);
                if more || component::break_circles(self) {
                    continue;
                }
                return self.nothing_ready();
            };
            self.prefetch_next();
            marks::arrive("components/process");
            self.step(process);
            marks::leave();
            self.budget -= 1;
            if self.flag.load(Ordering::Relaxed) != 0 || self.budget <= 0 {
                if monitor::look_due(self) && !self.is_cut_off() && self.budget > 0 {
                    continue;
                }
                if !self.machine.clocks.is_empty() {
                    clock::advance(self);
                }
                if self.ready_count() > 0 || self.machine.attention {
                    return Paused::Slice;
                }
            }
        }
    }

    /// Does the work that operations have deferred until no code runs.
    pub(crate) fn do_due_work(&mut self) {
        loop {
            self.machine.attention = false;
            if !std::mem::take(&mut self.machine.has_due_work) {
                return;
            }
            if self.machine.halted {
                self.machine.ended.get_or_insert(Ended::Halted);
                return;
            }
            if tear::bury_doomed(self) {
                return;
            }
            monitor::look(self);
            pieces::terminate_some(self);
            let are_early = component::advance_early(self);
            for _ in 0..ENDS {
                let Some(id) = self.machine.ending.pop() else { break };
                if let Some(component) = self.machine.table.get(id) {
                    crew::advance(self, component);
                    self.budget -= 1;
                }
            }
            if self.machine.ending.is_empty() {
                component::break_call_circles(self);
            }
            pieces::sweep(self);
            if !self.machine.ending.is_empty() || are_early || pieces::are_left(self) {
                self.machine.attend();
                return;
            }
        }
    }

    /// The ready queue is empty: advances clocks and breaks circles. Returns `None` if that has
    /// made a process ready.
    pub(crate) fn settle(&mut self) -> Option<Paused> {
        let more = clock::advance(self) || component::break_circles(self);
        if more { None } else { Some(self.nothing_ready()) }
    }

    fn end_run(&mut self) -> Paused {
        self.clear();
        Paused::Ended
    }

    /// Everything waits: for a system component, or for ever.
    fn nothing_ready(&mut self) -> Paused {
        self.machine.console.flush();
        if self.machine.ended.is_some() {
            return self.end_run();
        }
        if system::is_waited_for(self) || self.machine.holds > 0 {
            return Paused::Waiting;
        }
        self.report_deadlock();
        if let Some(outcome) = self.machine.outcome.take() {
            self.machine.ended = Some(outcome);
        }
        self.end_run()
    }

    fn report_deadlock(&mut self) {
        let mut waiting = 0;
        let mut some = Vec::new();
        for component in self.machine.table.iter() {
            let mut process = component.processes();
            while !process.is_null() {
                waiting += 1;
                if some.len() < NAMES && Role::of(process) != Role::System {
                    let path = component::path(self, component);
                    let name = fault::process_name(self, process);
                    some.push(format!("{path}, {name}, {}", ProcessState::of(process).name()));
                }
                process = process.next();
            }
        }
        self.machine.reports.deadlock(waiting, &some);
        self.machine.ended = Some(Ended::Deadlock { waiting });
    }

    /// Something outside may still wake a process: the run does not end as a deadlock.
    pub fn hold(&mut self) {
        self.machine.holds += 1;
    }

    /// Takes one [`Worker::hold`] back.
    pub fn unhold(&mut self) {
        self.machine.holds = self.machine.holds.saturating_sub(1);
    }

    /// Whether the flag is up.
    #[inline(always)]
    pub(crate) fn is_cut_off(&self) -> bool {
        self.flag.load(Ordering::Relaxed) != 0
    }

    /// Whether anything is to be run.
    pub fn is_ready(&self) -> bool {
        self.ready_count() > 0 || self.machine.attention || !self.machine.looker.due().is_empty()
    }
}
