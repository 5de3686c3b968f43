//! Frames as text, to be written in graphs and read in tests.
//!
//! ```text
//! frame   = "hex" [ DIGITS ]
//!         | MAC ">" MAC { "vlan" TAG } ( ip | arp | "type" N ) [ payload ]
//! ip      = "ip" ADDRESS ">" ADDRESS { option } [ upper ]
//! option  = "ttl" N | "id" N | "df" | "mf" | "offset" BYTES | "proto" N
//! upper   = "udp" PORT ">" PORT | "tcp" PORT ">" PORT | "icmp" ("echo" | "reply") ID SEQUENCE
//! arp     = "arp" "who" ADDRESS "tell" ADDRESS | "arp" "is" ADDRESS "to" ADDRESS MAC
//! payload = "bytes" N [ "from" K ] | "payload" DIGITS
//! ```
//! `bytes N` is N bytes that count up from K or 0. Lengths and checksums are computed.
//! [`describe`] writes a frame so if that is exact, checksums included, and else as digits.
//!
//! ```
//! use tidemill_apps::frame::{describe, parse};
//!
//! let text = "02:00:00:00:00:01 > 02:00:00:00:00:02 vlan 5 \
//!     ip 10.0.0.1 > 10.0.0.2 udp 7 > 53 bytes 4";
//! let mut frame = parse(text)?;
//! assert_eq!(frame.len(), 14 + 4 + 20 + 8 + 4);
//! assert_eq!(describe(&frame), text);
//! frame[45] ^= 1; // now the checksum is wrong
//! assert!(describe(&frame).contains("ip 10.0.0.1 > 10.0.0.2 proto 17 payload 0007"));
//! # Ok::<(), String>(())
//! ```

use std::net::Ipv4Addr;

use crate::net::{Mac, TYPE_ARP, TYPE_IPV4, TYPE_VLAN, checksum, transport_checksum};

const TTL: u8 = 64;

/// The frame that a text describes.
///
/// # Errors
/// Its error.
pub fn parse(text: &str) -> Result<Vec<u8>, String> {
    let mut words = Words { words: text.split_whitespace().collect(), at: 0 };
    let frame = if words.takes("hex") {
        hex(words.next("digits").unwrap_or_default())?
    } else {
        words.frame()?
    };
    match words.words.get(words.at) {
        None => Ok(frame),
        Some(word) => Err(format!("`{word}` is too much in `{text}`")),
    }
}

fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let pairs = (0..digits.len()).step_by(2).map(|at| digits.get(at..at + 2));
    let bytes = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok());
    bytes.collect::<Option<Vec<u8>>>().ok_or_else(|| format!("`{digits}` is not hexadecimal"))
}

struct Words<'t> {
    words: Vec<&'t str>,
    at: usize,
}

impl<'t> Words<'t> {
    fn takes(&mut self, word: &str) -> bool {
        let is = self.words.get(self.at) == Some(&word);
        self.at += usize::from(is);
        is
    }

