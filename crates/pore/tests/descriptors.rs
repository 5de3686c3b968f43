//! Descriptors of the other side: what is no bell and no memory is refused, what is one never
//! blocks, and a side that dies is missed although its socket lives on.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, epoll, eventfd, poll};
use rustix::fs::{MemfdFlags, OFlags, SealFlags, fcntl_setfl, memfd_create};
use tidemill_pore::memfd::{Memfd, Offer, Shape};
use tidemill_pore::xenstore::page;
use tidemill_pore::{Error, Event, OwnerId, Pore, Pores, Signal, Wants, handover};

/// Fails if a call that must return at once does not.
fn at_once<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, came) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    came.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{what} blocks"))
}

fn offer() -> Offer {
    Memfd::create(Shape::Bytes, 64).expect("a pore").1
}

/// A pipe without room, in blocking mode.
fn full_pipe() -> OwnedFd {
    let (reads, writes) = std::io::pipe().expect("a pipe");
    fcntl_setfl(&writes, OFlags::NONBLOCK).expect("a mode");
    while (&writes).write(&[0; 4096]).is_ok() {}
    fcntl_setfl(&writes, OFlags::empty()).expect("a mode");
    std::mem::forget(reads);
    writes.into()
}

/// All that the kernel has of descriptors and that is no bell.
fn no_bells() -> Vec<(&'static str, OwnedFd)> {
    use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
    let (one, other) = UnixStream::pair().expect("sockets");
    std::mem::forget(other);
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty());
    vec![
        ("a full pipe", full_pipe()),
        ("an end of a pipe", std::io::pipe().expect("a pipe").0.into()),
        ("a socket", one.into()),
        ("a file", File::open("/proc/self/exe").expect("a file").into()),
        ("a folder", File::open("/").expect("a folder").into()),
        ("a device", File::open("/dev/zero").expect("a device").into()),
        ("epoll", epoll::create(epoll::CreateFlags::CLOEXEC).expect("epoll")),
        ("a timer", timer.expect("a timer")),
        ("memory", memfd_create(c"x", MemfdFlags::CLOEXEC).expect("memory")),
        ("a path", rustix::fs::open("/", OFlags::PATH, rustix::fs::Mode::empty()).expect("/")),
    ]
}

#[test]
fn what_is_no_eventfd_is_no_bell() {
    for place in 0..2 {
        for (what, fd) in no_bells() {
            let outcome = at_once(what, move || {
                let mut offer = offer();
                *(if place == 0 { &mut offer.waits_at } else { &mut offer.rings }) = fd;
                Memfd::attach(offer).map(drop)
            });
            assert!(matches!(outcome, Err(Error::BadOffer(_))), "{what}: {outcome:?}");
        }
        for (what, fd) in no_bells() {
            let (_, mut offer) = page::create(0).expect("a page");
            *(if place == 0 { &mut offer.waits_at } else { &mut offer.rings }) = fd;
            let outcome = page::attach(offer).map(drop);
            assert!(matches!(outcome, Err(Error::BadOffer(_))), "{what}: {outcome:?}");
        }
    }
    // One that counts down by one would ring 2^64 times after one write.
    let mut offer = offer();
    offer.waits_at = eventfd(0, EventfdFlags::SEMAPHORE).expect("an eventfd");
    assert!(matches!(Memfd::attach(offer).map(drop), Err(Error::BadOffer(_))));
}

