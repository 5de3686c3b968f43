//! Every border under a crash of its node and the death of either side: nothing is uncounted.
//!
//! Each case is a program in which one side hands something over again and again. What is handed
//! over is counted by its sender, and must equal what arrives and what is counted as lost or
//! refused. All input ends long before the simulation does, so nothing is under way at the end.

use tidemill::program::{LoadOptions, Program};
use tidemill::run::Report;
use tidemill::sim::{SimOptions, Simulation};
use tidemill::tape::taped;
use tidemill_diag::Sources;

/// A border, with a program that crosses it.
struct Case {
    name: &'static str,
    texts: &'static [(&'static str, &'static str)],
    /// Deaths of one side or the other, beside crashes of nodes.
    kills: &'static str,
    /// What was handed over, and what became of it.
    balance: fn(&Counts<'_>) -> [u64; 2],
}

/// The counts of a report.
struct Counts<'r>(&'r Report);

impl Counts<'_> {
    /// Counters of a border, together.
    fn border(&self, border: &str, counters: &[&str]) -> u64 {
        let names: Vec<String> = counters.iter().map(|it| format!("{border}/{it}")).collect();
        let of = self.0.borders.iter().filter(|(name, _)| names.contains(name));
        of.map(|(_, count)| count).sum()
    }

    /// Tuples that rules have derived, beside so many for each of some others.
    fn derived(&self) -> u64 {
        self.0.nodes.as_ref().map_or(0, |nodes| nodes.rules.derived)
    }

    /// Packets that have left a link, and that it still has.
    fn link(&self, number: usize) -> [u64; 2] {
        let link = &self.0.packets.as_ref().expect("a graph").links[number].1;
        [link.rx_packets, link.tx_packets - link.rx_packets]
    }

    /// Drops of nodes and the network.
    fn dropped(&self, reason: &str) -> u64 {
        let dropped = self.0.nodes.iter().flat_map(|nodes| &nodes.dropped);
        dropped.filter(|(name, _)| name == reason).map(|(_, count)| count).sum()
    }
}

const SCHEMA: (&str, &str) =
    ("t.proto", "syntax = \"proto3\"; package t; message R { int64 a = 1; }");

const FRAMES: &str = "
    src :: Generator {
        frames: [
            \"02:00:00:00:00:01 > 02:00:00:00:00:02 ip 10.0.0.1 > 10.0.0.2 udp 1 > 2 payload 0801\",
            \"hex 0102030405060708090a0b0c0d0e0f\"
        ],
        packets: 200,
        rate: 100
    }";

