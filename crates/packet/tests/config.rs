//! Keys of apps that a file defines: constants, ranges, names, and what is computed of them.

use tidemill_diag::Sources;
use tidemill_packet::engine::{Engine, EngineKind, Options};
use tidemill_packet::fanout::Fanout;
use tidemill_packet::flow;

use crate::common::both::Both;
use crate::common::defined::{KEPT, graph_of};
use crate::common::kinds;

/// Writes to a byte of each packet and counts them; remembers how many there were.
const STAMP: &str = "
    app P(const offset: u16 = 0, const add: u8 from 1 = 1, mark as number: u64 = 0) {
        ports { input in; output out; }
        table seen exact(first: u8) -> (packets: u64) { writer kernel; size 16; }
        state sum = 0;
        counter all;
        on packet(in) {
            if length < 2 { drop too_short; }
            sum += 1;
            count all;
            find seen(byte(1)) { count seen.packets; sum = seen.packets; }
            else { insert seen(byte(1)) -> (1); }
            byte(offset) += add;
            byte(1) = sum;
            mark = number;
            send out;
        }
    }";

fn graph(program: &str, config: &str) -> String {
    format!(
        "{program} mute :: Mute  it :: P {{ {config} }}  end :: Keep
        mute -> it.in  it.out -> end"
    )
}

/// What both engines make of a packet.
fn through(both: &mut Both, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    for engine in [&mut both.compiled, &mut both.dispatched] {
        KEPT.with_borrow_mut(Vec::clear);
        let packet = engine.pool().packet_of(bytes).expect("one");
        engine.inject("it", "in", packet).expect("it has this link");
        (0..2).for_each(|_| _ = engine.breathe());
        seen.push(KEPT.take());
    }
    both.compare();
    assert_eq!(seen[0], seen[1]);
    seen.remove(0)
}

fn count(engine: &Engine, name: &str) -> u64 {
    let all = engine.app_stats("it").expect("the app");
    all.iter().find(|(own, _)| own == name).map_or(0, |(_, count)| *count)
}

#[test]
fn a_new_constant_keeps_state_counts_and_tables() {
    let mut both = Both::new();
    both.configure(&graph_of(&graph(STAMP, "")));
    assert_eq!(through(&mut both, &[7, 5, 9]), [[8, 1, 9]]);
    assert_eq!(through(&mut both, &[7, 5, 9]), [[8, 2, 9]]);
    assert!(through(&mut both, &[7]).is_empty());
    for config in ["offset: 2, add: 3", "offset: 2, add: 3, mark: 4"] {
        for engine in [&mut both.compiled, &mut both.dispatched] {
            let changes = engine.configure(graph_of(&graph(STAMP, config))).expect("it goes on");
            assert_eq!(changes.reconfigured, ["it"], "{changes:?}");
        }
        // The code is still right if no constant has changed.
        assert_eq!(both.compiled.is_compiled(), config.contains("mark"), "{config}");
        both.compare();
    }
    // The entry of 5 and the number of packets are still known.
    assert_eq!(through(&mut both, &[7, 5, 9]), [[7, 3, 12]]);
    assert_eq!(through(&mut both, &[7, 6, 9]), [[7, 4, 12]]);
    // A byte that is not there is not written.
    assert_eq!(through(&mut both, &[7, 6]), [[7, 2]]);
    assert_eq!((count(&both.compiled, "all"), count(&both.compiled, "drop_too_short")), (5, 1));
}

