//! Rows of a table as columns of a relation, and back.
//!
//! ```text
//! exact    @N, KEY, ...,                        VALUE, ...
//! prefix   @N, KEY, ..., bits of the last key,  VALUE, ...
//! ternary  @N, KEY, ..., MASK, ..., priority,   VALUE, ...
//! ```
//! Addresses are bytes, in network order; booleans are bool; all else is an integer. A number of 64
//! bits is the integer of the same bits, so one above 2^63-1 is negative.

use std::fmt;

use tidemill_packet::kernel::table::Row;
use tidemill_packet::kernel::table::spec::{Column, Meaning, TableKind, TableSpec};
use tidemill_relation::{OwnedValue, TypeSet, Value};

/// The types of the columns; the first is the location.
pub(super) fn types(spec: &TableSpec) -> Vec<TypeSet> {
    let types = |columns: &[Column]| columns.iter().map(type_of).collect::<Vec<_>>();
    let mut all = vec![TypeSet::TEXT];
    all.extend(types(&spec.key));
    match spec.kind {
        TableKind::Exact => {}
        TableKind::Prefix => all.push(TypeSet::INT),
        TableKind::Ternary => {
            all.extend(types(&spec.key));
            all.push(TypeSet::INT);
        }
    }
    all.extend(types(&spec.values));
    all
}

fn type_of(column: &Column) -> TypeSet {
    match column.meaning {
        Meaning::Number => TypeSet::INT,
        Meaning::Truth => TypeSet::BOOL,
        Meaning::Ipv4 | Meaning::Ipv6 | Meaning::Mac => TypeSet::BYTES,
    }
}

/// The columns of the key, from 0, without the location.
pub(super) fn key(spec: &TableSpec) -> Vec<u32> {
    let found_by = match spec.kind {
        TableKind::Exact => spec.key.len(),
        TableKind::Prefix => spec.key.len() + 1,
        TableKind::Ternary => 2 * spec.key.len(),
    };
    (1..=found_by as u32).collect()
}

/// The relation in the syntax of rules.
pub(super) fn form(app: &str, spec: &TableSpec) -> String {
    let mut names: Vec<String> = spec.key.iter().map(|it| variable(&it.name)).collect();
    match spec.kind {
        TableKind::Exact => {}
        TableKind::Prefix => names.push("Prefix".to_owned()),
        TableKind::Ternary => {
            names.extend(spec.key.iter().map(|it| format!("{}Mask", variable(&it.name))));
            names.push("Priority".to_owned());
        }
    }
    names.extend(spec.values.iter().map(|it| variable(&it.name)));
    format!("`{app}::{}(@N, {})`", spec.name, names.join(", "))
}

/// A variable for a column: `last_seen` is `LastSeen`.
fn variable(column: &str) -> String {
    let part = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    column.split('_').map(part).collect()
}

/// The columns of a row, without the location.
pub(super) fn columns_of(spec: &TableSpec, row: &Row) -> Vec<OwnedValue> {
    let mut all = Vec::new();
    let mut put = |columns: &[Column], numbers: &[u128]| {
        all.extend(columns.iter().zip(numbers).map(|(column, number)| value_of(column, *number)));
    };
    put(&spec.key, &row.key);
    match spec.kind {
        TableKind::Exact => {}
        TableKind::Prefix => {
            let bits = row.mask.last().map_or(0, |mask| mask.count_ones());
            put(&[number("", 64)], &[bits.into()]);
        }
        TableKind::Ternary => {
            put(&spec.key, &row.mask);
            put(&[number("", 64)], &[row.priority.into()]);
        }
    }
    put(&spec.values, &row.values);
    all
}

fn value_of(column: &Column, number: u128) -> OwnedValue {
    let bytes = number.to_be_bytes();
    OwnedValue::new(match column.meaning {
        Meaning::Number => Value::Int(number as i64),
        Meaning::Truth => Value::Bool(number != 0),
        Meaning::Ipv4 => Value::Bytes(&bytes[12..]),
        Meaning::Ipv6 => Value::Bytes(&bytes),
        Meaning::Mac => Value::Bytes(&bytes[10..]),
    })
}

