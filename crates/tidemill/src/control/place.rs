//! The socket of a run and the list of its nodes: files in the folder of its counters.
//!
//! ```text
//! <folder>/control.sock     the socket
//! <folder>/nodes            NAME LISTENS, a line for each node: its name, where it listens
//! ```

use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use tidemill_overlog::net::address::canonical;
use tidemill_stat::place;

use crate::reach::Reach;

/// The socket's name in the folder.
pub const SOCKET: &str = "control.sock";

/// The name of the list of nodes.
const NODES: &str = "nodes";

/// The maximum size of a list of nodes.
const NODES_BYTES_MAX: u64 = 16 << 20;

/// The files of a run, which are removed on drop.
#[derive(Debug)]
pub(super) struct Files(PathBuf);

impl Files {
    /// The files in a folder; removes those of an earlier process with our number.
    pub(super) fn new(folder: &Path) -> Files {
        let files = Files(folder.to_owned());
        files.remove();
        files
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.0.join(SOCKET)
    }

    /// Writes the list of nodes: names, and where they listen.
    pub(super) fn write_nodes(&self, nodes: &[(String, String)]) -> io::Result<()> {
        let mut text = String::new();
        for (name, listens) in nodes {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name} {listens}");
        }
        // Readers see the whole file or none.
        let new = self.0.join(format!("{NODES}.new"));
        fs::write(&new, text)?;
        fs::rename(&new, self.0.join(NODES))
    }

    fn remove(&self) {
        // A missing file need not be removed.
        let _ = fs::remove_file(self.0.join(NODES));
        let _ = fs::remove_file(self.socket());
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A run of this host, found by one of its nodes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundRun {
    /// Its socket.
    pub socket: PathBuf,
    /// The name of the node there.
    pub node: String,
}

/// How well a node fits an address, in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fit {
    /// It receives datagrams to that port of loopback.
    Hears,
    /// It listens at the address.
    Listens,
    /// The address is its name.
    Called,
}

fn fit(address: &str, name: &str, listens: &str) -> Option<Fit> {
    let port = |address: &str| address.rsplit_once(':').map(|(_, port)| port.to_owned());
    let host = |address: &str| {
        let host = address.rsplit_once(':')?.0;
        host.trim_matches(['[', ']']).parse::<IpAddr>().ok()
    };
    if canonical(name) == canonical(address) {
        return Some(Fit::Called);
    }
    if canonical(listens) == canonical(address) {
        return Some(Fit::Listens);
    }
    let is_local = Reach::of(address) == Reach::Loopback && port(address) == port(listens);
    // Two different loopback addresses are two nodes; `localhost` matches any of them.
    let differ = host(address).is_some() && host(listens).is_some_and(|ip| !ip.is_unspecified());
    let hears = matches!(Reach::of(listens), Reach::Loopback | Reach::Wildcard);
    (is_local && hears && !differ).then_some(Fit::Hears)
}

/// The live run under `base` that has a node of that address.
pub fn find_in(base: &Path, address: &str) -> Option<FoundRun> {
    let mut best: Option<(Fit, FoundRun)> = None;
    for pid in place::processes(base) {
        let folder = base.join(pid.to_string());
        for line in read_nodes(&folder).lines() {
            let Some((name, listens)) = line.split_once(' ') else { continue };
            let Some(fit) = fit(address, name, listens) else { continue };
            if best.as_ref().is_none_or(|(other, _)| fit > *other) {
                let found = FoundRun { socket: folder.join(SOCKET), node: name.to_owned() };
                best = Some((fit, found));
            }
        }
    }
    best.map(|(_, found)| found)
}

/// Why a run is not found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoRun {
    /// It belongs to this user.
    OtherUser(u32),
    /// None has that node in these folders.
    Nowhere(Vec<PathBuf>),
}

impl fmt::Display for NoRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoRun::OtherUser(uid) => write!(
                f,
                "it belongs to user {uid}, and runs answer their owner only: ask as that user, or \
                 with --token-file if the run has one"
            ),
            NoRun::Nowhere(bases) => {
                let looked: Vec<String> =
                    bases.iter().map(|base| base.display().to_string()).collect();
                let looked = looked.join(", ");
                write!(f, "no run of this user on this host has that node (looked in {looked})")
            }
        }
    }
}

impl std::error::Error for NoRun {}

/// The run of this user that has a node of that address.
///
/// # Errors
/// Why there is none.
pub fn find(address: &str) -> Result<FoundRun, NoRun> {
    let bases = place::bases();
    if let Some(found) = bases.iter().find_map(|base| find_in(base, address)) {
        return Ok(found);
    }
    if let Some(uid) = owner_of_port(address).filter(|&uid| uid != own_uid()) {
        return Err(NoRun::OtherUser(uid));
    }
    Err(NoRun::Nowhere(bases))
}

