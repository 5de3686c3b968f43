//! Native code of strands, and the safe way to run it.

use std::fmt::{self, Debug, Formatter};
use std::mem::MaybeUninit;

use smallvec::SmallVec;
use tidemill_jit::build::{CallConv, signature, types};
use tidemill_jit::{Code, Error, Module, Options};

use super::frame::{Base, COMPUTED_HEAD, COMPUTED_NOTHING, Frame};
use super::helpers::Helpers;
use super::layout;
use super::slots::Slots;
use super::strand::{computes, fits};
use super::writer::Writer;
use crate::database::Database;
use crate::eval::Scope;
use crate::expr::{Expr, evaluate};
use crate::flat::Seq;
use crate::plan::Strand;
use crate::strand::{self, Columns, Reading, Run, Sink};
use crate::table::{RowId, Rows};
use crate::types::TypeSet;
use crate::value::Value;

/// Code that is called with a frame.
type Joins = unsafe extern "C" fn(*mut Frame<'_, '_>);

/// Code that is called with the base of a frame, and returns what it has computed.
type Computes = unsafe extern "C" fn(*mut Base<'_>) -> u32;

/// The code of one strand.
#[derive(Clone, Copy)]
enum Entry {
    Joins(Joins),
    /// It only computes.
    Computes(Computes),
}

/// Strands as machine code. It keeps a copy of them, to which the code refers.
pub struct Native {
    strands: Box<[Strand]>,
    functions: Vec<Option<Function>>,
    /// Owns what the entries point to.
    code: Code,
}

/// One strand.
struct Function {
    entry: Entry,
    /// Values in its frame.
    slots: usize,
    /// Look-ups in it that may find several rows.
    walks: usize,
    /// The initial values of slots.
    given: Vec<(usize, *const Expr)>,
    /// The offset of the columns of its head, and their number.
    head: usize,
    width: usize,
    /// The number of columns of its trigger.
    binds: usize,
    /// The code reads registers that it has not bound.
    reads_unbound: bool,
    listing: Option<String>,
}

// SAFETY: the expressions that are pointed to belong to `strands` and are never written.
unsafe impl Send for Native {}
// SAFETY: the expressions are never written, and the code keeps nothing from run to run.
unsafe impl Sync for Native {}

impl Debug for Native {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").field("strands", &self.strands.len()).finish_non_exhaustive()
    }
}

impl Native {
    /// The code of those strands that are `wanted`, with names for profiles and listings: a wanted
    /// strand comes with the types that its registers have held. Strands that are better
    /// interpreted have none.
    ///
    /// # Errors
    /// A machine for which no code can be made, or no memory for it.
    pub fn compile(
        strands: &[Strand],
        wanted: impl Fn(usize) -> Option<Vec<TypeSet>>,
        name: impl Fn(usize) -> String,
        options: Options,
    ) -> Result<Native, Error> {
        let strands: Box<[Strand]> = strands.into();
        let listed = options.listing;
        let mut module = Module::new(options)?;
        let helpers = Helpers::import(&mut module);
        let mut written = Vec::with_capacity(strands.len());
        for (number, strand) in strands.iter().enumerate() {
            let usable = fits(strand) && layout::is_as_expected();
            let Some(types) = wanted(number).filter(|_| usable) else {
                written.push(None);
                continue;
            };
            let computes = computes(strand);
            let result = computes.then_some(types::I32);
            let shape = signature(CallConv::SystemV, &[types::I64], result.as_slice());
            let id = module.declare(name(number), shape);
            let mut slots = Slots::new(strand);
            module.define(id, |body| {
                Writer::new(body, strand, helpers, &mut slots, &types, computes).strand();
            })?;
            written.push((!slots.are_too_many()).then_some((id, slots, computes)));
        }
        // SAFETY: the code reads and writes the frame it is given, whose slots are as many as it
        // was written for, rows that a look-up has found, and the columns of the trigger, whose
        // number its caller checks; it calls the functions of `frame` as they ask to be called.
        let code = unsafe { module.finish() }?;
        let functions = written.into_iter().zip(&strands).map(|(written, strand)| {
            let (id, Slots { head, count, walks, given, reads_unbound, .. }, computes) = written?;
            // SAFETY: the function was declared with this signature, and `code` stays beside it.
            let entry = unsafe { entry(code.address(id), computes) };
            let listing = listed.then(|| code.listing(id)).flatten();
            Some(Function {
                entry,
                slots: count,
                walks,
                given,
                head,
                width: strand.output.columns.len(),
                binds: strand.trigger.columns.len(),
                reads_unbound,
                listing,
            })
        });
        let functions = functions.collect();
        Ok(Native { strands, functions, code })
    }

