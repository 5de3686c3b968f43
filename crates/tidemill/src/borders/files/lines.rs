//! Tuples as lines: objects of JSON, and comma-separated values.
//!
//! Values have the form of `--json` lines: numbers, strings, booleans, null and lists as JSON, all
//! else in its text form. In CSV a list is JSON, null is an empty field and an empty string is
//! `""`.

use tidemill_relation::json::JsonWriter;
use tidemill_relation::{Value, text};
use tidemill_stdx::decimal::Decimal;

use super::column::Column;

/// Appends a line of JSON.
pub(super) fn json(out: &mut Vec<u8>, columns: &[Column], values: &[Value<'_>]) {
    let mut json = JsonWriter::new();
    json.object(|json| {
        for (column, value) in columns.iter().zip(values) {
            json.key(&column.name).value(*value);
        }
    });
    out.extend_from_slice(json.as_str().as_bytes());
    out.push(b'\n');
}

/// Appends the line of names that a CSV file begins with.
pub(super) fn csv_head(out: &mut Vec<u8>, columns: &[Column]) {
    separated(out, columns.iter(), |out, column| quoted(out, &column.name));
}

/// Appends a line of CSV.
pub(super) fn csv(out: &mut Vec<u8>, values: &[Value<'_>]) {
    separated(out, values.iter(), |out, value| match value {
        Value::Null => {}
        Value::Int(value) => out.extend_from_slice(Decimal::of(*value).as_bytes()),
        Value::Str(text) => quoted(out, text),
        Value::List(_) | Value::Vector(_) | Value::Matrix(_) => {
            let mut json = JsonWriter::new();
            json.value(*value);
            quoted(out, json.as_str());
        }
        value => {
            let mut plain = String::new();
            text::push_plain(&mut plain, *value);
            quoted(out, &plain);
        }
    });
}

fn separated<T>(
    out: &mut Vec<u8>,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b'\n');
}

/// A field, in quotes where it needs them (RFC 4180).
fn quoted(out: &mut Vec<u8>, text: &str) {
    let needs = |byte: u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    // Without a branch in the loop, so that it is vectorised.
    let special = text.bytes().fold(false, |special, byte| special | needs(byte));
    if !text.is_empty() && !special {
        return out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
    for byte in text.bytes() {
        out.extend(std::iter::repeat_n(byte, if byte == b'"' { 2 } else { 1 }));
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use tidemill_relation::TypeSet;
    use tidemill_relation::text::parse_value;

    use super::*;

    #[test]
    fn values_as_they_stand_in_lines() {
        let texts = ["null", "\"\"", "\"a,\\\"b\\\"\"", "1.5t", "[1, [true]]", "-7", "b\"\\xff\""];
        let values = texts.map(|text| parse_value(text).expect("a value"));
        let values: Vec<Value<'_>> = values.iter().map(|value| value.get()).collect();
        let column = |at| Column { name: format!("a{at}"), types: TypeSet::ANY };
        let columns: Vec<Column> = (1..=values.len()).map(column).collect();
        let mut out = Vec::new();
        csv_head(&mut out, &columns[..2]);
        csv(&mut out, &values);
        json(&mut out, &columns, &values);
        assert_eq!(
            String::from_utf8_lossy(&out),
            "a1,a2\n\
             ,\"\",\"a,\"\"b\"\"\",1.500000000t,\"[1,[true]]\",-7,\"b\"\"\\xff\"\"\"\n\
             {\"a1\":null,\"a2\":\"\",\"a3\":\"a,\\\"b\\\"\",\"a4\":\"1.500000000t\",\
             \"a5\":[1,[true]],\"a6\":-7,\"a7\":\"b\\\"\\\\xff\\\"\"}\n"
        );
    }
}
