//! Flows as messages, in one of two formats.

use super::head::Head;
use super::table::Ended;
use super::{ipfix, protobuf};

/// How messages are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Ipfix,
    Protobuf,
}

impl Format {
    pub fn parse(name: &str) -> Option<Format> {
        match name {
            "ipfix" => Some(Format::Ipfix),
            "protobuf" => Some(Format::Protobuf),
            _ => None,
        }
    }

    /// Whether collectors need templates.
    pub fn has_templates(self) -> bool {
        self == Format::Ipfix
    }

    /// Bytes of the record of a flow.
    pub fn record_bytes(self, ended: &Ended) -> usize {
        match self {
            Format::Ipfix => ipfix::record_bytes(ended),
            Format::Protobuf => protobuf::record_bytes(ended),
        }
    }

    /// Bytes for records in a message of `bytes` at most.
    pub fn room(self, bytes: usize) -> usize {
        match self {
            Format::Ipfix => ipfix::room(bytes),
            Format::Protobuf => protobuf::room(bytes),
        }
    }

    /// A message of flows, of which one packet in `sample` was counted.
    pub fn flows(self, head: Head, sample: u32, all: &[Ended]) -> Vec<u8> {
        match self {
            Format::Ipfix => ipfix::flows(head, all),
            Format::Protobuf => protobuf::flows(head, sample, all),
        }
    }
}
