//! An engine on the event loop.
//!
//! ```text
//!        +--> event: a batch of breaths --+-- busy ----> the event is queued again
//!        |                                +-- poll ----> timer, a pause that doubles up to 1 ms
//!   wake |                                +-- until ---> timer
//!        +--- descriptors, timers,        +-- asleep --> nothing: the next arrival wakes it
//!             packets from outside        +-- finished > likewise, and the world is notified
//! ```
//! One event runs a bounded batch of breaths and queues itself again, so other owners have their
//! turns in between. With `busy_wait` there are no pauses.

use std::os::fd::RawFd;
use std::time::Duration;

use tidemill_event::{Handlers, Interest, Loop, Owner, Time, TimerId, WatchId};
use tidemill_stdx::marks;

use crate::engine::{Changes, Engine, NoSuchPort, Refused, Rest};
use crate::graph::Graph;
use crate::packet::Packet;

/// Breaths of a batch at most. A breath moves what is queued, some thousand packets at most per
/// link; the batch is for those that move little.
const BREATHS_MAX: u64 = 64;

/// Packets after which a batch ends.
const PACKETS_MAX: u64 = 4096;

/// Packets of a batch from which on descriptors are watched only while the graph rests: the kernel
/// notifies the watches of a socket of each frame that it has sent, which costs up to 0.2 us.
const LOAD: u64 = 64;

/// The first pause of a graph that must poll its sources, and the longest.
const PAUSE_NS: u64 = 10_000;
const PAUSE_NS_MAX: u64 = 1_000_000;

/// The period of publishing counters while packets move.
const PUBLISH_NS: u64 = 100_000_000;

/// What drives an engine; part of the world.
pub struct Driver {
    /// What runs.
    pub engine: Engine,
    owner: Option<Owner>,
    busy_wait: bool,
    is_queued: bool,
    timer: Option<TimerId>,
    pause_ns: u64,
    /// What wakes apps, by their positions, and its watches while they are on.
    descriptors: Vec<(usize, RawFd)>,
    watches: Vec<WatchId>,
    is_watching: bool,
    /// The last batch has moved many packets.
    is_loaded: bool,
    /// When counters were published last, and whether a timer will publish them.
    published_ns: u64,
    will_publish: bool,
    /// Time spent in pauses, and how many there were.
    pauses: u64,
}

impl Driver {
    /// Drives `engine`, with pauses when it has nothing to do.
    pub fn new(engine: Engine) -> Driver {
        Driver {
            engine,
            owner: None,
            busy_wait: false,
            is_queued: false,
            timer: None,
            pause_ns: PAUSE_NS,
            descriptors: Vec::new(),
            watches: Vec::new(),
            is_watching: false,
            is_loaded: false,
            published_ns: 0,
            will_publish: false,
            pauses: 0,
        }
    }

    /// Without pauses.
    pub fn busy_wait(mut self) -> Driver {
        self.busy_wait = true;
        self
    }

    /// Pauses made so far.
    pub fn pauses(&self) -> u64 {
        self.pauses
    }
}

/// The owner of a driver.
pub trait World: Sized + 'static {
    /// The driver.
    fn driver(&mut self) -> &mut Driver;

    /// Called when a graph that was [prepared](prepare) has begun to run.
    fn switched(&mut self, changes: &Changes) {
        let _ = changes;
    }

    /// Called after each batch.
    fn breathed(&mut self, events: &mut Loop<Self>, rest: Rest) {
        let _ = (events, rest);
    }
}

/// Runs `graph` from now on, by difference to what ran.
///
/// # Errors
/// The graph is wrong, or an app could not start: the running graph continues.
pub fn configure<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    graph: Graph,
) -> Result<Changes, Refused> {
    let changes = engine_now(world, events).configure(graph)?;
    wake(world, events);
    Ok(changes)
}

