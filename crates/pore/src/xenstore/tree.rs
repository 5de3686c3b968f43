//! The nodes of the store, their permissions, and transactions on them.
//!
//! Each change gives its node a new generation. A transaction works on copies of the nodes it
//! touches and remembers in which generation it found them; it commits if all are still in that,
//! and fails with EAGAIN if another was faster.

use tidemill_stdx::keyed::Map;
use tidemill_stdx::ordered::{OrderedMap, OrderedSet};

use super::wire::{ABSOLUTE_PATH_MAX, Errno, RELATIVE_PATH_MAX};

/// A path from the root, checked.
pub(super) type Path = Vec<u8>;

/// Nodes of all domains together.
const NODES_MAX: usize = 1 << 20;
/// Nodes that one transaction touches, each of which it has a copy of.
pub(super) const TRANSACTION_NODES_MAX: usize = 1 << 12;

/// The special node whose watches fire when a domain has become known.
pub(super) const INTRODUCE_DOMAIN: &[u8] = b"@introduceDomain";
/// The special node whose watches fire when a domain has gone.
pub(super) const RELEASE_DOMAIN: &[u8] = b"@releaseDomain";

/// A right of a domain at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Permission {
    /// `r`, `w`, `b` or `n`.
    letter: u8,
    domain: u32,
}

impl Permission {
    pub(super) fn parse(text: &[u8]) -> Result<Permission, Errno> {
        let (&letter, digits) = text.split_first().ok_or(Errno::EINVAL)?;
        let domain = std::str::from_utf8(digits).ok().and_then(|it| it.parse().ok());
        match (letter, domain) {
            (b'r' | b'w' | b'b' | b'n', Some(domain)) => Ok(Permission { letter, domain }),
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn show(self) -> String {
        format!("{}{}", char::from(self.letter), self.domain)
    }
}

/// An access to a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Read,
    Write,
}

#[derive(Clone, PartialEq, Debug)]
struct Node {
    value: Vec<u8>,
    /// The first is the owner, and the rights of domains that are not listed.
    permissions: Vec<Permission>,
    children: OrderedSet<Vec<u8>>,
    generation: u64,
}

impl Node {
    fn allows(&self, domain: u32, access: Access) -> bool {
        allow(&self.permissions, domain, access)
    }
}

/// Whether a list of permissions lets a domain do this. An empty list lets domain 0 only.
fn allow(permissions: &[Permission], domain: u32, access: Access) -> bool {
    if domain == 0 {
        return true;
    }
    let Some((owner, others)) = permissions.split_first() else { return false };
    if domain == owner.domain {
        return true;
    }
    let listed = others.iter().find(|it| it.domain == domain);
    let letter = listed.unwrap_or(owner).letter;
    letter == b'b' || letter == if access == Access::Read { b'r' } else { b'w' }
}

/// A change of a node, for the watches.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Change {
    path: Path,
    /// Only watches of this very node fire: it was removed with one above, for which watches of
    /// nodes above this one fire once.
    is_exact: bool,
    /// Permissions of the node, and of the one above: the right to read either makes the change
    /// visible.
    readers: [Vec<Permission>; 2],
}

impl Change {
    pub(super) fn path(&self) -> &[u8] {
        &self.path
    }

    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    pub(super) fn is_visible_to(&self, domain: u32) -> bool {
        self.readers.iter().any(|list| allow(list, domain, Access::Read))
    }

    /// One that is visible to all.
    #[cfg(test)]
    pub(super) fn to_all(path: &[u8]) -> Change {
        let all = vec![Permission { letter: b'r', domain: 0 }];
        Change { path: path.to_vec(), is_exact: false, readers: [all, Vec::new()] }
    }
}

/// A transaction that has begun.
#[derive(Default)]
pub(super) struct Transaction {
    /// Nodes as the transaction sees them; removed ones are none.
    inside: OrderedMap<Path, Option<Node>>,
    /// The generation in which each was found; none if it was not there.
    found: OrderedMap<Path, Option<u64>>,
    changed: Vec<Change>,
}

impl Transaction {
    /// Whether it has touched the maximum number of nodes.
    pub(super) fn is_full(&self) -> bool {
        self.inside.len() >= TRANSACTION_NODES_MAX
    }
}

