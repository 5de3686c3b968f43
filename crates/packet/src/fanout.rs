//! Several instances of a graph, each with its part of the flows.
//!
//! ```text
//!             +--> instance 0: all apps, all links
//!  frames ----+--> instance 1: the same          by the flow of a frame
//!             +--> ...
//! ```
//! Both directions of a flow have the same instance: the hash of a frame is symmetric. Addresses
//! and ports decide; all fragments of a datagram go by the addresses alone, and what is not IP by
//! those of Ethernet. What a translator sends under its own address returns to it by the port: each
//! instance has a block of them.
//!
//! Every source has to give an instance only what is its own, and can do so before it takes a
//! packet: a capture by [`Fanout::takes`], a socket by a program in the kernel that computes the
//! same number.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tidemill_stdx::internet::u16_at;

/// What hashes are multiplied with: 2^32 divided by the golden ratio, which spreads numbers that
/// are close to each other.
pub const FACTOR: u32 = 0x9e37_79b1;

/// The bits of a hash that do not count: the lower ones of a product depend on few bits.
pub const LOW_BITS: u32 = 16;

/// Instances at most: as many as a hash without its [low bits](LOW_BITS) tells apart easily.
pub const INSTANCES_MAX: u32 = 256;

/// VLAN tags that are passed over, at most.
const TAGS_MAX: usize = 8;

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
const ICMP: u8 = 1;

/// The protocols whose headers begin with two ports.
pub const WITH_PORTS: [u8; 3] = [TCP, UDP, SCTP];

/// The type of an answer to an echo request.
pub const ECHO_REPLY: u8 = 0;

/// The ports of one address, of which each instance has a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortBlocks {
    /// The address.
    pub address: Ipv4Addr,
    /// The first port.
    pub first: u16,
    /// The last one.
    pub last: u16,
}

impl PortBlocks {
    /// The ports of each block but the last, which also has those that are left over.
    pub fn size(&self, instances: u32) -> u32 {
        (u32::from(self.last) + 1).saturating_sub(self.first.into()) / instances
    }

    /// The ports of an instance; none if there are more instances than ports.
    pub fn of(&self, instance: u32, instances: u32) -> Option<RangeInclusive<u16>> {
        let size = self.size(instances);
        let first = u32::from(self.first) + instance * size;
        let last = if instance + 1 == instances { self.last.into() } else { first + size - 1 };
        let port = |port: u32| u16::try_from(port).ok();
        (size > 0).then_some(())?;
        Some(port(first)?..=port(last)?)
    }

    /// The instance with this port.
    fn instance_of(&self, port: u16, instances: u32) -> Option<u32> {
        let is_in = self.first <= port && port <= self.last && self.size(instances) > 0;
        let number = u32::from(port).wrapping_sub(self.first.into());
        is_in.then(|| (number / self.size(instances)).min(instances - 1))
    }
}

/// One of several instances of a graph, and what they share.
#[derive(Clone, Debug, Default)]
pub struct Fanout {
    instance: u32,
    /// The number of the others.
    others: u32,
    blocks: Arc<[PortBlocks]>,
    shared: Arc<Mutex<Shared>>,
}

/// What the apps of several instances have in common, by type and name.
type Shared = HashMap<(TypeId, String), Weak<dyn Any + Send + Sync>>;

impl Fanout {
    /// All instances of a graph, of which `blocks` return by port.
    pub fn all(instances: u32, blocks: &[PortBlocks]) -> Vec<Fanout> {
        let (others, blocks) = (instances.max(1) - 1, Arc::<[PortBlocks]>::from(blocks));
        let shared = Arc::default();
        let of = |instance| {
            let (blocks, shared) = (Arc::clone(&blocks), Arc::clone(&shared));
            Fanout { instance, others, blocks, shared }
        };
        (0..=others).map(of).collect()
    }

    /// The number of this instance, from 0.
    pub fn instance(&self) -> u32 {
        self.instance
    }

    /// The number of all instances.
    pub fn instances(&self) -> u32 {
        self.others + 1
    }

    /// Whether there are others.
    pub fn is_divided(&self) -> bool {
        self.others > 0
    }

    /// The ports that return to the instance that has sent from them.
    pub fn blocks(&self) -> &[PortBlocks] {
        &self.blocks
    }

