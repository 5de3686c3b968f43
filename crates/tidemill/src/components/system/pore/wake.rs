//! Doorbells in both directions, and the events that follow.
//!
//! *Out.* The first Ring of a turn rings at once, so that the other side begins; further ones wait
//! for the end of the turn. A ring that would tell nothing is left out ([`Pore::is_ring_due`]).
//!
//! *In.* At the end of a turn in which something was armed and nothing is left to run, the pores
//! are polled for a little while before the loop sleeps at their bells: a sleep and a wake-up cost
//! more than most answers take. How long follows from how long answers have taken, and is nothing
//! where they take longer than the limit ([`POLL_NS_MAX`]), which is also the most that it can
//! hold up a timer.
//!
//! [`Pore::is_ring_due`]: tidemill_pore::Pore::is_ring_due

use std::collections::BTreeSet;
use std::time::Duration;

use tidemill_event::{Handlers, Interest, Loop, Time};
use tidemill_pore::{Error, Signal, Wants};
use tidemill_proc::{Communication, arm as arm_worker};

use super::World;
use super::open::send_event;

/// The longest poll.
const POLL_NS_MAX: u64 = 50_000;
/// The poll that is begun with.
const POLL_NS: u64 = 20_000;
/// Looks between two looks at the clock.
const LOOKS: u32 = 32;
/// Rings in a row that tell nothing, before a bell is only looked at now and then.
const VAIN_MAX: u32 = 256;
/// How often that is.
const REST: Duration = Duration::from_millis(1);

/// What is to be done at the end of the turn, and what was learnt about polling.
pub(super) struct Wake {
    /// Who rang or armed in this turn.
    touched: BTreeSet<Communication>,
    /// Who is armed.
    armed: BTreeSet<Communication>,
    is_scheduled: bool,
    poll_ns: u64,
    /// When the loop began to sleep.
    slept: Option<Time>,
}

impl Default for Wake {
    fn default() -> Wake {
        Wake {
            touched: BTreeSet::new(),
            armed: BTreeSet::new(),
            is_scheduled: false,
            poll_ns: POLL_NS,
            slept: None,
        }
    }
}

impl Wake {
    /// Who is armed.
    pub(super) fn armed(&self) -> impl Iterator<Item = &Communication> {
        self.armed.iter()
    }

    /// An answer took so long: the next poll shall outlast one like it.
    fn learn(&mut self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        if took < POLL_NS_MAX / 2 {
            self.poll_ns = (self.poll_ns * 7 / 8 + took / 4).clamp(2 * took, POLL_NS_MAX);
        }
    }
}

pub(super) fn ring(world: &mut World, lp: &mut Loop<World>, from: Communication) {
    let system = &mut world.systems.pores;
    let Some(line) = system.lines.get_mut(&from) else { return };
    if line.has_rung {
        line.shall_ring = true;
    } else if ring_if_due(system, from)
        && let Some(line) = system.lines.get_mut(&from)
    {
        line.has_rung = true;
    }
    touch(world, lp, from);
}

fn ring_if_due(system: &mut super::PoreSystem, from: Communication) -> bool {
    let Some((owner, id)) = system.pore_of(from) else { return false };
    let Ok(pore) = system.pores.get(owner, id) else { return false };
    // An other side that cannot be signalled is told of by the pore.
    pore.is_ring_due() && pore.ring().is_ok()
}

pub(super) fn arm(world: &mut World, lp: &mut Loop<World>, from: Communication, wants: Wants) {
    let system = &mut world.systems.pores;
    let Some((owner, id)) = system.pore_of(from) else { return };
    if system.pores.arm(owner, id, wants).is_ok() {
        system.wake.armed.insert(from);
    }
    let interest = if wants.writable > 0 { Interest::ReadWrite } else { Interest::Read };
    rest_of(world, lp, from, interest);
    touch(world, lp, from);
}