/// All nodes.
pub(super) struct Tree {
    /// Keyed, as clients choose paths; never iterated. A write looks up five nodes.
    nodes: Map<Path, Node>,
    generation: u64,
}

/// Where an operation works.
pub(super) struct View<'a> {
    tree: &'a mut Tree,
    transaction: Option<&'a mut Transaction>,
    domain: u32,
    /// The changes, for the watches.
    changed: Vec<Change>,
}

fn is_legal(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-/_@".contains(&byte)
}

/// The name of a special node in a request.
pub(super) fn special(name: &[u8]) -> Result<Path, Errno> {
    let is_right = name.starts_with(b"@")
        && name.len() <= RELATIVE_PATH_MAX
        && name.iter().all(|&byte| is_legal(byte));
    if is_right { Ok(name.to_vec()) } else { Err(Errno::EINVAL) }
}

/// A path in a request: from the root, or from its domain's own node.
pub(super) fn absolute(path: &[u8], domain: u32) -> Result<Path, Errno> {
    let longest = if path.starts_with(b"/") { ABSOLUTE_PATH_MAX } else { RELATIVE_PATH_MAX };
    let is_wrong = path.is_empty()
        // Special nodes have permissions and watches, and no other use.
        || path.starts_with(b"@")
        || path.len() > longest
        || !path.iter().all(|&byte| is_legal(byte))
        || path.len() > 1 && path.ends_with(b"/")
        || path.windows(2).any(|two| two == b"//");
    if is_wrong {
        return Err(Errno::EINVAL);
    }
    if path.starts_with(b"/") {
        return Ok(path.to_vec());
    }
    Ok([home(domain).as_bytes(), b"/", path].concat())
}

/// A domain's own node.
pub(super) fn home(domain: u32) -> String {
    format!("/local/domain/{domain}")
}

/// The parent and the last name; none for the root.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    if path == b"/" {
        return None;
    }
    let at = path.iter().rposition(|&byte| byte == b'/')?;
    Some((if at == 0 { b"/" } else { &path[..at] }, &path[at + 1..]))
}

impl Tree {
    pub(super) fn new() -> Tree {
        let mut tree = Tree { nodes: Map::default(), generation: 1 };
        for path in [&b"/"[..], INTRODUCE_DOMAIN, RELEASE_DOMAIN] {
            let permissions = vec![Permission { letter: b'n', domain: 0 }];
            let children = OrderedSet::new();
            let node = Node { value: Vec::new(), permissions, children, generation: 1 };
            tree.nodes.insert(path.to_vec(), node);
        }
        tree
    }

    /// The event of a special node for its watches.
    pub(super) fn special_event(&self, path: &[u8]) -> Change {
        let permissions = self.nodes.get(path).map(|node| node.permissions.clone());
        let readers = [permissions.unwrap_or_default(), Vec::new()];
        Change { path: path.to_vec(), is_exact: true, readers }
    }

    pub(super) fn view<'a>(
        &'a mut self,
        transaction: Option<&'a mut Transaction>,
        domain: u32,
    ) -> View<'a> {
        View { tree: self, transaction, domain, changed: Vec::new() }
    }

    /// A domain's own node, which it owns.
    pub(super) fn introduce(&mut self, domain: u32) {
        let mut view = self.view(None, 0);
        let home = home(domain).into_bytes();
        // There is room for it, or the domain has none.
        if view.make_directory(&home).is_ok() {
            let owner = Permission { letter: b'n', domain };
            let _ = view.set_permissions(&home, vec![owner]);
        }
    }

    /// Makes what a transaction has done so for all; returns what has changed.
    pub(super) fn commit(&mut self, transaction: Transaction) -> Result<Vec<Change>, Errno> {
        let now = |path: &Path| self.nodes.get(path).map(|node| node.generation);
        if transaction.found.iter().any(|(path, found)| now(path) != *found) {
            return Err(Errno::EAGAIN);
        }
        self.generation += 1;
        for (path, node) in transaction.inside {
            match node {
                // Only read.
                Some(node) if node.generation != 0 => {}
                Some(node) => {
                    self.nodes.insert(path, Node { generation: self.generation, ..node });
                }
                None => drop(self.nodes.remove(&path)),
            }
        }
        Ok(transaction.changed)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.nodes.len()
    }
}

