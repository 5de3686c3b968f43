//! Each expression of `tests/filter/expressions.txt` on packets of every kind, against the verdicts
//! of tcpdump: of now, where it is installed, and else those recorded in
//! `tests/filter/verdicts.txt` (`BLESS=1` records anew).
//!
//! tcpdump runs with `-O`: a filter means what libpcap makes of it before it optimises.
//! Its optimiser drops loads whose value does not matter, and reorders tests, without regard to
//! packets that are too short for them; `the_optimiser_of_libpcap_differs_on_short_packets_only`
//! tests that this is all.
//!
//! Packets with an authentication header are left out under `protochain`: libpcap loses its
//! position when it steps over one, and may loop for ever.

use std::process::{Command, Stdio};

use crate::common::{AS_TCPDUMP, Captured, capture, corpus, graph, kept_at_once, numbers, packets};
use tidemill_filter::optimise::optimise;
use tidemill_filter::{Filter, Graph, interpret};
use tidemill_support::golden;

const SEED: u64 = 4;
const COUNT: usize = 480;

fn expressions() -> Vec<String> {
    let text = std::fs::read_to_string(corpus("expressions.txt")).expect("the corpus is there");
    let expressions: Vec<String> = text.lines().map(str::to_owned).collect();
    assert!(expressions.len() >= 200, "the corpus has shrunk");
    expressions
}

fn sees(expression: &str, packet: &Captured) -> bool {
    // An authentication header, wherever it may be.
    !(expression.contains("protochain") && packet.bytes.contains(&51))
}

