//! Watches: who is told when a node or one below it changes.

use std::collections::BTreeMap;

use super::tree::{Path, home};
use super::wire::Errno;

/// Watches of one client.
const WATCHES_MAX: usize = 1024;

/// A client of the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct ClientId(pub(super) u64);

struct Watch {
    path: Path,
    token: Vec<u8>,
    /// Bytes of the own node's path that the client does not want to hear.
    hidden: usize,
}

/// All watches, by client.
#[derive(Default)]
pub(super) struct Watches {
    watches: BTreeMap<ClientId, Vec<Watch>>,
}

/// Special names, which are no nodes.
const SPECIAL: [&[u8]; 2] = [b"@introduceDomain", b"@releaseDomain"];

/// A path that can be watched.
pub(super) fn watchable(path: &[u8], domain: u32) -> Result<Path, Errno> {
    if SPECIAL.contains(&path) {
        return Ok(path.to_vec());
    }
    super::tree::absolute(path, domain)
}

fn is_at_or_below(changed: &[u8], watched: &[u8]) -> bool {
    watched == b"/" && changed.starts_with(b"/")
        || changed.strip_prefix(watched).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

impl Watches {
    /// Adds one; the first event, which comes at once, is the caller's to send.
    pub(super) fn add(
        &mut self,
        client: ClientId,
        domain: u32,
        said: &[u8],
        token: &[u8],
    ) -> Result<(), Errno> {
        let path = watchable(said, domain)?;
        let own = self.watches.entry(client).or_default();
        if own.iter().any(|watch| watch.path == path && watch.token == token) {
            return Err(Errno::EEXIST);
        }
        if own.len() >= WATCHES_MAX {
            return Err(Errno::E2BIG);
        }
        let is_relative = !said.starts_with(b"/") && !SPECIAL.contains(&said);
        let hidden = if is_relative { home(domain).len() + 1 } else { 0 };
        own.push(Watch { path, token: token.to_vec(), hidden });
        Ok(())
    }

    pub(super) fn remove(
        &mut self,
        client: ClientId,
        domain: u32,
        said: &[u8],
        token: &[u8],
    ) -> Result<(), Errno> {
        let path = watchable(said, domain)?;
        let own = self.watches.get_mut(&client).ok_or(Errno::ENOENT)?;
        let at = own.iter().position(|watch| watch.path == path && watch.token == token);
        own.remove(at.ok_or(Errno::ENOENT)?);
        Ok(())
    }

    pub(super) fn remove_all(&mut self, client: ClientId) {
        self.watches.remove(&client);
    }

    /// Whom a change concerns, with the payload for each.
    pub(super) fn events(&self, changed: &[u8]) -> Vec<(ClientId, Vec<u8>)> {
        let mut events = Vec::new();
        for (&client, watches) in &self.watches {
            for watch in watches.iter().filter(|watch| is_at_or_below(changed, &watch.path)) {
                let path = &changed[watch.hidden..];
                events.push((client, [path, b"\0", &watch.token, b"\0"].concat()));
            }
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_below_concern_and_others_do_not() {
        let mut watches = Watches::default();
        let (one, two) = (ClientId(1), ClientId(2));
        watches.add(one, 5, b"device", b"t").expect("added");
        watches.add(two, 0, b"/", b"all").expect("added");
        assert_eq!(watches.add(one, 5, b"device", b"t"), Err(Errno::EEXIST));
        let events = watches.events(b"/local/domain/5/device/vif");
        assert_eq!(events[0], (one, b"device/vif\0t\0".to_vec()));
        assert_eq!(events[1], (two, b"/local/domain/5/device/vif\0all\0".to_vec()));
        assert_eq!(watches.events(b"/local/domain/5/devices").len(), 1);
        assert_eq!(watches.events(b"@releaseDomain").len(), 0);
        watches.remove(one, 5, b"device", b"t").expect("there");
        assert_eq!(watches.remove(one, 5, b"device", b"t"), Err(Errno::ENOENT));
    }
}