    /// Whether a strand has code.
    #[inline]
    pub fn has(&self, strand: usize) -> bool {
        self.functions.get(strand).is_some_and(Option::is_some)
    }

    /// The function of a strand, if it has one for a trigger like this.
    #[inline(always)]
    fn function<'a>(&'a self, strand: usize, trigger: Seq<'_>) -> Option<&'a Function> {
        let function = self.functions[strand].as_ref()?;
        (trigger.len() == function.binds).then_some(function)
    }

    /// The machine code of a strand as text, if listings were requested and it has code.
    pub fn listing(&self, strand: usize) -> Option<&str> {
        self.functions.get(strand)?.as_ref()?.listing.as_deref()
    }

    /// Bytes and compile time of each strand, as a table.
    pub fn report(&self) -> String {
        self.code.report()
    }
}

/// Runs a strand of `native` as [`strand::run`] does over the [present](Reading::present) state,
/// and derives the same.
///
/// It is inlined, so that arguments are written into the frame directly: copying a structure right
/// after it was written in parts stalls until the stores have reached the cache (failed store
/// forwarding).
#[inline]
pub fn run<'a, S: Sink>(
    native: &'a Native,
    number: usize,
    trigger: Seq<'a>,
    database: &'a Database,
    scope: Scope<'a>,
    sink: &mut S,
) {
    let strand = &native.strands[number];
    let reading = Reading::present(database);
    match native.function(number, trigger) {
        Some(function @ Function { entry: Entry::Joins(entry), .. }) => {
            Call { function, strand, trigger, reading: &reading, scope, sink }.enter(*entry);
        }
        Some(function @ Function { entry: Entry::Computes(entry), .. }) => {
            let mut values = FrameValues::new();
            match compute_with(function, *entry, trigger, scope, &mut values) {
                Computed::Head(columns) => sink.derive(&strand.output, columns, 1),
                Computed::Nothing => {}
                Computed::NoResult => return strand::run(strand, trigger, reading, scope, sink),
            }
            sink.looked(0);
        }
        None => strand::run(strand, trigger, reading, scope, sink),
    }
}

/// What a strand that only computes has derived.
#[derive(Clone, Copy, Debug)]
pub enum Computed<'a, 'v> {
    /// A tuple with these columns.
    Head(&'v [Value<'a>]),
    /// No tuple.
    Nothing,
    /// The code has no result: [`run`] has.
    NoResult,
}

/// Memory for the values of a frame, of one strand after the other.
#[derive(Debug)]
pub struct FrameValues<'a> {
    few: [MaybeUninit<Value<'a>>; SLOTS],
    /// Of a strand with more of them than usual.
    many: Option<Box<[MaybeUninit<Value<'a>>]>>,
}

impl<'a> FrameValues<'a> {
    /// Without values.
    #[inline(always)]
    pub fn new() -> FrameValues<'a> {
        FrameValues { few: [const { MaybeUninit::uninit() }; SLOTS], many: None }
    }

    /// At least `count` slots.
    #[inline(always)]
    fn slots(&mut self, count: usize) -> &mut [MaybeUninit<Value<'a>>] {
        if count <= SLOTS { &mut self.few } else { self.many_slots(count) }
    }

    #[cold]
    #[inline(never)]
    fn many_slots(&mut self, count: usize) -> &mut [MaybeUninit<Value<'a>>] {
        self.many.insert(Box::new_uninit_slice(count))
    }
}

impl Default for FrameValues<'_> {
    fn default() -> Self {
        FrameValues::new()
    }
}

/// Runs a strand of `native` that only computes, if its code has a result.
///
/// It is inlined, and returns what [it](run) gives to a sink, so that its caller needs no closure:
/// what that would refer to costs more than most strands.
#[inline(always)]
pub fn compute<'a, 'v>(
    native: &'a Native,
    number: usize,
    trigger: Seq<'a>,
    scope: Scope<'a>,
    values: &'v mut FrameValues<'a>,
) -> Computed<'a, 'v> {
    match native.function(number, trigger) {
        Some(function @ Function { entry: Entry::Computes(entry), .. }) => {
            compute_with(function, *entry, trigger, scope, values)
        }
        _ => Computed::NoResult,
    }
}

