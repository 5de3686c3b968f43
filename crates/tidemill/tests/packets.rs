//! Packets to rules and back, from one capture to another.

use std::fs;
use std::path::{Path, PathBuf};

use tidemill::packets::{self, EngineKind, RunOptions};
use tidemill_packet::flow;
use tidemill_stdx::diag::Sources;

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tidemill-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("writable");
    folder
}

fn run(text: &str, kind: EngineKind) -> packets::Ended {
    let (options, mut sources) = (flow::Options::default(), Sources::new());
    let loaded = flow::load_text("test.flow", text, &options, &packets::catalogue(), &mut sources);
    let found: String = loaded.diagnostics.iter().map(|one| sources.render(one)).collect();
    let graph = loaded.graph.unwrap_or_else(|| panic!("{found}"));
    let options = RunOptions { kind, seed: Some(1), ..RunOptions::default() };
    packets::run(graph, options, Box::new(|note| panic!("{note}"))).expect("it runs")
}

/// All packets go to one end, some to another, and some nowhere.
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
            ("troubles", 0),
            ("drop_no_bytes", 1),
            ("drop_no_output", 1),
        ];
        let expected: Vec<(String, u64)> =
            expected.map(|(name, count)| (name.to_owned(), count)).to_vec();
        assert_eq!(*counts, expected);
        let read = |name: &str| {
            use tidemill_apps::capture::{Frame, Reader};
            let file = fs::File::open(folder.join(name)).expect("written");
            let (mut reader, mut frame) = (Reader::new(file).expect("a capture"), Frame::default());
            let mut frames = Vec::new();
            while reader.next(&mut frame).is_ok() {
                frames.push(frame.bytes.clone());
            }
            frames
        };
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
    let refused = |rules: &str| {
        fs::write(folder.join("rules.olg"), rules).expect("writable");
        let (options, mut sources) = (flow::Options::default(), Sources::new());
        let text = graph(&folder);
        let catalogue = packets::catalogue();
        let loaded = flow::load_text("test.flow", &text, &options, &catalogue, &mut sources);
        let graph = loaded.graph.expect("the graph is right");
        packets::run(graph, RunOptions::default(), Box::new(|_| {})).expect_err("refused")
    };
    let none = refused("r1 send(@N, \"out\", Bytes) :- paket(@N, \"src\", Bytes).");
    assert!(none.contains("has no relation packet of 3 columns"), "{none}");
    let wrong = refused("r1 send(@N, \"out\", Bytes :- packet(@N, \"src\", Bytes).");
    assert!(wrong.contains("error["), "{wrong}");
    fs::remove_dir_all(folder).expect("removed");
}
