//! Ethernet addresses.

use std::fmt;
use std::str::FromStr;

/// An Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// The address of all stations.
    pub const BROADCAST: Mac = Mac([0xff; 6]);

    /// Whether it addresses several stations: multicast or broadcast.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Its number: the first byte is the highest of 48 bits.
    pub fn to_bits(self) -> u64 {
        let [a, b, c, d, e, g] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, g])
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The text is no Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoMac;

impl FromStr for Mac {
    type Err = NoMac;

    /// Six bytes of two hexadecimal digits each, separated by colons.
    fn from_str(text: &str) -> Result<Mac, NoMac> {
        let mut mac = Mac([0; 6]);
        let mut parts = text.split(':');
        let is_byte = |part: &&str| part.len() == 2 && part.bytes().all(|c| c.is_ascii_hexdigit());
        for byte in &mut mac.0 {
            let part = parts.next().filter(is_byte).ok_or(NoMac)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| NoMac)?;
        }
        if parts.next().is_some() { Err(NoMac) } else { Ok(mac) }
    }
}

#[cfg(test)]
mod tests {
    use super::Mac;

    #[test]
    fn a_text_and_a_number() {
        let mac: Mac = "02:00:00:0A:00:ff".parse().expect("an address");
        assert_eq!(mac.to_string(), "02:00:00:0a:00:ff");
        assert_eq!(mac.to_bits(), 0x0200_000a_00ff);
        assert!(!mac.is_group() && Mac::BROADCAST.is_group());
    }

    #[test]
    fn each_byte_has_two_digits() {
        for wrong in
            ["", "2:0:0:0:0:1", "+2:00:00:00:00:01", "02:00:00:00:00", "02:00:00:00:00:01:"]
        {
            assert!(wrong.parse::<Mac>().is_err(), "{wrong}");
        }
    }
}
