//! Apps with tables as a `.flow` file defines them, the packets through them and the changes of
//! their tables between packets, all drawn from bytes: both engines do the same.

use std::cell::Cell;

use crate::common;

use common::both::Both;
use common::defined::{KEPT, PACKET_NS, frame, graph_of, load};
use tidemill_packet::engine::Engine;
use tidemill_packet::kernel::table::{Change, Row};
use tidemill_stdx::rng::Rng;
use tidemill_support::draw::Draw;

/// Statements that fit anywhere, some with a place for others.
const STATEMENTS: [&str; 49] = [
    "s = s + length * 3 ^ byte(s & 63);",
    "count c by s & 15;",
    "mark = s;",
    "if (s & 3) == 1 { @ }",
    "if byte(12) < s % 200 || length >= 60 { @ } else { @ }",
    "when ethernet { ethernet.source = s; @ }",
    "when vlan { vlan.id = s; @ } else { @ }",
    "when ipv4 { ipv4.ttl = ipv4.ttl - 1; raw ipv4.id = s; @ }",
    "when ipv6 { ipv6.flow_label = s; ipv6.source_low = s; @ } else { @ }",
    "when tcp { tcp.window = s; @ } else when udp { udp.source = s / 7; @ }",
    "when icmp { icmp.sequence = ~s; @ }",
    "for i# in 0..3 { s = s + byte(i# * 9) << i#; @ }",
    "find t(s & 7, byte(20)) { t.n = t.n + s; count t.m by length; @ } else { s = s + 1; @ }",
    "find t(s & 3, 1) { if t.n % 3 == 0 { delete t; } else { refresh t; s = s ^ t.n + t.a; } @ }",
    "insert t(s & 7, byte(20)) -> (s >> 3, 1);",
    "insert t(s % 11, 1) -> (s, s) else { count c; @ }",
    "find p(s << 3 & 0xFFFFFFFF) { s = s + p.n; p.n = p.n * 3; @ } else { @ }",
    "insert p(s << 3) prefix s % 37 -> (s & 0xFFFF);",
    "insert p(s << 9) prefix 24 -> (7) else { count c; }",
    "find q((s & 1) == 1, s >> 1) { s = s * 31 + q.n; if s % 2 == 0 { delete q; } @ } else { @ }",
    "insert q((s & 2) == 0, s >> 2) mask (s & 1, 3 << (s & 3)) priority s & 3 -> (s);",
    "insert q(true, s) -> (5);",
    "clone other;",
    "prepend ethernet, ipv4, udp, own; own.b = s; ipv4.source = s >> 7; own.c = s >> 3; @",
    "prepend ethernet, ipv6, udp, vxlan; ipv6.hop_limit = s; vxlan.vni = s >> 5; @",
    "when ipv4 { if s % 3 == 0 { strip ipv4; } else { ipv4.id = s; } @ }",
    "when vxlan { vxlan.flags = s; strip vxlan; @ }",
    "when own { own.b = s >> 2; own.c = own.c + own.a; strip own; @ } else { @ }",
    "when icmp6 { icmp6.id = s; @ }",
    "s = s + mixed(s, s > byte(7));",
    "if is_net(ipv6(s, mixed(length, true)), s) { @ } else { s = s >> 1; }",
    "a = a << (s & 127) ^ ipv6(s, s >> 9);",
    "if (a > \"4000::\") == (s % 3 == 0) { s = s ^ high(a) + low(~a); @ } else { a = a - s; }",
    "when ipv6 { ipv6.source = ipv6.destination + s; a = ipv6.source >> (s & 63); @ }",
    "when ipv6 { if ipv6.source in \"8000::/2\" { raw ipv6.destination = a; } @ }",
    "find r(s & 1, a) { s = s + r.n; r.via = r.via ^ a | r.a; @ } else { s = s ^ 1; }",
    "insert r(s & 1, a) prefix s % 133 -> (s, a & \"::ffff:ffff:0:0\");",
    "insert y(a, s) mask (\"f::f\", s & 1) priority s & 1 -> (a) else { count c; @ }",
    "find y(a, s) { delete y; } else { s = s + 1; }",
    "find y(a, s) { a = y.to ^ y.a; s = s + low(y.to); @ } else { @ }",
    "within few { @ } else { s = s + 5; @ }",
    "within bytes_ { s = s ^ 3; } else { drop slow; }",
    "within few by s & 1 { count c; }",
    "if s % 7 == 0 { drop seventh; }",
    "if s % 5 == 0 { send other; }",
    "find g(s & 7) { s = s * 5 + g.n; @ } else { s = s + 2; @ }",
    "find h(s << 29) { mark = s ^ h.n; @ }",
    "find k(s & 3, a) { a = a + k.n; @ } else { count c; }",
    "find g(byte(14)) { if g.n > s { drop few; } @ }",
];

