//! The table of operations that generated code calls.
//!
//! Each is an `extern "C"` function of the running frame, the process, the worker and its own
//! parameters, in this order. An operation that may block stores nothing of the caller's: when it
//! returns [`SUSPENDED`](crate::layout::SUSPENDED) the process is queued already, the caller saves
//! what it needs, sets its resume point to *the same operation* and returns 1; executed again, the
//! operation finds itself granted (or waits on). After [`UNWINDING`](crate::layout::UNWINDING) the
//! caller returns 2 and touches neither frame nor process. A value that an operation returns
//! beside its status is in [`Frame::result`](crate::layout::Frame::result).
//!
//! Addresses of words: `payload` and `destination` are words in a row, one for each parameter of
//! the message. Sending moves: owned words of the payload are zero afterwards. Receiving writes
//! over the destination, which must own nothing. Texts passed by address are read, texts given
//! back in the result belong to the caller. Positions are places in `Program::positions`.

use crate::layout::{Component, Frame, Process, Slot};
use crate::machine::Context;
use crate::machine::Worker;
use crate::memory::Memory;

/// How a parameter or result is passed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Passing {
    /// Nothing.
    None,
    /// 32 bits.
    Half,
    /// 64 bits.
    Word,
    /// A double.
    Real,
    /// A pointer.
    Address,
}

/// What the result means.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The value itself (or nothing); it cannot fail.
    Value,
    /// A status: 0, or 2 after a fault.
    Faults,
    /// A status: 0, 1 or 2.
    Blocks,
    /// An address; null after a fault: return 2.
    Finds,
}

/// One operation.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Its parameters after frame, process and worker.
    pub parameters: &'static [(&'static str, Passing)],
    /// Its result.
    pub result: Passing,
    /// What the result means.
    pub outcome: Outcome,
    /// Its code, to be called with the C convention.
    pub address: *const u8,
}

/// A type that is passed in a known way.
trait Passed {
    const AS: Passing;

    /// The value of a word; an address outside of the worker's memory gives none.
    fn of_word(word: u64, memory: &Memory) -> Option<Self>
    where
        Self: Sized;

    fn to_word(self) -> u64;
}

macro_rules! passed {
    ($($type:ty as $passing:ident, $of:expr, $to:expr;)+) => {$(
        impl Passed for $type {
            const AS: Passing = Passing::$passing;

            fn of_word(word: u64, _: &Memory) -> Option<$type> {
                Some($of(word))
            }

            fn to_word(self) -> u64 {
                $to(self)
            }
        }
    )+};
}

passed! {
    () as None, |_| (), |()| 0;
    u32 as Half, |word| word as u32, u64::from;
    u64 as Word, |word| word, |word| word;
    i64 as Word, |word| word as i64, |value| value as u64;
    f64 as Real, f64::from_bits, f64::to_bits;
}

impl<T> Passed for *mut T {
    const AS: Passing = Passing::Address;

    fn of_word(word: u64, memory: &Memory) -> Option<*mut T> {
        let known = word == 0 || memory.contains(word);
        known.then(|| std::ptr::with_exposed_provenance_mut(word as usize))
    }

    fn to_word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

impl<T> Passed for *const T {
    const AS: Passing = Passing::Address;

    fn of_word(word: u64, memory: &Memory) -> Option<*const T> {
        <*mut T>::of_word(word, memory).map(<*mut T>::cast_const)
    }