pub(super) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Reads the list of nodes of a run; empty if it cannot be read.
fn read_nodes(folder: &Path) -> String {
    let mut text = String::new();
    let file = fs::File::open(folder.join(NODES));
    let read = file.and_then(|file| file.take(NODES_BYTES_MAX).read_to_string(&mut text));
    read.map_or_else(|_| String::new(), |_| text)
}

/// The user whose program has bound the UDP port of an address, according to the kernel's list.
fn owner_of_port(address: &str) -> Option<u32> {
    let port: u16 = address.rsplit_once(':')?.1.parse().ok()?;
    let lists = ["/proc/net/udp", "/proc/net/udp6"].map(fs::read_to_string);
    lists.iter().flatten().flat_map(|list| list.lines()).find_map(|line| {
        // sl, local_address, rem_address, st, queues, tr, retrnsmt, uid
        let mut fields = line.split_ascii_whitespace();
        let bound = fields.nth(1)?.rsplit_once(':')?.1;
        let uid = fields.nth(5)?.parse().ok()?;
        (u16::from_str_radix(bound, 16) == Ok(port)).then_some(uid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_found_by_all_their_addresses() {
        let fits = |address: &str, name: &str, listens: &str| fit(address, name, listens);
        let called = Some(Fit::Called);
        assert_eq!(fits("localhost:1", "localhost:1", "localhost:1"), called);
        assert_eq!(fits("a.example:1", "a.example:1", "0.0.0.0:1"), called);
        assert_eq!(fits("10.0.0.1:1", "a.example:1", "10.0.0.1:1"), Some(Fit::Listens));
        assert_eq!(fits("127.0.0.1:1", "localhost:1", "localhost:1"), called);
        let hears = Some(Fit::Hears);
        assert_eq!(fits("LOCALHOST:1", "localhost:1", "localhost:1"), hears);
        assert_eq!(fits("[::1]:1", "localhost:1", "localhost:1"), hears);
        assert_eq!(fits("localhost:1", "a.example:1", "0.0.0.0:1"), hears);
        assert_eq!(fits("127.0.0.1:1", "a.example:1", "[::]:1"), hears);
        assert_eq!(fits("localhost:1", "127.0.0.2:1", "127.0.0.2:1"), hears);
        assert_eq!(fits("127.0.0.1:1", "127.0.0.2:1", "127.0.0.2:1"), None);
        assert_eq!(fits("localhost:1", "localhost:2", "localhost:2"), None);
        assert_eq!(fits("localhost:1", "a.example:1", "10.0.0.1:1"), None);
        assert_eq!(fits("10.0.0.1:1", "a.example:1", "0.0.0.0:1"), None);
        assert_eq!(fits("b.example:1", "a.example:1", "localhost:1"), None);
    }

    #[test]
    fn stale_folders_are_ignored_and_the_best_fit_is_taken() {
        let base = std::env::temp_dir().join(format!("tidemill-nodes-{}", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        // No process has the first number, and this process has the second.
        for pid in [u32::MAX, std::process::id()] {
            fs::create_dir_all(base.join(pid.to_string())).unwrap();
        }
        let nodes = |pid: u32, lines: &[(&str, &str)]| {
            let owned =
                |(name, listens): &(&str, &str)| ((*name).to_owned(), (*listens).to_owned());
            let files = Files::new(&base.join(pid.to_string()));
            files.write_nodes(&lines.iter().map(owned).collect::<Vec<_>>()).unwrap();
            files
        };
        let _stale = nodes(u32::MAX, &[("localhost:7", "localhost:7")]);
        assert_eq!(find_in(&base, "localhost:7"), None);
        let own = nodes(
            std::process::id(),
            &[("127.0.0.2:7", "127.0.0.2:7"), ("alpha:7", "0.0.0.0:7"), ("localhost:7", "[::1]:7")],
        );
        let node = |address: &str| find_in(&base, address).map(|found| found.node);
        assert_eq!(node("localhost:7").as_deref(), Some("localhost:7"));
        assert_eq!(node("127.0.0.2:7").as_deref(), Some("127.0.0.2:7"));
        assert_eq!(node("[::1]:7").as_deref(), Some("localhost:7"));
        assert_eq!(node("127.0.0.3:7").as_deref(), Some("alpha:7"));
        assert_eq!(node("localhost:8"), None);
        let socket = find_in(&base, "alpha:7").unwrap().socket;
        assert_eq!(socket, base.join(std::process::id().to_string()).join(SOCKET));
        drop(own);
        assert_eq!(node("localhost:7"), None, "the list goes with the run");
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn the_kernel_lists_the_owner_of_a_port() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap().to_string();
        assert_eq!(owner_of_port(&address), Some(own_uid()));
        let error = find(&address).unwrap_err().to_string();
        assert!(error.contains("no run of this user"), "{error}");
        assert_eq!(owner_of_port("localhost:nowhere"), None);
    }
}
