//! Where the headers are.

use crate::graph::ValueId;

/// Where a header begins: at a constant offset, after a value of the packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeaderStart {
    /// Bytes that depend on the packet, if any do.
    pub base: Option<ValueId>,
    /// Bytes that do not.
    pub offset: u32,
}

impl HeaderStart {
    /// At a fixed place.
    pub const fn at(offset: u32) -> HeaderStart {
        HeaderStart { base: None, offset }
    }

    /// This many bytes after.
    pub fn plus(self, bytes: u32) -> HeaderStart {
        HeaderStart { offset: self.offset.saturating_add(bytes), ..self }
    }

    /// This many bytes before.
    pub fn minus(self, bytes: u32) -> HeaderStart {
        HeaderStart { offset: self.offset.saturating_sub(bytes), ..self }
    }
}

/// Where the headers are at this place of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// What type field there is.
    pub link: Link,
    /// Where the link header is.
    pub link_header: HeaderStart,
    /// Where the type is.
    pub link_type: HeaderStart,
    /// Where the payload of the link header is.
    pub payload: HeaderStart,
    /// MPLS labels between that payload and the network header.
    pub labels: u32,
    /// Inside of Geneve: 1 if there is an Ethernet header, 0 if there is but its type.
    pub has_ethernet: Option<ValueId>,
    /// The number of Geneve headers that were stepped over.
    pub tunnels: u32,
}

/// The kind of the type before the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Link {
    /// Ethernet.
    Ethernet,
    /// Point to point, in a PPPoE session.
    Ppp,
}

impl Default for Layout {
    fn default() -> Layout {
        let [link_header, link_type, payload] = [0, 12, 14].map(HeaderStart::at);
        let (link, labels, has_ethernet, tunnels) = (Link::Ethernet, 0, None, 0);
        Layout { link, link_header, link_type, payload, labels, has_ethernet, tunnels }
    }
}

impl Layout {
    /// Where the network header is.
    pub fn network(&self) -> HeaderStart {
        self.payload.plus(4 * self.labels)
    }
}
