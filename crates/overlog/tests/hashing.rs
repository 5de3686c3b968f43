//! Strangers who choose colliding keys; and no output depends on the hashes of keys.

use tidemill_event::{Host, Os, Sim};
use tidemill_fabric::head::Head;
use tidemill_overlog::fleet::NodeId;
use tidemill_overlog::net::envelope::{Content, append_tuple};
use tidemill_relation::Value;
use tidemill_stdx::keyed::Secret;

use crate::harness::Network;

/// Rows that the stranger sends.
const ROWS: usize = 20_000;
/// Tuples of one datagram.
const TOGETHER: usize = 20;

/// Integers whose hashes have the same leading bits under the published secret: in a table of
/// [`ROWS`] rows by an address and an integer, all their probes begin near the same slot.
fn chosen() -> Vec<i64> {
    let secret = &Secret::FIXED;
    let node = secret.combine(0, Value::Str("n0:1").hash(secret));
    let hash = |key: i64| secret.combine(node, Value::Int(key).hash(secret));
    (0..).filter(|&key| hash(key) >> 53 == 7).take(ROWS).collect()
}

/// The longest probe of the table of a node that was sent `keys` in datagrams.
fn longest_probe(secret: Secret, keys: &[i64]) -> usize {
    let source = "
        materialize(seen, infinity, infinity, keys(1, 2)).
        export(seen).
    ";
    let sim = Sim::new(1).with_hash_secret(secret);
    let mut network = Network::on(sim, source, 1, 1);
    let stranger = network.events.host().bind("stranger:9").unwrap();
    for keys in keys.chunks(TOGETHER) {
        let mut datagram = Vec::new();
        Head::default().append(&mut datagram);
        for &key in keys {
            let columns = [Value::Str("n0:1"), Value::Int(key)];
            let content = Content::Columns { name: "seen", columns: &columns };
            append_tuple(&mut datagram, content, false);
        }
        network.events.host().send(stranger, "n0:1", &datagram).unwrap();
        network.run_for(0.001);
    }
    network.run_for(1.0);
    let node = network.world.fleet_ref().node(NodeId(0)).unwrap();
    let seen = node.program().plan().find("seen").unwrap();
    let table = node.database().table(seen);
    assert_eq!(table.len(), ROWS);
    table.longest_probe()
}

#[test]
fn keys_in_datagrams_that_were_chosen_to_collide_do_not_make_a_table_slow() {
    let keys = chosen();
    // With a secret that the stranger knows every insertion probes all earlier rows.
    assert!(longest_probe(Secret::FIXED, &keys) >= ROWS);
    for seed in 0..3 {
        let longest = longest_probe(Secret::new(seed), &keys);
        assert!(longest < ROWS / 30, "{seed}: {longest}");
    }
}

#[test]
fn nodes_hash_with_a_secret_of_their_host() {
    let mut first = Os::with_seed(1).unwrap();
    let drawn = first.hash_secret().unwrap();
    assert_eq!(drawn, first.hash_secret().unwrap());
    assert_ne!(drawn, Os::with_seed(1).unwrap().hash_secret().unwrap());
    let mut network = Network::of_streams("r1 b(@N) :- a(@N).", 1);
    let secret = network.events.host().hash_secret().unwrap();
    assert_ne!(secret, Secret::FIXED);
    let node = network.world.fleet_ref().node(NodeId(0)).unwrap();
    assert_eq!(*node.database().secret(), secret);
}

/// Views, aggregates with large and small groups, bags, soft state, deletions, joins by index.
const BUSY: &str = r#"
    materialize(link, infinity, infinity, keys(1, 2)).
    materialize(path, infinity, infinity, keys(1, 2, 3)).
    materialize(seen, 3, 20, keys(1, 2)).
    materialize(many, infinity, infinity, keys(1, 2)).
    materialize(names, infinity, infinity, keys(1, 2)).
    materialize(all, infinity, infinity, keys(1)).
    link(@NODE, "n0:1").
    link(@NODE, "n1:1").
    link(@NODE, NODE).
    p0 path(@N, D, 1) :- link(@N, D).
    p1 path(@N, D, C) :- link(@N, M), path(@M, D, C1), C := C1 + 1, C < 5.
    t0 tick(@N, R) :- periodic(@N, E, 0.1), R := f_rand() % 50.
    s0 seen(@N, R, R * 7) :- tick(@N, R).
    s1 many(@N, R % 3, a_COUNT<*>) :- seen(@N, R, _).
    s2 names(@N, R % 2, a_MKSET<X>) :- seen(@N, R, X).
    s3 all(@N, a_MAX<X>) :- seen(@N, _, X).
    s4 hello(@M, R) :- tick(@N, R), link(@N, M).
    s5 delete link(@N, M) :- hello(@N, R), link(@N, M), R == 7.
    s6 link(@N, M) :- hello(@N, R), path(@N, M, _), R == 9.
    watch(hello).
    watch(path).
    watch(many).
    watch(names).
    watch(all).
    watch(link).
"#;

#[test]
fn nothing_shown_depends_on_the_secret() {
    let lines = |secret: Secret| {
        let sim = Sim::new(5).with_hash_secret(secret);
        let mut network = Network::on(sim, BUSY, 5, 5);
        network.run_to(20.0);
        network.lines.take()
    };
    let expected = lines(Secret::FIXED);
    assert!(expected.len() > 1000, "{}", expected.len());
    for seed in 0..4 {
        let found = lines(Secret::new(seed));
        let differs = expected.iter().zip(&found).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{seed}");
        assert_eq!(expected.len(), found.len(), "{seed}");
    }
}
