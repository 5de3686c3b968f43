//! The store behind its page and its socket, with the native driver and with raw requests.

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};
use rustix::process::{Resource, Rlimit, setrlimit};
use tidemill_pore::xenstore::outlet::{Failure, Outlet};
use tidemill_pore::xenstore::page;
use tidemill_pore::xenstore::server::{Server, Settings};
use tidemill_pore::xenstore::wire::{HEADER_BYTES, Header, Type, put_message};
use tidemill_pore::{Pore, Width};
use tidemill_support::cpu;

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
        UnixStream::connect(self.folder.join(name)).expect("the store listens")
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
        Err(Failure::Transport(error)) => panic!("{error}"),
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
            std::thread::sleep(Duration::from_millis(1));
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

/// The events that have arrived by the time a request of this client is answered: `path token;`.
fn events(outlet: &mut Outlet) -> String {
    name(outlet.request(Type::Directory, 0, b"/\0"));
    let mut all = String::new();
    while let Some((path, token)) = outlet.next_event().expect("a line") {
        let (path, token) = (String::from_utf8_lossy(&path), String::from_utf8_lossy(&token));
        all += &format!("{path} {token};");
    }
    all
}

/// As the distribution's daemon does it: watches of a removed node or one above it fire for that
/// node only; watches of one below it fire for theirs.
#[test]
fn a_removed_directory_is_one_event() {
    let store = Store::start("removed", 0, 0);
    let mut outlet = store.stream();
    for path in ["/d/a", "/d/a/x", "/d/b", "/dd"] {
        assert_eq!(name(outlet.request(Type::Write, 0, format!("{path}\0").as_bytes())), "OK\0");
    }
    for watch in ["/\0root\0", "/d\0dir\0", "/d/a\0below\0", "/d/c\0none\0", "/dd\0other\0"] {
        assert_eq!(name(outlet.request(Type::Watch, 0, watch.as_bytes())), "OK\0");
    }
    assert_eq!(events(&mut outlet), "/ root;/d dir;/d/a below;/d/c none;/dd other;");
    assert_eq!(name(outlet.request(Type::Remove, 0, b"/d\0")), "OK\0");
    assert_eq!(events(&mut outlet), "/d root;/d dir;/d/a below;");
    // The same by a transaction, when it commits.
    assert_eq!(name(outlet.request(Type::Write, 0, b"/d/a/x\0")), "OK\0");
    assert_eq!(events(&mut outlet), "/d/a/x root;/d/a/x dir;/d/a/x below;");
    let id = name(outlet.request(Type::TransactionStart, 0, b"\0"));
    let id: u32 = id.trim_end_matches('\0').parse().expect("a number");
    assert_eq!(name(outlet.request(Type::Remove, id, b"/d\0")), "OK\0");
    assert_eq!(events(&mut outlet), "");
    assert_eq!(name(outlet.request(Type::TransactionEnd, id, b"T\0")), "OK\0");
    assert_eq!(events(&mut outlet), "/d root;/d dir;/d/a below;");
}

#[test]
fn the_root_is_domain_0s_and_special_nodes_have_permissions() {
    let (store, guests) = (Store::start("root", 0, 0), Store::start("guests", 0, 3));
    let mut outlet = store.page();
    let mut ask = |kind, payload: &[u8]| name(outlet.request(kind, 0, payload));
    assert_eq!(ask(Type::GetPermissions, b"/\0"), "n0\0");
    for special in ["@introduceDomain", "@releaseDomain"] {
        assert_eq!(ask(Type::GetPermissions, format!("{special}\0").as_bytes()), "n0\0");
        assert_eq!(ask(Type::SetPermissions, format!("{special}\0n0\0r3\0").as_bytes()), "OK\0");
        assert_eq!(ask(Type::GetPermissions, format!("{special}\0").as_bytes()), "n0\0r3\0");
        // They are no nodes otherwise.
        for kind in [Type::Read, Type::Write, Type::MakeDirectory, Type::Remove, Type::Directory] {
            assert_eq!(ask(kind, format!("{special}\0").as_bytes()), "EINVAL", "{kind:?}");
        }
    }
    assert_eq!(ask(Type::GetPermissions, b"@other\0"), "ENOENT");
    assert_eq!(ask(Type::Directory, b"/\0"), "");
    for watch in ["@introduceDomain\0in\0", "@releaseDomain\0out\0", "@other\0any\0"] {
        assert_eq!(ask(Type::Watch, watch.as_bytes()), "OK\0");
    }
    assert_eq!(ask(Type::Introduce, b"9\x001\x001\0"), "OK\0");
    assert_eq!(ask(Type::Release, b"9\0"), "OK\0");
    let expected = "@introduceDomain in;@releaseDomain out;@other any;\
        @introduceDomain in;@releaseDomain out;";
    assert_eq!(events(&mut outlet), expected);
    // A client that may not read the root is not notified of what lies at it.
    let mut guest = guests.stream();
    assert_eq!(name(guest.request(Type::Directory, 0, b"/\0")), "EACCES");
    assert_eq!(name(guest.request(Type::Watch, 0, b"/\0all\0")), "OK\0");
    assert_eq!(name(guest.request(Type::Write, 0, b"own\0")), "OK\0");
    assert_eq!(events(&mut guest), "/ all;/local/domain/3/own all;");
}

