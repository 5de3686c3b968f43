//! The open pores, their owners, and the events that these wait for.
//!
//! A pore is armed for one event; it is pending until it is taken. However often the doorbell
//! rings, there is at most one. Arming again replaces the condition.

use tidemill_stdx::ordered::OrderedSet;

use crate::{Avail, Error, Pore, Signal, Wants};

/// The owner of pores; the number is the embedder's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OwnerId(pub u64);

/// Names one pore: its place, and above `PLACE_BITS` a number that is not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PoreId(pub u64);

/// The bits of a name that are its place.
const PLACE_BITS: u32 = 24;

impl PoreId {
    fn place(self) -> usize {
        (self.0 & ((1 << PLACE_BITS) - 1)) as usize
    }
}

/// An event for an owner.
#[derive(Debug)]
pub enum Event {
    /// The condition is met.
    Ready(Avail),
    /// The pore cannot be used any more, or not now.
    Trouble(Error),
}

struct Entry {
    pore: Box<dyn Pore>,
    owner: OwnerId,
    armed: Option<Wants>,
    /// The other side has gone: the condition may never be met.
    is_orphan: bool,
}

/// All pores of a program.
#[derive(Default)]
pub struct Pores {
    /// By their places: they are looked up many times for each message that goes through one.
    entries: Vec<Option<(PoreId, Entry)>>,
    free: Vec<usize>,
    owned: OrderedSet<(OwnerId, PoreId)>,
    last: u64,
    /// Messages that the system has dropped, as of the last query.
    dropped: u64,
}

impl Pores {
    /// None yet.
    pub fn new() -> Pores {
        Pores::default()
    }

    /// Gives a pore to an owner.
    pub fn open(&mut self, owner: OwnerId, pore: Box<dyn Pore>) -> PoreId {
        // A program has fewer descriptors than there are places.
        let place = self.free.pop().unwrap_or(self.entries.len());
        self.last += 1;
        let id = PoreId(self.last << PLACE_BITS | place as u64);
        self.owned.insert((owner, id));
        let entry = Some((id, Entry { pore, owner, armed: None, is_orphan: false }));
        match self.entries.get_mut(place) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        id
    }

    fn of(&self, id: PoreId) -> Option<&Entry> {
        let (name, entry) = self.entries.get(id.place())?.as_ref()?;
        (*name == id).then_some(entry)
    }

    fn of_mut(&mut self, id: PoreId) -> Option<&mut Entry> {
        let (name, entry) = self.entries.get_mut(id.place())?.as_mut()?;
        (*name == id).then_some(entry)
    }

    fn remove(&mut self, owner: OwnerId, id: PoreId) {
        if let Some((_, mut entry)) = self.entries[id.place()].take() {
            self.dropped += entry.pore.take_drops();
        }
        self.free.push(id.place());
        self.owned.remove(&(owner, id));
    }

    fn entry(&mut self, owner: OwnerId, id: PoreId) -> Result<&mut Entry, Error> {
        match self.of_mut(id) {
            None => Err(Error::NoSuchPore),
            Some(entry) if entry.owner != owner => Err(Error::NotOwner),
            Some(entry) => Ok(entry),
        }
    }

    /// The pore, for its owner.
    ///
    /// # Errors
    /// There is none, or it is another's.
    pub fn get(&mut self, owner: OwnerId, id: PoreId) -> Result<&mut dyn Pore, Error> {
        Ok(&mut *self.entry(owner, id)?.pore)
    }

    /// Arms a pore for one event.
    ///
    /// # Errors
    /// There is no such pore, or it is another's.
    pub fn arm(&mut self, owner: OwnerId, id: PoreId, wants: Wants) -> Result<(), Error> {
        self.entry(owner, id)?.armed = Some(wants);
        Ok(())
    }

    /// The condition, if the pore is armed and the event has not been taken.
    pub fn armed(&self, id: PoreId) -> Option<Wants> {
        self.of(id)?.armed
    }

    /// Whether [`take_event`](Pores::take_event) would return one, unless the other side has gone.
    pub fn is_due(&mut self, id: PoreId) -> bool {
        let Some(entry) = self.of_mut(id) else { return false };
        let Some(wants) = entry.armed else { return false };
        entry.pore.meets(wants).unwrap_or(true)
    }

