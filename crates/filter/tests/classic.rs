//! Filters as classic BPF: a plain machine and the kernel itself pass the packets that the graph
//! matches.

use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

use crate::common::machine::{Beside, run};
use crate::common::{Captured, corpus, graph, packets};
use crate::random::expression;
use tidemill_filter::classic::{Instruction, LENGTH_MAX, Unsupported, program};
use tidemill_filter::optimise::optimise;
use tidemill_filter::{Seen, interpret_seen};
use tidemill_stdx::rng::Rng;

/// Whole packets, as sockets see them.
fn whole() -> Vec<Captured> {
    let mut rng = Rng::new(23);
    let mut packets = packets(31, 400);
    for _ in 0..100 {
        let mut bytes = vec![0; rng.below(90) as usize + 1];
        rng.fill(&mut bytes);
        packets.push(Captured { wire_length: 0, bytes });
    }
    packets.retain(|packet| !packet.bytes.is_empty());
    packets
}

/// Expressions of the corpus, and random ones.
fn expressions(random: usize) -> Vec<String> {
    let text = std::fs::read_to_string(corpus("expressions.txt")).expect("the corpus is there");
    let mut rng = Rng::new(77);
    let random = (0..random).map(|_| expression(&mut rng, 4));
    text.lines().map(str::to_owned).chain(random).collect()
}

fn matches(graph: &tidemill_filter::Graph, bytes: &[u8], is_outgoing: bool) -> bool {
    let seen = Seen { bytes, wire_length: bytes.len() as u32, is_outgoing };
    interpret_seen(graph, &seen)
}

#[test]
fn programs_pass_what_filters_match() {
    let packets = whole();
    let (mut written, mut unsupported) = (0, 0);
    for text in expressions(300) {
        let Ok(graph) = graph(&text) else { continue };
        for graph in [optimise(&graph), graph] {
            let program = match program(&graph) {
                Ok(program) => program,
                Err(Unsupported::Walk) => {
                    assert!(text.contains("chain"), "{text}");
                    unsupported += 1;
                    continue;
                }
                Err(why) => panic!("{text}: {why}"),
            };
            assert!(program.len() <= LENGTH_MAX);
            written += 1;
            for packet in &packets {
                let bytes = &packet.bytes[..];
                let passes = run(&program, bytes, Beside::default()) != 0;
                assert_eq!(passes, matches(&graph, bytes, false), "{text}: {bytes:?}\n{graph}");
                let tagged = Beside { has_tag: true, ..Beside::default() };
                assert_ne!(run(&program, bytes, tagged), 0, "{text}");
            }
        }
    }
    assert!(written > 600 && unsupported > 10, "{written} written, {unsupported} not");
}

#[test]
fn directions_are_those_of_the_kernel() {
    let mut sources = tidemill_diag::Sources::new();
    let file = sources.add("filter", "outbound and udp or inbound and not udp");
    let settings = tidemill_filter::Settings { netmask: None, has_directions: true };
    let (graph, _) = tidemill_filter::compile(file, &sources, &settings);
    let graph = graph.expect("no errors");
    let program = program(&graph).expect("it can be expressed");
    for packet in whole() {
        for is_outgoing in [false, true] {
            let beside = Beside { is_outgoing, has_tag: false };
            let passes = run(&program, &packet.bytes, beside) != 0;
            assert_eq!(passes, matches(&graph, &packet.bytes, is_outgoing));
        }
    }
}

/// Attaches a program to a socket.
fn attach(socket: &UnixDatagram, program: &[Instruction]) {
    let instruction = |it: &Instruction| libc::sock_filter {
        code: it.code,
        jt: it.jump_true,
        jf: it.jump_false,
        k: it.number,
    };
    let mut instructions: Vec<_> = program.iter().map(instruction).collect();
    let len = instructions.len() as u16;
    let program = libc::sock_fprog { len, filter: instructions.as_mut_ptr() };
    let (at, length) = ((&raw const program).cast(), size_of::<libc::sock_fprog>() as u32);
    let (level, option) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    // SAFETY: the program and its instructions are of these lengths and live during the call.
    let outcome = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, at, length) };
    assert_eq!(outcome, 0, "{}", std::io::Error::last_os_error());
}

/// The kernel takes the programs, and passes the same.
#[test]
fn the_kernel_passes_what_filters_match() {
    let packets = whole();
    let mut buffer = vec![0; 1 << 16];
    let (mut passed, mut dropped) = (0, 0);
    for text in expressions(60) {
        let Ok(graph) = graph(&text) else { continue };
        let graph = optimise(&graph);
        let Ok(program) = program(&graph) else { continue };
        let (near, far) = UnixDatagram::pair().expect("sockets");
        far.set_nonblocking(true).expect("a socket can");
        attach(&far, &program);
        for packet in &packets {
            near.send(&packet.bytes).expect("there is room");
            let passes = far.recv(&mut buffer).is_ok();
            assert_eq!(passes, matches(&graph, &packet.bytes, false), "{text}: {:?}", packet.bytes);
            *(if passes { &mut passed } else { &mut dropped }) += 1;
        }
    }
    assert!(passed > 10_000 && dropped > 10_000, "{passed} passed, {dropped} dropped");
}

#[test]
fn what_cannot_be_expressed_is_named() {
    let of = |text: &str| program(&optimise(&graph(text).expect("an expression")));
    assert_eq!(of("ip protochain 6"), Err(Unsupported::Walk));
    let hosts = (0..4000).map(|i| format!("host 10.0.{}.{}", i >> 8, i & 255));
    assert_eq!(of(&hosts.collect::<Vec<_>>().join(" or ")), Err(Unsupported::Length));
    // A tree of which both sides need as many words of memory, at each level.
    fn tree(depth: u32, at: &mut u32) -> String {
        *at += 1;
        if depth == 0 {
            return format!("ether[{at}]");
        }
        format!("({} - {})", tree(depth - 1, at), tree(depth - 1, at))
    }
    assert!(of(&format!("{} = 9", tree(7, &mut 0))).is_ok());
}

#[test]
fn programs_print_as_tcpdump_prints_them() {
    let program = program(&optimise(&graph("udp dst port 53").expect("an expression")));
    let program = program.expect("it can be expressed");
    let lines = (0..).zip(&program).map(|(at, one): (u32, _)| format!("({at:03}) {one}\n"));
    tidemill_support::golden::check(&corpus("classic.txt"), lines.collect::<String>());
}
