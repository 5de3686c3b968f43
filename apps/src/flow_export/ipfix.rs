//! Messages of IPFIX (RFC 7011).
//!
//! ```text
//! message = | version 10 | length | export time | sequence | domain | sets ...
//! set     = | 2: templates, 3: templates of options, or the template of the records | length | ...
//! ```
//! There is a template for IPv4 and for IPv6, each without and with a VLAN, and one of options for
//! the sampling rate. The sequence counts data records, those of options too.

use std::net::IpAddr;

use super::head::Head;
use super::table::Ended;

/// Bytes of the header of a message, and of a set.
const HEADER: usize = 16;
const SET_HEADER: usize = 4;

const TEMPLATE_SET: u16 = 2;
const OPTIONS_SET: u16 = 3;

/// An information element of the registry, and its length.
type Field = (u16, u16);

const SOURCE_4: Field = (8, 4);
const DESTINATION_4: Field = (12, 4);
const SOURCE_6: Field = (27, 16);
const DESTINATION_6: Field = (28, 16);
const VLAN_ID: Field = (58, 2);

/// What follows the addresses: sourceTransportPort, destinationTransportPort, protocolIdentifier,
/// tcpControlBits, flowEndReason, packetDeltaCount, octetDeltaCount, flowStartMilliseconds,
/// flowEndMilliseconds.
const COMMON: [Field; 9] =
    [(7, 2), (11, 2), (4, 1), (6, 2), (136, 1), (2, 8), (1, 8), (152, 8), (153, 8)];

/// The first template; see [`Template`].
const FIRST_TEMPLATE: u16 = 256;
const OPTIONS_TEMPLATE: u16 = 260;

/// selectorId as scope, samplingPacketInterval, samplingPacketSpace: packets taken in a row, then
/// packets passed over. There is one selector. Its selectorAlgorithm is left out, as nfcapd (1.7)
/// does not read the rate of templates that have it.
const OPTIONS: [Field; 3] = [(302, 4), (305, 4), (306, 4)];
const SELECTOR: u32 = 1;

/// The template of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Template {
    is_six: bool,
    has_vlan: bool,
}

impl Template {
    const ALL: [Template; 4] = [
        Template { is_six: false, has_vlan: false },
        Template { is_six: true, has_vlan: false },
        Template { is_six: false, has_vlan: true },
        Template { is_six: true, has_vlan: true },
    ];

    fn of(ended: &Ended) -> Template {
        let key = &ended.flow.key;
        Template { is_six: key.is_six(), has_vlan: key.vlan().is_some() }
    }

    fn id(self) -> u16 {
        FIRST_TEMPLATE + u16::from(self.is_six) + 2 * u16::from(self.has_vlan)
    }

    fn fields(self) -> impl Iterator<Item = Field> {
        let addresses =
            if self.is_six { [SOURCE_6, DESTINATION_6] } else { [SOURCE_4, DESTINATION_4] };
        let vlan = self.has_vlan.then_some(VLAN_ID);
        addresses.into_iter().chain(COMMON).chain(vlan)
    }

    fn record_bytes(self) -> usize {
        self.fields().map(|(_, bytes)| usize::from(bytes)).sum()
    }
}

/// Bytes of the record of a flow.
pub(super) fn record_bytes(ended: &Ended) -> usize {
    Template::of(ended).record_bytes()
}

/// Bytes for records in a message of `bytes` at most.
pub(super) fn room(bytes: usize) -> usize {
    bytes.saturating_sub(HEADER + Template::ALL.len() * SET_HEADER)
}

fn begin(head: Head) -> Vec<u8> {
    let mut message = vec![0, 10, 0, 0];
    let time_s = head.time_ns.div_euclid(1_000_000_000);
    // The field for the time ends in 2106, and the sequence is modulo 2^32.
    message.extend((time_s as u32).to_be_bytes());
    message.extend((head.sequence as u32).to_be_bytes());
    message.extend(head.domain.to_be_bytes());
    message
}

/// Puts the length of what began at `start` in place.
fn close(message: &mut [u8], start: usize) {
    let length = (message.len() - start) as u16;
    message[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
}

fn set(message: &mut Vec<u8>, id: u16, contents: impl FnOnce(&mut Vec<u8>)) {
    let start = message.len();
    message.extend(id.to_be_bytes());
    message.extend([0; 2]);
    contents(message);
    close(message, start);
}

fn put_fields(message: &mut Vec<u8>, fields: impl Iterator<Item = Field>) {
    for (id, bytes) in fields {
        message.extend(id.to_be_bytes());
        message.extend(bytes.to_be_bytes());
    }
}

/// A message of all templates, and of the sampling rate if not all packets are counted; and the
/// number of its data records.
pub(super) fn templates(head: Head, sample: u32) -> (Vec<u8>, u32) {
    let mut message = begin(head);
    set(&mut message, TEMPLATE_SET, |message| {
        for template in Template::ALL {
            message.extend(template.id().to_be_bytes());
            message.extend((template.fields().count() as u16).to_be_bytes());
            put_fields(message, template.fields());
        }
    });
    if sample > 1 {
        set(&mut message, OPTIONS_SET, |message| {
            message.extend(OPTIONS_TEMPLATE.to_be_bytes());
            message.extend((OPTIONS.len() as u16).to_be_bytes());
            // One field is scope.
            message.extend(1u16.to_be_bytes());
            put_fields(message, OPTIONS.into_iter());
        });
        set(&mut message, OPTIONS_TEMPLATE, |message| {
            for number in [SELECTOR, 1, sample - 1] {
                message.extend(number.to_be_bytes());
            }
        });
    }
    close(&mut message, 0);
    (message, u32::from(sample > 1))
}

/// A message of flows, those of a template together.
pub(super) fn flows(head: Head, all: &[Ended]) -> Vec<u8> {
    let mut message = begin(head);
    for template in Template::ALL {
        let mut own = all.iter().filter(|ended| Template::of(ended) == template).peekable();
        if own.peek().is_some() {
            set(&mut message, template.id(), |message| own.for_each(|it| record(message, it)));
        }
    }
    close(&mut message, 0);
    message
}

fn record(message: &mut Vec<u8>, ended: &Ended) {
    let (flow, key) = (&ended.flow, &ended.flow.key);
    let (source, destination) = key.addresses();
    for address in [source, destination] {
        match address {
            IpAddr::V4(address) => message.extend(address.octets()),
            IpAddr::V6(address) => message.extend(address.octets()),
        }
    }
    message.extend(key.source_port.to_be_bytes());
    message.extend(key.destination_port.to_be_bytes());
    message.push(key.protocol);
    message.extend(flow.flags.to_be_bytes());
    message.push(ended.reason as u8);
    for number in [flow.packets, flow.bytes, flow.start_ms, flow.end_ms()] {
        message.extend(number.to_be_bytes());
    }
    if let Some(vlan) = key.vlan() {
        message.extend(vlan.to_be_bytes());
    }
}
