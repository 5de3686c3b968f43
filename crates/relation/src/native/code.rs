//! Native code of strands, and the safe way to run it.

use std::fmt::{self, Debug, Formatter};
use std::mem::MaybeUninit;

use smallvec::SmallVec;
use tidemill_jit::build::{CallConv, signature, types};
use tidemill_jit::{Code, Error, Module, Options};

use super::frame::Frame;
use super::helpers::Helpers;
use super::layout;
use super::slots::Slots;
use super::strand::fits;
use super::writer::Writer;
use crate::eval::Scope;
use crate::expr::{Expr, evaluate};
use crate::flat::Seq;
use crate::plan::Strand;
use crate::strand::{self, Reading, Run, Sink, Space};
use crate::table::RowId;
use crate::types::TypeSet;
use crate::value::Value;

/// The code of one strand: it works on a frame.
type Entry = unsafe extern "C" fn(*mut Frame<'_, '_>);

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
    /// What is put into which of them first.
    given: Vec<(usize, *const Expr)>,
    /// Where the columns of its head lie.
    head: usize,
    listing: Option<String>,
}

// SAFETY: the expressions that are pointed to belong to `strands` and are never written.
unsafe impl Send for Native {}
// SAFETY: as above; the code keeps nothing from run to run.
unsafe impl Sync for Native {}

impl Debug for Native {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").field("strands", &self.strands.len()).finish_non_exhaustive()
    }
}

impl Native {
    /// The code of those strands that are `wanted`, with names for profiles and listings: whoever
    /// wants one says which types its registers have held. Strands that are better interpreted have
    /// none.
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
            let shape = signature(CallConv::SystemV, &[types::I64], &[]);
            let id = module.declare(name(number), shape);
            let mut slots = Slots::new(strand);
            module.define(id, |body| {
                Writer::new(body, strand, helpers, &mut slots, &types).strand();
            })?;
            written.push((!slots.are_too_many()).then_some((id, slots)));
        }
        // SAFETY: the code reads and writes the frame it is given, whose slots are as many as it
        // was written for, rows that a look-up has found, and the columns of the trigger, whose
        // number its caller checks; it calls the functions of `frame` as they ask to be called.
        let code = unsafe { module.finish() }?;
        let functions = written.into_iter().map(|written| {
            let (id, Slots { head, count, walks, given, .. }) = written?;
            // SAFETY: the function was declared with this signature, and `code` stays beside it.
            let entry = unsafe { std::mem::transmute::<*const u8, Entry>(code.address(id)) };
            let listing = listed.then(|| code.listing(id)).flatten();
            Some(Function { entry, slots: count, walks, given, head, listing })
        });
        let functions = functions.collect();
        Ok(Native { strands, functions, code })
    }

    /// Whether a strand has code.
    #[inline]
    pub fn has(&self, strand: usize) -> bool {
        self.functions.get(strand).is_some_and(Option::is_some)
    }

    /// The machine code of a strand as text, if that was asked for and it has some.
    pub fn listing(&self, strand: usize) -> Option<&str> {
        self.functions.get(strand)?.as_ref()?.listing.as_deref()
    }

    /// Bytes and compile time of each strand, as a table.
    pub fn report(&self) -> String {
        self.code.report()
    }
}

/// Runs a strand of `native` as [`strand::run`] does over live rows, and derives the same.
pub fn run<'a>(
    native: &'a Native,
    number: usize,
    trigger: Seq<'a>,
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    let strand = &native.strands[number];
    let is_usual = trigger.len() == strand.trigger.columns.len()
        && !reading.traced
        && !reading.ignore_absent
        && reading.profile.is_none();
    match &native.functions[number] {
        Some(function) if is_usual => enter(function, strand, trigger, reading, scope, sink),
        _ => strand::run(strand, trigger, reading, scope, sink),
    }
}

/// Values of a frame that need no memory of their own.
const SLOTS: usize = 32;

fn enter<'a>(
    function: &'a Function,
    strand: &'a Strand,
    trigger: Seq<'a>,
    reading: Reading<'a>,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    let mut slots: SmallVec<[MaybeUninit<Value<'a>>; SLOTS]> = SmallVec::new();
    slots.reserve_exact(function.slots);
    // SAFETY: there is room for so many, which need not be initialised.
    unsafe { slots.set_len(function.slots) };
    for register in &mut slots[..strand.regs as usize] {
        // SAFETY: the first byte is the tag, and all there is of null.
        unsafe { register.as_mut_ptr().cast::<u8>().write(layout::NULL) };
    }
    for &(slot, expr) in &function.given {
        // SAFETY: the expression belongs to the strands beside the function, borrowed for `'a`.
        let expr = unsafe { &*expr };
        // Constants and parameters always have a value.
        slots[slot].write(evaluate(expr, &[], scope).unwrap_or(Value::Null));
    }
    let bytes = trigger.parts().bytes.as_ptr_range();
    let mut space = Space::empty();
    let mut frame = Frame {
        slots: slots.as_mut_ptr().cast(),
        trigger: bytes.start,
        words: std::ptr::null(),
        shapes: std::ptr::null(),
        row: RowId(0),
        over: 0,
        trigger_end: bytes.end,
        rows: SmallVec::from_elem(None, function.walks),
        head: function.head,
        run: Run::new(strand, &mut space, reading, scope, sink),
    };
    // SAFETY: the frame is as the code asks: its slots are as many, registers and what is given are
    // initialised, the trigger has as many columns as the strand binds.
    unsafe { (function.entry)(&raw mut frame) };
    frame.run.end();
}
