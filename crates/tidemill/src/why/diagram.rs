//! A space-time diagram of a run: a line per node, time to the right, an arrow per message.
//!
//! The causes of the violation are marked: its executions and the messages between them, with their
//! relations. A message that has not arrived ends in a cross, the time that a node was down is a
//! gap in its line. Long times in which nothing happens are compressed. Tuples, rules and times are
//! in the titles, which browsers show; there is no script.

use std::fmt::Write;

use tidemill_stdx::hash::{Map, Set};

use super::account::{Account, Life, NodeNo, TupleNo};
use crate::seconds::Seconds;
use crate::xml::escape;

/// Width of the picture, of the names of nodes, and the distance between their lines, in pixels.
const WIDTH: f64 = 1200.0;
const NAMES: f64 = 110.0;
const MARGIN: f64 = 80.0;
const LANE: f64 = 44.0;
const HEADING: f64 = 40.0;

/// Width of a time label.
const TIME: f64 = 75.0;

/// Times closer to each other than this, in nanoseconds, are drawn to scale.
const GAP_NS: f64 = 2e6;

/// The maximum number of unmarked messages drawn: the last ones.
const MESSAGES_MAX: usize = 500;

/// The length of the arrow of a lost message: pixels to the right and down.
const LOST: (f64, f64) = (14.0, 14.0);

const STYLE: &str = "svg{background:#fff}.g{fill:#fff}text{font:11px sans-serif;fill:#111}\
    .n{stroke:#888}.m{stroke:#bbb}.x{stroke:#c33;stroke-width:1.5}.p{stroke:#c33;stroke-width:2}\
    circle{fill:#888}.q{fill:#c33}.d{fill:#c33;font-weight:bold}";

/// Draws an account with these executions marked, up to the last of them if there are some.
pub(super) fn draw(account: &Account, path: &[u32]) -> String {
    let marked: Set<u32> = path.iter().copied().collect();
    let last = path.iter().copied().max().map_or(account.now(), |last| last + 1);
    let messages = messages(account, &marked, last);
    let end_ns = (0..last).map(|at| account.execution(at).at_ns).max().unwrap_or(0);
    let first = messages.iter().map(|it| it.sent_ns);
    let first = first.chain(path.iter().map(|at| account.execution(*at).at_ns)).min();
    let begin_ns = first.unwrap_or(0).min(end_ns);
    let nodes = account.nodes_in_order();
    let height = HEADING + nodes.len() as f64 * LANE;
    let lanes: Map<NodeNo, f64> = (0..)
        .zip(&nodes)
        .map(|(at, node)| (*node, HEADING + (f64::from(at) + 0.5) * LANE))
        .collect();
    let mut out = String::new();
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {WIDTH:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <rect class=\"g\" width=\"{WIDTH:.0}\" height=\"{height:.0}\"/>"
    );
    let marks = path.iter().map(|at| account.execution(*at).at_ns);
    let ends = messages.iter().flat_map(|it| [Some(it.sent_ns), it.arrived.map(|(_, at)| at)]);
    let times = marks.chain(ends.flatten()).chain([begin_ns, end_ns]);
    let axis = Axis::new(times.filter(|at| (begin_ns..=end_ns).contains(at)).collect());
    axis.draw(&mut out);
    let mut drawing = Drawing { out, account, lanes, begin_ns, end_ns, axis };
    for node in &nodes {
        drawing.node(*node);
    }
    for message in &messages {
        drawing.message(message);
    }
    drawing.executions(last, &marked);
    drawing.out + "</svg>\n"
}

/// A tuple sent from one node to another.
struct Message {
    /// The execution that sent it.
    sent: u32,
    from: NodeNo,
    sent_ns: u64,
    tuple: TupleNo,
    /// The node and time of its arrival.
    arrived: Option<(NodeNo, u64)>,
    is_marked: bool,
}

/// Messages sent before an execution: the last ones, and all that are marked.
fn messages(account: &Account, marked: &Set<u32>, last: u32) -> Vec<Message> {
    // Each receipt belongs to the last send before it that has none.
    let mut arrived: Map<u32, (NodeNo, u64)> = Map::default();
    for (node, tuple, receipt) in account.receipts_in_order() {
        let sent = account.maker((receipt.sender, tuple), receipt.after, true);
        if let Some(sent) = sent {
            arrived.entry(sent).or_insert((node, receipt.at_ns));
        }
    }
    let mut messages = Vec::new();
    let mut others = 0;
    for sent in (0..last).rev() {
        let executed = account.execution(sent);
        let is_marked = marked.contains(&sent);
        if !executed.is_remote || (others >= MESSAGES_MAX && !is_marked) {
            continue;
        }
        others += usize::from(!is_marked);
        messages.push(Message {
            sent,
            from: executed.node,
            sent_ns: executed.at_ns,
            tuple: executed.output,
            arrived: arrived.get(&sent).copied(),
            is_marked,
        });
    }
    // Marked messages are drawn above the others.
    messages.sort_by_key(|it| (it.is_marked, it.sent));
    messages
}

struct Drawing<'a> {
    out: String,
    account: &'a Account,
    /// The height of the line of each node.
    lanes: Map<NodeNo, f64>,
    begin_ns: u64,
    end_ns: u64,
    axis: Axis,
}

/// The time axis.
struct Axis {
    /// Times of events with their positions, from left to right.
    places: Vec<(u64, f64)>,
}

