//! Frames between a TAP device and a packet ring on it; skipped, with the reason, without rights.

use crate::common;

use std::process::Command;
use std::time::Duration;

use tidemill_pore::packet::ring::PacketRing;
use tidemill_pore::packet::tap::Tap;
use tidemill_pore::{OwnerId, Pore, Pores};

fn devices(name: &str) -> Result<(Tap, PacketRing), String> {
    let tap = Tap::open(name).map_err(|error| error.to_string())?;
    let up = Command::new("ip").args(["link", "set", name, "up"]).output();
    let up = up.map_err(|error| format!("ip: {error}"))?;
    if !up.status.success() {
        return Err(String::from_utf8_lossy(&up.stderr).trim().to_owned());
    }
    let ring = PacketRing::open(name).map_err(|error| error.to_string())?;
    Ok((tap, ring))
}

/// The next frame of our own kind: the system sends its own on a new device.
fn next(pore: &mut dyn Pore) -> Vec<u8> {
    for _ in 0..2000 {
        let mut frame = Vec::new();
        while pore.read(usize::MAX, &mut frame).expect("fine") > 0 {
            if frame[12..14] == [0x88, 0xb5] {
                return frame;
            }
            frame.clear();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Vec::new()
}

fn frame(number: u8, length: usize) -> Vec<u8> {
    let mut frame = vec![number; length];
    frame[..12].copy_from_slice(&[255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame
}

#[test]
fn frames_go_both_ways_whole_and_in_order() {
    let (mut tap, mut ring) = match devices("tmporetap") {
        Ok(devices) => devices,
        Err(reason) => return common::skipped("TAP and packet ring", &reason),
    };
    for (number, length) in [(1, 60), (2, 1514), (3, 61)] {
        assert_eq!(tap.write(&frame(number, length)).expect("up"), length);
    }
    for (number, length) in [(1, 60), (2, 1514), (3, 61)] {
        assert_eq!(next(&mut ring), frame(number, length));
    }
    // More than the blocks of the ring hold at once; each is polled before it is taken.
    for number in 0..200 {
        assert_eq!(tap.write(&frame(number, 1000)).expect("up"), 1000);
        let taken = next(&mut ring);
        assert_eq!((taken.len(), taken[999]), (1000, number));
    }
    assert_eq!(ring.write(&frame(9, 100)).expect("up"), 100);
    assert_eq!(next(&mut tap), frame(9, 100));
    let mut short = Vec::new();
    assert_eq!(tap.read(5, &mut short).expect("fine"), 0);
}

/// A ring of two MiB cannot hold three: each message is read or counted.
#[test]
fn what_the_kernel_drops_is_counted_once() {
    let (mut tap, mut ring) = match devices("tmporedrop") {
        Ok(devices) => devices,
        Err(reason) => return common::skipped("drops of a packet ring", &reason),
    };
    let sent = 3000;
    for _ in 0..sent {
        assert_eq!(tap.write(&frame(1, 1000)).expect("up"), 1000);
    }
    let mut pores = Pores::new();
    let owner = OwnerId(1);
    let mut read = 0;
    while !next(&mut ring).is_empty() {
        read += 1;
    }
    let id = pores.open(owner, Box::new(ring));
    let dropped = pores.dropped();
    assert!(read < sent && read > 1000, "{read}");
    // Frames of the machine's own may be among them.
    assert!(read + dropped >= sent && read + dropped < sent + 100, "{read} + {dropped}");
    pores.close(owner, id).expect("its owner");
    assert_eq!(pores.dropped(), dropped);
}
