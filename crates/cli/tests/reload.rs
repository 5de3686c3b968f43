//! Programs that change while they run.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::common::node::{Running, free_addresses, wait_until};
use crate::common::{Folder, run, status, stderr, stdout, tidemill};

/// The run time of each version, long enough for a loaded machine to read it.
pub const EACH: Duration = Duration::from_millis(900);

/// Starts a run that reloads its program when a file has changed.
pub fn start(folder: &Folder, arguments: &[&str]) -> Child {
    tidemill()
        .args(["run", "--watch"])
        .args(arguments)
        .env("XDG_RUNTIME_DIR", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts")
}

/// The output of a run, which must succeed.
pub fn ended(child: Child) -> (String, String) {
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    (stdout(&output), stderr(&output))
}

/// A run of a folder with other files, whose rules are these versions one after the other; returns
/// its output.
fn versions(
    folder: &Folder,
    others: &[&str],
    rules: &[&str],
    options: &[&str],
) -> (String, String) {
    let path = folder.file("a.olg", rules[0]);
    let over = (EACH * rules.len() as u32 + Duration::from_millis(500)).as_secs_f64().to_string();
    let own = [&path, "--listen", "localhost:0", "--for", &*over];
    let child = start(folder, &[&own, others, options].concat());
    for rules in &rules[1..] {
        std::thread::sleep(EACH);
        folder.file("a.olg", rules);
    }
    let (data, notes) = ended(child);
    let replaced = notes.matches("goes on with the new rules").count();
    assert_eq!(replaced, rules.len() - 1, "{notes}");
    (data, notes)
}

/// Rules are replaced while they run, and tables keep their rows; an error changes nothing.
#[test]
fn changed_rules_are_replaced_while_they_run() {
    let rules = |word: &str| {
        format!(
            "materialize(n, infinity, infinity, keys(1)). n(@NODE, 0).
             r1 say(@N, {word:?}, X) :- periodic(@N, E, 0.1), n(@N, X). watchmod(say, \"h\").
             r2 n(@N, X + 1) :- periodic(@N, E, 0.1), n(@N, X)."
        )
    };
    let folder = Folder::new();
    let path = folder.file("a.olg", &rules("before"));
    let child = start(&folder, &[&path, "--listen", "localhost:0", "--for", "3"]);
    std::thread::sleep(EACH);
    folder.file("a.olg", "r1 say(@N :-");
    std::thread::sleep(EACH);
    folder.file("a.olg", &rules("after"));
    let (data, notes) = ended(child);
    assert!(notes.contains("tidemill: the old program goes on\n"), "{notes}");
    assert!(notes.contains("tidemill: goes on with the new rules\n"), "{notes}");
    // The count continues without a gap from one version to the next.
    let number =
        |line: &str| -> Option<u64> { line.rsplit_once(", ")?.1.strip_suffix(')')?.parse().ok() };
    let counts: Vec<u64> = data.lines().filter_map(number).collect();
    assert!(counts.len() > 10 && counts.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{data}");
    let (before, after) = (data.rfind("\"before\""), data.find("\"after\""));
    assert!(before.is_some() && before < after, "{data}");
}

/// What a new version cannot keep is reported, and that it changes nothing.
#[test]
fn tables_that_start_anew_are_named() {
    let folder = Folder::new();
    let rules = |key: &str, lifetime: &str| {
        format!(
            "materialize(pair, infinity, infinity, keys({key})).
             materialize(kept, infinity, infinity, keys(2)).
             materialize(fact, {lifetime}, infinity, keys(2)).
             materialize(view, {lifetime}, infinity, keys(2)).
             fact(@NODE, 1).
             r1 pair(@N, 1, 2) :- periodic(@N, _, 0, 1).
             r2 kept(@N, 1) :- periodic(@N, _, 0, 1).
             r3 view(@N, X) :- kept(@N, X).\n"
        )
    };
    let first = rules("2", "infinity")
        + "materialize(gone, infinity, infinity, keys(2)).\n\
           r4 gone(@N, 1) :- periodic(@N, _, 0, 1).\n";
    let path = folder.file("a.olg", &first);
    let child = start(&folder, &[&path, "--listen", "localhost:0", "--for", "3"]);
    std::thread::sleep(EACH);
    folder.file("a.olg", &(first + "// No rule.\n"));
    std::thread::sleep(EACH);
    // Facts and views have their rows again at once.
    folder.file("a.olg", &rules("2, 3", "60"));
    let (_, notes) = ended(child);
    let lines: Vec<&str> = notes.lines().filter(|line| line.starts_with("tidemill: ")).collect();
    let expected = [
        "tidemill: nothing has changed",
        "tidemill: the table `gone` is gone",
        "tidemill: the table `pair` starts anew, as it has another key",
        "tidemill: goes on with the new rules",
    ];
    assert_eq!(lines, expected, "{notes}");
}

/// What a mix cannot keep is said before the first of its parts is replaced.
#[test]
fn losses_are_noted_before_anything_happens() {
    let folder = Folder::new();
    let rules = |key: &str| {
        format!(
            "materialize(pair, infinity, infinity, keys({key})).
             r1 pair(@N, 1, 2) :- periodic(@N, _, 0, 1).\n"
        )
    };
    let graph = |rest: &str| {
        format!(
            "src :: Generator {{ frames: [\"hex 01\"], packets: 1000, rate: 10 }}\n\
             src -> end\n{rest}"
        )
    };
    let path = folder.file("a.olg", &rules("2"));
    let old = "end :: Sink\nmore :: Source { packets: 1 }\nold :: Sink\nmore -> old\n";
    let flow = folder.file("a.flow", &graph(old));
    let arguments = [&*path, &*flow, "--listen", "localhost:0", "--for", "20"];
    let running = Running::start(&folder, "out", &arguments);
    wait_until("it runs", || running.counter("table/pair/rows") > 0);
    folder.file("a.olg", &rules("2, 3"));
    folder.file("a.flow", &graph("end :: Tee\nlast :: Sink\nend -> last\n"));
    running.signal("HUP");
    wait_until("it goes on", || running.logged("goes on with the new rules") == 1);
    wait_until("its graph too", || running.logged("reloaded: ") == 1);
    let notes = fs::read_to_string(&running.log).expect("a log");
    let lines = notes.lines().filter(|line| line.starts_with("tidemill: "));
    let lines: Vec<&str> = lines.filter(|line| !line.contains("warning")).collect();
    let expected = [
        "tidemill: the table `pair` starts anew, as it has another key",
        "tidemill: the app `end` starts anew, as it is a Tee now",
        "tidemill: the app `more` is gone",
        "tidemill: the app `old` is gone",
    ];
    assert_eq!(lines[..4], expected, "{notes}");
    assert_eq!(notes.matches("starts anew").count(), 2, "{notes}");
}

/// The entry component is not replaced, which is reported; with `--restart` the run restarts.
#[test]
fn what_cannot_be_replaced_starts_the_run_again_on_demand() {
    let folder = Folder::new();
    let component = |word: &str| {
        format!(
            "COMPONENT Main REQUIRES SystemTime;
             BEGIN WRITE({word:?}); WRITELINE; SystemTime!Wait(60000); SystemTime?Passed END Main;"
        )
    };
    let path = folder.file("a.com", &component("before"));
    let run = |extra: &[&str]| {
        folder.file("a.com", &component("before"));
        let child = start(&folder, &[&[&*path, "--for", "2"], extra].concat());
        std::thread::sleep(EACH);
        folder.file("a.com", &component("after"));
        ended(child)
    };
    let (data, notes) = run(&[]);
    assert_eq!(data, "before\n");
    let why = "the old program goes on: its entry component Main has changed, and cannot be \
               replaced while it runs; --restart";
    assert!(notes.contains(why), "{notes}");
    let (data, notes) = run(&["--restart"]);
    assert!(notes.contains("the components have changed: the run starts again"), "{notes}");
    assert_eq!(data, "before\nafter\n");
}

/// Files of both versions stay open; others end and begin.
#[test]
fn files_go_on() {
    let folder = Folder::new();
    let rules =
        |word: &str, sinks: &str| format!("r1 say(@N, {word:?}) :- periodic(@N, E, 0.05). {sinks}");
    let before = rules("before", "sink(\"both.jsonl\", say). sink(\"old.csv\", say).");
    let after = rules("after", "sink(\"new.csv\", say). sink(\"both.jsonl\", say).");
    let root = folder.path().display().to_string();
    versions(&folder, &[], &[&before, &after, &after.replace("after", "end")], &["--root", &root]);
    let words = |name: &str| {
        let text = fs::read_to_string(folder.path().join(name)).expect("it is there");
        let has = |word: &&str| text.contains(*word);
        ["before", "after", "end"].into_iter().filter(has).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(words("both.jsonl"), "before after end");
    assert_eq!(words("old.csv"), "before");
    assert_eq!(words("new.csv"), "after end");
}

/// Sums its input, and prints the sum when it ends.
const ADDER: &str = "
INTERFACE Adding;
  { IN Add(key: TEXT; n: INTEGER) { OUT Sum(key: TEXT; sum: INTEGER) } OUT Done }
END Adding;
COMPONENT Adder OFFERS Adding;
  VARIABLE sum: INTEGER;
  IMPLEMENTATION Adding;
    VARIABLE key: TEXT; n: INTEGER;
  BEGIN
    WHILE ?Add DO
      ?Add(key, n);
      BEGIN {EXCLUSIVE} INC(sum, n); n := sum END;
      !Sum(key, n); !Done
    END
  END Adding;
BEGIN sum := 0
FINALLY WRITE(\"ended at \"); WRITE(sum); WRITELINE
END Adder;";

fn sums(data: &str) -> Vec<u64> {
    let number = |line: &str| line.rsplit_once(", ")?.1.strip_suffix(')')?.parse().ok();
    data.lines().filter_map(number).collect()
}

/// Instances of unchanged stages stay, those of others end, and a new stage over a table has an
/// instance for each existing row.
#[test]
fn instances_of_a_stage_live_on() {
    let folder = Folder::new();
    let adder = folder.file("a.com", ADDER);
    let rules = |n: u32, keys: &str| {
        format!(
            "materialize(kept, infinity, infinity, keys(2)). kept(@NODE, \"row\", 5000000).
             {}
             r1 add(@N, \"one\", {n}) :- periodic(@N, E, 0.05).
             stage(\"cl:Adder\", add, sum, {keys}).
             w1 shown(@N, K, S) :- sum(@N, K, S). watchmod(shown, \"h\").",
            // An additional relation, so that the numbers of relations change.
            if n == 1 { "" } else { "m1 more(@N, 1) :- periodic(@N, E, 100)." }
        )
    };
    let (first, second) = (rules(1, "keys(2)"), rules(1000, "keys(2)"));
    let third =
        second.replace("keys(2)).\n", "keys(3)).\n").replace("sum, keys(2)", "sum, keys(2, 3)");
    let fourth = "materialize(kept, infinity, infinity, keys(2)). kept(@NODE, \"row\", 5000000).
        stage(\"cl:Adder\", kept, sum, keys(2)).
        w1 shown(@N, K, S) :- sum(@N, K, S). watchmod(shown, \"h\").";
    let (data, notes) = versions(&folder, &[&adder], &[&first, &second, &third, fourth], &[]);
    let sums = sums(&data);
    // It continued from the ones to the thousands, and restarted with other keys.
    let thousands = sums.iter().position(|sum| *sum >= 1000).expect("the second version");
    assert!(thousands > 3 && sums[thousands] == 1000 + sums[thousands - 1], "{data}{notes}");
    let anew = sums.iter().position(|sum| *sum == 1000).expect("the third version");
    assert!(anew > thousands, "{data}");
    assert_eq!(sums.last(), Some(&5_000_000), "{data}{notes}");
    let ended: Vec<&str> = data.lines().filter(|line| line.contains("ended at")).collect();
    assert_eq!(ended.len(), 2, "{data}");
    assert!(ended[0].ends_with(&format!("ended at {}", sums[anew - 1])), "{data}");
}

/// A component receives the events of other rules without a new request.
#[test]
fn components_hear_of_other_rules() {
    let folder = Folder::new();
    let listener = folder.file(
        "a.com",
        "INTERFACE RulesOfTicks;
           { IN start OUT Taken | IN Next ( OUT tick(change: CHARACTER; n: INTEGER) | OUT End ) }
         END RulesOfTicks;
         COMPONENT Main REQUIRES RulesOfTicks;
           VARIABLE n: INTEGER; change: CHARACTER; over: BOOLEAN;
         BEGIN
           RulesOfTicks!start; RulesOfTicks?Taken;
           WHILE ~over DO
             RulesOfTicks!Next;
             IF RulesOfTicks?End THEN RulesOfTicks?End; over := TRUE
             ELSE RulesOfTicks?tick(change, n); WRITE(n); WRITELINE
             END
           END
         END Main;",
    );
    let rules = |n: u32, more: &str| {
        format!(
            "{more} materialize(count, infinity, infinity, keys(1)). count(@NODE, 0).
             s1 begun(@N) :- start(@N). watch(begun).
             c1 count(@N, X + {n}) :- periodic(@N, E, 0.05), count(@N, X).
             t1 tick(@N, X) :- periodic(@N, E, 0.05), count(@N, X)."
        )
    };
    let more = "m1 more(@N, 1) :- periodic(@N, E, 100).";
    let (data, notes) = versions(&folder, &[&listener], &[&rules(1, ""), &rules(1000, more)], &[]);
    let numbers: Vec<u64> = data.lines().filter_map(|line| line.parse().ok()).collect();
    assert!(numbers.len() > 20 && numbers.is_sorted(), "{data}{notes}");
    assert!(numbers.last().is_some_and(|last| *last > 5000), "{data}");
}

/// Frames of flows that several workers share, as a list of a `Generator`.
fn frames() -> String {
    let frame = |number: u32| format!("\"hex 0200000000{number:02x}0200000000ffffff\"");
    (0..20).map(frame).collect::<Vec<_>>().join(", ")
}

/// Verdicts of new rules take effect; packets that wait for a verdict keep their numbers.
#[test]
fn packets_go_where_other_rules_send_them() {
    ["1", "3"].into_iter().for_each(packets_go_elsewhere);
}

fn packets_go_elsewhere(workers: &str) {
    let folder = Folder::new();
    let graph = format!(
        "src :: Generator {{ frames: [{}], packets: 1000000, rate: 500 }}
         app :: Rules {{ fields: \"len\", event: \"packet\", verdict: \"send\" }}
         a :: Sink
         b :: Sink
         src -> app.input\n app.a -> a\n app.b -> b\n",
        frames()
    );
    let graph = folder.file("a.flow", &graph);
    let rules = |port: &str, more: &str| {
        format!("{more} r1 send(@N, {port:?}, Id) :- packet(@N, _, Id, Length), Length > 1.")
    };
    let more = "m1 more(@N, 1) :- periodic(@N, E, 100).";
    let (first, second) = (rules("a", ""), rules("b", more));
    let options = ["--stats", "--workers", workers];
    let (_, notes) = versions(&folder, &[&graph], &[&first, &second], &options);
    let packets = |link: &str| -> u64 {
        let line = notes.lines().find(|line| line.starts_with(link));
        let count = line.and_then(|line| line.split_whitespace().nth(2)?.parse().ok());
        count.unwrap_or_else(|| panic!("{link} in {notes}"))
    };
    let (all, a, b) = (packets("link src"), packets("link app.a"), packets("link app.b"));
    assert!(a > 100 && b > 100, "{notes}");
    // The last ones may be in transit.
    assert!(a + b <= all && all - (a + b) <= 64, "{notes}");
    assert!(!notes.contains("dropped_stale") && !notes.contains("one worker only"), "{notes}");
}

/// Settings of new rules take effect, and when they are removed those of the graph's files return.
#[test]
fn settings_follow_the_rules() {
    let folder = Folder::new();
    let graph = folder.file(
        "a.flow",
        "src :: Generator { frames: [\"hex 00\"], packets: 1000000, rate: 1000 }
         cut :: Truncate { length: 14 }\n end :: Sink\n src -> cut -> end\n",
    );
    let none = "m1 more(@N, 1) :- periodic(@N, E, 100). watch(more).";
    let some = "materialize(length, infinity, infinity, keys(1)). length(@NODE, 20).
        c1 flow::config(@N, \"cut\", \"length\", L) :- length(@N, L).";
    let other = &some.replace("20", "30");
    for workers in ["1", "2"] {
        let options = ["--stats", "--workers", workers];
        let (_, notes) = versions(&folder, &[&graph], &[none, some, other, none], &options);
        let changed = notes.matches("reloaded: 2 apps kept, 1 reconfigured, 0 restarted").count();
        assert_eq!(changed, 3, "{notes}");
    }
}

/// Rules, components and apps decode messages by new schemas.
#[test]
fn schemas_are_replaced() {
    let folder = Folder::new();
    let schema = |field: &str| {
        format!("edition = \"2023\"; package p; message M {{ int32 a = 1; string {field} = 2; }}")
    };
    let proto = folder.file("a.proto", &schema("b"));
    let component = folder.file(
        "a.com",
        "COMPONENT Main REQUIRES Messages, SystemTime;
           VARIABLE i: INTEGER; text: TEXT;
         BEGIN
           Messages!New(\"p.M\"); Messages?Done;
           FOR i := 1 TO 40 DO
             Messages!SetText(\"c\", \"x\");
             IF Messages?Done THEN Messages?Done; WRITE(\"c is set\"); WRITELINE
             ELSE Messages?Failed(text); Messages!SetText(\"b\", \"old\"); Messages?Done
             END;
             Messages!Encode; Messages?Text(text); WRITE(LENGTH(text)); WRITELINE;
             IF i = 30 THEN Messages!New(\"p.M\"); Messages?Done END;
             SystemTime!Wait(50); SystemTime?Passed
           END
         END Main;",
    );
    // Ethernet, IPv4 and UDP around a message with a = 7.
    let frame = "000000000002000000000001 0800 4500001e000000004011 0000 0a000001 0a000002
        00010002000a0000 0807";
    let frame: String = frame.split_whitespace().collect();
    let graph = format!(
        "src :: Generator {{ frames: [\"hex {frame}\"], packets: 99999, rate: 100 }}
         app :: Decode {{ type: \"p.M\", from: \"udp.payload\", event: \"read\" }}
         end :: Sink
         src -> app\n app.rest -> end\n"
    );
    let graph = folder.file("a.flow", &graph);
    let rules = "r1 shown(@N, f_decode(\"p.M\", f_unhex(\"0807\"))) :- periodic(@N, E, 0.05).
        r2 seen(@N, A, B) :- read(@N, A, B).
        stage(\"proto:p.M\", raw, got). r3 raw(@N, f_unhex(\"0809\")) :- periodic(@N, E, 0.05).
        r4 fields(@N, A, B) :- got(@N, A, B).
        watchmod(shown, \"h\"). watchmod(seen, \"h\"). watchmod(fields, \"h\").";
    let path = folder.file("a.olg", rules);
    let files = [&*path, &proto, &component, &graph];
    let options = ["--listen", "localhost:0", "--for", "2.3", "--stats"];
    let child = start(&folder, &[&files[..], &options].concat());
    std::thread::sleep(EACH);
    folder.file("a.proto", &schema("c").replace("int32 a = 1", "int32 a = 1 [default = 5]"));
    let (data, notes) = ended(child);
    assert!(notes.contains("goes on with the new rules"), "{notes}");
    // The old message lacks `c`, the next has it.
    assert!(data.contains("\n5\n") && data.contains("c is set\n3\n"), "{data}{notes}");
    for word in ["shown", "seen", "fields"] {
        assert!(data.lines().filter(|line| line.contains(word)).count() > 20, "{data}");
    }
    // Counters continue.
    let passed = notes.lines().find(|line| line.starts_with("border proto:p.M: passed"));
    let passed = passed.and_then(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok());
    assert!(passed.is_some_and(|passed| passed > 35), "{notes}");
}

/// Rules install newer versions of rules at each node of a network; an error changes nothing, and
/// deleted rules are removed.
#[test]
fn rules_spread_rules() {
    let folder = Folder::new();
    let spread = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/spread/spread.olg");
    let addresses = free_addresses(3);
    let landmark = format!("LANDMARK={:?}", addresses[0]);
    let start = |(number, address): (usize, &String)| {
        let arguments = [spread, "--listen", address, "-D", &landmark];
        Running::start(&folder, &format!("out{number}"), &arguments)
    };
    let nodes: Vec<Running> = addresses.iter().enumerate().map(start).collect();
    let tool = |verb: &str, more: &str| {
        let command = tidemill()
            .args([verb, &addresses[1], more])
            .env("XDG_RUNTIME_DIR", folder.path())
            .output();
        let output = command.expect("starts");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
    };
    let says = |node: &Running, text: &str| {
        fs::read_to_string(&node.out).is_ok_and(|out| out.contains(text))
    };
    let release = |number: u32, rules: &str| {
        let text = format!("offer(NODE, \"greet.olg\", {number}, {rules:?}).");
        tool("install", &folder.file("release.olg", &text));
    };
    let greet = |word: &str| {
        format!("g1 greet(@N, {word:?}) :- periodic(@N, _, 0.1). watchmod(greet, \"h\").")
    };
    wait_until("all run", || {
        nodes.iter().all(|node| node.counter("/turns") > 5 && node.counter("table/member/rows") > 2)
    });
    for (number, word) in [(1, "hello"), (2, "again")] {
        release(number, &greet(word));
        let greets = format!(", {word:?})");
        wait_until(word, || nodes.iter().all(|node| says(node, &greets)));
    }
    // It has errors: all nodes get it, report that, and greet as before.
    release(3, "g1 greet(@N :- ");
    wait_until("unfit", || nodes.iter().all(|node| says(node, "unfit(")));
    let lines = nodes.iter().map(Running::lines).collect::<Vec<_>>();
    wait_until("they go on", || nodes.iter().zip(&lines).all(|(node, was)| node.lines() > was + 5));
    let refused = nodes.iter().map(|node| node.counter("border/program::rules/refused"));
    assert_eq!(refused.collect::<Vec<_>>(), [1, 1, 1]);
    // An empty version is valid, too.
    release(4, "");
    wait_until("all are still", || {
        let before = nodes.iter().map(Running::lines).collect::<Vec<_>>();
        std::thread::sleep(Duration::from_millis(500));
        nodes.iter().map(Running::lines).eq(before)
    });
}

/// A node that accepts messages from anyone installs nothing by rules.
#[test]
fn an_open_node_installs_nothing_by_rules() {
    let folder = Folder::new();
    let rules = "program::rules(@NODE, \"more.olg\", \"m1 more(@N) :- periodic(@N, _, 0.1).
        watch(more).\").
        w1 why(@N, R) :- program::refused(@N, _, R). watch(why).";
    let path = folder.file("a.olg", &rules.replace("\n       ", ""));
    let address = free_addresses(1)[0].replace("127.0.0.1", "0.0.0.0");
    let output = tidemill()
        .args(["run", &path, "--listen", &address, "--address", "localhost:1", "--open"])
        .args(["--for", "0.5"])
        .env("XDG_RUNTIME_DIR", folder.path())
        .output()
        .expect("starts");
    let (data, notes) = (stdout(&output), stderr(&output));
    assert!(data.contains("why(") && !data.contains("more("), "{data}{notes}");
    assert!(notes.contains("rules more.olg are not installed: anyone could install"), "{notes}");
}

/// An installation leaves the rest of the program as it runs, whatever has become of its files:
/// changed, broken or gone.
#[test]
fn an_installation_leaves_the_files_alone() {
    ["1", "3"].into_iter().for_each(files_of_an_installation);
}

fn files_of_an_installation(workers: &str) {
    let folder = Folder::new();
    let graph = |app: &str| {
        format!(
            "src :: Generator {{ frames: [{}], packets: 1000000, rate: 500 }}
             {app} :: Rules {{ fields: \"len\", event: \"packet\", verdict: \"send\" }}
             end :: Sink
             src -> {app}.input\n {app}.out -> end\n",
            frames()
        )
    };
    let flow = folder.file("a.flow", &graph("gate"));
    let text = "materialize(kept, infinity, infinity, keys(1, 2)). kept(@NODE, 7).
        r1 send(@N, \"out\", Id) :- packet(@N, _, Id, Length).\n";
    let rules = folder.file("a.olg", text);
    let more = "materialize(more, infinity, infinity, keys(1, 2)).\nm1 more(@N, X) :- kept(@N, X).";
    let more = folder.file("more.olg", more);
    let address = &free_addresses(1)[0];
    let arguments = [&rules, &flow, "--listen", address, "--workers", workers];
    let run = Running::start(&folder, "out", &arguments);
    wait_until("packets come", || run.counter("border/gate/verdicts") > 10);
    let tool = |words: &[&str]| {
        let mut tool = tidemill();
        tool.args(words).env("XDG_RUNTIME_DIR", folder.path()).output().expect("starts")
    };
    let done = |words: &[&str]| {
        let output = tool(words);
        assert_eq!(status(&output), 0, "{words:?}: {}", stderr(&output));
        stdout(&output)
    };
    folder.file("a.flow", &graph("door"));
    folder.file("a.olg", &text.replace("7)", "8)"));
    done(&["install", address, &more]);
    assert_eq!(done(&["query", address, "more"]), format!("more({address:?}, 7)\n"));
    folder.file("a.olg", "r1 send(");
    done(&["uninstall", address, "more.olg"]);
    assert_eq!(status(&tool(&["query", address, "more"])), 1);
    fs::remove_file(&rules).expect("it is there");
    fs::remove_file(&flow).expect("it is there");
    done(&["install", address, &more]);
    assert_eq!(done(&["query", address, "more"]), format!("more({address:?}, 7)\n"));
    let verdicts = run.counter("border/gate/verdicts");
    wait_until("the graph runs", || run.counter("border/gate/verdicts") > verdicts + 40);
}

/// The graphs of all workers are replaced, which is reported once.
#[test]
fn the_instances_of_a_graph_are_replaced() {
    let folder = Folder::new();
    let frame = |at: u8| {
        let ends = "02:00:00:00:00:01 > 02:00:00:00:00:02";
        format!("\"{ends} ip 10.0.0.{at} > 10.1.0.1 udp 7 > 9\"")
    };
    let frames: Vec<String> = (1..30).map(frame).collect();
    let graph = |expr: &str| {
        format!(
            "src :: Generator {{ frames: [{}], packets: 1000000, rate: 1000 }}
             keep :: Filter {{ expr: {expr:?} }}
             end :: Sink
             src -> keep -> end",
            frames.join(", ")
        )
    };
    let path = folder.file("a.flow", &graph("udp"));
    let child = start(&folder, &[&path, "--workers", "2", "--stats", "--for", "2.5"]);
    std::thread::sleep(EACH);
    folder.file("a.flow", &graph("tcp"));
    let (_, notes) = ended(child);
    let reloaded = "tidemill: reloaded: 2 apps kept, 1 reconfigured";
    assert_eq!(notes.matches(reloaded).count(), 1, "{notes}");
    let passed = |link: &str| -> u64 {
        let line = notes.lines().find_map(|line| line.strip_prefix(&format!("link {link}: ")));
        let count = line.and_then(|line| line.split(' ').next());
        count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{notes}"))
    };
    // Had one of them gone on with the old graph, half of its packets would have passed more.
    let (all, kept) = (passed("src.output->keep.input"), passed("keep.output->end.keep"));
    assert!(kept > 0 && kept < all * 7 / 10, "{kept} of {all}");
}

/// `flow::config` needs neither a declaration nor a rule that names it.
#[test]
fn settings_come_from_the_command_line_and_scripts() {
    let folder = Folder::new();
    let rules = folder.file("a.olg", "r1 tick(@N, X) :- periodic(@N, X, 1).\n");
    let graph = folder.file(
        "a.flow",
        "src :: Source { packets: 10, size: 64 }\ncut :: Truncate { length: 100 }\n\
         end :: Sink\nsrc -> cut -> end\n",
    );
    let program = format!("{rules} {graph}");
    let fact = |value: &str| format!("--fact flow::config(NODE,\"cut\",\"length\",{value})");
    let output = run(&format!("run {program} --for 0.3 {}", fact("32")));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("1 reconfigured"), "{}", stderr(&output));
    let output = run(&format!("run {program} --for 0.3 {}", fact("\"x\"")));
    assert!(stderr(&output).contains("app cut: `length` is refused"), "{}", stderr(&output));
    let script = folder.file(
        "s.sim",
        "at 1 fact 0 flow::config(NODE, \"cut\", \"length\", 32)\n\
         at 2 expect 0 flow::config(NODE, \"cut\", \"length\", 32) count 1\nat 3 end\n",
    );
    let output = run(&format!("sim {program} --script {script}"));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("1 reconfigured"), "{}", stderr(&output));
    // Without a graph there is no such table.
    let output = run(&format!("run {rules} --for 0.3 {}", fact("32")));
    assert_eq!(status(&output), 2);
}
