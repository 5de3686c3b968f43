//! The frame of generated code, and the functions that it calls.
//!
//! All that the code does not do itself is done by the interpreter, in whose [`Run`] the frame
//! lies: a look-up, an expression, one step, or all that is left for a row. So both derive the
//! same, in the same order, and count and report the same.

use crate::eval::{Scope, is_true};
use crate::expr::{Expr, evaluate};
use crate::flat::read_value;
use crate::function::FunctionId;
use crate::operator::{Binary, End, Unary, in_ring};
use crate::plan::{Lookup, Step};
use crate::strand::Run;
use crate::table::{RowId, Rows, Shape, Table, Visible};
use crate::value::Value;

/// The part of a frame that all code has, and the whole frame of a strand that only computes. The
/// code reads the first fields, at their [offsets](super::layout).
#[repr(C)]
pub(super) struct Base<'a> {
    /// Values: registers, then constants, temporaries, a key, the columns of the head.
    pub(super) slots: *mut Value<'a>,
    /// The encoded columns of the trigger.
    pub(super) trigger: *const u8,
    /// The end of the trigger.
    pub(super) trigger_end: *const u8,
    /// What expressions read.
    pub(super) scope: Scope<'a>,
}

/// The result of a strand that only computes: it derives nothing.
pub(super) const COMPUTED_NOTHING: u32 = 0;
/// It derives a tuple, whose columns are those of the head.
pub(super) const COMPUTED_HEAD: u32 = 1;
/// The interpreter has to run it.
pub(super) const COMPUTED_NO_RESULT: u32 = 2;

/// The frame of a running strand that joins. The code reads and writes the first fields, at their
/// [offsets](super::layout).
#[repr(C)]
pub(super) struct Frame<'a, 'r> {
    pub(super) base: Base<'a>,
    /// The words of the row that a look-up has found last.
    pub(super) words: *const u32,
    /// The layout of integers in its table.
    pub(super) shapes: *const Shape,
    /// That row.
    pub(super) row: RowId,
    /// 1 once the run must end.
    pub(super) over: u32,
    /// The rows of each running look-up that may find several.
    pub(super) walks: &'r mut [Option<Rows<'a>>],
    /// The interpreter. Its registers are the first slots: see [`Frame::run`].
    pub(super) run: Run<'a, 'r>,
    /// The offset of the columns of the head.
    pub(super) head: usize,
}

/// The result of a look-up without a row.
pub(super) const NO_ROW: u32 = u32::MAX;

impl<'a, 'r> Frame<'a, 'r> {
    /// The interpreter, with the registers as the code has left them.
    fn run(&mut self) -> &mut Run<'a, 'r> {
        let count = self.run.strand.regs as usize;
        // SAFETY: the first slots are the registers, which were initialised and hold values ever
        // since; between two calls the code alone uses them.
        self.run.regs = unsafe { std::slice::from_raw_parts_mut(self.base.slots, count) };
        &mut self.run
    }

