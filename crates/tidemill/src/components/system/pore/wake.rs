//! Doorbells in both directions, and the events that follow.
//!
//! *Out.* The first Ring of a turn rings at once, so that the peer starts; further ones, and all
//! while the peer polls, are deferred to the end of the turn. A redundant ring is skipped
//! ([`Pore::is_ring_due`]).
//!
//! *In.* When something is armed and nothing is left to run, in a turn or at its end, the pores are
//! polled for a while before the loop sleeps at their doorbells: a sleep and a wake-up cost more
//! than most answers take. The poll time adapts to past waits ([`tidemill_pore::adaptive_poll`]).
//! Polling runs in stretches, between which the loop checks its descriptors and timers; a stretch
//! ends when a timer is due. Within a stretch the thread yields now and then, as the peer may wait
//! for the processor. While the loop polls, and while it has work after which it will poll again,
//! the peer knows that it need not ring.
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

/// The length of a stretch, in which a turn polls or continues with what it finds: as long as the
/// loop runs turns before it checks its descriptors.
const STRETCH: Duration = Duration::from_micros(50);
/// Polls between two reads of the clock.
const POLLS: u32 = 16;
/// Spurious rings in a row after which the watch of a doorbell is paused.
const SPURIOUS_MAX: u32 = 256;
/// The length of that pause.
const PAUSE: Duration = Duration::from_millis(1);

pub(super) fn ring(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let system = &mut world.node.systems.pores;
    let Some(client) = system.clients.get_mut(from) else { return };
    // A polling peer has seen the data; whether it still polls is checked when the turn ends.
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
    // A ring to a peer that cannot be signalled fails, and the pore reports that itself.
    pore.is_ring_due() && pore.ring().is_ok()
}

/// Arms an event, for which `reads` bytes are read, if given.
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
    set_interest(world, lp, from, interest);
    touch(world, lp, from);
}

/// Sets the interest in a descriptor that signals more than rings.
fn set_interest(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    interest: Interest,
) {
    let client = world.node.systems.pores.clients.get(from);
    if let Some(ready) = client.and_then(|client| client.ready) {
        let _ = lp.modify(ready, interest);
    }
}

/// Has the end of the turn check this pore.
fn touch(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let PoreSystem { clients, wake, .. } = &mut world.node.systems.pores;
    let Some(client) = clients.get_mut(from) else { return };
    if !std::mem::replace(&mut client.is_touched, true) {
        wake.touched.push(from);
    }
    // The wait for this event starts now at the earliest.
    wake.waits_since = None;
    if !std::mem::replace(&mut wake.is_scheduled, true) {
        lp.action(settle);
    }
}

/// No process is ready: polls within the turn, which saves a turn, for as long as the loop would
/// not check its descriptors anyway.
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
    let polled = if check_armed(world) { Polled::Came } else { poll(world, lp, now) };
    world.node.systems.pores.wake.fruitless_poll = Some(polled).filter(|it| *it != Polled::Came);
    polled == Polled::Came
}

/// Rings for the clients that have requested it.
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