impl View<'_> {
    /// The changes, for the watches.
    pub(super) fn into_changes(self) -> Vec<Change> {
        match self.transaction {
            Some(transaction) => {
                transaction.changed.extend(self.changed);
                Vec::new()
            }
            None => self.changed,
        }
    }

    /// Notes a change of a node that still exists. A transaction need not have read the one above
    /// for this.
    fn note(&mut self, path: &[u8], is_exact: bool) {
        let of = |view: &Self, path: &[u8]| {
            let inside = view.transaction.as_ref().and_then(|it| it.inside.get(path));
            let node = inside.map_or_else(|| view.tree.nodes.get(path), Option::as_ref);
            node.map(|node| node.permissions.clone()).unwrap_or_default()
        };
        let above = split(path).map(|(above, _)| of(self, above)).unwrap_or_default();
        let readers = [of(self, path), above];
        self.changed.push(Change { path: path.to_vec(), is_exact, readers });
    }

    fn node(&mut self, path: &[u8]) -> Option<&Node> {
        let there = self.tree.nodes.get(path);
        let Some(transaction) = self.transaction.as_deref_mut() else { return there };
        if !transaction.inside.contains_key(path) {
            transaction.found.insert(path.to_vec(), there.map(|node| node.generation));
            transaction.inside.insert(path.to_vec(), there.cloned());
        }
        transaction.inside.get(path)?.as_ref()
    }

    /// The node, to be changed.
    fn node_mut(&mut self, path: &[u8]) -> Option<&mut Node> {
        self.node(path)?;
        match self.transaction.as_deref_mut() {
            Some(transaction) => {
                let node = transaction.inside.get_mut(path)?.as_mut()?;
                node.generation = 0;
                Some(node)
            }
            None => {
                self.tree.generation += 1;
                let node = self.tree.nodes.get_mut(path)?;
                node.generation = self.tree.generation;
                Some(node)
            }
        }
    }

    fn insert(&mut self, path: &[u8], node: Node) {
        match self.transaction.as_deref_mut() {
            Some(transaction) => {
                transaction.inside.insert(path.to_vec(), Some(Node { generation: 0, ..node }));
            }
            None => {
                self.tree.generation += 1;
                let generation = self.tree.generation;
                self.tree.nodes.insert(path.to_vec(), Node { generation, ..node });
            }
        }
    }

    fn allowed(&mut self, path: &[u8], access: Access) -> Result<&Node, Errno> {
        let domain = self.domain;
        match self.node(path) {
            Some(node) if node.allows(domain, access) => Ok(node),
            Some(_) => Err(Errno::EACCES),
            None => Err(Errno::ENOENT),
        }
    }

    pub(super) fn read(&mut self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        Ok(self.allowed(path, Access::Read)?.value.clone())
    }

    /// The names below, each ended by a NUL, and the node's generation.
    pub(super) fn directory(&mut self, path: &[u8]) -> Result<(Vec<u8>, u64), Errno> {
        let node = self.allowed(path, Access::Read)?;
        let names = node.children.iter().flat_map(|name| name.iter().copied().chain([0]));
        Ok((names.collect(), node.generation))
    }

    pub(super) fn permissions(&mut self, path: &[u8]) -> Result<Vec<Permission>, Errno> {
        Ok(self.allowed(path, Access::Read)?.permissions.clone())
    }

    /// Only the owner may set permissions, and only domain 0 the owner.
    pub(super) fn set_permissions(
        &mut self,
        path: &[u8],
        permissions: Vec<Permission>,
    ) -> Result<(), Errno> {
        let domain = self.domain;
        let first = *permissions.first().ok_or(Errno::EINVAL)?;
        let owner = self.allowed(path, Access::Write)?.permissions[0].domain;
        if domain != 0 && (domain != owner || first.domain != owner) {
            return Err(Errno::EPERM);
        }
        self.node_mut(path).ok_or(Errno::ENOENT)?.permissions = permissions;
        if !path.starts_with(b"@") {
            self.note(path, false);
        }
        Ok(())
    }

    pub(super) fn write(&mut self, path: &[u8], value: &[u8]) -> Result<(), Errno> {
        match self.allowed(path, Access::Write) {
            Ok(_) => {}
            Err(Errno::ENOENT) => self.create(path)?,
            Err(error) => return Err(error),
        }
        let node = self.node_mut(path).ok_or(Errno::ENOENT)?;
        node.value.clear();
        node.value.extend_from_slice(value);
        self.note(path, false);
        Ok(())
    }

    pub(super) fn make_directory(&mut self, path: &[u8]) -> Result<(), Errno> {
        match self.allowed(path, Access::Write) {
            Ok(_) => Ok(()),
            Err(Errno::ENOENT) => {
                self.create(path)?;
                self.note(path, false);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Makes a node and the missing ones above it; the domain that makes them owns them, and other
    /// rights are as for the node above.
    fn create(&mut self, path: &[u8]) -> Result<(), Errno> {
        let mut missing = vec![path];
        let mut above = path;
        loop {
            above = split(above).ok_or(Errno::EINVAL)?.0;
            if self.node(above).is_some() {
                break;
            }
            missing.push(above);
        }
        if self.tree.nodes.len() + missing.len() > NODES_MAX {
            return Err(Errno::ENOSPC);
        }
        let mut permissions = self.allowed(above, Access::Write)?.permissions.clone();
        if self.domain != 0 {
            permissions[0].domain = self.domain;
        }
        for path in missing.into_iter().rev() {
            let (parent, name) = split(path).ok_or(Errno::EINVAL)?;
            let parent = self.node_mut(parent).ok_or(Errno::ENOENT)?;
            parent.children.insert(name.to_vec());
            let (permissions, children) = (permissions.clone(), OrderedSet::new());
            // Found missing, which a transaction has to remember.
            self.node(path);
            self.insert(path, Node { value: Vec::new(), permissions, children, generation: 0 });
        }
        Ok(())
    }

    /// Removes a node with all below it. One that is not there is removed already, if there is a
    /// node above.
    pub(super) fn remove(&mut self, path: &[u8]) -> Result<(), Errno> {
        let (parent, name) = split(path).ok_or(Errno::EINVAL)?;
        match self.allowed(path, Access::Write) {
            Ok(_) => {}
            Err(Errno::ENOENT) => return self.node(parent).map(|_| ()).ok_or(Errno::ENOENT),
            Err(error) => return Err(error),
        }
        let mut doomed = vec![path.to_vec()];
        let removed = path;
        if let Some(parent) = self.node_mut(parent) {
            parent.children.remove(name);
        }
        while let Some(path) = doomed.pop() {
            self.note(&path, path != removed);
            let Some(node) = self.node(&path) else { continue };
            let below = node.children.iter().map(|name| [&path[..], b"/", name].concat());
            doomed.extend(below.collect::<Vec<_>>());
            match self.transaction.as_deref_mut() {
                Some(transaction) => drop(transaction.inside.insert(path.clone(), None)),
                None => drop(self.tree.nodes.remove(&path)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_checked() {
        for good in [&b"/"[..], b"/a", b"/local/domain/0/x-y_z@1"] {
            assert_eq!(absolute(good, 3).as_deref(), Ok(good));
        }
        assert_eq!(absolute(b"device/vif", 3).as_deref(), Ok(&b"/local/domain/3/device/vif"[..]));
        for bad in
            [&b""[..], b"@releaseDomain", b"/a/", b"//", b"/a//b", b"/a b", b"/a\0", b"/\xc3\xa9"]
        {
            assert_eq!(absolute(bad, 0), Err(Errno::EINVAL), "{bad:?}");
        }
        assert!(absolute(&[b'/'; 1], 0).is_ok());
        assert!(absolute(&[&b"/"[..], &[b'a'; 3071]].concat(), 0).is_ok());
        assert!(absolute(&[&b"/"[..], &[b'a'; 3072]].concat(), 0).is_err());
        assert!(absolute(&[b'a'; 2049], 0).is_err());
    }

    #[test]
    fn nodes_come_with_those_above_and_go_with_those_below() {
        let mut tree = Tree::new();
        tree.view(None, 0).write(b"/a/b/c", b"1").expect("written");
        assert_eq!(tree.view(None, 0).directory(b"/a").map(|it| it.0), Ok(b"b\0".to_vec()));
        assert_eq!(tree.view(None, 0).read(b"/a/b"), Ok(Vec::new()));
        let mut view = tree.view(None, 0);
        view.remove(b"/a/b").expect("removed");
        let changes = view.into_changes();
        let changes: Vec<_> = changes.iter().map(|it| (it.path(), it.is_exact())).collect();
        assert_eq!(changes, [(&b"/a/b"[..], false), (b"/a/b/c", true)]);
        // The root, /a, and two special ones.
        assert_eq!(tree.len(), 4);
        assert_eq!(tree.view(None, 0).remove(b"/a/x"), Ok(()));
        assert_eq!(tree.view(None, 0).remove(b"/x/y"), Err(Errno::ENOENT));
        assert_eq!(tree.view(None, 0).remove(b"/"), Err(Errno::EINVAL));
    }

    #[test]
    fn permissions_hold() {
        let mut tree = Tree::new();
        tree.introduce(1);
        tree.introduce(2);
        let mine = b"/local/domain/1/x";
        tree.view(None, 1).write(mine, b"1").expect("my own");
        assert_eq!(tree.view(None, 2).read(mine), Err(Errno::EACCES));
        let list = |texts: &[&str]| {
            texts.iter().map(|it| Permission::parse(it.as_bytes())).collect::<Result<Vec<_>, _>>()
        };
        let (open, theirs) = (list(&["n1", "r2"]).expect("fine"), list(&["n2"]).expect("fine"));
        assert_eq!(tree.view(None, 2).set_permissions(mine, open.clone()), Err(Errno::EACCES));
        tree.view(None, 1).set_permissions(mine, open).expect("the owner");
        assert_eq!(tree.view(None, 2).read(mine), Ok(b"1".to_vec()));
        assert_eq!(tree.view(None, 2).write(mine, b"2"), Err(Errno::EACCES));
        assert_eq!(tree.view(None, 1).set_permissions(mine, theirs), Err(Errno::EPERM));
        assert_eq!(tree.view(None, 2).write(b"/other", b""), Err(Errno::EACCES));
        assert!(list(&["x1"]).is_err() && list(&["r"]).is_err() && list(&[""]).is_err());
    }

    #[test]
    fn transactions_see_themselves_and_conflict_with_others() {
        let mut tree = Tree::new();
        tree.view(None, 0).write(b"/n", b"1").expect("written");
        let (mut one, mut two) = (Transaction::default(), Transaction::default());
        for transaction in [&mut one, &mut two] {
            let mut view = tree.view(Some(transaction), 0);
            assert_eq!(view.read(b"/n"), Ok(b"1".to_vec()));
            view.write(b"/n", b"2").expect("inside");
            assert_eq!(view.read(b"/n"), Ok(b"2".to_vec()));
            assert!(view.into_changes().is_empty());
        }
        assert_eq!(tree.view(None, 0).read(b"/n"), Ok(b"1".to_vec()));
        let changes = tree.commit(one).expect("the first");
        assert_eq!(changes.iter().map(Change::path).collect::<Vec<_>>(), [b"/n"]);
        assert_eq!(tree.commit(two), Err(Errno::EAGAIN));
        assert_eq!(tree.view(None, 0).read(b"/n"), Ok(b"2".to_vec()));
    }

    #[test]
    fn a_transaction_that_looked_where_nothing_was_conflicts_too() {
        let mut tree = Tree::new();
        let mut looking = Transaction::default();
        assert_eq!(tree.view(Some(&mut looking), 0).read(b"/new"), Err(Errno::ENOENT));
        tree.view(None, 0).write(b"/new", b"").expect("written");
        assert_eq!(tree.commit(looking), Err(Errno::EAGAIN));
        let mut removing = Transaction::default();
        tree.view(Some(&mut removing), 0).remove(b"/new").expect("inside");
        assert_eq!(tree.view(None, 0).read(b"/new"), Ok(Vec::new()));
        tree.commit(removing).expect("no conflict");
        assert_eq!(tree.view(None, 0).read(b"/new"), Err(Errno::ENOENT));
    }
}
