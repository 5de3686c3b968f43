//! The rules that hold for every pore: owners, events, what hostile peers can do.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use tidemill_pore::adaptive_poll::AdaptivePoll;
use tidemill_pore::memfd::{Memfd, Shape};
use tidemill_pore::{Error, Event, OwnerId, Pore, Pores, Wants, Width};
use tidemill_support::cpu;

const ONE: OwnerId = OwnerId(1);
const TWO: OwnerId = OwnerId(2);

fn pair(shape: Shape, ring_bytes: u32) -> (Memfd, Memfd) {
    let (ours, offer) = Memfd::create(shape, ring_bytes).expect("a pore");
    (ours, Memfd::attach(offer).expect("the same pore"))
}

fn wants(readable: usize, writable: usize) -> Wants {
    Wants { readable, writable }
}

#[test]
fn only_the_owner_uses_a_pore_and_can_hand_it_over() {
    let mut pores = Pores::new();
    let (ours, mut theirs) = pair(Shape::Bytes, 64);
    let id = pores.open(ONE, Box::new(ours));
    assert!(matches!(pores.get(TWO, id), Err(Error::NotOwner)));
    assert!(matches!(pores.arm(TWO, id, wants(1, 0)), Err(Error::NotOwner)));
    assert!(matches!(pores.close(TWO, id), Err(Error::NotOwner)));
    assert!(matches!(pores.hand_over(TWO, id, TWO), Err(Error::NotOwner)));
    pores.arm(ONE, id, wants(1, 0)).expect("mine");
    theirs.write(b"x").expect("room");
    pores.hand_over(ONE, id, TWO).expect("mine");
    assert!(pores.take_event(id).is_none(), "the former owner had armed it");
    assert!(matches!(pores.get(ONE, id), Err(Error::NotOwner)));
    let mut read = Vec::new();
    let count = pores.get(TWO, id).expect("theirs now").read(9, &mut read);
    assert_eq!((count.expect("fine"), read.as_slice()), (1, &b"x"[..]));
    pores.close(TWO, id).expect("theirs");
    assert!(matches!(pores.get(TWO, id), Err(Error::NoSuchPore)));
}

#[test]
fn events_are_by_level_and_there_is_one() {
    let mut pores = Pores::new();
    let (ours, mut theirs) = pair(Shape::Bytes, 64);
    let id = pores.open(ONE, Box::new(ours));
    theirs.write(b"abc").expect("room");
    assert!(pores.take_event(id).is_none(), "it is not armed");
    pores.arm(ONE, id, wants(4, 0)).expect("mine");
    assert!(pores.take_event(id).is_none(), "not enough");
    assert!(!pores.is_due(id));
    for _ in 0..100 {
        theirs.write(b"d").expect("fine");
        theirs.ring().expect("rung");
    }
    assert!(matches!(pores.take_event(id), Some(Event::Ready(avail)) if avail.readable == 64));
    assert!(pores.take_event(id).is_none(), "one event");
    // What has arrived before arming counts: by level.
    pores.arm(ONE, id, wants(1, 0)).expect("mine");
    assert!(matches!(pores.take_event(id), Some(Event::Ready(_))));
    pores.arm(ONE, id, wants(0, 1)).expect("mine");
    assert!(matches!(pores.take_event(id), Some(Event::Ready(avail)) if avail.writable == 64));
}

