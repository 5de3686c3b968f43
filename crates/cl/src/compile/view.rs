//! Arrays: views, extents, and addresses of elements, whose bounds are checked here; that an index
//! is outside the run-time states.

use tidemill_jit::asm::aligned;
use tidemill_jit::build::{Block, InstBuilder, IntCC, MemFlagsData, Value, types};
use tidemill_proc::fault::Reason as Fault;

use crate::compile::frame::Viewed;
use crate::compile::translate::Translator;
use crate::ir::{Instruction, Place, Register, Type};

/// Bytes before the extents of an array.
const EXTENTS: i32 = 16;

/// The number of an element: a constant that is known now, and the rest. The constant becomes part
/// of the offset of an access, which costs nothing, and neighbours have the rest in common.
#[derive(Clone, Copy, Default)]
struct Number {
    rest: Option<Value>,
    more: i64,
}

impl Translator<'_, '_, '_> {
    pub(super) fn array(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::ArrayLength { to, array, dimension } => {
                let block = self.array_word(*array);
                let none = self.body.ins().icmp_imm_u(IntCC::Equal, block, 0);
                self.fault_if(none, Fault::Unallocated as u32, None);
                let value = self.extent(block, *dimension);
                self.set(*to, value);
            }
            Instruction::ArrayElement { to, array, indices } => {
                let address = self.array_element(*array, indices);
                self.set(*to, address);
            }
            Instruction::ArrayView { to, array } => {
                let view = self.view(*array);
                self.set(*to, view);
            }
            Instruction::ViewExtent { to, view, dimension } => {
                let view = self.get(*view);
                let extent = self.extent(view, *dimension);
                self.set(*to, extent);
            }
            Instruction::ViewElement { to, view, extents, indices, checked: false, .. } => {
                let view = self.get(*view);
                let address = self.element_inside(view, extents, indices);
                self.set(*to, address);
            }
            Instruction::ViewElement { to, array, view, extents, indices, .. } => {
                let (view, outside) = (self.get(*view), self.body.cold_block());
                let movable = aligned().with_readonly().with_can_move();
                let address = self.element((view, movable), extents, indices, outside);
                self.state_outside(*array, indices, outside);
                self.set(*to, address);
            }
            other => unreachable!("{other:?} is translated elsewhere"),
        }
    }

    /// A register that has been lost while the process was suspended.
    pub(super) fn view_anew(&mut self, viewed: Viewed) -> Value {
        let view = self.view(viewed.array);
        match viewed.dimension {
            Some(dimension) => self.extent(view, dimension),
            None => view,
        }
    }

    fn array_element(&mut self, array: Place, indices: &[Register]) -> Value {
        let block = self.array_word(array);
        let (there, outside) = (self.body.create_block(), self.body.cold_block());
        self.body.ins().brif(block, there, &[], outside, &[]);
        self.body.switch_to_block(there);
        let address = self.element((block, aligned()), &[], indices, outside);
        self.state_outside(array, indices, outside);
        address
    }

    fn array_word(&mut self, array: Place) -> Value {
        let at = self.place(array);
        self.load(at, Type::Integer)
    }

    /// The block of an array; of one that is not allocated, that of an empty one.
    fn view(&mut self, array: Place) -> Value {
        let block = self.array_word(array);
        let empty = self.body.data_address(self.unit.no_array);
        self.body.ins().select(block, block, empty)
    }

    fn extent(&mut self, block: Value, dimension: u8) -> Value {
        self.load_extent(block, dimension, aligned())
    }

    fn load_extent(&mut self, block: Value, dimension: u8, flags: MemFlagsData) -> Value {
        let offset = EXTENTS + 8 * i32::from(dimension);
        self.body.ins().load(types::I64, flags, block, offset)
    }

    /// The address of an element; goes to `outside` if there is none. Extents that are not in
    /// registers are loaded with `flags`: those of a view, which is never null and is used while
    /// its array is where it is, may be loaded earlier, and once for several elements.
    fn element(
        &mut self,
        (block, flags): (Value, MemFlagsData),
        extents: &[Register],
        indices: &[Register],
        outside: Block,
    ) -> Value {
        let mut number = Number::default();
        for (dimension, index) in (0..).zip(indices) {
            let index = self.get(*index);
            let extent = match extents.get(usize::from(dimension)) {
                Some(extent) => self.get(*extent),
                None => self.load_extent(block, dimension, flags),
            };
            let inside = self.body.ins().icmp(IntCC::UnsignedLessThan, index, extent);
            let next = self.body.create_block();
            self.body.ins().brif(inside, next, &[], outside, &[]);
            self.body.switch_to_block(next);
            number = self.number(number, index, extent);
        }
        self.element_at(block, number, indices.len())
    }

    /// The address of an element that exists.
    fn element_inside(&mut self, view: Value, extents: &[Register], indices: &[Register]) -> Value {
        let mut number = Number::default();
        for (dimension, index) in indices.iter().enumerate() {
            let index = self.get(*index);
            // The number does not depend on the extent of the first dimension.
            let extent = if dimension == 0 { index } else { self.get(extents[dimension]) };
            number = self.number(number, index, extent);
        }
        self.element_at(view, number, indices.len())
    }

    /// The number of an element by one dimension more.
    fn number(&mut self, before: Number, index: Value, extent: Value) -> Number {
        let (index, more) = self.body.as_sum(index);
        let Some(row) = before.rest else { return Number { rest: Some(index), more } };
        let row = self.plus(row, before.more);
        let row = self.body.ins().imul(row, extent);
        Number { rest: Some(self.body.ins().iadd(row, index)), more }
    }

    /// The address of the element of this number.
    fn element_at(&mut self, block: Value, number: Number, dimensions: usize) -> Value {
        let words = number.more + dimensions as i64;
        let start = match number.rest {
            Some(rest) => {
                let bytes = self.body.ins().ishl_imm_u(rest, 3);
                self.body.ins().iadd(block, bytes)
            }
            None => block,
        };
        self.plus(start, i64::from(EXTENTS) + 8 * words)
    }

    fn plus(&mut self, value: Value, more: i64) -> Value {
        match more {
            0 => value,
            more => self.body.ins().iadd_imm_s(value, more),
        }
    }

    /// Emits the block `outside`: the run-time raises the fault for the index that is out of range.
    fn state_outside(&mut self, array: Place, indices: &[Register], outside: Block) {
        let next = self.body.create_block();
        self.body.ins().jump(next, &[]);
        self.body.switch_to_block(outside);
        let block = self.array_word(array);
        let row = self.row(indices.len());
        for (dimension, index) in indices.iter().enumerate() {
            let index = self.get(*index);
            self.row_store(row, dimension, index);
        }
        let (words, position) = (self.row_address(row), self.position());
        self.states_fault("array_at", &[block, words, position]);
        self.body.switch_to_block(next);
    }
}
