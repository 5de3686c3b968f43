use std::sync::Arc;

use tidemill_relation::text::parse_tuple;
use tidemill_relation::{OwnedValue, Value};
use tidemill_stdx::sorted::SortedMap;

use super::{Known, KnownTable, Rules, Wanted};
use crate::compile::testing::compiled;

/// These rows as known ones; tables that are named without columns are empty.
fn known(rows: &str) -> Known {
    let mut tables: SortedMap<String, Vec<Vec<OwnedValue>>> = SortedMap::new();
    for row in rows.split_whitespace() {
        let (name, columns) = parse_tuple(row).expect("a tuple");
        let rows = tables.entry(name).or_default();
        rows.extend(Some(columns).filter(|it| !it.is_empty()));
    }
    let tables =
        tables.iter().map(|(name, rows)| KnownTable { name: name.clone(), rows: rows.clone() });
    Known::new(tables.collect(), Arc::default())
}

/// Columns that are the text `_` are not given.
fn wanted(tuple: &str) -> Wanted {
    let (relation, columns) = parse_tuple(tuple).expect("a tuple");
    let is_given = |it: &OwnedValue| !it.get().equal(&Value::Str("_"));
    Wanted { relation, columns: columns.into_iter().map(|it| Some(it).filter(is_given)).collect() }
}

fn why_not(program: &str, rows: &str, tuple: &str) -> String {
    let rules = Rules::read(&compiled(program).written).expect("rules");
    rules.why_not(&mut known(rows), wanted(tuple)).to_string()
}

const PATHS: &str = "materialize(link, infinity, infinity, keys(1, 2)).\n\
                     materialize(path, infinity, infinity, keys(1, 2)).\n\
                     r1 path(@X, Y, C) :- link(@X, Y, C).\n\
                     r2 path(@X, Y, C1 + C2) :- link(@X, Z, C1), path(@Z, Y, C2), C1 + C2 < 10.\n";

fn check(program: &str, rows: &str, tuple: &str, expected: &[&str]) {
    let found = why_not(program, rows, tuple);
    assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{found}");
}

