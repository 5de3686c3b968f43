//! Which pores there are, whose they are, and what their owners wait for.
//!
//! A pore is armed for one event; it is pending until it is taken. However often the doorbell
//! rings, there is at most one. Arming again replaces what was asked for.

use tidemill_stdx::ordered::OrderedSet;

use crate::{Avail, Error, Pore, Signal, Wants};

/// Who owns pores; the number is the embedder's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OwnerId(pub u64);

/// Names one pore: its place, and above `PLACE_BITS` a number that is not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PoreId(pub u64);

/// So many bits of a name are its place.
const PLACE_BITS: u32 = 24;

impl PoreId {
    fn place(self) -> usize {
        (self.0 & ((1 << PLACE_BITS) - 1)) as usize
    }
}

/// What an owner is told.
#[derive(Debug)]
pub enum Event {
    /// What it waited for is there.
    Ready(Avail),
    /// The pore cannot be used any more, or not now.
    Trouble(Error),
}

struct Entry {
    pore: Box<dyn Pore>,
    owner: OwnerId,
    armed: Option<Wants>,
    /// The other side has gone: what is waited for may never come.
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
    /// What the system has dropped, as far as it was asked.
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

    /// Asks for one event.
    ///
    /// # Errors
    /// There is no such pore, or it is another's.
    pub fn arm(&mut self, owner: OwnerId, id: PoreId, wants: Wants) -> Result<(), Error> {
        self.entry(owner, id)?.armed = Some(wants);
        Ok(())
    }

    /// What is waited for, if an event has been asked for and not been taken.
    pub fn armed(&self, id: PoreId) -> Option<Wants> {
        self.of(id)?.armed
    }

    /// Whether [`take_event`](Pores::take_event) would give one, unless the other side has gone.
    pub fn is_due(&mut self, id: PoreId) -> bool {
        let Some(entry) = self.of_mut(id) else { return false };
        let Some(wants) = entry.armed else { return false };
        entry.pore.meets(wants).unwrap_or(true)
    }

    /// The event that was asked for, once, if it has come. The doorbell may have rung or not: what
    /// counts is what is there.
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

    /// Whether it only reads memory to look whether an event is due, so that it can be done often.
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

    /// Takes back what the doorbell has told.
    pub fn hush(&mut self, id: PoreId) {
        if let Some(entry) = self.of_mut(id) {
            entry.pore.hush();
        }
    }

    /// The descriptors that tell when to look at a pore again.
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

    /// Gives a pore to another owner. What it was armed for is forgotten: the event would have
    /// been the former owner's.
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

    /// How many messages the system has dropped, for want of room, before a pore could read them:
    /// all pores together, closed ones too.
    pub fn dropped(&mut self) -> u64 {
        for (_, entry) in self.entries.iter_mut().flatten() {
            self.dropped += entry.pore.take_drops();
        }
        self.dropped
    }

    /// How many there are.
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
