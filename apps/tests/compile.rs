//! The time in which graphs become code.

use std::time::Duration;

use tidemill_packet::engine::{Engine, Options};
use tidemill_packet::graph::Graph;
use tidemill_support::cpu;

use crate::common::graph_of;

/// How kernels are linked.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Chain,
    /// Each gets a copy of each packet.
    Copies,
}

/// A graph of kernels that all differ.
fn program(count: usize, shape: Shape) -> Graph {
    let mut text = String::from("src :: Source { packets: 3 }\n");
    for i in 0..count {
        let (ttl, class) = (i % 200, i % 60);
        text += &format!(
            "app K{i} {{
                ports {{ input in; output out; }}
                counter n;
                on packet(in) {{
                    when ipv4 {{ if ipv4.ttl > {ttl} {{ count n; ipv4.dscp = {class}; }} }}
                    send out;
                }}
            }}
            k{i} :: K{i}\n"
        );
    }
    match shape {
        Shape::Chain => {
            text += "src";
            (0..count).for_each(|i| text += &format!(" -> k{i}"));
            text += " -> end :: Sink\n";
        }
        Shape::Copies => {
            text += "all :: Tee\nsrc -> all\n";
            (0..count).for_each(|i| text += &format!("all.o{i} -> k{i} -> end{i} :: Sink\n"));
        }
    }
    graph_of(&text)
}

fn time(graph: &Graph) -> Duration {
    let start = cpu::of_thread();
    let mut engine = Engine::new(Options::default());
    engine.configure(graph.clone()).expect("it starts");
    assert!(engine.is_compiled());
    cpu::of_thread() - start
}

/// The time grows with the number of kernels and not faster.
#[test]
fn many_kernels_become_code_in_linear_time() {
    for shape in [Shape::Chain, Shape::Copies] {
        let [few, many] = [50, 200].map(|count| program(count, shape));
        let [few, many] = [&few, &many].map(|graph| time(graph).min(time(graph)));
        println!("{shape:?}: {few:?}, {many:?}");
        assert!(many < 7 * few, "{shape:?}: {few:?}, {many:?}");
    }
}