#[test]
fn the_term_that_fails_is_named() {
    let rows = r#"link("a","b",5) link("b","c",7) path("a","b",5) path("b","c",7)"#;
    let expected = [
        r#"path("a", "c", _)  is not there"#,
        r#"├─ r1 at test.olg:3:4: there is no link("a", "c", _)"#,
        "└─ r2 at test.olg:4:4: not C1 + C2 < 10 with C1 = 5, C2 = 7 (all other terms hold)",
    ];
    check(PATHS, rows, r#"path("a","c","_")"#, &expected);
    check(PATHS, rows, r#"path("a","b",5)"#, &[r#"path("a", "b", 5)  is there"#]);
    let expected = [r#"link("x", "y", 1)  is not there, and no rule derives it"#];
    check(PATHS, rows, r#"link("x","y",1)"#, &expected);
}

#[test]
fn what_a_rule_needs_is_looked_at_in_turn() {
    let rows = r#"link("a","b",5) link("b","c",7) path("a","b",5) path("b","c",7)"#;
    let expected = [
        r#"path("a", "d", _)  is not there"#,
        r#"├─ r1 at test.olg:3:4: there is no link("a", "d", _)"#,
        r#"└─ r2 at test.olg:4:4: there is no path("b", "d", _) (1 of 3 terms hold)"#,
        r#"   └─ path("b", "d", _)  is not there"#,
        r#"      ├─ r1 at test.olg:3:4: there is no link("b", "d", _)"#,
        r#"      └─ r2 at test.olg:4:4: there is no path("c", "d", _) (1 of 3 terms hold)"#,
        r#"         └─ path("c", "d", _)  is not there"#,
        r#"            ├─ r1 at test.olg:3:4: there is no link("c", "d", _)"#,
        r#"            └─ r2 at test.olg:4:4: there is no link("c", _, _) (0 of 3 terms hold)"#,
    ];
    check(PATHS, rows, r#"path("a","d","_")"#, &expected);
    // A cycle is not followed for ever.
    let rows = r#"link("a","b",1) link("b","a",1) path("a","b",1) path("b","a",1)"#;
    assert!(why_not(PATHS, rows, r#"path("a","z","_")"#).contains("see above"));
}

#[test]
fn keys_and_what_the_head_computes_are_looked_at() {
    let rows = r#"link("a","b",5) link("b","c",1) path("a","b",5) path("b","c",1) path("a","c",6)"#;
    let expected = [
        r#"path("a", "c", 7)  is not there, its key has path("a", "c", 6)"#,
        r#"├─ r1 at test.olg:3:4: there is no link("a", "c", 7)"#,
        "└─ r2 at test.olg:4:4: not C1 + C2 == 7 with C1 = 5, C2 = 1 (all other terms hold)",
    ];
    check(PATHS, rows, r#"path("a","c",7)"#, &expected);
    let best = "materialize(best, infinity, infinity, keys(1, 2)).\n\
                materialize(path, infinity, infinity, keys(1, 2, 3)).\n\
                b1 best(@X, Y, a_MIN<C>) :- path(@X, Y, C).\n";
    let rows = r#"path("a","b",5) path("a","b",3) best("a","b",3)"#;
    let expected = [
        r#"best("a", "b", 5)  is not there, its key has best("a", "b", 3)"#,
        "└─ b1 at test.olg:3:4: column 3, a_MIN<C>, is 3",
    ];
    check(best, rows, r#"best("a","b",5)"#, &expected);
}

const GUARD: &str = "materialize(member, infinity, infinity, keys(1, 2)).\n\
                     materialize(down, infinity, infinity, keys(1, 2)).\n\
                     materialize(up, infinity, infinity, keys(1, 2)).\n\
                     g1 up(@X, Y) :- hello(@X, Y), member(@X, Y), notin down(@X, Y).\n\
                     g2 delete up(@X, Y) :- down(@X, Y), member(@X, Y).\n";

#[test]
fn events_are_waited_for_or_looked_at_where_they_are_known() {
    let waiting = [
        r#"up("a", "b")  is not there"#,
        "└─ g1 at test.olg:4:4: waits for hello(@X, Y) (2 of 3 terms hold)",
    ];
    check(GUARD, r#"member("a","b") down()"#, r#"up("a","b")"#, &waiting);
    let failing = [
        r#"up("a", "b")  is not there"#,
        "└─ g1 at test.olg:4:4: there is a down(\"a\", \"b\") (all other terms hold); \
         events are not kept: hello(@X, Y)",
    ];
    let rows = r#"member("a","b") down("a","b")"#;
    check(GUARD, rows, r#"up("a","b")"#, &failing);
    let other = [
        r#"up("a", "b")  is not there"#,
        r#"└─ g1 at test.olg:4:4: there is no hello("a", "b") (all other terms hold)"#,
    ];
    let rows = r#"member("a","b") down("a","c") hello("a","c")"#;
    check(GUARD, rows, r#"up("a","b")"#, &other);
    let rows = r#"member("a","b") down() hello("a","b")"#;
    let held = [
        r#"up("a", "b")  is not there"#,
        "└─ g1 at test.olg:4:4: 3 of 3 terms hold now, none fails",
    ];
    check(GUARD, rows, r#"up("a","b")"#, &held);
}

#[test]
fn undecidable_conditions_are_marked() {
    let program = "materialize(p, infinity, infinity, keys(1, 2)).\n\
                   materialize(q, infinity, infinity, keys(1, 2)).\n\
                   r1 p(@X, Y) :- e(@X), q(@X, Y), f_rand() > 5, Y > 3.\n";
    let expected = [
        r#"p("a", 4)  is not there"#,
        "└─ r1 at test.olg:3:4: waits for e(@X) (2 of 4 terms hold); cannot be evaluated now: \
         f_rand() > 5",
    ];
    check(program, r#"q("a",4)"#, r#"p("a",4)"#, &expected);
    let expected = [
        r#"p("a", 2)  is not there"#,
        "└─ r1 at test.olg:3:4: not Y > 3 with Y = 2 (all other terms hold); events are not kept: \
         e(@X); cannot be evaluated now: f_rand() > 5",
    ];
    check(program, r#"q("a",2)"#, r#"p("a",2)"#, &expected);
}

#[test]
fn what_a_node_knows_of_itself_follows_from_its_address() {
    let program = "materialize(key, infinity, infinity, keys(1, 2)).\n\
                   materialize(mine, infinity, infinity, keys(2)).\n\
                   m1 mine(@N, K) :- key(@N, K), K != NODE_ID, N == NODE.\n";
    let id = "0x8ac5bec6ae49455f54044c69b99279e711d1acd1I";
    let rows = format!(r#"key("n0:1",{id}) mine("n1:1",{id})"#);
    let found = why_not(program, &rows, &format!(r#"mine("n0:1",{id})"#));
    let expected = format!(
        "mine(\"n0:1\", {id})  is not there\n\
         └─ m1 at test.olg:3:4: 3 of 3 terms hold now, none fails\n"
    );
    assert_eq!(found, expected);
}

#[test]
fn what_a_rule_did_not_find_has_the_values_of_what_it_did() {
    let rules = Rules::read(&compiled(GUARD).written).expect("rules");
    let joined = [r#"member("a", "b")"#, r#"hello("a", "b")"#];
    let joined = joined.map(|it| parse_tuple(it).expect("a tuple"));
    assert_eq!(rules.lacked("test.olg:4:4", &joined), [r#"down("a", "b")"#]);
    assert_eq!(rules.lacked("test.olg:5:4", &joined), [""; 0]);
    assert_eq!(rules.lacked("test.olg:4:4", &[]), ["down(_, _)"]);
}

#[test]
fn a_variable_twice_in_a_head_has_one_value() {
    let program = "materialize(q, infinity, infinity, keys(1, 2)).\n\
                   materialize(p, infinity, infinity, keys(1, 2, 3)).\n\
                   r1 p(@N, X, X) :- q(@N, X).\n";
    let rows = r#"q("a",1) q("a",2)"#;
    let expected = [r#"p("a", 1, 2)  is not there"#, "└─ no rule has a head that fits it"];
    check(program, rows, r#"p("a",1,2)"#, &expected);
    let expected =
        [r#"p("a", 3, 3)  is not there"#, r#"└─ r1 at test.olg:3:4: there is no q("a", 3)"#];
    check(program, rows, r#"p("a",3,3)"#, &expected);
}

#[test]
fn an_aggregate_of_an_empty_table_fails() {
    let program = "materialize(s, infinity, infinity, keys(1, 2)).\n\
                   materialize(q, infinity, infinity, keys(1, 2)).\n\
                   materialize(p, infinity, infinity, keys(1, 2)).\n\
                   r1 p(@N, C) :- s(@N, X), a_COUNT((), (C), q(@N, C)).\n";
    let found = why_not(program, r#"s("a",1) q()"#, r#"p("a","_")"#);
    let blamed = "not a_COUNT((), (C), q(@N, C)) with N = \"a\" (all other terms hold)";
    assert!(found.contains(blamed), "{found}");
}