    fn next(&mut self, what: &str) -> Result<&'t str, String> {
        let word = self.words.get(self.at).ok_or_else(|| format!("{what} is missing"))?;
        self.at += 1;
        Ok(word)
    }

    fn value<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, String> {
        let word = self.next(what)?;
        word.parse().map_err(|_| format!("`{word}` is not {what}"))
    }

    fn arrow<T: std::str::FromStr>(&mut self, what: &str) -> Result<(T, T), String> {
        let from = self.value(what)?;
        if !self.takes(">") {
            return Err(format!("`>` is missing after {what}"));
        }
        Ok((from, self.value(what)?))
    }

    fn frame(&mut self) -> Result<Vec<u8>, String> {
        let (source, destination): (Mac, Mac) = self.arrow("an Ethernet address")?;
        let mut frame = [destination.0, source.0].concat();
        while self.takes("vlan") {
            frame.extend(TYPE_VLAN.to_be_bytes());
            frame.extend(self.value::<u16>("a tag")?.to_be_bytes());
        }
        if self.takes("ip") {
            frame.extend(TYPE_IPV4.to_be_bytes());
            frame.extend(self.ip()?);
        } else if self.takes("arp") {
            frame.extend(TYPE_ARP.to_be_bytes());
            frame.extend(self.arp(source)?);
            frame.extend(self.payload()?);
        } else if self.takes("type") {
            frame.extend(self.value::<u16>("a number")?.to_be_bytes());
            frame.extend(self.payload()?);
        } else {
            return Err("`ip`, `arp` or `type` is missing".to_owned());
        }
        Ok(frame)
    }

    fn payload(&mut self) -> Result<Vec<u8>, String> {
        if self.takes("bytes") {
            let count: u16 = self.value("a number")?;
            let from = if self.takes("from") { self.value::<u8>("a byte")? } else { 0 };
            return Ok((0..count).map(|at| (at as u8).wrapping_add(from)).collect());
        }
        if self.takes("payload") { hex(self.next("digits")?) } else { Ok(Vec::new()) }
    }

    fn arp(&mut self, source: Mac) -> Result<Vec<u8>, String> {
        let mut arp = vec![0, 1, 8, 0, 6, 4, 0];
        if self.takes("who") {
            let target: Ipv4Addr = self.value("an address")?;
            if !self.takes("tell") {
                return Err("`tell` is missing".to_owned());
            }
            let sender: Ipv4Addr = self.value("an address")?;
            arp.push(1);
            arp.extend(source.0);
            arp.extend(sender.octets());
            arp.extend([0; 6]);
            arp.extend(target.octets());
        } else if self.takes("is") {
            let sender: Ipv4Addr = self.value("an address")?;
            if !self.takes("to") {
                return Err("`to` is missing".to_owned());
            }
            let (target, mac): (Ipv4Addr, Mac) =
                (self.value("an address")?, self.value("an Ethernet address")?);
            arp.push(2);
            arp.extend(source.0);
            arp.extend(sender.octets());
            arp.extend(mac.0);
            arp.extend(target.octets());
        } else {
            return Err("`who` or `is` is missing".to_owned());
        }
        Ok(arp)
    }

    fn ip(&mut self) -> Result<Vec<u8>, String> {
        let (source, destination): (Ipv4Addr, Ipv4Addr) = self.arrow("an address")?;
        let (mut ttl, mut id, mut flags, mut protocol) = (TTL, 0u16, 0u16, 253u8);
        loop {
            if self.takes("ttl") {
                ttl = self.value("a byte")?;
            } else if self.takes("id") {
                id = self.value("a number")?;
            } else if self.takes("df") {
                flags |= 0x4000;
            } else if self.takes("mf") {
                flags |= 0x2000;
            } else if self.takes("offset") {
                flags |= self.value::<u16>("a number")? / 8;
            } else if self.takes("proto") {
                protocol = self.value("a byte")?;
            } else {
                break;
            }
        }
        let upper = self.upper(source, destination, &mut protocol)?;
        let total = u16::try_from(20 + upper.len()).map_err(|_| "the packet is too long")?;
        let mut ip = vec![0x45, 0];
        ip.extend(total.to_be_bytes());
        ip.extend(id.to_be_bytes());
        ip.extend(flags.to_be_bytes());
        ip.extend([ttl, protocol, 0, 0]);
        ip.extend(source.octets());
        ip.extend(destination.octets());
        let sum = checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        ip.extend(upper);
        Ok(ip)
    }

    fn upper(
        &mut self,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        protocol: &mut u8,
    ) -> Result<Vec<u8>, String> {
        let mut upper = Vec::new();
        let checksum_at = if self.takes("udp") {
            *protocol = 17;
            let (from, to): (u16, u16) = self.arrow("a port")?;
            upper.extend([from.to_be_bytes(), to.to_be_bytes(), [0; 2], [0; 2]].concat());
            6
        } else if self.takes("tcp") {
            *protocol = 6;
            let (from, to): (u16, u16) = self.arrow("a port")?;
            upper.extend([from.to_be_bytes(), to.to_be_bytes()].concat());
            upper.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
            16
        } else if self.takes("icmp") {
            *protocol = 1;
            let kind = if self.takes("echo") { 8 } else { 0 };
            if kind == 0 && !self.takes("reply") {
                return Err("`echo` or `reply` is missing".to_owned());
            }
            let (id, sequence): (u16, u16) = (self.value("a number")?, self.value("a number")?);
            upper.extend([kind, 0, 0, 0]);
            upper.extend([id.to_be_bytes(), sequence.to_be_bytes()].concat());
            2
        } else {
            return self.payload();
        };
        upper.extend(self.payload()?);
        if *protocol == 17 {
            let length = upper.len() as u16;
            upper[4..6].copy_from_slice(&length.to_be_bytes());
        }
        let sum = match *protocol {
            1 => checksum(&upper),
            protocol => transport_checksum(source, destination, protocol, &upper),
        };
        upper[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
        Ok(upper)
    }
}

