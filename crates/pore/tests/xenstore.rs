//! The store behind its page and its socket, asked by the native driver and by hand.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use tidemill_pore::xenstore::outlet::{Failure, Outlet};
use tidemill_pore::xenstore::page;
use tidemill_pore::xenstore::server::{Server, Settings};
use tidemill_pore::xenstore::wire::{HEADER_BYTES, Header, Type, put_message};
use tidemill_pore::{Pore, Width};

struct Store {
    folder: PathBuf,
    _server: Server,
}

impl Store {
    fn start(name: &str, first_index: u32, domain: u32) -> Store {
        let folder = std::env::temp_dir().join(format!("tidemill-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let settings = Settings {
            pages: folder.join("pages"),
            streams: Some(folder.join("streams")),
            first_index,
            domain,
        };
        Store { _server: Server::start(settings).expect("a server"), folder }
    }

    fn socket(&self, name: &str) -> UnixStream {
        UnixStream::connect(self.folder.join(name)).expect("somebody listens")
    }

    fn page(&self) -> Outlet {
        Outlet::page(self.socket("pages")).expect("a page")
    }

    fn stream(&self) -> Outlet {
        Outlet::stream(self.socket("streams")).expect("a connection")
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn name(outcome: Result<Vec<u8>, Failure>) -> String {
    match outcome {
        Ok(payload) => String::from_utf8_lossy(&payload).into_owned(),
        Err(Failure::Store(name)) => name,
        Err(Failure::Line(error)) => panic!("{error}"),
    }
}

/// What both ways in have to do.
fn check_requests(outlet: &mut Outlet) {
    let mut ask =
        |kind, transaction, payload: &[u8]| name(outlet.request(kind, transaction, payload));
    assert_eq!(ask(Type::Write, 0, b"/a/b\0value\0with nul"), "OK\0");
    assert_eq!(ask(Type::Read, 0, b"/a/b\0"), "value\0with nul");
    assert_eq!(ask(Type::Read, 0, b"/a/c\0"), "ENOENT");
    assert_eq!(ask(Type::Read, 0, b"/a/b"), "EINVAL");
    assert_eq!(ask(Type::MakeDirectory, 0, b"/a/c\0"), "OK\0");
    assert_eq!(ask(Type::Directory, 0, b"/a\0"), "b\0c\0");
    assert_eq!(ask(Type::SetPermissions, 0, b"/a/b\0n0\0r1\0"), "OK\0");
    assert_eq!(ask(Type::GetPermissions, 0, b"/a/b\0"), "n0\0r1\0");
    assert_eq!(ask(Type::GetDomainPath, 0, b"7\0"), "/local/domain/7\0");
    assert_eq!(ask(Type::IsDomainIntroduced, 0, b"7\0"), "F\0");
    assert_eq!(ask(Type::Control, 0, b"help\0"), "ENOSYS");
    let first = ask(Type::TransactionStart, 0, b"\0");
    let id: u32 = first.trim_end_matches('\0').parse().expect("a number");
    assert_eq!(ask(Type::Write, id, b"/a/b\x002"), "OK\0");
    assert_eq!(ask(Type::Read, 0, b"/a/b\0"), "value\0with nul");
    assert_eq!(ask(Type::Write, 0, b"/a/b\x003"), "OK\0");
    assert_eq!(ask(Type::TransactionEnd, id, b"T\0"), "EAGAIN");
    assert_eq!(ask(Type::TransactionEnd, id, b"T\0"), "ENOENT");
    assert_eq!(ask(Type::Read, 77, b"/a/b\0"), "ENOENT");
    assert_eq!(ask(Type::Remove, 0, b"/a\0"), "OK\0");
    assert_eq!(ask(Type::Read, 0, b"/a/b\0"), "ENOENT");
}

#[test]
fn the_page_serves_requests_across_the_wrap() {
    for start in [0, 5, u32::MAX - 30, u32::MAX - 1500] {
        let store = Store::start(&format!("page-{start}"), start, 0);
        check_requests(&mut store.page());
    }
}

#[test]
fn the_socket_serves_the_same() {
    let store = Store::start("stream", 0, 0);
    check_requests(&mut store.stream());
}

#[test]
fn long_payloads_pass_through_short_rings() {
    let store = Store::start("long", u32::MAX - 7, 0);
    let mut outlet = store.page();
    let value = vec![b'x'; 4096 - 3];
    let written = [b"/n\0", value.as_slice()].concat();
    assert_eq!(name(outlet.request(Type::Write, 0, &written)), "OK\0");
    assert_eq!(outlet.request(Type::Read, 0, b"/n\0").expect("there"), value);
    let longer = vec![b'x'; 4097];
    assert_eq!(name(outlet.request(Type::Write, 0, &longer)), "E2BIG");
}

#[test]
fn long_lists_come_in_parts() {
    let store = Store::start("parts", 0, 0);
    let mut outlet = store.page();
    for i in 0..500 {
        let made = outlet.request(Type::MakeDirectory, 0, format!("/d/node-{i:06}\0").as_bytes());
        assert_eq!(name(made), "OK\0");
    }
    assert_eq!(name(outlet.request(Type::Directory, 0, b"/d\0")), "E2BIG");
    let mut names = Vec::new();
    loop {
        let asked = format!("/d\0{}\0", names.len());
        let part = outlet.request(Type::DirectoryPart, 0, asked.as_bytes()).expect("a part");
        let after = part.iter().position(|&byte| byte == 0).expect("a generation") + 1;
        names.extend_from_slice(&part[after..]);
        if names.ends_with(b"\0\0") {
            break;
        }
    }
    assert_eq!(names.iter().filter(|&&byte| byte == 0).count(), 501);
}

#[test]
fn watches_fire_at_once_and_at_changes() {
    let store = Store::start("watch", 0, 3);
    let (mut one, mut two) = (store.page(), store.stream());
    assert_eq!(name(one.request(Type::Watch, 0, b"device\0tok\0")), "OK\0");
    let next = |outlet: &mut Outlet| {
        for _ in 0..2000 {
            if let Some((path, token)) = outlet.next_event().expect("a line") {
                return format!(
                    "{} {}",
                    String::from_utf8_lossy(&path),
                    String::from_utf8_lossy(&token)
                );
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        "nothing".to_owned()
    };
    assert_eq!(next(&mut one), "device tok");
    assert_eq!(name(two.request(Type::Write, 0, b"device/x\x001")), "OK\0");
    assert_eq!(next(&mut one), "device/x tok");
    assert_eq!(name(two.request(Type::Write, 0, b"/x\x001")), "EACCES");
    assert_eq!(name(one.request(Type::Unwatch, 0, b"device\0tok\0")), "OK\0");
    assert_eq!(name(two.request(Type::Write, 0, b"device/x\x002")), "OK\0");
    assert_eq!(name(one.request(Type::Read, 0, b"device/x\0")), "2");
    assert!(one.next_event().expect("a line").is_none());
}

#[test]
fn hostile_guests_lose_their_page_and_others_do_not_notice() {
    let store = Store::start("hostile", 0, 0);
    let mut honest = store.page();
    let hostile = || {
        let socket = store.socket("pages");
        page::accept_from(socket).expect("fine").expect("a page")
    };
    let error_of = |page: &mut tidemill_pore::memfd::Memfd| {
        for _ in 0..2000 {
            let error = page.load(page::ERROR_WORD, Width::Four).expect("inside");
            if error != 0 {
                return error;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        0
    };
    let mut index = hostile();
    index.store(2052, Width::Four, 5000).expect("inside");
    index.ring().expect("rung");
    let mut long = hostile();
    let header = Header { kind: Type::Read as u32, request: 1, transaction: 0, length: 4097 };
    long.write(&header.encode()).expect("room");
    long.ring().expect("rung");
    assert_eq!(error_of(&mut index), page::ERROR_INDEX);
    assert_eq!(error_of(&mut long), page::ERROR_PROTOCOL);
    drop(hostile());
    check_requests(&mut honest);
}

/// Many requests in flight, written as fast as there is room.
#[test]
fn requests_in_flight_are_answered_by_number() {
    let store = Store::start("flight", u32::MAX - 100, 0);
    let mut page = page::accept_from(store.socket("pages")).expect("fine").expect("a page");
    let (mut unsent, mut got) = (Vec::new(), Vec::new());
    for request in 0..2000u32 {
        put_message(&mut unsent, Type::Write, request, 0, format!("/n\0{request}").as_bytes());
    }
    let (mut sent, mut answers) = (0, Vec::new());
    while answers.len() < 2000 {
        sent += page.write(&unsent[sent..]).expect("fine");
        page.read(usize::MAX, &mut got).expect("fine");
        if page.is_ring_due() {
            page.ring().expect("rung");
        }
        while got.len() >= HEADER_BYTES {
            let head = Header::decode(got[..HEADER_BYTES].try_into().expect("a head"));
            let end = HEADER_BYTES + head.length as usize;
            if got.len() < end {
                break;
            }
            assert_eq!(&got[HEADER_BYTES..end], b"OK\0");
            answers.push(head.request);
            got.drain(..end);
        }
        std::thread::yield_now();
    }
    assert_eq!(answers, (0..2000).collect::<Vec<_>>());
}
