//! Functions of programs, against the same in Rust.

use tidemill_diag::FileId;
use tidemill_packet::app::Config;
use tidemill_packet::flow::code::lower::lower;
use tidemill_packet::flow::parse::{Item, parse};
use tidemill_stdx::rng::Rng;

use crate::common::defined::run;

const PROGRAM: &str = "app P(limit: u16 = 900, net: ipv6 = \"2001:db8::\") {
    ports { input in; output out; output other; }
    counter sum;
    counter calls;
    on packet(in) {
        count calls;
        var at = 0;
        for i in 0..3 { at = at + mixed(byte(i), byte(i + 1) > 99); }
        count sum by at + twice(twice(byte(0)));
        count sum by u8_of(0x1234) + low(host(byte(3)));
        if is_large(length * 1000) == true { count sum by 1 << 40; }
        send out;
    }
    // Cut to the bits of its types, on the way in and out.
    fn mixed(x: u16, is_odd: bool) -> u16 {
        var result = x * 77;
        if is_odd { return result + limit; }
        for i in 0..4 {
            if result % 5 == i { return i; }
            result = result + twice(i);
        }
        return result << 9;
    }
    fn twice(x: u64) -> u64 { return x * 2; }
    fn u8_of(x: u8) -> u64 { return x; }
    fn is_large(x: u8) -> bool { return x > 100; }
    fn host(n: u8) -> ipv6 { let base = net >> 3 << 3; return base + n | \"::100\"; }
}";

/// What `PROGRAM` adds to `sum`.
fn model(packet: &[u8]) -> u64 {
    let byte = |at: usize| packet.get(at).copied().map_or(0, u64::from);
    let mixed = |x: u64, is_odd: bool| {
        let mut result = (x & 0xFFFF) * 77;
        if is_odd {
            return (result + 900) & 0xFFFF;
        }
        for i in 0..4 {
            if result % 5 == i {
                return i;
            }
            result += i * 2;
        }
        result << 9 & 0xFFFF
    };
    let mut sum = byte(0) * 4 + 0x34 + (byte(3) | 0x100);
    sum += (0..3).map(|i| mixed(byte(i), byte(i + 1) > 99)).sum::<u64>();
    sum + u64::from(packet.len() as u64 * 1000 % 256 > 100) * (1 << 40)
}

#[test]
fn functions_compute_what_they_say() {
    let mut random = Rng::new(4);
    let mut bytes = || random.below(256) as u8;
    let packets: Vec<Vec<u8>> =
        (0..300).map(|at| (0..at % 9 * 7 + 1).map(|_| bytes()).collect()).collect();
    let (both, kept) = run(PROGRAM, &packets);
    assert_eq!(kept, packets);
    let expected: u64 = packets.iter().map(|packet| model(packet)).sum();
    for app in ["one", "two"] {
        let counts = both.compiled.app_stats(app).expect("it runs");
        assert!(counts.contains(&("sum".to_owned(), expected)), "{expected}: {counts:?}");
    }
}

/// The codes of the errors of a program whose functions call each other in a row: each the next one
/// so many times.
fn codes_of_row(functions: usize, calls: usize) -> Vec<&'static str> {
    let mut text = "app P { ports { input in; output out; }
        on packet(in) { mark = f0(mark); send out; }"
        .to_owned();
    for at in 0..functions {
        let call = format!("f{}(x)", at + 1);
        let sum = if at + 1 < functions { vec![call; calls].join(" + ") } else { "x".to_owned() };
        text += &format!("fn f{at}(x: u64) -> u64 {{ return {sum}; }}\n");
    }
    let parsed = parse(FileId(0), &(text + "}"));
    let [(_, Item::App(definition))] = parsed.items.as_slice() else { panic!("one definition") };
    lower(definition, &Config::new()).1.iter().map(|one| one.code).collect()
}

#[test]
fn functions_in_functions_have_limits() {
    assert_eq!(codes_of_row(32, 1), [""; 0]);
    assert_eq!(codes_of_row(33, 1), ["bad-function"]);
    assert_eq!(codes_of_row(5000, 1).first(), Some(&"bad-function"));
    // Two to the power of thirty calls end at the limit of steps.
    assert_eq!(codes_of_row(30, 2), ["too-many-steps"]);
}
