//! Engines: breaths, changes of graphs, faults, notifications.

use crate::common::{Collect, Feed, Pacer, Pass, graph_of, kinds, world};
use tidemill_event::{Loop, Outcome, Sim, Time};
use tidemill_packet::app::{Config, Declared, Value};
use tidemill_packet::drive::{self, World};
use tidemill_packet::engine::{Engine, EngineKind, Note, Options, Refused, Rest};
use tidemill_packet::graph::Graph;
use tidemill_stat::Registry;

fn engine() -> Engine {
    Engine::new(Options::default())
}

fn run(engine: &mut Engine) -> u32 {
    for breath in 1..10_000 {
        if engine.breathe() == Rest::Finished {
            return breath;
        }
    }
    panic!("it does not end");
}

fn count(engine: &Engine, app: &str, name: &str) -> u64 {
    let counts = engine.app_stats(app).expect("the app is there");
    counts.iter().find(|(own, _)| own == name).map_or(0, |(_, count)| *count)
}

#[test]
fn packets_go_from_end_to_end_and_none_is_lost() {
    let mut engine = engine();
    let graph = graph_of("src :: Feed { packets: 5000 } p :: Pass end :: Collect src -> p -> end");
    engine.configure(graph).unwrap();
    run(&mut engine);
    assert_eq!(count(&engine, "end", "taken"), 5000);
    assert_eq!(count(&engine, "end", "in_order"), 5000);
    let link = engine.link_stats("src.output->p.input").unwrap();
    assert_eq!((link.tx_packets, link.rx_packets, link.tx_drops), (5000, 5000, 0));
    let pool = engine.pool_stats();
    assert_eq!((pool.allocated, pool.freed), (5000, 5000));
}

#[test]
fn apps_come_after_those_that_feed_them() {
    let text = "end :: Collect b :: Pass a :: Pass src :: Feed { packets: 1 } \
                src -> a -> b -> end";
    let graph = graph_of(text);
    let names: Vec<&str> = graph.order().iter().map(|&at| graph.apps[at].name.as_str()).collect();
    assert_eq!(names, ["src", "a", "b", "end"]);
    let mut engine = engine();
    engine.configure(graph).unwrap();
    // All the way in the breath that brings it.
    engine.breathe();
    assert_eq!(count(&engine, "end", "taken"), 1);
}

#[test]
fn cycles_are_allowed_and_each_breath_ends() {
    let text = "src :: Feed { packets: 10 } loop :: Circle src.output -> loop.input \
                loop.output -> loop.back";
    let mut engine = engine();
    engine.configure(graph_of(text)).unwrap();
    for _ in 0..100 {
        assert_eq!(engine.breathe(), Rest::Busy);
    }
    // One round a breath, for the push takes only what lay there when it began.
    assert_eq!(engine.link_stats("loop.output->loop.back").unwrap().queued, 10);
    assert_eq!(engine.link_stats("loop.output->loop.back").unwrap().rx_packets, 990);
}

#[test]
fn a_thousand_apps_in_a_chain() {
    let mut text = String::from("src :: Feed { packets: 3 }\nend :: Collect\n");
    let mut chain = String::from("src");
    for i in 0..1000 {
        text += &format!("p{i} :: Pass\n");
        chain += &format!(" -> p{i}");
    }
    let mut engine = engine();
    engine.configure(graph_of(&format!("{text}{chain} -> end"))).unwrap();
    engine.breathe();
    assert_eq!(count(&engine, "end", "taken"), 3);
}

