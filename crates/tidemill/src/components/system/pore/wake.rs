//! Doorbells in both directions, and the events that follow.
//!
//! *Out.* The first Ring of a turn rings at once, so that the other side begins; further ones, and
//! all while the other side polls, wait for the end of the turn. A ring that would tell nothing is
//! left out ([`Pore::is_ring_due`]).
//!
//! *In.* When something was armed and nothing is left to run, in a turn or at its end, the pores
//! are polled for a little while before the loop sleeps at their bells: a sleep and a wake-up cost
//! more than most answers take. How long follows from how long answers have taken
//! ([`tidemill_pore::adaptive_poll`]). It polls in stretches, between which the loop looks at its
//! descriptors and timers; a stretch ends when a timer is due. Within one it gives its processor
//! away now and then, for the other side may wait for it. While the loop polls, and while it has
//! something to run after which it will look again, the other side knows that it need not ring.
//!
//! [`Pore::is_ring_due`]: tidemill_pore::Pore::is_ring_due

use std::time::Duration;

use tidemill_cl::system::pore::Response;
use tidemill_event::{Handlers, Interest, Loop, Time};
use tidemill_pore::adaptive_poll::pause;
use tidemill_pore::{Error, Event, OwnerId, PoreId, Signal, Wants};
use tidemill_proc::{Communication, arm as arm_worker};

use super::client::{send, unwatch};
use super::state::{Notice, Polled, PoreSystem};
use crate::machine::Machine;

/// So long a turn polls, or goes on with what is found: as long as the loop runs turns before it
/// looks at its descriptors.
const STRETCH: Duration = Duration::from_micros(50);
/// Looks between two looks at the clock.
const LOOKS: u32 = 16;
/// Rings in a row that tell nothing, before a bell is only looked at now and then.
const VAIN_MAX: u32 = 256;
/// How often that is.
const REST: Duration = Duration::from_millis(1);

pub(super) fn ring(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let system = &mut world.node.systems.pores;
    let Some(client) = system.clients.get_mut(from) else { return };
    // Who polls has seen it; whether it still does is looked at when the turn ends.
    let is_early =
        !client.has_rung && !client.pore.is_some_and(|id| system.pores.is_peer_polling(id));
    client.shall_ring = true;
    if is_early
        && ring_if_due(system, from)
        && let Some(client) = system.clients.get_mut(from)
    {
        client.has_rung = true;
    }
    touch(world, lp, from);
}

fn ring_if_due(system: &mut PoreSystem, from: Communication) -> bool {
    let Some((owner, id)) = system.pore_of(from) else { return false };
    let Ok(pore) = system.pores.get(owner, id) else { return false };
    // An other side that cannot be signalled is told of by the pore.
    pore.is_ring_due() && pore.ring().is_ok()
}

/// Has an event sent, with so much that is read for it if anything is.
pub(super) fn arm(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    wants: Wants,
    reads: Option<usize>,
) {
    let PoreSystem { pores, clients, wake, .. } = &mut world.node.systems.pores;
    let Some(client) = clients.get_mut(from) else { return };
    let Some(id) = client.pore else { return };
    if pores.arm(client.owner, id, wants).is_ok() {
        client.reads = reads;
        if !std::mem::replace(&mut client.is_listed, true) {
            wake.armed.push(from);
        }
    }
    let interest = if wants.writable > 0 { Interest::ReadWrite } else { Interest::Read };
    rest_of(world, lp, from, interest);
    touch(world, lp, from);
}

/// Changes what is watched of a descriptor that tells of more than rings.
fn rest_of(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication, interest: Interest) {
    let client = world.node.systems.pores.clients.get(from);
    if let Some(ready) = client.and_then(|client| client.ready) {
        let _ = lp.modify(ready, interest);
    }
}

/// Has the end of the turn look at this pore.
fn touch(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let PoreSystem { clients, wake, .. } = &mut world.node.systems.pores;
    let Some(client) = clients.get_mut(from) else { return };
    if !std::mem::replace(&mut client.is_touched, true) {
        wake.touched.push(from);
    }
    // What is waited for now has not been asked for any earlier.
    wake.waits_since = None;
    if !std::mem::replace(&mut wake.is_scheduled, true) {
        lp.action(settle);
    }
}

