//! All ways to decode a case must have the same events.

use tidemill_stdx::rng::Rng;
use tidemill_wire::decode::{DEPTH_MAX, Listing, Native, Strings};
use tidemill_wire::{
    DecodeError, Decoder, ErrorKind, FieldId, Message, MessageId, Schema, Sink, SinkResult, Tables,
    Wants,
};

use super::case::Head;
use super::log::Log;

/// The events of a decoder as text, and its result.
pub type Outcome = (String, Result<(), DecodeError>);

/// The cuts into pieces that are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cuts {
    /// Cuts at every pair of offsets, if there are not too many.
    Every,
    /// A few cuts, chosen by the bytes.
    Few,
}

/// A schema with its decoders.
pub struct Engines {
    pub head: Head,
    pub schema: Schema,
    pub message: MessageId,
    tables: Tables,
    native: Native,
    checking: Native,
    /// Into messages in memory.
    viewed: Native,
    copied: Native,
}

impl Engines {
    /// Compiles all decoders; fails for an invalid schema.
    pub fn new(head: Head) -> Result<Engines, String> {
        let (schema, message, tables) = head.build()?;
        let native = Native::compile(&schema, &tables, Wants::ALL).unwrap();
        let checking = Native::compile(&schema, &tables, Wants::NONE).unwrap();
        let [viewed, copied] = [Strings::Viewed, Strings::Copied].map(|strings| {
            Native::for_messages(&schema, &tables, strings, Listing::Dropped).unwrap()
        });
        Ok(Engines { head, schema, message, tables, native, checking, viewed, copied })
    }

