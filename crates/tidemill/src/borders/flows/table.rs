//! The flows of a node: by key, by instance, and in the order of their last packets.

use hashbrown::HashTable;
use tidemill_proc::ComponentId;
use tidemill_stdx::keyed::Secret;

use super::flow::{Flow, NONE};
use super::key::Key;

/// All flows of a node, by numbers that are used again.
#[derive(Default)]
pub(super) struct Table {
    flows: Vec<Option<Flow>>,
    free: Vec<u32>,
    /// The flow of an instance, by the number of that.
    by_instance: Vec<u32>,
    count: usize,
}

/// The flows of one app to which packets still go.
#[derive(Default)]
pub(super) struct Index {
    by_key: HashTable<u32>,
    /// The ends of the list by last packets.
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

    /// One more than the greatest number that a flow has.
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

    /// Takes all of them out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Flow> {
        let all = std::mem::take(self);
        all.flows.into_iter().flatten()
    }

    #[inline]
    pub(super) fn find(&self, index: &Index, hash: u64, key: &Key) -> Option<u32> {
        let is_it = |&at: &u32| self.get(at).is_some_and(|flow| flow.key == *key);
        index.by_key.find(hash, is_it).copied()
    }

    /// From now on packets of its key go to this flow, whose last has just come.
    pub(super) fn enter(&mut self, index: &mut Index, secret: &Secret, hash: u64, at: u32) {
        let rehash = |&at: &u32| self.get(at).map_or(0, |flow| secret.bytes(flow.key.bytes()));
        index.by_key.insert_unique(hash, at, rehash);
        self.append(index, at);
    }

    /// No more packets go to this flow.
    pub(super) fn leave(&mut self, index: &mut Index, secret: &Secret, at: u32) {
        let Some(hash) = self.get(at).map(|flow| secret.bytes(flow.key.bytes())) else { return };
        if let Ok(entry) = index.by_key.find_entry(hash, |&other| other == at) {
            entry.remove();
        }
        self.unlink(index, at);
    }

    /// A packet has come for this flow.
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
