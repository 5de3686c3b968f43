//! A graph as SVG.
//!
//! It has a background of its own, so that it is readable on pages of any colour. The colour and
//! dashes of an edge show its kind, as explained by the legend.

use std::fmt::Write;

use super::forms::label;
use super::layout::{Layout, layout};
use super::model::{Edge, EdgeKind, Graph, NodeKind};
use crate::xml::escape;

/// Height of a node, in pixels; also the corner radius of events, twice.
const HEIGHT: f64 = 28.0;
/// The gap between two nodes of a layer.
const GAP: f64 = 16.0;
/// The width of an edge that passes a layer.
const BEND: f64 = 16.0;
/// The distance between layers.
const STEP: f64 = 74.0;
const MARGIN: f64 = 24.0;
/// The height of the legend, and of one of its entries.
const LEGEND: f64 = 26.0;
const ENTRY: f64 = 104.0;
/// Width of a character of the labels, on average.
const CHARACTER: f64 = 7.2;

const STYLE: &str = "svg{background:#fff}.g{fill:#fff}text{font:12px sans-serif;fill:#222;\
    text-anchor:middle}.w{text-anchor:start;font-size:11px}\
    .n{stroke:#444;stroke-width:1.2}.h{stroke-dasharray:4 3}\
    .event{fill:#fff3d6}.table{fill:#dcebfa}.rule{fill:#f4f4f4}.timer{fill:#e3f4dd}\
    .stage,.system{fill:#eee3f7}.component,.app{fill:#f4f4f4}.interface{fill:#fff3d6}\
    .message{fill:#dcebfa}.file{fill:#e3f4dd}\
    .e{fill:none;stroke-width:1.4}";

/// The kinds in the order of the legend, with the colour and dashes of their lines.
const KINDS: [(EdgeKind, &str, &str); 23] = [
    (EdgeKind::Starts, "#222222", ""),
    (EdgeKind::Reads, "#4477aa", "5 3"),
    (EdgeKind::Lacks, "#aa3377", "2 3"),
    (EdgeKind::Emits, "#b07a00", ""),
    (EdgeKind::Inserts, "#228833", ""),
    (EdgeKind::Deletes, "#cc3311", ""),
    (EdgeKind::Maintains, "#117788", ""),
    (EdgeKind::Ships, "#663399", "8 3"),
    (EdgeKind::Makes, "#222222", ""),
    (EdgeKind::Offers, "#228833", ""),
    (EdgeKind::Requires, "#4477aa", "5 3"),
    (EdgeKind::Carries, "#222222", ""),
    (EdgeKind::Fills, "#b07a00", "8 3"),
    (EdgeKind::Runs, "#663399", ""),
    (EdgeKind::Decodes, "#117788", "5 3"),
    (EdgeKind::Encodes, "#228833", "5 3"),
    (EdgeKind::Reaches, "#663399", "5 3"),
    (EdgeKind::Sends, "#b07a00", "5 3"),
    (EdgeKind::Holds, "#cc3311", "5 3"),
    (EdgeKind::Configures, "#117788", "8 3"),
    (EdgeKind::Writes, "#228833", "8 3"),
    (EdgeKind::Opens, "#b07a00", ""),
    (EdgeKind::MayOpen, "#b07a00", "2 3"),
];

#[derive(Clone, Copy, Default)]
struct NodePosition {
    /// The centre.
    x: f64,
    y: f64,
    width: f64,
}

/// Draws the graph: layers from top to bottom, nodes by kind, edges by kind, and a legend.
pub fn draw(graph: &Graph) -> String {
    let layout = layout(graph, |node| node_width(graph, node) + GAP, BEND);
    let used = KINDS.iter().filter(|(kind, ..)| graph.edges.iter().any(|it| it.kind == *kind));
    let used: Vec<_> = used.collect();
    let (width, height) = size(&layout, used.len());
    // Narrow graphs are centred below the legend.
    let left = (width - layout.width) / 2.0;
    let places: Vec<NodePosition> = (0..graph.nodes.len())
        .map(|node| {
            let (layer, x) = layout.nodes[node];
            NodePosition { x: left + x, y: height_of(layer), width: node_width(graph, node) }
        })
        .collect();
    let mut out = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <rect class=\"g\" width=\"{width:.0}\" height=\"{height:.0}\" rx=\"8\"/>\n<defs>"
    );
    for (kind, colour, _) in &used {
        let _ = writeln!(
            out,
            "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"9\" \
             markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
             <path d=\"M0 0 L8 4 L0 8 z\" fill=\"{colour}\"/></marker>",
            kind.word()
        );
    }
    out.push_str("</defs>\n");
    for (number, (kind, ..)) in used.iter().enumerate() {
        write_entry(&mut out, number, *kind);
    }
    for (edge, bends) in graph.edges.iter().zip(&layout.bends) {
        let bends = bends.iter().map(|&(layer, x)| (left + x, height_of(layer)));
        let path = path(places[edge.from], places[edge.to], edge, bends);
        let _ = writeln!(out, "<path {} d=\"{path}\"/>", line(edge.kind));
    }
    write_nodes(&mut out, graph, &places);
    out.push_str("</svg>\n");
    out
}

fn node_width(graph: &Graph, node: usize) -> f64 {
    (label(&graph.nodes[node]).chars().count() as f64 * CHARACTER + 22.0).max(40.0)
}

