//! Functions compared with plain evaluators: the standard library for addresses and integers,
//! `serde_json` for JSON.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::prelude::*;

use super::FunctionId;
use crate::flat::{OwnedValue, SeqBuilder};
use crate::limits::copy_into;
use crate::testing::{any_text, show, text_of};
use crate::text::parse_value;
use crate::value::Value;

/// The result of a function, in text form.
fn call(name: &str, arguments: &[Value<'_>]) -> String {
    let id = FunctionId::from_name(name).expect("a function of this name");
    show(|scope| {
        let arguments: Vec<_> =
            arguments.iter().map(|value| copy_into(*value, scope.scratch)).collect();
        id.call(&arguments, scope)
    })
}

/// The result of a function; the reason if it is an error.
fn value(name: &str, arguments: &[Value<'_>]) -> Result<OwnedValue, String> {
    let text = call(name, arguments);
    match text.strip_prefix("error: ") {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(parse_value(&text).expect("what is printed can be read")),
    }
}

fn any_ip() -> impl Strategy<Value = IpAddr> {
    let groups = prop_oneof![Just(0u16), any::<u16>()];
    prop_oneof![
        any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
        [(); 8].map(|()| groups.clone()).prop_map(|groups| IpAddr::V6(Ipv6Addr::from(groups))),
    ]
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Bit by bit, from the most significant.
fn bits(address: IpAddr) -> Vec<bool> {
    let octets = octets(address);
    octets.iter().flat_map(|octet| (0..8).rev().map(move |bit| octet >> bit & 1 == 1)).collect()
}

fn document() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value as Json;
    let escaped = ('\0'..='\x1f').chain(['"', '\\', '/', '\u{1f600}']).collect();
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        any_text(8).prop_map(Json::from),
        text_of(escaped, 4).prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let entry = (any_text(3), inner.clone());
        prop_oneof![
            vec(inner, 0..4).prop_map(Json::from),
            vec(entry, 0..4).prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

/// The value of a document.
fn expected(document: &serde_json::Value) -> OwnedValue {
    use serde_json::Value as Json;
    let mut list = SeqBuilder::new();
    match document {
        Json::Null => OwnedValue::new(Value::Null),
        Json::Bool(truth) => OwnedValue::new(Value::Bool(*truth)),
        Json::Number(number) => OwnedValue::new(match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Double(number.as_f64().expect("a number")),
        }),
        Json::String(text) => OwnedValue::new(Value::Str(text)),
        Json::Array(elements) => {
            elements.iter().for_each(|element| list.push(expected(element).get()));
            OwnedValue::new(Value::List(list.as_seq()))
        }
        Json::Object(entries) => {
            for (name, value) in entries {
                let mut row = SeqBuilder::new();
                row.push(Value::Str(name));
                row.push(expected(value).get());
                list.push(Value::Vector(row.as_seq()));
            }
            OwnedValue::new(Value::Matrix(list.as_seq()))
        }
    }
}

proptest! {
    #[test]
    fn addresses_are_those_of_the_standard_library(address in any_ip()) {
        let bytes = octets(address);
        let (text, bytes) = (address.to_string(), Value::Bytes(&bytes));
        prop_assert_eq!(value("ip", &[Value::Str(&text)]), Ok(OwnedValue::new(bytes)));
        prop_assert_eq!(value("ip", &[bytes]), Ok(OwnedValue::new(bytes)));
        prop_assert_eq!(value("addrText", &[bytes]), Ok(OwnedValue::new(Value::Str(&text))));
    }

    #[test]
    fn addresses_are_ordered_as_numbers(a in any::<u32>(), b in any::<u32>()) {
        let (x, y) = (a.to_be_bytes(), b.to_be_bytes());
        prop_assert_eq!(Value::Bytes(&x).compare(&Value::Bytes(&y)), a.cmp(&b));
    }

    #[test]
    fn texts_are_addresses_or_not(text in "[0-9a-f:./]{0,20}|.{0,12}") {
        let ours = value("ip", &[Value::Str(&text)]).ok();
        let parsed: Option<IpAddr> = text.parse().ok();
        let theirs = parsed.map(octets);
        prop_assert_eq!(ours, theirs.map(|bytes| OwnedValue::new(Value::Bytes(&bytes))));
        // None of them panics at any other text.
        for function in ["mac", "parseTime", "fromJson", "unhex"] {
            let _ = call(function, &[Value::Str(&text)]);
        }
        let _ = call("inNet", &[Value::Str("10.0.0.1"), Value::Str(&text)]);
        let _ = call("formatTime", &[Value::Time(0), Value::Str(&text)]);
    }

    #[test]
    fn prefixes_by_bits(address in any_ip(), net in any_ip(), length in 0usize..132, near: bool) {
        // The prefix that the address has, or any other.
        let net = if near { address } else { net };
        let kept: Vec<bool> = bits(net).into_iter().take(length).collect();
        let cleared = call("net", &[Value::Str(&net.to_string()), Value::Int(length as i64)]);
        if length > bits(net).len() {
            prop_assert!(cleared.starts_with("error: net: a prefix of "), "{cleared}");
            return Ok(());
        }
        let network = parse_value(&cleared).expect("an address");
        let network = value("addrText", &[network.get()]).expect("an address");
        let network = network.get().as_str().expect("a text");
        let base: IpAddr = network.parse().expect("an address");
        let all = bits(base);
        prop_assert!(all[..length] == kept[..] && all[length..].iter().all(|bit| !bit));
        let prefix = format!("{network}/{length}");
        let inside = bits(address).starts_with(&kept) && address.is_ipv4() == net.is_ipv4();
        let address = octets(address);
        let found = call("inNet", &[Value::Bytes(&address), Value::Str(&prefix)]);
        prop_assert_eq!(found, inside.to_string());
    }

    #[test]
    fn macs_survive(bytes: [u8; 6], dashes: bool) {
        let text = value("addrText", &[Value::Bytes(&bytes)]).expect("a text");
        let text = text.get().as_str().expect("a text").to_owned();
        let text = if dashes { text.replace(':', "-").to_uppercase() } else { text };
        let read = value("mac", &[Value::Str(&text)]);
        prop_assert_eq!(read, Ok(OwnedValue::new(Value::Bytes(&bytes))));
    }

    #[test]
    fn integers_in_bytes(bytes in vec(any::<u8>(), 0..12), offset in -2i64..14, size in -1i64..11) {
        let taken = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
        let taken = taken.and_then(|(offset, size)| bytes.get(offset..offset + size));
        let taken = taken.filter(|taken| (1..=8).contains(&taken.len()));
        let number = |read: fn([u8; 8]) -> u64, pad: fn(&[u8]) -> [u8; 8]| {
            let number = taken.map(|taken| read(pad(taken)));
            number.and_then(|number| i64::try_from(number).ok())
        };
        let high = number(u64::from_be_bytes, |taken| {
            let mut all = [0; 8];
            all[8 - taken.len()..].copy_from_slice(taken);
            all
        });
        let low = number(u64::from_le_bytes, |taken| {
            let mut all = [0; 8];
            all[..taken.len()].copy_from_slice(taken);
            all
        });
        let arguments = [Value::Bytes(&bytes), Value::Int(offset), Value::Int(size)];
        for (function, expected) in [("uintBE", high), ("uintLE", low)] {
            let given = value(function, &arguments).ok();
            prop_assert_eq!(given, expected.map(|number| OwnedValue::new(Value::Int(number))));
        }
        // With a sign: the first or last byte has it, and fills what is missing of 8.
        let sign = |byte: Option<&u8>| match byte {
            Some(0x80..) => 0xff,
            _ => 0,
        };
        let high = taken.map(|taken| {
            let mut all = [sign(taken.first()); 8];
            all[8 - taken.len()..].copy_from_slice(taken);
            i64::from_be_bytes(all)
        });
        let low = taken.map(|taken| {
            let mut all = [sign(taken.last()); 8];
            all[..taken.len()].copy_from_slice(taken);
            i64::from_le_bytes(all)
        });
        for (function, expected) in [("intBE", high), ("intLE", low)] {
            let given = value(function, &arguments).ok();
            prop_assert_eq!(given, expected.map(|number| OwnedValue::new(Value::Int(number))));
        }
    }

    #[test]
    fn integers_as_bytes(number in prop_oneof![any::<i64>(), -1i64..70_000], size in 0i64..10) {
        let (high, low) = (number.to_be_bytes(), number.to_le_bytes());
        let kept = usize::try_from(size).ok().filter(|size| (1..=8).contains(size));
        let kept = kept.filter(|&kept| number >= 0 && high[..8 - kept].iter().all(|&it| it == 0));
        let arguments = [Value::Int(number), Value::Int(size)];
        for (function, expected) in [
            ("bytesBE", kept.map(|kept| &high[8 - kept..])),
            ("bytesLE", kept.map(|kept| &low[..kept])),
        ] {
            let given = value(function, &arguments).ok();
            prop_assert_eq!(given, expected.map(|it| OwnedValue::new(Value::Bytes(it))));
        }
    }

    #[test]
    fn slices_and_digits(bytes in vec(any::<u8>(), 0..12), start in 0i64..14, length in 0i64..14) {
        let cut: Vec<u8> =
            bytes.iter().copied().skip(start as usize).take(length as usize).collect();
        let arguments = [Value::Bytes(&bytes), Value::Int(start), Value::Int(length)];
        prop_assert_eq!(value("slice", &arguments), Ok(OwnedValue::new(Value::Bytes(&cut))));
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let hex = value("hex", &[Value::Bytes(&bytes)]);
        prop_assert_eq!(hex, Ok(OwnedValue::new(Value::Str(&digits))));
        let back = value("unhex", &[Value::Str(&digits.to_uppercase())]);
        prop_assert_eq!(back, Ok(OwnedValue::new(Value::Bytes(&bytes))));
    }

    #[test]
    fn documents_are_those_of_serde_json(document in document(), pretty: bool) {
        let text = if pretty {
            serde_json::to_string_pretty(&document).expect("a text")
        } else {
            document.to_string()
        };
        let read = value("fromJson", &[Value::Str(&text)]).map(|value| value.to_string());
        prop_assert_eq!(&read, &Ok(expected(&document).to_string()));
        // Written again it is the same document, and the same text.
        let written = value("toJson", &[expected(&document).get()]).expect("a text");
        let written = written.get().as_str().expect("a text").to_owned();
        let again = value("fromJson", &[Value::Str(&written)]).map(|value| value.to_string());
        prop_assert_eq!(&again, &read);
        let theirs: Result<serde_json::Value, _> = serde_json::from_str(&written);
        let theirs = theirs.expect("what is written is JSON");
        prop_assert_eq!(theirs.is_object(), document.is_object());
    }

    #[test]
    fn texts_are_documents_or_not(
        document in document(),
        at: prop::sample::Index,
        by in "[\\[\\]{},:\"\\\\u0-9eE.+ -]{0,2}",
    ) {
        let mut characters: Vec<char> = document.to_string().chars().collect();
        let at = at.index(characters.len());
        characters.splice(at..at + 1, by.chars());
        let text: String = characters.into_iter().collect();
        let ours = value("fromJson", &[Value::Str(&text)]);
        let theirs: Result<serde_json::Value, _> = serde_json::from_str(&text);
        match (ours, theirs) {
            // Integers beyond 64 bits are doubles there.
            (Err(reason), Ok(_)) => {
                prop_assert!(reason.contains("a number out of range"), "{text}: {reason}");
            }
            (Ok(ours), Err(error)) => prop_assert!(false, "{text} is {ours}: {error}"),
            _ => {}
        }
    }
}

#[test]
fn documents_nest_as_deep_as_values() {
    let nested = |open: &str, close: &str, depth: usize| {
        let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        value("fromJson", &[Value::Str(&text)]).map(|_| ())
    };
    let too_deep =
        |at: usize| Err(format!("fromJson: arrays and objects nest too deep at byte {at}"));
    assert_eq!(nested("[", "]", 64), Ok(()));
    assert_eq!(nested("[", "]", 65), too_deep(64));
    assert_eq!(nested("[", "]", if cfg!(miri) { 1000 } else { 1_000_000 }), too_deep(64));
    // A matrix and its rows.
    assert_eq!(nested("{\"a\":", "}", 32), Ok(()));
    assert_eq!(nested("{\"a\":", "}", 33), too_deep(160));
}

#[test]
#[cfg_attr(miri, ignore = "megabytes of text")]
fn documents_have_a_bound() {
    let text = format!("[{}1]", "1,".repeat(2 << 20));
    let read = value("fromJson", &[Value::Str(&text)]);
    assert!(read.is_err_and(|reason| reason.contains("the value is too large")));
    let escaped = "\x01".repeat(4 << 20);
    let written = value("toJson", &[Value::Str(&escaped)]);
    assert!(written.is_err_and(|reason| reason.contains("larger than 16777216 bytes")));
}
