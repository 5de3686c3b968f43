//! Bytes of descriptors as text.

use super::names::{Field, Names};

/// The maximum number of columns of a message on one line.
const COLUMNS_MAX: usize = 100;
/// The maximum depth of what is printed as a message; deeper ones are printed as bytes.
const DEPTH_MAX: usize = 100;

/// A field as text; a message may have its lines.
struct Item {
    head: String,
    inside: Option<Vec<Item>>,
}

/// Prints the fields of a message. `None` if other bytes would have the same text: a varint that is
/// longer than need be, an unknown wire type, a cut field.
pub fn message(names: &Names, of: &str, bytes: &[u8]) -> Option<String> {
    let items = items(names, of, bytes, DEPTH_MAX)?;
    let mut text = String::new();
    write_all(&items, &mut text, 0);
    Some(text)
}

/// Prints bytes in quotes: as characters if they are UTF-8.
pub fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    match std::str::from_utf8(bytes) {
        Ok(found) => found.chars().for_each(|c| match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() && c.is_ascii() => text += &format!("\\x{:02x}", u32::from(c)),
            c => text.push(c),
        }),
        Err(_) => bytes.iter().for_each(|byte| match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            byte => text += &format!("\\x{byte:02x}"),
        }),
    }
    text.push('"');
    text
}

impl Item {
    /// The item on one line, without indentation.
    fn flat(&self) -> String {
        let Some(inside) = &self.inside else { return self.head.clone() };
        let parts: String = inside.iter().map(|item| format!("{} ", item.flat())).collect();
        format!("{} {{ {parts}}}", self.head)
    }

    /// Writes its lines.
    fn write(&self, text: &mut String, depth: usize) {
        let (indent, flat) = ("  ".repeat(depth), self.flat());
        match &self.inside {
            Some(inside) if depth == 0 || indent.len() + columns(&flat) > COLUMNS_MAX => {
                *text += &format!("{indent}{} {{\n", self.head);
                write_all(inside, text, depth + 1);
                *text += &format!("{indent}}}\n");
            }
            _ => *text += &format!("{indent}{flat}\n"),
        }
    }
}

/// Writes items; values share lines as long as there is space.
fn write_all(items: &[Item], text: &mut String, depth: usize) {
    let (mut line, indent) = (String::new(), "  ".repeat(depth));
    let end = |line: &mut String, text: &mut String| {
        if !line.is_empty() {
            *text += &format!("{indent}{line}\n");
            line.clear();
        }
    };
    for item in items {
        let is_full = indent.len() + columns(&line) + 1 + columns(&item.head) > COLUMNS_MAX;
        if item.inside.is_some() || is_full {
            end(&mut line, text);
        }
        match &item.inside {
            Some(_) => item.write(text, depth),
            None if line.is_empty() => line.clone_from(&item.head),
            None => line += &format!(" {}", item.head),
        }
    }
    end(&mut line, text);
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

/// The number and value of a length-delimited field, which is taken from the bytes.
pub fn delimited<'b>(rest: &mut &'b [u8]) -> Option<(u64, &'b [u8])> {
    let tag = varint(rest)?;
    let length = usize::try_from(varint(rest)?).ok()?;
    let value = rest.split_off(..length)?;
    (tag & 7 == 2).then_some((tag >> 3, value))
}

fn items(names: &Names, of: &str, bytes: &[u8], depth_max: usize) -> Option<Vec<Item>> {
    let mut rest = bytes;
    let (items, end) = fields(names, of, &mut rest, depth_max)?;
    end.is_none().then_some(items)
}

/// The fields up to the end of the bytes or of a group, and the number of that group.
fn fields(
    names: &Names,
    of: &str,
    rest: &mut &[u8],
    depth_max: usize,
) -> Option<(Vec<Item>, Option<u64>)> {
    let mut items = Vec::new();
    while !rest.is_empty() {
        let tag = varint(rest)?;
        let number = tag >> 3;
        if number == 0 || number >= 1 << 29 {
            return None;
        }
        let known = names.fields(of).iter().find(|field| field.number == number);
        items.push(match tag & 7 {
            0 => number_item(names, number, known, varint(rest)?),
            1 => fixed(number, rest, 8)?,
            2 => {
                let length = usize::try_from(varint(rest)?).ok()?;
                length_item(names, number, known, rest.split_off(..length)?, depth_max)
            }
            3 => {
                let (inside, end) = fields(names, "", rest, depth_max.checked_sub(1)?)?;
                (end == Some(number)).then_some(())?;
                Item { head: format!("{number} group"), inside: Some(inside) }
            }
            4 => return Some((items, Some(number))),
            5 => fixed(number, rest, 4)?,
            _ => return None,
        });
    }
    Some((items, None))
}

/// A varint in its shortest form.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let byte = *rest.split_off_first()?;
        let part = u64::from(byte & 0x7f);
        (shift < 63 || shift == 63 && part <= 1).then_some(())?;
        value |= part << shift;
        shift += 7;
        if byte < 0x80 {
            // The last of several bytes is not zero.
            return (byte != 0 || shift == 7).then_some(value);
        }
    }
}

fn number_item(names: &Names, number: u64, known: Option<&Field>, value: u64) -> Item {
    let line = |name: &str, value: &str| Item { head: format!("{name}: {value}"), inside: None };
    let Some(field) = known else { return line(&number.to_string(), &value.to_string()) };
    let signed = value.cast_signed();
    if let Some(values) = names.values(&field.of) {
        let value = values.iter().find(|(_, number)| *number == signed);
        let value = value.map_or_else(|| signed.to_string(), |(name, _)| name.clone());
        return line(&field.name, &value);
    }
    match (field.of.as_str(), value) {
        ("bool", 0) => line(&field.name, "false"),
        ("bool", 1) => line(&field.name, "true"),
        ("int32" | "int64", _) => line(&field.name, &signed.to_string()),
        ("bool" | "uint64", _) => line(&field.name, &value.to_string()),
        _ => line(&number.to_string(), &value.to_string()),
    }
}

/// A number of fixed size, with all of its digits.
fn fixed(number: u64, rest: &mut &[u8], size: usize) -> Option<Item> {
    let bytes = rest.split_off(..size)?;
    let digits: String = bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect();
    Some(Item { head: format!("{number}: 0x{digits}"), inside: None })
}

/// A message, or bytes in quotes. Of what is not known, printable bytes are in quotes.
fn length_item(
    names: &Names,
    number: u64,
    known: Option<&Field>,
    bytes: &[u8],
    depth_max: usize,
) -> Item {
    let of = known.map_or("", |field| field.of.as_str());
    let name = known.map_or_else(|| number.to_string(), |field| field.name.clone());
    let is_printable = bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
    let may_be_message = match known {
        Some(_) => names.is_message(of),
        None => !is_printable,
    };
    let inside = (may_be_message && depth_max > 0).then(|| items(names, of, bytes, depth_max - 1));
    match inside.flatten() {
        Some(inside) => Item { head: name, inside: Some(inside) },
        None => Item { head: format!("{name}: {}", quoted(bytes)), inside: None },
    }
}