/// Kernels from which on a graph begins before its code is made, which takes some milliseconds for
/// each.
const KERNELS_AT_ONCE: usize = 64;

/// As [`configure`], but a graph of many kernels runs dispatched until its code is made, on a
/// thread beside. What it does is the same; in simulations, which run nothing beside, it waits.
///
/// # Errors
/// As [`configure`].
pub fn start<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    graph: Graph,
) -> Result<Changes, Refused> {
    let kernels = graph.apps.iter().filter(|app| app.kind.kernel).count();
    if kernels <= KERNELS_AT_ONCE || events.host().sim().is_some() {
        return configure(world, events, graph);
    }
    let changes = engine_now(world, events).begin(graph)?;
    wake(world, events);
    Ok(changes)
}

/// Runs `graph` as soon as code for it is made, on a thread beside; the running graph continues
/// until then, and [`World::switched`] reports the change. When that is depends on the machine, so
/// in simulations and in capture time, where runs repeat, it is at once.
///
/// # Errors
/// As [`configure`].
pub fn prepare<W: World>(world: &mut W, events: &mut Loop<W>, graph: Graph) -> Result<(), Refused> {
    if events.host().sim().is_some() || world.driver().engine.has_capture_time() {
        let changes = configure(world, events, graph)?;
        world.switched(&changes);
        return Ok(());
    }
    engine_now(world, events).prepare(graph)?;
    wake(world, events);
    Ok(())
}

/// The engine, which knows what time it is.
fn engine_now<'w, W: World>(world: &'w mut W, events: &mut Loop<W>) -> &'w mut Engine {
    let engine = &mut world.driver().engine;
    engine.set_time(events.now().0, events.wall());
    engine
}

/// Puts a packet on the link to an input, and wakes its app.
///
/// # Errors
/// There is no such link; the packet is returned.
pub fn inject<W: World>(
    world: &mut W,
    events: &mut Loop<W>,
    app: &str,
    port: &str,
    packet: Packet,
) -> Result<(), NoSuchPort> {
    world.driver().engine.inject(app, port, packet)?;
    wake(world, events);
    Ok(())
}

/// Lets the engine breathe, as something may have arrived.
pub fn wake<W: World>(world: &mut W, events: &mut Loop<W>) {
    let driver = world.driver();
    if driver.is_queued {
        return;
    }
    if let Some(timer) = driver.timer.take() {
        events.cancel(timer);
    }
    let owner = *driver.owner.get_or_insert_with(|| events.owner("packets"));
    // A full queue has events left to run, and a timer tries again.
    driver.is_queued = events.event(owner, batch::<W>).is_ok();
    if !driver.is_queued {
        pause(world, events, events.now() + Duration::from_nanos(PAUSE_NS_MAX));
    }
}

/// The event: a bounded batch of breaths.
fn batch<W: World>(world: &mut W, events: &mut Loop<W>) {
    let (now, wall) = (events.now(), events.wall());
    let driver = world.driver();
    driver.is_queued = false;
    driver.engine.set_time(now.0, wall);
    let changes = driver.engine.switch();
    if let Some(changes) = &changes {
        world.switched(changes);
    }
    if world.driver().is_loaded {
        unwatch_descriptors(world, events);
    }
    let driver = world.driver();
    if !driver.is_watching {
        driver.descriptors.iter().for_each(|&(index, _)| driver.engine.wake(index));
    }
    let freed = driver.engine.pool_stats().freed;
    marks::arrive("packets/breath");
    let (rest, breaths) = driver.engine.breathe_while_busy(BREATHS_MAX, PACKETS_MAX);
    events.charge(breaths);
    let after = events.host().now();
    let driver = world.driver();
    driver.engine.end_batch(after.0);
    publish(world, events, after, rest);
    let driver = world.driver();
    driver.is_loaded = driver.engine.pool_stats().freed - freed >= LOAD;
    watch_descriptors(world, events, rest);
    let driver = world.driver();
    match rest {
        Rest::Busy => {
            driver.pause_ns = PAUSE_NS;
            wake(world, events);
        }
        Rest::Poll(_) if driver.busy_wait => wake(world, events),
        Rest::Poll(due) => {
            let at = now.0.saturating_add(driver.pause_ns).min(due.unwrap_or(u64::MAX));
            driver.pause_ns = (driver.pause_ns * 2).min(PAUSE_NS_MAX);
            driver.pauses += 1;
            pause(world, events, Time(at));
        }
        // A graph is being compiled: polls for its code.
        _ if driver.engine.is_preparing() => {
            pause(world, events, Time(now.0.saturating_add(PAUSE_NS_MAX)));
        }
        Rest::Until(at) => pause(world, events, Time(at)),
        Rest::Asleep | Rest::Finished => {}
    }
    world.breathed(events, rest);
}

