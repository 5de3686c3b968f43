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
use crate::database::Database;
use crate::eval::Scope;
use crate::expr::{Expr, evaluate};
use crate::flat::Seq;
use crate::plan::Strand;
use crate::strand::{self, Columns, Reading, Run, Sink};
use crate::table::{RowId, Rows};
use crate::types::TypeSet;
use crate::value::Value;

/// The code of one strand, called with a frame.
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
    /// The initial values of slots.
    given: Vec<(usize, *const Expr)>,
    /// The offset of the columns of its head.
    head: usize,
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
pub fn run<'a>(
    native: &'a Native,
    number: usize,
    trigger: Seq<'a>,
    database: &'a Database,
    scope: Scope<'a>,
    sink: &mut dyn Sink,
) {
    let strand = &native.strands[number];
    let reading = Reading::present(database);
    match &native.functions[number] {
        Some(function) if trigger.len() == strand.trigger.columns.len() => {
            Call { function, strand, trigger, reading: &reading, scope, sink }.enter();
        }
        _ => strand::run(strand, trigger, reading, scope, sink),
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
    fn enter(self) {
        let mut few = [const { MaybeUninit::<Value<'a>>::uninit() }; SLOTS];
        match few.get_mut(..self.function.slots) {
            Some(slots) if self.function.walks == 0 => self.enter_with(slots, &mut []),
            _ => self.enter_large(),
        }
    }

    /// With more slots than usual, or look-ups that may find several rows.
    #[inline(never)]
    fn enter_large(self) {
        let mut slots: SmallVec<[MaybeUninit<Value<'a>>; SLOTS]> = SmallVec::new();
        slots.resize_with(self.function.slots, MaybeUninit::uninit);
        let mut walks: SmallVec<[Option<Rows<'a>>; 2]> = SmallVec::new();
        walks.resize_with(self.function.walks, || None);
        self.enter_with(&mut slots, &mut walks);
    }

    /// Runs with this memory for slots and walks.
    #[inline(always)]
    fn enter_with(self, slots: &mut [MaybeUninit<Value<'a>>], walks: &mut [Option<Rows<'a>>]) {
        let Call { function, strand, trigger, reading, scope, sink } = self;
        assert!(slots.len() >= function.slots && walks.len() >= function.walks);
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
        let mut columns = Columns::new();
        let bytes = trigger.parts().bytes.as_ptr_range();
        let mut frame = Frame {
            slots: slots.as_mut_ptr().cast(),
            trigger: bytes.start,
            words: std::ptr::null(),
            shapes: std::ptr::null(),
            row: RowId(0),
            over: 0,
            trigger_end: bytes.end,
            walks,
            head: function.head,
            run: Run::new(strand, (&mut [], &mut columns), reading, scope, sink),
        };
        // SAFETY: the frame has the slots that the code uses, registers and given values are
        // initialised, and the trigger has as many columns as the strand binds.
        unsafe { (function.entry)(&raw mut frame) };
        frame.run.end();
    }
}
