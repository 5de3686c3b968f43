//! Functions of bytes, such as packets and messages. Positions and lengths count bytes, from 0.
//!
//! `==`, `<` and the like compare bytes from the first to the last, each as a number from 0 to
//! 255; where one is the beginning of the other it is the lesser.

use super::call::Call;
use super::declaration::{Function, one, optional, repeated};
use crate::eval::EvalError;
use crate::limits;
use crate::types::TypeSet;
use crate::value::Value;

const BYTES: TypeSet = TypeSet::BYTES;
const INT: TypeSet = TypeSet::INT;
const TEXT: TypeSet = TypeSet::TEXT;

type Evaluated<'a> = Result<Value<'a>, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("length", &[one("bytes", BYTES)], INT, length)
        .doc("The number of bytes.")
        .examples(&[("f_length(b\"abc\")", "3")])
        .see(&["strlen", "size"]),
    Function::new(
        "slice",
        &[one("bytes", BYTES), one("start", INT), optional("length", INT)],
        BYTES,
        slice,
    )
    .doc("The bytes from `start` on, at most `length`; what lies beyond the end is left out.")
    .examples(&[
        ("f_slice(b\"tidemill\", 4, 3)", "b\"mil\""),
        ("f_slice(b\"tidemill\", 4)", "b\"mill\""),
        ("f_slice(b\"tide\", 9)", "b\"\""),
    ])
    .see(&["substr"]),
    Function::new(
        "uintBE",
        &[one("bytes", BYTES), one("offset", INT), one("size", INT)],
        INT,
        |call| unsigned(call, |bytes| bytes.iter().fold(0, shift_in)),
    )
    .doc(
        "The unsigned integer in the `size` bytes (1 to 8) from `offset` on, the most significant \
         first; they must be there.",
    )
    .examples(&[("f_uintBE(b\"\\x45\\x00\\x01\\x02\", 2, 2)", "258")]),
    Function::new(
        "uintLE",
        &[one("bytes", BYTES), one("offset", INT), one("size", INT)],
        INT,
        |call| unsigned(call, |bytes| bytes.iter().rev().fold(0, shift_in)),
    )
    .doc("As `f_uintBE`, the least significant byte first.")
    .examples(&[("f_uintLE(b\"\\x45\\x00\\x01\\x02\", 2, 2)", "513")]),
    Function::new(
        "intBE",
        &[one("bytes", BYTES), one("offset", INT), one("size", INT)],
        INT,
        |call| signed(call, |bytes| bytes.iter().fold(0, shift_in)),
    )
    .doc("As `f_uintBE`, an integer with a sign (two's complement).")
    .examples(&[
        ("f_intBE(b\"\\x00\\xff\\xfe\", 1, 2)", "-2"),
        ("f_intBE(b\"\\x00\\xff\\xfe\", 0, 3)", "65534"),
    ]),
    Function::new(
        "intLE",
        &[one("bytes", BYTES), one("offset", INT), one("size", INT)],
        INT,
        |call| signed(call, |bytes| bytes.iter().rev().fold(0, shift_in)),
    )
    .doc("As `f_intBE`, the least significant byte first.")
    .examples(&[("f_intLE(b\"\\xfe\\xff\\x00\", 0, 2)", "-2")]),
    Function::new("bytesBE", &[one("x", INT), one("size", INT)], BYTES, |call| {
        written(call, |bytes, size| bytes[8 - size..].to_vec())
    })
    .doc(
        "The integer from 0 on as `size` bytes (1 to 8), the most significant first; it must fit \
         into them.",
    )
    .examples(&[("f_bytesBE(258, 4)", "b\"\\x00\\x00\\x01\\x02\"")]),
    Function::new("bytesLE", &[one("x", INT), one("size", INT)], BYTES, |call| {
        written(call, |bytes, size| bytes[8 - size..].iter().rev().copied().collect())
    })
    .doc("As `f_bytesBE`, the least significant byte first.")
    .examples(&[("f_bytesLE(258, 4)", "b\"\\x02\\x01\\x00\\x00\"")]),
    Function::new("hex", &[one("x", BYTES.union(TypeSet::ID).union(INT))], TEXT, hex)
        .doc(
            "Hex digits in lower case: two for each byte, 40 for an ID, of an integer from 0 on as \
             many as it needs.",
        )
        .examples(&[("f_hex(b\"\\x0a\\xff\")", "\"0aff\""), ("f_hex(255)", "\"ff\"")])
        .see(&["tostr"]),
    Function::new("unhex", &[one("text", TEXT)], BYTES, unhex)
        .doc("The bytes of which these are the hex digits, in either case.")
        .examples(&[("f_unhex(\"0aFF\")", "b\"\\x0a\\xff\"")]),
    Function::new("bytes", &[repeated("x", BYTES.union(TEXT))], BYTES, bytes)
        .doc("The bytes of all arguments, one after the other; of texts their UTF-8.")
        .examples(&[("f_bytes(\"a\", b\"\\x00\")", "b\"a\\x00\"")]),
    Function::new("text", &[one("bytes", BYTES)], TEXT, text)
        .doc("The text whose UTF-8 these bytes are.")
        .examples(&[("f_text(b\"M\\xc3\\xbchle\")", "\"Mühle\"")])
        .see(&["tostr"]),
];

