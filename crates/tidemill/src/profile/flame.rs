//! A profile as a flame graph.
//!
//! The run is at the bottom; above it what started the turns, then rules, operators and parts of
//! the engine, and on top strands and parts of views. Widths are time; frames of one parent are in
//! the order of their names, which also determine their colours. All figures are in the titles,
//! which browsers show; there is no script.

use std::fmt::Write;

use tidemill_relation::cost::Cost;
use tidemill_stdx::ordered::OrderedMap;

use super::folded::{FrameKind, stack};
use super::{Profile, percent, span};
use crate::xml::escape;

/// Width of the picture and height of a frame, in pixels.
const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 18.0;
const MARGIN: f64 = 10.0;
/// Height of the heading.
const HEADING: f64 = 34.0;
/// Narrower frames are omitted.
const WIDTH_MIN: f64 = 0.1;
/// Width of a character, and of the narrowest frame with a name.
const CHARACTER: f64 = 6.8;
const NAMED_MIN: f64 = 3.0 * CHARACTER;

const STYLE: &str = "svg{background:#fff}.g{fill:#fff}text{font:11px sans-serif;fill:#111}\
    .t{font-size:14px;text-anchor:middle}rect{stroke:#fff;stroke-width:.5}\
    g:hover rect{stroke:#000}";

/// A frame and its children by name.
#[derive(Default)]
struct Frame {
    cost: Cost,
    above: OrderedMap<(String, FrameKind), Frame>,
}

/// Draws the graph.
pub fn flame_graph(profile: &Profile) -> String {
    let mut base = Frame::default();
    for (spot, cost) in &profile.costs.costs {
        let mut frame = &mut base;
        frame.cost += *cost;
        for key in stack(spot) {
            frame = frame.above.entry(key).or_default();
            frame.cost += *cost;
        }
    }
    let total = base.cost.ns;
    let levels = base.depth().max(1);
    let height = HEADING + levels as f64 * HEIGHT + MARGIN;
    let mut out = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {WIDTH:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <rect class=\"g\" width=\"{WIDTH:.0}\" height=\"{height:.0}\"/>\n\
         <text class=\"t\" x=\"{:.0}\" y=\"20\">{} in turns, by rule</text>",
        WIDTH / 2.0,
        span(total)
    );
    let scale = (WIDTH - 2.0 * MARGIN) / total.max(1) as f64;
    let mut drawing = Drawing { out, scale, total, bottom: height - MARGIN };
    drawing.draw_above(&base, MARGIN, 0);
    drawing.out + "</svg>\n"
}

impl Frame {
    /// The height of the stack of frames.
    fn depth(&self) -> usize {
        self.above.iter().map(|(_, frame)| 1 + frame.depth()).max().unwrap_or(0)
    }
}

struct Drawing {
    out: String,
    /// Pixels per nanosecond.
    scale: f64,
    total: u64,
    bottom: f64,
}

impl Drawing {
    fn draw_above(&mut self, frame: &Frame, left: f64, level: usize) {
        let mut x = left;
        for ((name, kind), above) in &frame.above {
            let width = above.cost.ns as f64 * self.scale;
            if width >= WIDTH_MIN {
                self.draw(name, *kind, &above.cost, (x, width), level);
                self.draw_above(above, x, level + 1);
            }
            x += width;
        }
    }

    fn draw(&mut self, name: &str, kind: FrameKind, cost: &Cost, place: (f64, f64), level: usize) {
        let (x, width) = place;
        let y = self.bottom - (level + 1) as f64 * HEIGHT;
        let (share, title) = (percent(cost.ns, self.total), escape(name));
        let counts = match kind {
            FrameKind::Rule | FrameKind::Part => {
                let Cost { fired, derived, probes, ns } = cost;
                let each = ns / fired.max(&1);
                format!(", {each} ns each: {fired} fired, {derived} derived, {probes} probes")
            }
            FrameKind::Operator | FrameKind::Engine => format!(", {} times", cost.fired),
            FrameKind::Run | FrameKind::Turn => String::new(),
        };
        let (took, colour) = (span(cost.ns), colour(name, kind));
        let _ = writeln!(
            self.out,
            "<g><title>{title}: {share:.1}%, {took}{counts}</title>\
             <rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\" \
             fill=\"{colour}\"/>{}</g>",
            label(name, x, y, width)
        );
    }
}

