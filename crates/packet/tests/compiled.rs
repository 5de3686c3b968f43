//! The compiled engine beside the loop: after every breath all counters of all links and apps are
//! the same, and so is every byte that arrives.

use crate::common::both::{Both, engine};
use crate::common::graph_of;
use crate::generate::{Text, random_graph, random_kernel};
use tidemill_packet::engine::{Engine, EngineKind, Note, Options, Rest};
use tidemill_packet::kernel;
use tidemill_stdx::rng::Rng;
use tidemill_support::cpu;

#[test]
fn generated_graphs_do_the_same_breath_by_breath() {
    let mut faults = 0;
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let mut both = Both::new();
        let size = if seed % 10 == 0 { 200 } else { 2 + rng.below(30) };
        let graph = random_graph(&mut rng, size as usize);
        both.configure(&graph);
        assert!(both.compiled.is_compiled() && !both.dispatched.is_compiled());
        for breath in 0..30 {
            both.breathe(breath * 20_000_000);
        }
        let note = both.compiled.take_notes();
        assert_eq!(both.dispatched.take_notes(), note);
        faults += note.iter().filter(|note| matches!(note, Note::Failed { .. })).count();
    }
    assert!(faults > 20, "apps fail in these graphs: {faults}");
}

#[test]
fn graphs_are_changed_while_packets_are_on_the_way() {
    for seed in 100..140 {
        let mut rng = Rng::new(seed);
        let mut both = Both::new();
        let mut graph = random_graph(&mut rng, 12);
        both.configure(&graph);
        for round in 0..6 {
            for breath in 0..5 {
                both.breathe((round * 5 + breath) * 30_000_000);
            }
            if rng.below(2) == 0 {
                graph = random_graph(&mut rng, 12);
            } else {
                let at = rng.below(graph.links.len() as u64) as usize;
                graph.links.remove(at);
                graph.links.push(random_graph(&mut rng, 12).links[0].clone());
                if !graph.verify().is_empty() {
                    graph = random_graph(&mut rng, 9);
                }
            }
            both.configure(&graph);
            both.compare();
        }
    }
}

#[test]
fn random_kernels_do_the_same_to_each_packet() {
    for seed in 0..300 {
        let mut rng = Rng::new(1000 + seed);
        let kernels: Vec<String> =
            (0..1 + rng.below(4)).map(|_| random_kernel(&mut rng).to_string()).collect();
        let mut text = String::from("end :: Digest\nend2 :: Digest\n");
        let mut chain = String::new();
        for (at, kernel) in kernels.iter().enumerate() {
            text += &format!("k{at} :: Code {{ text: {} }}\n", Text(kernel));
            chain += &format!("k{at} -> ");
        }
        text += &format!("src :: Noise {{ packets: 0 }}\nsrc -> {chain} end\nk0 -> end2");
        let mut both = Both::new();
        both.configure(&graph_of(&text));
        for round in 0..3 {
            for _ in 0..rng.below(40) {
                let bytes: Vec<u8> = (0..rng.below(90)).map(|_| rng.next_u64() as u8).collect();
                both.inject("k0", "src", &bytes);
            }
            both.breathe(round * 1_000_000);
        }
        both.breathe(10_000_000);
    }
}

#[test]
fn a_run_of_kernels_is_one_function_and_its_links_count() {
    let touch = "kernel Touch\n reason 0 short\n b0:\n need [20] else 0\n \
                 v0 = load8 [8]\n v1 = const 1\n \
                 v2 = sub v0 v1\n store8 [8] v2\n emit 0\n";
    let mut text = "src :: Noise { packets: 5000 }\nend :: Digest\n".to_owned();
    for at in 0..5 {
        text += &format!("t{at} :: Code {{ text: {} }}\n", Text(touch));
    }
    text += "src -> t0 -> t1 -> t2 -> t3 -> t4 -> end";
    let mut both = Both::new();
    both.configure(&graph_of(&text));
    let listing = both.compiled.listing().unwrap();
    assert!(listing.contains("packets::t0+t1+t2+t3+t4:"), "{listing}");
    assert!(listing.contains("$src.state"), "names stand for addresses: {listing}");
    let mut now = 0;
    while both.breathe(now) != Rest::Finished {
        now += 1;
    }
    let link = both.compiled.link_stats("t2.t3->t3.t2").unwrap();
    assert!(link.tx_packets > 1000 && link.rx_packets == link.tx_packets, "{link:?}");
}

