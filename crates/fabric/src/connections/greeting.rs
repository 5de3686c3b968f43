//! The greeting: the first frame of a connection, with the address at which its node accepts
//! connections.
//!
//! ```text
//! 0 (a byte) | ADDRESS (UTF-8, to the end of the frame)
//! ```
//! The far end of a connection shows only an ephemeral port, while peers know each other by the
//! addresses they listen at. So the side that connects begins with a frame that no envelope begins
//! like: its first byte is the tag of no field. A peer that does not greet is accepted all the
//! same, but cannot be answered.

use crate::seal::NAME_BYTES_MAX;

/// The first byte of a greeting: the tag of no field, so no other frame begins with it.
const KIND: u8 = 0;

/// The greeting of a node with this address.
pub fn greeting(address: &str) -> Vec<u8> {
    let mut bytes = vec![KIND];
    bytes.extend_from_slice(address.as_bytes());
    bytes
}

/// The address in a greeting, `host:port`.
pub fn greeter(frame: &[u8]) -> Option<&str> {
    let (&KIND, address) = frame.split_first()? else { return None };
    let address = std::str::from_utf8(address).ok()?;
    let (host, port) = address.rsplit_once(':')?;
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    let is_host = !host.is_empty() && !host.chars().any(|c| c.is_control() || c.is_whitespace());
    (is_host && is_port && address.len() <= NAME_BYTES_MAX).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Head;

    #[test]
    fn a_greeting_carries_the_address() {
        assert_eq!(greeter(&greeting("localhost:10000")), Some("localhost:10000"));
        assert_eq!(greeter(&greeting("[::1]:1")), Some("[::1]:1"));
    }

    #[test]
    fn a_greeting_is_no_envelope() {
        assert!(Head::decode(&greeting("localhost:10000")).is_err());
        let mut envelope = Vec::new();
        Head { program: 7, sequence: 1, ..Head::default() }.append(&mut envelope);
        assert_eq!(greeter(&envelope), None);
    }

    #[test]
    fn what_is_no_address_is_no_greeting() {
        let long = format!("{}:1", "n".repeat(NAME_BYTES_MAX));
        for address in ["", "a", ":1", "a:", "a:+1", "a:70000", "a\nb:1", "a b:1", &long] {
            assert_eq!(greeter(&greeting(address)), None, "{address:?}");
        }
        assert_eq!(greeter(&[]), None);
        assert_eq!(greeter(&[KIND, 0xff, b':', b'1']), None);
        assert_eq!(greeter(b"\x04a:1"), None);
    }
}