/// The vertical centre of a layer.
fn height_of(layer: usize) -> f64 {
    MARGIN + LEGEND + HEIGHT / 2.0 + layer as f64 * STEP
}

fn size(layout: &Layout, kinds: usize) -> (f64, f64) {
    let height = height_of(layout.layers.saturating_sub(1)) + HEIGHT / 2.0 + MARGIN;
    (layout.width.max(kinds as f64 * ENTRY) + 2.0 * MARGIN, height)
}

/// The attributes of a line.
fn line(kind: EdgeKind) -> String {
    let known = KINDS.iter().find(|(other, ..)| *other == kind);
    let (colour, dashes) = known.map_or(("#222222", ""), |(_, colour, dashes)| (colour, dashes));
    let dashes = match dashes {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    };
    let word = kind.word();
    format!("class=\"e\" stroke=\"{colour}\"{dashes} marker-end=\"url(#{word})\"")
}

fn write_entry(out: &mut String, number: usize, kind: EdgeKind) {
    let (x, y, line) = (MARGIN + number as f64 * ENTRY, MARGIN - 4.0, line(kind));
    let (end, text, word) = (x + 30.0, x + 36.0, kind.word());
    let _ = writeln!(
        out,
        "<path {line} d=\"M{x:.1} {y:.1} H{end:.1}\"/>\n\
         <text class=\"w\" x=\"{text:.1}\" y=\"{y:.1}\" dy=\".35em\">{word}</text>"
    );
}

fn write_nodes(out: &mut String, graph: &Graph, places: &[NodePosition]) {
    for (node, place) in graph.nodes.iter().zip(places) {
        let hidden = if node.hidden { " h" } else { "" };
        let class = node.kind.word();
        let radius = match node.kind {
            NodeKind::Event | NodeKind::Timer | NodeKind::Interface => HEIGHT / 2.0,
            NodeKind::Table => 6.0,
            NodeKind::Rule
            | NodeKind::Stage
            | NodeKind::Component
            | NodeKind::System
            | NodeKind::App
            | NodeKind::Message
            | NodeKind::File => 0.0,
        };
        let NodePosition { x, y, width } = *place;
        let (left, top) = (x - width / 2.0, y - HEIGHT / 2.0);
        let text = escape(&label(node));
        let _ = writeln!(
            out,
            "<rect class=\"n {class}{hidden}\" x=\"{left:.1}\" y=\"{top:.1}\" \
             width=\"{width:.1}\" height=\"{HEIGHT}\" rx=\"{radius}\"/>\n\
             <text x=\"{x:.1}\" y=\"{y:.1}\" dy=\".35em\">{text}</text>"
        );
    }
}

/// A curve through the bends, vertical in each of them.
fn path(
    from: NodePosition,
    to: NodePosition,
    edge: &Edge,
    bends: impl Iterator<Item = (f64, f64)>,
) -> String {
    if edge.from == edge.to {
        let (x, y) = (from.x + from.width / 2.0, from.y);
        let (out, up, down) = (x + 22.0, y - 7.0, y + 7.0);
        return format!("M{x:.1} {up:.1} C{out:.1} {up:.1} {out:.1} {down:.1} {x:.1} {down:.1}");
    }
    let side = if to.y > from.y { HEIGHT / 2.0 } else { -HEIGHT / 2.0 };
    // Lines that meet at a node are offset, by up to how far they come from the side.
    let port = |place: NodePosition, towards: f64| {
        let most = place.width / 2.0 - 8.0;
        // Upward and downward lines of a node are offset from each other.
        let beside = if side < 0.0 { 8.0 } else { 0.0 };
        place.x + ((towards - place.x) * 0.2 + beside).clamp(-most, most)
    };
    let inner: Vec<(f64, f64)> = bends.collect();
    let first = inner.first().map_or(to.x, |bend| bend.0);
    let last = inner.last().map_or(from.x, |bend| bend.0);
    let mut points = vec![(port(from, first), from.y + side)];
    for (x, y) in inner {
        points.extend([(x, y - side), (x, y + side)]);
    }
    points.push((port(to, last), to.y - side));
    let mut path = format!("M{:.1} {:.1}", points[0].0, points[0].1);
    for pair in points.windows(2) {
        let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
        let _ = if x1 == x2 {
            write!(path, " L{x2:.1} {y2:.1}")
        } else {
            let middle = (y1 + y2) / 2.0;
            write!(path, " C{x1:.1} {middle:.1} {x2:.1} {middle:.1} {x2:.1} {y2:.1}")
        };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::example;
    use super::*;

    #[test]
    fn every_node_and_edge_is_drawn_inside_the_picture() {
        let graph = example();
        let picture = draw(&graph);
        assert_eq!(picture.matches("<rect class=\"n ").count(), graph.nodes.len());
        let kinds = picture.matches("<marker ").count();
        assert_eq!(kinds, 6);
        assert_eq!(picture.matches("marker-end").count(), graph.edges.len() + kinds);
        let number = |text: &str| text.split('"').next().and_then(|it| it.parse::<f64>().ok());
        let width = picture.split("width=\"").nth(1).and_then(number).expect("a width");
        for node in picture.split("<rect class=\"n ").skip(1) {
            let x = node.split("x=\"").nth(1).and_then(number).expect("a place");
            let own = node.split("width=\"").nth(1).and_then(number).expect("a width");
            assert!(x >= MARGIN && x + own <= width - MARGIN, "{node}");
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
