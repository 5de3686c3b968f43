//! Tuples from strangers: attackers who know a program and speak its protocol.

use tidemill_fabric::counters::Count;
use tidemill_fabric::head::Head;
use tidemill_overlog::net::envelope::{Content, append_tuple};
use tidemill_overlog::net::mail::{Fabric, Mail};
use tidemill_relation::Value;
use tidemill_relation::text::{DisplayTuple, parse_tuple};

use crate::harness::program;

/// Bank accounts: transfers arrive from other nodes, balances are this node's own.
const BANK: &str = r#"
    materialize(balance, infinity, infinity, keys(1, 2)).
    materialize(friend, infinity, infinity, keys(1, 2)).
    materialize(reach, infinity, infinity, keys(1, 2)).
    materialize(limit, infinity, infinity, keys(1, 2)).
    export(ask).
    export(limit, delete).
    r1 transfer(@B, A, Amount) :- send(@A, B, Amount), balance(@A, Had), Had >= Amount.
    r2 balance(@B, New) :- transfer(@B, _, Amount), balance(@B, Had), New := Had + Amount.
    r3 delete friend(@B, A) :- leave(@A, B).
    r4 reach(@Y, X) :- friend(@X, Y).
    r5 answer(@Back, Had) :- ask(@N, Back), balance(@N, Had).
    r6 near(@N, X) :- reach(@N, X).
    r7 violation(@N, "overdrawn") :- balance(@N, Had), Had < 0.
    r8 limit(@N, A, 10) :- ask(@N, A).
"#;

/// The tuples that a node accepts when a stranger sends one, as text, and its count of drops.
fn send(source: &str, text: &str, delete: bool) -> (Vec<String>, u64) {
    let program = program(source);
    let mut mail = Mail::new(program.post().clone(), Fabric::Udp, "n0:1", [0; 32], None);
    let (name, columns) = parse_tuple(text).expect("a tuple");
    let columns: Vec<Value<'_>> = columns.iter().map(|column| column.get()).collect();
    let mut datagram = Vec::new();
    Head::default().append(&mut datagram);
    append_tuple(&mut datagram, Content::Columns { name: &name, columns: &columns }, delete);
    let mut taken = Vec::new();
    mail.receive("stranger:9", &datagram, 0, &mut |delivery| {
        let columns = delivery.columns.iter();
        let name = &program.plan().relation(delivery.relation).name;
        let sign = if delivery.delete { "-" } else { "" };
        taken.push(format!("{sign}{}", DisplayTuple::new(name, columns)));
    });
    (taken, mail.counters().get(Count::NotExported))
}

#[test]
fn what_rules_ship_and_what_is_exported_arrives() {
    for (tuple, delete) in [
        (r#"transfer("n0:1", "n9:1", 5)"#, false),
        (r#"ask("n0:1", "n9:1")"#, false),
        (r#"answer("n0:1", 5)"#, false),
        (r#"friend("n0:1", "n9:1")"#, true),
        (r#"limit("n0:1", "n9:1", 3)"#, false),
        (r#"limit("n0:1", "n9:1", 3)"#, true),
    ] {
        let sign = if delete { "-" } else { "" };
        assert_eq!(send(BANK, tuple, delete), (vec![format!("{sign}{tuple}")], 0));
    }
}

#[test]
fn nothing_else_arrives() {
    for (tuple, delete) in [
        // Tables and events that only the node's own rules fill.
        (r#"balance("n0:1", 1000000)"#, false),
        (r#"balance("n0:1", 5)"#, true),
        (r#"send("n0:1", "n9:1", 5)"#, false),
        (r#"near("n0:1", "n9:1")"#, false),
        // Inserted only here, deleted elsewhere too; and vice versa.
        (r#"friend("n0:1", "n9:1")"#, false),
        (r#"transfer("n0:1", "n9:1", 5)"#, true),
        (r#"ask("n0:1", "n9:1")"#, true),
        // Rows of a view arrive as shipped rows with their sender, not as rows of the view.
        (r#"reach("n0:1", "n9:1")"#, false),
        // Relations of the system.
        (r#"violation("n0:1", "stop")"#, false),
        // Located elsewhere.
        (r#"transfer("n1:1", "n9:1", 5)"#, false),
        (r#"transfer(7, "n9:1", 5)"#, false),
        (r#"ask(null, "n9:1")"#, false),
    ] {
        assert_eq!(send(BANK, tuple, delete), (Vec::new(), 1), "{tuple}, delete: {delete}");
    }
}

#[test]
fn a_shipped_violation_is_refused_where_it_arrives() {
    let source = r#"r1 violation(@L, N) :- bad(@N), L := LANDMARK."#;
    assert_eq!(send(source, r#"violation("n0:1", "n9:1")"#, false), (Vec::new(), 1));
}

#[test]
fn any_column_that_marks_the_location_may_hold_the_address() {
    let source = "r1 p(@B, A) :- q(@A, B). r2 p(B, @A) :- s(@B, A).";
    assert_eq!(send(source, r#"p("n0:1", 1)"#, false).1, 0);
    assert_eq!(send(source, r#"p(1, "n0:1")"#, false).1, 0);
    assert_eq!(send(source, r#"p(1, 1)"#, false).1, 1);
}

#[test]
fn both_names_of_this_host_are_this_node() {
    let program = program("export(e). r1 p(@N) :- e(@N).");
    let post = program.post().clone();
    let mut mail = Mail::new(post, Fabric::Udp, "localhost:10000", [0; 32], None);
    let mut taken = 0;
    for address in ["localhost:10000", "127.0.0.1:10000", "localhost:10001"] {
        let mut datagram = Vec::new();
        Head::default().append(&mut datagram);
        let columns = &[Value::Str(address)];
        append_tuple(&mut datagram, Content::Columns { name: "e", columns }, false);
        mail.receive("127.0.0.1:9", &datagram, 0, &mut |_| taken += 1);
    }
    assert_eq!((taken, mail.counters().get(Count::NotExported)), (2, 1));
}

#[test]
fn what_is_the_systems_own_arrives_from_no_rule() {
    let source = r#"
        materialize(history, infinity, infinity, keys(1, 2)).
        r1 unsettled(@L, N) :- bad(@N), L := LANDMARK.
        r2 history(@L, N) :- bad(@N), L := LANDMARK.
        r3 seen(@N, A) :- sys::peer(@N, A, _, _, _).
    "#;
    let pair = |name: &str| format!(r#"{name}("n0:1", "n9:1")"#);
    let names = ["unsettled", "history", "sys::peer", "sys::turn", "sim::node", "violation"];
    let whole = r#"sys::peer("n0:1", "n9:1", "", 1.5t, "session")"#.to_owned();
    for tuple in names.map(pair).into_iter().chain([whole]) {
        for delete in [false, true] {
            let (taken, refused) = send(source, &tuple, delete);
            assert_eq!((taken, refused), (Vec::new(), 1), "{tuple}, delete: {delete}");
        }
    }
}
