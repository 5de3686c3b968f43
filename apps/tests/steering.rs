//! The program that gives frames to sockets computes the instance that takes a frame.

use tidemill_apps::device::steering::program;
use tidemill_apps::frame;
use tidemill_filter::classic::LENGTH_MAX;
use tidemill_packet::fanout::{Fanout, PortBlocks};
use tidemill_stdx::rng::Rng;

use machine::{Beside, run};

#[path = "../../crates/filter/tests/common/machine.rs"]
mod machine;

/// A frame of a kind that a number gives.
fn drawn(rng: &mut Rng) -> Vec<u8> {
    let mut any = |count: u64| rng.below(count);
    let (a, b, p, q) = (any(4), any(250), 1020 + any(30), any(60_000));
    let mac = "02:00:00:00:00:01 > 02:00:00:00:00:02";
    let kind = any(8);
    let text = match kind {
        0 | 1 => format!("{mac} ip 10.{a}.0.{b} > 198.51.100.1 udp {q} > {p} bytes 9"),
        2 | 3 => format!("{mac} ip 10.{a}.0.{b} > 198.51.100.1 tcp {q} > {p} bytes 9"),
        4 => format!("{mac} ip 198.51.100.1 > 10.{a}.0.{b} tcp {p} > {q} bytes 9"),
        5 => format!("{mac} type 34525 bytes 60 from {b}"),
        6 => format!("02:00:00:00:{a:02x}:{b:02x} > 02:00:00:00:00:02 type 35001 bytes 40"),
        _ => format!("{mac} ip 10.{a}.0.{b} > 198.51.100.1 proto 1 bytes 16"),
    };
    let mut frame = frame::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    if kind == 7 {
        // An echo request or reply, with an identifier.
        frame[34] = if any(2) == 0 { 8 } else { 0 };
        frame[38..40].copy_from_slice(&(p as u16).to_be_bytes());
    }
    if kind == 5 {
        // The version of IPv6, and the protocol.
        (frame[14], frame[20]) = (0x60, [6, 17, 58, 132][any(4) as usize]);
    }
    if kind < 5 && any(5) == 0 {
        (frame[20], frame[21]) = (any(64) as u8, any(3) as u8);
    }
    frame
}

#[test]
fn the_kernel_computes_the_same_instance() {
    let mut rng = Rng::new(7);
    for instances in [1, 2, 3, 7, 16] {
        let block =
            |address: [u8; 4], first, last| PortBlocks { address: address.into(), first, last };
        let blocks = [block([198, 51, 100, 1], 1024, 1042), block([10, 1, 0, 9], 1, 65535)];
        let all = Fanout::all(instances, &blocks);
        // Sockets in an order that is not that of their numbers.
        let mut order: Vec<u32> = (0..instances).collect();
        order.rotate_left(instances as usize / 2);
        let program = program(&all[0], &order).expect("short");
        let mut seen = vec![0; instances as usize];
        for _ in 0..4000 {
            let frame = drawn(&mut rng);
            let position = run(&program, &frame, Beside::default());
            let by_kernel = order[position as usize];
            assert_eq!(by_kernel, all[0].instance_of(&frame), "{frame:02x?}");
            seen[by_kernel as usize] += 1;
        }
        assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    }
}

#[test]
fn many_blocks_are_too_far_away() {
    let address = |number: u8| [198, 51, 100, number].into();
    let block = |number| PortBlocks { address: address(number), first: 1024, last: 65535 };
    let blocks: Vec<PortBlocks> = (1..=60).map(block).collect();
    let program = program(&Fanout::all(2, &blocks)[0], &[0, 1]).expect("far jumps are taken");
    assert!(program.len() < LENGTH_MAX);
}
