//! Apps that talk to the system: they sleep until a descriptor is ready.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::common::{
    Folder, frames, graph_of, on_the_system as world, read, run_for, without_devices, write,
};
use tidemill_apps::capture::Format;
use tidemill_apps::frame::describe;
use tidemill_diag::Sources;
use tidemill_packet::drive;
use tidemill_packet::flow::{self, load_text};
use tidemill_packet::graph::Graph;

/// A path of its own for a test.
fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tidemill-{}-{name}", std::process::id()))
}

#[test]
fn a_socket_wakes_the_graph_that_sleeps() {
    let (ours, theirs) = (path("ours"), path("theirs"));
    // Left by a process that died, perhaps.
    let _ = std::fs::remove_file(&theirs);
    let peer = UnixDatagram::bind(&theirs).expect("a socket");
    peer.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    let (mut world, mut events) = world();
    let text = format!(
        "echo :: UnixSocket {{ listen: \"{}\", peer: \"{}\" }}
         echo -> cut :: Truncate {{ length: 3 }} -> echo",
        ours.display(),
        theirs.display()
    );
    drive::configure(&mut world, &mut events, graph_of(&text)).expect("it starts");
    run_for(&mut world, &mut events, 20);
    let breaths = world.0.engine.stats().breaths;
    run_for(&mut world, &mut events, 100);
    assert_eq!(world.0.engine.stats().breaths, breaths, "it sleeps");
    for _ in 0..3 {
        peer.send_to(b"hello", &ours).expect("sent");
        run_for(&mut world, &mut events, 20);
        let mut bytes = [0; 16];
        let length = peer.recv(&mut bytes).expect("an answer");
        assert_eq!(&bytes[..length], b"hel");
    }
    world.0.engine.configure(Graph::new()).expect("all apps can go");
    assert!(!ours.exists(), "the socket is removed");
    assert_eq!(world.0.engine.pool_stats().alive(), 0);
    std::fs::remove_file(theirs).expect("removable");
}

#[test]
fn a_raw_socket_sees_what_passes_the_loopback() {
    let (mut world, mut events) = world();
    let graph = graph_of("lo :: RawSocket { interface: \"lo\" } lo -> end :: Sink");
    if let Err(why) = drive::configure(&mut world, &mut events, graph) {
        return without_devices(why);
    }
    run_for(&mut world, &mut events, 20);
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let to = socket.local_addr().expect("an address");
    let before = world.0.engine.link_stats("lo.output->end.lo").expect("the link").rx_packets;
    socket.send_to(b"look", to).expect("sent");
    run_for(&mut world, &mut events, 200);
    let after = world.0.engine.link_stats("lo.output->end.lo").expect("the link").rx_packets;
    assert!(after > before);
}

/// The kernel drops what a filter can tell there; what it cannot tell is dropped by the app.
#[test]
fn a_raw_socket_takes_what_its_filter_matches() {
    let any = || std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    let (from, wanted, other) = (any(), any(), any());
    let [to, not_to] = [&wanted, &other].map(|it| it.local_addr().expect("an address"));
    let cases = [
        // The loopback shows each packet twice: leaving and arriving.
        (format!("udp dst port {}", to.port()), 20, true),
        (format!("udp dst port {} and inbound", to.port()), 10, true),
        // The kernel has no loops.
        (format!("ip protochain 17 and udp dst port {}", to.port()), 20, false),
    ];
    for (filter, expected, is_of_kernel) in cases {
        let (mut world, mut events) = world();
        let text = format!(
            "lo :: RawSocket {{ interface: \"lo\", filter: \"{filter}\" }} lo -> end :: Sink"
        );
        if let Err(why) = drive::configure(&mut world, &mut events, graph_of(&text)) {
            return without_devices(why);
        }
        for _ in 0..10 {
            from.send_to(b"this", to).expect("sent");
            from.send_to(b"not this", not_to).expect("sent");
        }
        run_for(&mut world, &mut events, 200);
        let taken = world.0.engine.link_stats("lo.output->end.lo").expect("the link").rx_packets;
        assert_eq!(taken, expected, "{filter}");
        let counts = world.0.engine.app_stats("lo").expect("the app");
        let count = |name| counts.iter().find(|(it, _)| it == name).expect("it is counted").1;
        assert_eq!(count("filter_instructions") > 0, is_of_kernel, "{filter}");
        assert_eq!(count("not_matched") >= 20, !is_of_kernel, "{filter}: {counts:?}");
    }
}

