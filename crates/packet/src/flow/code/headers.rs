//! The headers that programs name without declaring them, with their fields. Tunnels are in
//! [`super::tunnels`].

/// The time to live of a header that is put on, before the program has set it.
pub(super) const TTL: u64 = 64;

/// A field: bits of a unit of whole bytes, most significant first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Where the unit begins in the header.
    pub offset: u32,
    /// Bytes of the unit, 1 to 8, or 16 of an address of IPv6.
    pub bytes: u32,
    /// Bits of the unit below the field.
    pub shift: u32,
    /// Bits of the field.
    pub bits: u32,
}

impl Field {
    /// The two halves of an address of IPv6, or the field alone.
    pub fn halves(&self) -> impl Iterator<Item = Field> + use<> {
        let (whole, is_wide) = (*self, self.bits > 64);
        let half =
            move |offset| Field { offset: whole.offset + offset, bytes: 8, bits: 64, ..whole };
        let fields = if is_wide { [Some(half(0)), Some(half(8))] } else { [Some(whole), None] };
        fields.into_iter().flatten()
    }
}

/// A header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// Ethernet.
    Ethernet,
    /// The outermost tag of IEEE 802.1Q.
    Vlan,
    /// ARP for IPv4 on Ethernet.
    Arp,
    /// IPv4.
    Ipv4,
    /// IPv6, the fixed part.
    Ipv6,
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP over IPv4.
    Icmp,
    /// ICMP over IPv6.
    Icmp6,
    /// One of the program's own, or a tunnel, by number.
    Declared(u32),
}

const fn whole(name: &'static str, offset: u32, bytes: u32) -> Field {
    Field { name, offset, bytes, shift: 0, bits: bytes * 8 }
}

const fn part(name: &'static str, (offset, bytes): (u32, u32), shift: u32, bits: u32) -> Field {
    Field { name, offset, bytes, shift, bits }
}

impl Header {
    /// All of them by name.
    pub const NAMES: [(Header, &'static str); 9] = [
        (Header::Ethernet, "ethernet"),
        (Header::Vlan, "vlan"),
        (Header::Arp, "arp"),
        (Header::Ipv4, "ipv4"),
        (Header::Ipv6, "ipv6"),
        (Header::Tcp, "tcp"),
        (Header::Udp, "udp"),
        (Header::Icmp, "icmp"),
        (Header::Icmp6, "icmp6"),
    ];

    /// Bytes that a packet has of it at least.
    pub fn bytes(self) -> u32 {
        match self {
            Header::Ethernet => 14,
            Header::Vlan => 18,
            Header::Arp => 28,
            Header::Ipv4 | Header::Tcp => 20,
            Header::Ipv6 => 40,
            Header::Udp | Header::Icmp | Header::Icmp6 => 8,
            Header::Declared(_) => 0,
        }
    }

    /// Where its checksum is, if it has one.
    pub fn checksum(self) -> Option<u32> {
        match self {
            Header::Ipv4 => Some(10),
            Header::Tcp => Some(16),
            Header::Udp => Some(6),
            Header::Icmp | Header::Icmp6 => Some(2),
            _ => None,
        }
    }

    /// Whether the checksums of TCP and UDP cover a field of an IP header.
    pub fn is_pseudo(self, field: &Field) -> bool {
        match self {
            Header::Ipv4 => matches!(field.name, "source" | "destination"),
            Header::Ipv6 => field.offset >= 8,
            _ => false,
        }
    }

    /// Its fields.
    pub fn fields(self) -> &'static [Field] {
        match self {
            Header::Ethernet => &ETHERNET,
            Header::Vlan => &VLAN,
            Header::Arp => &ARP,
            Header::Ipv4 => &IPV4,
            Header::Ipv6 => &IPV6,
            Header::Tcp => &TCP,
            Header::Udp => &UDP,
            Header::Icmp | Header::Icmp6 => &ICMP,
            Header::Declared(_) => &[],
        }
    }
}

const ETHERNET: [Field; 3] =
    [whole("destination", 0, 6), whole("source", 6, 6), whole("type", 12, 2)];

const VLAN: [Field; 4] = [
    part("priority", (14, 2), 13, 3),
    part("drop_eligible", (14, 2), 12, 1),
    part("id", (14, 2), 0, 12),
    whole("type", 16, 2),
];

const ARP: [Field; 5] = [
    whole("operation", 6, 2),
    whole("sender_hardware", 8, 6),
    whole("sender", 14, 4),
    whole("target_hardware", 18, 6),
    whole("target", 24, 4),
];

const IPV4: [Field; 14] = [
    part("version", (0, 1), 4, 4),
    part("header_words", (0, 1), 0, 4),
    part("dscp", (1, 1), 2, 6),
    part("ecn", (1, 1), 0, 2),
    whole("total_length", 2, 2),
    whole("id", 4, 2),
    part("dont_fragment", (6, 2), 14, 1),
    part("more_fragments", (6, 2), 13, 1),
    part("fragment_offset", (6, 2), 0, 13),
    whole("ttl", 8, 1),
    whole("protocol", 9, 1),
    whole("checksum", 10, 2),
    whole("source", 12, 4),
    whole("destination", 16, 4),
];

const IPV6: [Field; 13] = [
    part("version", (0, 4), 28, 4),
    part("dscp", (0, 4), 22, 6),
    part("ecn", (0, 4), 20, 2),
    part("flow_label", (0, 4), 0, 20),
    whole("payload_length", 4, 2),
    whole("next_header", 6, 1),
    whole("hop_limit", 7, 1),
    whole("source", 8, 16),
    whole("destination", 24, 16),
    whole("source_high", 8, 8),
    whole("source_low", 16, 8),
    whole("destination_high", 24, 8),
    whole("destination_low", 32, 8),
];

const TCP: [Field; 17] = [
    whole("source", 0, 2),
    whole("destination", 2, 2),
    whole("sequence", 4, 4),
    whole("acknowledgment", 8, 4),
    part("header_words", (12, 1), 4, 4),
    whole("flags", 13, 1),
    part("cwr", (13, 1), 7, 1),
    part("ece", (13, 1), 6, 1),
    part("urg", (13, 1), 5, 1),
    part("ack", (13, 1), 4, 1),
    part("psh", (13, 1), 3, 1),
    part("rst", (13, 1), 2, 1),
    part("syn", (13, 1), 1, 1),
    part("fin", (13, 1), 0, 1),
    whole("window", 14, 2),
    whole("checksum", 16, 2),
    whole("urgent", 18, 2),
];

const UDP: [Field; 4] = [
    whole("source", 0, 2),
    whole("destination", 2, 2),
    whole("length", 4, 2),
    whole("checksum", 6, 2),
];

const ICMP: [Field; 5] = [
    whole("type", 0, 1),
    whole("code", 1, 1),
    whole("checksum", 2, 2),
    whole("id", 4, 2),
    whole("sequence", 6, 2),
];