/// Tables that the program writes, with the columns of their keys, and the bits of each.
const WRITTEN: [(&str, &[u32]); 3] = [("g", &[8]), ("h", &[32]), ("k", &[8, 128])];

/// All tables.
const TABLES: [&str; 8] = ["t", "p", "q", "r", "y", "g", "h", "k"];

fn statements(draw: &mut Draw<'_>, depth: u32) -> String {
    let mut out = String::new();
    for _ in 0..draw.below(4) {
        for (at, part) in draw.pick(&STATEMENTS).split('@').enumerate() {
            if at > 0 && depth > 0 {
                out += &statements(draw, depth - 1);
            }
            out += &part.replace('#', &depth.to_string());
        }
        out += "\n";
    }
    out
}

fn program(draw: &mut Draw<'_>) -> String {
    let (body, back) = (statements(draw, 2), statements(draw, 1));
    // What is looked up in large tables is fetched before.
    let [size_t, size_p] = draw.pick(&[[6, 9], [40_000, 9], [6, 40_000], [40_000, 40_000]]);
    format!(
        "app P(burst: u16 = 200) {{
        ports {{ input in; input back optional; output out; output other; }}
        state s = 1; counter c; state a = \"2001:db8::1\";
        header own after udp {{ a: 3; b: 40; c: 13; size 7 + own.a; }}
        meter few packets {{ rate 30; burst 2; }}
        meter bytes_ bytes {{ rate 5000; burst burst; }}
        table t exact(a: u16, b: u8) -> (n: u64, m: u16) {{
            writer kernel; size {size_t}; full evict; expire 0.03;
        }}
        table p prefix(a: u32) -> (n: u16) {{ writer kernel; size {size_p}; full evict; }}
        table q ternary(a: bool, b: u64) -> (n: u64) {{ writer kernel; size 7; expire 0.1; }}
        table r prefix(v: u8, a: ipv6) -> (n: u16, via: ipv6) {{
            writer kernel; size {size_p}; full evict;
        }}
        table y ternary(a: ipv6, b: u8) -> (to: ipv6) {{ writer kernel; size 7; full evict; }}
        table g exact(a: u8) -> (n: u32) {{ writer program; size 5; }}
        table h prefix(a: u32) -> (n: u16) {{ writer program; size 6; }}
        table k ternary(a: u8, b: ipv6) -> (n: u16) {{ writer program; size 4; }}
        fn mixed(x: u16, y: bool) -> u32 {{
            var r = x * 7;
            if y {{ r = r + burst; if x % 3 == 0 {{ return r; }} }}
            for i in 0..3 {{ r = r ^ i << x; if r % 7 == i {{ return r + i; }} }}
            return r << 3;
        }}
        fn is_net(x: ipv6, n: u8) -> bool {{
            return x << n > \"7000::\" || mixed(n, false) == 0;
        }}
        on expire(t) {{ s = s ^ t.n + t.b; find p(s) {{ count c by p.n; }} }}
        on tick(0.02) {{ s = s + 3; find q(s % 2 == 0, s) {{ delete q; }} }}
        on packet(back) {{ s = s + 9; mark = s; {back} send out; }}
        on packet(in) {{ s = s * 0x5851F42D4C957F2D + 1; {body} send out; }} }}"
    )
}

/// Packets of all kinds, some cut, some with other bytes.
fn packets(draw: &mut Draw<'_>) -> Vec<Vec<u8>> {
    let mut random = Rng::new(draw.below(256) as u64);
    let mut packets = vec![Vec::new(), vec![0; 13], vec![0x81; 17]];
    for at in 0..12 {
        let mut bytes = frame(&mut random, at % 3, [6, 17, 1][at / 4]);
        if draw.below(4) == 1 {
            bytes.truncate(draw.below(bytes.len()));
        }
        if draw.below(3) == 1 && bytes.len() > 14 {
            bytes[12..15].copy_from_slice(&[0x86, 0xDD, 0x60]);
        }
        for _ in 0..draw.below(4).saturating_sub(2) {
            let place = draw.below(bytes.len());
            let byte = draw.below(256) as u8;
            bytes.iter_mut().skip(place).take(1).for_each(|it| *it = byte);
        }
        packets.push(bytes);
    }
    packets
}