#[test]
fn configure_changes_what_differs_only() {
    let mut engine = engine();
    let old = "src :: Feed { packets: 0 } p :: Pass { tag: 1 } hold :: Hold end :: Collect \
               src -> p -> hold -> end";
    engine.configure(graph_of(old)).unwrap();
    let feed = |engine: &mut Engine, n: u64| {
        for i in 0..n {
            let mut packet = engine.pool().packet().unwrap();
            packet.set_mark(i);
            engine.inject("hold", "input", packet).unwrap();
        }
    };
    feed(&mut engine, 7);
    engine.breathe();
    assert_eq!(count(&engine, "hold", "held"), 7, "an app that keeps packets");
    // Packets on a link that stays, while the app behind it is changed.
    for _ in 0..5 {
        let packet = engine.pool().packet().unwrap();
        engine.inject("end", "input", packet).unwrap();
    }
    let new = "src :: Feed { packets: 0 } hold :: Hold end :: Collect { limit: 9 } more :: Pass \
               p :: Pass { tag: 2 } src -> p -> hold -> end more2 :: Collect more -> more2 \
               src2 :: Feed { packets: 0 } src2 -> more";
    let changes = engine.configure(graph_of(new)).unwrap();
    assert_eq!(changes.kept, ["src", "hold"]);
    assert_eq!(changes.reconfigured, ["p"]);
    assert_eq!(changes.restarted, ["end"]);
    assert_eq!(changes.started, ["more", "more2", "src2"]);
    assert_eq!(changes.links_added, ["more.output->more2.input", "src2.output->more.input"]);
    assert!(changes.stopped.is_empty() && changes.links_removed.is_empty());
    assert_eq!(count(&engine, "hold", "held"), 7, "state is kept");
    let link = engine.link_stats("hold.output->end.input").unwrap();
    assert_eq!((link.queued, link.tx_packets), (5, 5), "so is what is on the way");
    engine.breathe();
    assert_eq!(count(&engine, "end", "taken"), 5);
    // Now the app that holds goes, and what it held with it.
    let changes =
        engine.configure(graph_of("src :: Feed { packets: 0 } end :: Collect src -> end"));
    assert_eq!(changes.unwrap().links_removed.len(), 5);
    assert_eq!(engine.pool_stats().alive(), 0);
}

#[test]
fn packets_on_links_that_go_are_counted() {
    let mut engine = engine();
    let text = "src :: Feed { packets: 0 } end :: Collect { limit: 1 } src -> end";
    engine.configure(graph_of(text)).unwrap();
    for _ in 0..4 {
        let packet = engine.pool().packet().unwrap();
        engine.inject("end", "input", packet).unwrap();
    }
    engine.configure(Graph::new()).unwrap();
    assert_eq!(engine.stats().dropped_unlinked, 4);
    assert_eq!(engine.pool_stats().alive(), 0);
}

#[test]
fn packets_of_an_app_are_counted_on_whatever_links_they_come() {
    let registry = Registry::in_memory();
    let mut engine = Engine::new(Options { registry: registry.clone(), ..Options::default() });
    let direct = "src :: Feed { packets: 0 } end :: Collect src -> end";
    let longer = "src :: Feed { packets: 0 } p :: Pass end :: Collect src -> p -> end";
    let mut brought = 0;
    for (round, text) in [direct, longer, longer, direct].into_iter().enumerate() {
        engine.configure(graph_of(text)).unwrap();
        let counted = |engine: &mut Engine| {
            engine.publish();
            registry.snapshot().counter("app/end/packets")
        };
        assert_eq!(counted(&mut engine), Some(brought));
        for _ in 0..=round {
            let packet = engine.pool().packet().unwrap();
            engine.inject("end", "input", packet).unwrap();
        }
        engine.breathe();
        brought += round as u64 + 1;
        assert_eq!(counted(&mut engine), Some(brought));
    }
}

#[test]
fn a_graph_that_cannot_start_leaves_the_old_one() {
    let mut engine = engine();
    engine.configure(graph_of("src :: Feed { packets: 20 } end :: Collect src -> end")).unwrap();
    let wrong = graph_of("src :: Feed { packets: 9 } end :: Collect { limit: 666 } src -> end");
    // A running app is offered its config if it can have what that names.
    let mut named = wrong.clone();
    named.apps[1].config.set("limit", Value::Integer(667));
    let Err(Refused::Faults(faults)) = engine.configure(named) else { panic!("it starts") };
    assert_eq!((faults[0].0.as_str(), faults.len()), ("end", 1));
    let mut renamed = wrong.clone();
    renamed.apps[1].name = "other".to_owned();
    let Err(Refused::Faults(faults)) = engine.configure(renamed) else { panic!("it starts") };
    assert_eq!(faults[0].0, "other");
    let mut broken = Graph::new();
    broken.app("p", Pass::declaration(), Config::new());
    assert!(matches!(engine.configure(broken), Err(Refused::Invalid(_))));
    run(&mut engine);
    assert_eq!(count(&engine, "end", "taken"), 20);
}

