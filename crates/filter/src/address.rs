//! Addresses as they are written.

use std::net::Ipv6Addr;

/// Two to four decimal numbers with dots between them: what they make, and how many bits that are.
/// `None` if one is above 255.
pub fn dotted(text: &str) -> Option<(u32, u32)> {
    let mut value = 0u32;
    let mut bits = 0;
    for part in text.split('.') {
        value = value << 8 | u32::from(part.parse::<u8>().ok()?);
        bits += 8;
    }
    (bits <= 32).then_some((value, bits))
}

/// An Ethernet address: six numbers of one or two digits with `:`, `-` or `.` between them, three
/// of four digits with dots, or twelve digits; all hexadecimal.
pub fn ethernet(text: &str) -> Option<[u8; 6]> {
    if text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let number = u64::from_str_radix(text, 16).ok()?;
        return Some(std::array::from_fn(|i| (number >> (40 - 8 * i)) as u8));
    }
    let separator = text.bytes().find(|byte| !byte.is_ascii_hexdigit())? as char;
    if !matches!(separator, ':' | '-' | '.') {
        return None;
    }
    let parts: Vec<&str> = text.split(separator).collect();
    let digits = match parts.len() {
        6 => 1..=2,
        3 if separator == '.' => 4..=4,
        _ => return None,
    };
    let mut bytes = Vec::new();
    for part in parts {
        if !digits.contains(&part.len()) || !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let number = u16::from_str_radix(part, 16).ok()?;
        if part.len() == 4 {
            bytes.push((number >> 8) as u8);
        }
        bytes.push(number as u8);
    }
    bytes.try_into().ok()
}

/// An IPv6 address.
pub fn ip6(text: &str) -> Option<Ipv6Addr> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethernet_addresses_have_four_forms() {
        let expected = Some([0, 1, 2, 0xa, 0xb, 0xc]);
        for text in ["0:1:2:a:b:c", "00-01-02-0a-0b-0c", "0.1.2.a.b.c", "0001.020a.0b0c"] {
            assert_eq!(ethernet(text), expected, "{text}");
        }
        assert_eq!(ethernet("0001020a0b0c"), expected);
        for text in [
            "0:1:2:a:b",
            "0:1:2:a:b:100",
            "0:1:2:a:b:+1",
            "1.2.3.4",
            "1.2.3",
            "0001.0002.003",
            "0001:0002:0003",
            "",
            "12",
            "é:1:2:3:4:5",
        ] {
            assert_eq!(ethernet(text), None, "{text}");
        }
    }

    #[test]
    fn dotted_numbers_fill_from_the_left() {
        assert_eq!(dotted("10.1"), Some((0x0a01, 16)));
        assert_eq!(dotted("255.255.255.255"), Some((u32::MAX, 32)));
        assert_eq!(dotted("10.256"), None);
        assert_eq!(dotted("1.2.3.4.5"), None);
    }
}
