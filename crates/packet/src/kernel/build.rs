//! Writes kernels, block by block.

use std::sync::Arc;

use tidemill_diag::text::verify::{Findings, VerifyErrors};
use tidemill_stdx::id::{Id, IdVec};

use super::table::spec::TableSpec;
use super::{
    Address, Block, BlockId, End, Event, Expr, Handler, Kernel, Key, Operator, Step, Supply, Test,
    Value, Width, Word, WordKind, unused,
};

/// Writes a kernel. Blocks are made with [`Builder::block`] and filled one after the other: steps
/// are added to the block that was chosen last with [`Builder::at`]; the first exists already.
///
/// ```
/// use tidemill_packet::kernel::{Builder, Operator, Width};
///
/// // Counts packets whose first byte is odd, and passes all on.
/// let mut kernel = Builder::new("Odd");
/// let odd = kernel.counter("odd");
/// let empty = kernel.reason("empty");
/// kernel.need(1, empty);
/// let byte = kernel.load(Width::W8, 0);
/// let one = kernel.constant(1);
/// let bit = kernel.binary(Operator::And, byte, one);
/// let count = kernel.word(odd);
/// let count = kernel.binary(Operator::Add, count, bit);
/// kernel.set_word(odd, count);
/// kernel.emit(0);
/// let kernel = kernel.finish()?;
/// assert!(kernel.to_string().contains("v0 = load8 [0]"));
/// # Ok::<(), tidemill_packet::kernel::VerifyErrors>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    kernel: Kernel,
    /// Blocks whose end has not been written have none.
    ends: IdVec<BlockId, Option<End>>,
    at: BlockId,
    /// What each value is, and the number of low bits that may be ones.
    exprs: Vec<Expr>,
    bits: Vec<u32>,
    /// The handler that is written; nothing: the kernel itself.
    event: Option<Event>,
    /// The blocks and values of the kernel itself, once a handler is written.
    own: Option<(IdVec<BlockId, Block>, u32)>,
    errors: Findings,
}

impl Builder {
    /// A kernel of this name, with one block.
    pub fn new(name: &str) -> Builder {
        let kernel = Kernel::empty(name);
        let mut builder = Builder {
            kernel,
            ends: IdVec::new(),
            at: BlockId::from_index(0),
            exprs: Vec::new(),
            bits: Vec::new(),
            event: None,
            own: None,
            errors: Findings::new(),
        };
        builder.block();
        builder
    }

    /// A word of the kernel's own.
    pub fn state(&mut self, name: &str, initial: u64) -> u32 {
        self.kernel.words.push(Word { name: name.to_owned(), initial, kind: WordKind::State });
        self.kernel.words.len() as u32 - 1
    }

    /// The value that a word has at first.
    pub fn initial(&self, word: u32) -> u64 {
        self.kernel.words[word as usize].initial
    }

    /// A word that is reported, 0 at first.
    pub fn counter(&mut self, name: &str) -> u32 {
        self.kernel.words.push(Word { name: name.to_owned(), initial: 0, kind: WordKind::Counter });
        self.kernel.words.len() as u32 - 1
    }

    /// A word that holds for one packet: it must be set before it is read.
    pub fn local(&mut self, name: &str) -> u32 {
        self.kernel.words.push(Word { name: name.to_owned(), initial: 0, kind: WordKind::Local });
        self.kernel.words.len() as u32 - 1
    }

    /// Makes it a source of packets of `bytes` zeros; the word `left` limits their number.
    pub fn supply(&mut self, bytes: u32, burst: u32, left: u32) {
        self.kernel.supply = Some(Supply { bytes, burst, left });
    }

    /// A reason to drop packets for.
    pub fn reason(&mut self, name: &str) -> u32 {
        self.kernel.reasons.push(name.to_owned());
        self.kernel.reasons.len() as u32 - 1
    }

    /// A table.
    pub fn table(&mut self, spec: TableSpec) -> u32 {
        self.kernel.tables.push(spec);
        self.kernel.tables.len() as u32 - 1
    }

    /// Continues with a handler: what is written from now on, blocks included, belongs to it. The
    /// kernel itself, and a handler before, must have their ends.
    pub fn handler(&mut self, event: Event) {
        self.close();
        self.event = Some(event);
        self.block();
        self.at(BlockId::from_index(0));
    }

    /// Puts what has been written where it belongs.
    fn close(&mut self) {
        if let Some((block, _)) = self.ends.iter_enumerated().find(|(_, end)| end.is_none()) {
            self.errors.at(block);
            self.errors.fail("it has no end");
        }
        self.ends = IdVec::new();
        let blocks = std::mem::take(&mut self.kernel.blocks);
        let values = std::mem::take(&mut self.kernel.values);
        match self.event.take() {
            None => self.own = Some((blocks, values)),
            Some(event) => self.kernel.handlers.push(Handler { event, blocks, values }),
        }
        self.exprs.clear();
        self.bits.clear();
    }