/// The packets that tcpdump keeps; `None` if it refuses the expression.
fn tcpdump(options: &[&str], file: &[u8], expression: &str) -> Option<Vec<usize>> {
    let folder = std::env::temp_dir().join(format!("tidemill-filter-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let input = folder.join(format!("{:?}.pcap", std::thread::current().id()));
    std::fs::write(&input, file).expect("can be written");
    let output = Command::new("tcpdump")
        .args(options)
        .arg("-r")
        .arg(&input)
        .args(["-w", "-", "--", expression])
        .stderr(Stdio::null())
        .output()
        .expect("tcpdump runs");
    output.status.success().then(|| numbers(&output.stdout))
}

fn tcpdump_is_here() -> bool {
    let version = Command::new("tcpdump").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// One bit per packet, four to a digit; packets that are left out are 0.
fn digits(kept: &[usize]) -> String {
    (0..COUNT.div_ceil(4))
        .map(|digit| {
            let bits = (0..4).filter(|bit| kept.binary_search(&(4 * digit + bit)).is_ok());
            char::from_digit(bits.map(|bit| 8 >> bit).sum(), 16).unwrap_or('?')
        })
        .collect()
}

/// All three engines agree; the packets they keep.
fn ours(expression: &str, graph: &Graph, packets: &[Captured]) -> Vec<usize> {
    assert_eq!(graph.verify(), Ok(()), "{expression}");
    let better = optimise(graph);
    assert_eq!(better.verify(), Ok(()), "{expression}\n{better}");
    assert!(better.nodes.len() <= graph.nodes.len(), "{expression}");
    let plain = Filter::new(graph.clone()).expect("code");
    let filter = Filter::new(better.clone()).expect("code");
    let (mut kept, mut all) = (Vec::new(), Vec::new());
    for (number, packet) in packets.iter().enumerate() {
        let (bytes, length) = (&packet.bytes[..], packet.wire_length);
        let verdict = interpret(graph, bytes, length);
        assert_eq!(interpret(&better, bytes, length), verdict, "{expression} {number}\n{better}");
        assert_eq!(filter.matches_part(bytes, length), verdict, "{expression} {number}");
        assert_eq!(plain.matches_part(bytes, length), verdict, "{expression} {number}");
        all.extend(verdict.then_some(number));
        if verdict && sees(expression, packet) {
            kept.push(number);
        }
    }
    for filter in [&filter, &plain] {
        assert_eq!(kept_at_once(filter, packets), all, "{expression}\n{better}");
    }
    kept
}

#[test]
fn every_packet_is_kept_as_tcpdump_does() {
    let packets = packets(SEED, COUNT);
    let file = capture(&packets);
    let (live, bless) = (tcpdump_is_here(), golden::blesses());
    assert!(live || !bless, "recording needs tcpdump");
    let recorded = std::fs::read_to_string(corpus("verdicts.txt")).unwrap_or_default();
    let mut recorded = recorded.lines();
    let (mut record, mut wrong) = (String::new(), Vec::new());
    let mut mixed = 0;
    for expression in expressions() {
        let expected = if live {
            // With `protochain` on packets with such headers it may not end.
            let seen: Vec<Captured> = packets
                .iter()
                .map(|packet| {
                    if sees(&expression, packet) {
                        packet.clone()
                    } else {
                        Captured { bytes: Vec::new(), wire_length: 0 }
                    }
                })
                .collect();
            let seen =
                if expression.contains("protochain") { capture(&seen) } else { file.clone() };
            let kept = tcpdump(&["-O"], &seen, &expression).map(|mut kept| {
                kept.retain(|&number| sees(&expression, &packets[number]));
                digits(&kept)
            });
            kept.unwrap_or_else(|| "refused".to_owned())
        } else {
            let line = recorded.next().unwrap_or_default();
            let (verdicts, of) = line.split_once(' ').unwrap_or((line, ""));
            assert_eq!(of, expression, "recorded for another corpus");
            verdicts.to_owned()
        };
        record.push_str(&format!("{expected} {expression}\n"));
        let found = match graph(&expression) {
            Ok(graph) => digits(&ours(&expression, &graph, &packets)),
            Err(_) => "refused".to_owned(),
        };
        if found != expected {
            wrong.push(format!("{expression}\n  expected {expected}\n  found    {found}"));
        }
        let some = expected.contains(|digit| digit != '0');
        mixed += usize::from(some && expected.contains(|digit| digit != 'f'));
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(mixed >= 200, "only {mixed} expressions tell packets apart");
    // tcpdump still has the recorded verdicts.
    if live {
        golden::check(&corpus("verdicts.txt"), record);
    }
}

/// A packet that was cut in the headers, or is too short for a load of the filter.
#[test]
fn the_optimiser_of_libpcap_differs_on_short_packets_only() {
    if !tcpdump_is_here() {
        return;
    }
    let whole: Vec<Captured> = packets(SEED + 1, 4 * COUNT)
        .into_iter()
        .filter(|packet| packet.bytes.len() as u32 >= packet.wire_length.min(128))
        .map(|mut packet| {
            packet.bytes.resize(packet.bytes.len().max(2000), 0);
            packet
        })
        .take(COUNT)
        .collect();
    assert_eq!(whole.len(), COUNT);
    let file = capture(&whole);
    for expression in expressions() {
        // Offsets that no packet has are rejected by both, but by one at another place.
        if expression.contains("protochain") || expression.contains("4294967295") {
            continue;
        }
        let Ok(graph) = graph(&expression) else { continue };
        // It refuses, or warns, where nothing can match.
        let Some(kept) = tcpdump(&[], &file, &expression) else { continue };
        let ours = ours(&expression, &graph, &whole);
        assert_eq!(digits(&ours), digits(&kept), "{expression}");
    }
}

#[test]
fn broadcasts_follow_the_mask() {
    let refused = graph("ip broadcast").map(|_| ());
    assert_eq!(refused, Ok(()), "{AS_TCPDUMP:?}");
    let mut sources = tidemill_diag::Sources::new();
    let file = sources.add("filter", "ip broadcast");
    let settings = tidemill_filter::Settings { netmask: Some(0xffff_ff00), ..Default::default() };
    let (filter, _) = Filter::compile(file, &sources, &settings);
    let filter = filter.expect("a mask is set");
    let mut packet = [0u8; 34];
    packet[12] = 8;
    packet[30..].copy_from_slice(&[192, 168, 1, 255]);
    assert!(filter.matches(&packet));
    packet[33] = 7;
    assert!(!filter.matches(&packet));
    let none = tidemill_filter::Settings::default();
    let (filter, diagnostics) = Filter::compile(file, &sources, &none);
    assert!(filter.is_none());
    assert_eq!(diagnostics[0].code, "no-netmask");
}