#[test]
fn what_is_no_sealed_memory_is_no_memory() {
    let sealed = |flags: MemfdFlags, size: u64| {
        let file = memfd_create(c"x", flags | MemfdFlags::ALLOW_SEALING).ok()?;
        rustix::fs::ftruncate(&file, size).ok()?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::SEAL).ok()?;
        Some(file)
    };
    let mut all = no_bells();
    all.push(("an eventfd", eventfd(0, EventfdFlags::empty()).expect("an eventfd")));
    all.extend(sealed(MemfdFlags::HUGETLB, 1 << 21).map(|fd| ("huge pages", fd)));
    all.extend(sealed(MemfdFlags::CLOEXEC, 1 << 60).map(|fd| ("more than there is", fd)));
    for (what, fd) in all {
        let mut offer = offer();
        offer.memory = fd;
        let outcome = at_once(what, move || Memfd::attach(offer).map(drop));
        assert!(matches!(outcome, Err(Error::BadOffer(_))), "{what}: {outcome:?}");
    }
    // Memory that cannot be written is not mapped.
    let (_, mut offer) = Memfd::create(Shape::Bytes, 64).expect("a pore");
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&offer.memory));
    offer.memory = File::open(path).expect("the same, to be read").into();
    assert!(matches!(Memfd::attach(offer).map(drop), Err(Error::System(_))));
}

/// Seals fix the size of the memory; each is required.
#[test]
fn what_is_made_is_sealed_and_what_lacks_the_seal_is_refused() {
    let (pore, offer) = Memfd::create(Shape::Bytes, 64).expect("a pore");
    let (_, page) = page::create(0).expect("a page");
    for memory in [&offer.memory, &page.memory] {
        let seals = rustix::fs::fcntl_get_seals(memory).expect("seals");
        assert_eq!(seals, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL);
    }
    drop(pore);
    // The very layout, in memory that could be taken away.
    let mut bytes = vec![0; 4096];
    let whole = {
        let mut attached = Memfd::attach(offer).expect("a pore");
        attached.get(0, 4096, &mut bytes).expect("inside");
        bytes.split_off(4096)
    };
    for (seals, is_taken) in [
        (SealFlags::SHRINK, true),
        (SealFlags::SHRINK | SealFlags::GROW, true),
        (SealFlags::GROW | SealFlags::SEAL, false),
        (SealFlags::empty(), false),
    ] {
        let (_, mut offer) = Memfd::create(Shape::Bytes, 64).expect("a pore");
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut file = File::from(memfd_create(c"x", flags).expect("memory"));
        file.write_all(&whole).expect("written");
        file.write_all(&[0; 128]).expect("written");
        rustix::fs::fcntl_add_seals(&file, seals).expect("sealed");
        offer.memory = file.into();
        let outcome = Memfd::attach(offer).map(drop);
        assert_eq!(outcome.is_ok(), is_taken, "{seals:?}: {outcome:?}");
    }
}

#[test]
fn offers_have_three_descriptors() {
    for count in [1, 2, 4] {
        let (ours, theirs) = UnixStream::pair().expect("sockets");
        let offer = offer();
        let all = [&offer.memory, &offer.waits_at, &offer.rings, &offer.rings].map(AsFd::as_fd);
        handover::send(&theirs, &all[..count]).expect("sent");
        let outcome = Memfd::accept_from(ours).map(drop);
        assert!(matches!(outcome, Err(Error::BadOffer(_))), "{count}: {outcome:?}");
    }
    let (ours, mut theirs) = UnixStream::pair().expect("sockets");
    theirs.write_all(b"none").expect("sent");
    assert!(matches!(Memfd::accept_from(ours).map(drop), Err(Error::BadOffer(_))));
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    drop(theirs);
    assert!(matches!(Memfd::accept_from(ours).map(drop), Err(Error::PeerGone)));
}

