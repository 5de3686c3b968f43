//! Addresses of the Internet and of Ethernet, and prefixes of the former.
//!
//! An address is a value of type bytes, as it stands in a packet: 4 of IPv4, 16 of IPv6, 6 of a
//! MAC. So it is compared, joined, stored and sent as bytes are, and addresses of one kind are
//! ordered as numbers. Functions that read one also take its text form.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::call::Call;
use super::declaration::{Function, one};
use crate::eval::EvalError;
use crate::types::TypeSet;
use crate::value::Value;

const BYTES: TypeSet = TypeSet::BYTES;
const TEXT: TypeSet = TypeSet::TEXT;
const INT: TypeSet = TypeSet::INT;
/// An address, or its text form.
const ADDRESS: TypeSet = BYTES.union(TEXT);

type Evaluated<'a> = Result<Value<'a>, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("ip", &[one("address", ADDRESS)], BYTES, ip)
        .doc("An IPv4 or IPv6 address as its 4 or 16 bytes, from its text form or these bytes.")
        .examples(&[("f_ip(\"10.0.0.1\")", "b\"\\x0a\\x00\\x00\\x01\"")]),
    Function::new("mac", &[one("address", ADDRESS)], BYTES, mac)
        .doc(
            "A MAC address as its 6 bytes, from its text form (`:` or `-` between) or these bytes.",
        )
        .examples(&[("f_mac(\"02:00:00:00:00:2a\")", "b\"\\x02\\x00\\x00\\x00\\x00*\"")]),
    Function::new("addrText", &[one("address", BYTES)], TEXT, addr_text)
        .doc("The text form of an IPv4, IPv6 (RFC 5952) or MAC address.")
        .examples(&[
            ("f_addrText(b\"\\x0a\\x00\\x00\\x01\")", "\"10.0.0.1\""),
            ("f_addrText(b\"\\x02\\x00\\x00\\x00\\x00*\")", "\"02:00:00:00:00:2a\""),
        ])
        .see(&["tostr"]),
    Function::new("inNet", &[one("address", ADDRESS), one("prefix", TEXT)], TypeSet::BOOL, in_net)
        .doc(
            "Whether an IPv4 or IPv6 address belongs to the prefix. It does not if they are of \
             different kinds; a prefix with bits after its length is an error.",
        )
        .examples(&[
            ("f_inNet(\"10.1.2.3\", \"10.0.0.0/8\")", "true"),
            ("f_inNet(b\"\\xc0\\xa8\\x00\\x01\", \"10.0.0.0/8\")", "false"),
            ("f_inNet(\"fe80::1\", \"fe80::/10\")", "true"),
        ]),
    Function::new("net", &[one("address", ADDRESS), one("length", INT)], BYTES, net)
        .doc("An IPv4 or IPv6 address with the bits after the first `length` cleared.")
        .examples(&[("f_net(\"10.1.2.3\", 8)", "b\"\\x0a\\x00\\x00\\x00\"")]),
];

/// The IP address in an argument.
fn ip_of(call: &Call<'_, '_>, index: usize) -> Result<IpAddr, EvalError> {
    let Value::Bytes(bytes) = call.value(index) else {
        let text = call.text(index)?;
        let wrong = |_| call.fail(format!("{} is no IP address", call.shown(index)));
        return text.parse().map_err(wrong);
    };
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Ok(IpAddr::V4(Ipv4Addr::from(four)));
    }
    match <[u8; 16]>::try_from(bytes) {
        Ok(sixteen) => Ok(IpAddr::V6(Ipv6Addr::from(sixteen))),
        Err(_) => Err(call.fail(format!("an IP address has 4 or 16 bytes, not {}", bytes.len()))),
    }
}

fn give_ip<'a>(call: &Call<'_, 'a>, address: IpAddr) -> Evaluated<'a> {
    match address {
        IpAddr::V4(address) => call.give_bytes(&address.octets()),
        IpAddr::V6(address) => call.give_bytes(&address.octets()),
    }
}

fn ip<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    give_ip(call, ip_of(call, 0)?)
}

