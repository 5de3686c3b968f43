//! The functions of messages, each compiled when it is first called.
//!
//! ```text
//!   entries   [ first | encode b.M | first | first | encode b.N | ... ]      by message
//!                 |
//!                 '--> compiles the function of the message, puts it here, and calls it
//! ```
//! Generated code calls the functions of messages inside through this table only. An entry changes
//! once: from the function that compiles to the compiled one, or to the table encoder where that
//! fails.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use tidemill_jit::Error;

use super::code;
use super::context::{Context, Entry, Function, Functions};
use super::helpers::whole;
use crate::message::record::Record;
use crate::schema::{MessageId, Schema};

impl Functions {
    pub(super) fn new(schema: &Schema) -> Functions {
        let entry = |_| Entry::new(first as Function as *mut ());
        let entries = schema.messages().map(entry).collect();
        Functions { schema: schema.clone(), entries, codes: Mutex::new(Vec::new()) }
    }

    /// Compiles the function of a message, if it has none.
    ///
    /// # Errors
    /// No code can be made.
    pub(super) fn compile(&self, message: MessageId) -> Result<(), Error> {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = &self.entries[message.index()];
        if entry.load(Ordering::Relaxed) != first as Function as *mut () {
            return Ok(());
        }
        let (code, function) = code::compile(&self.schema, message)?;
        let address = code.address(function).cast_mut().cast();
        codes.push(code);
        // Generated code reads it by a plain load. The address dependency keeps the order: code
        // called through an address was written before the address.
        entry.store(address, Ordering::Release);
        Ok(())
    }
}

/// The initial entry of every function: compiles it, then calls it.
extern "C" fn first(
    context: &mut Context,
    record: Record,
    p: *mut u8,
    depth: u64,
    message: u64,
) -> *mut u8 {
    let functions = context.code.clone();
    let id = MessageId(message as u32);
    if functions.compile(id).is_err() {
        let address = whole_record as Function as *mut ();
        functions.entries[id.index()].store(address, Ordering::Release);
    }
    functions.function(id)(context, record, p, depth, message)
}

/// The entry of functions that cannot be compiled: the table encoder.
extern "C" fn whole_record(
    context: &mut Context,
    record: Record,
    p: *mut u8,
    depth: u64,
    message: u64,
) -> *mut u8 {
    match depth {
        0 => std::ptr::null_mut(),
        _ => whole(context, record, p, message, depth),
    }
}
