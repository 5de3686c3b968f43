//! Faults: why a component failed, where, and who is told.
//!
//! A fault is noted where it happens and the component is *doomed*; the operation answers
//! "unwinding", the code returns to the scheduler, and only then is the component torn down: so
//! nothing is freed under the feet of running code, even if the fault was in a condition that
//! another process evaluated.

use crate::component;
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{Component, UNWINDING, Worker};
use crate::memory::OutOfMemory;
use crate::process::Role;
use crate::program::Position;
use crate::worker::Context;
use crate::{channel, crew, outside};

macro_rules! reasons {
    ($(
        $(#[doc = $doc:literal])+ $name:ident = $number:literal, $code:literal, $text:literal;
    )+) => {
        /// Why a component failed. The number is what generated code passes.
        #[repr(u32)]
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Reason {
            $($(#[doc = $doc])+ $name = $number,)+
        }

        impl Reason {
            /// All of them.
            pub const ALL: &[Reason] = &[$(Reason::$name),+];

            /// What reports show in brackets: several reasons may share it.
            pub fn code(self) -> &'static str {
                match self { $(Reason::$name => $code,)+ }
            }

            /// What reports say if nothing more is known; `{}` stands for the detail.
            pub fn text(self) -> &'static str {
                match self { $(Reason::$name => $text,)+ }
            }
        }
    };
}

reasons! {
    /// An integer does not fit 64 bits.
    Overflow = 1, "overflow", "the result does not fit INTEGER";
    /// DIV, MOD or / by zero.
    DivisionByZero = 2, "division", "division by zero";
    /// An index outside of an array or text.
    Index = 3, "index", "index {} is outside";
    /// An array or text of negative or too large length.
    Length = 4, "length", "{} is no length";
    /// A collection has no such element.
    NoElement = 5, "missing", "the collection has no such element";
    /// A variable holds no component.
    Empty = 6, "empty", "the variable holds no component";
    /// A REAL that does not fit an INTEGER, a number that does not fit a CHARACTER.
    Conversion = 7, "conversion", "{} is no CHARACTER";
    /// A text that is no number.
    NotANumber = 8, "conversion", "the text is no number";
    /// ASSERT with a code.
    Assertion = 9, "assertion", "assertion failed with code {}";
    /// HALT with another code than 0.
    Halt = 10, "halt", "HALT({})";
    /// A message that the protocol does not allow now.
    Protocol = 11, "protocol", "the protocol does not allow this message now";
    /// Another message came than the one to be received.
    Unexpected = 12, "message", "another message has arrived";
    /// The other side has finished.
    Finished = 13, "message", "the other side has finished";
    /// The other side has failed.
    PartnerFailed = 14, "failed", "the other side has failed";
    /// Both sides wait for each other.
    ProtocolDeadlock = 15, "deadlock", "both sides wait for each other";
    /// No memory within the limit.
    OutOfMemory = 16, "memory", "out of memory";
    /// A component would own itself.
    OwnershipCycle = 17, "ownership", "a component would belong to itself";
    /// Connections that lead back to where they began.
    ConnectionCycle = 18, "connection", "the connection leads back to itself";
    /// CONNECT of interfaces that are not the same, or do not exist.
    Interface = 19, "interface", "the interfaces do not match";
    /// PASSIVATE of a negative time.
    NegativeTime = 20, "time", "a process cannot sleep {} units of time";
    /// RANDOM of an empty range.
    EmptyRange = 21, "range", "the range of RANDOM is empty";
    /// A component cannot be copied or sent there.
    NotMovable = 22, "move", "a component cannot be handed over here";
    /// A function that ended without RETURN.
    NoResult = 23, "result", "the procedure ended without RETURN";
    /// A step of FOR that is 0, and other values that no operation takes.
    Argument = 24, "argument", "{} is no valid argument";
    /// ASSERT without a code.
    Asserted = 25, "assertion", "assertion failed";
    /// An array that NEW has not made.
    Unallocated = 26, "array", "the array has not been allocated";
    /// A component of another type than it is seen as.
    Type = 27, "type", "the component is of another type";
    /// Calls that nest deeper than a process may.
    Stack = 28, "stack", "the process needs more than {} bytes of stack";
}

impl Reason {
    /// The reason of this number.
    pub fn from_number(number: u32) -> Option<Reason> {
        Reason::ALL.iter().copied().find(|reason| *reason as u32 == number)
    }

    /// What reports say, with the detail in its place.
    pub fn message(self, detail: i64) -> String {
        self.text().replace("{}", &detail.to_string())
    }
}

/// A fault as it is reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Why.
    pub reason: Reason,
    /// What reports say.
    pub message: String,
    /// Where in the source; line 0 when unknown.
    pub position: Position,
    /// The components from the entry to the failed one: `Town/house[3]`.
    pub path: String,
    /// Which of its processes.
    pub process: String,
    /// Whether it is the entry component, with which the run ends.
    pub entry: bool,
}

/// Told of each fault at once.
pub trait Reports {
    /// A component has failed.
    fn fault(&mut self, fault: &Fault);
    /// Everything waits and nothing can wake anything: who waits for what, some of them.
    fn deadlock(&mut self, waiting: u64, some: &[String]);
}

