//! Addresses and prefixes in texts, and the constants that they are to programs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::ast::{Constant, Net};
use crate::app::Mac;

/// The constant of an IPv4, IPv6 or Ethernet address.
pub fn address(text: &str) -> Option<Constant> {
    if let Ok(ipv4) = text.parse::<Ipv4Addr>() {
        return Some(Constant::Number(ipv4.to_bits().into()));
    }
    if let Ok(ipv6) = text.parse::<Ipv6Addr>() {
        return Some(Constant::Ipv6(ipv6.to_bits()));
    }
    text.parse::<Mac>().map(|mac| Constant::Number(mac.to_bits())).ok()
}

/// The prefix of `address/length`; nothing, if it is none or has bits after its length.
pub fn net(text: &str) -> Option<Net> {
    let (address, length) = text.split_once('/')?;
    let length: u32 = length.parse().ok()?;
    let (net, bits, is_ipv6) = match address.parse().ok()? {
        IpAddr::V4(ipv4) => (ipv4.to_bits().into(), 32, false),
        IpAddr::V6(ipv6) => (ipv6.to_bits(), 128, true),
    };
    let all = u128::MAX >> (128 - bits);
    let mask = all & !all.checked_shr(length).unwrap_or(0);
    (length <= bits && net & !mask == 0).then_some(Net { net, mask, is_ipv6 })
}
