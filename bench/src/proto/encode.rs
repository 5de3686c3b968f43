//! Messages in memory to bytes, in a reused buffer.
//!
//! | who | what |
//! |---|---|
//! | `tidemill` | native |
//! | `table` | the table encoder |
//! | others | their own encoders |

use std::hint::black_box;

use tidemill_wire::{EncodeBuffer, Encoder, Message};

use super::case::Case;
use super::peers::{Peers, What};
use super::rates::Rates;
use crate::extent::Extent;
use crate::report::Report;

/// Measures one message.
///
/// # Errors
/// An encoder fails, or writes other bytes.
pub fn run(case: &Case, extent: Extent, peers: &Peers, report: &mut Report) -> Result<(), String> {
    let Case { schema, message: of, bytes, .. } = case;
    let message = Message::from_bytes(schema, *of, bytes).map_err(|error| error.to_string())?;
    let mut native = Encoder::new().compile(schema, *of).map_err(|error| error.to_string())?;
    let expected = message.encode().map_err(|error| error.to_string())?;
    let same = native.encode(message.as_ref()).is_ok_and(|bytes| bytes == expected);
    if !same || expected.len() != bytes.len() {
        return Err(format!("{}: the encoders differ", case.name));
    }
    let mut rates = Rates::new(bytes.len(), extent);
    let mut buffer = EncodeBuffer::new();
    for _ in rates.rounds() {
        rates.measure("tidemill", || {
            let written = native.encode(black_box(message.as_ref()));
            written.is_ok_and(|bytes| black_box(bytes).len() == expected.len())
        })?;
        rates.measure("table", || {
            let written = Encoder::new().encode_into(black_box(message.as_ref()), &mut buffer);
            written.is_ok_and(|bytes| black_box(bytes).len() == expected.len())
        })?;
        rates.measure_peers(case, peers, What::Encode);
    }
    rates.report(&format!("{}-encode", case.name), report);
    Ok(())
}