/// Nobody is told.
impl Reports for () {
    fn fault(&mut self, _: &Fault) {}
    fn deadlock(&mut self, _: u64, _: &[String]) {}
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The entry component came to its end.
    Finished,
    /// HALT(0).
    Halted,
    /// The entry component failed; with the code of HALT if that was why.
    Failed {
        /// What HALT was given.
        code: Option<i64>,
    },
    /// So many processes wait for what never comes.
    Deadlock {
        /// How many.
        waiting: u64,
    },
}

impl Ended {
    /// 0 or 1.
    pub fn exit_status(&self) -> i32 {
        match self {
            Ended::Finished | Ended::Halted => 0,
            Ended::Failed { .. } | Ended::Deadlock { .. } => 1,
        }
    }
}

impl Context<'_> {
    /// A fault of the running process. Answers what to return.
    #[cold]
    #[inline(never)]
    pub(crate) fn fault(&mut self, reason: Reason, detail: i64, position: u32) -> u32 {
        self.fault_saying(reason, reason.message(detail), position)
    }

    /// The same where more can be said.
    #[cold]
    #[inline(never)]
    pub(crate) fn fault_saying(&mut self, reason: Reason, message: String, position: u32) -> u32 {
        self.process.set_frame(self.frame);
        channel::release(self.worker);
        note(self.worker, self.process, reason, message, position);
        UNWINDING
    }

    /// The same where memory ran out.
    #[cold]
    pub(crate) fn out_of_memory(&mut self, _: OutOfMemory, position: u32) -> u32 {
        self.fault(Reason::OutOfMemory, 0, position)
    }
}

/// Notes that a process's component has failed; it is torn down later.
pub(crate) fn note(
    worker: &mut Worker,
    process: ProcessRef,
    reason: Reason,
    message: String,
    position: u32,
) {
    let component = process.component();
    if !component.is_null() && !component.is_doomed() {
        let name = process_name(worker, process);
        report(worker, component, name, (reason, message), position);
    }
}

/// Notes that a component has failed of itself.
pub(crate) fn note_component(
    worker: &mut Worker,
    component: ComponentRef,
    process: &str,
    reason: Reason,
) {
    report(worker, component, process.to_owned(), (reason, reason.message(0)), 0);
}

fn report(
    worker: &mut Worker,
    component: ComponentRef,
    process: String,
    why: (Reason, String),
    position: u32,
) {
    crew::alone(worker, |worker| report_alone(worker, component, process, why, position));
}

fn report_alone(
    worker: &mut Worker,
    component: ComponentRef,
    process: String,
    (reason, message): (Reason, String),
    position: u32,
) {
    let entry = component.id() == worker.first().machine.entry;
    let program = worker.program();
    let fault = Fault {
        reason,
        message,
        position: program.positions.get(position as usize).copied().unwrap_or_default(),
        path: component::path(worker, component),
        process,
        entry,
    };
    crew::pass_on(worker);
    worker.first().machine.console.flush();
    worker.first().machine.reports.fault(&fault);
    outside::note_fault(worker.first(), component, &fault);
    if entry {
        worker.first().machine.outcome.get_or_insert(Ended::Failed { code: None });
    }
    doom(worker, component);
}

/// Has a component torn down as soon as no code of it runs.
pub(crate) fn doom(worker: &mut Worker, component: ComponentRef) {
    component.set_doomed();
    let home = worker.home_awake(component);
    home.machine.doomed.push(component.id());
    home.machine.attention = true;
}

/// How reports call a process: by the function it began with.
pub(crate) fn process_name(worker: &Worker, process: ProcessRef) -> String {
    let mut frame = process.frame();
    if frame.is_null() {
        return Role::of(process).name().to_owned();
    }
    while let Some(parent) = frame.parent().some() {
        frame = parent;
    }
    let function = worker.program().functions.get(frame.function() as usize);
    function.map_or_else(|| Role::of(process).name().to_owned(), |known| known.name.clone())
}

pub(crate) fn raise(cx: &mut Context, reason: u32, detail: i64, position: u32) -> u32 {
    let reason = Reason::from_number(reason).unwrap_or(Reason::Argument);
    if reason == Reason::Halt && cx.component().id() == cx.worker.machine.entry {
        cx.worker.machine.outcome.get_or_insert(Ended::Failed { code: Some(detail) });
    }
    cx.fault(reason, detail, position)
}

/// No component type in particular.
pub const ANY_TYPE: u32 = u32::MAX;

pub(crate) fn raise_type(
    cx: &mut Context,
    component: *mut Component,
    kind: u32,
    position: u32,
) -> u32 {
    let Some(component) = ComponentRef(component).some() else {
        return cx.fault(Reason::Empty, 0, position);
    };
    // Of nested types the name that the source has.
    let own = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let is = own(&component.descriptor().name);
    let wanted = cx.worker.program().components.get(kind as usize);
    let message = match wanted {
        Some(wanted) => format!("the component is of type {is}, not {}", own(&wanted.name)),
        None => format!("the component is of type {is}, without the interfaces asked for"),
    };
    cx.fault_saying(Reason::Type, message, position)
}

pub(crate) fn halt(cx: &mut Context, code: i64, position: u32) -> u32 {
    if code != 0 {
        return raise(cx, Reason::Halt as u32, code, position);
    }
    cx.process.set_frame(cx.frame);
    cx.worker.machine.halted = true;
    cx.worker.machine.attention = true;
    UNWINDING
}
