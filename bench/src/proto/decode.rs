//! Decoders into a sink: our two, the floor, and what other crates do into messages.
//!
//! | who | what |
//! |---|---|
//! | `tidemill` | native, a sink that touches every field |
//! | `tidemill-check` | native, no sink: the bytes are checked |
//! | `tidemill-select` | native, two fields are wanted |
//! | `tidemill-message` | native, into a message in memory whose strings stay in the input |
//! | `table`, `table-check` | the table decoder, likewise |
//! | `c-walk` | the floor: a walk that skips everything, without a schema |
//! | `prost`, `prost-reflect` | other crates, into messages |

use std::hint::black_box;

use tidemill_wire::decode::Listing;
use tidemill_wire::{Decoder, FieldId, Flow, Message, MessageId, Native, Sink, Tables, Wants};

use super::Case;
use super::peers::Peers;
use crate::Extent;
use crate::clock::{cpu_seconds, median};
use crate::report::{Better, Report, Row};

/// Touches every field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Sum {
    fields: u64,
    sum: u64,
}

impl Sum {
    #[inline]
    fn add(&mut self, field: FieldId, value: u64) -> Flow {
        self.fields += 1;
        self.sum = self.sum.wrapping_add(value ^ field.index() as u64);
        Ok(())
    }
}

impl<'a> Sink<'a> for Sum {
    #[inline]
    fn start_sub(&mut self, field: FieldId) -> Flow {
        self.add(field, 1)
    }

    #[inline]
    fn end_sub(&mut self, field: FieldId) -> Flow {
        self.add(field, 2)
    }

    #[inline]
    fn i64(&mut self, field: FieldId, value: i64) -> Flow {
        self.add(field, value as u64)
    }

    #[inline]
    fn u64(&mut self, field: FieldId, value: u64) -> Flow {
        self.add(field, value)
    }

    #[inline]
    fn i32(&mut self, field: FieldId, value: i32) -> Flow {
        self.add(field, value as u64)
    }

    #[inline]
    fn u32(&mut self, field: FieldId, value: u32) -> Flow {
        self.add(field, u64::from(value))
    }

    #[inline]
    fn f64(&mut self, field: FieldId, value: f64) -> Flow {
        self.add(field, value.to_bits())
    }

    #[inline]
    fn f32(&mut self, field: FieldId, value: f32) -> Flow {
        self.add(field, u64::from(value.to_bits()))
    }

    #[inline]
    fn bool(&mut self, field: FieldId, value: bool) -> Flow {
        self.add(field, u64::from(value))
    }

    #[inline]
    fn string(&mut self, field: FieldId, piece: &'a str) -> Flow {
        self.raw_string(field, piece.as_bytes())
    }

    #[inline]
    fn raw_string(&mut self, field: FieldId, piece: &'a [u8]) -> Flow {
        self.add(field, piece.len() as u64)
    }

    #[inline]
    fn bytes(&mut self, field: FieldId, piece: &'a [u8]) -> Flow {
        self.add(field, piece.len() as u64)
    }
}

/// Decodes so many times; gives the seconds and what the sink has at the end.
fn measured<S: for<'a> Sink<'a> + Default>(
    decoder: &Decoder<'_>,
    message: MessageId,
    bytes: &[u8],
    passes: usize,
) -> Result<(f64, S), String> {
    let mut last = Err("no pass".to_owned());
    let (seconds, ()) = cpu_seconds(|| {
        for _ in 0..passes {
            let mut sink = S::default();
            let result = decoder.decode(message, black_box(bytes), &mut sink);
            last = result.map(|()| sink).map_err(|error| error.to_string());
        }
    });
    Ok((seconds, last?))
}

/// Measures one message.
///
/// # Errors
/// A decoder fails, or finds other values.
pub fn run(case: &Case, extent: Extent, report: &mut Report) -> Result<(), String> {
    let Case { schema, message, bytes, .. } = case;
    let (volume, runs) = if extent.small { (1 << 18, 1) } else { (400 << 20, 5) };
    let passes = volume / bytes.len() + 1;
    let all = Tables::new(schema);
    let some = Tables::select(schema, *message, &case.select).map_err(|one| one.to_string())?;
    let compile = |tables, wants| {
        let listing = match std::env::var_os("LISTING") {
            Some(_) => Listing::Kept,
            None => Listing::Dropped,
        };
        let native = Native::with_listing(schema, tables, wants, listing);
        let native = native.map_err(|error| error.to_string())?;
        if let Some(text) = native.listing() {
            eprintln!("{text}");
        }
        Ok::<Native, String>(native)
    };
    let (native, check) = (compile(&all, Wants::ALL)?, compile(&all, Wants::NONE)?);
    let select = compile(&some, Wants::ALL)?;
    let table = Decoder::with(schema, &all);
    let picky = Decoder::with(schema, &some);
    let expected = measured::<Sum>(&table, *message, bytes, 1)?.1;
    let wanted = measured::<Sum>(&picky, *message, bytes, 1)?.1;
    let mut into = Message::new(schema, *message).map_err(|error| error.to_string())?;
    let peers = extent.peers.then(|| Peers::new(report));
    let mut rows: Vec<(&str, Vec<f64>)> = Vec::new();
    for _ in 0..runs {
        let mut add = |who: &'static str, seconds: f64| {
            let rate = (passes * bytes.len()) as f64 / seconds / 1e6;
            match rows.iter_mut().find(|(known, _)| *known == who) {
                Some((_, rates)) => rates.push(rate),
                None => rows.push((who, vec![rate])),
            }
        };
        for (who, decoder, expected) in [
            ("tidemill", table.native(&native), expected),
            ("table", table, expected),
            ("tidemill-select", picky.native(&select), wanted),
        ] {
            let (seconds, sum) = measured::<Sum>(&decoder, *message, bytes, passes)?;
            if sum != expected {
                return Err(format!("{who}: {sum:?}, not {expected:?}"));
            }
            add(who, seconds);
        }
        for (who, decoder) in [("tidemill-check", table.native(&check)), ("table-check", table)] {
            add(who, measured::<()>(&decoder, *message, bytes, passes)?.0);
        }
        let decoder = table.native(&native);
        let (seconds, result) = cpu_seconds(|| {
            (0..passes).try_for_each(|_| {
                into.clear();
                decoder.decode(*message, black_box(bytes), &mut into.builder())
            })
        });
        result.map_err(|error| error.to_string())?;
        add("tidemill-message", seconds);
        for peer in peers.iter().flat_map(Peers::all) {
            add(peer.name(), peer.run(case, passes)?);
        }
    }
    let rows: Vec<Row> = rows
        .into_iter()
        .map(|(who, rates)| Row {
            bench: "proto",
            case: case.name.to_owned(),
            who: who.to_owned(),
            metric: "mb_per_s",
            runs: rates.len(),
            value: median(rates),
            unit: "MB/s",
        })
        .collect();
    report.case(&rows, Better::High);
    Ok(())
}
