//! Names for numbers: services, protocols, kinds of frames, fields and their values.
//!
//! The tables are our own, so that a filter means the same on every machine; the numbers are those
//! that IANA assigned. A service that is assigned for TCP only means TCP when its name is used
//! without a protocol, and so for UDP.

/// Over what a service of a name is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// TCP only.
    Tcp,
    /// UDP only.
    Udp,
    /// Either.
    Both,
}

/// Names, ports, over what; sorted by name.
const SERVICES: &[(&str, u16, Over)] = &[
    ("amqp", 5672, Over::Tcp),
    ("auth", 113, Over::Tcp),
    ("bgp", 179, Over::Tcp),
    ("bootpc", 68, Over::Udp),
    ("bootps", 67, Over::Udp),
    ("chargen", 19, Over::Both),
    ("daytime", 13, Over::Both),
    ("dhcpv6-client", 546, Over::Udp),
    ("dhcpv6-server", 547, Over::Udp),
    ("discard", 9, Over::Both),
    ("domain", 53, Over::Both),
    ("domain-s", 853, Over::Both),
    ("echo", 7, Over::Both),
    ("finger", 79, Over::Tcp),
    ("ftp", 21, Over::Tcp),
    ("ftp-data", 20, Over::Tcp),
    ("ftps", 990, Over::Tcp),
    ("ftps-data", 989, Over::Tcp),
    ("git", 9418, Over::Tcp),
    ("gopher", 70, Over::Tcp),
    ("http", 80, Over::Tcp),
    ("http-alt", 8080, Over::Tcp),
    ("https", 443, Over::Both),
    ("imap2", 143, Over::Tcp),
    ("imaps", 993, Over::Tcp),
    ("ipp", 631, Over::Tcp),
    ("ipsec-nat-t", 4500, Over::Udp),
    ("ircd", 6667, Over::Tcp),
    ("isakmp", 500, Over::Udp),
    ("kerberos", 88, Over::Both),
    ("l2f", 1701, Over::Udp),
    ("ldap", 389, Over::Both),
    ("ldaps", 636, Over::Both),
    ("mdns", 5353, Over::Udp),
    ("microsoft-ds", 445, Over::Tcp),
    ("mysql", 3306, Over::Tcp),
    ("netbios-dgm", 138, Over::Udp),
    ("netbios-ns", 137, Over::Udp),
    ("netbios-ssn", 139, Over::Tcp),
    ("nfs", 2049, Over::Both),
    ("nntp", 119, Over::Tcp),
    ("ntp", 123, Over::Udp),
    ("openvpn", 1194, Over::Both),
    ("pop3", 110, Over::Tcp),
    ("pop3s", 995, Over::Tcp),
    ("postgresql", 5432, Over::Tcp),
    ("qotd", 17, Over::Tcp),
    ("radius", 1812, Over::Both),
    ("radius-acct", 1813, Over::Both),
    ("redis", 6379, Over::Tcp),
    ("route", 520, Over::Udp),
    ("rsync", 873, Over::Tcp),
    ("sip", 5060, Over::Both),
    ("sip-tls", 5061, Over::Both),
    ("smtp", 25, Over::Tcp),
    ("snmp", 161, Over::Both),
    ("snmp-trap", 162, Over::Both),
    ("socks", 1080, Over::Tcp),
    ("ssh", 22, Over::Tcp),
    ("submission", 587, Over::Tcp),
    ("sunrpc", 111, Over::Both),
    ("syslog", 514, Over::Udp),
    ("telnet", 23, Over::Tcp),
    ("tftp", 69, Over::Udp),
    ("time", 37, Over::Both),
    ("whois", 43, Over::Tcp),
    ("xmpp-client", 5222, Over::Tcp),
];

const PROTOCOLS: &[(&str, u32)] = &[
    ("ah", 51),
    ("dccp", 33),
    ("egp", 8),
    ("eigrp", 88),
    ("encap", 98),
    ("esp", 50),
    ("etherip", 97),
    ("gre", 47),
    ("hopopt", 0),
    ("icmp", 1),
    ("igmp", 2),
    ("igp", 9),
    ("ipcomp", 108),
    ("ipencap", 4),
    ("ipip", 94),
    ("ipv6", 41),
    ("ipv6-frag", 44),
    ("ipv6-icmp", 58),
    ("ipv6-nonxt", 59),
    ("ipv6-opts", 60),
    ("ipv6-route", 43),
    ("l2tp", 115),
    ("ospf", 89),
    ("pim", 103),
    ("rsvp", 46),
    ("sctp", 132),
    ("tcp", 6),
    ("udp", 17),
    ("udplite", 136),
    ("vrrp", 112),
];