    /// Steps and blocks that there are so far.
    pub fn steps(&self) -> usize {
        let blocks = self.kernel.blocks.iter();
        blocks.map(|block| block.steps.len() + 1).sum()
    }

    /// Another block.
    pub fn block(&mut self) -> BlockId {
        self.ends.push(None);
        self.kernel.blocks.push(Block { steps: Vec::new(), end: End::Take })
    }

    /// Continues writing in a block.
    pub fn at(&mut self, block: BlockId) {
        self.at = block;
    }

    fn step(&mut self, step: Step) {
        self.kernel.blocks[self.at].steps.push(step);
    }

    /// A value.
    pub fn value(&mut self, expr: Expr) -> Value {
        let value = Value::from_index(self.kernel.values as usize);
        self.kernel.values += 1;
        self.bits.push(self.bits_of(expr));
        self.exprs.push(expr);
        self.step(Step::Let(value, expr));
        value
    }

    /// The number of low bits of a value that may be ones, as far as that is easily seen.
    pub fn bits(&self, value: Value) -> u32 {
        self.bits[value.raw() as usize]
    }

    fn bits_of(&self, expr: Expr) -> u32 {
        let small = |value| self.constant_of(value).and_then(|number| u32::try_from(number).ok());
        match expr {
            Expr::Const(number) => 64 - number.leading_zeros(),
            Expr::Load(width, _) => width.bytes() * 8,
            Expr::Binary(operator, a, b) => match operator {
                Operator::Eq | Operator::Ne | Operator::Lt | Operator::Le => 1,
                Operator::And | Operator::Min => self.bits(a).min(self.bits(b)),
                Operator::Or | Operator::Xor => self.bits(a).max(self.bits(b)),
                Operator::Shl => small(b).map_or(64, |by| self.bits(a).saturating_add(by).min(64)),
                Operator::Shr => self.bits(a).saturating_sub(small(b).unwrap_or(0)),
                Operator::Sum16 => 16,
                _ => 64,
            },
            Expr::Sum(_) => 16,
            // That on the wire has 32 bits at most, and what was put on.
            Expr::Length | Expr::WireLength => 33,
            _ => 64,
        }
    }

    /// The number of a value that is a constant.
    pub fn constant_of(&self, value: Value) -> Option<u64> {
        match self.exprs[value.raw() as usize] {
            Expr::Const(number) => Some(number),
            _ => None,
        }
    }

    /// A number.
    pub fn constant(&mut self, number: u64) -> Value {
        self.value(Expr::Const(number))
    }

    /// Of two values. What is known now is not computed: the result may be one of them, or a
    /// constant.
    pub fn binary(&mut self, operator: Operator, a: Value, b: Value) -> Value {
        match (self.constant_of(a), self.constant_of(b)) {
            (Some(one), Some(other)) => self.constant(operator.apply(one, other)),
            (Some(0), None) if matches!(operator, Operator::Add | Operator::Or) => b,
            (None, Some(0)) if operator.keeps_with_zero() => a,
            (None, Some(mask)) if operator == Operator::And && self.fits(a, mask) => a,
            _ if operator == Operator::MulSat && self.bits(a) + self.bits(b) <= 64 => {
                self.value(Expr::Binary(Operator::Mul, a, b))
            }
            _ => self.value(Expr::Binary(operator, a, b)),
        }
    }

    /// Whether all bits that a value may have are in a mask.
    fn fits(&self, value: Value, mask: u64) -> bool {
        mask.trailing_ones() >= self.bits(value)
    }

    /// The value of a word.
    pub fn word(&mut self, word: u32) -> Value {
        self.value(Expr::Word(word))
    }

    /// Changes a word.
    pub fn set_word(&mut self, word: u32, value: Value) {
        self.step(Step::SetWord(word, value));
    }

    /// Adds to a word.
    pub fn count(&mut self, word: u32, by: Value) {
        let old = self.word(word);
        let new = self.binary(Operator::Add, old, by);
        self.set_word(word, new);
    }

    /// Bytes at an offset, most significant first.
    pub fn load(&mut self, width: Width, offset: u32) -> Value {
        self.value(Expr::Load(width, Address { base: None, offset }))
    }

    /// Changes bytes at an offset, most significant first.
    pub fn store(&mut self, width: Width, offset: u32, value: Value) {
        self.step(Step::Store(width, Address { base: None, offset }, value));
    }

    /// Changes bytes that far after a value.
    pub fn store_at(&mut self, width: Width, base: Value, offset: u32, value: Value) {
        self.step(Step::Store(width, Address { base: Some(base), offset }, value));
    }