#[test]
fn a_tap_is_made_and_goes() {
    let (mut world, mut events) = world();
    let name = format!("tidemill{}", std::process::id() % 10000);
    let text = format!("tap :: Tap {{ name: \"{name}\" }} tap -> end :: Sink");
    if let Err(why) = drive::configure(&mut world, &mut events, graph_of(&text)) {
        return without_devices(why);
    }
    run_for(&mut world, &mut events, 20);
    let device = PathBuf::from(format!("/sys/class/net/{name}"));
    assert!(device.exists());
    drop(world);
    assert!(!device.exists());
}

/// A command that needs privileges; why it fails, if so.
fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split_whitespace()).output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("ip {arguments}: {said}")) }
}

/// Prevents that the system sends anything on a device.
fn quiet(device: &str) -> Result<(), String> {
    // A kernel without IPv6 is quiet already.
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6"), "1");
    ip(&format!("link set {device} up"))
}

/// Sends a capture of `count` frames in at `enter` and waits until as many have arrived at
/// `leave`; `first` makes devices, which `ready` then makes ready for the rest.
fn through(count: usize, first: &str, ready: impl FnOnce() -> Result<(), String>, rest: &str) {
    // Longer frames than devices take by default are left out.
    let mut sent = frames(count);
    sent.retain(|frame| frame.len() <= 1400);
    through_with(&sent, first, ready, rest);
}