/// Runs at the end of a turn.
fn settle(world: &mut Machine, lp: &mut Loop<Machine>) {
    ring_touched(world);
    let wake = &mut world.node.systems.pores.wake;
    wake.is_scheduled = false;
    let fruitless_poll = wake.fruitless_poll.take();
    let polled = if check_armed(world) || world.node.runner.worker().is_ready() {
        Polled::Came
    } else {
        fruitless_poll.unwrap_or_else(|| {
            let now = lp.host().now();
            poll(world, lp, now)
        })
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

/// Keeps the loop awake: armed pores are checked again in a turn after all pending events.
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

/// Stops polling: from now on the peers of armed pores have to ring.
fn sleep(world: &mut Machine, lp: &mut Loop<Machine>) {
    let PoreSystem { pores, clients, wake, .. } = &mut world.node.systems.pores;
    let pore = |from: &Communication| clients.get(*from)?.pore;
    let mut some = false;
    for id in wake.armed.iter().filter_map(pore) {
        some |= pores.end_polling(id);
    }
    if some {
        // Data written before the peer saw that may have come without a ring.
        if check_armed(world) {
            arm_worker(world, lp);
        }
    }
}

/// Polls the armed pores from `now` on, until one has an event, the poll time is over, or a timer
/// is due.
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
    let mut polls = 0;
    loop {
        for _ in 0..POLLS {
            let pores = &mut world.node.systems.pores.pores;
            if pollable.iter().any(|&id| pores.is_due(id)) && check_armed(world) {
                let wake = &mut world.node.systems.pores.wake;
                wake.policy.succeeded();
                wake.waits_since = None;
                return Polled::Came;
            }
            pause(polls);
            polls += 1;
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

/// Delivers the events of armed pores; returns whether there were any.
fn check_armed(world: &mut Machine) -> bool {
    let mut some = false;
    let mut armed = std::mem::take(&mut world.node.systems.pores.wake.armed);
    armed.retain(|&from| {
        let probe = check(world, from);
        some |= matches!(probe, Probe::Delivered);
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
    Delivered,
    Nothing,
    Gone,
}

fn check(world: &mut Machine, from: Communication) -> Probe {
    let PoreSystem { pores, clients, data, .. } = &mut world.node.systems.pores;
    let Some(client) = clients.get_mut(from) else { return Probe::Gone };
    let Some(id) = client.pore else { return Probe::Gone };
    if pores.armed(id).is_none() {
        return Probe::Gone;
    }
    let Some(event) = pores.take_event(id) else { return Probe::Nothing };
    // Until it is armed again nothing waits for a ring, and arming checks the pore.
    pores.begin_polling(id);
    client.spurious = 0;
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
    Probe::Delivered
}

/// Reads available bytes, and rings if the peer waits for the room.
fn read_for(
    pores: &mut tidemill_pore::Pores,
    (owner, id): (OwnerId, PoreId),
    count: usize,
    data: &mut Vec<u8>,
) -> Result<(), Error> {
    let pore = pores.get(owner, id)?;
    pore.read(count, data)?;
    if pore.is_ring_due() {
        // A failed ring is reported by the pore.
        let _ = pore.ring();
    }
    Ok(())
}

/// Sends the pending event, unless its client waits for an answer.
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

/// Watches the descriptors of a pore.
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

/// A doorbell reports an error instead of a ring: its counter has overflowed, which signals of the
/// kernel can cause and no honest peer does. The loop has ended that watch. Drains the counter, and
/// watches anew after a pause.
fn overrun(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let system = &mut world.node.systems.pores;
    let Some((_, id)) = system.pore_of(from) else { return };
    system.pores.drain_doorbell(id);
    if let Some(client) = system.clients.get_mut(from) {
        unwatch(lp, client);
        let over = move |world: &mut Machine, lp: &mut Loop<Machine>| {
            if let Some(client) = world.node.systems.pores.clients.get_mut(from) {
                client.paused = None;
                // If it cannot be watched, it is treated as gone.
                if watch(world, lp, from).is_ok() {
                    rung(world, lp, from);
                } else {
                    lifeline(world, lp, from);
                }
            }
        };
        let at = lp.now() + PAUSE;
        client.paused = Some(lp.timer(at, over));
    }
    if matches!(check(world, from), Probe::Delivered) {
        arm_worker(world, lp);
    }
}

/// The peer has rung.
fn rung(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let now = lp.host().now();
    let system = &mut world.node.systems.pores;
    let Some((_, id)) = system.pore_of(from) else { return };
    system.pores.drain_doorbell(id);
    let probe = check(world, from);
    if !matches!(probe, Probe::Nothing) {
        set_interest(world, lp, from, Interest::None);
    }
    match probe {
        Probe::Delivered => {
            let wake = &mut world.node.systems.pores.wake;
            if let Some(since) = wake.waits_since.take() {
                wake.policy.slept(now - since);
            }
            arm_worker(world, lp);
        }
        Probe::Nothing | Probe::Gone => spurious(world, lp, from),
    }
}

/// A ring was spurious. After too many, pauses the watch for a while, which slows down only this
/// pore.
fn spurious(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let Some(client) = world.node.systems.pores.clients.get_mut(from) else { return };
    client.spurious += 1;
    if client.spurious < SPURIOUS_MAX {
        return;
    }
    client.spurious = 0;
    for watch in &client.watches {
        // The lifeline is paused too, and checked when the pause is over.
        let _ = lp.modify(*watch, Interest::None);
    }
    if client.paused.is_none() {
        let over =
            move |world: &mut Machine, lp: &mut Loop<Machine>| resume_watches(world, lp, from);
        let at = lp.now() + PAUSE;
        let timer = lp.timer(at, over);
        if let Some(client) = world.node.systems.pores.clients.get_mut(from) {
            client.paused = Some(timer);
        }
    }
}

fn resume_watches(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let Some(client) = world.node.systems.pores.clients.get_mut(from) else { return };
    client.paused = None;
    for watch in &client.watches {
        // A pore that is not armed finds that at its next report, and pauses again.
        let _ = lp.modify(*watch, Interest::Read);
    }
}

/// The peer may have hung up.
fn lifeline(world: &mut Machine, lp: &mut Loop<Machine>, from: Communication) {
    let system = &mut world.node.systems.pores;
    let Some((_, id)) = system.pore_of(from) else { return };
    if system.pores.look_at_peer(id).is_ok() {
        return spurious(world, lp, from);
    }
    // A socket that has hung up is always ready, so the watch ends; the pore keeps the state.
    if let Some(client) = system.clients.get_mut(from) {
        unwatch(lp, client);
    }
    if matches!(check(world, from), Probe::Delivered) {
        arm_worker(world, lp);
    }
}