/// A change of a table: its app, the table, and rows that fit it, or do not.
fn changes(draw: &mut Draw<'_>) -> (&'static str, &'static str, Vec<Change>) {
    let app = draw.pick(&["one", "two"]);
    let (table, columns) = draw.pick(&WRITTEN);
    let changes = (0..1 + draw.below(3)).map(|_| {
        let key = |bits: u32, draw: &mut Draw<'_>| match draw.below(8) {
            0 if bits > 32 => 0x2001_0DB8 << 96 | draw.below(256) as u128,
            it => (it as u128) << (bits - 3),
        };
        let mask = |bits: u32, draw: &mut Draw<'_>| {
            let ones = u128::MAX >> (128 - bits);
            ones & (ones << draw.below(bits as usize + 1).min(127))
        };
        let low = table == "g";
        let key: Vec<u128> = columns
            .iter()
            .map(|&bits| if low { draw.below(8) as u128 } else { key(bits, draw) })
            .collect();
        let mask = columns
            .iter()
            .map(|&bits| if low { u128::MAX >> (128 - bits) } else { mask(bits, draw) })
            .collect();
        let priority = if table == "k" { draw.below(3) as u64 } else { 0 };
        let row = Row { key, mask, priority, values: vec![draw.below(256) as u128] };
        match draw.below(3) {
            0 => Change::Delete(row),
            _ => Change::Insert(row),
        }
    });
    (app, table, changes.collect())
}

/// What was sent, what came out, what the first app counts, and rows that were written.
pub struct Ran {
    pub sent: Vec<Vec<u8>>,
    pub kept: Vec<Vec<u8>>,
    pub counts: Vec<(String, u64)>,
    pub written: usize,
}

/// Panics if the engines do not agree; none for a program that takes too many steps.
pub fn run(input: &[u8]) -> Option<Ran> {
    let mut draw = Draw::new(input);
    let program = program(&mut draw);
    if let Err(found) = load(&program) {
        assert!(found.contains("[too-many-steps]") || found.contains("[empty-graph]"), "{found}");
        if found.contains("[too-many-steps]") {
            return None;
        }
    }
    let other = draw.pick(&["one.other -> end.b", "one.other -> two.back"]);
    let text = format!(
        "{program}
        mute :: Mute  one :: P  two :: P  end :: Keep
        mute -> one.in  one.out -> two.in  two.out -> end  {other}  two.other -> end.c"
    );
    let sent = packets(&mut draw);
    let all: Vec<_> =
        sent.iter().map(|_| (draw.below(3) == 1).then(|| changes(&mut draw))).collect();
    let graph = graph_of(&text);
    assert_eq!(graph_of(&graph.to_string()), graph, "it prints as it reads");
    let mut both = Both::new();
    both.configure(&graph);
    let written = Cell::new(0);
    let through = |engine: &mut Engine| {
        KEPT.with_borrow_mut(Vec::clear);
        let mut answers = Vec::new();
        for (at, (bytes, changes)) in sent.iter().zip(&all).enumerate() {
            engine.set_time((at as u64 + 1) * PACKET_NS, 0);
            if let Some((app, table, changes)) = changes {
                let answer = engine.write_table(app, table, changes);
                written.set(written.get() + usize::from(answer.is_ok()));
                answers.push(answer);
            }
            let packet = engine.pool().packet_of(bytes).expect("they are few");
            engine.inject("one", "in", packet).expect("it has this link");
            (0..3).for_each(|_| _ = engine.breathe());
        }
        let rows = ["one", "two"].map(|app| TABLES.map(|table| engine.table_rows(app, table)));
        (answers, rows, KEPT.take())
    };
    let (compiled, dispatched) = (through(&mut both.compiled), through(&mut both.dispatched));
    both.compare();
    assert_eq!(compiled, dispatched, "{text}");
    let counts = both.compiled.app_stats("one").expect("it runs");
    Some(Ran { sent, kept: compiled.2, counts, written: written.get() })
}
