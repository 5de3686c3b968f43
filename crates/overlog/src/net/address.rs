//! Addresses of nodes as text.

use std::borrow::Cow;

/// One spelling for the addresses of this host, so that the source of a datagram and the
/// destination of another are the same peer.
pub fn canonical(address: &str) -> Cow<'_, str> {
    match address.strip_prefix("localhost:") {
        Some(port) => Cow::Owned(format!("127.0.0.1:{port}")),
        None => Cow::Borrowed(address),
    }
}

/// The address of a peer as a node called `own` would write it: of those of this host there are two
/// spellings, and nodes that are started together have one. Rules compare addresses as texts.
pub(crate) fn spelled_like(own: &str, peer: &str) -> String {
    match peer.strip_prefix("127.0.0.1:") {
        Some(port) if own.starts_with("localhost:") => format!("localhost:{port}"),
        _ => peer.to_owned(),
    }
}

/// Whether `text` has the form `host:port`; no name is resolved.
pub fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_on_the_local_host_are_spelled_as_the_node_itself() {
        assert_eq!(spelled_like("localhost:1", "127.0.0.1:2"), "localhost:2");
        assert_eq!(spelled_like("127.0.0.1:1", "127.0.0.1:2"), "127.0.0.1:2");
        assert_eq!(spelled_like("localhost:1", "n0:1"), "n0:1");
    }

    #[test]
    fn the_local_host_has_one_spelling() {
        assert_eq!(canonical("localhost:1"), canonical("127.0.0.1:1"));
        assert_eq!(canonical("n0:1"), "n0:1");
    }
}