/// Nothing is ready, and the turn goes on if something comes: what the end of the turn would find
/// is found without another turn, as long as the loop would not look at its descriptors.
pub(in super::super) fn look(world: &mut Machine, lp: &mut Loop<Machine>) -> bool {
    let wake = &world.node.systems.pores.wake;
    if !wake.is_scheduled || wake.armed.is_empty() || lp.poll_span(STRETCH).is_zero() {
        return false;
    }
    let (now, began) = (lp.host().now(), lp.now());
    if now - began >= STRETCH || lp.next_timer().is_some_and(|timer| timer <= now) {
        return false;
    }
    ring_touched(world);
    let polled = if look_at_armed(world) { Polled::Came } else { poll(world, lp, now) };
    world.node.systems.pores.wake.polled_in_vain = Some(polled).filter(|it| *it != Polled::Came);
    polled == Polled::Came
}

/// Rings for those who have asked for it.
fn ring_touched(world: &mut Machine) {
    let system = &mut world.node.systems.pores;
    while let Some(from) = system.wake.touched.pop() {
        let Some(client) = system.clients.get_mut(from) else { continue };
        client.is_touched = false;
        client.has_rung = false;
        if std::mem::take(&mut client.shall_ring) {
            ring_if_due(system, from);
        }
    }
}

/// The end of a turn.
fn settle(world: &mut Machine, lp: &mut Loop<Machine>) {
    ring_touched(world);
    let wake = &mut world.node.systems.pores.wake;
    wake.is_scheduled = false;
    let polled_in_vain = wake.polled_in_vain.take();
    let polled = match look_at_armed(world) || world.node.runner.worker().is_ready() {
        true => Polled::Came,
        false => polled_in_vain.unwrap_or_else(|| {
            let now = lp.host().now();
            poll(world, lp, now)
        }),
    };
    match polled {
        Polled::Came => {
            world.node.systems.pores.wake.waits_since = None;
            arm_worker(world, lp);
            go_on(world, lp);
        }
        Polled::Later => go_on(world, lp),
        Polled::Over => sleep(world, lp),
    }
}

/// The loop is not to sleep yet: those who are still armed are looked at again in a turn after what
/// else there is.
fn go_on(world: &mut Machine, lp: &mut Loop<Machine>) {
    let wake = &mut world.node.systems.pores.wake;
    if wake.armed.is_empty() || wake.is_scheduled {
        return;
    }
    let owner = *wake.owner.get_or_insert_with(|| lp.owner("pores"));
    wake.is_scheduled = lp.event(owner, settle).is_ok();
    if !wake.is_scheduled {
        sleep(world, lp);
    }
}

/// From now on the armed pores have to be rung for.
fn sleep(world: &mut Machine, lp: &mut Loop<Machine>) {
    let PoreSystem { pores, clients, wake, .. } = &mut world.node.systems.pores;
    let pore = |from: &Communication| clients.get(*from)?.pore;
    let mut some = false;
    for id in wake.armed.iter().filter_map(pore) {
        some |= pores.end_polling(id);
    }
    if some {
        // What came before that was not rung for.
        if look_at_armed(world) {
            arm_worker(world, lp);
        }
    }
}

/// Looks at the armed pores from `now` on, until one has something, or it has taken too long, or a
/// timer is due.
fn poll(world: &mut Machine, lp: &mut Loop<Machine>, now: Time) -> Polled {
    let PoreSystem { pores, clients, wake, .. } = &mut world.node.systems.pores;
    let pore = |from: &Communication| clients.get(*from)?.pore;
    let mut pollable = std::mem::take(&mut wake.pollable);
    pollable.extend(wake.armed.iter().filter_map(pore).filter(|&id| pores.is_pollable(id)));
    let polled =
        if pollable.is_empty() { Polled::Over } else { poll_these(world, lp, now, &pollable) };
    pollable.clear();
    world.node.systems.pores.wake.pollable = pollable;
    polled
}