    /// The event that the pore is armed for, once, if its condition is met. The doorbell may have
    /// rung or not: what counts is the state of the pore.
    pub fn take_event(&mut self, id: PoreId) -> Option<Event> {
        let entry = self.of_mut(id)?;
        let wants = entry.armed?;
        let event = match entry.pore.avail() {
            Ok(avail) if wants.are_met_by(avail) => Event::Ready(avail),
            Ok(avail) if entry.is_orphan && avail.readable > 0 => Event::Ready(avail),
            Ok(_) if entry.is_orphan => Event::Trouble(Error::PeerGone),
            Ok(_) => return None,
            Err(error) => Event::Trouble(error),
        };
        entry.armed = None;
        Some(event)
    }

    /// Whether checking for an event only reads memory, so that it can be polled.
    pub fn is_pollable(&self, id: PoreId) -> bool {
        self.of(id).is_some_and(|entry| entry.pore.is_pollable())
    }

    /// See [`Pore::is_peer_polling`].
    pub fn is_peer_polling(&self, id: PoreId) -> bool {
        self.of(id).is_some_and(|entry| entry.pore.is_peer_polling())
    }

    /// See [`Pore::begin_polling`].
    pub fn begin_polling(&mut self, id: PoreId) {
        if let Some(entry) = self.of_mut(id) {
            entry.pore.begin_polling();
        }
    }

    /// See [`Pore::end_polling`].
    pub fn end_polling(&mut self, id: PoreId) -> bool {
        self.of_mut(id).is_some_and(|entry| entry.pore.end_polling())
    }

    /// Resets the doorbell.
    pub fn drain_doorbell(&mut self, id: PoreId) {
        if let Some(entry) = self.of_mut(id) {
            entry.pore.drain_doorbell();
        }
    }

    /// The descriptors that signal when to check a pore again.
    pub fn signals(&self, id: PoreId) -> Vec<Signal> {
        self.of(id).map_or_else(Vec::new, |entry| entry.pore.signals())
    }

    /// Looks whether the other side is still there; the pore remembers what it found.
    ///
    /// # Errors
    /// It is not.
    pub fn look_at_peer(&mut self, id: PoreId) -> Result<(), Error> {
        let Some(entry) = self.of_mut(id) else { return Ok(()) };
        let outcome = entry.pore.look_at_peer();
        entry.is_orphan |= outcome.is_err();
        outcome
    }

    /// Hands a pore to another owner. It is disarmed: the event would have been the former owner's.
    ///
    /// # Errors
    /// There is no such pore, or it is another's.
    pub fn hand_over(&mut self, owner: OwnerId, id: PoreId, to: OwnerId) -> Result<(), Error> {
        let entry = self.entry(owner, id)?;
        entry.owner = to;
        entry.armed = None;
        self.owned.remove(&(owner, id));
        self.owned.insert((to, id));
        Ok(())
    }

    /// Closes a pore.
    ///
    /// # Errors
    /// There is no such pore, or it is another's.
    pub fn close(&mut self, owner: OwnerId, id: PoreId) -> Result<(), Error> {
        self.entry(owner, id)?;
        self.remove(owner, id);
        Ok(())
    }

    /// The owner has ended, in whatever way: its pores close. Returns which they were.
    pub fn close_all_of(&mut self, owner: OwnerId) -> Vec<PoreId> {
        let owned = self.owned.iter_from(&(owner, PoreId(0)));
        let ids: Vec<PoreId> = owned.take_while(|it| it.0 == owner).map(|it| it.1).collect();
        for &id in &ids {
            self.remove(owner, id);
        }
        ids
    }

    /// The number of messages that the system has dropped, for want of room, before a pore could
    /// read them: all pores together, closed ones too.
    pub fn dropped(&mut self) -> u64 {
        for (_, entry) in self.entries.iter_mut().flatten() {
            self.dropped += entry.pore.take_drops();
        }
        self.dropped
    }

    /// The number of pores.
    pub fn len(&self) -> usize {
        self.owned.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    /// All of them: name, kind, owner; by place.
    pub fn iter(&self) -> impl Iterator<Item = (PoreId, &'static str, OwnerId)> {
        let all = self.entries.iter().flatten();
        all.map(|(id, entry)| (*id, entry.pore.kind().name(), entry.owner))
    }
}