#[test]
fn an_app_that_panics_is_contained_and_restarts() {
    let mut engine = engine();
    let text = "src :: Feed { packets: 100 } bad :: Bad { at: 3 } good :: Collect \
                tee :: Fork end :: Collect src -> tee tee.a -> bad -> end tee.b -> good";
    engine.configure(graph_of(text)).unwrap();
    let mut now_ns = 0;
    for _ in 0..200 {
        engine.set_time(now_ns, 0);
        engine.breathe();
        now_ns += 10_000_000;
    }
    // The others continued meanwhile.
    assert_eq!(count(&engine, "good", "taken"), 100);
    let notes = engine.take_notes();
    let Note::Failed { app, fault, restart_in_ns } = &notes[0] else { panic!("{notes:?}") };
    assert_eq!((app.as_str(), fault.message.as_str()), ("bad", "panic: the third packet"));
    assert_eq!(*restart_in_ns, Some(100_000_000));
    assert!(matches!(&notes[1], Note::Restarted { app } if app == "bad"));
    // The link survived, and what was queued arrived, except the packets that the app had received.
    let link = engine.link_stats("tee.a->bad.input").unwrap();
    assert_eq!((link.tx_packets, link.tx_drops), (100, 0));
    assert!(link.rx_packets > 3, "{link:?}");
    engine.stop();
    drop(engine);
}

#[test]
fn faults_in_a_row_take_longer_each() {
    let mut engine = engine();
    let text = "src :: Feed { packets: 0 } bad :: Bad { at: 1 } end :: Collect src -> bad -> end";
    engine.configure(graph_of(text)).unwrap();
    let mut pauses = Vec::new();
    let mut now_ns = 0u64;
    while pauses.len() < 5 {
        engine.set_time(now_ns, 0);
        let packet = engine.pool().packet().unwrap();
        engine.inject("bad", "input", packet).unwrap();
        engine.breathe();
        for note in engine.take_notes() {
            if let Note::Failed { restart_in_ns: Some(ns), .. } = note {
                pauses.push(ns / 1_000_000);
            }
        }
        now_ns += 50_000_000;
    }
    assert_eq!(pauses, [100, 200, 400, 800, 1600]);
}

#[test]
fn an_app_that_cannot_be_made_anew_waits_longer_each_time() {
    let mut engine = engine();
    let text = |limit| {
        format!("src :: Feed {{ packets: 0 }} end :: Collect {{ limit: {limit} }} src -> end")
    };
    engine.configure(graph_of(&text(0))).unwrap();
    // It runs for long first: what counts is the time without a fault.
    let mut now_ns = 60_000_000_000u64;
    engine.set_time(now_ns, 0);
    engine.breathe();
    engine.configure(graph_of(&text(666))).unwrap();
    let mut pauses = Vec::new();
    while pauses.len() < 9 {
        engine.set_time(now_ns, 0);
        engine.breathe();
        for note in engine.take_notes() {
            if let Note::Failed { restart_in_ns: Some(ns), .. } = note {
                pauses.push(ns / 1_000_000);
            }
        }
        now_ns += 50_000_000;
    }
    assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000]);
}

/// The flaw of late binding: an app that has never pulled could not be notified. Here the graph
/// sleeps before it has pulled once, and the first packet wakes the app that pulls, past two apps
/// that merely pass packets on.
#[test]
fn a_graph_that_never_pulled_wakes_on_its_first_packet() {
    let mut events = Loop::new(Box::new(Sim::new(1)));
    let mut world = world();
    let text = "in :: Never a :: Fork b :: Pass pace :: Pacer end :: Collect other :: Collect \
                in -> a a.x -> b -> pace -> end a.y -> other";
    drive::configure(&mut world, &mut events, graph_of(text)).unwrap();
    assert!(matches!(events.run(&mut world), Outcome::Idle));
    assert_eq!(count(&world.driver().engine, "pace", "pulls"), 0, "no app has pulled");
    let packet = world.driver().engine.pool().packet().unwrap();
    drive::inject(&mut world, &mut events, "a", "input", packet).unwrap();
    assert!(matches!(events.run(&mut world), Outcome::Idle));
    let engine = &world.driver().engine;
    assert_eq!(count(engine, "end", "taken"), 1);
    assert_eq!(count(engine, "other", "taken"), 1);
    let pulls = count(engine, "pace", "pulls");
    assert!((1..10).contains(&pulls), "it sleeps again: {pulls}");
    // And so on: a second packet after a second sleep.
    let packet = world.driver().engine.pool().packet().unwrap();
    drive::inject(&mut world, &mut events, "a", "input", packet).unwrap();
    events.run(&mut world);
    assert_eq!(count(&world.driver().engine, "end", "taken"), 2);
}

