//! Random expressions on random packets, and graphs that are broken on purpose: the engines agree,
//! and nothing panics.

use tidemill_support::mutate;

use std::path::PathBuf;

use crate::common::{Captured, agree, corpus, graph, packets};
use mutate::bombard;
use tidemill_filter::optimise::optimise;
use tidemill_filter::{Filter, Graph};
use tidemill_stdx::rng::Rng;

fn pick<'a>(rng: &mut Rng, from: &[&'a str]) -> &'a str {
    rng.pick(from).copied().unwrap_or_default()
}

fn number(rng: &mut Rng, depth: u32) -> String {
    let operator =
        |rng: &mut Rng| pick(rng, &["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"]).to_owned();
    match rng.below(if depth == 0 { 2 } else { 6 }) {
        0 => pick(rng, &["0", "1", "2", "5", "6", "15", "31", "64", "0x800", "0xffffffff"]).into(),
        1 => "len".to_owned(),
        2 => format!("(- {})", number(rng, depth - 1)),
        3 => {
            let (left, sign) = (number(rng, depth - 1), operator(rng));
            // Constants that are refused: a zero divisor, a wide shift.
            if rng.chance(0.7) {
                format!("({left} {sign} {})", pick(rng, &["1", "3", "4", "7", "15"]))
            } else {
                format!("({left} {sign} (len & ether[{}]))", rng.below(20))
            }
        }
        _ => {
            let header = pick(rng, &["ether", "ip", "ip6", "arp", "tcp", "udp", "icmp", "icmp6"]);
            let index =
                if rng.chance(0.8) { rng.below(24).to_string() } else { number(rng, depth - 1) };
            format!("{header}[{index} : {}]", pick(rng, &["1", "2", "4"]))
        }
    }
}

fn primitive(rng: &mut Rng) -> String {
    let direction = |rng: &mut Rng| pick(rng, &["", "src ", "dst ", "src and dst "]);
    let port = |rng: &mut Rng| pick(rng, &["22", "53", "80", "443", "6000", "40000"]);
    match rng.below(12) {
        0 | 1 => {
            pick(rng, &["ip", "ip6", "arp", "tcp", "udp", "sctp", "icmp", "icmp6", "stp"]).into()
        }
        2 => {
            format!("{}host {}", direction(rng), pick(rng, &["10.0.0.1", "8.8.8.8", "2001:db8::1"]))
        }
        3 => {
            let net =
                pick(rng, &["10.0.0.0/8", "192.168.1", "2001:db8::/32", "0.0.0.0/0", "fe80::/10"]);
            format!("{}net {net}", direction(rng))
        }
        4 | 5 => {
            format!("{}{}port {}", pick(rng, &["", "tcp ", "udp "]), direction(rng), port(rng))
        }
        6 => format!("{}portrange {}-{}", direction(rng), port(rng), port(rng)),
        7 => format!("{} proto {}", pick(rng, &["ip", "ip6", ""]), pick(rng, &["6", "17", "58"])),
        8 => pick(
            rng,
            &["vlan", "vlan 7", "mpls", "pppoes", "broadcast", "multicast", "ip multicast"],
        )
        .into(),
        9 => format!(
            "{} protochain {}",
            pick(rng, &["ip", "ip6", ""]),
            pick(rng, &["6", "17", "58", "59"])
        ),
        _ => {
            let relation = pick(rng, &["=", "!=", "<", "<=", ">", ">="]);
            format!("{} {relation} {}", number(rng, 3), number(rng, 2))
        }
    }
}

pub fn expression(rng: &mut Rng, depth: u32) -> String {
    match rng.below(if depth == 0 { 1 } else { 5 }) {
        0 => primitive(rng),
        1 => format!("not ({})", expression(rng, depth - 1)),
        _ => {
            let join = pick(rng, &["and", "or"]);
            format!("({}) {join} ({})", expression(rng, depth - 1), expression(rng, depth - 1))
        }
    }
}

