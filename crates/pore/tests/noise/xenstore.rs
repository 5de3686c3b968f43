//! A client of the store that sends the input: each whole request has one answer, in order and of
//! its number, until one is too long, which ends the connection; and the store continues to serve
//! others.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tidemill_pore::xenstore::server::{Server, Settings};
use tidemill_pore::xenstore::wire::{HEADER_BYTES, Header, PAYLOAD_BYTES_MAX, Type, put_message};

/// Longer ones would not fit into a socket at once.
const INPUT_BYTES_MAX: usize = 1 << 15;
/// No answer takes longer on the slowest machine.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(20);

/// A store of its own, in a folder that is removed with it.
struct Store {
    folder: PathBuf,
    _server: Server,
}

impl Store {
    fn new() -> Store {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tidemill-noise-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let (pages, streams) = (folder.join("pages"), Some(folder.join("streams")));
        let settings = Settings { pages, streams, first_index: 0, domain: 0 };
        Store { folder, _server: Server::start(settings).expect("a store") }
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(self.folder.join("streams")).expect("it listens");
        stream.set_read_timeout(Some(ANSWER_TIME_MAX)).expect("a time limit");
        stream.set_write_timeout(Some(ANSWER_TIME_MAX)).expect("a time limit");
        stream
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn header_at(bytes: &[u8]) -> Option<Header> {
    Some(Header::decode(bytes.get(..HEADER_BYTES)?.try_into().ok()?))
}

/// The headers of the whole requests, and whether one that is too long follows them.
fn requests(mut bytes: &[u8]) -> (Vec<Header>, bool) {
    let mut found = Vec::new();
    while let Some(header) = header_at(bytes) {
        let length = header.length as usize;
        if length > PAYLOAD_BYTES_MAX {
            return (found, true);
        }
        let Some(rest) = bytes.get(HEADER_BYTES + length..) else { break };
        found.push(header);
        bytes = rest;
    }
    (found, false)
}

/// The next answer that is no event; none if the connection has ended.
fn answer(stream: &mut UnixStream) -> Option<(Header, Vec<u8>)> {
    loop {
        let mut head = [0; HEADER_BYTES];
        match stream.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("no answer came"),
            Err(_) => return None,
        }
        let header = Header::decode(head);
        assert!(header.length as usize <= PAYLOAD_BYTES_MAX, "{header:?}");
        let mut payload = vec![0; header.length as usize];
        stream.read_exact(&mut payload).expect("an answer is whole");
        if header.kind != Type::WatchEvent as u32 {
            return Some((header, payload));
        }
    }
}

/// Sends the input; how many requests have succeeded.
pub fn succeeded(input: &[u8]) -> usize {
    let input = &input[..input.len().min(INPUT_BYTES_MAX)];
    let store = Store::new();
    let mut client = store.connect();
    // The store may end the connection before all is sent.
    let _ = client.write_all(input);
    let (requests, is_ended) = requests(input);
    let mut succeeded = 0;
    for request in requests {
        let Some((header, payload)) = answer(&mut client) else {
            assert!(is_ended, "the connection has ended at {request:?}");
            break;
        };
        assert_eq!((header.request, header.transaction), (request.request, request.transaction));
        if header.kind == Type::Error as u32 {
            assert!(payload.ends_with(b"\0") && payload.starts_with(b"E"), "{payload:?}")
        } else {
            assert_eq!(header.kind, request.kind);
            succeeded += 1;
        }
    }
    if is_ended {
        assert!(answer(&mut client).is_none(), "it answers what is too long");
    }
    let mut other = store.connect();
    let mut message = Vec::new();
    put_message(&mut message, Type::Directory, 7, 0, b"/\0");
    other.write_all(&message).expect("it takes requests");
    let (header, _) = answer(&mut other).expect("it answers others");
    assert_eq!((header.kind, header.request), (Type::Directory as u32, 7));
    succeeded
}

/// Panics if the store does what it may not.
pub fn check(input: &[u8]) {
    succeeded(input);
}
