//! Addresses in texts, and the numbers that they are to programs.

use std::net::Ipv4Addr;

use crate::app::{Setting, Value};

/// The number of an IPv4 or an Ethernet address.
pub fn address(text: &str) -> Option<u64> {
    let ipv4 = text.parse::<Ipv4Addr>().ok();
    ipv4.map(|address| address.to_bits().into()).or_else(|| ethernet(text))
}

fn ethernet(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split(':').collect();
    let is_byte = |part: &&str| part.len() == 2 && part.bytes().all(|c| c.is_ascii_hexdigit());
    if parts.len() != 6 || !parts.iter().all(is_byte) {
        return None;
    }
    u64::from_str_radix(&parts.concat(), 16).ok()
}

/// An Ethernet address as the value of a key.
pub(super) struct EthernetAddress(u64);

impl Setting for EthernetAddress {
    const TYPE: &'static str = "an Ethernet address";

    fn read(value: &Value) -> Result<EthernetAddress, String> {
        let Value::Text(text) = value else {
            return Err(format!("{} is expected, this is {}", Self::TYPE, value.kind()));
        };
        let wrong = || format!("{} is expected, such as \"02:00:00:00:00:01\"", Self::TYPE);
        ethernet(text).map(EthernetAddress).ok_or_else(wrong)
    }

    fn value(&self) -> Value {
        let bytes = self.0.to_be_bytes();
        let digits: Vec<String> = bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect();
        Value::Text(digits.join(":"))
    }
}
