//! All ways to decode a case must tell the same.

use tidemill_stdx::rng::Rng;
use tidemill_wire::decode::{Listing, Native, Strings};
use tidemill_wire::{DecodeError, Decoder, ErrorKind, Message, MessageId, Schema, Tables, Wants};

use crate::log::Log;

/// What a decoder told, and how it ended.
pub type Told = (String, Result<(), DecodeError>);

/// A schema with what decodes it.
pub struct Engines<'s> {
    pub schema: &'s Schema,
    pub tables: &'s Tables,
    pub native: Native,
    pub checking: Native,
    /// Into messages in memory.
    pub viewed: Native,
    pub copied: Native,
    pub depth_max: usize,
}

impl<'s> Engines<'s> {
    pub fn new(schema: &'s Schema, tables: &'s Tables) -> Engines<'s> {
        let native = Native::compile(schema, tables, Wants::ALL).unwrap();
        let checking = Native::compile(schema, tables, Wants::NONE).unwrap();
        let depth_max = tidemill_wire::decode::DEPTH_MAX;
        let [viewed, copied] = [Strings::Viewed, Strings::Copied].map(|strings| {
            Native::for_messages(schema, tables, strings, Listing::Dropped).unwrap()
        });
        Engines { schema, tables, native, checking, viewed, copied, depth_max }
    }

    fn table_decoder(&self) -> Decoder<'_> {
        Decoder::with(self.schema, self.tables).depth_max(self.depth_max)
    }

    pub fn whole(&self, message: MessageId, bytes: &[u8]) -> Told {
        whole(&self.table_decoder(), self.schema, message, bytes)
    }

    /// Decodes in every way and compares; panics where two differ. Gives what all told.
    pub fn check(&self, message: MessageId, bytes: &[u8]) -> Told {
        let table = self.table_decoder();
        let native = table.native(&self.native);
        let told = whole(&table, self.schema, message, bytes);
        let other = whole(&native, self.schema, message, bytes);
        same(&told, &other, || format!("native, {bytes:02x?}"));
        // At the end of a page the code stops before the end.
        let mut page = vec![0; 2 * 4096];
        let end = page.as_ptr().align_offset(4096);
        let end = if end < bytes.len() { end + 4096 } else { end };
        if end >= bytes.len() && end <= page.len() {
            let place = &mut page[end - bytes.len()..end];
            place.copy_from_slice(bytes);
            let other = whole(&native, self.schema, message, place);
            same(&told, &other, || format!("page, {bytes:02x?}"));
        }
        for decoder in [table, table.native(&self.checking)] {
            let result = decoder.decode(message, bytes, &mut ());
            assert_eq!(told.1, result, "checking, {bytes:02x?}");
        }
        for stop_after in 0..told.0.lines().count().min(40) {
            let [a, b] = [table, native].map(|decoder| {
                whole_until(&decoder, self.schema, message, bytes, Some(stop_after))
            });
            same(&a, &b, || format!("stopped after {stop_after}, {bytes:02x?}"));
            assert_eq!(a.1.unwrap_err().kind, ErrorKind::Stopped);
        }
        for cuts in cuts(bytes.len()) {
            for decoder in [table, native] {
                let streamed = streamed(&decoder, self.schema, message, bytes, &cuts);
                same(&told, &streamed, || format!("cut at {cuts:?}, {bytes:02x?}"));
            }
        }
        self.check_messages(message, bytes);
        told
    }

    /// Decodes into messages in memory in every way and compares.
    fn check_messages(&self, message: MessageId, bytes: &[u8]) {
        let table = self.table_decoder();
        let new = || Message::new(self.schema, message).unwrap();
        // A message that was in use has garbage where a new one has zeros.
        let (mut expected, mut viewed, mut copied) = (new(), new(), new());
        for round in 0..2 {
            let told = expected.decode_with(&table, bytes);
            let other = viewed.decode_with(&table.native(&self.viewed), bytes);
            assert_eq!(told, other, "viewed, round {round}, {bytes:02x?}");
            assert_same(&expected, &viewed, || format!("viewed, round {round}, {bytes:02x?}"));
            let other = copied.decode_copied_with(&table.native(&self.copied), bytes);
            assert_eq!(told, other, "copied, round {round}, {bytes:02x?}");
            assert_same(&expected, &copied, || format!("copied, round {round}, {bytes:02x?}"));
        }
        let told = expected.decode_with(&table, bytes);
        for cuts in cuts(bytes.len()) {
            for decoder in [table, table.native(&self.copied)] {
                let mut built = new();
                let other = streamed_into(&decoder, message, bytes, &cuts, &mut built);
                assert_eq!(told, other, "cut at {cuts:?}, {bytes:02x?}");
                // Of a string that is not complete no piece is in the message.
                assert_same(&expected, &built, || format!("cut at {cuts:?}, {bytes:02x?}"));
            }
        }
    }
}

/// Fails where two tell different things, and shows the last lines, the last one first.
fn same(told: &Told, other: &Told, how: impl Fn() -> String) {
    if told != other {
        let end = |text: &str| text.lines().rev().take(9).collect::<Vec<_>>().join("\n");
        panic!("{}\n{}{:?}\n--\n{}{:?}", how(), end(&told.0), told.1, end(&other.0), other.1);
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

fn whole(decoder: &Decoder<'_>, schema: &Schema, message: MessageId, bytes: &[u8]) -> Told {
    whole_until(decoder, schema, message, bytes, None)
}

fn whole_until(
    decoder: &Decoder<'_>,
    schema: &Schema,
    message: MessageId,
    bytes: &[u8],
    stop_after: Option<usize>,
) -> Told {
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
) -> Told {
    let mut log = Log::new(schema);
    let mut stream = decoder.stream(message);
    let mut from = 0;
    for &to in cuts.iter().chain([&bytes.len()]) {
        // Each piece for itself, so that nothing behind it can be looked at.
        let piece = bytes[from..to].to_vec();
        if let Err(error) = stream.push(&piece, &mut log) {
            return (log.text, Err(error));
        }
        from = to;
    }
    let result = stream.finish(&mut log);
    (log.text, result)
}

/// So many bytes are cut at every pair of places.
const PAIRS_MAX: usize = 48;

/// Ways to cut so many bytes into pieces.
fn cuts(length: usize) -> Vec<Vec<usize>> {
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
