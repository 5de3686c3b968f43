//! A graph as a picture.

use std::fmt::Write;

use super::forms::label;
use super::layout::layers;
use super::{EdgeKind, Graph, NodeKind};

/// Height of a node, in pixels; also the corner radius of events, twice.
const HEIGHT: f64 = 30.0;
/// Between two nodes of a layer.
const GAP: f64 = 18.0;
/// Between two layers, where the words on edges stand.
const AISLE: f64 = 110.0;
const MARGIN: f64 = 20.0;
/// Width of a character of the labels, on average.
const CHARACTER: f64 = 7.2;

const STYLE: &str = "text{font:12px sans-serif;text-anchor:middle;dominant-baseline:central;\
    fill:#222}.w{font-size:10px;fill:#777}.n{stroke:#444;stroke-width:1.2}.h{stroke-dasharray:4 3}\
    .event{fill:#fff3d6}.table{fill:#dcebfa}.rule{fill:#f4f4f4}.timer{fill:#e3f4dd}\
    .stage{fill:#eee3f7}\
    path{fill:none;stroke:#888;stroke-width:1.2}.d{stroke-dasharray:4 3}.b{stroke-width:2.4}";

#[derive(Clone, Copy, Default)]
struct Place {
    /// The left end.
    x: f64,
    /// The middle.
    y: f64,
    width: f64,
}

/// Draws the graph: layers from left to right, nodes by kind, a word on each edge.
pub fn draw(graph: &Graph) -> String {
    let (places, width, height) = places(graph);
    let mut out = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" \
         style=\"fill:#888;stroke:none\"/></marker></defs>"
    );
    for edge in &graph.edges {
        write_edge(&mut out, places[edge.from], places[edge.to], edge.kind);
    }
    for (node, place) in graph.nodes.iter().zip(&places) {
        let hidden = if node.hidden { " h" } else { "" };
        let class = node.kind.word();
        let radius = match node.kind {
            NodeKind::Event | NodeKind::Timer => HEIGHT / 2.0,
            NodeKind::Table => 6.0,
            NodeKind::Rule | NodeKind::Stage => 0.0,
        };
        let (x, top, width) = (place.x, place.y - HEIGHT / 2.0, place.width);
        let _ = writeln!(
            out,
            "<rect class=\"n {class}{hidden}\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
             height=\"{HEIGHT}\" rx=\"{radius}\"/>\n<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + width / 2.0,
            place.y,
            escape(&label(node)),
        );
    }
    out.push_str("</svg>\n");
    out
}

/// Where each node stands, and the size of the whole.
fn places(graph: &Graph) -> (Vec<Place>, f64, f64) {
    let layers = layers(graph);
    let tallest = layers.iter().map(Vec::len).max().unwrap_or(0) as f64;
    // Below the last node there is room for edges that lead back.
    let height = 2.0 * MARGIN + tallest * (HEIGHT + GAP) + HEIGHT;
    let mut places = vec![Place::default(); graph.nodes.len()];
    let mut x = MARGIN;
    for layer in &layers {
        let width =
            |node: usize| label(&graph.nodes[node]).chars().count() as f64 * CHARACTER + 24.0;
        let widest = layer.iter().map(|&node| width(node)).fold(0.0, f64::max);
        let used = layer.len() as f64 * (HEIGHT + GAP) - GAP;
        let top = (height - used) / 2.0 + HEIGHT / 2.0;
        for (index, &node) in layer.iter().enumerate() {
            let own = width(node);
            let y = top + index as f64 * (HEIGHT + GAP);
            places[node] = Place { x: x + (widest - own) / 2.0, y, width: own };
        }
        x += widest + AISLE;
    }
    let width = if layers.is_empty() { 2.0 * MARGIN } else { x - AISLE + MARGIN };
    (places, width, height)
}

/// A curve from the right end of one node to the left end of another; backward edges go below.
fn write_edge(out: &mut String, from: Place, to: Place, kind: EdgeKind) {
    let class = match kind {
        EdgeKind::Reads | EdgeKind::Lacks => " class=\"d\"",
        EdgeKind::Ships => " class=\"b\"",
        _ => "",
    };
    let forward = to.x > from.x + from.width;
    let (x1, y1, x2, y2, bow) = match forward {
        true => (from.x + from.width, from.y, to.x, to.y, 0.0),
        // From below the one to below the other.
        false => (
            from.x + from.width / 2.0,
            from.y + HEIGHT / 2.0,
            to.x + to.width / 2.0,
            to.y + HEIGHT / 2.0,
            HEIGHT + GAP,
        ),
    };
    let reach = if forward { (x2 - x1) / 2.0 } else { 0.0 };
    let (cx1, cy1, cx2, cy2) = (x1 + reach, y1 + bow, x2 - reach, y2 + bow);
    // The middle of the curve.
    let (wx, wy) = ((x1 + 3.0 * cx1 + 3.0 * cx2 + x2) / 8.0, (y1 + y2) / 2.0 + bow * 0.75);
    let _ = writeln!(
        out,
        "<path{class} d=\"M{x1:.1} {y1:.1} C{cx1:.1} {cy1:.1} {cx2:.1} {cy2:.1} {x2:.1} {y2:.1}\" \
         marker-end=\"url(#a)\"/>\n<text class=\"w\" x=\"{wx:.1}\" y=\"{:.1}\">{}</text>",
        wy - 6.0,
        kind.word(),
    );
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    #[test]
    fn every_node_and_edge_is_drawn_inside_the_picture() {
        let graph = example();
        let picture = draw(&graph);
        assert_eq!(picture.matches("<rect ").count(), graph.nodes.len());
        assert_eq!(picture.matches("marker-end").count(), graph.edges.len());
        let (places, width, height) = places(&graph);
        for place in places {
            assert!(place.x >= MARGIN && place.x + place.width <= width - MARGIN + 0.01);
            assert!(place.y >= HEIGHT / 2.0 && place.y <= height - HEIGHT / 2.0);
        }
    }

    #[test]
    fn labels_are_escaped_and_an_empty_graph_is_a_picture_too() {
        let mut graph = example();
        graph.nodes[0].name = "a<b&c".to_owned();
        assert!(draw(&graph).contains(">a&lt;b&amp;c</text>"));
        assert!(draw(&Graph::default()).ends_with("</svg>\n"));
    }
}