/// Publishes at the end of a period, or before a rest that lasts longer: a graph that reads a
/// capture rests for a millisecond at a time, one of devices until the next frame.
fn publish<W: World>(world: &mut W, events: &mut Loop<W>, now: Time, rest: Rest) {
    let driver = world.driver();
    let end = driver.published_ns.saturating_add(PUBLISH_NS);
    let may_outlast = match rest {
        Rest::Busy | Rest::Poll(_) => false,
        Rest::Until(at_ns) => at_ns.saturating_sub(now.0) >= PUBLISH_NS,
        Rest::Asleep | Rest::Finished => true,
    };
    // Where time depends on timers, there is none only for this.
    let at_once = driver.engine.has_capture_time() || events.host().sim().is_some();
    if now.0 >= end || may_outlast && (at_once || rest == Rest::Finished) {
        driver.publish(now.0);
    } else if may_outlast && !driver.will_publish {
        driver.will_publish = true;
        events.timer(Time(end), |world: &mut W, events: &mut Loop<W>| {
            world.driver().publish(events.now().0);
        });
    }
}

impl Driver {
    fn publish(&mut self, now_ns: u64) {
        (self.published_ns, self.will_publish) = (now_ns, false);
        self.engine.publish();
    }
}

fn pause<W: World>(world: &mut W, events: &mut Loop<W>, at: Time) {
    if let Some(timer) = world.driver().timer.take() {
        events.cancel(timer);
    }
    let timer = events.timer(at, |world: &mut W, events: &mut Loop<W>| {
        world.driver().timer = None;
        wake(world, events);
    });
    world.driver().timer = Some(timer);
}

/// Watches the descriptors of apps before a rest, and anew if they have changed.
fn watch_descriptors<W: World>(world: &mut W, events: &mut Loop<W>, rest: Rest) {
    if let Some(wanted) = world.driver().engine.take_descriptors() {
        unwatch_descriptors(world, events);
        world.driver().descriptors = wanted;
    }
    if world.driver().is_watching || rest == Rest::Busy {
        return;
    }
    world.driver().is_watching = true;
    for (index, fd) in world.driver().descriptors.clone() {
        let ready = move |world: &mut W, events: &mut Loop<W>, _| {
            world.driver().engine.wake(index);
            wake(world, events);
        };
        let handlers =
            Handlers::new().read(ready).error(move |world: &mut W, events: &mut Loop<W>, _, _| {
                // The app gets the error when it reads.
                world.driver().engine.wake(index);
                wake(world, events);
            });
        match events.watch(fd, Interest::Read, handlers) {
            Ok(watch) => world.driver().watches.push(watch),
            // A descriptor that cannot be watched is polled.
            Err(_) => world.driver().engine.wake(index),
        }
    }
}

/// Watches no descriptors until the next rest.
fn unwatch_descriptors<W: World>(world: &mut W, events: &mut Loop<W>) {
    world.driver().is_watching = false;
    for watch in std::mem::take(&mut world.driver().watches) {
        events.unwatch(watch);
    }
}
