//! Bytes to messages in memory.
//!
//! | who | what |
//! |---|---|
//! | `tidemill` | native, a reused message whose strings stay in the input |
//! | `tidemill-copied` | native, a reused message, strings are copied |
//! | `table`, `table-copied` | the table decoder, likewise |
//! | `table-new` | the table decoder, a new message each time |
//! | others | their own messages |

use std::hint::black_box;

use tidemill_wire::decode::{Listing, Strings};
use tidemill_wire::{Decoder, Message, Native, Tables};

use super::case::Case;
use super::peers::{Peers, What};
use super::rates::Rates;
use crate::extent::Extent;
use crate::report::Report;

/// Measures one message.
///
/// # Errors
/// A decoder fails, or makes another message.
pub fn run(case: &Case, extent: Extent, peers: &Peers, report: &mut Report) -> Result<(), String> {
    let Case { schema, message: of, bytes, .. } = case;
    let tables = Tables::new(schema);
    let compile = |strings| {
        let native = Native::for_messages(schema, &tables, strings, Listing::Dropped);
        let native = native.map_err(|error| error.to_string())?;
        native.prepare(*of).map_err(ToString::to_string)?;
        Ok::<Native, String>(native)
    };
    let (viewed, copied) = (compile(Strings::Viewed)?, compile(Strings::Copied)?);
    let table = Decoder::with(schema, &tables);
    let (viewed, copied) = (table.native(&viewed), table.native(&copied));
    let new = || Message::new(schema, *of).map_err(|error| error.to_string());
    let (mut by_code, mut copies, mut views, mut table_copies) = (new()?, new()?, new()?, new()?);
    let mut rates = Rates::new(bytes.len(), extent);
    for _ in rates.rounds() {
        rates.measure("tidemill", || by_code.decode_with(&viewed, black_box(bytes)).is_ok())?;
        rates.measure("tidemill-copied", || {
            copies.decode_copied_with(&copied, black_box(bytes)).is_ok()
        })?;
        rates.measure("table", || views.decode_with(&table, black_box(bytes)).is_ok())?;
        rates.measure("table-copied", || {
            table_copies.decode_copied_with(&table, black_box(bytes)).is_ok()
        })?;
        rates.measure("table-new", || {
            Message::from_bytes(schema, *of, black_box(bytes)).is_ok_and(|one| {
                black_box(&one);
                true
            })
        })?;
        rates.measure_peers(case, peers, What::Message);
    }
    if [&copies, &views, &table_copies].iter().any(|one| **one != by_code) {
        return Err(format!("{}: the decoders differ", case.name));
    }
    rates.report(&format!("{}-message", case.name), report);
    Ok(())
}
