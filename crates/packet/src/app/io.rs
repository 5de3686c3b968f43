//! The arguments of an app's methods: its ports, time, packets, and drop counters.

use super::capture_time::CaptureTime;
use std::any::Any;
use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;

use tidemill_stdx::hash::hash_bytes;
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::rng::Rng;

use super::fault::Fault;
use crate::fanout::Fanout;
use crate::kernel::table::Table;
use crate::link::Ring;
use crate::packet::{Packet, Pool};

/// The reason for which each app drops packets to an output without a link.
pub(crate) const UNLINKED: &str = "unlinked";

/// Shared by the apps of an engine. Reference counted, as apps restart.
pub(crate) struct Common {
    pub pool: Pool,
    /// The time of the event loop when the batch of breaths began.
    pub now_ns: Cell<u64>,
    /// The wall clock then, in nanoseconds since the epoch.
    pub wall_ns: Cell<i64>,
    pub seed: u64,
    /// What tables hash keys with.
    pub hash_secret: Secret,
    /// When packets of captures are due.
    pub captures: Option<CaptureTime>,
    /// The part of the flows that this instance of the graph has.
    pub fanout: Fanout,
}

/// An input port: its ring, and the index up to which this push takes packets.
#[repr(C)]
pub(crate) struct Input {
    pub ring: Option<NonNull<Ring>>,
    pub end: u64,
}

/// An output port.
#[repr(C)]
pub(crate) struct Output {
    pub ring: Option<NonNull<Ring>>,
}

impl Input {
    #[inline]
    pub(crate) fn ring(&self) -> Option<&Ring> {
        // SAFETY: the engine takes rings out of all ports before it drops a link.
        self.ring.map(|ring| unsafe { &*ring.as_ptr() })
    }
}

impl Output {
    #[inline]
    pub(crate) fn ring(&self) -> Option<&Ring> {
        // SAFETY: the engine takes rings out of all ports before it drops a link.
        self.ring.map(|ring| unsafe { &*ring.as_ptr() })
    }
}

/// The ports of an app by number: those declared with names first, in the order of the declaration,
/// then those the graph has named, in the order of the graph.
pub struct Io {
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) common: Rc<Common>,
    /// Why the app failed, after an entry point has reported that.
    pub(crate) fault: Option<Fault>,
    /// Packets dropped by reason.
    pub(crate) drops: Vec<(&'static str, u64)>,
    /// Until when the app sleeps, after an entry point has returned that.
    pub(crate) until_ns: u64,
    /// The birth of the oldest packet of this batch that arrived at this app, if it is a sink;
    /// `MAX`: none arrived. Generated code knows the address.
    pub(crate) oldest_ns: u64,
}

impl Io {
    pub(crate) fn new(common: Rc<Common>) -> Io {
        let (inputs, outputs) = (Vec::new(), Vec::new());
        let drops = Vec::new();
        Io { inputs, outputs, common, fault: None, drops, until_ns: 0, oldest_ns: u64::MAX }
    }

    /// This call may take the packets that are queued now.
    #[inline]
    pub(crate) fn begin(&mut self) {
        for input in &mut self.inputs {
            input.end = input.ring().map_or(0, Ring::written);
        }
    }

