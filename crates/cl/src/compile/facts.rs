//! Elements that have just been looked up, and are needed again: `IF EXISTS(m[k]) THEN INC(m[k])`
//! looks once.
//!
//! A fact holds to the end of the block, and in blocks whose only predecessor it is. It is dropped
//! at every instruction that may insert or remove elements, may change a key, or may suspend.

use tidemill_jit::build::Value;
use tidemill_stdx::id::{IdSet, IdVec};

use crate::ir::pinned::leaves_elements;
use crate::ir::{BlockId, Function, Instruction, Key, Part, Place, Register, Role, Terminator};

/// Copies and elements known at a time; with more, what was known is forgotten.
const KNOWN_MAX: usize = 64;

/// The facts at a place in a function.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    copies: Vec<Copied>,
    elements: Vec<Element>,
}

/// Two registers are the same; the second one is no copy itself.
#[derive(Debug, Clone, Copy)]
struct Copied {
    to: Register,
    from: Register,
}

/// The value is the address of an element of a collection, which exists wherever this fact holds.
#[derive(Debug, Clone)]
struct Element {
    collection: Place,
    keys: Vec<Key>,
    address: Value,
    is: Presence,
}

/// Whether an element exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    There,
    Missing,
    /// It is if the register is true.
    If(Register),
}

impl Facts {
    /// Forgets what does not hold after an instruction, which is about to be translated.
    pub(super) fn pass(&mut self, instruction: &Instruction) {
        let makes = matches!(instruction, Instruction::Element { .. });
        let is_full = self.copies.len() + self.elements.len() > KNOWN_MAX;
        if !leaves_elements(instruction) && !makes || is_full {
            *self = Facts::default();
            return;
        }
        instruction.parts(&mut |part| {
            if let Part::Register(register, Role::Write | Role::Update) = part {
                self.forget(register);
            }
        });
        if let Instruction::Copy { to, from } = *instruction
            && to != from
        {
            self.copies.push(Copied { to, from: self.original(from) });
        }
    }

    /// Forgets what depends on a register that is assigned.
    fn forget(&mut self, register: Register) {
        self.copies.retain(|one| one.to != register && one.from != register);
        self.elements.retain(|one| {
            let is_key = |key: &Key| match *key {
                Key::Register(key) => key == register,
                Key::Text(place) => is_at(place, register),
            };
            let is_known = one.is != Presence::If(register) && !is_at(one.collection, register);
            is_known && !one.keys.iter().any(is_key)
        });
    }

    /// The register that this one is a copy of, or itself.
    fn original(&self, register: Register) -> Register {
        self.copies.iter().find(|one| one.to == register).map_or(register, |one| one.from)
    }

    /// Keys as the registers that have had them first.
    fn plain(&self, keys: &[Key]) -> Vec<Key> {
        let plain = |key: &Key| match *key {
            Key::Register(register) => Key::Register(self.original(register)),
            Key::Text(place) => Key::Text(self.plain_place(place)),
        };
        keys.iter().map(plain).collect()
    }

    fn plain_place(&self, place: Place) -> Place {
        match place {
            Place::At(register) => Place::At(self.original(register)),
            other => other,
        }
    }

    /// The address of an element that exists.
    pub(super) fn element(&self, collection: Place, keys: &[Key]) -> Option<Value> {
        self.known(collection, keys, Presence::There)
    }

    /// Whether it has been found that there is no such element.
    pub(super) fn is_missing(&self, collection: Place, keys: &[Key]) -> bool {
        self.known(collection, keys, Presence::Missing).is_some()
    }

    fn known(&self, collection: Place, keys: &[Key], is: Presence) -> Option<Value> {
        let (collection, keys) = (self.plain_place(collection), self.plain(keys));
        let mut elements = self.elements.iter();
        let found =
            elements.find(|one| one.collection == collection && one.keys == keys && one.is == is);
        found.map(|one| one.address)
    }

    /// Records the address of this element, if it exists.
    pub(super) fn note_element(
        &mut self,
        collection: Place,
        keys: &[Key],
        address: Value,
        is: Presence,
    ) {
        if is == Presence::There {
            // It may have been made, and others may have moved.
            self.elements.clear();
        }
        let (collection, keys) = (self.plain_place(collection), self.plain(keys));
        self.elements.push(Element { collection, keys, address, is });
    }

    /// The facts where the branch on a register has been taken.
    fn after_branch(mut self, register: Register, is: bool) -> Facts {
        for one in self.elements.iter_mut().filter(|one| one.is == Presence::If(register)) {
            one.is = if is { Presence::There } else { Presence::Missing };
        }
        self
    }
}

fn is_at(place: Place, register: Register) -> bool {
    place == Place::At(register)
}

/// The facts at the starts of the blocks of a function.
pub(super) struct BlockFacts<'a> {
    function: &'a Function,
    /// The only block from which a block is reached.
    before: IdVec<BlockId, Option<BlockId>>,
    ends: IdVec<BlockId, Option<Facts>>,
}

impl<'a> BlockFacts<'a> {
    /// Of a function, without blocks that are reached in other ways too.
    pub(super) fn of(function: &'a Function, others: &IdSet<BlockId>) -> BlockFacts<'a> {
        let mut ways: IdVec<BlockId, Vec<BlockId>> =
            function.blocks.iter().map(|_| Vec::new()).collect();
        for (id, block) in function.blocks.iter_enumerated() {
            block.terminator.0.targets().for_each(|target| ways[target].push(id));
        }
        let before = ways.iter_enumerated().map(|(id, ways)| match ways.as_slice() {
            [one] if id != BlockId::new(0) && !others.contains(id) => Some(*one),
            _ => None,
        });
        let before = before.collect();
        BlockFacts { function, before, ends: function.blocks.iter().map(|_| None).collect() }
    }

    /// The blocks, each after the only one from which it is reached.
    pub(super) fn order(&self) -> Vec<BlockId> {
        let (mut order, mut placed) = (Vec::new(), IdSet::default());
        let mut chain = Vec::new();
        for id in self.before.ids() {
            let mut next = Some(id);
            while let Some(block) = next.filter(|&block| placed.insert(block)) {
                chain.push(block);
                next = self.before[block];
            }
            order.extend(chain.drain(..).rev());
        }
        order
    }

    /// The facts at the start of a block.
    pub(super) fn at_start(&self, block: BlockId) -> Facts {
        let Some(before) = self.before[block] else { return Facts::default() };
        let Some(found) = &self.ends[before] else { return Facts::default() };
        match self.function.blocks[before].terminator.0 {
            Terminator::Branch { condition, then, .. } => {
                found.clone().after_branch(condition, then == block)
            }
            _ => found.clone(),
        }
    }

    /// The block has been translated.
    pub(super) fn at_end(&mut self, block: BlockId, found: &Facts) {
        self.ends[block] = Some(found.clone());
    }
}
