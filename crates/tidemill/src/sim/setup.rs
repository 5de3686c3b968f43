//! A machine of a simulation: with all its nodes, or with those of one part.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use tidemill_event::{Limits, Loop, Outcome, Sim, Time, machine_ns};
use tidemill_overlog::fleet::{self, Fleet, NodeId};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::{Coverage, Identity, Observer, Program as Rules};
use tidemill_packet::engine::CaptureTime;
use tidemill_stat::Registry;

use super::common::{Common, Recorded};
use super::options::{SimOptions, Stretch};
use super::{devices, drawn, end, kills, life, roll, sampling, settle, stage, vigil};
use crate::borders;
use crate::borders::files::Existing;
use crate::borders::sinks::Sinks;
use crate::components::output::{self, Bell, Tap};
use crate::console::Console;
use crate::error::Error;
use crate::journal::{Journal, SharedJournal};
use crate::left::leave;
use crate::machine::parts::{Choices, Maker, Parts};
use crate::machine::share::Share;
use crate::machine::simulated::Simulated;
use crate::machine::{Machine, components, nodes};
use crate::profile::Profile;
use crate::properties::Properties;
use crate::rule_times::RuleTimes;
use crate::run::{Report, first_ns};
use crate::script::Cue;
use crate::switch::Plug;
use crate::unsettled::Unsettled;
use crate::why::{Explaining, Explanation};

/// The configuration of a machine.
#[derive(Clone)]
pub(super) struct Setup {
    pub(super) common: Common,
    pub(super) parts: Parts,
    pub(super) plugs: Vec<Plug>,
    /// The nodes that it runs.
    pub(super) share: Share,
}

/// A completed run.
struct Ran {
    machine: Machine,
    events: Loop<Machine>,
    outcome: Outcome,
}

impl Common {
    /// Whether lines are written in the order of time and node; output of the components and apps
    /// of a single node is written as it comes.
    fn is_in_order(&self) -> bool {
        self.has_rules_only() || self.options.nodes > 1
    }

    /// Whether nodes have neither components nor a graph.
    pub(super) fn has_rules_only(&self) -> bool {
        !self.has.components && !self.has.packets
    }

    /// Whether a run continues when the main parts of all nodes have ended: it has an end time, or
    /// actions of a script.
    pub(super) fn lasts(&self) -> bool {
        self.options.end_ns.is_some() || !self.cues.is_empty()
    }
}

impl Setup {
    /// The machine of a part of the simulation.
    pub(super) fn of_part(&self, share: Share) -> Setup {
        Setup { share, ..self.clone() }
    }

    /// Runs all nodes in this thread.
    ///
    /// # Errors
    /// Why the loop cannot run at all.
    pub(super) fn run(self, console: Console) -> Result<Report, Error> {
        self.go_on(console, 0)
    }

    /// Runs all nodes in this thread; the first `skip` lines have been written by an earlier
    /// attempt.
    pub(super) fn go_on(self, console: Console, skip: u64) -> Result<Report, Error> {
        let Common { options, recording, .. } = &self.common;
        let recording = recording.clone();
        let (seed, stop) = (options.seed, options.stop.clone());
        let model = options.linearizable.clone();
        let SimOptions { profile, ends_process, .. } = *options;
        let journal = self.journal(console, skip);
        let Ran { mut machine, mut events, outcome } = self.ran(journal)?;
        // Relaxed: the flag publishes no other data.
        let is_stopped = stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let has_failed = machine.journal.get().console.has_failed();
        let interrupted = is_stopped && !has_failed && matches!(outcome, Outcome::Stopped);
        if let Some(recording) = recording {
            let drawn = machine.sim.as_mut();
            let (lives, kills) = drawn.map_or_else(Default::default, |sim| {
                (std::mem::take(&mut sim.lives), std::mem::take(&mut sim.kills))
            });
            let sent = events.host().sim().map(Sim::recorded);
            *recording.lock().unwrap_or_else(PoisonError::into_inner) =
                Recorded { sent: sent.unwrap_or_default(), lives, kills };
        }
        let profile = profile.then(|| Profile::of(&machine.fleet));
        let mut report = Report { profile, ..Report::default() };
        let mut summary = end::sum_up(&mut machine, &mut events, &mut report);
        machine.journal.get_mut().write_last_lines();
        (summary.seed, summary.interrupted) = (Some(seed), interrupted);
        let mut journal = machine.journal.get_mut();
        let history = journal.take_history();
        end::check(history, model.as_ref(), &mut summary, &mut journal.console);
        drop(journal);
        end::write(summary, &mut machine.journal.get_mut().console, &mut report);
        leave((machine, events), interrupted && ends_process);
        Ok(report)
    }