    /// Bytes that far after a value.
    pub fn load_at(&mut self, width: Width, base: Value, offset: u32) -> Value {
        self.value(Expr::Load(width, Address { base: Some(base), offset }))
    }

    /// Drops packets of fewer bytes.
    pub fn need(&mut self, bytes: u32, reason: u32) {
        self.step(Step::Need(Address { base: None, offset: bytes }, reason));
    }

    /// Drops packets that have fewer bytes after a value.
    pub fn need_at(&mut self, base: Value, bytes: u32, reason: u32) {
        self.step(Step::Need(Address { base: Some(base), offset: bytes }, reason));
    }

    /// Puts bytes before the packet.
    pub fn prepend(&mut self, bytes: u32, reason: u32) {
        self.step(Step::Prepend(bytes, reason));
    }

    /// Takes bytes off the front.
    pub fn strip(&mut self, bytes: u32) {
        self.step(Step::Strip(bytes));
    }

    /// Strips everything before a place, `offset` bytes after a value.
    pub fn strip_to(&mut self, base: Value, offset: u32) {
        self.step(Step::StripTo(Address { base: Some(base), offset }));
    }

    /// Cuts what is longer.
    pub fn truncate(&mut self, length: Value) {
        self.step(Step::Truncate(length));
    }

    /// Cuts what is longer, on the wire too.
    pub fn shorten(&mut self, length: Value) {
        self.step(Step::Shorten(length));
    }

    /// Changes the mark.
    pub fn set_mark(&mut self, value: Value) {
        self.step(Step::SetMark(value));
    }

    /// A copy of the packet leaves by an output.
    pub fn clone_to(&mut self, output: u32) {
        self.step(Step::Clone(output));
    }

    /// The entry of a table with a key; 0: there is none.
    pub fn find(&mut self, table: u32, key: &[Value]) -> Value {
        self.value(Expr::Find(table, Key::new(key)))
    }

    /// Changes a word of the next entry.
    pub fn draft(&mut self, table: u32, word: u32, value: Value) {
        self.step(Step::Draft(table, word, value));
    }

    /// Changes a value of an entry.
    pub fn put(&mut self, table: u32, entry: Value, at: u32, value: Value) {
        self.step(Step::Put(table, entry, at, value));
    }

    /// The age of an entry begins anew.
    pub fn refresh(&mut self, table: u32, entry: Value) {
        self.step(Step::Refresh(table, entry));
    }

    /// Deletes an entry.
    pub fn delete(&mut self, table: u32, entry: Value) {
        self.step(Step::Delete(table, entry));
    }

    fn end(&mut self, end: End) {
        self.ends[self.at] = Some(end);
        self.kernel.blocks[self.at].end = end;
    }

    /// Ends the block: continues at another.
    pub fn jump(&mut self, to: BlockId) {
        self.end(End::Jump(to));
    }

    /// Ends the block: branches on a value, to the first if it is not 0.
    pub fn branch(&mut self, value: Value, yes: BlockId, no: BlockId) {
        self.end(End::If(value, yes, no));
    }

    /// Ends the block: branches on a test.
    pub fn test(&mut self, test: Arc<dyn Test>, yes: BlockId, no: BlockId) {
        self.kernel.tests.push(test);
        self.end(End::Test(self.kernel.tests.len() as u32 - 1, yes, no));
    }

    /// Ends the block: the packet leaves by an output.
    pub fn emit(&mut self, output: u32) {
        self.end(End::Emit(output));
    }

    /// Ends the block: copies leave by all outputs but the last, the packet itself by that.
    pub fn emit_all(&mut self) {
        self.end(End::EmitAll);
    }

    /// Ends the block: the packet is dropped.
    pub fn drop(&mut self, reason: u32) {
        self.end(End::Drop(reason));
    }

    /// Ends the block: the packet has arrived.
    pub fn take(&mut self) {
        self.end(End::Take);
    }

    /// The kernel, without the values that nothing uses.
    ///
    /// # Errors
    /// All its errors.
    pub fn finish(mut self) -> Result<Arc<Kernel>, VerifyErrors> {
        self.close();
        self.errors.finish()?;
        if let Some((blocks, values)) = self.own.take() {
            (self.kernel.blocks, self.kernel.values) = (blocks, values);
        }
        self.kernel.verify()?;
        let Kernel { blocks, values, handlers, .. } = &mut self.kernel;
        *values = unused::remove(blocks, *values);
        for Handler { blocks, values, .. } in handlers {
            *values = unused::remove(blocks, *values);
        }
        debug_assert!(self.kernel.verify().is_ok(), "what is used stays");
        Ok(Arc::new(self.kernel))
    }
}