    fn lookup(&self, step: u32) -> &'a Lookup {
        match &self.run.strand.steps[step as usize] {
            Step::Join(lookup) | Step::Exists(lookup) | Step::Absent(lookup) => lookup,
            _ => unreachable!("the code looks up in steps that do"),
        }
    }

    /// The look-up of a step, its table, and its key.
    ///
    /// # Safety
    /// At `key` lie the values of the step's key, all of them.
    unsafe fn look_up<'x>(
        &self,
        step: u32,
        key: *const Value<'a>,
    ) -> (&'a Lookup, &'a Table, &'x [Value<'a>]) {
        let lookup = self.lookup(step);
        let table = self.run.reading.database.table(lookup.relation);
        // The code reads columns of rows where the table says they lie, so it must have them all.
        assert!(lookup.columns.len() <= table.shapes().len(), "a table of another plan");
        // SAFETY: the caller's promise.
        (lookup, table, unsafe { std::slice::from_raw_parts(key, lookup.key.len()) })
    }

    /// The columns of the head, as many as there are values in it.
    fn head(&self, count: usize) -> &'r [Value<'a>] {
        // SAFETY: the code writes them before it calls the function that reads them, and writes no
        // others until that returns.
        unsafe { std::slice::from_raw_parts(self.base.slots.add(self.head), count) }
    }

    /// Advances to the next row of a look-up, if there is one and the run continues.
    fn advance(&mut self, step: u32, number: u32) -> u32 {
        let Some(rows) = &mut self.walks[number as usize] else { return NO_ROW };
        let Some(row) = rows.next() else { return NO_ROW };
        let table = self.run.reading.database.table(self.lookup(step).relation);
        self.found(table, row)
    }

    /// A look-up has found a row.
    #[inline]
    fn found(&mut self, table: &'a Table, row: RowId) -> u32 {
        if self.run.is_over() {
            self.over = 1;
            return NO_ROW;
        }
        self.words = table.row_words(row).as_ptr();
        self.shapes = table.shapes().as_ptr();
        self.row = row;
        row.0
    }
}

/// The frame that generated code passes to a helper; nothing else uses it meanwhile.
///
/// # Safety
/// `frame` is the one that the running code was entered with.
unsafe fn of<'x, 'a, 'r>(frame: *mut Frame<'a, 'r>) -> &'x mut Frame<'a, 'r> {
    // SAFETY: the caller's promise; the frame outlives the code that runs on it.
    unsafe { &mut *frame }
}

/// # Safety
/// `value` is a slot of the running frame that holds a value.
unsafe fn at<'x, 'a>(value: *const Value<'a>) -> &'x Value<'a> {
    // SAFETY: the caller's promise.
    unsafe { &*value }
}

/// Interprets the whole strand for the trigger.
pub(super) extern "C" fn interpret_all(frame: *mut Frame<'_, '_>) {
    // SAFETY: the code passes the frame it was entered with.
    let frame = unsafe { of(frame) };
    // SAFETY: from the start to the end of the trigger there are its columns, which the caller of
    // the code has borrowed.
    let mut bytes = unsafe {
        let length = frame.base.trigger_end.offset_from_unsigned(frame.base.trigger);
        std::slice::from_raw_parts(frame.base.trigger, length)
    };
    frame.run().start(|to| {
        let is_there = !bytes.is_empty();
        if is_there {
            *to = read_value(&mut bytes);
        }
        is_there
    });
}

/// Interprets what is left from a step on.
pub(super) extern "C" fn interpret_rest(frame: *mut Frame<'_, '_>, step: u32) {
    // SAFETY: the code passes the frame it was entered with.
    unsafe { of(frame) }.run().step(step as usize);
}

/// Interprets what is left for the row that the join of a step has found.
pub(super) extern "C" fn interpret_row(frame: *mut Frame<'_, '_>, step: u32) {
    // SAFETY: the code passes the frame it was entered with.
    let frame = unsafe { of(frame) };
    let (lookup, row) = (frame.lookup(step), frame.row);
    frame.run().join_row(lookup, row, step as usize + 1);
}

/// Interprets one step that binds or tests; 1 if the run goes on.
pub(super) extern "C" fn interpret_step(frame: *mut Frame<'_, '_>, step: u32) -> u32 {
    // SAFETY: the code passes the frame it was entered with.
    let run = unsafe { of(frame) }.run();
    match run.pass(&run.strand.steps[step as usize]) {
        Ok(passes) => u32::from(passes),
        Err(error) => {
            run.fail(error);
            0
        }
    }
}

/// Evaluates an expression; 0 if it has no value.
pub(super) extern "C" fn interpret_expression<'a>(
    frame: *mut Frame<'a, '_>,
    expr: *const Expr,
    out: *mut Value<'a>,
) -> u32 {
    // SAFETY: the code passes the frame it was entered with, and an expression of its strand, which
    // outlives it.
    let (run, expr) = unsafe { (of(frame).run(), &*expr) };
    put(evaluate(expr, run.regs, run.scope), out)
}