    /// Runs all nodes in this thread, and explains what they do.
    ///
    /// # Errors
    /// Why the loop cannot run at all.
    pub(super) fn explain(self) -> Result<Explanation, Error> {
        let mut journal = self.journal(Console::silent(), 0);
        journal.explaining = Some(Box::new(Explaining::of(&self.common.rules.compiled)));
        let Ran { mut machine, mut events, .. } = self.ran(journal)?;
        machine.clear(&mut events);
        let explaining = machine.journal.get_mut().explaining.take();
        Ok(explaining.map(|it| *it).unwrap_or_default().explanation())
    }

    /// The journal of a run whose first lines have been written.
    fn journal(&self, console: Console, skip: u64) -> Journal {
        if self.common.is_in_order() {
            Journal::in_order(console, skip)
        } else {
            Journal::new(console)
        }
    }

    /// Makes the machine and runs it to its end.
    fn ran(self, journal: Journal) -> Result<Ran, Error> {
        let end = self.common.options.end_ns;
        let (mut machine, mut events) = self.build(journal)?;
        let outcome = match end {
            Some(end) => events.run_until(&mut machine, Time(end)),
            None => events.run(&mut machine),
        };
        machine.journal.get_mut().write_lines();
        match outcome {
            Outcome::Failed(error) => {
                Err(Error::System(format!("the simulation cannot run: {error}")))
            }
            outcome => Ok(Ran { machine, events, outcome }),
        }
    }

    /// Makes the machine and starts its nodes.
    pub(super) fn build(self, mut journal: Journal) -> Result<(Machine, Loop<Machine>), Error> {
        let Setup { common, parts, plugs, share } = self;
        let (calm, faults_end) = settle::calm(&common);
        let calm_ns = settle::calm_ns(&common.cues, &common.options);
        let drawn = drawn::all(&common.options, faults_end);
        let lasts = common.lasts();
        let mut events = simulated_loop(&common);
        journal.set_clock(events.host().sim().map(|sim| sim.clock()));
        let Common { rules, properties, has, mut options, identities, cues, .. } = common;
        if options.linearizable.is_some() {
            journal.keep_history();
        }
        let journal = SharedJournal::new(journal);
        let engine = components::idle(events.host())?;
        let mut machine = Machine::new(engine, journal.clone(), Registry::keeping("border/"), has);
        let stop = options.stop.clone().unwrap_or_default();
        events.stop_when(stop.clone());
        machine.fleet = fleet(rules, &mut options, &stop, Box::new(journal));
        machine.sinks = Sinks::new(&parts.borders.sinks, &machine.registry);
        let (root, of_all) = (options.root.clone(), stop.clone());
        if has.components || has.packets {
            Machine::follow(&mut events);
            machine.maker = Some(Rc::new(maker(parts, &options, &machine, stop)));
        } else if let Some(step_ns) = options.sample_ns {
            sampling::sample(&mut events, step_ns);
        }
        let ends = settle::end_ns(&cues, options.end_ns).is_some();
        let waits_for_quiet = !ends && has_leases(machine.fleet.program());
        let vigil = waits_for_quiet.then(|| vigil::keep(&mut events));
        let roll = roll::table(machine.fleet.program().plan());
        let addresses = identities.iter().map(|identity| identity.address.as_str());
        let switches = devices::switches(&plugs, addresses);
        let unsettled = unsettled(&options, &machine, calm_ns);
        let settle_timer = options.settle.map(|_| settle::watch(&mut events));
        let properties = properties.map(|shared| {
            let landmark = first_landmark(&identities);
            Box::new(Properties::new(shared, (options.nodes, landmark), (options.seed, &of_all)))
        });
        let sim = Simulated {
            down_elsewhere: Vec::new(),
            roll,
            vigil,
            lasts,
            properties,
            unsettled,
            settle_timer,
            churned: Vec::new(),
            lives: Vec::new(),
            kills: Vec::new(),
            coverage: Coverage::default(),
            rule_times: RuleTimes::default(),
            plugs,
            switches,
        };
        (machine.share, machine.sim) = (share, Some(sim));
        let cues = cues.iter().chain(&drawn).chain(&calm);
        begin(&mut machine, &mut events, cues, (&identities, root.as_deref()))?;
        fail_at_random(&machine, &mut events, &options, calm_ns);
        Ok((machine, events))
    }
}

/// Makes nodes, and parts of them, fail until `until_ns`.
fn fail_at_random(
    machine: &Machine,
    events: &mut Loop<Machine>,
    options: &SimOptions,
    until_ns: Option<u64>,
) {
    for Stretch { from_ns, before_ns, seed, faults } in options.stretches(until_ns) {
        let times = (from_ns, before_ns.or(until_ns));
        if from_ns > 0 {
            events.timer(Time(from_ns), life::end_churn);
        }
        if let Some(mean_ns) = faults.churn_ns {
            life::churn(machine, events, (mean_ns, seed), times);
        }
        if let Some(mean_ns) = faults.kill_ns {
            kills::kills(machine, events, (mean_ns, seed), times);
        }
    }
}