    fn to_word(self) -> u64 {
        self.expose_provenance() as u64
    }
}

macro_rules! entries {
    ($(
        $(#[doc = $doc:literal])+
        $outcome:ident $name:ident($($parameter:ident: $type:ty),*) -> $result:ty = $path:path;
    )+) => {
        /// All operations, by what they concern.
        pub fn entries() -> Vec<Entry> {
            vec![$(Entry {
                name: stringify!($name),
                parameters: &[$((stringify!($parameter), <$type as Passed>::AS)),*],
                result: <$result as Passed>::AS,
                outcome: Outcome::$outcome,
                address: operations::$name as *const u8,
            }),+]
        }

        /// An operation, for interpreters.
        #[allow(non_camel_case_types)]
        #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
        pub enum Operation {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Operation {
            /// The operation of this name.
            pub fn of_name(name: &str) -> Option<Operation> {
                match name {
                    $(stringify!($name) => Some(Operation::$name),)+
                    _ => None,
                }
            }

            /// Executes it with arguments as words; none if there are too few, or an address is
            /// not one of the worker's memory.
            pub(crate) fn perform(self, cx: &mut Context, arguments: &[u64]) -> Option<u64> {
                let mut arguments = arguments.iter().copied();
                match self {
                    $(Operation::$name => {
                        $(let $parameter =
                            <$type>::of_word(arguments.next()?, &cx.worker.memory)?;)*
                        Some($path(cx, $($parameter),*).to_word())
                    })+
                }
            }
        }

        /// The operations themselves.
        ///
        /// # Safety
        /// All of them: called by code of the process that the worker is running, with its own
        /// frame, and with addresses of live words as their parameters say.
        pub mod operations {
            use super::*;

            $($(#[doc = $doc])+
            ///
            /// # Safety
            /// See the module.
            #[allow(clippy::too_many_arguments)]
            pub unsafe extern "C" fn $name(
                frame: *mut Frame,
                process: *mut Process,
                worker: *mut Worker,
                $($parameter: $type),*
            ) -> $result {
                // SAFETY: promised by the caller.
                let mut cx = unsafe { Context::new(frame, process, worker) };
                $path(&mut cx, $($parameter),*)
            })+
        }
    };
}

entries! {
    /// Ends the slice of the process: it is queued behind the others. Always returns 1; on
    /// resumption the code continues *after* it. Called when the flag is set or the budget is used.
    Blocks pause() -> u32 = crate::process::pause;
    /// Ends the component with a fault. `reason` is a [`crate::fault::Reason`], `detail` its
    /// parameter. Always returns 2.
    Faults fault(reason: u32, detail: i64, position: u32) -> u32 = crate::fault::raise;
    /// A fault because a component is not of type `kind`; or, if that is
    /// [`crate::fault::ANY_TYPE`], lacks the required interfaces, or does not exist. Always returns
    /// 2.
    Faults fault_type(component: *mut Component, kind: u32, position: u32) -> u32
        = crate::fault::raise_type;
    /// HALT: 0 ends the program in order, anything else is a fault with this code. Returns 2.
    Faults halt(code: i64, position: u32) -> u32 = crate::fault::halt;
    /// A frame of `function` whose parent is the running frame; its words are zero.
    Finds frame_new(function: u32, position: u32) -> *mut Frame = crate::process::frame_new;
    /// Frees a frame that is done; it owns nothing any more.
    Value frame_free(callee: *mut Frame) -> () = crate::process::frame_free;
    /// Has the run-time run `callee` when `depth` is at its limit. Always returns 4; the code
    /// continues where a suspended call would, with the callee's result in its own result word.
    Blocks call_deferred(callee: *mut Frame) -> u32 = crate::process::call_deferred;
    /// A frame, with words of zero, for `function`, which has run without one. Its process is to be
    /// paused (`status` 3) or continued by the run-time (4). The innermost function makes its frame
    /// first, then each caller, up to the one that has a frame already, the running frame; all of
    /// them return `status`. It is also stored as the frame's result, from where the code loads it:
    /// kept in a register, it would make each call of the function save one more. A null address is
    /// a fault, and the frames made before are freed.
    Finds frame_lazy(function: u32, status: u32, position: u32) -> *mut Frame
        = crate::process::frame_lazy;
    /// The same for the function that finds the native stack deep when it starts. If there is no
    /// memory, the address is null, and the fault is raised by the caller, at the call.
    Finds frame_first(function: u32) -> *mut Frame = crate::process::frame_first;
    /// The status of a function with a frame whose callee has returned `status`, not 0: the same,
    /// or 2 for the fault that `frame_first` has left to its caller.
    Faults call_left(status: u32, position: u32) -> u32 = crate::process::call_left;

    /// Takes the component's monitor for writing.
    Blocks lock_exclusive() -> u32 = crate::monitor::lock_exclusive;
    /// Takes the component's monitor for reading.
    Blocks lock_shared() -> u32 = crate::monitor::lock_shared;
    /// Takes the lock for writing where the locked code begins with AWAIT: as soon as the condition
    /// holds. Until then the process is not in the lock queue. See `await_condition`.
    Blocks lock_when(condition: *const u8, number: u32) -> u32 = crate::monitor::lock_when;
    /// Gives the monitor back: to the longest waiter whose condition holds, else to the queue.
    Faults unlock() -> u32 = crate::monitor::unlock;
    /// AWAIT, with the monitor held in either way or not at all. `condition` is code that returns
    /// 0 or 1, or 2 after a fault; it is called with the awaiting frame and process, also by
    /// others, and must not block. `number` is for interpreters; with [`crate::layout::CLOSED`] if
    /// compiled code depends on the component's variables only.
    Blocks await_condition(condition: *const u8, number: u32) -> u32
        = crate::monitor::await_condition;
    /// As `await_condition` where the condition has just been evaluated to false and nothing is
    /// granted: waits.
    Blocks await_change(condition: *const u8, number: u32) -> u32
        = crate::monitor::await_change;
    /// PASSIVATE(d): gives up the monitor meanwhile.
    Blocks passivate(delay: i64, position: u32) -> u32 = crate::clock::passivate;
    /// TIME.
    Value time() -> i64 = crate::clock::time;

    /// The slot of a required interface that is a set; `required` is its number in the type.
    /// A slot must not be kept across a suspension: look it up again.
    Finds slot_required(required: u32, index: i64, position: u32) -> *mut Slot
        = crate::channel::slot_required;
    /// This process's slot for an interface that sub-component `component` offers; `offered` is
    /// the interface's number in the program, as its type may be unknown.
    Finds slot_offered(
        component: *mut Component, offered: u32, index: i64, position: u32
    ) -> *mut Slot = crate::channel::slot_offered;
    /// x!M(...) of a client.
    Blocks client_send(slot: *mut Slot, message: u32, payload: *mut u64, position: u32) -> u32
        = crate::channel::client_send;
    /// x?M(...) of a client.
    Blocks client_receive(
        slot: *mut Slot, message: u32, destination: *mut u64, position: u32
    ) -> u32 = crate::channel::client_receive;
    /// x?M as an expression, blocking: result 0 or 1. `pattern` is a message, ANY or FINISH.
    Blocks client_peek(slot: *mut Slot, pattern: u32, position: u32) -> u32
        = crate::channel::client_peek;
    /// INPUT(x, M): result 0 or 1.
    Faults client_input(slot: *mut Slot, pattern: u32, position: u32) -> u32
        = crate::channel::client_input;
    /// !M(...) to the client of this implementation.
    Blocks server_send(message: u32, payload: *mut u64, position: u32) -> u32
        = crate::channel::server_send;
    /// ?M(...) from the client of this implementation.
    Blocks server_receive(message: u32, destination: *mut u64, position: u32) -> u32
        = crate::channel::server_receive;
    /// ?M as an expression, blocking: result 0 or 1.
    Blocks server_peek(pattern: u32, position: u32) -> u32 = crate::channel::server_peek;
    /// INPUT(M): result 0 or 1.
    Faults server_input(pattern: u32, position: u32) -> u32 = crate::channel::server_input;
    /// Wakes what waits at a channel; inlined sends and receives call it when they have read one of
    /// the other side's flags `*_WAITS` or `*_WATCHES`. The channel is in `slot`.
    Faults client_wake(slot: *mut Slot) -> u32 = crate::channel::client_wake;
    /// The same of the server's side, for its own channel.
    Faults server_wake() -> u32 = crate::channel::server_wake;

    /// NEW of a component of type `kind` into an empty word. `synchronous` is 0 or 1.
    Faults component_new(word: *mut u64, kind: u32, synchronous: u32, position: u32) -> u32
        = crate::component::new;
    /// DELETE of what a component, text, array or collection word owns; waits for the end of
    /// components. `kind` is a [`crate::program::WordKind`].
    Blocks delete(word: *mut u64, kind: u32) -> u32 = crate::component::delete;
    /// The end of a scope: as `delete` of the `count` words that `words` lists by offset in the
    /// running frame, all terminated at once.
    Blocks end_scope(words: *const u32, count: u32) -> u32 = crate::component::end_scope;
    /// MOVE(from, to): `to` must be empty.
    Faults component_move(from: *mut u64, to: *mut u64, position: u32) -> u32
        = crate::component::move_word;
    /// CONNECT; ports as made by [`crate::layout::port`], with interfaces by their number in the
    /// program, here and below. Each component is this one or one that it owns.
    Faults connect(
        from: *mut Component, from_port: u64, to: *mut Component, to_port: u64, position: u32
    ) -> u32 = crate::component::connect;
    /// DISCONNECT.
    Faults disconnect(component: *mut Component, port: u64, position: u32) -> u32
        = crate::component::disconnect;
    /// COUNT: how many of a set of interfaces are connected.
    Value count(component: *mut Component, port: u64) -> i64 = crate::component::count;
    /// TERMINATED(): 0 or 1.
    Value terminated() -> u32 = crate::component::terminated;
    /// FAILED(c): 0 or 1; a null component has not failed.
    Value failed(component: *mut Component) -> u32 = crate::component::failed;
    /// c IS Type: 0 or 1.
    Value is_type(component: *mut Component, kind: u32) -> u32 = crate::component::is_type;
    /// c OFFERS ...: 0 or 1.
    Value offers(component: *mut Component, facet: u32) -> u32 = crate::component::offers;
    /// c REQUIRES ...: 0 or 1.
    Value requires(component: *mut Component, facet: u32) -> u32 = crate::component::requires;

    /// Drops what a word owns without waiting, and empties it.
    Value drop_word(word: *mut u64, kind: u32) -> () = crate::component::drop_word;

    /// A new text of these bytes in the result.
    Faults text_literal(bytes: *const u8, length: u64, position: u32) -> u32 = crate::text::literal;
    /// A copy of a text in the result.
    Faults text_copy(text: u64, position: u32) -> u32 = crate::text::copy;
    /// NEW(t, n): a text of `length` 0X characters in the result.
    Faults text_new(length: i64, position: u32) -> u32 = crate::text::new;
    /// LENGTH(text).
    Value text_length(text: u64) -> i64 = crate::text::length;
    /// Compares up to the 0X: negative, 0 or positive.
    Value text_compare(left: u64, right: u64) -> i64 = crate::text::compare;
    /// `t[i]` in the result.
    Faults text_get(text: u64, index: i64, position: u32) -> u32 = crate::text::get;
    /// `t[i] := c`.
    Faults text_set(text: u64, index: i64, character: u64, position: u32) -> u32 = crate::text::set;
    /// TEXT(integer) in the result.
    Faults text_of_integer(value: i64, position: u32) -> u32 = crate::text::of_integer;
    /// TEXT(real) in the result.
    Faults text_of_real(value: f64, position: u32) -> u32 = crate::text::of_real;
    /// TEXT(character) in the result.
    Faults text_of_character(value: u64, position: u32) -> u32 = crate::text::of_character;
    /// TEXT(boolean) in the result.
    Faults text_of_boolean(value: u64, position: u32) -> u32 = crate::text::of_boolean;
    /// INTEGER(text) in the result; a fault if it is none.
    Faults integer_of_text(text: u64, position: u32) -> u32 = crate::text::to_integer;
    /// REAL(text) in the result, as bits; a fault if it is none.
    Faults real_of_text(text: u64, position: u32) -> u32 = crate::text::to_real;
    /// INTEGER(real), rounded down, in the result; a fault if it does not fit.
    Faults integer_of_real(value: f64, position: u32) -> u32 = crate::text::integer_of_real;

    /// NEW(a, n, m): `extents` has a word for each dimension. The word must be empty.
    Faults array_new(word: *mut u64, shape: u32, extents: *const i64, position: u32) -> u32
        = crate::array::new;
    /// The address of an element of a vector or a higher array; `indices` has a word for each
    /// dimension. Array blocks: extents at 16 + 8 d, elements at 16 + 8 dimensions.
    Finds array_at(array: u64, indices: *const i64, position: u32) -> *mut u64 = crate::array::at;
    /// LENGTH(array, dimension), from 0; 0 for an array that does not exist.
    Value array_length(array: u64, dimension: u32) -> i64 = crate::array::length;

    /// The address of the element with these keys, made if it is missing; `keys` has a word for
    /// each index (texts are copied). Stays valid until the element is removed or, if it is of a
    /// shape that is not pinned, another one is made or removed.
    Finds collection_at(word: *mut u64, shape: u32, keys: *const u64, position: u32) -> *mut u64
        = crate::collection::at;
    /// The same of an element that must exist: its absence is a fault.
    Finds collection_get(collection: u64, keys: *const u64, position: u32) -> *mut u64
        = crate::collection::get;
    /// The address of the element, or null if there is none.
    Value collection_find(collection: u64, keys: *const u64) -> *mut u64 = crate::collection::find;
    /// As `collection_find`, by the word of the only key.
    Value collection_find_word(collection: u64, key: u64) -> *mut u64
        = crate::collection::find_word;
    /// As `collection_at`, by the word of the only key.
    Finds collection_at_word(word: *mut u64, shape: u32, key: u64, position: u32) -> *mut u64
        = crate::collection::at_word;
    /// The same of an element that is missing: the code has looked, see [`crate::layout::quick`].
    Finds collection_add(word: *mut u64, shape: u32, key: u64, position: u32) -> *mut u64
        = crate::collection::add;
    /// `DELETE(c[k])`: removes the key and deletes what it owned; waits for a component's end.
    Blocks collection_delete(collection: u64, keys: *const u64) -> u32 = crate::collection::delete;
    /// FOREACH: writes the smallest keys above `keys` there, result 1, or result 0 at the end.
    /// With `first` 1 the smallest of all; then texts in `keys` must be empty. Text keys are
    /// copies that belong to the caller; those that were there before are dropped. May pause while
    /// it puts a large collection in order.
    Blocks collection_next(collection: u64, keys: *mut u64, first: u32, position: u32) -> u32
        = crate::collection::next;
    /// The number of elements.
    Value collection_length(collection: u64) -> i64 = crate::collection::length;

    /// WRITE of a text, up to its 0X.
    Value write_text(text: u64) -> () = crate::console::write_text;
    /// WRITE of bytes of the program.
    Value write_bytes(bytes: *const u8, length: u64) -> () = crate::console::write_bytes;
    /// WRITE of an integer.
    Value write_integer(value: i64) -> () = crate::console::write_integer;
    /// WRITE of a real, the shortest form that reads back.
    Value write_real(value: f64) -> () = crate::console::write_real;
    /// WRITE of a character.
    Value write_character(value: u64) -> () = crate::console::write_character;
    /// WRITE of a boolean: TRUE or FALSE.
    Value write_boolean(value: u64) -> () = crate::console::write_boolean;
    /// WRITEHEX.
    Value write_hex(value: i64) -> () = crate::console::write_hex;
    /// WRITELINE.
    Value write_line() -> () = crate::console::write_line;

    /// RANDOM(low, high), both included, in the result; a fault if low > high.
    Faults random(low: i64, high: i64, position: u32) -> u32 = crate::number::random;
    /// SIN, in radians.
    Value sin(x: f64) -> f64 = crate::number::sin;
    /// COS.
    Value cos(x: f64) -> f64 = crate::number::cos;
    /// TAN.
    Value tan(x: f64) -> f64 = crate::number::tan;
    /// ARCSIN.
    Value arcsin(x: f64) -> f64 = crate::number::arcsin;
    /// ARCCOS.
    Value arccos(x: f64) -> f64 = crate::number::arccos;
    /// ARCTAN.
    Value arctan(x: f64) -> f64 = crate::number::arctan;
    /// SQRT.
    Value sqrt(x: f64) -> f64 = crate::number::sqrt;
}