/// Why columns are no row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum RowError {
    /// A prefix that is longer than its column.
    Prefix { prefix: i64, bits: u32 },
    /// A key with bits beyond its prefix.
    BeyondPrefix(String),
    /// A key with bits that are not in its mask.
    BeyondMask(String),
    /// A number that is too large for its column.
    Range { number: i64, bits: u32, column: String },
    /// A value of another type, or none.
    Type { value: String, expected: Meaning, column: String },
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowError::Prefix { prefix, bits } => {
                write!(f, "a prefix of {prefix} bits; the column has {bits}")
            }
            RowError::BeyondPrefix(column) => {
                write!(f, "`{column}` has bits beyond its prefix; `f_net` clears them")
            }
            RowError::BeyondMask(column) => {
                write!(f, "`{column}` has bits that are not in its mask")
            }
            RowError::Range { number, bits, column } => {
                write!(f, "{number} is no number of {bits} bits: `{column}`")
            }
            RowError::Type { value, expected, column } => {
                let what = match expected {
                    Meaning::Number => "a number",
                    Meaning::Truth => "a truth value",
                    Meaning::Ipv4 => "the 4 bytes of an address",
                    Meaning::Ipv6 => "the 16 bytes of an address",
                    Meaning::Mac => "the 6 bytes of an address",
                };
                write!(f, "{value} is not {what}: `{column}`")
            }
        }
    }
}

/// The row with these columns; the location is skipped. Masked bits of a key are set to 0, so that
/// two rows of the relation are never one entry.
///
/// # Errors
/// The column that does not fit, and why.
pub(super) fn row_of<'v>(
    spec: &TableSpec,
    columns: impl IntoIterator<Item = Value<'v>>,
) -> Result<Row, RowError> {
    let mut columns = columns.into_iter();
    let mut take = |declared: &[Column]| -> Result<Vec<u128>, RowError> {
        declared.iter().map(|column| number_of(column, columns.next())).collect()
    };
    let key = take(&spec.key)?;
    let all = || spec.key.iter().map(Column::mask);
    let (mask, priority) = match spec.kind {
        TableKind::Exact => (all().collect(), 0),
        TableKind::Prefix => {
            let prefix = take(&[number("Prefix", 64)])?[0];
            let bits = spec.key.last().map_or(0, |last| last.bits);
            if prefix > bits.into() {
                return Err(RowError::Prefix { prefix: prefix as i64, bits });
            }
            let rest = number("", bits - prefix as u32).mask();
            let mut mask: Vec<u128> = all().collect();
            mask.last_mut().into_iter().for_each(|last| *last &= !rest);
            (mask, 0)
        }
        // Rules have integers with a sign: a negative one would be the highest of all.
        TableKind::Ternary => (take(&spec.key)?, take(&[number("Priority", 63)])?[0] as u64),
    };
    let beyond = key.iter().zip(&mask).position(|(number, mask)| number & !mask != 0);
    if let Some(at) = beyond {
        let name = spec.key[at].name.clone();
        return Err(match spec.kind {
            TableKind::Prefix => RowError::BeyondPrefix(name),
            _ => RowError::BeyondMask(name),
        });
    }
    let values = take(&spec.values)?;
    Ok(Row { key, mask, priority, values })
}

fn number(name: &str, bits: u32) -> Column {
    Column { name: name.to_owned(), bits, meaning: Meaning::Number }
}

fn number_of(column: &Column, value: Option<Value<'_>>) -> Result<u128, RowError> {
    let name = || column.name.clone();
    let read = match (column.meaning, value) {
        (Meaning::Number, Some(Value::Int(number))) => {
            let bits = u128::from(number.cast_unsigned());
            if bits & !column.mask() != 0 {
                return Err(RowError::Range { number, bits: column.bits, column: name() });
            }
            Some(bits)
        }
        (Meaning::Truth, Some(Value::Bool(truth))) => Some(truth.into()),
        (Meaning::Ipv4, Some(Value::Bytes(bytes))) => address::<4>(bytes),
        (Meaning::Ipv6, Some(Value::Bytes(bytes))) => address::<16>(bytes),
        (Meaning::Mac, Some(Value::Bytes(bytes))) => address::<6>(bytes),
        _ => None,
    };
    read.ok_or_else(|| {
        let value = value.map_or_else(String::new, |value| value.to_string());
        RowError::Type { value, expected: column.meaning, column: name() }
    })
}

