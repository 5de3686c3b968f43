//! A function in the making: registers, locals, blocks, and where each variable of the source is.

use tidemill_diag::Span;
use tidemill_stdx::id::IdVec;
use tidemill_stdx::sorted::SortedMap;

use crate::ir::{
    Block, BlockId, Constant, Function, FunctionId, Instruction, Local, LocalId, Place, Register,
    Storage, Terminator, Type,
};
use crate::lower::context::Context;
use crate::lower::routines::{Key, key};
use crate::tree::{self, Routine};

/// Where a variable of the source lives.
#[derive(Debug, Clone, Copy)]
pub(super) enum Home {
    /// A scalar that no other function sees.
    Register(Register),
    /// In the frame.
    Local(LocalId),
    /// Somewhere else; if the routine has an AWAIT, the local keeps the address for its condition.
    Address(Register, Option<LocalId>),
    /// In a condition: in the frame that waits.
    Outer(LocalId),
    /// In a condition: the frame that waits keeps its address.
    OuterAddress(LocalId),
}

/// A function in the making.
pub(super) struct Builder<'c, 'a> {
    pub(super) context: &'c mut Context<'a>,
    pub(super) id: FunctionId,
    pub(super) routine: Routine,
    pub(super) function: Function,
    pub(super) homes: SortedMap<Key, Home>,
    /// Finished blocks; those still without terminator are none.
    blocks: IdVec<BlockId, Option<Block>>,
    current: BlockId,
    instructions: Vec<(Instruction, Span)>,
    /// Whether the current block has got its terminator: what follows is never reached.
    ended: bool,
    /// Of what is being lowered.
    pub(super) span: Span,
    /// Whether the monitor is held by a sequence around.
    pub(super) locked: bool,
    /// Whether a call may change variables before the texts are used that are evaluated now.
    pub(super) calls_before_use: bool,
}

impl<'c, 'a> Builder<'c, 'a> {
    /// Begins a function that has been reserved.
    pub(super) fn new(
        context: &'c mut Context<'a>,
        id: FunctionId,
        routine: Routine,
        span: Span,
    ) -> Builder<'c, 'a> {
        let function = context.program.functions[id].clone();
        let mut blocks = IdVec::new();
        let current = blocks.push(None);
        Builder {
            context,
            id,
            routine,
            function,
            homes: SortedMap::new(),
            blocks,
            current,
            instructions: Vec::new(),
            ended: false,
            span,
            locked: false,
            calls_before_use: false,
        }
    }

    /// Ends the function: every block has its terminator.
    pub(super) fn finish(mut self) {
        if !self.ended {
            self.end(Terminator::Return(None));
        }
        let span = self.span;
        let missing = || Block {
            instructions: Vec::new(),
            terminator: (Terminator::Return(None), span),
            is_rare: false,
        };
        self.function.blocks =
            self.blocks.into_iter().map(|block| block.unwrap_or_else(missing)).collect();
        self.context.program.functions[self.id] = self.function;
    }

    /// Evaluates what is used after something else, which may call procedures.
    pub(super) fn before_calls<T>(&mut self, calls: bool, work: impl FnOnce(&mut Self) -> T) -> T {
        self.texts_used(self.calls_before_use || calls, work)
    }

    /// Evaluates what is used at once.
    pub(super) fn now<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.texts_used(false, work)
    }

    fn texts_used<T>(&mut self, after_calls: bool, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.calls_before_use, after_calls);
        let result = work(self);
        self.calls_before_use = outer;
        result
    }

    pub(super) fn register(&mut self, ty: Type) -> Register {
        self.function.registers.push(ty)
    }

    /// A local without a name.
    pub(super) fn temporary(&mut self, ty: Type) -> Place {
        let local = Local { name: String::new(), storage: Storage::One(ty) };
        Place::Local(self.function.locals.push(local))
    }

    pub(super) fn emit(&mut self, instruction: Instruction) {
        if !self.ended {
            self.instructions.push((instruction, self.span));
        }
    }

    pub(super) fn constant(&mut self, value: Constant) -> Register {
        let to = self.register(match value {
            Constant::Integer(_) => Type::Integer,
            Constant::Real(_) => Type::Real,
            Constant::Boolean(_) => Type::Boolean,
            Constant::Character(_) => Type::Character,
        });
        self.emit(Instruction::Constant { to, value });
        to
    }

    /// A block to be begun later.
    pub(super) fn block(&mut self) -> BlockId {
        self.blocks.push(None)
    }

    /// The block that is being written.
    pub(super) fn current(&self) -> BlockId {
        self.current
    }

    /// The number of blocks, those to be begun later too.
    pub(super) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Ends the current block.
    pub(super) fn end(&mut self, terminator: Terminator) {
        if !self.ended {
            let instructions = std::mem::take(&mut self.instructions);
            let terminator = (terminator, self.span);
            self.blocks[self.current] = Some(Block { instructions, terminator, is_rare: false });
            self.ended = true;
        }
    }

    pub(super) fn jump(&mut self, block: BlockId) {
        self.end(Terminator::Jump(block));
    }

    /// Continues in the block.
    pub(super) fn begin(&mut self, block: BlockId) {
        debug_assert!(self.ended && self.blocks[block].is_none());
        self.current = block;
        self.ended = false;
    }

    /// Whether the current place is unreachable.
    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Runs with the span of a part, then goes back to that of the whole.
    pub(super) fn at<T>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.span, span);
        let result = work(self);
        self.span = outer;
        result
    }

    pub(super) fn home(&self, routine: Routine, local: tree::LocalId) -> Home {
        self.homes[&(key(routine), local)]
    }
}