#[test]
fn strings_without_their_nul_are_refused() {
    let store = Store::start("nul", 0, 0);
    let mut outlet = store.stream();
    let mut ask =
        |kind, transaction, payload: &[u8]| name(outlet.request(kind, transaction, payload));
    assert_eq!(ask(Type::Write, 0, b"/a\0no nul at its end"), "OK\0");
    let id: u32 =
        ask(Type::TransactionStart, 0, b"\0").trim_end_matches('\0').parse().expect("one");
    for (kind, payload) in [
        (Type::Read, &b"/a"[..]),
        (Type::Read, b"/a\0x"),
        (Type::Directory, b"/"),
        (Type::Directory, b"/\0x"),
        (Type::DirectoryPart, b"/\x000"),
        (Type::GetPermissions, b"/a"),
        (Type::SetPermissions, b"/a\0n0"),
        (Type::SetPermissions, b"/a\0n0\0r1"),
        (Type::SetPermissions, b"/a\0"),
        (Type::Write, b"/b"),
        (Type::MakeDirectory, b"/b"),
        (Type::MakeDirectory, b"/b\0x"),
        (Type::Remove, b"/a"),
        (Type::Remove, b"/a\0x"),
        (Type::Watch, b"/a\0t"),
        (Type::Watch, b"/a\0"),
        (Type::Watch, b"/a"),
        (Type::Unwatch, b"/a\0t"),
        (Type::TransactionEnd, b"T"),
        (Type::GetDomainPath, b"7"),
        (Type::IsDomainIntroduced, b"7"),
        (Type::Introduce, b"7\x001\x001"),
        (Type::Release, b"7"),
        (Type::Read, b""),
    ] {
        let transaction = if kind == Type::TransactionEnd { id } else { 0 };
        assert_eq!(ask(kind, transaction, payload), "EINVAL", "{kind:?} {payload:?}");
    }
    assert_eq!(ask(Type::Read, 0, b"/a\0"), "no nul at its end");
    assert_eq!(ask(Type::GetPermissions, 0, b"/a\0"), "n0\0");
    assert_eq!(ask(Type::Directory, 0, b"/\0"), "a\0");
}

#[test]
fn transactions_have_limits() {
    let store = Store::start("limits", 0, 0);
    let mut outlet = store.page();
    let mut ask =
        |kind, transaction, payload: &[u8]| name(outlet.request(kind, transaction, payload));
    let number = |text: String| text.trim_end_matches('\0').parse::<u32>();
    let open: Vec<u32> =
        (0..10).map(|_| number(ask(Type::TransactionStart, 0, b"\0")).expect("one")).collect();
    assert_eq!(ask(Type::TransactionStart, 0, b"\0"), "ENOSPC");
    // One that ends, in either way, makes room for one.
    for (id, how) in [(open[3], b"F\0"), (open[0], b"T\0")] {
        assert_eq!(ask(Type::TransactionEnd, id, how), "OK\0");
        assert_eq!(ask(Type::TransactionEnd, id, how), "ENOENT");
        let next = number(ask(Type::TransactionStart, 0, b"\0")).expect("room for it");
        assert!(!open.contains(&next), "{next} in {open:?}");
        assert_eq!(ask(Type::TransactionStart, 0, b"\0"), "ENOSPC");
    }
    // The root, and 4095 nodes at it.
    for node in 0..4095 {
        assert_eq!(ask(Type::Write, open[5], format!("/n{node}\0").as_bytes()), "OK\0", "{node}");
    }
    assert_eq!(ask(Type::Write, open[5], b"/another\0"), "ENOSPC");
    assert_eq!(ask(Type::Write, open[6], b"/another\0"), "OK\0");
    assert_eq!(ask(Type::TransactionEnd, open[5], b"T\0"), "OK\0");
    assert_eq!(ask(Type::Read, 0, b"/n4094\0"), "");
    assert_eq!(ask(Type::Write, 0, b"/another\0"), "OK\0");
    assert_eq!(ask(Type::ResetWatches, 0, b"\0"), "OK\0");
    assert_eq!(ask(Type::TransactionEnd, open[7], b"F\0"), "ENOENT", "all are reset");
    assert!(number(ask(Type::TransactionStart, 0, b"\0")).is_ok());
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
            std::thread::sleep(Duration::from_millis(1));
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

const CHILD: &str = "TIDEMILL_XENSTORE_CHILD";

/// A process of its own, which may use up its descriptors.
#[test]
fn child_without_descriptors() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let store = Store::start("full", 0, 0);
    let client = socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("a socket");
    let address = SocketAddrUnix::new(store.folder.join("streams")).expect("an address");
    let most = Rlimit { current: Some(64), maximum: Some(64) };
    setrlimit(Resource::Nofile, most).expect("a lower limit");
    let filling: Vec<File> = std::iter::from_fn(|| File::open("/").ok()).collect();
    assert!(filling.len() > 20, "{}", filling.len());
    connect(&client, &address).expect("it queues");
    let before = cpu::of_process();
    std::thread::sleep(Duration::from_millis(600));
    let used = cpu::of_process() - before;
    assert!(used < Duration::from_millis(150), "{used:?} of 600 ms");
    drop(filling);
    let mut outlet = Outlet::stream(UnixStream::from(client)).expect("a connection");
    check_requests(&mut outlet);
}

#[test]
fn clients_wait_while_descriptors_are_exhausted_and_the_server_rests() {
    let status = Command::new(std::env::current_exe().expect("this program"))
        .args(["child_without_descriptors", "--nocapture"])
        .env(CHILD, "1")
        .status();
    assert!(status.expect("a process").success());
}
