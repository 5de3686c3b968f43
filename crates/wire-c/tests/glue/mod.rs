//! Fuzzed messages through the C functions, called as from C: their results equal those of the Rust
//! library, and all are freed.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use tidemill_wire::json::{self, Defaults, Enums, JsonSink, Mapping, Names, PrintOptions};
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{Encoder, MapOrder, Message};
// Linked for its functions, which are declared below.
use tidemill_wire_c as _;

const PROTO: &str = "syntax = \"proto3\"; package c; enum E { ZERO = 0; ONE = 1; }
message M { string s = 1; int32 x = 2; string t = 3; double d = 4; bytes b = 5; E e = 6;
  repeated M many = 7; map<string, M> by_name = 8; repeated sint64 list = 9; M one = 10;
  map<int32, string> names = 11; optional bool o = 12; }";

#[repr(C)]
#[derive(Clone, Copy)]
struct View {
    words: [*mut u8; 3],
}

#[repr(C)]
struct Buffer {
    data: *mut u8,
    length: usize,
}

type Handle = *mut c_void;
type Write = unsafe extern "C" fn(View, u32, *mut Buffer, *mut Handle) -> bool;

unsafe extern "C" {
    fn tidemill_schema_from_text(
        file: *const c_char,
        text: *const u8,
        length: usize,
        error: *mut Handle,
    ) -> Handle;
    fn tidemill_schema_free(schema: Handle);
    fn tidemill_schema_find_type(schema: Handle, name: *const c_char) -> u32;
    fn tidemill_decoder_new(
        schema: Handle,
        engine: u32,
        depth_max: usize,
        bytes_max: usize,
        error: *mut Handle,
    ) -> Handle;
    fn tidemill_decoder_free(decoder: Handle);
    fn tidemill_message_new(schema: Handle, of: u32, memory: usize, error: *mut Handle) -> Handle;
    fn tidemill_message_free(message: Handle);
    fn tidemill_message_decode(
        message: Handle,
        decoder: Handle,
        data: *const u8,
        length: usize,
        error: *mut Handle,
    ) -> bool;
    fn tidemill_message_view(message: Handle) -> View;
    fn tidemill_encode(view: View, flags: u32, out: *mut Buffer, error: *mut Handle) -> bool;
    fn tidemill_to_json(view: View, flags: u32, out: *mut Buffer, error: *mut Handle) -> bool;
    fn tidemill_to_text(view: View, flags: u32, out: *mut Buffer, error: *mut Handle) -> bool;
    fn tidemill_bytes_to_json(
        decoder: Handle,
        of: u32,
        data: *const u8,
        length: usize,
        flags: u32,
        out: *mut Buffer,
        error: *mut Handle,
    ) -> bool;
    fn tidemill_buffer_free(buffer: *mut Buffer);
    fn tidemill_error_code(error: Handle) -> u32;
    fn tidemill_error_free(error: Handle);
}

/// Handles that live as long as the thread; the first decoder is native, the second uses tables.
struct Known {
    schema: Handle,
    of: u32,
    decoders: [Handle; 2],
}

impl Known {
    fn new() -> Known {
        // SAFETY: texts and addresses are valid; none of the results is null.
        unsafe {
            let (text, name) = (PROTO.as_bytes(), c"c.M".as_ptr());
            let file = c"c.proto".as_ptr();
            let schema = tidemill_schema_from_text(file, text.as_ptr(), text.len(), null_mut());
            assert!(!schema.is_null());
            let of = tidemill_schema_find_type(schema, name);
            let decoder = |engine| tidemill_decoder_new(schema, engine, 0, 0, null_mut());
            Known { schema, of, decoders: [decoder(0), decoder(1)] }
        }
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        // SAFETY: the handles are not used again.
        unsafe {
            self.decoders.iter().for_each(|&decoder| tidemill_decoder_free(decoder));
            tidemill_schema_free(self.schema);
        }
    }
}

/// The bytes that a function writes to a buffer; `None` if it fails.
///
/// # Safety
/// `write` keeps to the header.
unsafe fn written(write: impl FnOnce(*mut Buffer, *mut Handle) -> bool) -> Option<Vec<u8>> {
    let mut out = Buffer { data: null_mut(), length: 0 };
    let mut error = null_mut();
    let done = write(&raw mut out, &raw mut error);
    // SAFETY: the buffer is valid until it is freed.
    unsafe {
        if !done {
            assert!(tidemill_error_code(error) > 0);
            tidemill_error_free(error);
            return None;
        }
        let bytes = if out.data.is_null() {
            Vec::new()
        } else {
            std::slice::from_raw_parts(out.data, out.length).to_vec()
        };
        tidemill_buffer_free(&raw mut out);
        Some(bytes)
    }
}

/// The first byte is flags, the others are a message; true if they decode.
pub fn check(input: &[u8]) -> bool {
    thread_local! {
        static KNOWN: Known = Known::new();
    }
    let Some((&flags, bytes)) = input.split_first() else { return false };
    // The flags of writing.
    let flags = u32::from(flags) & !0x22;
    KNOWN.with(|known| {
        let answers = known.decoders.map(|decoder| {
            // SAFETY: handles live, and are freed once.
            unsafe {
                let message = tidemill_message_new(known.schema, known.of, 0, null_mut());
                let (data, length) = (bytes.as_ptr(), bytes.len());
                let done = tidemill_message_decode(message, decoder, data, length, null_mut());
                let view = tidemill_message_view(message);
                let ways: [Write; 3] = [tidemill_encode, tidemill_to_json, tidemill_to_text];
                let mut all: Vec<_> = ways
                    .into_iter()
                    .map(|way| written(|out, error| way(view, flags, out, error)))
                    .collect();
                all.push(written(|out, error| {
                    tidemill_bytes_to_json(decoder, known.of, data, length, flags, out, error)
                }));
                // With a null address nothing is made, and so nothing leaks.
                assert!(!tidemill_to_json(view, flags, null_mut(), null_mut()));
                tidemill_message_free(message);
                done.then_some(all)
            }
        });
        let [native, table] = answers;
        assert_eq!(native, table);
        let Some(all) = native else { return false };
        compare(flags, bytes, &all);
        true
    })
}

/// Compares the results with those of the Rust library.
fn compare(flags: u32, bytes: &[u8], all: &[Option<Vec<u8>>]) {
    let compiled = compile(&["c.proto"], &Texts::from_iter([("c.proto", PROTO)]));
    let schema = compiled.schema.expect("it is sound");
    let message = Message::from_bytes(&schema, "c.M", bytes).expect("it was decoded");
    let bit = |flag| flags & flag != 0;
    let order = if bit(1) { MapOrder::ByKey } else { MapOrder::Stored };
    let encoded = Encoder::new().map_order(order).encode(message.as_ref());
    assert_eq!(all[0], encoded.ok());
    let mapping = Mapping::new(&schema);
    let options = PrintOptions {
        names: if bit(4) { Names::Proto } else { Names::Json },
        enums: if bit(8) { Enums::Number } else { Enums::Name },
        defaults: if bit(16) { Defaults::Print } else { Defaults::Omit },
        ..PrintOptions::default()
    };
    let mut sink = JsonSink::new(&mapping, options);
    let printed = json::print_message(&mut sink, message.as_ref());
    assert_eq!(all[1], printed.ok().map(|()| sink.into_bytes()));
    assert_eq!(all[1].is_some(), all[3].is_some());
    assert!(all[2].is_some());
}
