//! The requests of one client of the store, and their answers.

use tidemill_stdx::ordered::OrderedMap;

use super::tree::{
    Change, INTRODUCE_DOMAIN, Permission, RELEASE_DOMAIN, Transaction, Tree, absolute, home,
    special,
};
use super::watches::{ClientId, Watches};
use super::wire::{Errno, Header, PAYLOAD_BYTES_MAX, Type, put_message, strings};

/// Transactions of one client at a time.
const TRANSACTIONS_MAX: usize = 10;
/// Domains that have been introduced.
const DOMAINS_MAX: usize = 1024;

/// What all clients share.
pub(super) struct Store {
    pub(super) tree: Tree,
    pub(super) watches: Watches,
    domains: Vec<u32>,
}

impl Store {
    pub(super) fn new() -> Store {
        Store { tree: Tree::new(), watches: Watches::default(), domains: vec![0] }
    }

    /// Makes a domain known.
    pub(super) fn introduce(&mut self, domain: u32) {
        if !self.domains.contains(&domain) && self.domains.len() < DOMAINS_MAX {
            self.domains.push(domain);
            self.tree.introduce(domain);
        }
    }
}

/// One client.
pub(super) struct Session {
    id: ClientId,
    domain: u32,
    transactions: OrderedMap<u32, Transaction>,
    last_transaction: u32,
}

/// Events for clients that watch.
pub(super) type Events = Vec<(ClientId, Vec<u8>)>;

type Answer = Result<Vec<u8>, Errno>;

const OK: &[u8] = b"OK\0";

impl Session {
    pub(super) fn new(id: ClientId, domain: u32) -> Session {
        Session { id, domain, transactions: OrderedMap::new(), last_transaction: 0 }
    }

    pub(super) fn id(&self) -> ClientId {
        self.id
    }