fn poll_these(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    start: Time,
    pollable: &[PoreId],
) -> Polled {
    let PoreSystem { pores, wake, .. } = &mut world.node.systems.pores;
    let end = *wake.waits_since.get_or_insert(start) + lp.poll_span(wake.policy.span());
    if end <= start {
        return Polled::Over;
    }
    let stretch_end = end.min(start + STRETCH);
    let stretch_end = lp.next_timer().map_or(stretch_end, |timer| stretch_end.min(timer));
    pollable.iter().for_each(|&id| pores.begin_polling(id));
    let mut looks = 0;
    loop {
        for _ in 0..LOOKS {
            let pores = &mut world.node.systems.pores.pores;
            if pollable.iter().any(|&id| pores.is_due(id)) && look_at_armed(world) {
                let wake = &mut world.node.systems.pores.wake;
                wake.policy.succeeded();
                wake.waits_since = None;
                return Polled::Came;
            }
            pause(looks);
            looks += 1;
        }
        let now = lp.host().now();
        if now >= stretch_end {
            return if now >= end { Polled::Over } else { Polled::Later };
        }
        let policy = &mut world.node.systems.pores.wake.policy;
        if policy.should_yield(now - start) {
            std::thread::yield_now();
            policy.yielded(lp.host().now() - now);
        }
    }
}

/// Tells the owners of armed pores that have something; whether there were any.
fn look_at_armed(world: &mut Machine) -> bool {
    let mut some = false;
    let mut armed = std::mem::take(&mut world.node.systems.pores.wake.armed);
    armed.retain(|&from| {
        let probe = look_at(world, from);
        some |= matches!(probe, Probe::Told);
        let stays = matches!(probe, Probe::Nothing);
        if !stays && let Some(client) = world.node.systems.pores.clients.get_mut(from) {
            client.is_listed = false;
        }
        stays
    });
    armed.append(&mut world.node.systems.pores.wake.armed);
    world.node.systems.pores.wake.armed = armed;
    some
}

enum Probe {
    Told,
    Nothing,
    Gone,
}

fn look_at(world: &mut Machine, from: Communication) -> Probe {
    let PoreSystem { pores, clients, data, .. } = &mut world.node.systems.pores;
    let Some(client) = clients.get_mut(from) else { return Probe::Gone };
    let Some(id) = client.pore else { return Probe::Gone };
    if pores.armed(id).is_none() {
        return Probe::Gone;
    }
    let Some(event) = pores.take_event(id) else { return Probe::Nothing };
    // Until it is armed again nobody waits, and then it is looked at.
    pores.begin_polling(id);
    client.vain = 0;
    let event = match (event, client.reads) {
        (Event::Ready(avail), Some(count)) => {
            let until = client.accepted.saturating_add(avail.writable as i64);
            match read_for(pores, (client.owner, id), count, data) {
                Ok(()) => Notice::Came(std::mem::take(data), until),
                Err(error) => Notice::Event(Event::Trouble(error)),
            }
        }
        (event, _) => Notice::Event(event),
    };
    client.event = Some(event);
    deliver(world, from);
    Probe::Told
}

/// Reads what has come, and tells the other side of the room if it waits for that.
fn read_for(
    pores: &mut tidemill_pore::Pores,
    (owner, id): (OwnerId, PoreId),
    count: usize,
    data: &mut Vec<u8>,
) -> Result<(), Error> {
    let pore = pores.get(owner, id)?;
    pore.read(count, data)?;
    if pore.is_ring_due() {
        // As with rings that are asked for.
        let _ = pore.ring();
    }
    Ok(())
}

/// Sends the event that waits, if its client is not owed an answer.
pub(super) fn deliver(world: &mut Machine, to: Communication) {
    let Some(client) = world.node.systems.pores.clients.get_mut(to) else { return };
    let Some(event) = client.event.take() else { return };
    let is_sent = match &event {
        Notice::Event(Event::Ready(avail)) => {
            let (readable, writable) = (avail.readable as i64, avail.writable as i64);
            send(world, to, Response::Event { readable, writable })
        }
        Notice::Event(Event::Trouble(error)) => {
            let reason = error.to_string().into_bytes().into();
            send(world, to, Response::Trouble { reason })
        }
        Notice::Came(data, until) => {
            send(world, to, Response::Came { data: data.as_slice().into(), until: *until })
        }
    };
    let system = &mut world.node.systems.pores;
    match event {
        Notice::Came(data, _) if is_sent => system.keep_for_data(data),
        event => {
            if !is_sent && let Some(client) = system.clients.get_mut(to) {
                client.event = Some(event);
            }
        }
    }
}

