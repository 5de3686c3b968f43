//! Flow records of a capture, as other programs read them: tshark, and nfcapd, which gets the
//! messages as datagrams. All count what the generator of the capture has counted.

use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tidemill_apps::capture::{CaptureReader, Frame};
use tidemill_support::traffic::{Plan, Truth};

use crate::common::{Folder, skipped, status, stderr, stdout, tidemill};

const PLAN: Plan =
    Plan { seed: 2, flows: 300, packets: 9000, seconds: 100, bytes_max: 1500, pauses: 7 };

const ETHERNET: u64 = 14;
/// Headers of Ethernet, IPv4 and UDP before a message.
const HEADERS: usize = 42;

/// A capture and the flow records of it.
fn exported(settings: &str) -> (Folder, Truth) {
    let folder = Folder::new();
    let mut bytes = Vec::new();
    let truth = PLAN.write(&mut bytes).expect("memory takes all");
    fs::write(folder.path().join("traffic.pcap"), bytes).expect("written");
    let graph = format!(
        "in :: PcapReader {{ file: \"traffic.pcap\" }} -> meter :: FlowExport {{
             collector: \"192.0.2.9\", address: \"192.0.2.1\", {settings} }}
         meter.export -> out :: PcapWriter {{ file: \"export.pcap\" }}"
    );
    fs::write(folder.path().join("meter.flow"), graph).expect("written");
    let mut command = tidemill();
    command.args(["run", "meter.flow"]).current_dir(folder.path());
    let output = command.output().expect("it starts");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    (folder, truth)
}

#[test]
fn tshark_reads_the_flows_of_a_capture() {
    let (folder, truth) = exported("inactive: 15, active: 30");
    let fields = ["cflow.packets", "cflow.octets", "cflow.flow_end_reason"];
    let mut command = Command::new("tshark");
    command.args(["-r", "export.pcap", "-d", "udp.port==4739,cflow", "-T", "fields"]);
    command.args(fields.iter().flat_map(|field| ["-e", field])).current_dir(folder.path());
    let Ok(output) = command.output() else {
        return skipped("flow records", "there is no tshark");
    };
    let text = stdout(&output);
    let column = |at: usize| -> Vec<u64> {
        let cells = text.lines().filter_map(|line| line.split('\t').nth(at));
        cells.flat_map(|cell| cell.split(',')).filter_map(|number| number.parse().ok()).collect()
    };
    let (packets, octets, reasons) = (column(0), column(1), column(2));
    assert_eq!(packets.iter().sum::<u64>(), truth.packets);
    assert_eq!(octets.iter().sum::<u64>(), truth.bytes - ETHERNET * truth.packets);
    assert!(reasons.len() as u64 > truth.flows, "long ones are reported in parts");
    for reason in [1, 2] {
        assert!(reasons.contains(&reason), "{reason}: {reasons:?}");
    }
}

/// Ends with the test.
struct Collector(Child);

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends all messages but those of some numbers to a collector; its last words.
fn collected(folder: &Path, lost: std::ops::Range<usize>) -> Option<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let free = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("an address").port();
    drop(free);
    let flows = folder.join("flows");
    fs::create_dir_all(&flows).expect("a folder");
    let said = folder.join("nfcapd.log");
    let log = File::create(&said).expect("writable");
    let mut command = Command::new("nfcapd");
    command.arg("-l").arg(&flows).args(["-t", "3600", "-b", "127.0.0.1", "-p", &port.to_string()]);
    command.stdout(Stdio::null()).stderr(log).stdin(Stdio::null());
    let mut collector = Collector(command.spawn().ok()?);
    let deadline = Instant::now() + Duration::from_secs(10);
    let reads = |word: &str| fs::read_to_string(&said).is_ok_and(|text| text.contains(word));
    while !reads("Startup") && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    let file = File::open(folder.join("export.pcap")).expect("a capture");
    let (mut reader, mut frame) = (CaptureReader::new(file).expect("a capture"), Frame::default());
    let mut number = 0;
    while reader.next(&mut frame).is_ok() {
        if !lost.contains(&number) {
            socket.send_to(&frame.bytes[HEADERS..], ("127.0.0.1", port)).expect("it is sent");
            std::thread::sleep(Duration::from_millis(5));
        }
        number += 1;
    }
    std::thread::sleep(Duration::from_millis(300));
    let id = collector.0.id().to_string();
    let ended = Command::new("kill").args(["-TERM", &id]).status().expect("it starts");
    assert!(ended.success());
    collector.0.wait().expect("it ends");
    fs::read_to_string(said).ok()
}

#[test]
fn nfcapd_counts_the_same_and_sees_what_is_lost() {
    let (folder, truth) = exported("domain: 9");
    let Some(said) = collected(folder.path(), 0..0) else {
        return skipped("flow records", "there is no nfcapd");
    };
    let (packets, bytes) = (truth.packets, truth.bytes - ETHERNET * truth.packets);
    let counts = format!("Packets: {packets}, Bytes: {bytes}, Sequence Errors: 0, Bad Packets: 0");
    assert!(said.contains(&counts), "{counts}: {said}");
    assert!(said.contains("Observation domain 9"), "{said}");
    let said = collected(folder.path(), 3..5).expect("it is there");
    assert!(said.contains("Sequence Errors: 1, Bad Packets: 0"), "{said}");
}

#[test]
fn nfcapd_multiplies_by_the_sampling_rate() {
    let (folder, truth) = exported("sample: 10");
    let Some(said) = collected(folder.path(), 0..0) else {
        return skipped("flow records", "there is no nfcapd");
    };
    let after =
        said.rsplit("Packets: ").find_map(|text| text.split(',').next()?.parse::<u64>().ok());
    let packets = after.unwrap_or_else(|| panic!("{said}"));
    assert!(packets.is_multiple_of(10), "{packets}");
    assert!(packets.abs_diff(truth.packets) < truth.packets / 8, "{packets}: {}", truth.packets);
}
