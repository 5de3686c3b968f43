//! Random kernels and graphs.

use std::fmt;

use tidemill_packet::graph::Graph;
use tidemill_packet::kernel::{Address, Builder, Expr, Kernel, Operator, Value, Width};
use tidemill_stdx::rng::Rng;

use crate::common::graph_of;

/// A text as a `.flow` file writes it.
pub struct Text<'a>(pub &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
    }
}

const OPERATORS: [Operator; 19] = [
    Operator::Add,
    Operator::Sub,
    Operator::Mul,
    Operator::Div,
    Operator::Rem,
    Operator::And,
    Operator::Or,
    Operator::Xor,
    Operator::Shl,
    Operator::Shr,
    Operator::Min,
    Operator::AddSat,
    Operator::MulSat,
    Operator::SubSat,
    Operator::Sum16,
    Operator::Eq,
    Operator::Ne,
    Operator::Lt,
    Operator::Le,
];

const WIDTHS: [Width; 4] = [Width::W8, Width::W16, Width::W32, Width::W64];

fn of<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.below(all.len() as u64) as usize]
}

/// Numbers that are more interesting than others.
fn number(rng: &mut Rng) -> u64 {
    match rng.below(6) {
        0 => rng.below(4),
        1 => rng.below(80),
        2 => 63 + rng.below(3),
        3 => u64::MAX - rng.below(3),
        4 => 1 << rng.below(64),
        _ => rng.next_u64(),
    }
}

/// A kernel that is right.
pub fn random_kernel(rng: &mut Rng) -> Kernel {
    let mut builder = Builder::new("Random");
    let words = [builder.counter("one"), builder.state("two", 5), builder.counter("three")];
    let reasons = [builder.reason("short"), builder.reason("other")];
    let blocks = 1 + rng.below(5) as usize;
    let mut ids = vec![tidemill_packet::kernel::BlockId::new(0)];
    ids.extend((1..blocks).map(|_| builder.block()));
    let mut common = Vec::new();
    for (at, &id) in ids.iter().enumerate() {
        builder.at(id);
        let mut values = common.clone();
        let first = builder.constant(number(rng));
        values.push(first);
        for _ in 0..rng.below(12) {
            step(rng, &mut builder, &mut values, &words, &reasons);
        }
        if at == 0 {
            common = values.clone();
        }
        let later = |rng: &mut Rng| ids[at + 1 + rng.below((blocks - at - 1) as u64) as usize];
        match rng.below(6) {
            0 if at + 1 < blocks => {
                let to = later(rng);
                builder.jump(to);
            }
            1..=3 if at + 1 < blocks => {
                let (yes, no) = (later(rng), later(rng));
                builder.branch(of(rng, &values), yes, no);
            }
            4 => builder.drop(of(rng, &reasons)),
            5 if rng.below(4) == 0 => builder.take(),
            5 if rng.below(3) == 0 => builder.emit_all(),
            _ => builder.emit(rng.below(3).saturating_sub(1) as u32),
        }
    }
    let kernel = builder.finish().unwrap_or_else(|wrong| panic!("{wrong}"));
    Kernel::clone(&kernel)
}

fn step(
    rng: &mut Rng,
    builder: &mut Builder,
    values: &mut Vec<Value>,
    words: &[u32],
    reasons: &[u32],
) {
    let reason = of(rng, reasons);
    let (width, value) = (of(rng, &WIDTHS), of(rng, values));
    match rng.below(14) {
        0 => values.push(builder.constant(number(rng))),
        1 => values.push(builder.value(of(rng, &[Expr::Length, Expr::Now, Expr::Mark]))),
        2 => values.push(builder.word(of(rng, words))),
        3 => builder.set_word(of(rng, words), value),
        4 => builder.set_mark(value),
        5 | 6 => {
            let other = of(rng, values);
            // Not `binary`, which computes what is known: the engines have to.
            values.push(builder.value(Expr::Binary(of(rng, &OPERATORS), value, other)));
        }
        7 => {
            let offset = rng.below(30) as u32;
            builder.need(offset + width.bytes(), reason);
            values.push(builder.load(width, offset));
            if rng.below(2) == 0 {
                builder.store(width, offset, value);
            }
        }
        8 => {
            // A base that is often within the packet.
            let limit = builder.constant(40);
            let base = builder.value(Expr::Binary(Operator::Rem, value, limit));
            let base = if rng.below(8) == 0 { value } else { base };
            let offset = rng.below(4) as u32;
            builder.need_at(base, offset + width.bytes(), reason);
            values.push(builder.load_at(width, base, offset));
            builder.store_at(width, base, offset, value);
        }
        9 => builder.prepend(rng.below(90) as u32, reason),
        10 => {
            let bytes = rng.below(10) as u32;
            builder.need(bytes, reason);
            builder.strip(bytes);
        }
        11 if rng.below(3) == 0 => {
            let most = builder.constant(100);
            let length = builder.binary(Operator::Rem, value, most);
            match rng.below(2) {
                0 => builder.truncate(length),
                _ => builder.shorten(length),
            }
        }
        12 => {
            let place = Address { base: None, offset: rng.below(30) as u32 };
            builder.need(place.offset, reason);
            values.push(builder.value(Expr::Sum(place)));
        }
        _ => values.push(builder.value(Expr::Linked(rng.below(3) as u32))),
    }
}

