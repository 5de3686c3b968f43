//! Messages of `flow.proto`.

use std::net::IpAddr;

use tidemill_wire::schema::raw::{put_length, put_varint};
use tidemill_wire::varint;

use super::head::Head;
use super::table::Ended;

/// Field numbers of `Flows`.
const DOMAIN: u32 = 1;
const SEQUENCE: u32 = 2;
const SENT_MS: u32 = 3;
const SAMPLE: u32 = 4;
const FLOWS: u32 = 5;

/// Those of `Flow` that are not numbers; `optional`, so 0 is written as well.
const SOURCE: u32 = 1;
const DESTINATION: u32 = 2;
const VLAN: u32 = 6;

/// Bytes of the fields before the flows at most: tags, numbers of 32 and of 64 bits.
const HEAD_MAX: usize = 4 + 2 * 5 + 2 * 10;

/// Bytes for records in a message of `bytes` at most.
pub(super) fn room(bytes: usize) -> usize {
    bytes.saturating_sub(HEAD_MAX)
}

/// The numbers of a flow, by field.
fn numbers(Ended { flow, reason }: &Ended) -> [(u32, u64); 9] {
    [
        (3, flow.key.source_port.into()),
        (4, flow.key.destination_port.into()),
        (5, flow.key.protocol.into()),
        (7, flow.packets),
        (8, flow.bytes),
        (9, flow.flags.into()),
        (10, flow.start_ms),
        (11, flow.end_ms()),
        (12, *reason as u64),
    ]
}

fn body_bytes(ended: &Ended) -> usize {
    let address = if ended.flow.key.is_six() { 16 } else { 4 };
    let numbers = numbers(ended).into_iter().filter(|(_, value)| *value > 0);
    // Tags and lengths of addresses take a byte each.
    let numbers: usize = numbers.map(|(_, value)| 1 + varint::len(value)).sum();
    let vlan = ended.flow.key.vlan().map_or(0, |vlan| 1 + varint::len(vlan.into()));
    2 * (2 + address) + numbers + vlan
}

/// Bytes of the record of a flow.
pub(super) fn record_bytes(ended: &Ended) -> usize {
    let body = body_bytes(ended);
    1 + varint::len(body as u64) + body
}

/// A message of flows, of which one packet in `sample` was counted.
pub(super) fn flows(head: Head, sample: u32, all: &[Ended]) -> Vec<u8> {
    let mut message = Vec::new();
    let head = [
        (DOMAIN, head.domain.into()),
        (SEQUENCE, head.sequence),
        (SENT_MS, u64::try_from(head.time_ns).unwrap_or(0) / 1_000_000),
        (SAMPLE, sample.into()),
    ];
    put_numbers(&mut message, head);
    let mut body = Vec::new();
    for ended in all {
        body.clear();
        record(&mut body, ended);
        put_length(&mut message, FLOWS, &body);
    }
    message
}

/// Writes numbers but for those that are 0.
fn put_numbers<const N: usize>(out: &mut Vec<u8>, numbers: [(u32, u64); N]) {
    for (field, value) in numbers.into_iter().filter(|(_, value)| *value > 0) {
        put_varint(out, field, value);
    }
}

fn record(out: &mut Vec<u8>, ended: &Ended) {
    let key = &ended.flow.key;
    let (source, destination) = key.addresses();
    for (field, address) in [(SOURCE, source), (DESTINATION, destination)] {
        match address {
            IpAddr::V4(address) => put_length(out, field, &address.octets()),
            IpAddr::V6(address) => put_length(out, field, &address.octets()),
        }
    }
    put_numbers(out, numbers(ended));
    if let Some(vlan) = key.vlan() {
        put_varint(out, VLAN, vlan.into());
    }
}
