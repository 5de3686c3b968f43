//! The facts at each point of a kernel, on every path to it: values that are set, and the number of
//! bytes that the packet has.

use tidemill_stdx::id::IdVec;

use super::{Address, Block, BlockId, End, Expr, Kernel, Operator, Step, Value, Width};

/// What holds at a point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Facts {
    /// The packet has at least this many bytes.
    pub bytes: u64,
    /// It has this many after a value.
    after: Vec<(Value, u32)>,
    /// Values that are set, by number.
    set: Vec<bool>,
    /// Words that are set, by number: of local words it matters.
    words: Vec<bool>,
    /// Values that are the length of the packet.
    lengths: Vec<Value>,
    /// Values that are an entry of a table or 0, and whether it is known that they are an entry.
    entries: Vec<(Value, u32, bool)>,
}

impl Facts {
    pub fn new(kernel: &Kernel, bytes: u64) -> Facts {
        let set = vec![false; kernel.values as usize];
        let words = vec![false; kernel.words.len()];
        let (after, lengths, entries) = (Vec::new(), Vec::new(), Vec::new());
        Facts { bytes, after, set, words, lengths, entries }
    }

    pub fn is_set(&self, value: Value) -> bool {
        self.set.get(value.raw() as usize).copied().unwrap_or(false)
    }

    /// Whether a word has been set on every way.
    pub fn is_word_set(&self, word: u32) -> bool {
        self.words.get(word as usize).copied().unwrap_or(false)
    }

    /// Whether the packet is known to have `offset` bytes, from the base on.
    pub fn reach(&self, place: Address) -> bool {
        match place.base {
            None => u64::from(place.offset) <= self.bytes,
            Some(base) => self.after.iter().any(|&(of, end)| of == base && place.offset <= end),
        }
    }

    /// Whether a value is an existing entry of a table.
    pub fn is_entry(&self, value: Value, table: u32) -> bool {
        self.entries.contains(&(value, table, true))
    }

    /// Adds the facts that hold where a value is not 0: it is an entry, or a place is not after
    /// the end of the packet.
    fn learn(&mut self, exprs: &Exprs, value: Value) {
        let is_it = |entry: &&mut (Value, u32, bool)| entry.0 == value;
        if let Some(entry) = self.entries.iter_mut().find(is_it) {
            entry.2 = true;
        }
        if let Some(place) = self.compared(exprs, value) {
            self.has(place);
        }
    }

    /// The place that a value compares with the end of the packet.
    fn compared(&self, exprs: &Exprs, value: Value) -> Option<Address> {
        let Some(Expr::Binary(Operator::Le, end, length)) = exprs.get(value) else { return None };
        self.lengths.contains(&length).then(|| exprs.place(end)).flatten()
    }

    /// The packet reaches a place.
    fn has(&mut self, place: Address) {
        self.bytes = self.bytes.max(u64::from(place.offset));
        if let Some(base) = place.base
            && !self.reach(place)
        {
            self.after.push((base, place.offset));
        }
    }

    /// The packet begins or ends elsewhere.
    fn moved(&mut self) {
        self.after.clear();
        self.lengths.clear();
    }

    /// Entries of a table may have been removed.
    fn forget(&mut self, table: u32) {
        self.entries.retain(|entry| entry.1 != table);
    }

    /// Whether the bytes of this width at a place may be touched.
    pub fn covers(&self, width: Width, place: Address) -> bool {
        let end = place.offset.checked_add(width.bytes());
        end.is_some_and(|offset| self.reach(Address { offset, ..place }))
    }

