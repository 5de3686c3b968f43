//! Frames between a TAP device and a packet ring on it; skipped, with the reason, without rights.

use crate::common;

use std::process::Command;
use std::time::Duration;

use tidemill_pore::Pore;
use tidemill_pore::packet::ring::PacketRing;
use tidemill_pore::packet::tap::Tap;

const NAME: &str = "tmporetap";

fn devices() -> Result<(Tap, PacketRing), String> {
    let tap = Tap::open(NAME).map_err(|error| error.to_string())?;
    let up = Command::new("ip").args(["link", "set", NAME, "up"]).output();
    let up = up.map_err(|error| format!("ip: {error}"))?;
    if !up.status.success() {
        return Err(String::from_utf8_lossy(&up.stderr).trim().to_owned());
    }
    let ring = PacketRing::open(NAME).map_err(|error| error.to_string())?;
    Ok((tap, ring))
}

/// The next frame of our own kind: the machine says things of its own on a new device.
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

#[test]
fn frames_go_both_ways_whole_and_in_order() {
    let (mut tap, mut ring) = match devices() {
        Ok(devices) => devices,
        Err(reason) => return common::skipped("TAP and packet ring", &reason),
    };
    let frame = |number: u8, length: usize| {
        let mut frame = vec![number; length];
        frame[..12].copy_from_slice(&[255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1]);
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        frame
    };
    for (number, length) in [(1, 60), (2, 1514), (3, 61)] {
        assert_eq!(tap.write(&frame(number, length)).expect("up"), length);
    }
    for (number, length) in [(1, 60), (2, 1514), (3, 61)] {
        assert_eq!(next(&mut ring), frame(number, length));
    }
    // More than the blocks of the ring hold at once, with a look at each before it is taken.
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
