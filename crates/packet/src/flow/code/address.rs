//! Addresses in texts, and the numbers that they are to programs.

use std::net::Ipv4Addr;

use crate::app::Mac;

/// The number of an IPv4 or an Ethernet address.
pub fn address(text: &str) -> Option<u64> {
    let ipv4 = text.parse::<Ipv4Addr>().map(|address| address.to_bits().into());
    ipv4.ok().or_else(|| text.parse::<Mac>().map(Mac::to_bits).ok())
}