/// A kernel that does nothing but copy.
const COPIES: &str = "kernel Copies\n b0:\n emit_all\n";

/// A source of `packets` packets that writes something into each.
fn source_kernel(rng: &mut Rng, packets: u64) -> Kernel {
    let mut builder = Builder::new("Makes");
    let (left, made) = (builder.state("left", packets), builder.counter("made"));
    builder.supply(8 + rng.below(400) as u32, 1 + rng.below(300) as u32, left);
    let one = builder.constant(1);
    builder.count(made, one);
    let number = builder.word(made);
    builder.store(Width::W64, 0, number);
    if rng.below(3) == 0 {
        let (odd, [yes, no]) =
            (builder.binary(Operator::And, number, one), [(); 2].map(|()| builder.block()));
        builder.branch(odd, yes, no);
        builder.at(no);
        builder.take();
        builder.at(yes);
    }
    builder.emit(0);
    let kernel = builder.finish().unwrap_or_else(|wrong| panic!("{wrong}"));
    Kernel::clone(&kernel)
}

/// A graph of `size` apps and two ends, in which every app has an input, cycles are common, and
/// runs of kernels too.
pub fn random_graph(rng: &mut Rng, size: usize) -> Graph {
    let mut text = String::from("end0 :: Digest\nend1 :: Digest\n");
    let mut links = String::new();
    let mut port = 0;
    let mut link = |links: &mut String, from: usize, to: &str| {
        port += 1;
        *links += &format!("n{from}.p{port} -> {to}.q{port}\n");
    };
    for at in 0..size {
        let is_source = at == 0 || rng.below(12) == 0;
        let copies = !is_source && rng.below(9) == 0;
        let kind = match rng.below(10) {
            0..3 if is_source => {
                let packets = rng.below(2500);
                let kernel = source_kernel(rng, packets);
                format!("Makes {{ text: {} }}", Text(&kernel.to_string()))
            }
            3 if is_source => format!("Rings {{ every_ms: {} }}", 1 + rng.below(200)),
            _ if is_source => {
                let (seed, burst) = (rng.below(1000), 1 + rng.below(200));
                format!("Noise {{ packets: {}, seed: {seed}, burst: {burst} }}", rng.below(2500))
            }
            _ if copies => format!("Code {{ text: {} }}", Text(COPIES)),
            0 => "Fork2".to_owned(),
            1 => format!("Shaky {{ at: {} }}", 20 + rng.below(500)),
            2 => ["Takes", "Greedy"][rng.below(2) as usize].to_owned(),
            _ => format!("Code {{ text: {} }}", Text(&random_kernel(rng).to_string())),
        };
        text += &format!("n{at} :: {kind}\n");
        let to = |rng: &mut Rng| match rng.below(4) {
            // Back, which makes a cycle, or to itself; to an end; or on.
            0 if at > 0 && rng.below(2) == 0 => format!("n{}", rng.below(at as u64 + 1)),
            1 if rng.below(2) == 0 => format!("end{}", rng.below(2)),
            _ if at + 1 < size => {
                let step = if rng.below(3) > 0 { 1 } else { 1 + rng.below((size - at - 1) as u64) };
                format!("n{}", at as u64 + step)
            }
            _ => "end0".to_owned(),
        };
        for _ in 0..if is_source { 1 } else { rng.below(3) + 2 * u64::from(copies) } {
            let to = to(rng);
            link(&mut links, at, &to);
        }
    }
    // Sources take nothing: links that lead to one end elsewhere.
    let sources: Vec<String> = text
        .lines()
        .filter(|line| [":: Noise", ":: Makes", ":: Rings"].iter().any(|kind| line.contains(kind)))
        .filter_map(|line| line.split(' ').next().map(|name| format!("-> {name}.")))
        .collect();
    let links: Vec<String> = links
        .lines()
        .map(|line| {
            sources.iter().fold(line.to_owned(), |line, name| line.replace(name, "-> end1."))
        })
        .collect();
    graph_of(&format!("{text}{}", links.join("\n")))
}