    /// After a step.
    pub fn step(&mut self, kernel: &Kernel, step: Step) {
        match step {
            Step::Let(value, expr) => {
                if let Some(set) = self.set.get_mut(value.raw() as usize) {
                    *set = true;
                }
                match expr {
                    Expr::Length => self.lengths.push(value),
                    Expr::Find(table, _) => self.entries.push((value, table, false)),
                    Expr::Entry(table) => self.entries.push((value, table, true)),
                    Expr::Insert(table) => {
                        self.forget(table);
                        self.entries.push((value, table, false));
                    }
                    _ => {}
                }
            }
            Step::Delete(table, _) => self.forget(table),
            Step::Need(place, _) => self.has(place),
            Step::Prepend(bytes, _) => {
                self.bytes += u64::from(bytes);
                self.moved();
            }
            Step::Strip(bytes) => {
                self.bytes = self.bytes.saturating_sub(u64::from(bytes));
                self.moved();
            }
            Step::StripTo(Address { base: None, offset }) => {
                self.step(kernel, Step::Strip(offset));
            }
            Step::StripTo(_) => {
                self.bytes = 0;
                self.moved();
            }
            Step::Truncate(value) | Step::Shorten(value) => {
                self.bytes = self.bytes.min(kernel.constant_of(value).unwrap_or(0));
                self.moved();
            }
            Step::SetWord(word, _) => {
                if let Some(set) = self.words.get_mut(word as usize) {
                    *set = true;
                }
            }
            Step::SetMark(_)
            | Step::Store(..)
            | Step::Put(..)
            | Step::Refresh(..)
            | Step::Draft(..)
            | Step::Clone(_) => {}
        }
    }

    /// What holds here and there.
    fn meet(&mut self, other: &Facts) {
        self.bytes = self.bytes.min(other.bytes);
        self.after.retain(|&(base, offset)| other.reach(Address { base: Some(base), offset }));
        self.lengths.retain(|value| other.lengths.contains(value));
        self.set.iter_mut().zip(&other.set).for_each(|(set, other)| *set &= other);
        self.words.iter_mut().zip(&other.words).for_each(|(set, other)| *set &= other);
        self.entries.retain_mut(|(value, table, is_sure)| {
            let known = other.entries.iter().find(|entry| (entry.0, entry.1) == (*value, *table));
            *is_sure &= known.is_some_and(|entry| entry.2);
            known.is_some()
        });
    }
}

/// The facts where a kernel begins each block, and about packets that it emits.
#[derive(Clone)]
pub(crate) struct FlowFacts {
    /// At the beginning of blocks that can be reached.
    pub blocks: IdVec<BlockId, Option<Facts>>,
    /// Blocks whose branch always goes to the first: the bytes are known to be there.
    pub always: IdVec<BlockId, bool>,
    /// Ends of the places at offsets that branches compare with the length, where it is not known.
    pub compared: Vec<u32>,
    /// By output: the bytes that all packets have which leave there alone.
    pub emitted: Vec<(u32, u64)>,
    /// The bytes that all packets have which leave by all outputs.
    pub emitted_all: Option<u64>,
    /// Whether a packet may be dropped or taken in.
    pub may_end: bool,
    /// Whether it preserves the length of every packet.
    pub keeps_length: bool,
}

impl FlowFacts {
    pub fn emitted_by(&self, output: u32) -> u64 {
        let alone = self.emitted.iter().find(|(of, _)| *of == output).map(|(_, bytes)| *bytes);
        alone.into_iter().chain(self.emitted_all).min().unwrap_or(0)
    }

    /// Whether all packets leave by this output, alone or among others.
    pub fn all_leave_by(&self, output: u32) -> bool {
        !self.may_end && self.emitted.iter().all(|(to, _)| *to == output)
    }
}

