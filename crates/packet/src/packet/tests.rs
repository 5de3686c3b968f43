use super::*;

#[test]
fn headers_come_and_go_without_copies() {
    let pool = Pool::new(4);
    let mut packet = pool.packet_of(b"payload").unwrap();
    let payload = packet.bytes().as_ptr();
    packet.prepend(b"head").unwrap();
    assert_eq!(packet.bytes(), b"headpayload");
    packet.strip(4);
    assert_eq!((packet.bytes(), packet.bytes().as_ptr()), (&b"payload"[..], payload));
}

#[test]
fn headroom_that_is_used_up_is_made_again() {
    let pool = Pool::new(4);
    let mut packet = pool.packet_of(b"end").unwrap();
    for _ in 0..4 {
        packet.prepend(&[7; 200]).unwrap();
    }
    assert_eq!(packet.len(), 803);
    assert!(packet.bytes()[..800].iter().all(|&byte| byte == 7));
    assert_eq!(&packet.bytes()[800..], b"end");
}

#[test]
fn a_header_in_front_is_no_part_of_the_packet() {
    let pool = Pool::new(4);
    let mut packet = pool.packet_of(b"frame").unwrap();
    assert_eq!(packet.bytes_after(b"head"), b"headframe");
    // There is room for it before the longest packet, and when the headroom is used up.
    packet.resize(BYTES_MAX - HEADROOM).unwrap();
    packet.prepend(&[7; HEADROOM]).unwrap();
    let bytes = packet.bytes().to_vec();
    assert_eq!(bytes.len(), BYTES_MAX);
    assert_eq!(packet.bytes_after(b"head"), [b"head", &bytes[..]].concat());
    assert_eq!(packet.bytes(), bytes);
}

#[test]
fn no_packet_is_longer_than_its_limit() {
    let pool = Pool::new(4);
    let mut packet = pool.packet().unwrap();
    packet.resize(BYTES_MAX).unwrap();
    assert_eq!(packet.resize(BYTES_MAX + 1), Err(NoRoom));
    assert_eq!(packet.append(&[0]), Err(NoRoom));
    assert_eq!(packet.prepend(&[0]), Err(NoRoom));
    packet.strip(100);
    // Stripped bytes are room again, at either end.
    packet.append(&[9; 100]).unwrap();
    assert_eq!((packet.len(), packet.bytes()[BYTES_MAX - 1]), (BYTES_MAX, 9));
    packet.strip(usize::MAX);
    assert!(packet.is_empty());
    packet.resize(5).unwrap();
    assert_eq!(packet.bytes(), [0; 5]);
}

#[test]
fn a_packet_that_outgrows_its_buffer_moves() {
    for grow in [Packet::append, Packet::prepend] {
        let pool = Pool::new(4);
        let mut packet = pool.packet_of(&[1; 1000]).unwrap();
        packet.set_mark(7);
        packet.set_time_ns(Some(9));
        let small = packet.bytes().as_ptr();
        let mut all = vec![1; 1000];
        for number in 2..=90 {
            grow(&mut packet, &[number; 100]).unwrap();
            all.extend([number; 100]);
        }
        let mut bytes = packet.bytes().to_vec();
        assert_ne!(packet.bytes().as_ptr(), small);
        assert_eq!((bytes.len(), packet.mark(), packet.time_ns()), (9900, 7, Some(9)));
        bytes.sort_unstable();
        assert_eq!(bytes, all);
        let copy = packet.duplicate().unwrap();
        assert_eq!(copy.bytes(), packet.bytes());
        assert_eq!((pool.stats().allocated, pool.stats().freed), (2, 0));
        drop((packet, copy));
        assert_eq!(pool.stats().alive(), 0);
    }
}

#[test]
fn packets_of_every_size_take_a_header_in_front() {
    let pool = Pool::new(4);
    for length in (0..BYTES_MAX).step_by(61).chain(1600..1700) {
        let mut packet = pool.packet_of(&vec![5; length]).unwrap();
        // The headroom is used up.
        packet.prepend(&[6; HEADROOM][..HEADROOM.min(BYTES_MAX - length)]).unwrap();
        let bytes = packet.bytes().to_vec();
        assert_eq!(packet.bytes_after(&[4; 10]), [&[4; 10], &bytes[..]].concat());
        assert_eq!(packet.bytes(), bytes);
        packet.append(&[][..]).unwrap();
        packet.prepend(&[][..]).unwrap();
        assert_eq!(packet.bytes(), bytes);
    }
}

#[test]
fn a_limit_is_that_of_each_size() {
    let pool = Pool::new(1);
    let (mut small, large) = (pool.packet().unwrap(), pool.packet_of(&[0; 2000]).unwrap());
    assert!(pool.packet().is_none() && pool.packet_of(&[0; 2000]).is_none());
    assert_eq!(small.resize(2000), Err(NoRoom));
    assert!(small.is_empty());
    drop(large);
    small.resize(2000).unwrap();
    // Which has moved.
    assert!(pool.packet().is_some());
}

#[test]
fn each_packet_comes_back_once() {
    let pool = Pool::new(100);
    let packets: Vec<Packet> = std::iter::from_fn(|| pool.packet()).collect();
    assert_eq!(packets.len(), 100);
    assert_eq!(pool.stats(), PoolStats { allocated: 100, freed: 0, buffers: 124, refused: 1 });
    let copy = packets[0].duplicate();
    assert!(copy.is_none());
    drop(packets);
    assert_eq!((pool.stats().alive(), pool.stats().freed), (0, 100));
    assert!(pool.packet().is_some());
}

#[test]
fn packets_may_outlive_their_pool() {
    let pool = Pool::new(4);
    let packet = pool.packet_of(b"still here").unwrap();
    let copy = packet.duplicate().unwrap();
    drop(pool);
    drop(packet);
    assert_eq!(copy.bytes(), b"still here");
}
