//! Packet sockets between hosts that leave work to their network cards, of which there are none.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use crate::common::device::{Namespaces, Running, sh, try_sh, within};
use crate::common::{Folder, skipped, tidemill};

/// Bytes of a transfer, and a number of full frames that could not carry half of them.
const BYTES: usize = 8_000_000;
const FRAMES: u64 = BYTES as u64 / 2 / 1500;

/// Two hosts, each at the end of a pair of devices whose other end is here.
struct Hosts {
    names: Vec<String>,
    _namespaces: Namespaces,
}

impl Hosts {
    fn new(letter: char) -> Result<Hosts, String> {
        let number = std::process::id() % 100_000;
        let names: Vec<String> = (0..2).map(|end| format!("tm{letter}{number}{end}")).collect();
        for name in &names {
            let here = here(name);
            try_sh(&format!("ip link add {name} type veth peer name {here}"))?;
            let quiet = format!("echo 1 > /proc/sys/net/ipv6/conf/{here}/disable_ipv6");
            try_sh(&format!("({quiet}; true) && ip link set {here} up"))?;
        }
        let hosts = names.iter().zip(["10.74.0.1/24", "10.74.0.2/24"]);
        Ok(Hosts { _namespaces: Namespaces::new(hosts)?, names })
    }

    /// Frames that have come from the first host.
    fn frames(&self) -> u64 {
        let path = format!("/sys/class/net/{}/statistics/rx_packets", here(&self.names[0]));
        std::fs::read_to_string(path).expect("a count").trim().parse().expect("a number")
    }
}

/// The name of the end that is here.
fn here(name: &str) -> String {
    format!("{name}x")
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = try_sh(&format!("ip link delete {}", here(name)));
        }
    }
}

/// The bytes of a transfer: no two kilobytes are alike.
fn bytes() -> Vec<u8> {
    (0..BYTES as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// The first host sends, and the second one receives all of it.
fn transfer(hosts: &Hosts) {
    let address = SocketAddr::from(([10, 74, 0, 2], 7000));
    let listener = within(&hosts.names[1], || TcpListener::bind(address)).expect("it is there");
    let receiver = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut all = Vec::new();
        stream.read_to_end(&mut all).map(|_| all)
    });
    let mut stream = within(&hosts.names[0], || {
        TcpStream::connect_timeout(&address, Duration::from_secs(20)).expect("it is reached")
    });
    stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    stream.write_all(&bytes()).expect("it is taken");
    drop(stream);
    let received = receiver.join().expect("it ends").expect("all arrives");
    assert!(received == bytes(), "{} bytes arrive", received.len());
}

/// Hosts send frames of up to 64 KiB without checksums, for a card to cut. A bridge of packet
/// sockets does what the card would have done.
fn pass(letter: char, settings: &str, more: &[&str]) {
    let hosts = match Hosts::new(letter) {
        Ok(hosts) => hosts,
        Err(why) => return skipped("network namespaces", &why),
    };
    let folder = Folder::new();
    let [one, two] = [0, 1].map(|at| here(&hosts.names[at]));
    let graph = format!(
        "one :: RawSocket {{ interface: \"{one}\" {settings} }}
         two :: RawSocket {{ interface: \"{two}\" {settings} }}
         one -> two
         two -> one"
    );
    let graph = folder.file("bridge.flow", &graph);
    let mut command = tidemill();
    command.arg("run").arg(&graph).arg("--stats").args(more);
    let running = Running::of(command);
    let before = hosts.frames();
    transfer(&hosts);
    let frames = hosts.frames() - before;
    let sent = sh(&format!("cat /sys/class/net/{two}/statistics/tx_packets"));
    let notes = running.end();
    assert!(frames < FRAMES, "the first host has sent no long frames: {frames}");
    assert!(sent.trim().parse::<u64>().expect("a number") > FRAMES, "they were cut: {sent}");
    assert!(notes.contains("app one: not_cut 0\n"), "{notes}");
}

#[test]
fn long_frames_pass_a_bridge() {
    pass('w', "", &[]);
}

#[test]
fn long_frames_pass_a_bridge_in_blocks() {
    pass('v', ", block_ms: 1", &[]);
}

#[test]
fn long_frames_pass_the_bridges_of_several_workers() {
    pass('m', "", &["--workers", "3"]);
}