#[test]
fn packets_that_lie_between_kernels_go_first() {
    let pass = "kernel Pass\n b0:\n emit 0\n";
    let text = format!(
        "src :: Noise {{ packets: 500 }}\nend :: Digest\na :: Code {{ text: {0} }}\n\
         b :: Code {{ text: {0} }}\nc :: Code {{ text: {0} }}\nsrc -> a -> b -> c -> end",
        Text(pass)
    );
    let mut both = Both::new();
    both.configure(&graph_of(&text));
    for round in 0..20 {
        if round % 3 == 0 {
            both.inject("b", "a", &[round as u8; 50]);
        }
        if round % 4 == 1 {
            both.inject("c", "b", &[round as u8; 60]);
        }
        both.breathe(round);
    }
}

#[test]
fn many_breaths_at_once_are_as_many_one_by_one() {
    let text = "src :: Feed { packets: 9000 } k :: Pass end :: Collect src -> k -> end";
    let mut counts = Vec::new();
    for kind in [EngineKind::Compiled, EngineKind::Dispatch] {
        let mut engine = engine(kind);
        engine.configure(graph_of(text)).unwrap();
        assert_eq!(engine.breathe_times(7), Rest::Busy);
        let seven = engine.link_stats("k.output->end.input").unwrap().rx_packets;
        let (rest, breaths) = engine.breathe_while_busy(1_000_000, 1000);
        assert_eq!(rest, Rest::Busy, "it stops for packets");
        let (rest, more) = engine.breathe_while_busy(1_000_000, u64::MAX);
        assert_eq!(rest, Rest::Finished);
        assert_eq!(engine.breathe_times(1000), Rest::Finished);
        counts.push((seven, breaths, more, engine.stats(), engine.app_stats("end")));
    }
    assert_eq!(counts[0], counts[1]);
}

#[test]
fn a_graph_is_compiled_beside_the_one_that_runs() {
    let mut engine = engine(EngineKind::Compiled);
    let old = "src :: Noise { packets: 4000000000 } k :: Pass end :: Digest src -> k -> end";
    engine.configure(graph_of(old)).unwrap();
    let mut new = format!(
        "src :: Noise {{ packets: 4000000000 }} k :: Pass end :: Digest \
         cut :: Code {{ text: {} }} src -> k -> cut -> end\n",
        Text("kernel Cut\n b0:\n v0 = const 9\n truncate v0\n emit 0\n")
    );
    // Much to compile, so that it is not done at once.
    new += "none :: Never p0 :: Pass none -> p0\n";
    for at in 1..800 {
        new += &format!("p{at} :: Pass p{} -> p{at}\n", at - 1);
    }
    new += "last :: Collect p799 -> last\n";
    engine.prepare(graph_of(&new)).unwrap();
    let mut breaths = 0u64;
    let changes = loop {
        engine.breathe();
        breaths += 1;
        if let Some(changes) = engine.switch() {
            break changes;
        }
        assert!(engine.is_preparing());
    };
    assert_eq!(changes.started.len(), 803);
    assert_eq!(changes.started[0], "cut");
    assert_eq!(changes.kept, ["src", "k", "end"]);
    assert!(breaths > 1, "the old graph goes on");
    assert!(engine.is_compiled() && !engine.is_preparing(), "{:?}", engine.take_notes());
    // A breath may bring nothing, by chance.
    engine.breathe_times(50);
    assert!(engine.link_stats("cut.end->end.cut").unwrap().rx_packets > 0);
    // None is lost on links that stay: what was sent has arrived, or is under way.
    let first = engine.link_stats("src.k->k.input").unwrap();
    let taken = engine.app_stats("end").unwrap()[0].1;
    let (pool, lost) = (engine.pool_stats(), engine.stats().dropped_unlinked);
    assert_eq!((first.tx_packets, first.tx_drops), (pool.allocated, 0));
    assert_eq!((taken + lost, pool.alive()), (pool.freed, first.queued));
    assert_eq!(lost, 0, "nothing lay on the link that went");
}

