use super::*;

/// The kernel of a text; tests are not known.
fn read(text: &str) -> Result<Kernel, String> {
    let kernel = parse(text, &|_| None).map_err(|error| error.to_string())?;
    let errors = kernel.verify();
    if errors.is_empty() { Ok(kernel) } else { Err(errors.join("\n")) }
}

const TAG: &str = "\
kernel VlanTag
  counter 0 tagged = 0
  state 1 last = 7
  reason 0 too_short
  b0:
    need [14] else 0
    prepend 4 else 0
    v0 = load64 [4]
    v1 = load32 [12]
    store64 [0] v0
    store32 [8] v1
    v2 = const 2164260869
    store32 [12] v2
    v3 = word 0
    v4 = const 1
    v5 = add v3 v4
    set_word 0 v5
    set_mark v5
    v6 = lt v4 v5
    if v6 b1 b2
  b1:
    v7 = load8 [17]
    need [v7 + 3] else 0
    v8 = load16 [v7 + 1]
    set_word 1 v8
    jump b2
  b2:
    truncate v5
    emit 0
";

#[test]
fn what_is_printed_reads_as_the_same() {
    let kernel = read(TAG).unwrap();
    assert_eq!(kernel.to_string(), TAG);
    assert_eq!(kernel.constant_of(Value::new(4)), Some(1));
}

#[test]
fn bytes_are_needed_before_they_are_touched() {
    let of = |steps: &str| read(&format!("kernel K\n  reason 0 r\n  b0:\n{steps}\n  take\n"));
    let refused = |steps: &str, what: &str| {
        let error = of(steps).unwrap_err();
        assert!(error.contains(what), "{steps}: {error}");
    };
    of("need [2] else 0\nv0 = load16 [0]").unwrap();
    refused("need [2] else 0\nv0 = load16 [1]", "2 bytes at [1] may not be there");
    refused("v0 = load8 [0]", "may not be there");
    refused("need [4] else 0\nstrip 2\nv0 = load32 [0]", "may not be there");
    of("need [4] else 0\nprepend 2 else 0\nv0 = load32 [2]").unwrap();
    refused("strip 1", "may not have 1 bytes");
    refused("v0 = const 3\nneed [9] else 0\ntruncate v0\nv1 = load32 [0]", "may not be there");
    of("v0 = const 4\nneed [9] else 0\ntruncate v0\nv1 = load32 [0]").unwrap();
    // The bytes checked after a base may be used until the packet begins elsewhere.
    of("v0 = const 3\nneed [v0 + 2] else 0\nv1 = load16 [v0 + 0]").unwrap();
    refused("v0 = const 3\nneed [v0 + 2] else 0\nv1 = load16 [v0 + 1]", "may not be there");
    refused("v0 = const 3\nneed [v0 + 2] else 0\nstrip 1\nv1 = load8 [v0 + 0]", "may not be");
    refused("v0 = const 1\nv1 = load8 [v0 + 4294967295]", "may not be there");
}

#[test]
fn a_value_is_set_once_and_on_every_way() {
    let error = read(
        "kernel K\nb0:\nv0 = length\nif v0 b1 b2\n\
         b1:\nv1 = length\njump b2\nb2:\nset_mark v1\ntake",
    );
    assert!(error.unwrap_err().contains("v1 is not set on every way"));
    let error = read("kernel K\nb0:\nv0 = length\nv0 = length\ntake").unwrap_err();
    assert!(error.contains("set twice"), "{error}");
}

#[test]
fn blocks_lead_on_and_numbers_are_there() {
    for (text, what) in [
        ("b0:\njump b0", "no later block"),
        ("b0:\njump b7", "no later block"),
        ("b0:\ndrop 0", "no such reason"),
        ("b0:\nv0 = word 3\ntake", "no word 3"),
        ("b0:\nemit 5000", "too many outputs"),
        ("reason 0 r\nb0:\nprepend 300 else 0\ntake", "at most 256"),
        ("b0:\nneed [3] else 1\ntake", "no reason 1"),
    ] {
        let error = read(&format!("kernel K\n{text}\n")).unwrap_err();
        assert!(error.contains(what), "{text}: {error}");
    }
    assert!(read("kernel K").unwrap_err().contains("no block"));
}

#[test]
fn errors_of_a_kernel_have_the_line() {
    for (text, line) in [
        ("", 1),
        ("kernels", 1),
        ("kernel K\nb1:\ntake", 2),
        ("kernel K\nb0:\nv0 = bogus\ntake", 3),
        ("kernel K\nb0:\ntake\ntake", 4),
        ("kernel K\nb0:\nv0 = load8 [x]\ntake", 3),
        ("kernel K\nb0:\nv0 = length much\ntake", 3),
        ("kernel K\nb0:\nv0 = length", 3),
        ("kernel K\nstate 1 a = 0\nb0:\ntake", 2),
        ("kernel K\ntest 0 tcp\nb0:\ntake", 2),
    ] {
        assert_eq!(parse(text, &|_| None).unwrap_err().line, line, "{text}");
    }
}

#[test]
fn entries_are_touched_where_they_are_known_to_be_there() {
    let of = |blocks: &str| {
        let tables = "table 0 t exact kernel 4 evict 5000000 key a:16 values n:8\n\
                      table 1 given exact program 4 refuse 0 key a:64 b:1 values n:8";
        read(&format!("kernel K\n{tables}\nb0:\n{blocks}"))
    };
    let refused = |blocks: &str, what: &str| {
        let error = of(blocks).unwrap_err();
        assert!(error.contains(what), "{blocks}: {error}");
    };
    let found = |steps: &str| format!("v0 = const 1\nv1 = find 0 v0\nif v1 b1 b2\nb1:\n{steps}");
    let all = "v2 = get 0 v1 0\nput 0 v1 0 v2\nrefresh 0 v1\ndelete 0 v1\ntake\nb2:\ntake";
    of(&found(all)).unwrap();
    refused("v0 = const 1\nv1 = find 0 v0\nv2 = get 0 v1 0\ntake", "v1 may be no entry of table 0");
    refused(&found("jump b2\nb2:\nv2 = get 0 v1 0\ntake"), "may be no entry");
    refused(&found("delete 0 v1\nrefresh 0 v1\ntake\nb2:\ntake"), "may be no entry");
    refused(&found("v2 = insert 0\nrefresh 0 v1\ntake\nb2:\ntake"), "may be no entry");
    refused(&found("v2 = get 1 v1 0\ntake\nb2:\ntake"), "v1 may be no entry of table 1");
    refused(&found("v2 = get 0 v1 1\ntake\nb2:\ntake"), "table 0: it has no such value");
    refused("v0 = const 1\nv1 = find 1 v0\ntake", "table 1: its key is of another length");
    refused("v0 = const 1\ndraft 1 0 v0\ntake", "table 1: the program writes it");
    refused("v0 = insert 2\ntake", "there is no table 2");
    refused("v0 = entry 0\ntake", "no entry has expired");
    refused("take\non tick 5\nb0:\nv0 = length\ntake", "on tick 5: b0: there is no packet");
    refused("take\non tick 5\nb0:\nemit 0", "there is no packet");
    refused("take\non expire 0\nb0:\nv0 = insert 0\ntake", "the table lets an entry go");
    refused("take\non tick 1\nb0:\ntake\non tick 2\nb0:\ntake", "there is another handler");
}