    fn table_decoder(&self) -> Decoder<'_> {
        let depth_max = self.head.depth_max.unwrap_or(DEPTH_MAX);
        Decoder::with(&self.schema, &self.tables).depth_max(depth_max)
    }

    pub fn whole(&self, bytes: &[u8]) -> Outcome {
        whole(&self.table_decoder(), &self.schema, self.message, bytes)
    }

    /// The text of a failure: the case, and the way in which it was decoded.
    fn case(&self, bytes: &[u8], how: &str) -> String {
        let bytes: String = bytes.iter().map(|byte| format!(" {byte:02x}")).collect();
        format!("{}--- bytes\n{bytes}\n{how}", self.head)
    }

    /// Decodes in every way and compares; panics where two differ. Returns the common outcome.
    pub fn check(&self, bytes: &[u8], cuts: Cuts) -> Outcome {
        let (schema, message) = (&self.schema, self.message);
        let table = self.table_decoder();
        let native = table.native(&self.native);
        let outcome = whole(&table, schema, message, bytes);
        let other = whole(&native, schema, message, bytes);
        same(&outcome, &other, || self.case(bytes, "native"));
        // Near the end of a page the code stops before the end of the input.
        let mut page = vec![0; 2 * 4096];
        let end = page.as_ptr().align_offset(4096);
        let end = if end < bytes.len() { end + 4096 } else { end };
        if end >= bytes.len() && end <= page.len() {
            let place = &mut page[end - bytes.len()..end];
            place.copy_from_slice(bytes);
            let other = whole(&native, schema, message, place);
            same(&outcome, &other, || self.case(bytes, "page"));
        }
        for decoder in [table, table.native(&self.checking)] {
            let result = decoder.decode(message, bytes, &mut ());
            assert_eq!(outcome.1, result, "{}", self.case(bytes, "checking"));
        }
        let lines = outcome.0.lines().count();
        let stops: Vec<usize> = match cuts {
            Cuts::Every => (0..lines.min(40)).collect(),
            Cuts::Few => bytes
                .last()
                .map(|&byte| usize::from(byte) % (lines + 1))
                .into_iter()
                .filter(|&after| after < lines)
                .collect(),
        };
        for after in stops {
            let [a, b] = [table, native]
                .map(|decoder| whole_until(&decoder, schema, message, bytes, Some(after)));
            same(&a, &b, || self.case(bytes, &format!("stopped after {after}")));
            assert_eq!(a.1.unwrap_err().kind, ErrorKind::Stopped);
        }
        let cuts = match cuts {
            Cuts::Every => every_cut(bytes.len()),
            Cuts::Few => few_cuts(bytes),
        };
        for cuts in &cuts {
            for decoder in [table, native] {
                let streamed = streamed(&decoder, schema, message, bytes, cuts);
                same(&outcome, &streamed, || self.case(bytes, &format!("cut at {cuts:?}")));
            }
        }
        self.check_messages(bytes, &cuts);
        outcome
    }

    /// Decodes into messages in memory in every way and compares.
    fn check_messages(&self, bytes: &[u8], cuts: &[Vec<usize>]) {
        let table = self.table_decoder();
        let new = || Message::new(&self.schema, self.message).unwrap();
        // A reused message has garbage where a new one has zeros.
        let (mut expected, mut viewed, mut copied) = (new(), new(), new());
        for round in 0..2 {
            let outcome = expected.decode_with(&table, bytes);
            let how = |what| self.case(bytes, &format!("{what}, round {round}"));
            let other = viewed.decode_with(&table.native(&self.viewed), bytes);
            assert_eq!(outcome, other, "{}", how("viewed"));
            assert_same(&expected, &viewed, || how("viewed"));
            let other = copied.decode_copied_with(&table.native(&self.copied), bytes);
            assert_eq!(outcome, other, "{}", how("copied"));
            assert_same(&expected, &copied, || how("copied"));
        }
        let outcome = expected.decode_with(&table, bytes);
        let mut by_events = new();
        let other = table.decode(self.message, bytes, &mut ByEvents(by_events.builder()));
        assert_eq!(outcome, other, "{}", self.case(bytes, "by events"));
        assert_same(&expected, &by_events, || self.case(bytes, "by events"));
        for cuts in cuts {
            for decoder in [table, table.native(&self.copied)] {
                let mut built = new();
                let how = || self.case(bytes, &format!("a message, cut at {cuts:?}"));
                let other = streamed_into(&decoder, self.message, bytes, cuts, &mut built);
                assert_eq!(outcome, other, "{}", how());
                // The message has no piece of an incomplete string.
                assert_same(&expected, &built, how);
            }
        }
    }
}

/// A builder that receives every value as an event: decoders do not know that it fills a message.
struct ByEvents<B>(B);

macro_rules! forward {
    ($($name:ident($($argument:ident: $ty:ty),*);)+) => {
        $(fn $name(&mut self, $($argument: $ty),*) -> SinkResult {
            self.0.$name($($argument),*)
        })+
    };
}

