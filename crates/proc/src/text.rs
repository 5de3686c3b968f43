//! Texts: blocks of bytes with value semantics, owned by one word each.
//!
//! ```text
//! 0  length u32   4  capacity u32   8  bytes
//! ```
//! The empty text has no block. A 0X ends a text for showing and comparing; its length stays
//! that of its making. Numbers are read and written here, too: there is one form of each.

use tidemill_stdx::decimal::Decimal;

use crate::fault::Reason;
use crate::handle::Words;
use crate::layout::{OK, TEXT_BYTES};
use crate::machine::Context;
use crate::machine::Worker;
use crate::memory::OutOfMemory;

const HEADER: usize = TEXT_BYTES as usize;
/// Longer ones are taken for a mistake.
pub(crate) const LENGTH_MAX: usize = 1 << 31;

fn block(word: u64) -> Words {
    Words(std::ptr::with_exposed_provenance_mut(word as usize))
}

/// All bytes of a text.
pub(crate) fn bytes<'a>(word: u64) -> &'a [u8] {
    if word == 0 {
        return &[];
    }
    let length = block(word).get(0) as u32 as usize;
    // SAFETY: the block has its length's bytes after the header; callers use them at once, before
    // the text can change.
    unsafe { std::slice::from_raw_parts(block(word).0.cast::<u8>().add(HEADER), length) }
}