#[test]
fn sources_that_must_be_polled_are_polled_with_pauses() {
    let mut events = Loop::new(Box::new(Sim::new(1)));
    let mut world = world();
    let graph = graph_of("src :: Polled { from: 1 } end :: Collect src -> end");
    drive::configure(&mut world, &mut events, graph).unwrap();
    events.run_until(&mut world, Time::from_secs_f64(0.5));
    assert_eq!(count(&world.driver().engine, "end", "taken"), 0);
    let polls = count(&world.driver().engine, "src", "pulls");
    assert!((400..700).contains(&polls), "about once a millisecond: {polls}");
    events.run_until(&mut world, Time::from_secs_f64(1.5));
    assert_eq!(count(&world.driver().engine, "end", "taken"), 1);
}

#[test]
fn counters_have_the_names_of_the_contract() {
    let registry = Registry::in_memory();
    let options = Options { registry: registry.clone(), ..Options::default() };
    let mut engine = Engine::new(options);
    engine.configure(graph_of("src :: Feed { packets: 3 } end :: Collect src -> end")).unwrap();
    engine.set_time(5, 0);
    run(&mut engine);
    engine.end_batch(1005);
    engine.publish();
    let seen = registry.snapshot();
    let count = |name: &str| seen.counter(name);
    assert_eq!(count("link/src.output->end.input/tx_packets"), Some(3));
    assert_eq!(count("link/src.output->end.input/rx_packets"), Some(3));
    assert_eq!(count("link/src.output->end.input/tx_bytes"), Some(180));
    assert_eq!(count("link/src.output->end.input/tx_drops"), Some(0));
    assert_eq!(count("app/src/packets"), Some(3));
    assert_eq!(count("app/end/taken"), Some(3));
    assert_eq!(count("engine/packets/freed"), Some(3));
    let latency = &seen.histograms["app/end/latency_ns"];
    assert_eq!((latency.count(), latency.max()), (1, 1000));
}

#[test]
fn the_catalogue_describes_what_is_declared() {
    let text = Collect::declaration().describe();
    assert!(text.contains("limit: an integer, default 0"), "{text}");
    assert!(text.contains("input: input, push"), "{text}");
    assert!(Pacer::declaration().describe().contains("input: input, pull"));
    assert!(Feed::declaration().describe().contains("brings packets in"));
    assert_eq!(kinds().list().lines().count(), kinds().types().len());
}

thread_local! {
    /// A clock that advances by 1 ns each time it is read.
    static READINGS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

fn reading() -> u64 {
    READINGS.replace(READINGS.get() + 1)
}

#[test]
fn the_time_of_breaths_is_divided_among_the_apps_while_it_is_measured() {
    let text = "src :: Feed { packets: 1000000 } p :: Pass end :: Collect src -> p -> end";
    let times = |engine: &Engine| ["src", "p", "end"].map(|app| engine.app_ns(app));
    for kind in [EngineKind::Compiled, EngineKind::Dispatch] {
        let mut engine = Engine::new(Options { kind, ..Options::default() });
        engine.configure(graph_of(text)).unwrap();
        engine.breathe();
        assert_eq!(times(&engine), [None; 3], "nobody has asked");
        engine.measure_apps(reading, 5);
        let begun = READINGS.get();
        for _ in 0..100 {
            engine.breathe_while_busy(10, u64::MAX);
        }
        let all: u64 = times(&engine).iter().flatten().sum();
        let passed = READINGS.get() - begun;
        // What is left lies between calls, and after the last measured breath.
        assert!(all <= passed && all > passed / 3, "{all} of {passed}");
        // Each app is called once in a breath, which takes the clock one step.
        assert!(times(&engine).iter().all(|ns| *ns == Some(all / 3)), "{:?}", times(&engine));
        assert_eq!(count(&engine, "end", "taken"), 100_100, "and nothing else changes");
        engine.set_time(6, 0);
        let begun = READINGS.get();
        engine.breathe_while_busy(10, u64::MAX);
        assert_eq!(READINGS.get(), begun, "the time is over");
        assert_eq!(times(&engine), [Some(all / 3); 3]);
        assert_eq!(engine.app_ns("other"), None);
    }
}