/// The name inside of a frame, truncated to fit.
fn label(name: &str, x: f64, y: f64, width: f64) -> String {
    if width < NAMED_MIN {
        return String::new();
    }
    let room = ((width - 4.0) / CHARACTER) as usize;
    let text = if name.chars().count() > room {
        name.chars().take(room.saturating_sub(2)).chain("..".chars()).collect()
    } else {
        name.to_owned()
    };
    format!("<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + 3.0, y + 13.0, escape(&text))
}

/// A colour derived from the name: rules are warm, turns blue, operators green, and the engine is
/// grey.
fn colour(name: &str, kind: FrameKind) -> String {
    // FNV-1a.
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let (a, b) = (hash % 50, (hash >> 8) % 90);
    let [red, green, blue] = match kind {
        FrameKind::Run => [225, 225, 225],
        FrameKind::Turn => [130 + a, 180 + a, 225],
        FrameKind::Rule => [205 + a, 80 + b, 40 + a],
        FrameKind::Part => [225 + a / 2, 150 + b, 60 + a],
        FrameKind::Operator => [110 + a, 190 + a, 90 + a],
        FrameKind::Engine => [170 + a, 170 + a, 170 + a],
    };
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    /// Left, top, width and name of each frame.
    fn frames(picture: &str) -> Vec<(f64, f64, f64, String)> {
        let number = |text: &str, key: &str| {
            let value =
                text.split(&format!(" {key}=\"")).nth(1).and_then(|it| it.split('"').next());
            value.and_then(|value| value.parse::<f64>().ok()).expect(key)
        };
        let frame = |text: &str| {
            let name = text.split("<title>").nth(1).and_then(|it| it.split(": ").next());
            let at = |key| number(text, key);
            (at("x"), at("y"), at("width"), name.expect("a title").to_owned())
        };
        picture.lines().filter(|line| line.starts_with("<g>")).map(frame).collect()
    }

    #[test]
    fn widths_are_time_and_frames_stand_on_their_parents() {
        let picture = flame_graph(&example());
        let frames = frames(&picture);
        let find = |name: &str| {
            let found = frames.iter().filter(|frame| frame.3 == name);
            found.map(|frame| (frame.0, frame.1, frame.2)).collect::<Vec<_>>()
        };
        // 10 us are 1180 pixels.
        assert_eq!(find("run"), [(10.0, 88.0, 1180.0)]);
        assert_eq!(find("event ping"), [(10.0, 70.0, 1062.0)]);
        assert_eq!(find("timer of r1"), [(1072.0, 70.0, 118.0)]);
        assert_eq!(find("(engine) dispatch"), [(10.0, 52.0, 118.0)]);
        assert_eq!(find("r1"), [(128.0, 52.0, 708.0), (1101.5, 52.0, 59.0)]);
        assert_eq!(find("on event ping"), [(128.0, 34.0, 708.0)]);
        assert_eq!(find("on event &lt;pong&gt;"), [(836.0, 34.0, 236.0)]);
        assert_eq!(frames.len(), 12);
        let title = "<title>r2: 20.0%, 2.0 us, 100 ns each: 20 fired, 5 derived, 0 probes</title>";
        assert!(picture.contains(title), "{picture}");
        assert!(!picture.contains("script"));
    }

    #[test]
    fn colours_follow_from_names_and_kinds() {
        assert_eq!(colour("r1", FrameKind::Rule), colour("r1", FrameKind::Rule));
        assert_ne!(colour("r1", FrameKind::Rule), colour("r2", FrameKind::Rule));
        assert_ne!(colour("r1", FrameKind::Rule), colour("r1", FrameKind::Turn));
    }

    #[test]
    fn a_profile_of_nothing_is_a_picture_too() {
        let picture = flame_graph(&Profile::default());
        assert!(picture.contains("0 ns in turns") && picture.ends_with("</svg>\n"), "{picture}");
    }
}