impl<'a, B: Sink<'a>> Sink<'a> for ByEvents<B> {
    forward! {
        start_message(message: MessageId);
        end_message(message: MessageId);
        start_sub(field: FieldId);
        end_sub(field: FieldId);
        i64(field: FieldId, value: i64);
        u64(field: FieldId, value: u64);
        i32(field: FieldId, value: i32);
        u32(field: FieldId, value: u32);
        f64(field: FieldId, value: f64);
        f32(field: FieldId, value: f32);
        bool(field: FieldId, value: bool);
        start_string(field: FieldId, length: usize);
        string(field: FieldId, piece: &'a str);
        raw_string(field: FieldId, piece: &'a [u8]);
        end_string(field: FieldId);
        whole_string(field: FieldId, text: &'a str);
        start_bytes(field: FieldId, length: usize);
        bytes(field: FieldId, piece: &'a [u8]);
        end_bytes(field: FieldId);
        unknown(number: u32, raw: &'a [u8]);
        unknown_element(number: u32, value: u64);
    }
}

/// Fails if two outcomes differ, and shows their last lines, the last one first.
fn same(outcome: &Outcome, other: &Outcome, how: impl Fn() -> String) {
    if outcome != other {
        let end = |text: &str| text.lines().rev().take(9).collect::<Vec<_>>().join("\n");
        panic!("{}\n{}{:?}\n--\n{}{:?}", how(), end(&outcome.0), outcome.1, end(&other.0), other.1);
    }
}

fn assert_same(one: &Message<'_>, other: &Message<'_>, how: impl Fn() -> String) {
    if one != other || one.encode() != other.encode() {
        panic!("{}\n{one:?}\n--\n{other:?}", how());
    }
}

fn streamed_into(
    decoder: &Decoder<'_>,
    message: MessageId,
    bytes: &[u8],
    cuts: &[usize],
    into: &mut Message<'_>,
) -> Result<(), DecodeError> {
    let mut builder = into.copying_builder();
    let mut stream = decoder.stream(message);
    let mut from = 0;
    for &to in cuts.iter().chain([&bytes.len()]) {
        let piece = bytes[from..to].to_vec();
        stream.push(&piece, &mut builder)?;
        from = to;
    }
    stream.finish(&mut builder)
}

fn whole(decoder: &Decoder<'_>, schema: &Schema, message: MessageId, bytes: &[u8]) -> Outcome {
    whole_until(decoder, schema, message, bytes, None)
}

fn whole_until(
    decoder: &Decoder<'_>,
    schema: &Schema,
    message: MessageId,
    bytes: &[u8],
    stop_after: Option<usize>,
) -> Outcome {
    let mut log = Log::new(schema);
    log.stop_after = stop_after;
    let result = decoder.decode(message, bytes, &mut log);
    (log.text, result)
}

fn streamed(
    decoder: &Decoder<'_>,
    schema: &Schema,
    message: MessageId,
    bytes: &[u8],
    cuts: &[usize],
) -> Outcome {
    let mut log = Log::new(schema);
    let mut stream = decoder.stream(message);
    let mut from = 0;
    for &to in cuts.iter().chain([&bytes.len()]) {
        // Each piece in an allocation of its own, so that reads after it are detected.
        let piece = bytes[from..to].to_vec();
        if let Err(error) = stream.push(&piece, &mut log) {
            return (log.text, Err(error));
        }
        from = to;
    }
    let result = stream.finish(&mut log);
    (log.text, result)
}

/// Up to `PAIRS_MAX` bytes are cut at every pair of places.
const PAIRS_MAX: usize = 48;

/// Ways to cut `length` bytes into pieces: all of them, or many.
fn every_cut(length: usize) -> Vec<Vec<usize>> {
    let mut cuts = vec![vec![], (1..length).collect()];
    if length <= PAIRS_MAX {
        let pairs = (0..=length).flat_map(|a| (a..=length).map(move |b| vec![a, b]));
        cuts.extend(pairs);
        return cuts;
    }
    let mut rng = Rng::new(length as u64);
    let singles = (0..=length).step_by(1 + length / 200).map(|cut| vec![cut]);
    cuts.extend(singles);
    for _ in 0..300 {
        let mut many: Vec<usize> =
            (0..1 + rng.below(4)).map(|_| rng.below(length as u64 + 1) as usize).collect();
        many.sort_unstable();
        cuts.push(many);
    }
    cuts
}

/// Some ways to cut these bytes into pieces, which change with the bytes.
fn few_cuts(bytes: &[u8]) -> Vec<Vec<usize>> {
    let seed = bytes
        .iter()
        .fold(0, |sum: u64, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut rng = Rng::new(seed);
    let mut place = || rng.below(bytes.len() as u64 + 1) as usize;
    let mut cuts: Vec<Vec<usize>> =
        (1..4).map(|count| (0..count).map(|_| place()).collect()).collect();
    cuts.iter_mut().for_each(|cuts| cuts.sort_unstable());
    if bytes.len() <= PAIRS_MAX {
        cuts.push((1..bytes.len()).collect());
    }
    cuts
}