fn address<const BYTES: usize>(bytes: &[u8]) -> Option<u128> {
    let bytes: [u8; BYTES] = bytes.try_into().ok()?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: TableKind) -> TableSpec {
        let column = |name: &str, bits, meaning| Column { name: name.to_owned(), bits, meaning };
        TableSpec {
            name: "t".to_owned(),
            kind,
            key: vec![column("is_inner", 1, Meaning::Truth), column("net", 32, Meaning::Ipv4)],
            values: vec![column("hop", 48, Meaning::Mac), column("bytes", 64, Meaning::Number)],
            writer: tidemill_packet::kernel::table::spec::TableWriter::Program,
            size: 8,
            when_full: tidemill_packet::kernel::table::spec::WhenFull::Refuse,
            expire_ns: 0,
            expire_by: None,
            report_ns: 0,
        }
    }

    #[test]
    fn rows_go_there_and_back() {
        let all = u128::from(u32::MAX);
        for (kind, mask, priority, form_of) in [
            (TableKind::Exact, [1, all], 0, "`a::t(@N, IsInner, Net, Hop, Bytes)`"),
            (
                TableKind::Prefix,
                [1, 0xFFFF_FF00],
                0,
                "`a::t(@N, IsInner, Net, Prefix, Hop, Bytes)`",
            ),
            (
                TableKind::Ternary,
                [0, 0xFF00_FF00],
                9,
                "`a::t(@N, IsInner, Net, IsInnerMask, NetMask, Priority, Hop, Bytes)`",
            ),
        ] {
            let spec = spec(kind);
            let key = vec![mask[0], 0x0A01_0200 & mask[1]];
            let values = vec![0x0200_0000_0001, u64::MAX.into()];
            let row = Row { key, mask: mask.to_vec(), priority, values };
            let columns = columns_of(&spec, &row);
            assert_eq!(row_of(&spec, columns.iter().map(OwnedValue::get)), Ok(row));
            assert_eq!(types(&spec).len(), columns.len() + 1);
            assert!(
                columns
                    .iter()
                    .zip(&types(&spec)[1..])
                    .all(|(column, types)| { types.contains(column.get().type_of()) })
            );
            assert_eq!(form("a", &spec), form_of);
        }
        assert_eq!(key(&spec(TableKind::Exact)), [1, 2]);
        assert_eq!(key(&spec(TableKind::Prefix)), [1, 2, 3]);
        assert_eq!(key(&spec(TableKind::Ternary)), [1, 2, 3, 4]);
    }

    #[test]
    fn addresses_of_ipv6_are_16_bytes() {
        let mut spec = spec(TableKind::Prefix);
        spec.key[1] = Column { name: "net".to_owned(), bits: 128, meaning: Meaning::Ipv6 };
        let net = 0x2001_0db8_0001 << 80;
        let row = Row {
            key: vec![1, net],
            mask: vec![1, u128::MAX << 80],
            priority: 0,
            values: vec![2, 3],
        };
        let columns = columns_of(&spec, &row);
        assert_eq!(columns[1].get(), Value::Bytes(&net.to_be_bytes()));
        assert_eq!(columns[2].get(), Value::Int(48));
        assert_eq!(row_of(&spec, columns.iter().map(OwnedValue::get)), Ok(row));
        let short = columns[..].iter().map(OwnedValue::get).enumerate();
        let short = short.map(|(at, it)| if at == 1 { Value::Bytes(&[1; 4]) } else { it });
        let found = row_of(&spec, short).expect_err("it is no address of IPv6").to_string();
        assert!(found.ends_with("is not the 16 bytes of an address: `net`"), "{found}");
    }

    #[test]
    fn a_negative_priority_is_no_high_one() {
        let spec = spec(TableKind::Ternary);
        let row = Row { key: vec![0, 0], mask: vec![0, 0], priority: 5, values: vec![2, 3] };
        let mut columns: Vec<OwnedValue> = columns_of(&spec, &row);
        columns[4] = OwnedValue::new(Value::Int(-5));
        let found = row_of(&spec, columns.iter().map(OwnedValue::get)).expect_err("it is negative");
        assert_eq!(found.to_string(), "-5 is no number of 63 bits: `Priority`");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let mut spec = spec(TableKind::Prefix);
        spec.values[1].bits = 8;
        let (host, hop) = ([10, 1, 2, 3], [0; 6]);
        let check_net = |net: &[u8], prefix, hop, bytes, wrong: &str| {
            let columns = [
                Value::Bool(true),
                Value::Bytes(net),
                Value::Int(prefix),
                Value::Bytes(hop),
                Value::Int(bytes),
            ];
            let found = row_of(&spec, columns);
            let found = found.map_or_else(|error| error.to_string(), |_| String::new());
            assert_eq!(found, wrong);
        };
        let check =
            |prefix, hop, bytes, wrong| check_net(&[10, 1, 2, 0], prefix, hop, bytes, wrong);
        check(24, &hop, 255, "");
        check(33, &hop, 1, "a prefix of 33 bits; the column has 32");
        check(-1, &hop, 1, "a prefix of -1 bits; the column has 32");
        check_net(&host, 32, &hop, 1, "");
        check_net(&host, 24, &hop, 1, "`net` has bits beyond its prefix; `f_net` clears them");
        check(
            24,
            &hop[..4],
            1,
            "b\"\\x00\\x00\\x00\\x00\" is not the 6 bytes of an address: `hop`",
        );
        check(24, &hop, 256, "256 is no number of 8 bits: `bytes`");
        check(24, &hop, -1, "-1 is no number of 8 bits: `bytes`");
    }
}