/// Ethernet types, and service access points of IEEE 802.2 below 256.
const FRAMES: &[(&str, u32)] = &[
    ("aarp", 0x80f3),
    ("arp", 0x0806),
    ("atalk", 0x809b),
    ("decnet", 0x6003),
    ("ip", 0x0800),
    ("ip6", 0x86dd),
    ("ipx", 0xe0),
    ("iso", 0xfe),
    ("lat", 0x6004),
    ("loopback", 0x9000),
    ("mopdl", 0x6001),
    ("moprc", 0x6002),
    ("netbeui", 0xf0),
    ("rarp", 0x8035),
    ("sca", 0x6007),
    ("stp", 0x42),
];

const CONSTANTS: &[(&str, u32)] = &[
    ("icmptype", 0),
    ("icmpcode", 1),
    ("icmp-echoreply", 0),
    ("icmp-unreach", 3),
    ("icmp-sourcequench", 4),
    ("icmp-redirect", 5),
    ("icmp-echo", 8),
    ("icmp-routeradvert", 9),
    ("icmp-routersolicit", 10),
    ("icmp-timxceed", 11),
    ("icmp-paramprob", 12),
    ("icmp-tstamp", 13),
    ("icmp-tstampreply", 14),
    ("icmp-ireq", 15),
    ("icmp-ireqreply", 16),
    ("icmp-maskreq", 17),
    ("icmp-maskreply", 18),
    ("icmp6type", 0),
    ("icmp6code", 1),
    ("icmp6-destinationunreach", 1),
    ("icmp6-packettoobig", 2),
    ("icmp6-timeexceeded", 3),
    ("icmp6-parameterproblem", 4),
    ("icmp6-echo", 128),
    ("icmp6-echoreply", 129),
    ("icmp6-multicastlistenerquery", 130),
    ("icmp6-multicastlistenerreportv1", 131),
    ("icmp6-multicastlistenerdone", 132),
    ("icmp6-routersolicit", 133),
    ("icmp6-routeradvert", 134),
    ("icmp6-neighborsolicit", 135),
    ("icmp6-neighboradvert", 136),
    ("icmp6-redirect", 137),
    ("icmp6-routerrenum", 138),
    ("icmp6-nodeinformationquery", 139),
    ("icmp6-nodeinformationresponse", 140),
    ("icmp6-ineighbordiscoverysolicit", 141),
    ("icmp6-ineighbordiscoveryadvert", 142),
    ("icmp6-multicastlistenerreportv2", 143),
    ("icmp6-homeagentdiscoveryrequest", 144),
    ("icmp6-homeagentdiscoveryreply", 145),
    ("icmp6-mobileprefixsolicit", 146),
    ("icmp6-mobileprefixadvert", 147),
    ("icmp6-certpathsolicit", 148),
    ("icmp6-certpathadvert", 149),
    ("icmp6-multicastrouteradvert", 151),
    ("icmp6-multicastroutersolicit", 152),
    ("icmp6-multicastrouterterm", 153),
    ("tcpflags", 13),
    ("tcp-fin", 0x01),
    ("tcp-syn", 0x02),
    ("tcp-rst", 0x04),
    ("tcp-push", 0x08),
    ("tcp-ack", 0x10),
    ("tcp-urg", 0x20),
    ("tcp-ece", 0x40),
    ("tcp-cwr", 0x80),
];

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// The port of a service, and over what it is.
pub fn service(name: &str) -> Option<(u16, Over)> {
    let at = SERVICES.binary_search_by_key(&name, |(known, ..)| known).ok()?;
    Some((SERVICES[at].1, SERVICES[at].2))
}

/// The number of a protocol over IP.
pub fn protocol(name: &str) -> Option<u32> {
    find(PROTOCOLS, name)
}

/// The number that `ether proto` takes for a kind of frame.
pub fn frame(name: &str) -> Option<u32> {
    find(FRAMES, name)
}

/// The number of an OSI protocol.
pub fn osi(name: &str) -> Option<u32> {
    find(&[("clnp", 0x81), ("esis", 0x82), ("isis", 0x83)], name)
}

/// The number of a word that is allowed wherever a number is: `tcpflags`, `icmp-echo`.
pub fn constant(name: &str) -> Option<u32> {
    find(CONSTANTS, name)
}

/// A service whose name is like this one.
pub fn similar_service(name: &str) -> Option<&'static str> {
    let alike = |known: &str| {
        known.len() > 2 && name.len() > 2 && (known.starts_with(name) || name.starts_with(known))
    };
    let one_off = |known: &str| {
        known.len() == name.len()
            && known.bytes().zip(name.bytes()).filter(|(a, b)| a != b).count() == 1
    };
    SERVICES.iter().map(|(known, ..)| *known).find(|known| alike(known) || one_off(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_is_found() {
        for (name, port, over) in SERVICES.iter().copied() {
            assert_eq!(service(name), Some((port, over)), "{name}");
        }
        assert_eq!(service("sshd"), None);
        assert_eq!(similar_service("sshd"), Some("ssh"));
        assert_eq!(similar_service("htpp"), Some("http"));
        assert_eq!(similar_service("ss"), None);
    }
}
