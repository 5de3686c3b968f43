//! Names to addresses, without blocking.
//!
//! A node is the text `host:port`. Literal addresses, `localhost` (127.0.0.1, RFC 6761; endpoints
//! on it have a socket on ::1, too) and what the machine's hosts file lists are answered at once.
//! Any other name is looked up by a thread, as the system's resolver blocks. The thread is started
//! with the first such name and does one look-up after the other; what waits for it is bounded.
//!
//! Answers are kept for a minute, refusals for a second; after that the old answer serves until
//! the new one is there.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use tidemill_stdx::keyed;

use crate::Time;
use crate::host::Waker;

use super::wake::EventFd;

/// Names remembered. When there are more, all that are not being looked up are forgotten.
const NAMES: usize = 1 << 16;
/// Look-ups under way or waiting.
const LOOKUPS: usize = 256;
const KEEP: Duration = Duration::from_secs(60);
const KEEP_REFUSAL: Duration = Duration::from_secs(1);

/// The state of a name.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Lookup {
    Known(SocketAddr),
    /// Being looked up: the answer comes later.
    Pending,
    /// No such name, or too many are being looked up.
    Unknown,
}

struct Name {
    address: Option<SocketAddr>,
    good_until: Time,
    pending: bool,
}

/// The thread's ends of two queues.
struct Thread {
    ask: SyncSender<String>,
    answers: Receiver<(String, Option<SocketAddr>)>,
}

pub(super) struct Resolver {
    names: HashMap<String, Name>,
    /// The names that addresses were found under.
    found: keyed::Map<SocketAddr, String>,
    hosts: Option<HashMap<String, IpAddr>>,
    thread: Option<Thread>,
    wake: Arc<EventFd>,
    pending: usize,
    pub(super) lookups: u64,
}

impl Resolver {
    pub(super) fn new(wake: Arc<EventFd>) -> Resolver {
        Resolver {
            names: HashMap::new(),
            found: keyed::Map::default(),
            hosts: None,
            thread: None,
            wake,
            pending: 0,
            lookups: 0,
        }
    }

    /// Whether no look-up is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.pending == 0
    }

    /// The address of `name`, if it is known or can be had at once.
    ///
    /// # Errors
    /// `InvalidInput` if `name` is no `host:port`.
    pub(super) fn address(&mut self, name: &str, now: Time) -> io::Result<Lookup> {
        if let Some(known) = self.names.get(name)
            && (known.pending || now < known.good_until)
        {
            return Ok(known.answer());
        }
        let (host, port) = split(name)?;
        if let Some(ip) = self.at_once(host) {
            let address = SocketAddr::new(ip, port);
            self.learn(name, Some(address), Time::MAX);
            return Ok(Lookup::Known(address));
        }
        Ok(self.look_up(name))
    }

    /// As [`Resolver::address`], for the addresses of this machine: the caller waits.
    pub(super) fn address_now(&mut self, name: &str) -> io::Result<SocketAddr> {
        let (host, port) = split(name)?;
        if let Some(ip) = self.at_once(host) {
            return Ok(SocketAddr::new(ip, port));
        }
        let nothing = || io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        name.to_socket_addrs()?.next().ok_or_else(nothing)
    }

    /// Notes the name of an address, for [`Resolver::name_of`].
    pub(super) fn note(&mut self, address: SocketAddr, name: &str) {
        if self.found.len() >= NAMES {
            self.found.clear();
        }
        self.found.insert(address, name.into());
    }

    /// The name an address was last found under.
    pub(super) fn name_of(&self, address: &SocketAddr) -> Option<&str> {
        self.found.get(address).map(String::as_str)
    }

    /// The answers since the last call, by name.
    pub(super) fn answers(&mut self, now: Time) -> Vec<(String, Option<SocketAddr>)> {
        let Some(thread) = &self.thread else { return Vec::new() };
        let answers: Vec<_> = thread.answers.try_iter().collect();
        self.pending -= answers.len();
        for (name, address) in &answers {
            let keep = if address.is_some() { KEEP } else { KEEP_REFUSAL };
            // A refusal does not undo what was known: the resolver may be unreachable.
            let old = self.names.get(name).and_then(|old| old.address);
            self.learn(name, address.or(old), now + keep);
        }
        answers
    }

    fn at_once(&mut self, host: &str) -> Option<IpAddr> {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        if let Ok(ip) = bare.unwrap_or(host).parse() {
            return Some(ip);
        }
        if host.eq_ignore_ascii_case("localhost") {
            return Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        let hosts = self.hosts.get_or_insert_with(|| {
            parse_hosts(&std::fs::read_to_string("/etc/hosts").unwrap_or_default())
        });
        hosts.get(&host.to_ascii_lowercase()).copied()
    }

    fn learn(&mut self, name: &str, address: Option<SocketAddr>, good_until: Time) {
        if self.names.len() >= NAMES && !self.names.contains_key(name) {
            self.names.retain(|_, name| name.pending);
        }
        self.names.insert(name.into(), Name { address, good_until, pending: false });
        if let Some(address) = address {
            self.note(address, name);
        }
    }

    /// Hands a name to the thread.
    fn look_up(&mut self, name: &str) -> Lookup {
        if self.thread.is_none() {
            self.thread = start(self.wake.clone()).ok();
        }
        let old = self.names.get(name).and_then(|old| old.address);
        let asked =
            self.thread.as_ref().is_some_and(|thread| thread.ask.try_send(name.into()).is_ok());
        if asked {
            self.lookups += 1;
            self.pending += 1;
            let known = Name { address: old, good_until: Time::ZERO, pending: true };
            self.names.insert(name.into(), known);
        }
        match old {
            Some(address) => Lookup::Known(address),
            None if asked => Lookup::Pending,
            None => Lookup::Unknown,
        }
    }
}

