//! Packets to rules and back, from one capture to another.

use std::fs;
use std::path::{Path, PathBuf};

use tidemill::console::Console;
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{EngineKind, PacketOptions, PacketsEnded, RunOptions};
use tidemill::tape::taped;

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tidemill-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("writable");
    folder
}

fn load(text: &str) -> Program {
    Program::of_text("test.flow", text, &LoadOptions::default())
}

/// The diagnostics of a text.
fn found(text: &str) -> String {
    let program = load(text);
    program.diagnostics.iter().map(|one| program.sources.render(one)).collect()
}

/// Runs a graph for some time at most; returns its result and the notes.
fn run_noting(text: &str, engine: EngineKind, end_ms: Option<u64>) -> (PacketsEnded, Vec<String>) {
    assert!(!load(text).has_errors(), "{}", found(text));
    let options = RunOptions {
        end_ns: end_ms.map(|end| end * 1_000_000),
        seed: Some(1),
        packets: PacketOptions { engine, ..PacketOptions::default() },
        ..RunOptions::default()
    };
    let (console, _, notes) = taped();
    let report = load(text).run(options, console).expect("it runs");
    let noted = notes.text();
    let notes = noted.lines().map(|line| line.trim_start_matches("tidemill: ").to_owned());
    (report.packets.expect("a graph"), notes.collect())
}

/// Runs a graph that must give no notes.
fn run(text: &str, engine: EngineKind) -> PacketsEnded {
    let (ended, notes) = run_noting(text, engine, None);
    assert!(notes.is_empty(), "{notes:?}");
    ended
}

/// The error of a graph that does not run.
fn refused(text: &str) -> String {
    assert!(!load(text).has_errors(), "{}", found(text));
    load(text).run(RunOptions::default(), Console::silent()).expect_err("refused").to_string()
}