/// As `through`, with these frames.
fn through_with(
    sent: &[Vec<u8>],
    first: &str,
    ready: impl FnOnce() -> Result<(), String>,
    rest: &str,
) {
    let folder = Folder::new();
    let (before, after) = (folder.path("in.pcap"), folder.path("out.pcap"));
    write(&before, Format::Pcap, sent);
    let (mut world, mut events) = world();
    // First the devices, then the sources.
    if let Err(why) = drive::configure(&mut world, &mut events, graph_of(first)) {
        return without_devices(why);
    }
    if let Err(why) = ready() {
        return without_devices(why);
    }
    run_for(&mut world, &mut events, 50);
    let text = format!(
        "{first}
         {rest}
         reader :: PcapReader {{ file: \"{before}\" }} -> enter.input
         leave.output -> writer :: PcapWriter {{ file: \"{after}\" }}"
    );
    drive::configure(&mut world, &mut events, graph_of(&text)).expect("it goes on");
    let link = "leave.output->writer.leave";
    for _ in 0..200 {
        run_for(&mut world, &mut events, 20);
        if world.0.engine.link_stats(link).expect("the link").rx_packets >= sent.len() as u64 {
            break;
        }
    }
    assert_eq!(world.0.engine.take_notes(), []);
    world.0.engine.configure(Graph::new()).expect("all apps can go");
    assert_eq!(world.0.engine.pool_stats().alive(), 0);
    let came = read(&after);
    for (at, (came, sent)) in came.iter().zip(sent).enumerate() {
        assert_eq!(describe(came), describe(sent), "frame {at}");
    }
    assert_eq!(came.len(), sent.len());
}

#[test]
fn a_capture_goes_through_unix_sockets() {
    let (one, two) = (path("one").display().to_string(), path("two").display().to_string());
    let graph = format!(
        "enter :: UnixSocket {{ listen: \"{one}\", peer: \"{two}\" }}
         leave :: UnixSocket {{ listen: \"{two}\" }}"
    );
    // The kernel keeps ten datagrams for a socket, and these all arrive at once.
    through(8, &graph, || Ok(()), "");
}

/// A pair of devices that is removed after the test.
struct Pair(String, String);

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = ip(&format!("link delete {}", self.0));
    }
}

/// A pair of devices on which the system sends nothing, with names that begin with this letter.
fn pair(letter: char) -> Result<Pair, String> {
    let number = std::process::id() % 100_000;
    let pair = Pair(format!("tm{letter}a{number}"), format!("tm{letter}b{number}"));
    ip(&format!("link add {} type veth peer name {}", pair.0, pair.1))?;
    quiet(&pair.0)?;
    quiet(&pair.1)?;
    Ok(pair)
}

/// A capture goes from one device of a pair to the other, through apps of these settings.
fn through_pair(letter: char, app: &str, settings: &str) {
    let pair = match pair(letter) {
        Ok(pair) => pair,
        Err(why) => return without_devices(why),
    };
    let Pair(one, two) = &pair;
    let graph = format!(
        "enter :: {app} {{ interface: \"{one}\" {settings} }}
         leave :: {app} {{ interface: \"{two}\" {settings} }}"
    );
    through(100, &graph, || Ok(()), "");
}

#[test]
fn a_capture_goes_through_raw_sockets() {
    through_pair('r', "RawSocket", "");
}

#[test]
fn a_capture_goes_through_rings() {
    through_pair('b', "RawSocket", ", block_ms: 1");
}

#[test]
fn a_capture_goes_through_xdp_sockets() {
    through_pair('x', "XdpSocket", "");
}

/// The kernel takes part of a slot for itself: a frame of 2048 bytes does not fit into one of 2048.
#[test]
fn xdp_sockets_have_room_for_what_the_mtu_allows() {
    for (letter, mtu) in [('y', 1770), ('z', 1800), ('w', 3818)] {
        let pair = match pair(letter) {
            Ok(pair) => pair,
            Err(why) => return without_devices(why),
        };
        let Pair(one, two) = &pair;
        for device in [one, two] {
            ip(&format!("link set {device} mtu {mtu}")).expect("a device takes it");
        }
        let graph = format!(
            "enter :: XdpSocket {{ interface: \"{one}\" }}
             leave :: XdpSocket {{ interface: \"{two}\" }}"
        );
        let frame = |length: usize| [&[2; 12][..], &[8, 0], &vec![7; length]].concat();
        let sent: Vec<Vec<u8>> = (mtu - 20..=mtu).map(frame).collect();
        through_with(&sent, &graph, || Ok(()), "");
    }
}

#[test]
fn a_capture_goes_through_a_tap() {
    let name = format!("tmt{}", std::process::id() % 100_000);
    // The device's frames to the kernel are seen there.
    let tap = format!("enter :: Tap {{ name: \"{name}\" }}");
    through(100, &tap, || quiet(&name), &format!("leave :: RawSocket {{ interface: \"{name}\" }}"));
}

#[test]
fn a_tap_gets_what_the_kernel_sends() {
    let name = format!("tmk{}", std::process::id() % 100_000);
    let tap = format!("leave :: Tap {{ name: \"{name}\" }}");
    through(100, &tap, || quiet(&name), &format!("enter :: RawSocket {{ interface: \"{name}\" }}"));
}

/// The kernel would take the lower bits of a longer time.
#[test]
fn a_time_of_blocks_that_the_kernel_cannot_keep_is_refused() {
    let error = |ms: u32| {
        let text =
            format!("lo :: RawSocket {{ interface: \"lo\", block_ms: {ms} }} lo -> end :: Sink");
        let (catalogue, options) = (tidemill_apps::catalogue(), flow::Options::default());
        let loaded = load_text("a.flow", &text, &options, &catalogue, &mut Sources::new());
        loaded.diagnostics.first().map(|it| it.message.clone())
    };
    assert_eq!(error(10_000), None);
    assert_eq!(error(10_001).as_deref(), Some("lo: `block_ms`: it must be 10000 at most"));
}