fn mac<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let value = call.value(0);
    if let Value::Bytes(bytes) = value {
        return match bytes.len() {
            6 => Ok(value),
            other => Err(call.fail(format!("a MAC address has 6 bytes, not {other}"))),
        };
    }
    let bytes = mac_of(call.text(0)?);
    call.give_bytes(
        &bytes.ok_or_else(|| call.fail(format!("{} is no MAC address", call.shown(0))))?,
    )
}

/// The bytes of six groups of one or two hex digits, with the same sign between them.
fn mac_of(text: &str) -> Option<[u8; 6]> {
    let sign = text.bytes().find(|byte| matches!(byte, b':' | b'-'))?;
    let mut groups = text.split(char::from(sign));
    let mut bytes = [0; 6];
    for byte in &mut bytes {
        let group = groups.next()?;
        let is_hex = group.bytes().all(|digit| digit.is_ascii_hexdigit());
        *byte = u8::from_str_radix(group, 16).ok().filter(|_| is_hex && group.len() <= 2)?;
    }
    groups.next().is_none().then_some(bytes)
}

fn addr_text<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    match *call.bytes(0)? {
        [a, b, c, d] => call.give_text(Dotted::of([a, b, c, d]).as_str()),
        [a, b, c, d, e, f] => {
            call.give_text(&format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"))
        }
        ref bytes if bytes.len() == 16 => call.give_text(&ip_of(call, 0)?.to_string()),
        ref bytes => {
            Err(call.fail(format!("an address has 4, 6 or 16 bytes, not {}", bytes.len())))
        }
    }
}

/// The text form of an IPv4 address; flows have many.
struct Dotted {
    bytes: [u8; 15],
    length: usize,
}

impl Dotted {
    fn of(address: [u8; 4]) -> Dotted {
        let mut dotted = Dotted { bytes: [0; 15], length: 0 };
        for (at, byte) in address.into_iter().enumerate() {
            if at > 0 {
                dotted.put(b'.');
            }
            if byte >= 100 {
                dotted.put(b'0' + byte / 100);
            }
            if byte >= 10 {
                dotted.put(b'0' + byte / 10 % 10);
            }
            dotted.put(b'0' + byte % 10);
        }
        dotted
    }

    fn put(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    fn as_str(&self) -> &str {
        // Digits and points are ASCII.
        str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

/// The number that an address is, and how many bits it has.
fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

/// `number`, of `width` bits, with all but the first `length` bits cleared.
fn masked(number: u128, width: u32, length: u32) -> u128 {
    match width - length {
        128 => 0,
        cleared => number >> cleared << cleared,
    }
}

/// The address and the length of a prefix.
fn prefix(call: &Call<'_, '_>, index: usize) -> Result<(IpAddr, u32), EvalError> {
    let text = call.text(index)?;
    let wrong = |why: &str| call.fail(format!("{} is no prefix: {why}", call.shown(index)));
    let (address, length) = text.split_once('/').ok_or_else(|| wrong("write ADDRESS/LENGTH"))?;
    let address: IpAddr = address.parse().map_err(|_| wrong("that is no IP address"))?;
    let (number, width) = bits(address);
    let is_decimal = length.len() <= 3 && length.bytes().all(|byte| byte.is_ascii_digit());
    let length: Option<u32> = length.parse().ok().filter(|length| is_decimal && *length <= width);
    let length = length.ok_or_else(|| wrong(&format!("the length is from 0 to {width}")))?;
    if masked(number, width, length) != number {
        return Err(wrong("bits after its length are set"));
    }
    Ok((address, length))
}

fn in_net<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let (address, (net, length)) = (ip_of(call, 0)?, prefix(call, 1)?);
    let ((number, width), (wanted, other)) = (bits(address), bits(net));
    Ok(Value::Bool(width == other && masked(number, width, length) == wanted))
}

fn net<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let address = ip_of(call, 0)?;
    let (number, width) = bits(address);
    let given = call.int(1)?;
    let length = u32::try_from(given).ok().filter(|length| *length <= width);
    let length = length.ok_or_else(|| {
        call.fail(format!("a prefix of {address} has a length from 0 to {width}, not {given}"))
    })?;
    let number = masked(number, width, length);
    give_ip(
        call,
        match address {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(number as u32)),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(number)),
        },
    )
}
