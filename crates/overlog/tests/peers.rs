//! The table of peers: `sys::peer(@N, Address, Identity, Since, State)`.

use std::collections::BTreeSet;

use tidemill_event::{Conditions, Sim};
use tidemill_fabric::seal::keys::FleetKeys;
use tidemill_overlog::control::Message;
use tidemill_overlog::fleet::{self, NodeId, Seal};
use tidemill_overlog::query::AskerId;

use crate::harness::Network;

/// Nodes greet the first each second; rules are started by changes of the table and join it.
const GREETINGS: &str = "
    r1 ping(@M, N) :- periodic(@N, E, 1), M := LANDMARK, N != M.
    p1 changed(@N, A, I, S, State) :- sys::peer(@N, A, I, S, State).
    p2 known(@N, A, State) :- ping(@N, A), sys::peer(@N, A, _, _, State).
    watch(changed).
    watch(known).
";

const KEY: &str = "722c57af20d9026d7824a85e7f71eb1e868fee08903733d73e858c329e52c42a";

fn seal() -> Seal {
    let keys = FleetKeys::parse(KEY).expect("a key");
    Seal { keys, identity: None, known: None }
}

/// The columns of `table` at a node, as text, without the times.
fn states(network: &Network, node: u32) -> Vec<String> {
    let rows = network.rows(node, "sys::peer");
    let columns = |row: &String| {
        let columns: Vec<&str> = row.split(", ").collect();
        format!("{} {} {}", columns[1], columns[2].len() - 2, columns[4])
    };
    rows.iter().map(columns).collect()
}

/// The observed events, and the final table, of a run with loss and a restart.
fn sealed_run(seed: u64) -> (Vec<String>, Vec<String>) {
    let conditions = Conditions { loss: 0.25, ..Conditions::default() };
    let sim = Sim::new(seed).with_conditions(conditions);
    let mut network = Network::sealed(sim, GREETINGS, 3, seed, seal());
    network.run_to(8.0);
    network.crash(1);
    network.run_to(12.0);
    network.restart(1);
    network.run_to(40.0);
    let rows = (0..3).flat_map(|node| states(&network, node)).collect();
    (network.lines.take(), rows)
}

#[test]
fn sessions_that_begin_and_identities_that_change_are_rows() {
    for seed in 0..20 {
        let (lines, rows) = sealed_run(seed);
        let session = |name: &str| format!("\"{name}\" 64 \"session\")");
        let expected = [session("n1:1"), session("n2:1"), session("n0:1"), session("n0:1")];
        assert_eq!(rows, expected, "{seed}");
        let seen = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
        assert!(seen("changed(\"n1:1\", \"n0:1\", \"\"") > 0, "{seed}: a handshake");
        assert!(seen("known(\"n0:1\", \"n2:1\", \"session\")") > 10, "{seed}");
        // A new life is a new identity: of n1 there were two, of n2 one.
        let identities = |name: &str| {
            let start = format!("changed(\"n0:1\", \"{name}\", \"");
            let identity = |line: &String| Some(line.split_once(&start)?.1[..64].to_owned());
            lines
                .iter()
                .filter(|line| line.ends_with("\"session\")"))
                .filter_map(identity)
                .collect::<BTreeSet<_>>()
                .len()
        };
        assert_eq!((identities("n1:1"), identities("n2:1")), (2, 1), "{seed}");
        assert_eq!(sealed_run(seed), (lines, rows), "{seed}: it repeats");
    }
}

#[test]
fn a_session_that_ends_is_a_row_that_changes() {
    let mut network = Network::sealed(Sim::new(1), GREETINGS, 2, 1, seal());
    network.run_to(3.0);
    assert_eq!(states(&network, 0), ["\"n1:1\" 64 \"session\""; 1].map(|row| format!("{row})")));
    network.crash(1);
    // A session outlives the last sign of life by some minutes.
    network.run_to(2000.0);
    assert_eq!(states(&network, 0), ["\"n1:1\" 0 \"lost\")"]);
    network.restart(1);
    network.run_for(5.0);
    assert_eq!(states(&network, 0), ["\"n1:1\" 64 \"session\")"]);
    // A list without it, as if its file was reloaded.
    let known = tidemill_fabric::seal::keys::KnownPeers::parse("", str::to_owned).unwrap();
    network.replace_keys(&Seal { known: Some(known), ..seal() });
    network.run_for(0.01);
    assert_eq!(states(&network, 0), Vec::<String>::new());
}

#[test]
fn a_query_shows_it_whether_the_program_reads_it_or_not() {
    let silent = "r1 ping(@M, N) :- periodic(@N, E, 1), M := LANDMARK, N != M.";
    for source in [GREETINGS, silent] {
        let mut network = Network::sealed(Sim::new(1), source, 3, 1, seal());
        network.run_to(3.0);
        let asker = (AskerId(1), 1);
        fleet::ask(&mut network.world, &mut network.events, NodeId(0), asker, "sys::peer").unwrap();
        network.run_for(0.01);
        let mut rows = Vec::new();
        for (_, answer) in &network.world.answers {
            match &answer.message {
                Some(Message::Rows(more)) => rows.extend(more.iter().cloned()),
                Some(Message::End(end)) => assert_eq!(end.name, "sys::peer"),
                other => panic!("{other:?}"),
            }
        }
        let column = |at: usize| rows.iter().map(move |row| row[at].get().as_str().unwrap());
        assert_eq!(column(1).collect::<Vec<_>>(), ["n1:1", "n2:1"]);
        assert!(column(2).all(|identity| identity.len() == 64), "{rows:?}");
        assert!(column(4).all(|state| state == "session"), "{rows:?}");
    }
}

#[test]
fn without_a_key_peers_are_open() {
    let mut network = Network::under(Conditions::default(), GREETINGS, 3, 1);
    network.run_to(2.5);
    let rows = network.rows(0, "sys::peer");
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows.iter().all(|row| row.ends_with("\"open\")")), "{rows:?}");
    assert_eq!(states(&network, 1), ["\"n0:1\" 0 \"open\")"]);
    let streams = Network::of_streams(GREETINGS, 2).run_for(1.5).rows(0, "sys::peer");
    assert_eq!(streams.len(), 1, "{streams:?}");
}

#[test]
fn sealed_connections_are_sessions() {
    let mut network = Network::of_sealed_streams(GREETINGS, 2, seal());
    network.run_for(1.5);
    let rows = network.rows(0, "sys::peer");
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert!(rows[0].ends_with("\"session\")"), "{rows:?}");
}

#[test]
fn a_program_that_does_not_read_it_has_no_such_table() {
    let source = "r1 ping(@M, N) :- periodic(@N, E, 1), M := LANDMARK, N != M.";
    let mut network = Network::under(Conditions::default(), source, 2, 1);
    network.run_to(5.0);
    let node = network.world.fleet_ref().node(NodeId(0)).unwrap();
    assert!(node.program().plan().find("sys::peer").is_none());
    // One turn for each ping.
    assert!(node.counters().turns < 10, "{}", node.counters().turns);
}
