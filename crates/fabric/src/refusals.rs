//! The peers and reasons of refusals, so that each is logged once.

use tidemill_stdx::ordered::OrderedSet;

/// Pairs of peer and reason that are counted separately. Names of unknown hosts can be invented
/// without end: further pairs are counted as one.
const PAIRS_MAX: usize = 1024;

/// The name under which all peers beyond [`PAIRS_MAX`] pairs are counted.
const OTHERS: &str = "others";

/// The pairs of host and reason that have been seen.
#[derive(Clone, Debug, Default)]
pub struct Refusals(OrderedSet<(Box<str>, &'static str)>);

impl Refusals {
    /// The host to name in a log line about this refusal; `None` if it was logged before. All ports
    /// of a host count as one.
    pub fn first<'a>(&mut self, peer: &'a str, reason: &'static str) -> Option<&'a str> {
        let host = peer.rsplit_once(':').map_or(peer, |(host, _)| host);
        let (name, whom) = if self.0.len() < PAIRS_MAX || self.has(host, reason) {
            (host, peer)
        } else {
            (OTHERS, OTHERS)
        };
        self.0.insert((name.into(), reason)).then_some(whom)
    }

    fn has(&self, host: &str, reason: &'static str) -> bool {
        self.0.contains(&(Box::from(host), reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_of_host_and_reason_is_named_once() {
        let mut refusals = Refusals::default();
        assert_eq!(refusals.first("10.0.0.1:7", "bad_seal"), Some("10.0.0.1:7"));
        assert_eq!(refusals.first("10.0.0.1:8", "bad_seal"), None);
        assert_eq!(refusals.first("10.0.0.1:8", "replayed"), Some("10.0.0.1:8"));
        assert_eq!(refusals.first("[::1]:8", "replayed"), Some("[::1]:8"));
        assert_eq!(refusals.first("user 7", "another user"), Some("user 7"));
    }

    #[test]
    fn a_flood_of_hosts_ends_as_one_line_for_each_reason() {
        let mut refusals = Refusals::default();
        let named = (0..5000).filter_map(|host| {
            let peer = format!("10.0.{}.{}:9", host / 250, host % 250);
            refusals.first(&peer, "malformed").map(str::to_owned)
        });
        let named: Vec<String> = named.collect();
        assert_eq!(named.len(), PAIRS_MAX + 1);
        assert_eq!(named.last().map(String::as_str), Some(OTHERS));
        assert_eq!(refusals.first("10.9.9.9:9", "bad_mac"), Some(OTHERS));
        assert_eq!(refusals.first("10.9.9.9:9", "bad_mac"), None);
        assert_eq!(refusals.first("10.0.0.0:1", "malformed"), None);
    }
}