    /// Packets wait for a sink: the first that arrive in a batch are the oldest.
    pub(crate) fn note_oldest(&mut self) {
        if self.oldest_ns == u64::MAX {
            let rings = self.inputs.iter().filter_map(Input::ring);
            self.oldest_ns = rings.filter_map(Ring::oldest_born_ns).min().unwrap_or(u64::MAX);
        }
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Takes the next packet of an input, as far as it was there when the method was called.
    #[inline]
    pub fn receive(&mut self, input: usize) -> Option<Packet> {
        let input = self.inputs.get(input)?;
        input.ring()?.receive_before(input.end)
    }

    /// The number of packets that [`Io::receive`] will still return.
    pub fn waiting(&self, input: usize) -> usize {
        let Some(input) = self.inputs.get(input) else { return 0 };
        input.ring().map_or(0, |ring| ring.len() - (ring.written() - input.end)) as usize
    }

    /// Gives a packet away. A link that is full drops and counts it; without a link the app does.
    #[inline]
    pub fn send(&mut self, output: usize, packet: Packet) {
        match self.outputs.get(output).and_then(Output::ring) {
            Some(ring) => ring.send(packet),
            None => self.drop(packet, UNLINKED),
        }
    }

    /// The number of packets that an output takes before it drops; the capacity of a link, without
    /// one.
    #[inline]
    pub fn room(&self, output: usize) -> usize {
        let ring = self.outputs.get(output).and_then(Output::ring);
        crate::link::QUEUED_MAX - ring.map_or(0, |ring| ring.len() as usize)
    }

    /// Whether an output has a link.
    pub fn is_linked(&self, output: usize) -> bool {
        self.outputs.get(output).is_some_and(|output| output.ring.is_some())
    }

    /// Frees a packet and counts why, under `app/<name>/drop_<reason>`.
    pub fn drop(&mut self, packet: Packet, reason: &'static str) {
        drop(packet);
        self.count_drop(reason);
    }

    /// Counts a drop of what never became a packet.
    pub fn count_drop(&mut self, reason: &'static str) {
        self.count_drops(reason, 1);
    }

    /// Counts several drops; a reason without any is not shown.
    pub(crate) fn count_drops(&mut self, reason: &'static str, number: u64) {
        match self.drops.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += number,
            None if number == 0 => {}
            None => self.drops.push((reason, number)),
        }
    }

    /// A fresh packet, empty; if there is none, that is counted as the drop `no_packet`.
    #[inline]
    pub fn packet(&mut self) -> Option<Packet> {
        let packet = self.common.pool.packet();
        if packet.is_none() {
            self.count_drop("no_packet");
        }
        packet
    }

    /// A packet of these bytes; counted as [`Io::packet`], and as `too_long`.
    #[inline]
    pub fn packet_of(&mut self, bytes: &[u8]) -> Option<Packet> {
        let mut packet = self.packet()?;
        match packet.append(bytes) {
            Ok(()) => Some(packet),
            Err(_) => {
                self.drop(packet, "too_long");
                None
            }
        }
    }

    /// A packet with the same bytes; counted as [`Io::packet`].
    #[inline]
    pub fn duplicate(&mut self, packet: &Packet) -> Option<Packet> {
        let copy = packet.duplicate();
        if copy.is_none() {
            self.count_drop("no_packet");
        }
        copy
    }

    /// The time of the event loop in nanoseconds: the same throughout a batch of breaths.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.common.now_ns.get()
    }

    /// The wall clock in nanoseconds since the epoch: the same throughout a batch of breaths.
    pub fn wall_ns(&self) -> i64 {
        self.common.wall_ns.get()
    }
}

/// The links of an app, by the names of their ports in the order of [`Io`]'s numbers.
#[derive(Clone, Copy, Debug)]
pub struct Ports<'a> {
    /// Inputs; empty where a declared port has no link.
    pub inputs: &'a [String],
    /// Outputs, likewise.
    pub outputs: &'a [String],
}

/// The arguments of an app's constructor.
pub struct Start {
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) now_ns: u64,
    pub(crate) captures: Option<CaptureTime>,
    pub(crate) fanout: Fanout,
    pub(crate) hash_secret: Secret,
    /// Tables of its predecessor.
    pub(crate) tables: Vec<Rc<Table>>,
    /// What its predecessor left.
    pub(crate) left: Option<Box<dyn Any>>,
}

impl Start {
    /// What a predecessor that was killed has left by [`App::leave`](super::App::leave), if it is
    /// of this type.
    pub fn inherit<T: 'static>(&mut self) -> Option<Box<T>> {
        self.left.take()?.downcast().ok()
    }

    /// The app's name in the graph.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The time of the event loop in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// When packets of captures are due; `None`: as fast as they are taken.
    pub fn captures(&self) -> Option<CaptureTime> {
        self.captures
    }

    /// The part of the flows that this instance of the graph has.
    pub fn fanout(&self) -> &Fanout {
        &self.fanout
    }

    /// Random numbers of the app's own: the same for the same seed of the run and the same name.
    pub fn rng(&self) -> Rng {
        Rng::new(self.seed ^ hash_bytes(self.name.as_bytes()))
    }
}