/// The frame as text: the most readable form of which [`parse`] makes the same frame.
pub fn describe(frame: &[u8]) -> String {
    let is_exact = |text: &String| parse(text).is_ok_and(|parsed| parsed == frame);
    let candidates = [written(frame, Detail::Full), written(frame, Detail::Raw)];
    candidates
        .into_iter()
        .flatten()
        .find(is_exact)
        .unwrap_or_else(|| format!("hex {}", digits(frame)).trim_end().to_owned())
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How far the layers are taken apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Full,
    /// The bytes after IPv4 are not parsed.
    Raw,
}

fn written(frame: &[u8], detail: Detail) -> Option<String> {
    let (destination, source) = crate::net::ethernet(frame)?;
    let mut text = format!("{source} > {destination}");
    let mut at = 12;
    while crate::net::u16_at(frame, at)? == TYPE_VLAN {
        text += &format!(" vlan {}", crate::net::u16_at(frame, at + 2)?);
        at += 4;
    }
    let kind = crate::net::u16_at(frame, at)?;
    let rest = frame.get(at + 2..)?;
    match kind {
        TYPE_IPV4 => write_ip(&mut text, rest, detail)?,
        TYPE_ARP => write_arp(&mut text, rest)?,
        _ => {
            text += &format!(" type {kind}");
            write_bytes(&mut text, rest);
        }
    }
    Some(text)
}

fn write_bytes(text: &mut String, bytes: &[u8]) {
    let Some(&first) = bytes.first() else { return };
    let counts =
        (0..).zip(bytes).all(|(at, byte): (usize, &u8)| first.wrapping_add(at as u8) == *byte);
    *text += &match (counts, first) {
        (true, 0) => format!(" bytes {}", bytes.len()),
        (true, from) => format!(" bytes {} from {from}", bytes.len()),
        (false, _) => format!(" payload {}", digits(bytes)),
    };
}

fn address(bytes: &[u8], at: usize) -> Option<Ipv4Addr> {
    Some(Ipv4Addr::from(*bytes.get(at..)?.first_chunk::<4>()?))
}

fn write_arp(text: &mut String, arp: &[u8]) -> Option<()> {
    let (sender, target) = (address(arp, 14)?, address(arp, 24)?);
    match arp.get(7)? {
        1 => *text += &format!(" arp who {target} tell {sender}"),
        _ => {
            let mac = Mac(*arp.get(18..)?.first_chunk()?);
            *text += &format!(" arp is {sender} to {target} {mac}");
        }
    }
    write_bytes(text, arp.get(28..)?);
    Some(())
}

fn write_ip(text: &mut String, ip: &[u8], detail: Detail) -> Option<()> {
    let word = |at| crate::net::u16_at(ip, at);
    *text += &format!(" ip {} > {}", address(ip, 12)?, address(ip, 16)?);
    let (ttl, id, flags, protocol) = (*ip.get(8)?, word(4)?, word(6)?, *ip.get(9)?);
    if ttl != TTL {
        *text += &format!(" ttl {ttl}");
    }
    if id != 0 {
        *text += &format!(" id {id}");
    }
    *text += if flags & 0x4000 != 0 { " df" } else { "" };
    *text += if flags & 0x2000 != 0 { " mf" } else { "" };
    if flags & 0x1fff != 0 {
        *text += &format!(" offset {}", (flags & 0x1fff) * 8);
    }
    let payload = match (protocol, detail) {
        (17, Detail::Full) => {
            *text += &format!(" udp {} > {}", word(20)?, word(22)?);
            28
        }
        (6, Detail::Full) => {
            *text += &format!(" tcp {} > {}", word(20)?, word(22)?);
            40
        }
        (1, Detail::Full) => {
            let kind = if *ip.get(20)? == 8 { "echo" } else { "reply" };
            *text += &format!(" icmp {kind} {} {}", word(24)?, word(26)?);
            28
        }
        _ => {
            *text += &format!(" proto {protocol}");
            20
        }
    };
    write_bytes(text, ip.get(payload..)?);
    Some(())
}