/// Both bells in blocking mode, one without room, one without a ring: nothing waits for them.
#[test]
fn a_bell_whose_mode_the_other_side_changed_does_not_block() {
    let (mut ours, offer) = Memfd::create(Shape::Bytes, 64).expect("a pore");
    for bell in [&offer.waits_at, &offer.rings] {
        fcntl_setfl(bell, OFlags::empty()).expect("a mode");
    }
    rustix::io::write(&offer.waits_at, &(u64::MAX - 1).to_ne_bytes()).expect("filled");
    let mut ours = at_once("ringing a full bell, or draining one that was not rung", move || {
        for _ in 0..3 {
            ours.ring().expect("rung");
            ours.drain_doorbell();
        }
        ours
    });
    // The other side fills ours to the limit, where it reports an error; it can still be drained.
    rustix::io::write(&offer.rings, &(u64::MAX - 1).to_ne_bytes()).expect("filled");
    let theirs = Memfd::attach(offer);
    assert!(theirs.is_ok(), "a full bell is a bell");
    theirs.expect("a pore").ring().expect("rung");
    let state = |pore: &Memfd| {
        let mut one = [PollFd::from_borrowed_fd(pore_fd(pore), PollFlags::IN)];
        poll(&mut one, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).expect("polled");
        one[0].revents()
    };
    assert!(state(&ours).contains(PollFlags::ERR), "{:?}", state(&ours));
    ours.drain_doorbell();
    assert_eq!(state(&ours), PollFlags::empty());
}

fn pore_fd(pore: &Memfd) -> std::os::fd::BorrowedFd<'_> {
    let Signal::Bell(fd) = pore.signals()[0] else { panic!("the bell comes first") };
    // SAFETY: it is open as long as the pore.
    unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) }
}

const ROLE: &str = "TIDEMILL_TEST_SOCKET";

/// Not a test of its own: the other side of the next, in a process that connects, leaves its end
/// of the socket to another process, and dies.
#[test]
fn other_side_that_passes_its_socket_on() {
    let Ok(path) = std::env::var(ROLE) else { return };
    let socket = UnixStream::connect(path).expect("it listens");
    let mut theirs = Memfd::accept_from(socket.try_clone().expect("a copy"))
        .expect("fine")
        .expect("a pore was sent");
    theirs.write(b"last words").expect("room");
    let heir = Command::new("sleep").arg("30").stdin(Stdio::from(OwnedFd::from(socket))).spawn();
    println!("heir {}", heir.expect("an heir").id());
    std::process::exit(0);
}

#[test]
fn a_side_that_dies_is_missed_although_its_socket_lives_on() {
    let folder = std::env::temp_dir().join(format!("tidemill-heir-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("socket");
    let listener = UnixListener::bind(&path).expect("a listener");
    let binary = std::env::current_exe().expect("this program");
    let mut other = Command::new(binary)
        .args(["other_side_that_passes_its_socket_on", "--nocapture"])
        .env(ROLE, &path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("another process");
    let (peer, _) = listener.accept().expect("it connects");
    let pore = Memfd::offer_to(peer, Shape::Bytes, 64).expect("offered");
    let lifelines: Vec<_> = pore.signals();
    assert_eq!(lifelines.len(), 3, "a bell, the socket, the process: {lifelines:?}");
    let mut pores = Pores::new();
    let id = pores.open(OwnerId(1), Box::new(pore));
    let mut output = String::new();
    other.wait().expect("it ends");
    let mut out = other.stdout.take().expect("its output");
    // The heir holds the output as well as the socket, so it is not read to its end.
    let since = Instant::now();
    while !output.contains("heir") && since.elapsed() < Duration::from_secs(20) {
        let mut some = [0; 256];
        let count = std::io::Read::read(&mut out, &mut some).expect("its output");
        output += &String::from_utf8_lossy(&some[..count]);
    }
    assert!(pores.look_at_peer(id).is_err(), "its process has ended");
    pores.arm(OwnerId(1), id, Wants { readable: 1, writable: 0 }).expect("mine");
    assert!(matches!(pores.take_event(id), Some(Event::Ready(avail)) if avail.readable == 10));
    pores.get(OwnerId(1), id).expect("mine").read(64, &mut Vec::new()).expect("fine");
    pores.arm(OwnerId(1), id, Wants { readable: 1, writable: 0 }).expect("mine");
    assert!(matches!(pores.take_event(id), Some(Event::Trouble(Error::PeerGone))));
    let heir = output.split("heir ").nth(1).and_then(|it| it.split_whitespace().next());
    if let Some(heir) = heir {
        let _ = Command::new("kill").arg(heir).status();
    }
    let _ = std::fs::remove_dir_all(&folder);
}