impl Axis {
    /// The distance of two times grows with the logarithm of their difference.
    fn new(mut times: Vec<u64>) -> Axis {
        times.sort_unstable();
        times.dedup();
        let mut place = 0.0;
        let mut before = times.first().copied().unwrap_or(0);
        let mut places: Vec<(u64, f64)> = Vec::with_capacity(times.len());
        for at_ns in times {
            place += ((at_ns - before) as f64 / GAP_NS).ln_1p();
            places.push((at_ns, place));
            before = at_ns;
        }
        let scale = (WIDTH - NAMES - MARGIN) / if place > 0.0 { place } else { 1.0 };
        places.iter_mut().for_each(|(_, place)| *place = NAMES + *place * scale);
        Axis { places }
    }

    /// The position of a time.
    fn x(&self, at_ns: u64) -> f64 {
        let after = self.places.partition_point(|(known, _)| *known < at_ns);
        let known = |at: usize| self.places.get(at).copied();
        match (after.checked_sub(1).and_then(known), known(after)) {
            (Some((before, left)), Some((after, right))) => {
                let share = (at_ns - before) as f64 / (after - before) as f64;
                left + (right - left) * share
            }
            (Some((_, x)), None) | (None, Some((_, x))) => x,
            (None, None) => NAMES,
        }
    }

    /// Labels times, as far as there is room.
    fn draw(&self, out: &mut String) {
        let mut free = f64::MIN;
        for &(at_ns, x) in &self.places {
            if x >= free {
                let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"20\">{}</text>", Seconds(at_ns));
                free = x + TIME;
            }
        }
    }
}

impl Drawing<'_> {
    fn x(&self, at_ns: u64) -> f64 {
        let at_ns = at_ns.clamp(self.begin_ns, self.end_ns);
        self.axis.x(at_ns)
    }

    fn y(&self, node: NodeNo) -> f64 {
        self.lanes.get(&node).copied().unwrap_or(HEADING)
    }

    /// The line of a node, with gaps while it is down.
    fn node(&mut self, node: NodeNo) {
        let y = self.y(node);
        let name = escape(self.account.node(node));
        let _ = writeln!(self.out, "<text x=\"8\" y=\"{:.1}\">{name}</text>", y + 4.0);
        let mut up = Some(self.begin_ns);
        for (at_ns, life) in self.account.lives(node) {
            if at_ns > self.end_ns {
                break;
            }
            match (life, up) {
                (Life::Ended, Some(since)) => {
                    self.line("n", (self.x(since), y), (self.x(at_ns), y));
                    if at_ns >= self.begin_ns {
                        let x = self.x(at_ns);
                        let _ = writeln!(
                            self.out,
                            "<text class=\"d\" x=\"{x:.1}\" y=\"{:.1}\">&#215;<title>{name} \
                             crashes at {}</title></text>",
                            y + 4.0,
                            Seconds(at_ns)
                        );
                    }
                    up = None;
                }
                (Life::Began, _) => up = Some(at_ns),
                (Life::Ended, None) => {}
            }
        }
        if let Some(since) = up {
            self.line("n", (self.x(since), y), (WIDTH - MARGIN, y));
        }
    }

    fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = writeln!(
            self.out,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    fn message(&mut self, it: &Message) {
        let from = (self.x(it.sent_ns), self.y(it.from));
        let text = escape(&self.account.tuple_of(it.tuple).text);
        let (to, class, end) = match (it.arrived, it.is_marked) {
            (Some((node, at_ns)), is_marked) => {
                let class = if is_marked { "p" } else { "m" };
                ((self.x(at_ns), self.y(node)), class, format!("arrives at {}", Seconds(at_ns)))
            }
            (None, _) => {
                let lost = (from.0 + LOST.0, from.1 + LOST.1);
                (lost, "x", "has not arrived".to_owned())
            }
        };
        let title = format!("{text}, sent at {}, {end}", Seconds(it.sent_ns));
        let _ = write!(self.out, "<g><title>{title}</title>");
        self.line(class, from, to);
        if it.arrived.is_none() {
            let (x, y) = to;
            let _ = write!(
                self.out,
                "<text class=\"d\" x=\"{x:.1}\" y=\"{:.1}\">&#215;</text>",
                y + 4.0
            );
        }
        if it.is_marked {
            let name = text.split('(').next().unwrap_or_default();
            let (x, y) = (f64::midpoint(from.0, to.0), f64::midpoint(from.1, to.1));
            let _ = write!(self.out, "<text x=\"{:.1}\" y=\"{y:.1}\">{name}</text>", x + 4.0);
        }
        self.out.push_str("</g>\n");
    }

    /// A dot for each turn that derived something; marked ones above the others.
    fn executions(&mut self, last: u32, marked: &Set<u32>) {
        let mut drawn: Set<(NodeNo, i64)> = Set::default();
        let mut dot = |drawing: &mut Self, at: u32, class: &str, radius: u32| {
            let executed = drawing.account.execution(at);
            let (x, y) = (drawing.x(executed.at_ns), drawing.y(executed.node));
            if executed.at_ns < drawing.begin_ns
                || (radius < 4 && !drawn.insert((executed.node, (x * 2.0) as i64)))
            {
                return;
            }
            let text = escape(&drawing.account.tuple_of(executed.output).text);
            let rule = escape(drawing.account.rule(executed));
            let _ = writeln!(
                drawing.out,
                "<circle{class} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"><title>{text} by {rule} \
                 at {}</title></circle>",
                Seconds(executed.at_ns)
            );
        };
        (0..last).rev().for_each(|at| dot(self, at, "", 2));
        let mut marked: Vec<u32> = marked.iter().copied().collect();
        marked.sort_unstable();
        marked.into_iter().for_each(|at| dot(self, at, " class=\"q\"", 4));
    }
}
