//! Bytes into sinks.
//!
//! | who | what |
//! |---|---|
//! | `tidemill` | native, a sink that keeps the latest value of every field |
//! | `tidemill-check` | native, no sink: the bytes are checked |
//! | `tidemill-select` | native, two fields are selected |
//! | `table`, `table-check` | the table decoder, likewise |
//! | `c-walk` | the floor: a walk that skips everything, without a schema |
//! | others | into messages |

use std::hint::black_box;

use tidemill_wire::{Decoder, MessageId, Native, Sink, Tables, Wants};

use super::case::Case;
use super::peers::{Peers, What};
use super::rates::Rates;
use super::sinks::{Latest, Sum};
use crate::extent::Extent;
use crate::report::Report;

/// Decodes into a new sink, and returns it.
fn decoded<S: for<'a> Sink<'a> + Default>(
    decoder: &Decoder<'_>,
    message: MessageId,
    bytes: &[u8],
) -> Result<S, String> {
    let mut sink = S::default();
    let result = decoder.decode(message, bytes, &mut sink);
    result.map(|()| sink).map_err(|error| error.to_string())
}

/// Measures one message.
///
/// # Errors
/// A decoder fails, or finds other values.
pub fn run(case: &Case, extent: Extent, peers: &Peers, report: &mut Report) -> Result<(), String> {
    let Case { schema, message, bytes, .. } = case;
    let all = Tables::new(schema);
    let some = Tables::select(schema, *message, &case.select).map_err(|one| one.to_string())?;
    let compile = |tables, wants| {
        let native = Native::compile(schema, tables, wants).map_err(|error| error.to_string())?;
        native.prepare(*message).map_err(ToString::to_string)?;
        Ok::<Native, String>(native)
    };
    let (native, check) = (compile(&all, Wants::ALL)?, compile(&all, Wants::NONE)?);
    let select = compile(&some, Wants::ALL)?;
    let (table, picky) = (Decoder::with(schema, &all), Decoder::with(schema, &some));
    let (native, check, select) =
        (table.native(&native), table.native(&check), picky.native(&select));
    for (one, other) in [(table, native), (picky, select)] {
        if decoded::<Sum>(&one, *message, bytes)? != decoded::<Sum>(&other, *message, bytes)? {
            return Err(format!("{}: the decoders tell different things", case.name));
        }
    }
    let mut rates = Rates::new(bytes.len(), extent);
    for _ in rates.rounds() {
        for (who, decoder) in [("tidemill", native), ("tidemill-select", select), ("table", table)]
        {
            let mut sink = Latest::default();
            rates.measure(who, || {
                let result = decoder.decode(*message, black_box(bytes), &mut sink);
                black_box(&sink);
                result.is_ok()
            })?;
            let tables = if who == "tidemill-select" { &picky } else { &table };
            if sink != decoded::<Latest>(tables, *message, bytes)? {
                return Err(format!("{who}: other values"));
            }
        }
        for (who, decoder) in [("tidemill-check", check), ("table-check", table)] {
            let mut check = || decoder.decode(*message, black_box(bytes), &mut ()).is_ok();
            rates.measure(who, &mut check)?;
        }
        rates.measure_peers(case, peers, What::Decode);
    }
    rates.report(case.name, report);
    Ok(())
}