/// The bytes up to the first 0X.
pub(crate) fn shown<'a>(word: u64) -> &'a [u8] {
    let bytes = bytes(word);
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

/// A text of these many 0X.
fn blank(worker: &mut Worker, length: usize) -> Result<u64, OutOfMemory> {
    if length == 0 {
        return Ok(0);
    }
    let block = worker.memory.take(size_for(length)?)?;
    Ok(begin(worker, block, length))
}

/// Bytes of the block of a text that is not empty.
fn size_for(length: usize) -> Result<usize, OutOfMemory> {
    if length > LENGTH_MAX { Err(OutOfMemory) } else { Ok(HEADER + length.next_multiple_of(8)) }
}

/// Writes a text that is not empty into words that are zero; in another block it is no text of its
/// own, and never freed.
pub(crate) fn place(to: Words, from: &[u8]) -> u64 {
    to.set(0, from.len() as u64 | (from.len().next_multiple_of(8) as u64) << 32);
    let bytes = to.at(1).0.cast::<u8>();
    // SAFETY: the caller's block has room for them, and nothing else refers to it.
    unsafe { bytes.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    to.0.expose_provenance() as u64
}

/// Writes the header.
fn begin(worker: &mut Worker, block: *mut u8, length: usize) -> u64 {
    let (block, capacity) = (Words(block.cast()), length.next_multiple_of(8));
    block.set(0, length as u64 | (capacity as u64) << 32);
    worker.machine.counts.texts.add();
    block.0.expose_provenance() as u64
}

/// A text of these bytes, owned by the caller.
pub(crate) fn make(worker: &mut Worker, from: &[u8]) -> Result<u64, OutOfMemory> {
    if from.is_empty() {
        return Ok(0);
    }
    let block = worker.memory.take_unset(size_for(from.len())?)?;
    // SAFETY: the new block has room for them, and is not shared yet.
    unsafe { block.add(HEADER).copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    Ok(begin(worker, block, from.len()))
}

/// As [`make`], with zeros after the bytes.
pub(crate) fn make_filled(worker: &mut Worker, from: &[u8]) -> Result<u64, OutOfMemory> {
    let word = blank(worker, from.len())?;
    if word != 0 {
        place(block(word), from);
    }
    Ok(word)
}

/// Frees a text's block.
pub(crate) fn free(worker: &mut Worker, word: u64) {
    if word != 0 {
        let capacity = (block(word).get(0) >> 32) as usize;
        worker.machine.counts.texts.remove();
        worker.memory.give(block(word).0.cast(), HEADER + capacity);
    }
}

/// The order of texts: bytes up to the 0X.
pub(crate) fn order(left: u64, right: u64) -> std::cmp::Ordering {
    shown(left).cmp(shown(right))
}

/// Gives a new text as the result.
fn give(cx: &mut Context, made: Result<u64, OutOfMemory>, position: u32) -> u32 {
    match made {
        Ok(word) => {
            cx.frame.set_result(word);
            OK
        }
        Err(error) => cx.out_of_memory(error, position),
    }
}

pub(crate) fn literal(cx: &mut Context, from: *const u8, length: u64, position: u32) -> u32 {
    // SAFETY: `length` bytes of the program's constants begin at `from`.
    let from = unsafe { std::slice::from_raw_parts(from, length as usize) };
    let made = make(cx.worker, from);
    give(cx, made, position)
}

pub(crate) fn copy(cx: &mut Context, text: u64, position: u32) -> u32 {
    let made = make(cx.worker, bytes(text));
    give(cx, made, position)
}

pub(crate) fn new(cx: &mut Context, length: i64, position: u32) -> u32 {
    match usize::try_from(length) {
        Ok(count) if count <= LENGTH_MAX => {
            let made = blank(cx.worker, count);
            give(cx, made, position)
        }
        _ => cx.fault(Reason::Length, length, position),
    }
}

pub(crate) fn length(_: &mut Context, text: u64) -> i64 {
    bytes(text).len() as i64
}

pub(crate) fn compare(_: &mut Context, left: u64, right: u64) -> i64 {
    order(left, right) as i64
}

fn index_of(text: u64, index: i64) -> Option<usize> {
    usize::try_from(index).ok().filter(|&at| at < bytes(text).len())
}

pub(crate) fn get(cx: &mut Context, text: u64, index: i64, position: u32) -> u32 {
    match index_of(text, index) {
        Some(at) => {
            cx.frame.set_result(u64::from(bytes(text)[at]));
            OK
        }
        None => cx.outside(index, bytes(text).len() as u64, position),
    }
}

pub(crate) fn set(cx: &mut Context, text: u64, index: i64, character: u64, position: u32) -> u32 {
    match index_of(text, index) {
        Some(at) => {
            let to = block(text).0.cast::<u8>().wrapping_add(HEADER + at);
            // SAFETY: the index is within the text's bytes.
            unsafe { to.write(character as u8) };
            OK
        }
        None => cx.outside(index, bytes(text).len() as u64, position),
    }
}

/// The shortest form that reads back, with a point or an exponent.
pub(crate) fn show_real(value: f64) -> String {
    if value.is_nan() {
        return "NAN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "INF" } else { "-INF" }.to_owned();
    }
    format!("{value:?}").replace('e', "E")
}

/// Upper-case digits and H.
pub(crate) fn show_hex(value: i64) -> String {
    format!("{value:X}H")
}

pub(crate) fn show_boolean(value: u64) -> &'static str {
    if value == 0 { "FALSE" } else { "TRUE" }
}

pub(crate) fn of_integer(cx: &mut Context, value: i64, position: u32) -> u32 {
    let made = make(cx.worker, Decimal::of(value).as_bytes());
    give(cx, made, position)
}

pub(crate) fn of_real(cx: &mut Context, value: f64, position: u32) -> u32 {
    let made = make(cx.worker, show_real(value).as_bytes());
    give(cx, made, position)
}

pub(crate) fn of_character(cx: &mut Context, value: u64, position: u32) -> u32 {
    let made = make(cx.worker, &[value as u8]);
    give(cx, made, position)
}

pub(crate) fn of_boolean(cx: &mut Context, value: u64, position: u32) -> u32 {
    let made = make(cx.worker, show_boolean(value).as_bytes());
    give(cx, made, position)
}

/// Reads an INTEGER as the source writes it: decimal with a sign, or hexadecimal with an H.
pub(crate) fn read_integer(bytes: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(bytes).ok()?.trim_matches(' ');
    if let Some(digits) = text.strip_suffix('H') {
        let plain = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F'));
        return plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten().map(|n| n as i64);
    }
    text.parse().ok()
}

/// Reads a REAL as the source writes it, an INTEGER included.
pub(crate) fn read_real(bytes: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(bytes).ok()?.trim_matches(' ');
    // Words like `inf` are numbers to the library only.
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'E' | 'e');
    if !text.chars().all(plain) {
        return None;
    }
    text.parse().ok()
}

fn no_number(cx: &mut Context, text: u64, what: &str, position: u32) -> u32 {
    let shown = String::from_utf8_lossy(shown(text));
    let message = format!("\"{}\" is no {what}", shown.escape_default());
    cx.fault_with(Reason::NotANumber, message, position)
}

pub(crate) fn to_integer(cx: &mut Context, text: u64, position: u32) -> u32 {
    match read_integer(shown(text)) {
        Some(value) => {
            cx.frame.set_result(value as u64);
            OK
        }
        None => no_number(cx, text, "INTEGER", position),
    }
}

pub(crate) fn to_real(cx: &mut Context, text: u64, position: u32) -> u32 {
    match read_real(shown(text)) {
        Some(value) => {
            cx.frame.set_result(value.to_bits());
            OK
        }
        None => no_number(cx, text, "REAL", position),
    }
}

pub(crate) fn integer_of_real(cx: &mut Context, value: f64, position: u32) -> u32 {
    let floor = libm::floor(value);
    // 2^63 is the first that does not fit; NaN fails both.
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&floor) {
        cx.frame.set_result(floor as i64 as u64);
        OK
    } else {
        let message = format!("{} is no INTEGER", show_real(value));
        cx.fault_with(Reason::Conversion, message, position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_form_each() {
        for (value, shown) in [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e16, "1E16"),
            (1.5e-7, "1.5E-7"),
            (-0.0, "-0.0"),
            (f64::INFINITY, "INF"),
        ] {
            assert_eq!(show_real(value), shown);
        }
        assert_eq!(read_real(b"1.5E-7"), Some(1.5e-7));
        assert_eq!(read_real(b"inf"), None);
        assert_eq!((show_hex(255), show_hex(16)), ("FFH".to_owned(), "10H".to_owned()));
        assert_eq!(read_integer(b"0FFH"), Some(255));
        assert_eq!(read_integer(show_hex(-1).as_bytes()), Some(-1));
        assert_eq!(read_integer(b" -12"), Some(-12));
        assert_eq!(read_integer(b"9223372036854775808"), None);
        assert_eq!(read_integer(b""), None);
    }
}