/// Has the loop watch the descriptors of a pore.
pub(super) fn watch(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
) -> Result<(), Error> {
    let Some((_, id)) = world.node.systems.pores.pore_of(from) else { return Ok(()) };
    for signal in world.node.systems.pores.pores.signals(id) {
        let (Signal::Bell(fd) | Signal::Ready(fd) | Signal::Lifeline(fd)) = signal;
        let is_ready = matches!(signal, Signal::Ready(_));
        let handlers = Handlers::new()
            .read(move |world: &mut Machine, lp: &mut Loop<Machine>, _| match signal {
                Signal::Lifeline(_) => lifeline(world, lp, from),
                Signal::Bell(_) | Signal::Ready(_) => rung(world, lp, from),
            })
            .write(move |world: &mut Machine, lp: &mut Loop<Machine>, _| rung(world, lp, from))
            .error(move |world: &mut Machine, lp: &mut Loop<Machine>, _, _| match signal {
                Signal::Bell(_) => overrun(world, lp, from),
                Signal::Ready(_) | Signal::Lifeline(_) => lifeline(world, lp, from),
            });
        let interest = if is_ready { Interest::None } else { Interest::Read };
        let watch = lp.watch(fd, interest, handlers)?;
        if let Some(client) = world.node.systems.pores.clients.get_mut(from) {
            client.watches.push(watch);
            client.ready = client.ready.or(is_ready.then_some(watch));
        }
    }
    Ok(())
}

/// A bell reports an error instead of a ring: its count is at its limit, where signals of the
/// kernel can bring it and no honest side does. The loop has ended that watch. The count is taken
/// back, and after a rest all is watched anew.
fn overrun(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let system = &mut world.node.systems.pores;
    let Some((_, id)) = system.pore_of(from) else { return };
    system.pores.drain_doorbell(id);
    if let Some(client) = system.clients.get_mut(from) {
        unwatch(lp, client);
        let over = move |world: &mut Machine, lp: &mut Loop<Machine>| {
            if let Some(client) = world.node.systems.pores.clients.get_mut(from) {
                client.rest = None;
                // What cannot be watched is as good as gone.
                if watch(world, lp, from).is_ok() {
                    rung(world, lp, from);
                } else {
                    lifeline(world, lp, from);
                }
            }
        };
        let at = lp.now() + REST;
        client.rest = Some(lp.timer(at, over));
    }
    if matches!(look_at(world, from), Probe::Told) {
        arm_worker(world, lp);
    }
}

/// The other side has rung.
fn rung(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let now = lp.host().now();
    let system = &mut world.node.systems.pores;
    let Some((_, id)) = system.pore_of(from) else { return };
    system.pores.drain_doorbell(id);
    let probe = look_at(world, from);
    if !matches!(probe, Probe::Nothing) {
        rest_of(world, lp, from, Interest::None);
    }
    match probe {
        Probe::Told => {
            let wake = &mut world.node.systems.pores.wake;
            if let Some(since) = wake.waits_since.take() {
                wake.policy.slept(now - since);
            }
            arm_worker(world, lp);
        }
        Probe::Nothing | Probe::Gone => vain(world, lp, from),
    }
}

/// A ring has told nothing. After too many the bell is left alone for a while: it can only slow
/// its own pore down.
fn vain(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let Some(client) = world.node.systems.pores.clients.get_mut(from) else { return };
    client.vain += 1;
    if client.vain < VAIN_MAX {
        return;
    }
    client.vain = 0;
    for watch in &client.watches {
        // A lifeline rests as well, and is looked at when the rest is over.
        let _ = lp.modify(*watch, Interest::None);
    }
    if client.rest.is_none() {
        let over = move |world: &mut Machine, lp: &mut Loop<Machine>| rested(world, lp, from);
        let at = lp.now() + REST;
        let rest = lp.timer(at, over);
        if let Some(client) = world.node.systems.pores.clients.get_mut(from) {
            client.rest = Some(rest);
        }
    }
}

fn rested(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let Some(client) = world.node.systems.pores.clients.get_mut(from) else { return };
    client.rest = None;
    for watch in &client.watches {
        // What is not armed finds so at its next report, and rests again.
        let _ = lp.modify(*watch, Interest::Read);
    }
}

/// The other side may have gone.
fn lifeline(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let system = &mut world.node.systems.pores;
    let Some((_, id)) = system.pore_of(from) else { return };
    if system.pores.look_at_peer(id).is_ok() {
        return vain(world, lp, from);
    }
    // A socket that has hung up says so for ever; what it has to tell is remembered.
    if let Some(client) = system.clients.get_mut(from) {
        unwatch(lp, client);
    }
    if matches!(look_at(world, from), Probe::Told) {
        arm_worker(world, lp);
    }
}
