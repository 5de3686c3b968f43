use super::*;

/// The kernel of a text; tests are not known.
fn read(text: &str) -> Result<Kernel, String> {
    let kernel = parse(text, &|_| None).map_err(|error| error.to_string())?;
    match kernel.verify() {
        Ok(()) => Ok(kernel),
        Err(errors) => Err(errors.to_string()),
    }
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
fn values_without_a_use_are_left_out() {
    let mut kernel = Builder::new("Some");
    let flows = "kernel F\n table 0 flows exact kernel 4 evict 5 key a:16 values n:8\n b0:\n take";
    let flows = read(flows).unwrap().tables.remove(0);
    let (count, table) = (kernel.counter("count"), kernel.table(flows));
    let (six, seven) = (kernel.constant(6), kernel.constant(7));
    let _ = kernel.binary(Operator::Add, six, seven);
    let unused = kernel.word(count);
    let _ = kernel.binary(Operator::Mul, unused, unused);
    kernel.draft(table, 0, seven);
    let _ = kernel.value(Expr::Insert(table));
    let (b1, b2) = (kernel.block(), kernel.block());
    let entry = kernel.find(table, &[seven]);
    kernel.branch(entry, b1, b2);
    kernel.at(b1);
    let _ = kernel.constant(8);
    let old = kernel.value(Expr::Get(table, entry, 0));
    kernel.set_word(count, old);
    kernel.take();
    kernel.at(b2);
    kernel.take();
    let text = kernel.finish().unwrap().to_string();
    let steps = "  b0:
    v0 = const 7
    draft 0 0 v0
    v1 = insert 0
    v2 = find 0 v0
    if v2 b1 b2
  b1:
    v3 = get 0 v2 0
    set_word 0 v3
    take
  b2:
    take
";
    assert!(text.ends_with(steps), "{text}");
}

fn assert_refused(read: Result<Kernel, String>, text: &str, what: &str) {
    let error = read.unwrap_err();
    assert!(error.contains(what), "{text}: {error}");
}

#[test]
fn what_is_printed_reads_as_the_same() {
    let kernel = read(TAG).unwrap();
    assert_eq!(kernel.to_string(), TAG);
    assert_eq!(kernel.constant_of(Value::new(4)), Some(1));
}

#[test]
fn values_exist_wherever_they_are_used() {
    // Also in blocks that no way leads to.
    for block in ["v1 = eq v0 v71\n take", "need [v71 + 1] else 0\n take", "if v71 b2 b3"] {
        let text = format!(
            "kernel K\n reason 0 r\n b0:\n v0 = const 1\n jump b3\n b1:\n {block}\n b2:\n take\n \
             b3:\n take\n"
        );
        assert_refused(read(&text), block, "there is no v71");
    }
}

#[test]
fn bytes_are_needed_before_they_are_touched() {
    let of = |steps: &str| read(&format!("kernel K\n  reason 0 r\n  b0:\n{steps}\n  take\n"));
    let refused = |steps: &str, what: &str| assert_refused(of(steps), steps, what);
    of("need [2] else 0\nv0 = load16 [0]").unwrap();
    refused("need [2] else 0\nv0 = load16 [1]", "2 bytes at [1] may not be there");
    refused("v0 = load8 [0]", "may not be there");
    refused("need [4] else 0\nstrip 2\nv0 = load32 [0]", "may not be there");
    of("need [4] else 0\nprepend 2 else 0\nv0 = load32 [2]").unwrap();
    refused("strip 1", "may not have 1 bytes");
    refused("v0 = const 3\nneed [9] else 0\ntruncate v0\nv1 = load32 [0]", "may not be there");
    of("v0 = const 4\nneed [9] else 0\ntruncate v0\nv1 = load32 [0]").unwrap();
    refused("v0 = const 3\nneed [9] else 0\nshorten v0\nv1 = load32 [0]", "may not be there");
    of("need [9] else 0\nv0 = sum [9]").unwrap();
    refused("need [9] else 0\nv0 = sum [10]", "may not reach [10]");
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
    let refused = |blocks: &str, what: &str| assert_refused(of(blocks), blocks, what);
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
    refused(
        "take\non tick 5\nb0:\nv0 = length\ntake",
        "on tick 5: b0 `v0 = length`: there is no packet",
    );
    refused("take\non tick 5\nb0:\nemit 0", "there is no packet");
    refused("take\non expire 0\nb0:\nv0 = insert 0\ntake", "the table lets an entry go");
    refused("take\non tick 1\nb0:\ntake\non tick 2\nb0:\ntake", "there is another handler");
}

#[test]
fn local_words_are_set_before_they_are_read() {
    let of = |blocks: &str| read(&format!("kernel K\nlocal 0 at\nlocal 1 kind\n{blocks}"));
    let refused = |blocks: &str, what: &str| assert_refused(of(blocks), blocks, what);
    let text = "kernel K\n  local 0 at\n  state 1 sum = 3\n  b0:\n    v0 = length\n    \
                set_word 0 v0\n    v1 = word 0\n    set_word 1 v1\n    take\n";
    assert_eq!(read(text).unwrap().to_string(), text);
    let branch = "b0:\nv0 = length\nif v0 b1 b2\nb1:\nset_word 0 v0\njump b3\nb2:\n";
    of(&format!("{branch}set_word 0 v0\njump b3\nb3:\nv1 = word 0\ntake")).unwrap();
    refused(
        &format!("{branch}jump b3\nb3:\nv1 = word 0\ntake"),
        "local word 0 is not set on every way",
    );
    refused("b0:\nv0 = word 1\nset_word 1 v0\ntake", "local word 1 is not set on every way");
    refused(
        "b0:\ntake\non tick 5\nb0:\nv0 = word 0\ntake",
        "on tick 5: b0 `v0 = word 0`: local word 0",
    );
    refused("supply 9 bytes 2 burst word 0\nb0:\ntake", "it cannot be local");
}

#[test]
fn a_comparison_with_the_length_proves_bytes() {
    let of = |blocks: &str| read(&format!("kernel K\n  reason 0 r\n  b0:\n{blocks}"));
    let guard = |end: &str, then: &str| {
        of(&format!(
            "v0 = load8 [0]\n{end}\nv3 = length\nv4 = le v2 v3\nif v4 b1 b2\nb1:\n{then}\ntake\n\
             b2:\ntake"
        )
        .replace("v0 = load8 [0]", "need [1] else 0\nv0 = load8 [0]"))
    };
    let behind = "v1 = const 4\nv2 = add_sat v0 v1";
    guard(behind, "v5 = load32 [v0 + 0]").unwrap();
    guard("v1 = const 4\nv2 = const 9", "v5 = load64 [1]").unwrap();
    for (end, then) in [
        // One byte more, the other branch, a sum that may be small, another length.
        (behind, "v5 = load32 [v0 + 1]"),
        (behind, "jump b2\nb2:\nv5 = load32 [v0 + 0]"),
        ("v1 = const 4\nv2 = add v0 v1", "v5 = load32 [v0 + 0]"),
        (behind, "strip 1\nv5 = load8 [v0 + 0]"),
    ] {
        let error = match then.strip_prefix("jump b2\nb2:\n") {
            Some(then) => of(&format!(
                "need [1] else 0\nv0 = load8 [0]\n{end}\nv3 = length\nv4 = le v2 v3\nif v4 b1 b2\n\
                 b1:\ntake\nb2:\n{then}\ntake"
            )),
            None => guard(end, then),
        };
        let error = error.unwrap_err();
        assert!(error.contains("may not be there"), "{end}: {then}: {error}");
    }
    let stale = "need [2] else 0\nv0 = length\nstrip 1\nv1 = const 2\nv2 = le v1 v0\n\
                 if v2 b1 b2\nb1:\nv3 = load16 [0]\ntake\nb2:\ntake";
    assert!(of(stale).unwrap_err().contains("may not be there"), "the length was another");
}

#[test]
fn sums_of_words_carry_round() {
    let of = |a, b| Operator::Sum16.apply(a, b);
    assert_eq!((of(0, 0), of(0xFFFF, 0), of(0xFFFF, 1), of(1 << 16, 0)), (0, 0xFFFF, 1, 1));
    assert_eq!(of(u64::MAX, u64::MAX), 0xFFFF);
    assert_eq!(of(0x0001_F203_F4F5_F6F7, 0), 0xDDF2, "the example of RFC 1071");
}

#[test]
fn what_the_builder_knows_is_not_computed() {
    let mut builder = Builder::new("K");
    let (seven, none) = (builder.constant(7), builder.constant(0));
    let reason = builder.reason("short");
    builder.need(2, reason);
    let byte = builder.load(Width::W8, 0);
    let sum = builder.binary(Operator::Mul, seven, seven);
    assert_eq!(builder.constant_of(sum), Some(49));
    let mask = builder.constant(0xFF);
    let steps = builder.steps();
    assert_eq!(builder.binary(Operator::And, byte, mask), byte);
    assert_eq!(builder.binary(Operator::Shl, byte, none), byte);
    assert_eq!(builder.binary(Operator::Or, none, byte), byte);
    assert_eq!(builder.steps(), steps);
    assert_ne!(builder.binary(Operator::And, byte, seven), byte);
    assert_ne!(builder.binary(Operator::Mul, byte, none), byte);
    assert_ne!(builder.binary(Operator::Sub, none, byte), byte);
}

#[test]
fn no_value_is_above_its_bound() {
    let of = |text: &str, value| {
        let kernel =
            read(&format!("kernel K\nlocal 0 l\nstate 1 s = 0\nreason 0 r\nb0:\n{text}\ntake"));
        Bounds::of(&kernel.unwrap()).most(Value::new(value))
    };
    let load = "need [4] else 0\nv0 = load8 [0]\nv1 = load16 [1]\nv2 = const 9";
    for (line, bound) in [
        ("add v0 v1", 0x100FE),
        ("mul v0 v1", 0xFF * 0xFFFF),
        ("and v1 v2", 9),
        ("or v0 v2", 0xFF),
        ("shl v0 v2", 0xFF << 9),
        ("shr v1 v2", 127),
        ("rem v1 v2", 8),
        ("div v1 v2", 7281),
        ("sub v0 v1", u64::MAX),
        ("sub v2 v0", u64::MAX),
        ("sum16 v0 v1", 0xFFFF),
        ("word 1", u64::MAX),
    ] {
        assert_eq!(of(&format!("{load}\nv3 = {line}"), 3), bound, "{line}");
    }
    let enough = "need [4] else 0\nv0 = load8 [0]\nv1 = const 255\nv2 = sub v1 v0";
    assert_eq!(of(enough, 2), 255);
    let local = format!("{load}\nset_word 0 v0\nv3 = word 0\nset_word 0 v1\nv4 = word 0");
    assert_eq!((of(&local, 3), of(&local, 4)), (0xFF, 0xFFFF));
}
