//! Graphs that are changed, or in which an app fails, while a million packets a second pass: none
//! is lost on links that stay, and unaffected apps keep their rate.

use tidemill_diag::Sources;
use tidemill_packet::app::{App, Declared, Fault, Io, Start};
use tidemill_packet::engine::{Engine, EngineKind, Options, Rest};
use tidemill_packet::flow::{self, load_text};
use tidemill_packet::graph::Graph;

/// Packets of a source in a breath, and the duration of a breath.
const BURST: u64 = 256;
const BREATH_NS: u64 = BURST * 1000;

tidemill_packet::declare! {
    /// Passes packets on, and panics now and then.
    app Shaky {
        config ShakyConfig {
            /// How many packets it takes.
            packets: u64,
        }
        ports {
            /// What passes.
            input: Input(Push, One),
            /// What has passed.
            output: Output(Push, One),
        }
        traits {}
    }
}

struct Shaky {
    left: u64,
}

impl App for Shaky {
    fn new(config: ShakyConfig, _: &mut Start) -> Result<Shaky, Fault> {
        Ok(Shaky { left: config.packets })
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        while let Some(packet) = io.receive(0) {
            io.send(0, packet);
            assert!(self.left > 0, "it has had enough");
            self.left -= 1;
        }
        Ok(())
    }
}

fn graph(text: &str) -> Graph {
    let mut sources = Sources::new();
    let mut catalogue = tidemill_apps::catalogue();
    catalogue.add(Shaky::declaration());
    let loaded = load_text("load.flow", text, &flow::Options::default(), &catalogue, &mut sources);
    let found: String = loaded.diagnostics.iter().map(|one| sources.render(one)).collect();
    loaded.graph.unwrap_or_else(|| panic!("{found}\n{text}"))
}

fn engine(kind: EngineKind, text: &str) -> Engine {
    let mut engine = Engine::new(Options { kind, ..Options::default() });
    engine.configure(graph(text)).expect("it runs");
    engine
}

fn breathe(engine: &mut Engine, breath: u64) {
    engine.set_time(breath * BREATH_NS, 0);
    assert_eq!(engine.breathe(), Rest::Busy);
}

const MAIN: &str = "src :: Source\ntouch :: Touch\ntee :: Tee\nmain :: Sink\n\
                    src -> touch -> tee\ntee.main -> main.tee\n";

#[test]
fn no_packet_is_lost_while_the_graph_changes_around_it() {
    let versions = [
        format!("{MAIN}cut :: Truncate {{ length: 20 }}\nside :: Sink\ntee.side -> cut -> side"),
        format!("{MAIN}cut :: Truncate {{ length: 30 }}\nside :: Sink\ntee.side -> cut -> side"),
        MAIN.to_owned(),
        format!("{MAIN}tag :: VlanTag {{ tag: 5 }}\nside :: Sink\ntee.side -> tag -> side"),
    ];
    for kind in [EngineKind::Compiled, EngineKind::Dispatch] {
        let mut engine = engine(kind, &versions[0]);
        let (mut changes, mut breath) = (0, 0);
        // A second and more: code is made beside, at its own pace.
        while breath < 4000 || changes < 12 {
            breathe(&mut engine, breath);
            if breath % 20 == 19 && !engine.is_preparing() {
                let next = (changes + 1) % versions.len();
                engine.prepare(graph(&versions[next])).expect("it runs");
            }
            if let Some(changed) = engine.switch() {
                assert!(changed.kept.len() >= 4, "{changed:?}");
                changes += 1;
            }
            breath += 1;
        }
        let link = |name: &str| engine.link_stats(name).expect("it is there");
        let (first, last) = (link("src.output->touch.input"), link("tee.main->main.tee"));
        assert_eq!(first.tx_packets, breath * BURST);
        assert_eq!((first.tx_drops, last.tx_drops), (0, 0));
        let taken = engine.app_stats("main").expect("it is there");
        assert_eq!(taken[0], ("taken_packets".to_owned(), breath * BURST));
        assert_eq!(engine.take_notes(), []);
    }
}

#[test]
fn healthy_apps_keep_their_rate() {
    let text = format!(
        "{MAIN}shaky :: Shaky {{ packets: 50000 }}\nside :: Sink\ntee.side -> shaky -> side"
    );
    for kind in [EngineKind::Compiled, EngineKind::Dispatch] {
        let mut engine = engine(kind, &text);
        for breath in 0..8000 {
            breathe(&mut engine, breath);
        }
        let faults = engine.stats().faults;
        assert!(faults >= 3, "{faults}");
        let link = |name: &str| engine.link_stats(name).expect("it is there");
        let main = link("tee.main->main.tee");
        assert_eq!((main.rx_packets, main.tx_drops), (8000 * BURST, 0));
        // While it was out of order its link filled, and its packets were the first afterwards.
        let side = link("tee.side->shaky.input");
        assert!(side.tx_drops > 0 && side.rx_packets > faults * 50_000, "{side:?}");
        assert_eq!(side.tx_packets + side.tx_drops, 8000 * BURST);
        assert_eq!(side.tx_packets, side.rx_packets + side.queued);
    }
}