fn put<E>(value: Result<Value<'_>, E>, out: *mut Value<'_>) -> u32 {
    let Ok(value) = value else { return 0 };
    // SAFETY: the code gives a slot of its frame, whose values live as long as what they borrow.
    unsafe { out.cast::<Value<'_>>().write(value) };
    1
}

/// Calls a function of the language with values that lie one after the other; 0 if it gives none.
pub(super) extern "C" fn function<'a>(
    base: *const Base<'a>,
    number: u32,
    first: *const Value<'a>,
    count: u32,
    out: *mut Value<'a>,
) -> u32 {
    // SAFETY: the code passes its frame, and the first of `count` slots of it that hold values.
    let (scope, arguments) =
        unsafe { (scope_of(base), std::slice::from_raw_parts(first, count as usize)) };
    put(FunctionId::from_number(number).call(arguments, scope), out)
}

/// Applies an operator to two values; 0 if it cannot.
pub(super) extern "C" fn binary<'a>(
    base: *const Base<'a>,
    operator: u32,
    left: *const Value<'a>,
    right: *const Value<'a>,
    out: *mut Value<'a>,
) -> u32 {
    let operator = Binary::ALL[operator as usize];
    // SAFETY: the code passes its frame and slots of it that hold values.
    let (scope, left, right) = unsafe { (scope_of(base), at(left), at(right)) };
    put(operator.apply_to(left, right, scope), out)
}

/// Applies an operator to a value; 0 if it cannot.
pub(super) extern "C" fn unary<'a>(
    base: *const Base<'a>,
    operator: u32,
    value: *const Value<'a>,
    out: *mut Value<'a>,
) -> u32 {
    let operator = Unary::ALL[operator as usize];
    // SAFETY: the code passes its frame and a slot of it that holds a value.
    let (scope, value) = unsafe { (scope_of(base), at(value)) };
    put(operator.apply(*value, scope), out)
}

/// # Safety
/// `base` begins the frame that the running code was entered with.
unsafe fn scope_of<'a>(base: *const Base<'a>) -> Scope<'a> {
    // SAFETY: the caller's promise.
    unsafe { (*base).scope }
}

/// Whether a value lies in a ring interval, whose ends belong to it as the bits of `closed` say:
/// the lower 1, the upper 2.
pub(super) extern "C" fn ring<'a>(
    value: *const Value<'a>,
    from: *const Value<'a>,
    to: *const Value<'a>,
    closed: u32,
) -> u32 {
    let end = |bit| if closed & bit != 0 { End::Closed } else { End::Open };
    // SAFETY: the code passes slots of its frame that hold values.
    let (value, from, to) = unsafe { (at(value), at(from), at(to)) };
    u32::from(in_ring(*value, *from, *to, end(1), end(2)))
}

/// The truth of a condition; 2 if it has none.
pub(super) extern "C" fn truth(value: *const Value<'_>) -> u32 {
    // SAFETY: the code passes a slot of its frame that holds a value.
    is_true(*unsafe { at(value) }, "a condition").map_or(2, u32::from)
}

/// Whether two values are equal.
pub(super) extern "C" fn equal(left: *const Value<'_>, right: *const Value<'_>) -> u32 {
    // SAFETY: the code passes slots of its frame that hold values.
    let (left, right) = unsafe { (at(left), at(right)) };
    u32::from(left.equal(right))
}