#[test]
fn pores_close_with_their_owner() {
    let mut pores = Pores::new();
    let peers: Vec<_> = (0..5)
        .map(|at| {
            let (ours, theirs) = UnixStream::pair().expect("sockets");
            let pore = Memfd::offer_to(ours, Shape::Bytes, 64).expect("offered");
            pores.open(if at < 3 { ONE } else { TWO }, Box::new(pore));
            Memfd::accept_from(theirs).expect("fine").expect("it has been sent")
        })
        .collect();
    assert_eq!(pores.close_all_of(ONE).len(), 3);
    let gone = peers.into_iter().map(|mut peer| peer.look_at_peer().is_err());
    assert_eq!(gone.collect::<Vec<_>>(), [true, true, true, false, false]);
    assert_eq!((pores.len(), pores.close_all_of(ONE).len()), (2, 0));
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

#[test]
fn ten_thousand_open_and_close() {
    let mut pores = Pores::new();
    let before = descriptors();
    for round in 0..10_000u64 {
        let (ours, theirs) = pair(Shape::Messages, 64);
        pores.open(OwnerId(round % 7), Box::new(ours));
        pores.open(OwnerId(round % 7), Box::new(theirs));
        if round % 7 == 6 {
            for owner in 0..7 {
                assert_eq!(pores.close_all_of(OwnerId(owner)).len(), 2);
            }
        }
    }
    (0..7).for_each(|owner| drop(pores.close_all_of(OwnerId(owner))));
    assert!(pores.is_empty());
    // Other tests of this program run meanwhile.
    assert!(descriptors() < before + 100, "{} and {}", before, descriptors());
}

#[test]
fn bad_indexes_break_that_pore_and_no_other() {
    let mut pores = Pores::new();
    let (bad, mut hostile) = pair(Shape::Messages, 64);
    let (good, mut honest) = pair(Shape::Messages, 64);
    let bad = pores.open(ONE, Box::new(bad));
    let good = pores.open(ONE, Box::new(good));
    pores.arm(ONE, bad, wants(1, 0)).expect("mine");
    pores.arm(ONE, good, wants(1, 0)).expect("mine");
    // The index of the ring from the peer to us.
    hostile.store(192, Width::Four, 0x7fff_ffff).expect("inside");
    honest.write(b"hello").expect("room");
    assert!(matches!(pores.take_event(bad), Some(Event::Trouble(Error::BadIndex { .. }))));
    assert!(matches!(pores.take_event(good), Some(Event::Ready(_))));
    // It stays broken, whatever the peer writes then.
    hostile.store(192, Width::Four, 0).expect("inside");
    let mut read = Vec::new();
    assert!(pores.get(ONE, bad).expect("mine").read(9, &mut read).is_err());
    assert!(pores.get(ONE, bad).expect("mine").write(b"x").is_err());
    assert_eq!(pores.get(ONE, good).expect("mine").read(9, &mut read).expect("fine"), 5);
}

#[test]
fn our_own_indexes_are_not_read_back() {
    let (mut ours, mut hostile) = pair(Shape::Bytes, 64);
    ours.write(b"abc").expect("room");
    // The peer may overwrite what we have published; we continue from our own copy.
    hostile.store(64, Width::Four, 40).expect("inside");
    assert_eq!(ours.write(b"def").expect("room"), 3);
    let mut read = Vec::new();
    assert_eq!(hostile.read(64, &mut read).expect("fine"), 6);
    assert_eq!(read, b"abcdef");
}

#[test]
fn the_memory_cannot_be_taken_away() {
    use std::os::fd::AsFd;
    let (mut ours, offer) = Memfd::create(Shape::Bytes, 4096).expect("a pore");
    for size in [0, 100, 1 << 20] {
        assert!(rustix::fs::ftruncate(&offer.memory, size).is_err(), "to {size}");
    }
    let more = rustix::fs::SealFlags::WRITE;
    assert!(rustix::fs::fcntl_add_seals(offer.memory.as_fd(), more).is_err());
    assert_eq!(ours.write(&[1; 5000]).expect("fine"), 4096);
}

#[test]
fn what_is_no_pore_is_refused() {
    use rustix::fs::{MemfdFlags, memfd_create};
    let offers = |prepare: &dyn Fn(&std::fs::File)| {
        let (_, mut offer) = Memfd::create(Shape::Bytes, 64).expect("a pore");
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = std::fs::File::from(memfd_create(c"other", flags).expect("memory"));
        prepare(&file);
        offer.memory = file.into();
        Memfd::attach(offer).map(drop)
    };
    let unsealed = offers(&|file| file.set_len(1 << 16).expect("grown"));
    assert!(matches!(unsealed, Err(Error::BadOffer(_))), "{unsealed:?}");
    let seal = |file: &std::fs::File| {
        let seals = rustix::fs::SealFlags::SHRINK | rustix::fs::SealFlags::GROW;
        rustix::fs::fcntl_add_seals(file, seals).expect("sealed");
    };
    let empty = offers(&|file| seal(file));
    assert!(matches!(empty, Err(Error::BadOffer(_))), "{empty:?}");
    let blank = offers(&|file| {
        file.set_len(1 << 16).expect("grown");
        seal(file);
    });
    assert!(matches!(blank, Err(Error::BadOffer(_))), "{blank:?}");
    let huge = offers(&|file| {
        use std::os::unix::fs::FileExt;
        file.set_len(1 << 16).expect("grown");
        let head: Vec<u8> = [u32::from_le_bytes(*b"PORE"), 1, 0, 1 << 28]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        file.write_all_at(&head, 0).expect("written");
        seal(file);
    });
    assert!(matches!(huge, Err(Error::BadOffer(_))), "{huge:?}");
    let (_, mut offer) = Memfd::create(Shape::Bytes, 64).expect("a pore");
    offer.memory = std::fs::File::open("/dev/zero").expect("a device").into();
    assert!(matches!(Memfd::attach(offer), Err(Error::BadOffer(_))));
}

#[test]
fn sizes_are_checked() {
    for bad in [0, 1, 32, 100, 1 << 29] {
        assert!(matches!(Memfd::create(Shape::Bytes, bad), Err(Error::Malformed(_))), "{bad}");
    }
}

#[test]
fn a_flooded_doorbell_is_no_event() {
    let mut pores = Pores::new();
    let (ours, mut theirs) = pair(Shape::Bytes, 64);
    let id = pores.open(ONE, Box::new(ours));
    pores.arm(ONE, id, wants(1, 0)).expect("mine");
    for _ in 0..10_000 {
        theirs.ring().expect("rung");
        pores.drain_doorbell(id);
        assert!(pores.take_event(id).is_none());
    }
}

#[test]
fn signals_are_due_only_if_they_tell_something() {
    let (mut ours, mut theirs) = pair(Shape::Bytes, 64);
    assert!(!ours.is_ring_due());
    ours.write(b"abc").expect("room");
    assert!(ours.is_ring_due());
    assert!(!ours.is_ring_due(), "once for each signal");
    ours.write(b"def").expect("room");
    let mut read = Vec::new();
    theirs.read(64, &mut read).expect("fine");
    assert!(!ours.is_ring_due(), "all is taken");
    assert!(!theirs.is_ring_due(), "the ring was not full");
    ours.write(&[0; 64]).expect("fine");
    theirs.read(1, &mut read).expect("fine");
    assert!(theirs.is_ring_due(), "who writes may wait for room");
}

#[test]
fn a_polling_side_is_not_rung() {
    let (mut ours, mut theirs) = pair(Shape::Bytes, 64);
    theirs.begin_polling();
    assert!(ours.is_peer_polling() && !theirs.is_peer_polling());
    ours.write(b"abc").expect("room");
    assert!(!ours.is_ring_due(), "it looks by itself");
    assert!(theirs.end_polling(), "it has to look once more");
    assert!(!theirs.end_polling(), "once");
    assert!(theirs.avail().expect("fine").readable == 3);
    ours.write(b"def").expect("room");
    assert!(ours.is_ring_due());
}

/// Both sides poll a little and then sleep at their bells, for long: if a ring were missed, one of
/// them would sleep until its poll ends.
#[test]
fn no_ring_is_missed_between_polling_and_sleeping() {
    const ROUNDS: u32 = 20_000;
    fn receive(pore: &mut Memfd, looks: u32, into: &mut Vec<u8>) {
        pore.begin_polling();
        for _ in 0..looks {
            if pore.read(4, into).expect("fine") > 0 {
                return;
            }
            std::hint::spin_loop();
        }
        pore.end_polling();
        while pore.read(4, into).expect("fine") == 0 {
            let before = std::time::Instant::now();
            pore.bell().wait(Duration::from_secs(20));
            assert!(before.elapsed().as_secs() < 10, "the bell was not rung");
        }
    }
    fn send(pore: &mut Memfd, number: u32) {
        assert_eq!(pore.write(&number.to_le_bytes()).expect("room"), 4);
        if pore.is_ring_due() {
            pore.ring().expect("it rings");
        }
    }
    let (mut ours, mut theirs) = pair(Shape::Bytes, 64);
    let other = std::thread::spawn(move || {
        for number in 0..ROUNDS {
            let mut read = Vec::new();
            receive(&mut theirs, number % 97, &mut read);
            assert_eq!(read, number.to_le_bytes());
            send(&mut theirs, number);
        }
    });
    for number in 0..ROUNDS {
        send(&mut ours, number);
        let mut read = Vec::new();
        receive(&mut ours, number % 89, &mut read);
        assert_eq!(read, number.to_le_bytes());
    }
    other.join().expect("it ends well");
}

/// Two threads that wait for each other; one goes, and what it has left is found before that.
#[test]
fn a_waiter_gets_arrivals_and_the_end_of_the_other_side() {
    const ROUNDS: u32 = 5000;
    fn round(pore: &mut Memfd, policy: &mut AdaptivePoll, first: bool, number: u32) {
        let send = |pore: &mut Memfd| {
            assert_eq!(pore.write(&number.to_le_bytes()).expect("room"), 4);
            if pore.is_ring_due() {
                pore.ring().expect("it rings");
            }
        };
        if first {
            send(pore);
        }
        pore.wait(policy).expect("something comes");
        let mut read = Vec::new();
        pore.read(4, &mut read).expect("fine");
        assert_eq!(read, number.to_le_bytes());
        if !first {
            send(pore);
        }
    }
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    let mut ours = Memfd::offer_to(ours, Shape::Bytes, 64).expect("offered");
    let other = std::thread::spawn(move || {
        let mut theirs = Memfd::accept_from(theirs).expect("fine").expect("it has been sent");
        let mut policy = AdaptivePoll::default();
        (0..ROUNDS).for_each(|number| round(&mut theirs, &mut policy, false, number));
        // Longer than any poll; no ring follows.
        std::thread::sleep(Duration::from_millis(20));
        theirs.write(b"left").expect("room");
    });
    let mut policy = AdaptivePoll::default();
    (0..ROUNDS).for_each(|number| round(&mut ours, &mut policy, true, number));
    ours.wait(&mut policy).expect("something was left");
    assert_eq!(ours.avail().expect("fine").readable, 4);
    ours.read(4, &mut Vec::new()).expect("fine");
    assert!(matches!(ours.wait(&mut policy), Err(Error::PeerGone)));
    assert!(matches!(ours.sleep(), Err(Error::PeerGone)));
    other.join().expect("it ends well");
}

#[test]
fn a_long_wait_takes_no_cpu_time() {
    const ROUNDS: usize = 20;
    let (mut ours, mut theirs) = pair(Shape::Bytes, 64);
    let other = std::thread::spawn(move || {
        for _ in 0..ROUNDS {
            std::thread::sleep(Duration::from_millis(20));
            theirs.write(b"late").expect("room");
            if theirs.is_ring_due() {
                theirs.ring().expect("it rings");
            }
        }
    });
    let before = cpu::of_thread();
    let mut policy = AdaptivePoll::default();
    for _ in 0..ROUNDS {
        ours.wait(&mut policy).expect("something comes");
        // What arrived with it, if this thread was late, is for the next round.
        ours.read(b"late".len(), &mut Vec::new()).expect("fine");
    }
    // Of 400 ms.
    let used = cpu::of_thread() - before;
    assert!(used < Duration::from_millis(20), "{used:?}");
    other.join().expect("it ends well");
}

#[test]
fn descriptors_go_over_a_socket() {
    let (ours, theirs) = UnixStream::pair().expect("sockets");
    theirs.set_nonblocking(true).expect("set");
    let theirs = Memfd::accept_from(theirs).expect("fine").expect_err("nothing has come yet");
    let mut ours = Memfd::offer_to(ours, Shape::Messages, 256).expect("offered");
    let mut theirs = Memfd::accept_from(theirs).expect("fine").expect("it has come");
    ours.write(b"question").expect("room");
    let mut read = Vec::new();
    theirs.read(100, &mut read).expect("fine");
    theirs.write(b"answer").expect("room");
    drop(theirs);
    // It has gone, and what it had written can still be read.
    assert!(matches!(ours.look_at_peer(), Err(Error::PeerGone)));
    assert!(matches!(ours.write(b"more"), Err(Error::PeerGone)));
    assert_eq!(ours.avail().expect("something is left").readable, 6);
    ours.read(100, &mut read).expect("fine");
    assert_eq!(read, b"questionanswer");
    assert!(matches!(ours.avail(), Err(Error::PeerGone)));
}