/// What has not settled yet, if the run watches for that.
fn unsettled(options: &SimOptions, machine: &Machine, calm_ns: Option<u64>) -> Option<Unsettled> {
    let table = settle::table(machine.fleet.program());
    options.settle.map(|settle| Unsettled::new(settle, table, calm_ns.unwrap_or(0)))
}

fn first_landmark(identities: &[Identity]) -> &str {
    identities.first().map_or("", |first| first.landmark.as_str())
}

/// The loop over a simulated network.
fn simulated_loop(common: &Common) -> Loop<Machine> {
    let options = &common.options;
    let mut host = Sim::new(options.seed).with_conditions(options.faults.conditions());
    if common.recording.is_some() {
        host.record();
    }
    // Each node has a limit of its own; one for all would make nodes depend on each other.
    let limits = Limits { events: usize::MAX, ..Limits::default() };
    Loop::with_limits(Box::new(host), limits)
}

/// Sets the timers of the cues, and starts the nodes.
fn begin<'c>(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    cues: impl Iterator<Item = &'c Cue>,
    (identities, root): (&[Identity], Option<&Path>),
) -> Result<(), Error> {
    // Before the nodes: the actions of a script precede other events of their time.
    for (number, cue) in (0..).zip(cues) {
        stage::set(events, number, Rc::new(cue.clone()));
    }
    if let Some(roll) = machine.sim.as_ref().and_then(|sim| sim.roll) {
        let rows = identities.iter().map(|identity| (identity.address.clone(), true));
        machine.fleet.open_with(roll::opening(roll, rows));
    }
    for identity in identities {
        start(machine, events, identity.clone())?;
    }
    borders::open_files(machine, events, root, Existing::Replaced)?;
    Ok(())
}

/// Without shipped views there are no leases, and the loop detects when all is done.
pub(super) fn has_leases(rules: &Rules) -> bool {
    !rules.compiled.exports.is_empty()
}

/// Starts a node, or records that another part does.
fn start(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    identity: Identity,
) -> Result<(), Error> {
    let share = machine.share;
    let (id, address) = (NodeId(identity.index), identity.address.clone());
    let failed = |error: std::io::Error| Error::Start(format!("{address}: {error}"));
    if !share.has(id) {
        if let Some(sim) = events.host().sim() {
            // There are no more parts than threads.
            sim.place_elsewhere(&address, share.part_of(id) as u16);
        }
        return fleet::start_elsewhere(machine, events, identity).map(drop).map_err(failed);
    }
    let endpoint = events.host().bind(&address).map_err(failed)?;
    let node = nodes::start_one(machine, events, endpoint, identity)?;
    nodes::begin(machine, events, node)
}

/// Nodes of rules that are not started.
fn fleet(
    rules: Arc<Rules>,
    options: &mut SimOptions,
    stop: &Arc<AtomicBool>,
    observer: Box<dyn Observer>,
) -> Fleet {
    let mut fleet = Fleet::new(rules, Fabric::Udp, options.seed, observer);
    options.extra.drain(..).for_each(|extra| fleet.add_extra(extra));
    options.turn_tuples_max.into_iter().for_each(|most| fleet.limit_turns(most));
    if options.observes_order {
        fleet.observe_order();
    }
    options.seal.take().into_iter().for_each(|seal| fleet.seal_with(seal));
    fleet.interrupt_by(stop.clone());
    if options.profile {
        fleet.measure(machine_ns);
    }
    fleet
}

/// Makes the other engines of nodes.
fn maker(parts: Parts, options: &SimOptions, machine: &Machine, stop: Arc<AtomicBool>) -> Maker {
    let first_ns = parts.graph.as_ref().and_then(first_ns);
    let (journal, are_several) = (machine.journal.clone(), options.nodes > 1);
    Maker {
        parts,
        components: Choices {
            memory_max: options.memory_max,
            root: options.root.clone(),
            are_several,
            ..Choices::default()
        },
        engine: options.packets,
        seed: Some(options.seed),
        captures: first_ns.map(|wall_ns| CaptureTime { wall_ns, loop_ns: 0 }),
        registry: machine.registry.clone(),
        output: Rc::new(move |name| {
            let tap = Tap::new(journal.clone(), Bell::Flag(stop.clone()));
            output::sink(are_several.then_some(name), tap)
        }),
        names: are_several,
        existing: Existing::Replaced,
        disks: Some(RefCell::default()),
    }
}
