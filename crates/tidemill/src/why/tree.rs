//! Why a tuple was derived: the tree of its inputs, across nodes, down to external input.
//!
//! The tree is built from its root, level by level, up to a number of lines, so it has the nearest
//! causes. Each tuple occurs once; further uses refer to that line. Rules that are executed in
//! parts appear as one.

use std::collections::VecDeque;
use std::fmt;

use tidemill_stdx::hash::Map;

use super::account::{Account, NodeNo, Received, Tuple, TupleNo};
use crate::seconds::Seconds;

/// The maximum number of lines.
const LINES_MAX: usize = 64;

/// The maximum number of absent rows shown per line.
const LACKED_MAX: usize = 3;

/// The maximum number of executions of parts that one line represents.
const PARTS_MAX: usize = 256;

/// Why a tuple was derived, ready to print.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Why {
    lines: Vec<TreeLine>,
    /// The executions of its lines.
    pub(super) path: Vec<u32>,
    /// Nodes that have sent tuples and whose record is unknown.
    strangers: Vec<String>,
    /// Older executions have been dropped.
    is_cut: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct TreeLine {
    text: String,
    /// Its inputs, the shortest explanation first.
    children: Vec<usize>,
    /// Further lines were omitted for lack of room.
    has_more: bool,
    /// The line of the same tuple that has its inputs, if that is another.
    elsewhere: Option<Elsewhere>,
}

/// The position of another line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Elsewhere {
    Above,
    Below,
}

/// A tuple to explain.
struct Wanted {
    tuple: TupleNo,
    node: NodeNo,
    /// It existed before this execution.
    before: u32,
    line: usize,
}

impl Why {
    /// Explains a tuple at a node, at the end of an account up to an execution.
    pub(super) fn new(account: &Account, node: NodeNo, tuple: TupleNo, before: u32) -> Why {
        let blank = || TreeLine {
            text: String::new(),
            children: Vec::new(),
            has_more: false,
            elsewhere: None,
        };
        let (mut lines, mut seen) = (vec![blank()], Map::default());
        let mut repeated: Vec<(usize, usize)> = Vec::new();
        let (mut strangers, mut path): (Vec<String>, Vec<u32>) = Default::default();
        let mut open = VecDeque::from([Wanted { tuple, node, before, line: 0 }]);
        while let Some(wanted) = open.pop_front() {
            let Explained { text, causes, made, stranger, explained_at } =
                explain(account, &wanted, &mut seen);
            lines[wanted.line].text = text;
            repeated.extend(explained_at.map(|explained_at| (wanted.line, explained_at)));
            path.extend(made);
            let stranger = stranger.map(|node| account.node(node).to_owned());
            strangers.extend(stranger.filter(|node| !strangers.contains(node)));
            for (node, tuple, before) in causes {
                if lines.len() >= LINES_MAX {
                    lines[wanted.line].has_more = true;
                    break;
                }
                let line = lines.len();
                lines.push(blank());
                lines[wanted.line].children.push(line);
                open.push_back(Wanted { tuple, node, before, line });
            }
        }
        // Children follow their parents.
        let mut sizes = vec![1; lines.len()];
        for at in (0..lines.len()).rev() {
            let mut children = std::mem::take(&mut lines[at].children);
            children.sort_by_key(|child| sizes[*child]);
            sizes[at] += children.iter().map(|child| sizes[*child]).sum::<usize>();
            lines[at].children = children;
        }
        let places = places(&lines);
        for (line, explained_at) in repeated {
            let is_above = places[explained_at] < places[line];
            lines[line].elsewhere =
                Some(if is_above { Elsewhere::Above } else { Elsewhere::Below });
        }
        Why { lines, path, strangers, is_cut: account.is_cut }
    }