#[test]
fn the_engines_agree_on_random_expressions_and_packets() {
    let mut rng = Rng::new(9);
    let mut packets = packets(17, 400);
    for _ in 0..100 {
        let mut bytes = vec![0; rng.below(90) as usize];
        rng.fill(&mut bytes);
        packets.push(Captured { wire_length: bytes.len() as u32, bytes });
    }
    let (mut compiled, mut mixed) = (0, 0);
    for _ in 0..400 {
        let text = expression(&mut rng, 4);
        // Some are refused: tags after labels, broadcasts in sessions.
        let Ok(graph) = graph(&text) else { continue };
        let kept = agree(&text, &graph, &packets);
        compiled += 1;
        mixed += usize::from(kept > 0 && kept < packets.len());
    }
    assert!(compiled > 250 && mixed > 150, "{compiled} compiled, {mixed} tell packets apart");
}

fn seeds() -> Vec<(PathBuf, Vec<u8>)> {
    let text = std::fs::read_to_string(corpus("expressions.txt")).expect("the corpus is there");
    text.lines().map(|line| (PathBuf::from(line), line.as_bytes().to_vec())).collect()
}

/// Every verified graph runs, whatever it means.
#[test]
fn broken_graphs_are_refused_or_run() {
    let packets = packets(5, 20);
    let seeds: Vec<(PathBuf, Vec<u8>)> = seeds()
        .into_iter()
        .filter_map(|(name, bytes)| {
            let graph = graph(&String::from_utf8_lossy(&bytes)).ok()?;
            let graph = optimise(&graph);
            (graph.nodes.len() < 40).then(|| (name, graph.to_string().into_bytes()))
        })
        .collect();
    let (read, ran) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    bombard(&seeds, 4000, |bytes| {
        let Ok(graph) = Graph::read(&String::from_utf8_lossy(bytes)) else { return };
        read.set(read.get() + 1);
        if graph.verify().is_ok() && graph.nodes.len() < 100 {
            ran.set(ran.get() + 1);
            if ran.get() % 4 == 0 {
                agree("a graph", &graph, &packets);
            }
        }
    });
    assert!(read.get() > 500 && ran.get() > 100 && read.get() > ran.get());
}

#[test]
fn long_and_deep_texts_end() {
    let refused = |text: String| assert!(graph(&text).is_err(), "{:.60}", text);
    let parts =
        ["(", "not ", "tcp and ", "port 80 or ", "len + ", "- ", "tcp[", "host ", "\\", ")"];
    for part in parts {
        refused(part.repeat(60_000 / part.len()));
        refused(format!("port 80 or {}", part.repeat(60_000 / part.len())));
    }
    refused(format!("{}tcp{}", "(".repeat(5000), ")".repeat(5000)));
    refused(format!("len {} = 1", "+ 1 ".repeat(5000)));
    let hosts = |count: u32| {
        let host = |i: u32| format!("10.{}.{}.{}", i >> 16 & 255, i >> 8 & 255, i & 255);
        format!("host {}", (0..count).map(host).collect::<Vec<_>>().join(" or "))
    };
    let filter = Filter::new(optimise(&graph(&hosts(500)).expect("it is long, not deep")));
    let mut packet = [0u8; 60];
    packet[12] = 8;
    packet[26..30].copy_from_slice(&[10, 0, 1, 243]);
    let filter = filter.expect("code");
    assert!(filter.matches(&packet));
    packet[29] = 244;
    assert!(!filter.matches(&packet));
    let many = graph(&("port 1 or ".repeat(60_000) + "ip")).expect_err("too many tests");
    assert!(many.contains("more than 200000 tests"), "{many}");
    let mixed = "tcp and udp or ".repeat(3000) + "icmp";
    assert!(graph(&mixed).is_ok());
    assert!(graph(&("ip and ".repeat(20_000) + "ip")).is_ok());
}