/// Reads a column of the trigger; the address of what follows.
pub(super) extern "C" fn read<'a>(
    base: *const Base<'a>,
    from: *const u8,
    out: *mut Value<'a>,
) -> *const u8 {
    // SAFETY: the code passes its frame, and an address between the start and the end of its
    // trigger, which is borrowed for `'a`.
    let mut bytes: &'a [u8] = unsafe {
        let length = (*base).trigger_end.offset_from_unsigned(from);
        std::slice::from_raw_parts(from, length)
    };
    let value = read_value(&mut bytes);
    // SAFETY: the code gives a slot of its frame.
    unsafe { out.write(value) };
    bytes.as_ptr()
}

/// Looks up the one row of a step that has the primary key in these slots, or [`NO_ROW`].
pub(super) extern "C" fn only<'a>(
    frame: *mut Frame<'a, '_>,
    step: u32,
    key: *const Value<'a>,
) -> u32 {
    // SAFETY: the code passes the frame it was entered with.
    let frame = unsafe { of(frame) };
    // SAFETY: the code has written the key of the step there.
    let (_, table, key) = unsafe { frame.look_up(step, key) };
    match table.find_key(key) {
        Some(row) => frame.found(table, row),
        None => NO_ROW,
    }
}

/// Looks up the rows of a step by the key in these slots; the first, or [`NO_ROW`].
pub(super) extern "C" fn first<'a>(
    frame: *mut Frame<'a, '_>,
    step: u32,
    number: u32,
    key: *const Value<'a>,
) -> u32 {
    // SAFETY: the code passes the frame it was entered with.
    let frame = unsafe { of(frame) };
    // SAFETY: the code has written the key of the step there.
    let (lookup, table, key) = unsafe { frame.look_up(step, key) };
    let limits = frame.run().limits(lookup);
    let rows = table.rows_within(lookup.access, key, &limits, Visible::Live);
    frame.walks[number as usize] = Some(rows);
    frame.advance(step, number)
}

/// The next row of such a look-up, or [`NO_ROW`].
pub(super) extern "C" fn next(frame: *mut Frame<'_, '_>, step: u32, number: u32) -> u32 {
    // SAFETY: the code passes the frame it was entered with.
    unsafe { of(frame) }.advance(step, number)
}

/// Reads a column of the row that a look-up has found.
pub(super) extern "C" fn load<'a>(
    frame: *mut Frame<'a, '_>,
    step: u32,
    column: u32,
    out: *mut Value<'a>,
) {
    // SAFETY: the code passes the frame it was entered with.
    let frame = unsafe { of(frame) };
    let table = frame.run.reading.database.table(frame.lookup(step).relation);
    let value = table.value(frame.row, column);
    // SAFETY: the code gives a slot of its frame.
    unsafe { out.write(value) };
}

/// Derives the head.
pub(super) extern "C" fn derive(frame: *mut Frame<'_, '_>) {
    // SAFETY: the code passes the frame it was entered with.
    let frame = unsafe { of(frame) };
    let output = &frame.run.strand.output;
    let columns = frame.head(output.columns.len());
    frame.run.sink.derive(output, columns, 1);
}

/// Evaluates the group columns of an aggregate; 0 if it has none.
pub(super) extern "C" fn group(frame: *mut Frame<'_, '_>) -> u32 {
    // SAFETY: the code passes the frame it was entered with.
    let run = unsafe { of(frame) }.run();
    match run.begin_group() {
        Ok(()) => 1,
        Err(error) => {
            run.fail(error);
            0
        }
    }
}

/// Takes a result into the aggregates, whose inputs are in the place of the head.
pub(super) extern "C" fn gather(frame: *mut Frame<'_, '_>, inputs: u32) {
    // SAFETY: the code passes the frame it was entered with.
    let frame = unsafe { of(frame) };
    let inputs = frame.head(inputs as usize);
    let run = frame.run();
    if let Err(error) = run.take_in_values(inputs) {
        run.fail(error);
    }
}

/// Derives the one result of an aggregate.
pub(super) extern "C" fn conclude(frame: *mut Frame<'_, '_>) {
    // SAFETY: the code passes the frame it was entered with.
    unsafe { of(frame) }.run().end_group();
}
