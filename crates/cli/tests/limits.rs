//! Limits that users are promised: times to compile and to start, and that deleted objects are
//! freed. Times are CPU times of the command, the least of several runs, so that they do not depend
//! on the load of the machine.

use crate::common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::common::{Folder, tidemill};

/// `limit`, longer in slow builds: unoptimised ones, and those with sanitizers, which set
/// `SLOWNESS`.
fn in_this_build(limit: Duration) -> Duration {
    let unoptimised = if cfg!(debug_assertions) { 8 } else { 1 };
    limit * unoptimised * tidemill_support::variable("SLOWNESS").unwrap_or(1)
}

fn command(arguments: &[&str], file: &Path) -> Child {
    tidemill()
        .arg("run")
        .args(arguments)
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

/// CPU time of a child up to its end, of its first thread, and what it wrote.
fn cpu(mut child: Child) -> (Duration, String) {
    let files = Path::new("/proc").join(child.id().to_string());
    let read = |name: &str| fs::read_to_string(files.join(name)).expect("the child is there");
    // A process that has ended and was not waited for still has its statistics.
    while !read("stat").rsplit(") ").next().is_some_and(|state| state.starts_with('Z')) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let accounts = read("schedstat");
    let ns = accounts.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds");
    let mut written = String::new();
    use std::io::Read;
    child.stdout.take().expect("piped").read_to_string(&mut written).expect("text");
    assert!(child.wait().expect("it has ended").success(), "{written}");
    (Duration::from_nanos(ns), written)
}

fn least(runs: usize, arguments: &[&str], file: &Path, expected: &str) -> Duration {
    let run = |_| {
        let (time, written) = cpu(command(arguments, file));
        assert_eq!(written, expected);
        time
    };
    (0..runs).map(run).min().expect("runs")
}

#[test]
fn hello_takes_twenty_milliseconds_from_start_to_exit() {
    let folder = Folder::new();
    let program = "COMPONENT Hello; BEGIN WRITE(\"Hello, world\"); WRITELINE END Hello;\n";
    let program = folder.file("hello.com", program);
    let least = least(7, &[], Path::new(&program), "Hello, world\n");
    assert!(least < in_this_build(Duration::from_millis(20)), "{least:?}");
}

/// A program of this number of lines: components with a monitor, messages, loops, texts,
/// collections.
fn long_program(lines: usize) -> String {
    let mut text =
        String::from("INTERFACE Ask; { IN Add(n: INTEGER) OUT Sum(n: INTEGER) } END Ask;\n");
    let mut count = 0;
    while text.lines().count() + 40 < lines {
        count += 1;
        let _ = write!(
            text,
            "COMPONENT C{count} OFFERS Ask;
  CONSTANT STEP = {count};
  VARIABLE
    sum, calls: INTEGER;
    name: TEXT;
    seen[key: INTEGER]: INTEGER;

  PROCEDURE Twice(n: INTEGER): INTEGER;
  BEGIN
    IF n < 0 THEN
      RETURN -2 * n
    ELSE
      RETURN 2 * n
    END
  END Twice;

  IMPLEMENTATION Ask;
    VARIABLE n, i: INTEGER;
  BEGIN
    WHILE ?Add DO
      ?Add(n);
      BEGIN {{EXCLUSIVE}}
        AWAIT(calls >= 0);
        FOR i := 1 TO n DO
          sum := sum + i * STEP;
          seen[i MOD 10] := sum
        END;
        INC(calls);
        name := \"called\"
      END;
      !Sum(Twice(n))
    END
  END Ask;
BEGIN
  sum := 0; calls := 0
END C{count};

"
        );
    }
    text += "COMPONENT Main;\n  VARIABLE c: C1; n: INTEGER;\n  BEGIN\n";
    text += "    NEW(c); c!Add(20); c?Sum(n);\n    WRITE(n); WRITELINE\nEND Main;\n";
    while text.lines().count() < lines {
        text.push('\n');
    }
    text
}

#[test]
fn ten_thousand_lines_compile_within_a_second() {
    let folder = Folder::new();
    let file = folder.path().join("long.com");
    let text = long_program(10_000);
    assert_eq!(text.lines().count(), 10_000);
    fs::write(&file, text).expect("written");
    let least = least(3, &[], &file, "40\n");
    assert!(least < in_this_build(Duration::from_secs(1)), "{least:?}");
}

/// Creates and deletes a ring of nodes `times` times; between two of them no node is alive.
fn rings(times: u32) -> String {
    format!(
        "INTERFACE Token; IN Pass END Token;
COMPONENT Node OFFERS Token REQUIRES Token;
  IMPLEMENTATION Token;
    BEGIN ?Pass
  END Token;
END Node;
COMPONENT Ring;
  VARIABLE node[n: INTEGER]: Node; i: INTEGER;
BEGIN
  FOR i := 0 TO 999 DO NEW(node[i]) END;
  FOR i := 0 TO 999 DO CONNECT(Token(node[i]), Token(node[(i + 1) MOD 1000])) END;
  FOR i := 0 TO 999 DO node[i]!Pass END
END Ring;
COMPONENT Main;
  VARIABLE ring: Ring; i: INTEGER;
  BEGIN
    FOR i := 1 TO {times} DO NEW(ring); DELETE(ring) END;
    WRITE(i); WRITELINE
END Main;
"
    )
}

/// `--stats` of a run with a repeatable schedule.
fn stats(program: &str) -> String {
    let folder = Folder::new();
    let file = folder.path().join("ring.com");
    fs::write(&file, program).expect("written");
    let output = tidemill().args(["run", "--seed", "1", "--stats"]).arg(&file).output();
    common::stderr(&output.expect("the command starts"))
}

#[test]
fn a_thousand_rings_take_the_memory_of_one() {
    let few = stats(&rings(2));
    let many = stats(&rings(1000));
    let peak = |stats: &str| -> u64 {
        let line = stats.lines().find_map(|line| line.strip_prefix("peak memory: "));
        line.and_then(|line| line.strip_suffix(" bytes")?.parse().ok()).expect("a peak")
    };
    assert!(many.contains("components: 1001001 created, 0 alive\n"), "{many}");
    for kind in ["processes", "channels", "texts"] {
        let line = many.lines().find(|line| line.starts_with(kind)).expect("a count");
        assert!(line.ends_with(", 0 alive"), "{line}");
    }
    assert_eq!(peak(&many), peak(&few), "{few}{many}");
}