/// What a graph does while its code is made beside, and after, is what the loop does; an app that
/// is made anew meanwhile is no hindrance.
#[test]
fn a_graph_begins_before_its_code_is_made() {
    let mut rng = Rng::new(3);
    let mut text = String::from(
        "src :: Noise { packets: 1000000, seed: 1, burst: 20 } tee :: Fork2 src -> tee
         bad :: Bad { at: 3 } end :: Digest tee.a -> bad -> end tee.b -> k0\n",
    );
    for at in 0..60 {
        let kernel = random_kernel(&mut rng).to_string();
        text += &format!("k{at} :: Code {{ text: {} }}\n", Text(&kernel));
        let to = if at < 59 { format!("k{}", at + 1) } else { "end".to_owned() };
        text += &format!("k{at}.p -> {to}.q{at}\n");
    }
    let graph = graph_of(&text);
    let mut both = Both::new();
    let changes = both.compiled.begin(graph.clone());
    assert_eq!(both.dispatched.configure(graph), changes);
    let (mut before, mut after) = (0u64, 0);
    while after < 100 {
        assert_eq!(both.compiled.switch(), None);
        let (made, coming) = (both.compiled.is_compiled(), both.compiled.is_compiling());
        assert!(made != coming, "{:?}", both.compiled.take_notes());
        *if made { &mut after } else { &mut before } += 1;
        both.breathe((before + after) * 1_000_000);
    }
    assert!(before > 0 && both.compiled.stats().faults > 0, "{before} {:?}", both.compiled.stats());
}

#[test]
fn an_app_that_fails_keeps_its_address_and_its_queue() {
    let text = "src :: Feed { packets: 40 } tee :: Fork bad :: Bad { at: 3 } end :: Collect \
                good :: Collect src -> tee tee.a -> bad -> end tee.b -> good";
    let mut both = Both::new();
    both.configure(&graph_of(text));
    for breath in 0..300 {
        both.breathe(breath * 1_000_000_000);
        assert!(both.compiled.is_compiled());
    }
    let faults = both.compiled.stats().faults;
    assert!(faults > 3, "{faults}");
    let link = both.compiled.link_stats("tee.a->bad.input").unwrap();
    assert_eq!((link.rx_packets, link.queued), (40, 0), "its queue is worked off");
    assert_eq!(both.compiled.link_stats("tee.b->good.input").unwrap().rx_packets, 40);
}

#[test]
fn a_thousand_apps_compile_in_no_time() {
    let mut text = String::from("src :: Feed { packets: 3 }\nend :: Collect\n");
    let mut chain = String::from("src");
    for i in 0..998 {
        text += &format!("p{i} :: Pass\n");
        chain += &format!(" -> p{i}");
    }
    let graph = graph_of(&format!("{text}{chain} -> end"));
    let run = || {
        let mut both = Both::new();
        let start = cpu::of_thread();
        both.compiled.configure(graph.clone()).unwrap();
        (cpu::of_thread() - start, both)
    };
    // The best of several; and not the 200 ms of an optimised build, as tests hardly are.
    let (took, mut both) = (0..3).map(|_| run()).min_by_key(|(took, _)| *took).unwrap();
    println!("1000 apps: {took:?}");
    assert!(took < std::time::Duration::from_secs(1), "{took:?}");
    println!("{}", both.compiled.code_report().unwrap());
    both.dispatched.configure(graph).unwrap();
    for breath in 0..5 {
        both.breathe(breath);
    }
    assert_eq!(both.compiled.app_stats("end").unwrap()[0].1, 3);
}