const CASES: &[Case] = &[
    Case {
        name: "rules to schemas, decoded",
        texts: &[
            SCHEMA,
            (
                "a.olg",
                "stage(\"proto:t.R\", raw, got).
                r1 raw(@N, B) :- periodic(@N, E, 0.01, 200), B := b\"\\x08\\x01\".
                r2 seen(@N, A) :- got(@N, A).",
            ),
        ],
        kills: "",
        // Each message is derived twice: in bytes, and by its fields.
        balance: |it| {
            [it.derived(), 2 * it.border("proto:t.R", &["passed"]) + it.dropped("waiting_crashed")]
        },
    },
    Case {
        name: "rules to schemas, encoded",
        texts: &[
            SCHEMA,
            (
                "a.olg",
                "stage(\"proto:encode t.R\", got, raw).
                r1 got(@N, A) :- periodic(@N, E, 0.01, 200), A := 7.
                r2 seen(@N, A) :- raw(@N, A).",
            ),
        ],
        kills: "",
        balance: |it| [it.derived(), 2 * it.border("proto:encode t.R", &["passed"])],
    },
    Case {
        name: "rules to components, stage",
        texts: &[
            (
                "a.olg",
                "stage(\"cl:Echo\", ask, said, keys(2)).
                r1 ask(@N, K, 7) :- periodic(@N, E, 0.01, 200), K := f_rand() % 3.",
            ),
            (
                "a.com",
                "INTERFACE Work; { IN A(k, n: INTEGER) { OUT B(k, n: INTEGER) } OUT Done } END Work;
                COMPONENT Echo OFFERS Work REQUIRES SystemTime;
                  IMPLEMENTATION Work; VARIABLE k, n: INTEGER;
                  BEGIN {EXCLUSIVE} WHILE ?A DO
                    ?A(k, n); SystemTime!Wait(25); SystemTime?Passed; !B(k, n); !Done END
                  END Work;
                END Echo;",
            ),
        ],
        kills: "at 0.5 kill * component Echo\nat 1.5 kill * component Echo\n",
        balance: |it| {
            let lost = ["lost", "dropped_full", "dropped_refused"];
            [it.derived(), it.border("cl:Echo", &["out"]) + it.border("cl:Echo", &lost)]
        },
    },
    Case {
        name: "rules to packets, verdicts",
        texts: &[
            (
                "a.flow",
                "src :: Generator { frames: [\"hex 010203040506070809\"], packets: 200, rate: 100 }
                rules :: Rules { fields: \"len\", event: \"packet\", verdict: \"send\" }
                out :: Sink
                src -> rules -> out",
            ),
            ("a.olg", "r1 send(@N, \"out\", Id) :- packet(@N, Port, Id, Len)."),
        ],
        kills: "at 0.5 kill * app out\nat 1 kill * app rules\n",
        balance: |it| {
            let lost = ["stale", "dropped_no_output", "dropped_no_packet", "dropped_no_room"];
            let [taken, waiting] = it.link(1);
            let sent = it.border("rules", &["verdicts"]);
            assert_eq!(sent, taken + waiting);
            [it.derived(), sent + it.border("rules", &lost)]
        },
    },
    Case {
        name: "rules to packets, settings",
        texts: &[
            (
                "a.flow",
                "src :: Generator { frames: [\"hex 010203040506070809\"], packets: 200, rate: 100 }
                cut :: Truncate { length: 100 }
                out :: Sink
                src -> cut -> out",
            ),
            (
                "a.olg",
                "materialize(n, infinity, 1, keys(1)).
                n(@NODE, 100).
                r1 tick(@N, I) :- periodic(@N, E, 0.01, 200), n(@N, I).
                r2 n(@N, I + 1) :- tick(@N, I).
                r3 flow::config(@N, \"cut\", \"length\", I) :- tick(@N, I).",
            ),
        ],
        kills: "at 0.5 kill * app cut\n",
        balance: |it| {
            let [taken, waiting] = it.link(0);
            let [sent, kept] = it.link(1);
            assert_eq!((taken, waiting, kept), (sent, 0, 0));
            [it.derived(), 3 * it.border("flow::config", &["changes"])]
        },
    },
    Case {
        name: "rules to components, deliveries",
        texts: &[
            ("a.olg", "r1 tick(@N, 1) :- periodic(@N, E, 0.01, 200)."),
            (
                "a.com",
                "INTERFACE Rules;
                  { IN Next ( OUT tick(change: CHARACTER; n: INTEGER) | OUT End ) } END Rules;
                COMPONENT Get REQUIRES Rules, SystemTime; VARIABLE c: CHARACTER; n: INTEGER;
                BEGIN WHILE TRUE DO
                  Rules!Next; Rules?tick(c, n); SystemTime!Wait(15); SystemTime?Passed END
                END Get;
                COMPONENT {ENTRYPOINT} Main REQUIRES Rules, SystemTime;
                  VARIABLE g: Get;
                BEGIN
                  WHILE TRUE DO
                    NEW(g); CONNECT(Rules(g), Rules); CONNECT(SystemTime(g), SystemTime);
                    AWAIT(FAILED(g))
                  END
                END Main;",
            ),
        ],
        kills: "at 0.505 kill * component Main/g\n",
        balance: |it| [it.derived(), it.border("Rules", &["out", "lost", "dropped_full"])],
    },
    Case {
        name: "components to rules",
        texts: &[
            ("a.olg", "r2 seen(@N, X) :- put(@N, X)."),
            (
                "a.com",
                "INTERFACE Rules; { IN put(n: INTEGER) OUT Taken } END Rules;
                COMPONENT Put REQUIRES Rules, SystemTime; VARIABLE i: INTEGER;
                BEGIN FOR i := 1 TO 200 DO
                  Rules!put(i); Rules?Taken; SystemTime!Wait(10); SystemTime?Passed END
                END Put;
                COMPONENT {ENTRYPOINT} Main REQUIRES Rules, SystemTime; VARIABLE p: Put;
                BEGIN
                  NEW(p); CONNECT(Rules(p), Rules); CONNECT(SystemTime(p), SystemTime);
                  SystemTime!Wait(100000); SystemTime?Passed
                END Main;",
            ),
        ],
        kills: "at 0.505 kill * component Main/p\n",
        balance: |it| [it.border("Rules", &["in"]), it.derived() + it.dropped("waiting_crashed")],
    },
    Case {
        name: "components to schemas",
        texts: &[
            SCHEMA,
            ("a.olg", "r2 round(@N, X) :- begun(@N, X)."),
            (
                "a.com",
                "INTERFACE Rules; { IN begun(n: INTEGER) OUT Taken } END Rules;
                COMPONENT Work REQUIRES Rules, Messages, SystemTime; VARIABLE i: INTEGER; why: TEXT;
                BEGIN FOR i := 1 TO 200 DO
                  Messages!New(\"t.R\"); Messages?Done; Messages!SetInteger(\"a\", i);
                  Messages?Done; Messages!SetInteger(\"b\", i); Messages?Failed(why);
                  Rules!begun(i); Rules?Taken; SystemTime!Wait(10); SystemTime?Passed END
                END Work;
                COMPONENT {ENTRYPOINT} Main REQUIRES Rules, Messages, SystemTime;
                  VARIABLE w: Work;
                BEGIN
                  NEW(w); CONNECT(Rules(w), Rules); CONNECT(Messages(w), Messages);
                  CONNECT(SystemTime(w), SystemTime);
                  SystemTime!Wait(100000); SystemTime?Passed
                END Main;",
            ),
        ],
        kills: "at 0.505 kill * component Main/w\n",
        // Two requests of each round pass, and one fails.
        balance: |it| {
            let [passed, failed] = ["passed", "failed"].map(|name| it.border("Messages", &[name]));
            assert_eq!(passed, 2 * failed);
            [it.derived(), failed]
        },
    },
    Case {
        name: "components and packets",
        texts: &[
            (
                "a.flow",
                "src :: Generator { frames: [\"hex 010203040506070809\"], packets: 200, rate: 100 }
                door :: Outside
                out :: Sink
                src -> door -> out",
            ),
            (
                "a.com",
                "COMPONENT Work REQUIRES Packets, SystemTime; VARIABLE b: TEXT; isSent: BOOLEAN;
                BEGIN Packets!Open(\"door\"); Packets?Opened;
                  WHILE TRUE DO
                    Packets!Receive; Packets?Packet(b); Packets!Send(b); Packets?Sent(isSent);
                    SystemTime!Wait(15); SystemTime?Passed
                  END
                END Work;
                COMPONENT {ENTRYPOINT} Main REQUIRES Packets, SystemTime; VARIABLE w: Work;
                BEGIN
                  WHILE TRUE DO
                    NEW(w); CONNECT(Packets(w), Packets); CONNECT(SystemTime(w), SystemTime);
                    AWAIT(FAILED(w))
                  END
                END Main;",
            ),
        ],
        kills: "at 0.505 kill * component Main/w\nat 1 kill * app door\nat 1.2 kill * app out\n",
        balance: |it| {
            let [received, lost, sent] =
                ["received", "lost", "sent"].map(|name| it.border("door", &[name]));
            let [taken, waiting] = it.link(1);
            assert_eq!((sent, it.border("door", &["not_sent"])), (taken + waiting, 0));
            [it.link(0)[0], received + lost]
        },
    },
    Case {
        name: "packets to rules",
        texts: &[
            (
                "a.flow",
                "src :: Generator { frames: [\"hex 010203040506070809\"], packets: 200, rate: 100 }
                rules :: Rules { fields: \"len\", event: \"packet\", verdict: \"\" }
                src -> rules",
            ),
            ("a.olg", "r1 seen(@N, L) :- packet(@N, Port, Id, L)."),
        ],
        kills: "at 0.5 kill * app rules\nat 1 kill * app src\n",
        balance: |it| {
            let events = it.border("rules", &["events"]);
            assert_eq!(events, it.derived() + it.dropped("waiting_crashed"));
            [it.link(0)[0], events]
        },
    },
    Case {
        name: "packets to schemas",
        texts: &[
            SCHEMA,
            ("a.olg", "r1 seen(@N, A) :- reading(@N, A)."),
            (
                "a.flow",
                "FRAMES
                read :: Decode { type: \"t.R\", from: \"udp.payload\", event: \"reading\" }
                rest :: Sink
                src -> read
                read.rest -> rest",
            ),
        ],
        kills: "at 0.5 kill * app read\nat 1 kill * app rest\n",
        balance: |it| {
            let [messages, rest] = ["messages", "rest"].map(|name| it.border("read", &[name]));
            let [taken, waiting] = it.link(1);
            assert_eq!((rest, messages), (taken + waiting, it.derived()));
            assert!(rest > 0 && messages > 0);
            [it.link(0)[0], messages + rest + it.border("read", &["dropped_no_rest"])]
        },
    },
    Case {
        name: "rules to files",
        texts: &[(
            "a.olg",
            "r1 out(@N, X) :- periodic(@N, E, 0.01, 200), X := 7.
            sink(\"out.jsonl\", out).",
        )],
        kills: "",
        balance: |it| {
            let tuples = it.border("out.jsonl", &["tuples"]);
            let after = ["written", "dropped_unwritable", "dropped_wrong_type"];
            assert_eq!(tuples, it.border("out.jsonl", &after));
            [it.derived(), tuples]
        },
    },
    Case {
        name: "packets to components of flows",
        texts: &[
            (
                "a.flow",
                "FRAMES
                flows :: Script { component: \"Flow\", per: \"len\" }
                out :: Sink
                src -> flows -> out",
            ),
            (
                "a.com",
                "COMPONENT Flow REQUIRES Packets; VARIABLE b: TEXT; isSent: BOOLEAN;
                BEGIN Packets!Open(\"src -> out\"); Packets?Opened;
                  WHILE TRUE DO
                    Packets!Receive; Packets?Packet(b); Packets!Send(b); Packets?Sent(isSent) END
                END Flow;",
            ),
        ],
        kills: "at 0.5 kill * app flows\nat 0.8 kill * component Flow\nat 1 kill * app out\n",
        balance: |it| {
            let [taken, received, sent] =
                ["taken", "received", "sent"].map(|name| it.border("flows", &[name]));
            let [of_link, waiting] = it.link(1);
            assert_eq!((sent, taken), (of_link + waiting, it.link(0)[0]));
            let dropped = [
                "dropped_no_room", "dropped_no_memory", "dropped_queue_full", "dropped_not_open",
                "dropped_ended", "dropped_failed",
            ];
            [taken, received + it.border("flows", &dropped)]
        },
    },
    Case {
        name: "the system to rules",
        texts: &[
            (
                "a.flow",
                "src :: Generator { frames: [\"hex 010203040506070809\"], packets: 200, rate: 100 }
                end :: Sink
                src -> end",
            ),
            (
                "a.olg",
                "r1 got(@N, P) :- periodic(@N, E, 0.01, 200),
                    sys::app(@N, \"end\", T, S, P, Ns, R).
                r2 seen(@N, P) :- got(@N, P).",
            ),
        ],
        kills: "at 0.5 kill * app end\n",
        // The row is there whenever it is read.
        balance: |it| {
            let fired = it.0.nodes.as_ref().map_or(0, |nodes| nodes.rules.fired);
            [fired, it.derived() + it.dropped("waiting_crashed")]
        },
    },
];

/// Crashes of both nodes, of which the first comes back.
const CRASHES: &str = "at 0.705 crash 0\nat 1.2 restart 0\nat 1.805 crash 1\n";

fn run(case: &Case, script: &str) -> Report {
    let texts: Vec<(&str, String)> =
        case.texts.iter().map(|(name, text)| (*name, text.replace("FRAMES", FRAMES))).collect();
    let texts: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, &**text)).collect();
    let program = Program::of_texts(&texts, &LoadOptions::default());
    let found: String = program.diagnostics.iter().map(|one| program.sources.render(one)).collect();
    assert!(!program.has_errors(), "{}: {found}", case.name);
    let root = std::env::temp_dir().join(format!("tidemill-crashes-{}", std::process::id()));
    std::fs::create_dir_all(&root).expect("a folder");
    let options = SimOptions {
        nodes: 2,
        end_ns: Some(12_000_000_000),
        root: Some(root.clone()),
        ..SimOptions::default()
    };
    let mut simulation = Simulation::new(program, options).expect("it can");
    let mut sources = Sources::new();
    let file = sources.add("a.sim", script.to_owned());
    let (script, errors) = tidemill::script::parse(file, script);
    assert!(errors.is_empty());
    let wrong = simulation.script(&script, &sources);
    assert!(wrong.is_empty(), "{}: {wrong:?}", case.name);
    let (console, _, notes) = taped();
    let report = simulation.run(console).expect("it runs");
    let _ = std::fs::remove_dir_all(&root);
    assert!(!notes.text().contains("node 0 has no"), "{}: {}", case.name, notes.text());
    report
}

#[test]
fn nothing_is_uncounted_when_a_side_dies() {
    let both = |kills: &str| format!("{kills}{CRASHES}");
    let mut wrong = String::new();
    for case in CASES {
        let scripts = ["".to_owned(), case.kills.to_owned(), CRASHES.to_owned(), both(case.kills)];
        for script in scripts {
            let report = run(case, &script);
            let [handed_over, accounted] = (case.balance)(&Counts(&report));
            if handed_over != accounted || handed_over < 100 {
                wrong += &format!(
                    "{} under {script:?}: {handed_over} and {accounted}: {:?} {:?}\n",
                    case.name, report.borders, report.nodes
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