/// Follows a kernel whose packets have `bytes` bytes at least. Blocks that lead back are not
/// followed; the verifier finds them.
pub(crate) fn flow(kernel: &Kernel, bytes: u64) -> FlowFacts {
    let bytes = kernel.supply.map_or(bytes, |supply| supply.bytes.into());
    let mut blocks: IdVec<BlockId, Option<Facts>> = kernel.blocks.iter().map(|_| None).collect();
    if let Some(first) = blocks.get_mut(BlockId::new(0)) {
        *first = Some(Facts::new(kernel, bytes));
    }
    let exprs = Exprs::of(kernel);
    let (mut emitted, mut emitted_all) = (Vec::new(), None);
    let (mut may_end, mut keeps_length) = (false, true);
    let mut always: IdVec<BlockId, bool> = kernel.blocks.iter().map(|_| false).collect();
    let mut compared = Vec::new();
    for (id, Block { steps, end }) in kernel.blocks.iter_enumerated() {
        let Some(mut facts) = blocks[id].clone() else { continue };
        for &step in steps {
            may_end |= matches!(step, Step::Need(place, _) if !facts.reach(place));
            may_end |= matches!(step, Step::Prepend(..));
            if let Step::Clone(output) = step {
                // Not every packet that leaves by an output has arrived at it.
                may_end = true;
                emit(&mut emitted, output, facts.bytes);
            }
            keeps_length &= !step.changes_length();
            facts.step(kernel, step);
        }
        match *end {
            End::Emit(output) => emit(&mut emitted, output, facts.bytes),
            End::EmitAll => {
                emitted_all = Some(emitted_all.map_or(facts.bytes, |least| facts.bytes.min(least)));
            }
            End::Drop(_) | End::Take => may_end = true,
            end => {
                if let End::If(value, ..) = end
                    && let Some(place) = facts.compared(&exprs, value)
                {
                    always[id] = facts.reach(place);
                    compared.extend((place.base.is_none() && !always[id]).then_some(place.offset));
                }
                let taken = if always[id] { 1 } else { 2 };
                for to in end.targets().take(taken).filter(|&to| to > id) {
                    let mut facts = facts.clone();
                    if let End::If(value, yes, no) = end
                        && to == yes
                        && yes != no
                    {
                        facts.learn(&exprs, value);
                    }
                    match blocks.get_mut(to) {
                        Some(Some(known)) => known.meet(&facts),
                        Some(unknown) => *unknown = Some(facts),
                        None => {}
                    }
                }
            }
        }
    }
    FlowFacts { blocks, always, compared, emitted, emitted_all, may_end, keeps_length }
}

/// What each value of a kernel is, by number. A value that is set twice, which the verifier
/// reports, is nothing.
struct Exprs(Vec<Option<Expr>>);

impl Exprs {
    fn of(kernel: &Kernel) -> Exprs {
        let (mut exprs, mut seen) =
            (vec![None; kernel.values as usize], vec![false; kernel.values as usize]);
        for step in kernel.blocks.iter().flat_map(|block| &block.steps) {
            let Step::Let(value, expr) = *step else { continue };
            let at = value.raw() as usize;
            let Some(seen) = seen.get_mut(at) else { continue };
            exprs[at] = (!std::mem::replace(seen, true)).then_some(expr);
        }
        Exprs(exprs)
    }

    fn get(&self, value: Value) -> Option<Expr> {
        self.0.get(value.raw() as usize).copied().flatten()
    }

    /// The place that a value is the offset of.
    fn place(&self, value: Value) -> Option<Address> {
        let constant = |value| match self.get(value) {
            Some(Expr::Const(number)) => u32::try_from(number).ok(),
            _ => None,
        };
        if let Some(offset) = constant(value) {
            return Some(Address { base: None, offset });
        }
        let Some(Expr::Binary(Operator::AddSat, base, offset)) = self.get(value) else {
            return None;
        };
        Some(Address { base: Some(base), offset: constant(offset)? })
    }
}

/// Packets of at least `bytes` bytes leave by an output.
fn emit(emitted: &mut Vec<(u32, u64)>, output: u32, bytes: u64) {
    match emitted.iter_mut().find(|(of, _)| *of == output) {
        Some((_, least)) => *least = bytes.min(*least),
        None => emitted.push((output, bytes)),
    }
}

impl Kernel {
    /// The number of a value that is a constant.
    pub(crate) fn constant_of(&self, value: Value) -> Option<u64> {
        let steps = self.blocks.iter().flat_map(|block| &block.steps);
        steps.into_iter().find_map(|step| match step {
            Step::Let(of, Expr::Const(number)) if *of == value => Some(*number),
            _ => None,
        })
    }
}