fn length<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(Value::Int(call.bytes(0)?.len() as i64))
}

fn slice<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let bytes = call.bytes(0)?;
    let start = call.count(1)?.min(bytes.len());
    let rest = &bytes[start..];
    let length = match call.arguments().get(2) {
        Some(_) => call.count(2)?.min(rest.len()),
        None => rest.len(),
    };
    Ok(Value::Bytes(&rest[..length]))
}

fn shift_in(number: u64, byte: &u8) -> u64 {
    number << 8 | u64::from(*byte)
}

fn unsigned<'a>(call: &Call<'_, 'a>, read: fn(&[u8]) -> u64) -> Evaluated<'a> {
    let number = read(integer(call)?);
    i64::try_from(number).map(Value::Int).map_err(|_| EvalError::Overflow)
}

fn signed<'a>(call: &Call<'_, 'a>, read: fn(&[u8]) -> u64) -> Evaluated<'a> {
    let bytes = integer(call)?;
    let above = 64 - 8 * bytes.len() as u32;
    Ok(Value::Int((read(bytes) << above).cast_signed() >> above))
}

/// The bytes of an integer among others, 1 to 8.
fn integer<'a>(call: &Call<'_, 'a>) -> Result<&'a [u8], EvalError> {
    let bytes = call.bytes(0)?;
    let (offset, size) = (call.count(1)?, call.count(2)?);
    if !(1..=8).contains(&size) {
        return Err(call.fail(format!("an integer has 1 to 8 bytes, not {size}")));
    }
    let taken = offset.checked_add(size).and_then(|end| bytes.get(offset..end));
    taken.ok_or_else(|| {
        let length = bytes.len();
        call.fail(format!("no {size} bytes from {offset} on among {length}"))
    })
}

fn written<'a>(call: &Call<'_, 'a>, write: fn(&[u8; 8], usize) -> Vec<u8>) -> Evaluated<'a> {
    let (number, size) = (call.int(0)?, call.count(1)?);
    if !(1..=8).contains(&size) {
        return Err(call.fail(format!("an integer has 1 to 8 bytes, not {size}")));
    }
    let Ok(number) = u64::try_from(number) else {
        return Err(call.fail(format!("{number} is negative")));
    };
    if size < 8 && number >> (8 * size) > 0 {
        return Err(call.fail(format!("{number} does not fit into {size} bytes")));
    }
    call.give_bytes(&write(&number.to_be_bytes(), size))
}

fn hex<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    match call.value(0) {
        Value::Int(number) if number < 0 => Err(call.fail(format!("{number} is negative"))),
        Value::Int(number) => call.give_text(&format!("{number:x}")),
        Value::Id(id) => call.give_text(&digits(&id.to_be_bytes())),
        _ => {
            let bytes = call.bytes(0)?;
            limits::check_size(call.name(), bytes.len().saturating_mul(2))?;
            call.give_text(&digits(bytes))
        }
    }
}

fn digits(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn unhex<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let text = call.text(0)?;
    if text.len() % 2 == 1 {
        return Err(call.fail("a byte has two hex digits"));
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let byte = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks_exact(2).map(byte).collect();
    call.give_bytes(&bytes.ok_or_else(|| call.fail("not a hex digit"))?)
}

fn bytes<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let mut out = Vec::new();
    for argument in call.arguments() {
        let part = argument.as_str().map_or_else(|| argument.as_bytes(), |it| Some(it.as_bytes()));
        out.extend_from_slice(part.unwrap_or_default());
        limits::check_size(call.name(), out.len())?;
    }
    call.give_bytes(&out)
}

fn text<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    match std::str::from_utf8(call.bytes(0)?) {
        Ok(text) => Ok(Value::Str(text)),
        Err(error) => {
            let at = error.valid_up_to();
            Err(call.fail(format!("no UTF-8 at byte {at}")))
        }
    }
}
