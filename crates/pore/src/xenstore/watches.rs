//! Watches: which clients are notified when a node or one below it changes.

use tidemill_stdx::ordered::OrderedMap;

use super::tree::{Change, Path, home, special};
use super::wire::Errno;

/// Watches of one client.
const WATCHES_MAX: usize = 1024;

/// A client of the store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct ClientId(pub(super) u64);

struct Watch {
    path: Path,
    token: Vec<u8>,
    /// Its client's domain: changes of nodes that it may not read are not reported.
    domain: u32,
    /// Bytes of the own node's path that are left out of events.
    hidden: usize,
}

/// All watches, by client.
#[derive(Default)]
pub(super) struct Watches {
    watches: OrderedMap<ClientId, Vec<Watch>>,
}

/// A path that can be watched.
pub(super) fn watchable(path: &[u8], domain: u32) -> Result<Path, Errno> {
    if path.starts_with(b"@") { special(path) } else { super::tree::absolute(path, domain) }
}

fn is_at_or_below(changed: &[u8], watched: &[u8]) -> bool {
    watched == b"/" && changed.starts_with(b"/")
        || changed.strip_prefix(watched).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

impl Watches {
    /// Adds one; the caller sends the first event, which is due at once.
    pub(super) fn add(
        &mut self,
        client: ClientId,
        domain: u32,
        name: &[u8],
        token: &[u8],
    ) -> Result<(), Errno> {
        let path = watchable(name, domain)?;
        let own = self.watches.entry(client).or_default();
        if own.iter().any(|watch| watch.path == path && watch.token == token) {
            return Err(Errno::EEXIST);
        }
        if own.len() >= WATCHES_MAX {
            return Err(Errno::E2BIG);
        }
        let is_relative = !name.starts_with(b"/") && !name.starts_with(b"@");
        let hidden = if is_relative { home(domain).len() + 1 } else { 0 };
        own.push(Watch { path, token: token.to_vec(), domain, hidden });
        Ok(())
    }

    pub(super) fn remove(
        &mut self,
        client: ClientId,
        domain: u32,
        name: &[u8],
        token: &[u8],
    ) -> Result<(), Errno> {
        let path = watchable(name, domain)?;
        let own = self.watches.get_mut(&client).ok_or(Errno::ENOENT)?;
        let at = own.iter().position(|watch| watch.path == path && watch.token == token);
        own.remove(at.ok_or(Errno::ENOENT)?);
        Ok(())
    }

    pub(super) fn remove_all(&mut self, client: ClientId) {
        self.watches.remove(&client);
    }

    /// The clients whose watches a change fires, with the payload for each.
    pub(super) fn events(&self, change: &Change) -> Vec<(ClientId, Vec<u8>)> {
        let mut events = Vec::new();
        let path = change.path();
        for (&client, watches) in &self.watches {
            let concerned = watches.iter().filter(|watch| {
                let is_covered = if change.is_exact() {
                    path == watch.path
                } else {
                    is_at_or_below(path, &watch.path)
                };
                is_covered && change.is_visible_to(watch.domain)
            });
            for watch in concerned {
                let path = &path[watch.hidden..];
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
        let events = watches.events(&Change::to_all(b"/local/domain/5/device/vif"));
        assert_eq!(events[0], (one, b"device/vif\0t\0".to_vec()));
        assert_eq!(events[1], (two, b"/local/domain/5/device/vif\0all\0".to_vec()));
        assert_eq!(watches.events(&Change::to_all(b"/local/domain/5/devices")).len(), 1);
        assert_eq!(watches.events(&Change::to_all(b"@releaseDomain")).len(), 0);
        watches.remove(one, 5, b"device", b"t").expect("there");
        assert_eq!(watches.remove(one, 5, b"device", b"t"), Err(Errno::ENOENT));
    }
}
