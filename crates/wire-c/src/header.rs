//! Tests that the header agrees with the code in numbers and names. `tests/c.rs` compares sizes and
//! offsets of members with a C compiler.

use std::collections::BTreeMap;

use crate::error::Code;
use crate::events::EventKind;
use crate::value::ValueKind;
use crate::write::flags;

const HEADER: &str = include_str!("../include/tidemill_wire.h");

/// `TIDEMILL_NAME = NUMBER` of all enums.
fn enumerators() -> BTreeMap<&'static str, u32> {
    let words = HEADER.lines().filter_map(|line| {
        let (name, rest) = line.trim().strip_prefix("TIDEMILL_")?.split_once(" = ")?;
        let number = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        Some((name, number.parse().ok()?))
    });
    words.collect()
}

#[test]
fn numbers_are_those_of_the_code() {
    let ours = [
        ("OK", 0),
        ("MISUSE", Code::Misuse as u32),
        ("SCHEMA", Code::Schema as u32),
        ("DECODE", Code::Decode as u32),
        ("PARSE", Code::Parse as u32),
        ("ENCODE", Code::Encode as u32),
        ("ACCESS", Code::Access as u32),
        ("STOPPED", Code::Stopped as u32),
        ("INTERNAL", Code::Internal as u32),
        ("ABSENT", ValueKind::Absent as u32),
        ("F64", ValueKind::F64 as u32),
        ("F32", ValueKind::F32 as u32),
        ("I64", ValueKind::I64 as u32),
        ("U64", ValueKind::U64 as u32),
        ("I32", ValueKind::I32 as u32),
        ("U32", ValueKind::U32 as u32),
        ("BOOL", ValueKind::Bool as u32),
        ("STRING", ValueKind::String as u32),
        ("BYTES", ValueKind::Bytes as u32),
        ("ENUM", ValueKind::Enum as u32),
        ("MESSAGE", ValueKind::Message as u32),
        ("LIST", ValueKind::List as u32),
        ("MAP", ValueKind::Map as u32),
        ("SINGLE", 0),
        ("REPEATED", 1),
        ("ENTRIES", 2),
        ("NATIVE", crate::decoder::NATIVE),
        ("TABLE", crate::decoder::TABLE),
        ("REQUIRED", crate::decoder::REQUIRED),
        ("SORTED", flags::SORTED),
        ("CHECK_REQUIRED", flags::CHECK_REQUIRED),
        ("PROTO_NAMES", flags::PROTO_NAMES),
        ("ENUM_NUMBERS", flags::ENUM_NUMBERS),
        ("PRINT_DEFAULTS", flags::PRINT_DEFAULTS),
        ("IGNORE_UNKNOWN", flags::IGNORE_UNKNOWN),
        ("PRINT_UNKNOWN", flags::PRINT_UNKNOWN),
        ("ONE_LINE", flags::ONE_LINE),
        ("START_MESSAGE", EventKind::StartMessage as u32),
        ("END_MESSAGE", EventKind::EndMessage as u32),
        ("START_SUB", EventKind::StartSub as u32),
        ("END_SUB", EventKind::EndSub as u32),
        ("VALUE", EventKind::Value as u32),
        ("UNKNOWN", EventKind::Unknown as u32),
    ];
    assert_eq!(enumerators(), BTreeMap::from(ours));
}

#[test]
fn every_function_of_the_code_is_declared_and_the_other_way_round() {
    let sources = [
        include_str!("change.rs"),
        include_str!("decoder.rs"),
        include_str!("error.rs"),
        include_str!("events.rs"),
        include_str!("guard.rs"),
        include_str!("schema.rs"),
        include_str!("read.rs"),
        include_str!("write.rs"),
    ];
    let name = |line: &'static str, before: &str| -> Option<&'static str> {
        let (_, rest) = line.split_once(before)?;
        let name = rest.split('(').next()?;
        name.starts_with("tidemill_").then_some(name)
    };
    let ours = sources.iter().flat_map(|text| text.lines()).filter_map(|line| name(line, "fn "));
    let mut ours: Vec<&str> = ours.collect();
    // Declarations begin a line; inline functions are not exported by the code.
    let declared = HEADER.lines().filter_map(|line| {
        let first = line.chars().next()?;
        let declares = first.is_ascii_lowercase() && line.contains('(');
        let at = line.find("(")?;
        let start = line[..at].rfind([' ', '*'])? + 1;
        let name = &line[start..at];
        (declares && name.starts_with("tidemill_") && !line.starts_with("static")).then_some(name)
    });
    let mut declared: Vec<&str> = declared.filter(|name| *name != "tidemill_callback").collect();
    ours.sort_unstable();
    declared.sort_unstable();
    assert_eq!(ours, declared);
}
