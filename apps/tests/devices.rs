//! Apps that talk to the system: they sleep until a descriptor is ready.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::Duration;

use tidemill_event::{Loop, Os};
use tidemill_packet::drive::{self, Driver, World};
use tidemill_packet::engine::{Engine, Options};
use tidemill_packet::flow::{self, load_text};
use tidemill_packet::graph::Graph;
use tidemill_stdx::diag::Sources;

struct Only(Driver);

impl World for Only {
    fn driver(&mut self) -> &mut Driver {
        &mut self.0
    }
}

fn graph_of(text: &str) -> Graph {
    let mut sources = Sources::new();
    let options = flow::Options::default();
    let catalogue = tidemill_apps::catalogue();
    let loaded = load_text("test.flow", text, &options, &catalogue, &mut sources);
    let found: String = loaded.diagnostics.iter().map(|one| sources.render(one)).collect();
    loaded.graph.unwrap_or_else(|| panic!("{found}"))
}

fn world() -> (Only, Loop<Only>) {
    let host = Os::with_seed(1).expect("an event queue");
    (Only(Driver::new(Engine::new(Options::default()))), Loop::new(Box::new(host)))
}

fn run_for(world: &mut Only, events: &mut Loop<Only>, ms: u64) {
    let end = events.now() + Duration::from_millis(ms);
    events.run_until(world, end);
}

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
        return println!("skipped: {why}");
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

#[test]
fn a_tap_is_made_and_goes() {
    let (mut world, mut events) = world();
    let name = format!("tidemill{}", std::process::id() % 10000);
    let text = format!("tap :: Tap {{ name: \"{name}\" }} tap -> end :: Sink");
    if let Err(why) = drive::configure(&mut world, &mut events, graph_of(&text)) {
        return println!("skipped: {why}");
    }
    run_for(&mut world, &mut events, 20);
    let device = PathBuf::from(format!("/sys/class/net/{name}"));
    assert!(device.exists());
    drop(world);
    assert!(!device.exists());
}