#[test]
fn kernels_are_read_and_refused() {
    for text in ["kernel K\n b0:\n v0 = load8 [0]\n take\n", "nonsense"] {
        let wrong = match kernel::parse(text, &|_| None) {
            Ok(kernel) => kernel.verify().is_err(),
            Err(_) => true,
        };
        assert!(wrong, "{text}");
    }
}

#[test]
fn a_source_and_the_kernels_behind_it_have_no_ring_between() {
    let makes = "kernel Makes\n state 0 left = 5000\n counter 1 made = 0\n \
                 supply 60 bytes 256 burst word 0\n b0:\n v0 = word 1\n v1 = const 1\n \
                 v2 = add v0 v1\n set_word 1 v2\n store64 [2] v2\n emit 0\n";
    let copies = "kernel Copies\n b0:\n emit_all\n";
    let touch = "kernel Touch\n reason 0 short\n b0:\n need [20] else 0\n \
                 v0 = load8 [8]\n v1 = const 1\n v2 = add v0 v1\n store8 [8] v2\n \
                 v3 = load16 [8]\n store16 [12] v3\n emit 0\n";
    let text = format!(
        "src :: Makes {{ text: {} }}\ncopies :: Code {{ text: {} }}\n\
         one :: Code {{ text: {touch} }}\ntwo :: Code {{ text: {touch} }}\n\
         a :: Digest\nb :: Digest\nc :: Digest\n\
         src -> copies\ncopies.x -> one.x\ncopies.y -> c.y\ncopies.z -> two.z\n\
         one -> a\ntwo -> b",
        Text(makes),
        Text(copies),
        touch = Text(touch)
    );
    let mut both = Both::new();
    both.configure(&graph_of(&text));
    let listing = both.compiled.listing().unwrap();
    assert!(listing.contains("packets::src+copies+one"), "{listing}");
    let mut now = 0;
    while both.breathe(now) != Rest::Finished {
        now += 1;
        if now == 4 {
            // What lies on the way is taken first: the source is called then.
            both.inject("copies", "src", &[7; 100]);
            both.inject("two", "z", &[8; 30]);
        }
    }
    for name in ["one.a->a.one", "copies.y->c.y", "two.b->b.two"] {
        let link = both.compiled.link_stats(name).unwrap();
        assert!(link.rx_packets >= 5000 && link.queued == 0, "{name}: {link:?}");
    }
}

#[test]
fn a_pool_that_runs_out_refuses_the_same_packets() {
    let makes = "kernel Makes\n state 0 left = 5000\n supply 60 bytes 256 burst word 0\n \
                 b0:\n emit 0\n";
    let copies = "kernel Copies\n b0:\n emit_all\n";
    let text = format!(
        "src :: Makes {{ text: {} }}\ncopies :: Code {{ text: {} }}\na :: Digest\nb :: Digest\n\
         src -> copies\ncopies.x -> a.x\ncopies.y -> b.y",
        Text(makes),
        Text(copies)
    );
    let of = |kind| Engine::new(Options { kind, packets_max: 320, ..Options::default() });
    let (compiled, dispatched) = (of(EngineKind::Compiled), of(EngineKind::Dispatch));
    let mut both = Both { compiled, dispatched };
    both.configure(&graph_of(&text));
    let mut now = 0;
    while both.breathe(now) != Rest::Finished {
        now += 1;
    }
    let refused = both.dispatched.app_stats("copies").unwrap();
    assert!(refused.iter().any(|(name, count)| name == "drop_no_packet" && *count > 0));
}

#[test]
fn a_source_whose_bell_is_silent_is_not_called() {
    let mut both = Both::new();
    both.configure(&graph_of("src :: Rings { every_ms: 10 }\nend :: Digest\nsrc -> end"));
    for breath in 0..200u64 {
        both.breathe(breath * 3_000_000);
    }
    assert!(both.compiled.stats().faults > 1, "{:?}", both.compiled.stats());
    let link = both.compiled.link_stats("src.end->end.src").unwrap();
    assert!(link.rx_packets > 20, "{link:?}");
    let rest = both.compiled.breathe_times(1000);
    assert_eq!(both.dispatched.breathe_times(1000), rest);
    both.compare();
}