/// Changes what is watched of a descriptor that tells of more than rings.
fn rest_of(world: &mut World, lp: &mut Loop<World>, from: Communication, interest: Interest) {
    let line = world.systems.pores.lines.get(&from);
    if let Some(ready) = line.and_then(|line| line.ready) {
        let _ = lp.modify(ready, interest);
    }
}

/// Has the end of the turn look at this pore.
fn touch(world: &mut World, lp: &mut Loop<World>, from: Communication) {
    let wake = &mut world.systems.pores.wake;
    wake.touched.insert(from);
    if !std::mem::replace(&mut wake.is_scheduled, true) {
        lp.action(settle);
    }
}

/// The end of a turn.
fn settle(world: &mut World, lp: &mut Loop<World>) {
    let system = &mut world.systems.pores;
    system.wake.is_scheduled = false;
    for from in std::mem::take(&mut system.wake.touched) {
        let Some(line) = system.lines.get_mut(&from) else { continue };
        line.has_rung = false;
        if std::mem::take(&mut line.shall_ring) {
            ring_if_due(system, from);
        }
    }
    if look_at_armed(world, lp) || world.runner.worker.is_ready() {
        return;
    }
    poll(world, lp);
}

/// Looks at the armed pores until one has something, or it has taken too long.
fn poll(world: &mut World, lp: &mut Loop<World>) {
    let wake = &mut world.systems.pores.wake;
    if wake.armed.is_empty() {
        return;
    }
    let start = lp.host().now();
    let limit = Duration::from_nanos(wake.poll_ns);
    while !limit.is_zero() && lp.host().now() - start < limit {
        for _ in 0..LOOKS {
            if world.systems.pores.is_any_due() && look_at_armed(world, lp) {
                let took = lp.host().now() - start;
                world.systems.pores.wake.learn(took);
                return;
            }
            std::hint::spin_loop();
        }
    }
    let wake = &mut world.systems.pores.wake;
    // In vain: less next time, until answers that woke the loop show that it would have paid.
    wake.poll_ns = if wake.poll_ns < 1000 { 0 } else { wake.poll_ns / 2 };
    wake.slept = Some(start);
}

/// Tells the owners of armed pores that have something; whether there were any.
fn look_at_armed(world: &mut World, lp: &mut Loop<World>) -> bool {
    let mut some = false;
    let armed = std::mem::take(&mut world.systems.pores.wake.armed);
    let mut still = BTreeSet::new();
    for from in armed {
        match look(world, from) {
            Looked::Told => some = true,
            Looked::Nothing => drop(still.insert(from)),
            Looked::Gone => {}
        }
    }
    still.append(&mut world.systems.pores.wake.armed);
    world.systems.pores.wake.armed = still;
    if some {
        arm_worker(world, lp);
    }
    some
}

enum Looked {
    Told,
    Nothing,
    Gone,
}

fn look(world: &mut World, from: Communication) -> Looked {
    let system = &mut world.systems.pores;
    let Some((_, id)) = system.pore_of(from) else { return Looked::Gone };
    if system.pores.armed(id).is_none() {
        return Looked::Gone;
    }
    let Some(event) = system.pores.take_event(id) else { return Looked::Nothing };
    if let Some(line) = system.lines.get_mut(&from) {
        line.event = Some(event);
        line.vain = 0;
    }
    deliver(world, from);
    Looked::Told
}

/// Sends the event that waits, if its client is not owed an answer.
pub(super) fn deliver(world: &mut World, to: Communication) {
    let Some(line) = world.systems.pores.lines.get_mut(&to) else { return };
    let Some(event) = line.event.take() else { return };
    if !send_event(world, to, &event)
        && let Some(line) = world.systems.pores.lines.get_mut(&to)
    {
        line.event = Some(event);
    }
}