#[inline(always)]
fn compute_with<'a, 'v>(
    function: &'a Function,
    entry: Computes,
    trigger: Seq<'a>,
    scope: Scope<'a>,
    values: &'v mut FrameValues<'a>,
) -> Computed<'a, 'v> {
    let slots = values.slots(function.slots);
    assert!(function.slots <= slots.len());
    assert!(function.head + function.width <= slots.len());
    if function.reads_unbound {
        // Registers are the first slots, and the columns of the head come later.
        slots[..function.head].iter_mut().for_each(put_null);
    }
    put_given(function, slots, scope);
    let bytes = trigger.parts().bytes.as_ptr_range();
    let first = slots.as_mut_ptr().cast();
    let mut base = Base { slots: first, trigger: bytes.start, trigger_end: bytes.end, scope };
    // SAFETY: the frame has the slots that the code uses, given values are initialised, and
    // registers if it reads some before it has bound them; the trigger has as many columns as the
    // strand binds.
    match unsafe { entry(&raw mut base) } {
        COMPUTED_HEAD => {
            // SAFETY: the code has written the columns of the head, which are values, to these
            // slots, which are borrowed for as long as the columns.
            let head =
                unsafe { std::slice::from_raw_parts(first.add(function.head), function.width) };
            Computed::Head(head)
        }
        COMPUTED_NOTHING => Computed::Nothing,
        _ => Computed::NoResult,
    }
}

fn put_null(slot: &mut MaybeUninit<Value<'_>>) {
    // SAFETY: the first byte is the tag, and all there is of null.
    unsafe { slot.as_mut_ptr().cast::<u8>().write(layout::NULL) };
}

/// Puts constants and parameters into their slots.
#[inline(always)]
fn put_given<'a>(function: &'a Function, slots: &mut [MaybeUninit<Value<'a>>], scope: Scope<'a>) {
    for &(slot, expr) in &function.given {
        // SAFETY: the expression belongs to the strands beside the function, borrowed for `'a`.
        let expr: &'a Expr = unsafe { &*expr };
        // Constants and parameters always have a value.
        slots[slot].write(evaluate(expr, &[], scope).unwrap_or(Value::Null));
    }
}

/// # Safety
/// At the address is a function of the signature that code which `computes` has, or that of other
/// code.
unsafe fn entry(address: *const u8, computes: bool) -> Entry {
    if computes {
        // SAFETY: the caller's promise.
        Entry::Computes(unsafe { std::mem::transmute::<*const u8, Computes>(address) })
    } else {
        // SAFETY: the caller's promise.
        Entry::Joins(unsafe { std::mem::transmute::<*const u8, Joins>(address) })
    }
}

/// Values of a frame that need no memory of their own.
const SLOTS: usize = 64;

/// The trigger and the environment of a run.
struct Call<'a, 'r> {
    function: &'a Function,
    strand: &'a Strand,
    trigger: Seq<'a>,
    reading: &'r Reading<'a>,
    scope: Scope<'a>,
    sink: &'r mut dyn Sink,
}

impl<'a, 'r> Call<'a, 'r> {
    #[inline]
    fn enter(self, entry: Joins) {
        let mut few = [const { MaybeUninit::<Value<'a>>::uninit() }; SLOTS];
        match few.get_mut(..self.function.slots) {
            Some(slots) if self.function.walks == 0 => self.enter_with(entry, slots, &mut []),
            _ => self.enter_large(entry),
        }
    }

    /// With more slots than usual, or look-ups that may find several rows.
    #[inline(never)]
    fn enter_large(self, entry: Joins) {
        let mut slots: SmallVec<[MaybeUninit<Value<'a>>; SLOTS]> = SmallVec::new();
        slots.resize_with(self.function.slots, MaybeUninit::uninit);
        let mut walks: SmallVec<[Option<Rows<'a>>; 2]> = SmallVec::new();
        walks.resize_with(self.function.walks, || None);
        self.enter_with(entry, &mut slots, &mut walks);
    }

    /// Runs with this memory for slots and walks.
    #[inline(always)]
    fn enter_with(
        self,
        entry: Joins,
        slots: &mut [MaybeUninit<Value<'a>>],
        walks: &mut [Option<Rows<'a>>],
    ) {
        let Call { function, strand, trigger, reading, scope, sink } = self;
        assert!(slots.len() >= function.slots && walks.len() >= function.walks);
        slots[..strand.regs as usize].iter_mut().for_each(put_null);
        put_given(function, slots, scope);
        let mut columns = Columns::new();
        let bytes = trigger.parts().bytes.as_ptr_range();
        let mut frame = Frame {
            base: Base {
                slots: slots.as_mut_ptr().cast(),
                trigger: bytes.start,
                trigger_end: bytes.end,
                scope,
            },
            words: std::ptr::null(),
            shapes: std::ptr::null(),
            row: RowId(0),
            over: 0,
            walks,
            head: function.head,
            run: Run::new(strand, (&mut [], &mut columns), reading, scope, sink),
        };
        // SAFETY: the frame has the slots that the code uses, registers and given values are
        // initialised, and the trigger has as many columns as the strand binds.
        unsafe { entry(&raw mut frame) };
        frame.run.end();
    }
}