    /// This instance's part of a number of packets, or of a rate.
    pub fn part_of(&self, count: u64) -> u64 {
        let instances = u64::from(self.instances());
        count / instances + u64::from(u64::from(self.instance) < count % instances)
    }

    /// Whether a frame is for this instance.
    #[inline]
    pub fn takes(&self, frame: &[u8]) -> bool {
        self.others == 0 || self.instance_of(frame) == self.instance
    }

    /// The instance that a frame is for.
    pub fn instance_of(&self, frame: &[u8]) -> u32 {
        let ip = Ip::of(frame);
        let returned = ip.as_ref().and_then(Ip::returned);
        let blocks = self.blocks.iter();
        let by_port = returned.and_then(|(address, port)| {
            let mut of = blocks.filter(|blocks| blocks.address == address);
            of.find_map(|blocks| blocks.instance_of(port, self.instances()))
        });
        by_port.unwrap_or_else(|| {
            let hash = ip.map_or_else(|| hash_of_macs(frame), |ip| ip.hash());
            (hash >> LOW_BITS) % self.instances()
        })
    }

    /// What the apps of all instances have in common under this name, made by the first that asks.
    /// It lives as long as one of them holds it.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn shared<T: Send + Sync + 'static, E>(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (TypeId::of::<T>(), name.to_owned());
        let known = shared.get(&key).and_then(Weak::upgrade).map(Arc::downcast::<T>);
        if let Some(Ok(known)) = known {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        let held: Arc<dyn Any + Send + Sync> = made.clone();
        shared.retain(|_, held| held.strong_count() > 0);
        shared.insert(key, Arc::downgrade(&held));
        Ok(made)
    }
}

/// What decides about a packet of IP.
struct Ip<'a> {
    /// Its addresses, one after the other.
    addresses: &'a [u8],
    protocol: u8,
    /// The header in it, unless it is a fragment.
    transport: Option<&'a [u8]>,
}