    /// Answers one message into `out`, and returns the events for watches.
    pub(super) fn handle(
        &mut self,
        store: &mut Store,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Events {
        let mut changed = Vec::new();
        let kind = Type::of(header.kind);
        let answer = match kind {
            Some(kind) => self.answer(store, kind, header.transaction, payload, &mut changed),
            None => Err(Errno::ENOSYS),
        };
        let (request, transaction) = (header.request, header.transaction);
        match (answer, kind) {
            (Ok(answer), Some(kind)) if answer.len() <= PAYLOAD_BYTES_MAX => {
                put_message(out, kind, request, transaction, &answer);
            }
            (Ok(_), _) => error(out, header, Errno::E2BIG),
            (Err(errno), _) => error(out, header, errno),
        }
        let mut events = Vec::new();
        if kind == Some(Type::Watch) && !is_error(out, header) {
            // A watch fires once at once.
            events.push((self.id, payload.to_vec()));
        }
        for change in changed {
            events.extend(store.watches.events(&change));
        }
        events
    }

    fn answer(
        &mut self,
        store: &mut Store,
        kind: Type,
        transaction: u32,
        payload: &[u8],
        changed: &mut Vec<Change>,
    ) -> Answer {
        match kind {
            Type::TransactionStart => self.start(),
            Type::TransactionEnd => self.end(store, transaction, payload, changed),
            Type::Watch | Type::Unwatch => self.watch(store, kind, payload),
            Type::ResetWatches => {
                store.watches.remove_all(self.id);
                self.transactions.clear();
                Ok(OK.to_vec())
            }
            Type::Introduce
            | Type::Release
            | Type::Resume
            | Type::SetTarget
            | Type::GetDomainPath
            | Type::IsDomainIntroduced => self.domain_request(store, kind, payload, changed),
            Type::Control => Err(Errno::ENOSYS),
            Type::WatchEvent | Type::Error => Err(Errno::EINVAL),
            _ => self.node_request(store, kind, transaction, payload, changed),
        }
    }

    fn node_request(
        &mut self,
        store: &mut Store,
        kind: Type,
        transaction: u32,
        payload: &[u8],
        changed: &mut Vec<Change>,
    ) -> Answer {
        let inside = match transaction {
            0 => None,
            id => Some(self.transactions.get_mut(&id).ok_or(Errno::ENOENT)?),
        };
        if inside.as_ref().is_some_and(|it| it.is_full()) {
            return Err(Errno::ENOSPC);
        }
        let at = payload.iter().position(|&byte| byte == 0).ok_or(Errno::EINVAL)?;
        let (arguments, rest) = (&payload[..at], &payload[at + 1..]);
        // A value may end in any way; all else is strings.
        if kind != Type::Write && !payload.ends_with(b"\0") {
            return Err(Errno::EINVAL);
        }
        let of_special = matches!(kind, Type::GetPermissions | Type::SetPermissions);
        let path = if of_special && arguments.starts_with(b"@") {
            special(arguments)?
        } else {
            absolute(arguments, self.domain)?
        };
        let mut view = store.tree.view(inside, self.domain);
        let done = |()| OK.to_vec();
        let answer = match kind {
            Type::Read => view.read(&path),
            Type::Directory => view.directory(&path).map(|(names, _)| names),
            Type::DirectoryPart => {
                let (names, generation) = view.directory(&path)?;
                part_of(&names, generation, rest)
            }
            Type::GetPermissions => view.permissions(&path).map(|list| {
                list.into_iter().flat_map(|it| (it.show() + "\0").into_bytes()).collect()
            }),
            Type::Write => view.write(&path, rest).map(done),
            Type::MakeDirectory => view.make_directory(&path).map(done),
            Type::Remove => view.remove(&path).map(done),
            Type::SetPermissions => {
                let list = strings(rest).ok_or(Errno::EINVAL)?;
                let list: Result<Vec<_>, _> = list.map(Permission::parse).collect();
                view.set_permissions(&path, list?).map(done)
            }
            _ => Err(Errno::ENOSYS),
        };
        // What failed half way has changed what it had done by then.
        changed.extend(view.into_changes());
        answer
    }

    fn start(&mut self) -> Answer {
        if self.transactions.len() >= TRANSACTIONS_MAX {
            return Err(Errno::ENOSPC);
        }
        self.last_transaction = self.last_transaction.wrapping_add(1).max(1);
        let id = self.last_transaction;
        self.transactions.insert(id, Transaction::default());
        Ok(format!("{id}\0").into_bytes())
    }

    fn end(
        &mut self,
        store: &mut Store,
        transaction: u32,
        payload: &[u8],
        changed: &mut Vec<Change>,
    ) -> Answer {
        let commits = match payload {
            b"T\0" => true,
            b"F\0" => false,
            _ => return Err(Errno::EINVAL),
        };
        let ended = self.transactions.remove(&transaction).ok_or(Errno::ENOENT)?;
        if commits {
            changed.extend(store.tree.commit(ended)?);
        }
        Ok(OK.to_vec())
    }

    fn watch(&mut self, store: &mut Store, kind: Type, payload: &[u8]) -> Answer {
        let arguments: Vec<&[u8]> = strings(payload).ok_or(Errno::EINVAL)?.collect();
        let &[path, token] = arguments.as_slice() else { return Err(Errno::EINVAL) };
        match kind {
            Type::Watch => store.watches.add(self.id, self.domain, path, token)?,
            _ => store.watches.remove(self.id, self.domain, path, token)?,
        }
        Ok(OK.to_vec())
    }

    fn domain_request(
        &mut self,
        store: &mut Store,
        kind: Type,
        payload: &[u8],
        changed: &mut Vec<Change>,
    ) -> Answer {
        let number = strings(payload).and_then(|mut it| it.next());
        let number = number.and_then(|it| std::str::from_utf8(it).ok());
        let domain: u32 = number.and_then(|it| it.parse().ok()).ok_or(Errno::EINVAL)?;
        let is_known = store.domains.contains(&domain);
        match kind {
            Type::GetDomainPath => return Ok((home(domain) + "\0").into_bytes()),
            Type::IsDomainIntroduced => {
                return Ok(if is_known { b"T\0" } else { b"F\0" }.to_vec());
            }
            _ if self.domain != 0 => return Err(Errno::EACCES),
            Type::Introduce if is_known => return Err(Errno::EEXIST),
            Type::Introduce => {
                store.introduce(domain);
                changed.push(store.tree.special_event(INTRODUCE_DOMAIN));
            }
            _ if !is_known || domain == 0 => return Err(Errno::ENOENT),
            Type::Release => {
                store.domains.retain(|&it| it != domain);
                changed.push(store.tree.special_event(RELEASE_DOMAIN));
            }
            // There is no domain that could be resumed, or do something for another.
            _ => {}
        }
        Ok(OK.to_vec())
    }
}

/// The rest of a list from an offset, as much as fits; with another NUL at its end.
fn part_of(names: &[u8], generation: u64, rest: &[u8]) -> Answer {
    let offset = strings(rest).and_then(|mut it| it.next());
    let offset = offset.and_then(|it| std::str::from_utf8(it).ok());
    let offset: usize = offset.and_then(|it| it.parse().ok()).ok_or(Errno::EINVAL)?;
    let names = names.get(offset..).ok_or(Errno::EINVAL)?;
    let mut answer = format!("{generation}\0").into_bytes();
    let room = PAYLOAD_BYTES_MAX - answer.len() - 1;
    if names.len() <= room {
        answer.extend_from_slice(names);
        answer.push(0);
    } else {
        // Whole names only.
        let end = names[..room].iter().rposition(|&byte| byte == 0).map_or(0, |at| at + 1);
        answer.extend_from_slice(&names[..end]);
    }
    Ok(answer)
}

fn error(out: &mut Vec<u8>, header: Header, errno: Errno) {
    let name = errno.name() + "\0";
    put_message(out, Type::Error, header.request, header.transaction, name.as_bytes());
}

/// Whether the message at the end of `out`, the answer to a watch, is an error.
fn is_error(out: &[u8], header: Header) -> bool {
    let mut watched = Vec::new();
    put_message(&mut watched, Type::Watch, header.request, header.transaction, OK);
    !out.ends_with(&watched)
}
