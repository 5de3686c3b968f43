//! The reach of an address that a node listens on.

use std::net::IpAddr;

/// From where an address can be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Programs of this host only.
    Loopback,
    /// From other hosts, too; an unresolved name may be anything.
    Network,
    /// From any network of this host.
    Wildcard,
}

impl Reach {
    /// The reach of `HOST:PORT`.
    pub fn of(address: &str) -> Reach {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        match literal.unwrap_or(host).parse::<IpAddr>().map(|ip| ip.to_canonical()) {
            Ok(ip) if ip.is_unspecified() => Reach::Wildcard,
            Ok(ip) if ip.is_loopback() => Reach::Loopback,
            Err(_) if host.eq_ignore_ascii_case("localhost") => Reach::Loopback,
            Ok(_) | Err(_) => Reach::Network,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_reach_this_host_others_or_all() {
        for address in ["localhost:1", "LocalHost:1", "127.0.0.1:0", "127.9.9.9:1", "[::1]:1"] {
            assert_eq!(Reach::of(address), Reach::Loopback, "{address}");
        }
        for address in ["10.0.0.1:1", "alpha:1", "[2001:db8::1]:1", "localhost.example:1"] {
            assert_eq!(Reach::of(address), Reach::Network, "{address}");
        }
        for address in ["0.0.0.0:1", "[::]:1", "[::ffff:0.0.0.0]:1"] {
            assert_eq!(Reach::of(address), Reach::Wildcard, "{address}");
        }
        assert_eq!(Reach::of("[::ffff:127.0.0.1]:1"), Reach::Loopback);
    }
}
