//! Why components fail and how runs end, and the trait that reports it.

use crate::program::Position;

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

            /// The text of reports without more information; `{}` is the place of the detail.
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
    /// It was killed from outside.
    Killed = 29, "killed", "it was killed from outside";
}

impl Reason {
    /// The reason of this number.
    pub fn from_number(number: u32) -> Option<Reason> {
        Reason::ALL.iter().copied().find(|reason| *reason as u32 == number)
    }

    /// The text of reports, with the detail in its place.
    pub fn message(self, detail: i64) -> String {
        self.text().replace("{}", &detail.to_string())
    }
}

/// A fault as it is reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Why.
    pub reason: Reason,
    /// The text of reports.
    pub message: String,
    /// The source file; empty when unknown.
    pub file: String,
    /// Where in it; line 0 when unknown.
    pub position: Position,
    /// The components from the entry to the failed one: `Town/house[3]`.
    pub path: String,
    /// Which of its processes.
    pub process: String,
    /// Whether it is the entry component, with which the run ends.
    pub entry: bool,
}

/// Receives each fault at once.
pub trait Reports {
    /// A component has failed.
    fn fault(&mut self, fault: &Fault);
    /// Everything waits and nothing can wake anything; with some of the waiting processes.
    fn deadlock(&mut self, waiting: u64, some: &[String]);
}

/// Discards all reports.
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
    /// This many processes wait for ever.
    Deadlock {
        /// The number of processes.
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

/// No component type in particular.
pub const ANY_TYPE: u32 = u32::MAX;