/// Has the loop watch the descriptors of a pore.
pub(super) fn watch(
    world: &mut World,
    lp: &mut Loop<World>,
    from: Communication,
) -> Result<(), Error> {
    let Some((_, id)) = world.systems.pores.pore_of(from) else { return Ok(()) };
    for signal in world.systems.pores.pores.signals(id) {
        let (fd, is_lifeline, is_ready) = match signal {
            Signal::Bell(fd) => (fd, false, false),
            Signal::Ready(fd) => (fd, false, true),
            Signal::Lifeline(fd) => (fd, true, false),
        };
        let handlers = Handlers::new()
            .read(move |world: &mut World, lp: &mut Loop<World>, _| match is_lifeline {
                true => lifeline(world, lp, from),
                false => rung(world, lp, from),
            })
            .write(move |world: &mut World, lp: &mut Loop<World>, _| rung(world, lp, from))
            .error(move |world: &mut World, lp: &mut Loop<World>, _, _| lifeline(world, lp, from));
        let interest = if is_ready { Interest::None } else { Interest::Read };
        let watch = lp.watch(fd, interest, handlers)?;
        if let Some(line) = world.systems.pores.lines.get_mut(&from) {
            line.watches.push(watch);
            line.ready = line.ready.or(is_ready.then_some(watch));
        }
    }
    Ok(())
}

/// The other side has rung.
fn rung(world: &mut World, lp: &mut Loop<World>, from: Communication) {
    let now = lp.host().now();
    let system = &mut world.systems.pores;
    let Some((_, id)) = system.pore_of(from) else { return };
    system.pores.hush(id);
    let looked = look(world, from);
    if !matches!(looked, Looked::Nothing) {
        rest_of(world, lp, from, Interest::None);
    }
    match looked {
        Looked::Told => {
            let wake = &mut world.systems.pores.wake;
            wake.armed.remove(&from);
            if let Some(slept) = wake.slept.take() {
                let took = now - slept;
                wake.poll_ns = wake.poll_ns.max(1);
                wake.learn(took);
            }
            arm_worker(world, lp);
        }
        Looked::Nothing | Looked::Gone => vain(world, lp, from),
    }
}

/// A ring has told nothing. After too many the bell is left alone for a while: it can only slow
/// its own pore down.
fn vain(world: &mut World, lp: &mut Loop<World>, from: Communication) {
    let Some(line) = world.systems.pores.lines.get_mut(&from) else { return };
    line.vain += 1;
    if line.vain < VAIN_MAX {
        return;
    }
    line.vain = 0;
    for watch in &line.watches {
        // A lifeline rests as well, and is looked at when the rest is over.
        let _ = lp.modify(*watch, Interest::None);
    }
    if line.rest.is_none() {
        let over = move |world: &mut World, lp: &mut Loop<World>| rested(world, lp, from);
        let at = lp.now() + REST;
        let rest = lp.timer(at, over);
        if let Some(line) = world.systems.pores.lines.get_mut(&from) {
            line.rest = Some(rest);
        }
    }
}

fn rested(world: &mut World, lp: &mut Loop<World>, from: Communication) {
    let Some(line) = world.systems.pores.lines.get_mut(&from) else { return };
    line.rest = None;
    for watch in &line.watches {
        // What is not armed finds so at its next report, and rests again.
        let _ = lp.modify(*watch, Interest::Read);
    }
}

/// The other side may have gone.
fn lifeline(world: &mut World, lp: &mut Loop<World>, from: Communication) {
    let system = &mut world.systems.pores;
    let Some((_, id)) = system.pore_of(from) else { return };
    if system.pores.look_at_peer(id).is_ok() {
        return vain(world, lp, from);
    }
    // A socket that has hung up says so for ever; what it has to tell is remembered.
    if let Some(line) = system.lines.get_mut(&from) {
        super::unwatch(lp, line);
    }
    if matches!(look(world, from), Looked::Told) {
        world.systems.pores.wake.armed.remove(&from);
        arm_worker(world, lp);
    }
}