impl<'a> Ip<'a> {
    fn of(frame: &'a [u8]) -> Option<Ip<'a>> {
        let (mut at, mut kind) = (14, frame.get(12..14)?);
        for _ in 0..TAGS_MAX {
            if !matches!(kind, [0x81, 0] | [0x88, 0xa8] | [0x91, 0]) {
                break;
            }
            (at, kind) = (at + 4, frame.get(at + 2..at + 4)?);
        }
        let ip = frame.get(at..)?;
        match kind {
            [8, 0] => {
                let header = usize::from(ip.first()? & 15) * 4;
                let is_fragment = u16_at(ip, 6)? & 0x3fff != 0;
                Some(Ip {
                    addresses: ip.get(12..20)?,
                    protocol: ip[9],
                    transport: if is_fragment { None } else { ip.get(header..) },
                })
            }
            [0x86, 0xdd] => {
                Some(Ip { addresses: ip.get(8..40)?, protocol: ip[6], transport: ip.get(40..) })
            }
            _ => None,
        }
    }

    /// Its ports.
    fn ports(&self) -> Option<(u16, u16)> {
        let transport = self.transport.filter(|_| WITH_PORTS.contains(&self.protocol))?;
        Some((u16_at(transport, 0)?, u16_at(transport, 2)?))
    }

    fn hash(&self) -> u32 {
        let addresses = self.addresses.chunks_exact(4).map(word).fold(0, |all, it| all ^ it);
        let ports = self.ports().map_or(0, |(source, destination)| source ^ destination);
        (addresses.wrapping_mul(FACTOR) ^ u32::from(ports)).wrapping_mul(FACTOR)
    }

    /// The address that it returns to, and the port, or identifier of an echo request.
    fn returned(&self) -> Option<(Ipv4Addr, u16)> {
        let to: [u8; 4] = self.addresses.get(4..8)?.try_into().ok()?;
        if self.addresses.len() != 8 {
            return None;
        }
        let transport = self.transport?;
        let port = match self.protocol {
            TCP | UDP => u16_at(transport, 2)?,
            ICMP if *transport.first()? == ECHO_REPLY => u16_at(transport, 4)?,
            _ => return None,
        };
        Some((Ipv4Addr::from(to), port))
    }
}

/// The hash of what is not IP: by the lower halves of both addresses of Ethernet.
fn hash_of_macs(frame: &[u8]) -> u32 {
    let (Some(to), Some(from)) = (frame.get(2..6), frame.get(8..12)) else { return 0 };
    (word(to) ^ word(from)).wrapping_mul(FACTOR)
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(from: [u8; 4], to: [u8; 4], protocol: u8, ports: (u16, u16)) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        frame.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0]);
        frame.extend(from.iter().chain(&to));
        frame.extend(ports.0.to_be_bytes());
        frame.extend(ports.1.to_be_bytes());
        frame.extend([0; 4]);
        frame
    }

    #[test]
    fn both_directions_have_the_same_instance_and_flows_spread() {
        let instance = &Fanout::all(4, &[])[0];
        let mut counts = [0; 4];
        for number in 0..4000u16 {
            let host = [10, 0, (number / 250) as u8, (number % 250) as u8];
            let ports = (1024 + number * 7, 443);
            let there = frame(host, [192, 0, 2, 1], TCP, ports);
            let back = frame([192, 0, 2, 1], host, TCP, (ports.1, ports.0));
            assert_eq!(instance.instance_of(&there), instance.instance_of(&back));
            counts[instance.instance_of(&there) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_tag_changes_nothing_and_fragments_stay_together() {
        let instance = &Fanout::all(5, &[])[0];
        for number in 0..200 {
            let plain = frame([10, 0, 0, number], [192, 0, 2, 1], UDP, (9, number.into()));
            let mut tagged = plain.clone();
            tagged.splice(12..12, [0x81, 0, 0, 7]);
            assert_eq!(instance.instance_of(&tagged), instance.instance_of(&plain));
            let mut first = plain.clone();
            first[20] = 0x20;
            let mut later = first.clone();
            (later[20], later[21]) = (0, 3);
            later[34..].fill(0xee);
            assert_eq!(instance.instance_of(&later), instance.instance_of(&first));
        }
    }

    #[test]
    fn what_returns_to_a_block_of_ports_has_its_instance() {
        let blocks = PortBlocks { address: [198, 51, 100, 1].into(), first: 1024, last: 1034 };
        let all = Fanout::all(3, &[blocks]);
        for port in 1024..=1034 {
            let wanted = (0..3).find(|it| blocks.of(*it, 3).expect("ports").contains(&port));
            let tcp = frame([192, 0, 2, 1], [198, 51, 100, 1], TCP, (443, port));
            assert_eq!(Some(all[0].instance_of(&tcp)), wanted);
            let echo = frame([192, 0, 2, 1], [198, 51, 100, 1], ICMP, (0, 0));
            let mut echo = echo;
            echo[38..40].copy_from_slice(&port.to_be_bytes());
            assert_eq!(Some(all[0].instance_of(&echo)), wanted);
            assert_eq!(all.iter().filter(|it| it.takes(&tcp)).count(), 1);
        }
        assert_eq!(blocks.of(2, 3), Some(1030..=1034));
        assert_eq!(blocks.of(0, 12), None);
    }

    #[test]
    fn whatever_a_frame_is_one_instance_takes_it() {
        let all = Fanout::all(3, &[]);
        let whole = frame([10, 0, 0, 1], [192, 0, 2, 1], TCP, (1, 2));
        for length in 0..whole.len() {
            let part = &whole[..length];
            assert_eq!(all.iter().filter(|it| it.takes(part)).count(), 1, "{length} bytes");
        }
    }

    #[test]
    fn instances_share_by_name_as_long_as_one_lives() {
        let all = Fanout::all(2, &[]);
        let make = |number: u32| move || Ok::<_, ()>(Mutex::new(number));
        let one = all[0].shared("a", make(1)).expect("made");
        let same = all[1].shared("a", make(2)).expect("known");
        assert!(Arc::ptr_eq(&one, &same));
        let other = all[1].shared("b", make(3)).expect("made");
        assert_eq!(*other.lock().expect("whole"), 3);
        drop((one, same));
        let anew = all[0].shared("a", make(4)).expect("made");
        assert_eq!(*anew.lock().expect("whole"), 4);
    }

    #[test]
    fn parts_add_up() {
        for count in [0, 1, 7, 100] {
            let all = Fanout::all(3, &[]);
            assert_eq!(all.iter().map(|it| it.part_of(count)).sum::<u64>(), count);
        }
    }
}
