//! Several instances of a graph, each with its part of the flows.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::common::{Folder, Only, graph_of, read, run_for, without_devices, write};
use tidemill_apps::capture::Format;
use tidemill_apps::{frame, port_blocks};
use tidemill_event::{Loop, Os, Sim};
use tidemill_packet::drive::{self, Driver};
use tidemill_packet::engine::{Engine, Options};
use tidemill_packet::fanout::Fanout;
use tidemill_packet::graph::Graph;

/// Worlds with an instance of a graph each.
fn instances(graph: &str, count: u32) -> Vec<Only> {
    let all = Fanout::all(count, &port_blocks(&graph_of(graph)));
    let engine = |fanout| Engine::new(Options { fanout, ..Options::default() });
    all.into_iter().map(|fanout| Only(Driver::new(engine(fanout)))).collect()
}

/// Runs all instances of a graph to their end, one after the other.
fn run(graph: &str, count: u32) {
    for world in &mut instances(graph, count) {
        let mut events = Loop::new(Box::new(Sim::new(1)));
        drive::configure(world, &mut events, graph_of(graph)).unwrap_or_else(|why| panic!("{why}"));
        events.run(world);
        assert_eq!(world.0.engine.take_notes(), [], "no app fails");
    }
}

/// A frame of a flow, one way or the other.
fn frame_of(flow: u16, is_back: bool, number: usize) -> Vec<u8> {
    let host = format!("10.0.{}.{}", flow / 100, flow % 100 + 1);
    let (inside, outside) = ((host.as_str(), 1000 + flow), ("192.0.2.1", 443));
    let (from, to) = if is_back { (outside, inside) } else { (inside, outside) };
    let protocol = if flow.is_multiple_of(3) { "udp" } else { "tcp" };
    let ends = format!("ip {} > {} {protocol} {} > {}", from.0, to.0, from.1, to.1);
    let text = format!(
        "02:00:00:00:00:01 > 02:00:00:00:00:02 {ends} bytes {} from {}",
        number % 50,
        number % 200
    );
    frame::parse(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
}

/// Frames by their flow: addresses and ports in an order of their own.
fn by_flow(frames: &[Vec<u8>]) -> BTreeMap<Vec<Vec<u8>>, Vec<Vec<u8>>> {
    let mut flows = BTreeMap::<_, Vec<_>>::new();
    for frame in frames {
        let mut ends = vec![
            [&frame[26..30], &frame[34..36]].concat(),
            [&frame[30..34], &frame[36..38]].concat(),
        ];
        ends.sort();
        flows.entry(ends).or_default().push(frame.clone());
    }
    flows
}

#[test]
fn instances_do_together_what_one_does() {
    let folder = Folder::new();
    let frames: Vec<_> =
        (0..6000usize).map(|at| frame_of((at * 7 % 301) as u16, at % 5 == 0, at)).collect();
    write(&folder.path("in.pcap"), Format::Pcap, &frames);
    let graph = |name: &str| {
        format!(
            "src :: PcapReader {{ file: {:?} }}
             keep :: Filter {{ expr: \"greater 70\" }}
             out :: PcapWriter {{ file: {:?} }}
             src -> keep -> out",
            folder.path("in.pcap"),
            folder.path(name)
        )
    };
    run(&graph("one.pcap"), 1);
    let one = read(folder.path("one.pcap"));
    assert!(one.len() > 2000);
    for count in [2, 3, 8] {
        run(&graph("all.pcap"), count);
        assert!(by_flow(&read(folder.path("all.pcap"))) == by_flow(&one), "{count}");
    }
}

#[test]
fn sources_send_what_one_would_send() {
    let folder = Folder::new();
    let frames: Vec<String> = (0..40u8)
        .map(|at| {
            format!("\"02:00:00:00:00:01 > 02:00:00:00:00:02 ip 10.0.0.{at} > 10.1.0.1 udp 7 > 9\"")
        })
        .collect();
    let graph = format!(
        "some :: Generator {{ frames: [{}], packets: 100 }}
         out :: PcapWriter {{ file: {:?} }}
         zeros :: Source {{ packets: 10 }}
         none :: PcapWriter {{ file: {:?} }}
         some -> out
         zeros -> none",
        frames.join(", "),
        folder.path("out.pcap"),
        folder.path("zeros.pcap")
    );
    run(&graph, 3);
    assert_eq!(read(folder.path("out.pcap")).len(), 100);
    assert_eq!(read(folder.path("zeros.pcap")).len(), 10);
}

/// What inside hosts send gets ports of its instance; answers to these come back to the hosts.
#[test]
fn answers_return_through_a_translator() {
    let folder = Folder::new();
    let frames: Vec<_> = (0..200).map(|at| frame_of(at, false, at.into())).collect();
    write(&folder.path("in.pcap"), Format::Pcap, &frames);
    let graph = |answers: &str| {
        format!(
            "src :: PcapReader {{ file: {:?} }}
             back :: PcapReader {{ file: {answers:?} }}
             nat :: Nat44 {{ address: \"198.51.100.1\", first_port: 2000, last_port: 2999 }}
             out :: PcapWriter {{ file: {:?} }}
             in :: PcapWriter {{ file: {:?} }}
             src -> nat.inside
             nat.outside -> out
             back -> nat.outside
             nat.inside -> in",
            folder.path("in.pcap"),
            folder.path("out.pcap"),
            folder.path("returned.pcap")
        )
    };
    write(&folder.path("none.pcap"), Format::Pcap, &[]);
    run(&graph(&folder.path("none.pcap")), 4);
    let sent = read(folder.path("out.pcap"));
    let mut ports: Vec<_> = sent.iter().map(|frame| (frame[23], frame[34..36].to_vec())).collect();
    ports.sort();
    ports.dedup();
    assert_eq!((sent.len(), ports.len()), (200, 200), "each flow has a port of its own");
    let answer = |frame: &Vec<u8>| {
        let mut answer = frame.clone();
        answer[26..34].rotate_left(4);
        answer[34..38].rotate_left(2);
        answer
    };
    let answers: Vec<_> = sent.iter().map(answer).collect();
    write(&folder.path("answers.pcap"), Format::Pcap, &answers);
    run(&graph(&folder.path("answers.pcap")), 4);
    let hosts = |frames: &[Vec<u8>], at: usize| {
        let mut hosts: Vec<_> = frames
            .iter()
            .map(|frame| [&frame[at..at + 4], &frame[34 + (at - 26) / 2..][..2]].concat())
            .collect();
        hosts.sort();
        hosts
    };
    assert!(hosts(&read(folder.path("returned.pcap")), 30) == hosts(&frames, 26));
}

/// The kernel gives each frame to the socket of the instance that would take it from a capture.
#[test]
fn sockets_share_the_frames_of_an_interface() {
    let any = || UdpSocket::bind("127.0.0.1:0").expect("a port");
    let receiver = any();
    let port = receiver.local_addr().expect("an address").port();
    for more in ["", ", block_ms: 1"] {
        let folder = Folder::new();
        let graph = format!(
            "lo :: RawSocket {{ interface: \"lo\", filter: \"udp port {port} and inbound\"{more} }}
             lo -> end :: Sink"
        );
        let count = 3;
        let mut worlds: Vec<(Only, Loop<Only>)> = Vec::new();
        for (number, mut world) in (0..).zip(instances(&graph, count)) {
            let host = Os::with_seed(number).expect("an event queue");
            let mut events = Loop::new(Box::new(host));
            let graph = graph.replace(
                "end :: Sink",
                &format!(
                    "end :: PcapWriter {{ file: {:?} }}",
                    folder.path(&format!("{number}.pcap"))
                ),
            );
            if let Err(why) = drive::configure(&mut world, &mut events, graph_of(&graph)) {
                return without_devices(why);
            }
            worlds.push((world, events));
        }
        // One that is opened again has another position in the kernel.
        let (world, events) = &mut worlds[0];
        let graph = world.0.engine.graph().clone();
        for graph in [Graph::new(), graph] {
            drive::configure(world, events, graph).expect("it starts again");
        }
        for _ in 0..60 {
            let sender = any();
            sender.send_to(b"there", ("127.0.0.1", port)).expect("sent");
            let mut bytes = [0; 16];
            let (_, from) = receiver.recv_from(&mut bytes).expect("it has come");
            receiver.send_to(b"and back", from).expect("sent");
        }
        let all = Fanout::all(count, &[]);
        let path = |number: u32| folder.path(&format!("{number}.pcap"));
        let begin = Instant::now();
        let taken = loop {
            worlds.iter_mut().for_each(|(world, events)| run_for(world, events, 50));
            let taken: Vec<Vec<Vec<u8>>> = (0..count).map(|number| read(path(number))).collect();
            let total: usize = taken.iter().map(Vec::len).sum();
            if total >= 120 || begin.elapsed() > Duration::from_secs(10) {
                break taken;
            }
        };
        for (number, frames) in (0..).zip(&taken) {
            assert!(frames.len() > 10, "{number}: {}", frames.len());
            let others = frames.iter().filter(|frame| all[0].instance_of(frame) != number);
            assert_eq!(others.count(), 0, "{number}");
        }
        assert_eq!(taken.iter().map(Vec::len).sum::<usize>(), 120);
    }
}

#[test]
fn a_tap_has_a_queue_for_each_instance() {
    let name = format!("tmq{}", std::process::id() % 10000);
    let graph = format!("tap :: Tap {{ name: \"{name}\" }} tap -> end :: Sink");
    let mut worlds = Vec::new();
    for mut world in instances(&graph, 2) {
        let mut events = Loop::new(Box::new(Os::with_seed(1).expect("an event queue")));
        if let Err(why) = drive::configure(&mut world, &mut events, graph_of(&graph)) {
            return without_devices(why);
        }
        worlds.push(world);
    }
    let queues = std::fs::read_dir(format!("/sys/class/net/{name}/queues")).expect("it is there");
    let names = queues.filter_map(|queue| queue.ok()?.file_name().into_string().ok());
    assert_eq!(names.filter(|name| name.starts_with("rx-")).count(), 2);
}