impl Name {
    fn answer(&self) -> Lookup {
        match self.address {
            Some(address) => Lookup::Known(address),
            None if self.pending => Lookup::Pending,
            None => Lookup::Unknown,
        }
    }
}

/// Starts the thread. It ends when the resolver is dropped, after its current look-up.
fn start(wake: Arc<EventFd>) -> io::Result<Thread> {
    let (ask, asked) = sync_channel::<String>(LOOKUPS);
    let (answer, answers): (Sender<_>, _) = channel();
    std::thread::Builder::new().name("resolver".into()).spawn(move || {
        for name in asked {
            let address = name.to_socket_addrs().ok().and_then(|mut found| found.next());
            if answer.send((name, address)).is_err() {
                break;
            }
            wake.wake();
        }
    })?;
    Ok(Thread { ask, answers })
}

/// Takes `host:port` apart; the host of an IPv6 literal keeps its brackets.
pub(super) fn split(name: &str) -> io::Result<(&str, u16)> {
    let parts = name.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    match parts {
        Some((host, port)) if !host.is_empty() && (!host.contains(':') || host.ends_with(']')) => {
            Ok((host, port))
        }
        _ => {
            let text = format!("'{name}' is no host:port");
            Err(io::Error::new(io::ErrorKind::InvalidInput, text))
        }
    }
}

/// The first address of each name in a hosts file, IPv4 before IPv6.
fn parse_hosts(text: &str) -> HashMap<String, IpAddr> {
    let mut hosts: HashMap<String, IpAddr> = HashMap::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(ip) = words.next().and_then(|word| word.parse::<IpAddr>().ok()) else { continue };
        for name in words {
            let known = hosts.entry(name.to_ascii_lowercase()).or_insert(ip);
            if known.is_ipv6() && ip.is_ipv4() {
                *known = ip;
            }
        }
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver() -> Resolver {
        Resolver::new(Arc::new(EventFd::new().unwrap()))
    }

    #[test]
    fn literals_and_localhost_need_no_thread() {
        let mut names = resolver();
        for (name, address) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("localhost:10000", "127.0.0.1:10000"),
            ("[::1]:443", "[::1]:443"),
        ] {
            let expected = Lookup::Known(address.parse().unwrap());
            assert_eq!(names.address(name, Time::ZERO).unwrap(), expected);
            assert_eq!(names.name_of(&address.parse().unwrap()), Some(name));
        }
        assert_eq!(names.lookups, 0);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for name in ["", "host", ":80", "host:", "host:99999", "::1:80", "host:http"] {
            let kind = resolver().address(name, Time::ZERO).unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::InvalidInput, "{name}");
        }
    }

    #[test]
    fn hosts_files_prefer_ipv4() {
        let hosts = parse_hosts("::1 box # mine\n10.0.0.1\tBox other\nnonsense x\n");
        assert_eq!(hosts["box"], "10.0.0.1".parse::<IpAddr>().unwrap());
        assert_eq!(hosts["other"], "10.0.0.1".parse::<IpAddr>().unwrap());
        assert_eq!(hosts.len(), 2);
    }
}
