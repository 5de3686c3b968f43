//! Elements that have just been looked up, and are needed again: `IF EXISTS(m[k]) THEN INC(m[k])`
//! looks once.
//!
//! What is known holds to the end of the block, and in blocks that are reached from there alone. It
//! is forgotten at whatever may put in or take out elements, may change a key, or may suspend.

use tidemill_jit::build::Variable;
use tidemill_stdx::id::{IdSet, IdVec};

use crate::ir::pinned::leaves_elements;
use crate::ir::{BlockId, Function, Instruction, Key, Part, Place, Register, Role, Terminator};

/// What is known at a place in a function.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    arrays: Vec<ArrayElement>,
    elements: Vec<Element>,
}

/// The register has the address of an element of an array.
#[derive(Debug, Clone)]
struct ArrayElement {
    to: Register,
    array: Place,
    indices: Vec<Register>,
    /// The register that has had it first.
    first: Register,
}

/// The variable has the address of an element of a collection.
#[derive(Debug, Clone)]
struct Element {
    collection: Place,
    keys: Vec<Key>,
    address: Variable,
    /// It is there if this is true.
    is: Option<Register>,
}

impl Found {
    /// Forgets what does not hold after an instruction, which is about to be translated.
    pub(super) fn pass(&mut self, instruction: &Instruction) {
        let makes = matches!(instruction, Instruction::Element { .. });
        if !leaves_elements(instruction) && !makes {
            *self = Found::default();
            return;
        }
        instruction.parts(&mut |part| {
            if let Part::Register(register, Role::Write | Role::Update) = part {
                self.forget(register);
            }
        });
    }

    /// Forgets what depends on a register that is assigned.
    fn forget(&mut self, register: Register) {
        self.arrays.retain(|one| {
            let is_known = one.to != register && one.first != register;
            is_known && !is_at(one.array, register) && !one.indices.contains(&register)
        });
        self.elements.retain(|one| {
            let is_key = |key: &Key| match *key {
                Key::Register(key) => key == register,
                Key::Text(place) => is_at(place, register),
            };
            let is_known = one.is != Some(register) && !is_at(one.collection, register);
            is_known && !one.keys.iter().any(is_key)
        });
    }

    /// The register that has the address of this element.
    pub(super) fn array_element(&self, array: Place, indices: &[Register]) -> Option<Register> {
        let is = |one: &&ArrayElement| one.array == array && one.indices == indices;
        self.arrays.iter().find(is).map(|one| one.to)
    }

    /// The address of this element is in the register.
    pub(super) fn note_array_element(&mut self, to: Register, array: Place, indices: &[Register]) {
        if is_at(array, to) || indices.contains(&to) {
            return;
        }
        let is = |one: &&ArrayElement| one.array == array && one.indices == indices;
        let first = self.arrays.iter().find(is).map_or(to, |one| one.first);
        self.arrays.push(ArrayElement { to, array, indices: indices.to_vec(), first });
    }

    /// Keys as the first registers that have had them.
    fn plain(&self, keys: &[Key]) -> Vec<Key> {
        let plain = |key: &Key| match *key {
            Key::Text(Place::At(register)) => {
                let one = self.arrays.iter().find(|one| one.to == register);
                Key::Text(Place::At(one.map_or(register, |one| one.first)))
            }
            other => other,
        };
        keys.iter().map(plain).collect()
    }

    /// What has the address of an element that is there.
    pub(super) fn element(&self, collection: Place, keys: &[Key]) -> Option<Variable> {
        let keys = self.plain(keys);
        let is =
            |one: &&Element| one.collection == collection && one.keys == keys && one.is.is_none();
        self.elements.iter().find(is).map(|one| one.address)
    }

    /// The address of this element is in the variable, if the register is true or there is none.
    pub(super) fn note_element(
        &mut self,
        collection: Place,
        keys: &[Key],
        address: Variable,
        is: Option<Register>,
    ) {
        if is.is_none() {
            // It may have been made, and others may have moved.
            self.elements.clear();
        }
        let keys = self.plain(keys);
        self.elements.push(Element { collection, keys, address, is });
    }

    /// What is known where the branch on a register has been taken.
    fn after_branch(mut self, register: Register, is: bool) -> Found {
        self.elements.retain_mut(|one| {
            if one.is == Some(register) {
                one.is = None;
                return is;
            }
            true
        });
        self
    }
}

fn is_at(place: Place, register: Register) -> bool {
    place == Place::At(register)
}

/// What is known at the starts of the blocks of a function.
pub(super) struct Founds<'a> {
    function: &'a Function,
    /// The only block from which a block is reached.
    before: IdVec<BlockId, Option<BlockId>>,
    ends: IdVec<BlockId, Option<Found>>,
}

impl<'a> Founds<'a> {
    /// Of a function, without blocks that are reached in other ways too.
    pub(super) fn of(function: &'a Function, others: &IdSet<BlockId>) -> Founds<'a> {
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
        Founds { function, before, ends: function.blocks.iter().map(|_| None).collect() }
    }

    /// What is known at the start of a block.
    pub(super) fn at_start(&self, block: BlockId) -> Found {
        let Some(before) = self.before[block] else { return Found::default() };
        let Some(found) = &self.ends[before] else { return Found::default() };
        match self.function.blocks[before].terminator.0 {
            Terminator::Branch { condition, then, .. } => {
                found.clone().after_branch(condition, then == block)
            }
            _ => found.clone(),
        }
    }

    /// The block has been translated.
    pub(super) fn at_end(&mut self, block: BlockId, found: &Found) {
        self.ends[block] = Some(found.clone());
    }
}
