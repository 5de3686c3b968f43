//! The flows of a node: by key, by instance, and in the order of their last packets.

use std::collections::HashMap;

use hashbrown::HashTable;
use tidemill_packet::packet::Packet;
use tidemill_proc::{Communication, ComponentId};
use tidemill_stdx::keyed::{Build, Secret};

use super::backlog::Backlog;
use super::flow::{Flow, NONE, OpenPorts, Stage};
use super::key::Key;

/// All flows of a node, by reusable numbers.
#[derive(Default)]
pub(super) struct Table {
    flows: Vec<Option<Flow>>,
    free: Vec<u32>,
    /// What few flows have; never walked.
    backlogs: HashMap<u32, Backlog, Build>,
    /// The flow of an instance, by the instance's number.
    by_instance: Vec<u32>,
    count: usize,
}

/// The live flows of one app.
#[derive(Default)]
pub(super) struct Index {
    by_key: HashTable<u32>,
    /// The ends of the list ordered by last packet.
    pub(super) oldest: u32,
    newest: u32,
}

impl Index {
    pub(super) fn new() -> Index {
        Index { by_key: HashTable::new(), oldest: NONE, newest: NONE }
    }
}

fn place(instance: ComponentId) -> usize {
    instance.raw() as u32 as usize
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut Flow> {
        self.flows.get_mut(at as usize)?.as_mut()
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> Option<&Flow> {
        self.flows.get(at as usize)?.as_ref()
    }

    pub(super) fn of_instance(&self, instance: ComponentId) -> Option<u32> {
        let at = *self.by_instance.get(place(instance))?;
        self.get(at).filter(|flow| flow.instance == instance).map(|_| at)
    }

    /// One more than the greatest number of a flow.
    pub(super) fn places(&self) -> u32 {
        self.flows.len() as u32
    }

    pub(super) fn insert(&mut self, flow: Flow) -> u32 {
        let number = place(flow.instance);
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                self.flows.push(None);
                self.flows.len() as u32 - 1
            }
        };
        if self.by_instance.len() <= number {
            self.by_instance.resize(number + 1, NONE);
        }
        self.by_instance[number] = at;
        self.flows[at as usize] = Some(flow);
        self.count += 1;
        at
    }

    pub(super) fn remove(&mut self, at: u32) -> Option<Flow> {
        let flow = self.flows.get_mut(at as usize)?.take()?;
        self.by_instance[place(flow.instance)] = NONE;
        self.free.push(at);
        self.count -= 1;
        Some(flow)
    }

    /// Removes all flows, each with the number of its queued packets.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Flow, usize)> {
        let Table { flows, backlogs, .. } = std::mem::take(self);
        let all = (0..).zip(flows).filter_map(|(at, flow)| Some((at, flow?)));
        all.map(move |(at, flow)| (flow, backlogs.get(&at).map_or(0, Backlog::len)))
    }

    /// The queued packets and further ports of a flow.
    #[inline]
    pub(super) fn backlog(&self, at: u32) -> Option<&Backlog> {
        let has = self.get(at).is_some_and(Flow::has_backlog);
        if has { self.backlogs.get(&at) } else { None }
    }

    #[inline]
    fn backlog_mut(&mut self, at: u32) -> Option<&mut Backlog> {
        let has = self.get(at).is_some_and(Flow::has_backlog);
        if has { self.backlogs.get_mut(&at) } else { None }
    }

    /// Removes the backlog of a flow that ends.
    pub(super) fn take_backlog(&mut self, at: u32) -> Option<Backlog> {
        self.backlogs.remove(&at)
    }

    fn make_backlog(&mut self, at: u32) -> &mut Backlog {
        if let Some(flow) = self.get_mut(at) {
            flow.set_backlog(true);
        }
        self.backlogs.entry(at).or_default()
    }

    fn drop_nothing(&mut self, at: u32) {
        if self.backlog(at).is_some_and(Backlog::is_nothing) {
            self.backlogs.remove(&at);
            self.get_mut(at).into_iter().for_each(|flow| flow.set_backlog(false));
        }
    }

    /// The number of packets queued for a flow.
    #[inline]
    pub(super) fn waiting(&self, at: u32) -> usize {
        self.backlog(at).map_or(0, Backlog::len)
    }

    /// Queues a packet.
    pub(super) fn push(&mut self, at: u32, packet: Packet, input: u16) {
        self.make_backlog(at).push(packet, input);
    }

    /// Removes the oldest packet of a flow.
    pub(super) fn pop(&mut self, at: u32) -> Option<(Packet, u16)> {
        let popped = self.backlog_mut(at)?.pop();
        self.drop_nothing(at);
        popped
    }

    /// Removes the first packet of an input.
    pub(super) fn take(&mut self, at: u32, input: u16) -> Option<Packet> {
        let taken = self.backlog_mut(at)?.take(input);
        self.drop_nothing(at);
        taken
    }

    /// The ports that a flow has opened.
    #[inline]
    pub(super) fn open_ports(&self, at: u32) -> impl Iterator<Item = OpenPorts> {
        let further =
            self.backlog(at).into_iter().flat_map(|backlog| backlog.further_ports.iter().copied());
        self.get(at).and_then(Flow::ports).into_iter().chain(further)
    }

    /// The ports of a communication.
    #[inline]
    pub(super) fn ports(&self, at: u32, name: Communication) -> Option<OpenPorts> {
        self.open_ports(at).find(|ports| ports.name == name)
    }

    /// Clears a pending `Receive` of an input, and returns its communication.
    #[inline]
    pub(super) fn take_waiting(&mut self, at: u32, input: u16) -> Option<Communication> {
        let ports = self.open_ports(at).find(|ports| ports.is_waiting && ports.input == input)?;
        self.set_ports(at, OpenPorts { is_waiting: false, ..ports });
        Some(ports.name)
    }

    /// Changes ports that are open.
    #[inline]
    pub(super) fn set_ports(&mut self, at: u32, ports: OpenPorts) {
        let Some(flow) = self.get_mut(at) else { return };
        if flow.ports().is_some_and(|first| first.name == ports.name) {
            return flow.set_ports(Some(ports));
        }
        let further_ports =
            self.backlog_mut(at).into_iter().flat_map(|backlog| &mut backlog.further_ports);
        further_ports.filter(|other| other.name == ports.name).for_each(|other| *other = ports);
    }

    /// Adds opened ports.
    pub(super) fn open(&mut self, at: u32, ports: OpenPorts) {
        match self.get_mut(at) {
            Some(flow) if flow.ports().is_none() => flow.set_ports(Some(ports)),
            Some(_) => self.make_backlog(at).further_ports.push(ports),
            None => {}
        }
    }

    /// Removes closed ports.
    pub(super) fn close(&mut self, at: u32, name: Communication) {
        let first = self.get(at).and_then(Flow::ports);
        if first.is_some_and(|ports| ports.name == name) {
            let next = self.backlog_mut(at).and_then(|backlog| backlog.further_ports.pop());
            self.get_mut(at).into_iter().for_each(|flow| flow.set_ports(next));
        } else if let Some(backlog) = self.backlog_mut(at) {
            backlog.further_ports.retain(|ports| ports.name != name);
        }
        self.drop_nothing(at);
    }

    #[inline]
    pub(super) fn find(&self, index: &Index, hash: u64, key: &Key) -> Option<u32> {
        let is_it = |&at: &u32| self.get(at).is_some_and(|flow| flow.key == *key);
        index.by_key.find(hash, is_it).copied()
    }

    /// The likely flow of a hash, found without reading any flow.
    #[inline]
    pub(super) fn guess(&self, index: &Index, hash: u64) -> u32 {
        index.by_key.find(hash, |_| true).copied().unwrap_or(NONE)
    }

    /// Whether a flow gets the packets of an app with this key.
    #[inline]
    pub(super) fn is_of(&self, at: u32, app: u16, key: &Key) -> bool {
        let is_it = |flow: &Flow| flow.stage == Stage::Lives && flow.app == app && flow.key == *key;
        self.get(at).is_some_and(is_it)
    }

    /// Enters a flow under its key, as the most recent one.
    pub(super) fn enter(&mut self, index: &mut Index, secret: &Secret, hash: u64, at: u32) {
        let rehash = |&at: &u32| self.get(at).map_or(0, |flow| secret.bytes(flow.key.bytes()));
        index.by_key.insert_unique(hash, at, rehash);
        self.append(index, at);
    }

    /// Removes a flow from the index: it gets no more packets.
    pub(super) fn leave(&mut self, index: &mut Index, secret: &Secret, at: u32) {
        let Some(hash) = self.get(at).map(|flow| secret.bytes(flow.key.bytes())) else { return };
        if let Ok(entry) = index.by_key.find_entry(hash, |&other| other == at) {
            entry.remove();
        }
        self.unlink(index, at);
    }

    /// Moves a flow to the recent end of the list.
    #[inline]
    pub(super) fn touch(&mut self, index: &mut Index, at: u32) {
        if index.newest != at {
            self.unlink(index, at);
            self.append(index, at);
        }
    }

    fn append(&mut self, index: &mut Index, at: u32) {
        let older = std::mem::replace(&mut index.newest, at);
        if let Some(flow) = self.get_mut(at) {
            (flow.older, flow.newer) = (older, NONE);
        }
        match self.get_mut(older) {
            Some(before) => before.newer = at,
            None => index.oldest = at,
        }
    }

    fn unlink(&mut self, index: &mut Index, at: u32) {
        let Some(flow) = self.get_mut(at) else { return };
        let (older, newer) = (flow.older, flow.newer);
        (flow.older, flow.newer) = (NONE, NONE);
        match self.get_mut(older) {
            Some(before) => before.newer = newer,
            None => index.oldest = newer,
        }
        match self.get_mut(newer) {
            Some(after) => after.older = older,
            None => index.newest = older,
        }
    }
}