#[test]
fn known_lengths_hold_through_branches_and_headers_on_and_off() {
    let program = "
        app P {
            ports { input in; output out; }
            header start at 0 { first: 8; second: 8; }
            header third at 2 { value: 8; }
            on packet(in) {
                if length < 3 { drop too_short; }
                if byte(0) == 1 { when start { strip start; } }
                else if byte(0) == 2 { prepend start else no_room; }
                else if byte(0) == 3 { truncate 2; }
                else when third { third.value += 1; } else { drop never; }
                when third { third.value += 1; send out; }
                byte(0) = 9;
                send out;
            }
        }";
    let mut both = Both::new();
    both.configure(&graph_of(&graph(program, "")));
    for (packet, expected) in [
        (&[1, 2, 3][..], &[9][..]),
        (&[1, 2, 3, 4, 5], &[3, 4, 6]),
        (&[2, 0, 0], &[0, 0, 3, 0, 0]),
        (&[3, 0, 0], &[9, 0]),
        (&[4, 0, 0], &[4, 0, 2]),
    ] {
        assert_eq!(through(&mut both, packet), [expected], "{packet:?}");
    }
    assert!(through(&mut both, &[4, 0]).is_empty());
}

#[test]
fn an_instance_has_its_share_of_a_number() {
    let program = "
        app P(rate: u64 from 2) {
            ports { input in; output out; }
            let part = max(share(rate), 1);
            let is_whole = part == rate;
            let far = ipv6(part, 7);
            on packet(in) {
                byte(0) = part + bit(is_whole) * 100 + high(far);
                send out;
            }
        }";
    for (instances, rate, expected) in [(1, 10, [120]), (3, 11, [8]), (3, 2, [2])] {
        let fanout = Fanout::all(instances, &[]).remove(0);
        for kind in [EngineKind::Compiled, EngineKind::Dispatch] {
            let options = Options { kind, fanout: fanout.clone(), ..Options::default() };
            let mut engine = Engine::new(options);
            engine.configure(graph_of(&graph(program, "rate: 5"))).expect("it starts");
            let config = format!("rate: {rate}");
            engine.configure(graph_of(&graph(program, &config))).expect("it goes on");
            KEPT.with_borrow_mut(Vec::clear);
            let packet = engine.pool().packet_of(&[0]).expect("one");
            engine.inject("it", "in", packet).expect("it has this link");
            (0..2).for_each(|_| _ = engine.breathe());
            assert_eq!(KEPT.take(), [expected], "{instances} {rate}");
        }
    }
}

#[test]
fn comments_of_documentation_are_the_manual() {
    let text = "
        //// Not this one.
        /// Passes
        /// packets. All.
        ///
        /// More.
        app One(
            a: u8, /// not this
            /// Of b.
            const b as c: u16 from 1 to 9 = 5,
        ) {
            ports {
                /// What comes.
                input in;
                // What goes.
                output out;
            }
            on packet(in) { send out; }
        }";
    let (types, errors) = flow::types(text);
    assert_eq!(errors, []);
    assert_eq!(
        types[0].describe(),
        "One\n  Passes\n  packets. All.\n\n  More.\n\nconfig\n  \
         a: an integer of 8 bits, must be given\n  \
         b: an integer of 16 bits, default 5\n    Of b.\n\nports\n  \
         in: input, either\n    What comes.\n  out: output, either\n\n\
         passes packets on, given as code\n"
    );
    assert_eq!(types[0].summary(), "Passes packets.");
    // A graph names it as any other type.
    let mut catalogue = kinds();
    catalogue.add(types[0]);
    let graph = "src :: Feed { packets: 1 } -> it :: One { a: 1, b: 10 } -> end :: Collect";
    let (options, mut sources) = (flow::Options::default(), Sources::new());
    let loaded = flow::load_text("a.flow", graph, &options, &catalogue, &mut sources);
    let found: Vec<&str> = loaded.diagnostics.iter().map(|one| one.message.as_str()).collect();
    assert_eq!(found, ["it: `b`: it must be 9 at most"]);
    let graph = graph.replace("10", "9");
    let loaded = flow::load_text("a.flow", &graph, &options, &catalogue, &mut sources);
    let printed = loaded.graph.expect("it is right").to_string();
    assert!(!printed.contains("app One"), "{printed}");
}