/// All packets go to one end, some to another, and some to none.
const RULES: &str = "
materialize(seen, infinity, infinity, keys(2)).
r1 seen(@N, Bytes) :- packet(@N, Input, Bytes).
r2 send(@N, \"out\", Bytes) :- packet(@N, \"src\", Bytes).
r3 send(@N, \"copy\", Bytes) :- packet(@N, \"src\", Bytes), Bytes == b\"\\x02\\x02\".
r4 send(@N, \"nowhere\", 7) :- packet(@N, \"src\", Bytes), Bytes == b\"\\x03\".
r5 send(@N, \"nowhere\", Bytes) :- packet(@N, \"src\", Bytes), Bytes == b\"\\x04\".
";

fn graph(folder: &Path) -> String {
    format!(
        "src :: Generator {{ frames: [\"hex 01\", \"hex 0202\", \"hex 03\", \"hex 04\"] }}
         rules :: Rules {{ file: \"{0}/rules.olg\" }}
         out :: PcapWriter {{ file: \"{0}/out.pcap\" }}
         copy :: PcapWriter {{ file: \"{0}/copy.pcap\" }}
         src -> rules
         rules -> out
         rules -> copy",
        folder.display()
    )
}

#[test]
fn rules_send_what_they_derive_of_packets() {
    let folder = folder("rules");
    fs::write(folder.join("rules.olg"), RULES).expect("writable");
    let mut captures = Vec::new();
    for kind in [EngineKind::Compiled, EngineKind::Dispatch] {
        let ended = run(&graph(&folder), kind);
        assert!(ended.is_well());
        let (_, counts) = ended.apps.iter().find(|(name, _)| name == "rules").expect("it ran");
        let expected = [
            ("packets_taken", 4),
            ("packets_sent", 5),
            ("errors", 0),
            ("drop_no_bytes", 1),
            ("drop_no_output", 1),
        ];
        let expected: Vec<(String, u64)> =
            expected.map(|(name, count)| (name.to_owned(), count)).to_vec();
        assert_eq!(*counts, expected);
        let read = |name: &str| frames(&folder.join(name));
        assert_eq!(read("copy.pcap"), [[2, 2]]);
        captures.push(read("out.pcap"));
    }
    assert_eq!(captures[0], [&[1u8][..], &[2, 2], &[3], &[4]]);
    assert_eq!(captures[0], captures[1]);
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn programs_that_do_not_fit_are_refused() {
    let folder = folder("no-rules");
    let rules_refused = |rules: &str| {
        fs::write(folder.join("rules.olg"), rules).expect("writable");
        refused(&graph(&folder))
    };
    let none = rules_refused("r1 send(@N, \"out\", Bytes) :- paket(@N, \"src\", Bytes).");
    assert!(none.contains("has no relation packet of 3 columns"), "{none}");
    let wrong = rules_refused("r1 send(@N, \"out\", Bytes :- packet(@N, \"src\", Bytes).");
    assert!(wrong.contains("error["), "{wrong}");
    fs::remove_dir_all(folder).expect("removed");
}

/// A graph of frames, a script between them and one or two captures.
fn scripted(folder: &Path, program: &str, config: &str, links: &str) -> String {
    fs::write(folder.join("script.com"), program).expect("writable");
    format!(
        "src :: Generator {{ frames: [\"hex 01\", \"hex 0202\", \"hex 030303\"] }}
         script :: Script {{ file: \"{0}/script.com\", root: \"{0}\" {config} }}
         out :: PcapWriter {{ file: \"{0}/out.pcap\" }}
         src -> script
         {links}",
        folder.display()
    )
}

fn frames(file: &Path) -> Vec<Vec<u8>> {
    use tidemill_apps::capture::{CaptureReader, Frame};
    let file = fs::File::open(file).expect("written");
    let (mut reader, mut frame) = (CaptureReader::new(file).expect("a capture"), Frame::default());
    let mut frames = Vec::new();
    while reader.next(&mut frame).is_ok() {
        frames.push(frame.bytes.clone());
    }
    frames
}

fn count(ended: &PacketsEnded, app: &str, name: &str) -> u64 {
    let (_, counts) = ended.apps.iter().find(|(one, _)| one == app).expect("it ran");
    counts.iter().find(|(one, _)| one == name).map_or(0, |(_, count)| *count)
}

/// Two components, one for each output; the first gets modified bytes, the second waits.
const TWO_WAYS: &str = r#"
INTERFACE Take; { IN Take(packet: TEXT) } IN Done END Take;
COMPONENT Late OFFERS Take REQUIRES Packets, SystemTime;
  IMPLEMENTATION Take;
    VARIABLE packet: TEXT; isSent: BOOLEAN;
    BEGIN {EXCLUSIVE}
      Packets!Open("copy"); Packets?Opened;
      WHILE ?Take DO
        ?Take(packet);
        SystemTime!Wait(20); SystemTime?Passed;
        Packets!Send(packet); Packets?Sent(isSent)
      END;
      ?Done
  END Take;
END Late;
COMPONENT {ENTRYPOINT} Main REQUIRES Packets, SystemTime;
  VARIABLE late: Late; packet: TEXT; isSent: BOOLEAN;
  BEGIN
    NEW(late); CONNECT(Packets(late), Packets); CONNECT(SystemTime(late), SystemTime);
    Packets!Open("src -> out"); Packets?Opened
  ACTIVITY {EXCLUSIVE}
    WHILE TRUE DO
      Packets!Receive; Packets?Packet(packet);
      late!Take(packet);
      packet[0] := "x";
      Packets!Send(packet); Packets?Sent(isSent);
      ASSERT(isSent)
    END
END Main;
"#;

#[test]
fn scripts_receive_and_send_in_both_engines() {
    let folder = folder("script");
    let graph = scripted(&folder, TWO_WAYS, "", "script -> out");
    let graph = format!(
        "{graph}\n copy :: PcapWriter {{ file: \"{}/copy.pcap\" }}\n script -> copy",
        folder.display()
    );
    let mut engines = Vec::new();
    for kind in [EngineKind::Compiled, EngineKind::Dispatch] {
        let ended = run(&graph, kind);
        assert!(ended.is_well() && ended.packets.alive() == 0);
        assert_eq!((count(&ended, "script", "packets_taken")), 3);
        assert_eq!((count(&ended, "script", "packets_sent")), 6);
        let captures = ["out.pcap", "copy.pcap"].map(|name| frames(&folder.join(name)));
        engines.push(captures);
    }
    let [out, copy] = &engines[0];
    assert_eq!(*out, [b"x".to_vec(), b"x\x02".to_vec(), b"x\x03\x03".to_vec()]);
    assert_eq!(*copy, [vec![1], vec![2, 2], vec![3, 3, 3]]);
    assert_eq!(engines[0], engines[1]);
    fs::remove_dir_all(folder).expect("removed");
}

/// Takes one packet per life, and fails at the second.
const FAILS: &str = r#"
COMPONENT Main REQUIRES Packets;
  VARIABLE packet: TEXT; isSent: BOOLEAN; n: INTEGER;
  BEGIN
    n := 0;
    Packets!Open("src -> out"); Packets?Opened
  ACTIVITY {EXCLUSIVE}
    WHILE TRUE DO
      Packets!Receive; Packets?Packet(packet); INC(n);
      IF n = 2 THEN HALT(7) END;
      Packets!Send(packet); Packets?Sent(isSent)
    END
END Main;
"#;

#[test]
fn a_failed_script_is_restarted_and_reported_with_its_reason() {
    let folder = folder("failing-script");
    let graph = scripted(&folder, FAILS, "", "script -> out");
    for kind in [EngineKind::Compiled, EngineKind::Dispatch] {
        let (ended, notes) = run_noting(&graph, kind, Some(1000));
        assert!(ended.is_well(), "{notes:?}");
        let [failed, restarted] = &notes[..] else { panic!("{notes:?}") };
        assert!(failed.contains("script.com:10:21: fault[halt]: HALT(7) (Main, "), "{failed}");
        assert!(restarted.contains("script: restarted"), "{restarted}");
        assert_eq!(count(&ended, "script", "drop_failed"), 1);
        assert_eq!(frames(&folder.join("out.pcap")).len(), 1);
    }
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_script_has_so_many_steps_a_breath_and_no_more() {
    let folder = folder("busy-script");
    // It opens nothing and never rests; the other apps continue.
    let program = "COMPONENT Main REQUIRES Packets; VARIABLE i: INTEGER;
        ACTIVITY {EXCLUSIVE} WHILE TRUE DO i := (i + 1) MOD 10 END END Main;";
    let graph = scripted(&folder, program, ", steps: 1000", "script -> out");
    let graph = format!("{graph}\n other :: Source {{ packets: 5000 }} -> end :: Sink");
    for kind in [EngineKind::Compiled, EngineKind::Dispatch] {
        let (ended, notes) = run_noting(&graph, kind, Some(300));
        assert_eq!(notes, [""; 0]);
        let (_, link) = ended.links.iter().find(|(name, _)| name.contains("end")).expect("a link");
        assert_eq!(link.rx_packets, 5000);
        assert!(ended.engine.breaths > 20, "{:?}", ended.engine);
    }
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn what_a_script_does_not_take_is_counted() {
    let folder = folder("dropping-script");
    let ends = "COMPONENT Main REQUIRES Packets; BEGIN WRITE(1) END Main;";
    let opens = r#"COMPONENT Main REQUIRES Packets; VARIABLE why: TEXT;
        BEGIN Packets!Open("nobody"); Packets?Failed(why);
          ASSERT(why = "no link leads from or to `nobody`");
          Packets!Open("out"); Packets?Opened; Packets!Receive; Packets?Packet(why)
        END Main;"#;
    for (program, reason) in [(ends, "drop_ended"), (opens, "drop_not_open")] {
        let graph = scripted(&folder, program, "", "script -> out");
        let ended = run(&graph, EngineKind::Compiled);
        assert_eq!(count(&ended, "script", reason), 3, "{:?}", ended.apps);
        assert_eq!(ended.packets.alive(), 0);
    }
    fs::remove_dir_all(folder).expect("removed");
}

/// Ten packets for each: more than the output holds.
#[test]
fn unsent_packets_are_reported_and_counted() {
    let folder = folder("flooding-script");
    let floods = r#"COMPONENT Main REQUIRES Packets;
        VARIABLE packet: TEXT; isSent: BOOLEAN; i, sent: INTEGER;
        BEGIN Packets!Open("src -> out"); Packets?Opened; Packets!Receive; Packets?Packet(packet);
          sent := 0;
          FOR i := 1 TO 3000 DO
            Packets!Send(packet); Packets?Sent(isSent); IF isSent THEN INC(sent) END
          END;
          ASSERT(sent = 1024)
        END Main;"#;
    let graph = scripted(&folder, floods, "", "script -> out");
    let ended = run(&graph, EngineKind::Compiled);
    assert_eq!(count(&ended, "script", "drop_queue_full"), 3000 - 1024);
    let link = ended.links.iter().find(|(name, _)| name.ends_with("out.script"));
    let (_, link) = link.expect("a link");
    assert_eq!((link.rx_packets, link.tx_drops), (1023, 1));
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn scripts_that_do_not_fit_are_refused() {
    let folder = folder("no-script");
    let graph = scripted(&folder, "COMPONENT Main; BEGIN x := 1 END Main;", "", "script -> out");
    let refused = refused(&graph);
    assert!(refused.contains("script.com:1:23: error["), "{refused}");
    let graph = graph.replace("root:", "steps: 0, root:");
    assert!(load(&graph).has_errors() && found(&graph).contains("1 at least"));
    fs::remove_dir_all(folder).expect("removed");
}

/// A graph is no program of an app: it could contain itself, alone or by way of another.
#[test]
fn a_file_does_not_lead_back_to_itself() {
    let folder = folder("loop");
    let graph = |app: &str, file: &str| {
        let path = folder.join(file);
        format!("src :: Source {{ packets: 1 }}\nown :: {app} {{ file: {path:?} }}\nsrc -> own")
    };
    let name = |file: &str| folder.join(file).display().to_string();
    for (app, needed) in [("Rules", "rules"), ("Script", "components")] {
        // One that names itself, and two that name each other.
        for [file, other] in [["a.flow", "a.flow"], ["a.flow", "b.flow"]] {
            fs::write(folder.join(file), graph(app, other)).expect("written");
            fs::write(folder.join(other), graph(app, file)).expect("written");
            let program = Program::load(&[folder.join(file)], &LoadOptions::default());
            let [error] = &program.diagnostics[..] else { panic!("{:?}", program.diagnostics) };
            let other = name(other);
            assert_eq!(
                error.message,
                format!(
                    "`own` cannot run `{other}`, a packet graph, which could lead back to itself"
                )
            );
            assert_eq!(program.sources.name(error.span.file), name(file));
            assert!(program.sources.slice(error.span).starts_with("own"));
            let help = format!("the `file` of `{app}` is one of {needed}");
            assert_eq!(error.help.as_ref(), Some(&help));
        }
        let other = if app == "Rules" { "x.com" } else { "x.olg" };
        assert!(found(&graph(app, other)).contains("error[app-file]"));
        assert_eq!(found(&graph(app, if app == "Rules" { "x.OLG" } else { "x.cl" })), "");
    }
    // Rules that include themselves end with a place, too.
    let rules = folder.join("loop.olg");
    fs::write(&rules, "r1 x(@N) :- y(@N).\n#include \"loop.olg\"\n").expect("written");
    let error = refused(&graph("Rules", "loop.olg"));
    let place = format!("{}:2:10: error[include-cycle]", rules.display());
    assert!(error.contains(&place), "{error}");
    fs::remove_dir_all(&folder).expect("removed");
}