    /// Nodes that have sent tuples, whose derivations are unknown.
    pub(super) fn strangers(&self) -> impl Iterator<Item = &str> {
        self.strangers.iter().map(String::as_str)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, at: usize, indent: &str) -> fmt::Result {
        let TreeLine { text, children, has_more, elsewhere } = &self.lines[at];
        let again = match elsewhere {
            None => "",
            Some(Elsewhere::Above) => ", see above",
            Some(Elsewhere::Below) => ", see below",
        };
        let more = if *has_more { "; and more" } else { "" };
        writeln!(f, "{text}{again}{more}")?;
        for (position, child) in children.iter().enumerate() {
            let (branch, below) = if position + 1 == children.len() {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            write!(f, "{indent}{branch}")?;
            self.write(f, *child, &format!("{indent}{below}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Why {
    /// Lines, each with a newline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0, "")?;
        if self.is_cut {
            writeln!(f, "(only the last executions of rules are known)")?;
        }
        Ok(())
    }
}

/// The position at which each line is printed.
fn places(lines: &[TreeLine]) -> Vec<usize> {
    let (mut places, mut open, mut next) = (vec![0; lines.len()], vec![0], 0);
    while let Some(line) = open.pop() {
        places[line] = next;
        next += 1;
        open.extend(lines[line].children.iter().rev());
    }
    places
}

/// A tuple at a node before an execution.
type Cause = (NodeNo, TupleNo, u32);

/// The origin of a tuple, as explained by a line.
struct Explained {
    text: String,
    causes: Vec<Cause>,
    /// The execution that made it, if known.
    made: Option<u32>,
    /// The node that sent it, if its derivation there is unknown.
    stranger: Option<NodeNo>,
    /// The line that explains it already.
    explained_at: Option<usize>,
}

/// The line of a tuple, and its causes.
fn explain(
    account: &Account,
    &Wanted { tuple, node, before, line: at_line }: &Wanted,
    seen: &mut Map<(NodeNo, TupleNo, u32), usize>,
) -> Explained {
    let (made, stranger, explained_at) = (None, None, None);
    let nothing =
        Explained { text: String::new(), causes: Vec::new(), made, stranger, explained_at };
    let given = |text| Explained { text, ..nothing };
    let Tuple { text, is_timer, .. } = account.tuple_of(tuple);
    let Some(origin) = Origin::find(account, (node, tuple), before) else {
        let how = if *is_timer { "timer" } else { "given" };
        return given(format!("{text}  {how}"));
    };
    let (causes, passed) = origin.made.map_or_else(Default::default, |made| causes(account, made));
    // A shipped view receives a part of its rule.
    let Origin { receipt, made } = match passed {
        Some(passed) if origin.receipt.is_none() => passed,
        _ => origin,
    };
    let mut line = format!("{text}  ");
    if let Some(Received { sender, at_ns, .. }) = receipt {
        line += &format!("from {}", account.node(sender));
        if at_ns > 0 {
            line += &format!(" at {}", Seconds(at_ns));
        }
    }
    let Some(number) = made else {
        let stranger = receipt.map(|it| it.sender);
        return Explained { stranger, ..given(line) };
    };
    let executed = account.execution(number);
    let comma = if receipt.is_some() { ", " } else { "" };
    let (rule, at) = (account.rule(executed), Seconds(executed.at_ns));
    line += &format!("{comma}by {rule} at {at}");
    let explained_at = *seen.entry((node, tuple, number)).or_insert(at_line);
    if explained_at != at_line {
        return Explained { explained_at: Some(explained_at), ..given(line) };
    }
    let lacked = account.lacked(executed, causes.iter().map(|(_, tuple, _)| *tuple));
    lacked.iter().take(LACKED_MAX).for_each(|row| line += &format!(", no {row}"));
    Explained { causes, made, ..given(line) }
}

/// The origin of a tuple.
#[derive(Clone, Copy, Debug)]
struct Origin {
    /// Its receipt from another node, if it was received.
    receipt: Option<Received>,
    /// The execution that made it, here or there, if known.
    made: Option<u32>,
}

impl Origin {
    /// The origin of a tuple that a node had before an execution.
    fn find(account: &Account, at: (NodeNo, TupleNo), before: u32) -> Option<Origin> {
        let local = account.maker(at, before, false);
        let is_later = |it: &&Received| local.is_none_or(|made| made < it.after);
        let receipt = account.receipt(at, before).filter(is_later);
        match receipt {
            None => local.map(|made| Origin { receipt: None, made: Some(made) }),
            Some(receipt) => {
                let made = account.maker((receipt.sender, at.1), receipt.after, true);
                Some(Origin { receipt: Some(*receipt), made })
            }
        }
    }
}

/// The causes of an execution; parts of the same rule are replaced by their causes. For a part that
/// was received from another node, also its origin.
fn causes(account: &Account, made: u32) -> (Vec<Cause>, Option<Origin>) {
    let (mut causes, mut passed): (Vec<Cause>, _) = (Vec::new(), None);
    let mut open = VecDeque::from([made]);
    for _ in 0..PARTS_MAX {
        let Some(number) = open.pop_front() else { break };
        for (node, input, before) in account.inputs(number) {
            let cause = (node, input, before);
            if !account.tuple_of(input).is_part {
                if !causes.contains(&cause) {
                    causes.push(cause);
                }
                continue;
            }
            let origin = Origin::find(account, (node, input), before);
            passed = passed.or(origin.filter(|it| it.receipt.is_some()));
            open.extend(origin.and_then(|it| it.made));
        }
    }
    (causes, passed)
}
