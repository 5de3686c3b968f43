//! Parses scripts.

use std::time::Duration;

use tidemill_diag::{Diagnostic, FileId, Span};
use tidemill_event::Act;

use super::error::NumberError;
use super::number::{self, latency_of_shape, milliseconds, probability, seconds, signed_seconds};
use super::words::{Words, unexpected_word};
use super::{Action, ActionKind, Direction, NodeSelection, Nodes, Script, Template, Victim, When};

/// The default delay of the duplicate of a datagram, in milliseconds.
const DUPLICATE_MS: u64 = 10;

/// The maximum number of nodes of one `i in A..B`.
const RANGE_MAX: u32 = 1 << 20;

/// Parses the text of a script; returns what could be parsed, and diagnostics of the other lines.
pub fn parse(file: FileId, text: &str) -> (Script, Vec<Diagnostic>) {
    let mut script = Script::default();
    let mut diagnostics = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let mut words = Words::new(file, start, line);
        start += line.len();
        if words.peek_rest().is_empty() {
            continue;
        }
        let read = match setting(&mut words, &mut script) {
            None => action(&mut words).map(|action| script.actions.push(action)),
            Some(read) => read,
        };
        diagnostics.extend(read.err());
    }
    (script, diagnostics)
}

/// `nodes N` or `seed S`.
fn setting(words: &mut Words<'_>, script: &mut Script) -> Option<Result<(), Diagnostic>> {
    let (word, _) = words.clone().word();
    if !["nodes", "seed"].contains(&word) {
        return None;
    }
    let mut read = || {
        let (word, _) = words.word();
        match word {
            "nodes" => script.nodes = Some(words.read(number::nodes)?),
            _ => script.seed = Some(words.read(number::seed)?),
        }
        words.end()
    };
    Some(read())
}

fn action(words: &mut Words<'_>) -> Result<Action, Diagnostic> {
    let (_, span) = words.clone().rest();
    let (word, first) = words.word();
    let when = match word {
        "at" => When::At(words.read(seconds)?),
        "every" => {
            let (from, to) = words.read(times)?;
            words.expect("step")?;
            let step = words.read(|word| match seconds(word)? {
                0 => Err(NumberError::NoStep),
                step => Ok(step),
            })?;
            When::Every { from, to, step }
        }
        word => {
            let wanted = "`at`, `every`, `nodes` or `seed`";
            return Err(unexpected_word(word, first, wanted));
        }
    };
    let (_, verb) = words.clone().word();
    let what = what(words)?;
    words.end()?;
    if what == ActionKind::End && !matches!(when, When::At(_)) {
        return Err(Diagnostic::error("script-syntax", verb, "a run ends once: write `at T end`"));
    }
    Ok(Action { when, what, span })
}

/// `T..U`.
fn times(text: &str) -> Result<(u64, u64), NumberError> {
    let wrong = || NumberError::Times(text.to_owned());
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let (from, to) = (seconds(from)?, seconds(to)?);
    if from <= to { Ok((from, to)) } else { Err(wrong()) }
}

const VERBS: &str = "an action: inject, fact, delete, crash, restart, kill, pause, slow, clock, \
                     partition, heal, loss, duplicate, reorder, latency, drop, delay, deliver, \
                     manual, timer, seed, calm, expect or end";

fn what(words: &mut Words<'_>) -> Result<ActionKind, Diagnostic> {
    let (verb, span) = words.word();
    Ok(match verb {
        "inject" | "fact" => {
            let nodes = nodes(words)?;
            let tuple = template(words.rest(), &nodes)?;
            ActionKind::Put(nodes, tuple)
        }
        "delete" => {
            let nodes = nodes(words)?;
            let tuple = template(words.rest(), &nodes)?;
            ActionKind::Delete(nodes, tuple)
        }
        "crash" => ActionKind::Crash(nodes(words)?),
        "restart" => ActionKind::Restart(nodes(words)?),
        "kill" => ActionKind::Kill(nodes(words)?, victim(words)?),
        "pause" => ActionKind::Pause(nodes(words)?, words.read(seconds)?),
        "slow" => ActionKind::Slow(nodes(words)?, words.read(milliseconds)?),
        "clock" => {
            let (nodes, offset) = (nodes(words)?, words.read(signed_seconds)?);
            let drift = match words.peek_rest() {
                "" => 0,
                _ => words.read(millionths)?,
            };
            ActionKind::Clock(nodes, offset, drift)
        }
        "partition" => partition(words)?,
        "heal" => ActionKind::Heal,
        "loss" => ActionKind::Loss(words.read(probability)?),
        "duplicate" if is_last_word(words) => ActionKind::Duplicate(words.read(probability)?),
        "reorder" => ActionKind::Reorder(words.read(probability)?),
        "latency" => {
            let (least, most, shape) = words.read(latency_of_shape)?;
            let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            ActionKind::Latency { least: ns(least), most: ns(most), shape }
        }
        "drop" | "duplicate" | "delay" | "deliver" => message(words, verb)?,
        "manual" => ActionKind::Manual,
        "timer" => ActionKind::Timer(nodes(words)?, rule(words)?),
        "seed" => ActionKind::Seed(words.read(number::seed)?),
        "calm" => ActionKind::Calm,
        "expect" => expect(words)?,
        "end" => ActionKind::End,
        other => return Err(unexpected_word(other, span, VERBS)),
    })
}

/// Whether one word is left.
fn is_last_word(words: &Words<'_>) -> bool {
    let mut ahead = words.clone();
    ahead.word();
    ahead.peek_rest().is_empty()
}

fn millionths(text: &str) -> Result<i64, NumberError> {
    match text.parse() {
        Ok(drift @ -500_000..=500_000) => Ok(drift),
        _ => Err(NumberError::Drift(text.to_owned())),
    }
}

/// The name of the rule whose timer fires.
fn rule(words: &mut Words<'_>) -> Result<String, Diagnostic> {
    match words.word() {
        ("", span) => Err(unexpected_word("", span, "the rule of a timer")),
        (name, _) => Ok(name.to_owned()),
    }
}

/// `A B ['tuple']`, with a time before the tuple if the datagram or its duplicate is delayed.
fn message(words: &mut Words<'_>, verb: &str) -> Result<ActionKind, Diagnostic> {
    let (from, to) = (nodes(words)?, nodes(words)?);
    let act = match verb {
        "drop" => Act::Drop,
        "deliver" => Act::Deliver,
        "delay" => Act::Delay { after: Duration::from_nanos(words.read(milliseconds)?) },
        _ if words.peek_rest().starts_with(|first: char| first.is_ascii_digit()) => {
            Act::Duplicate { after: Duration::from_nanos(words.read(milliseconds)?) }
        }
        _ => Act::Duplicate { after: Duration::from_millis(DUPLICATE_MS) },
    };
    let (text, span) = words.rest();
    if text.is_empty() {
        return Ok(ActionKind::Message { act, from, to, tuple: None });
    }
    let quoted = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    let Some(quoted) = quoted else {
        let message = "a tuple of a message stands between single quotes: `'ping(_, 1)'`";
        return Err(Diagnostic::error("script-syntax", span, message));
    };
    let span = Span { start: span.start + 1, end: span.end - 1, ..span };
    let tuple = Some(template((quoted, span), &to)?);
    Ok(ActionKind::Message { act, from, to, tuple })
}

fn victim(words: &mut Words<'_>) -> Result<Victim, Diagnostic> {
    let (kind, span) = words.word();
    let victim = match kind {
        "component" => Victim::Component,
        "app" => Victim::App,
        other => return Err(unexpected_word(other, span, "`component PATH` or `app NAME`")),
    };
    match words.word() {
        ("", span) => Err(unexpected_word("", span, "what is killed")),
        (name, _) => Ok(victim(name.to_owned())),
    }
}

fn expect(words: &mut Words<'_>) -> Result<ActionKind, Diagnostic> {
    let nodes = nodes(words)?;
    let (text, span) = words.rest();
    // The count follows the closing parenthesis of the pattern.
    let counted = text.rsplit_once(')').and_then(|(pattern, rest)| {
        let digits = rest.trim().strip_prefix("count")?.trim();
        Some((pattern.len() + 1, digits.parse::<u64>(), digits))
    });
    let (text, count) = match counted {
        None => (text, None),
        Some((end, Ok(count), _)) => (&text[..end], Some(count)),
        Some((_, Err(_), digits)) => {
            let message = format!("`{digits}` is no count: write `count N` with N from 0");
            return Err(Diagnostic::error("script-syntax", span, message));
        }
    };
    let span = Span { end: span.start + text.len() as u32, ..span };
    let pattern = template((text, span), &nodes)?;
    Ok(ActionKind::Expect { nodes, pattern, count })
}

/// The tuple at the end of a line; checked for the first of its nodes.
fn template((text, span): (&str, Span), nodes: &Nodes) -> Result<Template, Diagnostic> {
    let template = Template { text: text.to_owned(), span };
    let (variable, first) = match &nodes.which {
        NodeSelection::Range { variable, from, .. } => (Some(variable.as_str()), *from),
        _ => (None, 0),
    };
    match template.instance(variable, first) {
        Ok(_) => Ok(template),
        Err(error) => {
            let at = span.start + (error.offset as u32).min(span.end - span.start);
            let place = Span { start: at, ..span };
            let wrong = Diagnostic::error("script-tuple", place, error.message);
            let is_number = text.get(error.offset..).is_some_and(|rest| rest.starts_with('$'));
            Err(wrong.help(if is_number {
                "`$i` is the number of a node where the nodes are `i in A..B`"
            } else {
                "a tuple is `name(value, ...)`, complete with its location"
            }))
        }
    }
}

/// The nodes of an action: one word, or `i in A..B`.
fn nodes(words: &mut Words<'_>) -> Result<Nodes, Diagnostic> {
    let (word, span) = words.word();
    let mut ahead = words.clone();
    if ahead.word().0 != "in" {
        return one(word, span);
    }
    *words = ahead;
    range(word, span, words.word())
}

fn one(word: &str, span: Span) -> Result<Nodes, Diagnostic> {
    let which = match word {
        "*" => NodeSelection::All,
        _ if word.contains(':') => NodeSelection::Address(word.to_owned()),
        _ => match word.parse() {
            Ok(index) => NodeSelection::Index(index),
            Err(_) => {
                let wanted = "a node: an address, an index, `*` or `i in A..B`";
                return Err(unexpected_word(word, span, wanted));
            }
        },
    };
    Ok(Nodes { which, span })
}

/// `i in A..B`, of which `in` has been read.
fn range(variable: &str, span: Span, bounds: (&str, Span)) -> Result<Nodes, Diagnostic> {
    let is_name = variable.starts_with(|c: char| c.is_ascii_alphabetic())
        && variable.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return Err(unexpected_word(variable, span, "the name of a variable before `in`"));
    }
    let (text, place) = bounds;
    let numbers = text.split_once("..").and_then(|(from, to)| {
        let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
        (from <= to && to - from < RANGE_MAX).then_some((from, to))
    });
    match numbers {
        Some((from, to)) => Ok(Nodes {
            which: NodeSelection::Range { variable: variable.to_owned(), from, to },
            span: span.to(place),
        }),
        None => Err(unexpected_word(text, place, "a range of indices `A..B` with A <= B")),
    }
}

/// `A,B | C,D`, or `A,B > C,D`.
fn partition(words: &mut Words<'_>) -> Result<ActionKind, Diagnostic> {
    let rest = words.peek_rest();
    let (mark, direction) = if rest.contains('>') && !rest.contains('|') {
        ('>', Direction::Forth)
    } else {
        ('|', Direction::Both)
    };
    groups(words, mark).map(|groups| ActionKind::Partition(groups, direction))
}

/// `A,B | C,D`: blanks around commas are allowed, `A..B` is a range of indices.
fn groups(words: &mut Words<'_>, mark: char) -> Result<Vec<Vec<Nodes>>, Diagnostic> {
    let (text, span) = words.rest();
    let mut groups = vec![Vec::new()];
    let mut at = span.start;
    for piece in text.split_inclusive([mark, ',']) {
        let name = piece.trim_end_matches([mark, ',']);
        let indent = name.len() - name.trim_start().len();
        let start = at + indent as u32;
        let name = name.trim();
        let place = Span { start, end: start + name.len() as u32, ..span };
        let nodes =
            if name.contains("..") { range("i", place, (name, place))? } else { one(name, place)? };
        if let Some(group) = groups.last_mut() {
            group.push(nodes);
        }
        if piece.ends_with(mark) {
            groups.push(Vec::new());
        }
        at += piece.len() as u32;
    }
    if groups.len() < 2 || groups.iter().any(Vec::is_empty) {
        let message = "a partition has two or more groups: `A,B | C,D`, or `A > B`";
        return Err(Diagnostic::error("script-syntax", span, message));
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use tidemill_diag::Sources;

    use super::*;

    fn check(text: &str) -> (Script, String) {
        let mut sources = Sources::new();
        let file = sources.add("t.sim", text);
        let (script, diagnostics) = parse(file, text);
        let rendered = diagnostics.iter().map(|one| sources.render(one)).collect();
        (script, rendered)
    }

    fn the_one(line: &str) -> Action {
        let (script, errors) = check(line);
        assert_eq!(errors, "", "{line}");
        script.actions.into_iter().next().expect("one action")
    }

    #[test]
    fn every_action_is_read() {
        let text = "\
# a comment
at 1 inject 0 lookup(NODE, 5)   # and another
at 0.5 fact * link(NODE, \"n1:1\", \"#not a comment\")
at 0.5 delete i in 0..3 link(NODE, \"n$i:1\", _)
every 1..10 step 0.5 inject i in 1..9 ping(\"n$i:1\", $i)
at 2 crash n3:1
at 3 restart i in 1..2
at 4 partition 0,1 | n2:1, 3
at 5 heal
at 6 loss 0.1
at 7 latency 5..20

at 8 expect 1 succ(NODE, _) count 2
at 9 expect * succ(NODE, _)
at 10 end
";
        let (script, errors) = check(text);
        assert_eq!(errors, "");
        assert_eq!(script.actions.len(), 13);
        assert!(matches!(script.actions[2].what, ActionKind::Delete(..)));
        assert_eq!(
            script.actions[3].when,
            When::Every { from: 1_000_000_000, to: 10_000_000_000, step: 500_000_000 }
        );
        let ActionKind::Put(nodes, tuple) = &script.actions[3].what else { panic!("a tuple") };
        let NodeSelection::Range { variable, from: 1, to: 9 } = &nodes.which else {
            panic!("a range")
        };
        let instance = tuple.instance(Some(variable), 7).expect("a tuple");
        assert_eq!(instance.to_string(), "ping(\"n7:1\", 7)");
        let ActionKind::Expect { count: Some(2), pattern, .. } = &script.actions[10].what else {
            panic!("an expectation")
        };
        assert_eq!(pattern.text, "succ(NODE, _)");
        assert_eq!(script.actions[12].what, ActionKind::End);
    }

    #[test]
    fn a_partition_may_have_ranges_and_many_groups() {
        let ActionKind::Partition(groups, direction) = the_one("at 1 partition 0..2, 5|3 | 4").what
        else {
            panic!("a partition")
        };
        assert_eq!(direction, Direction::Both);
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 1]);
    }

    #[test]
    fn faults_are_read() {
        let text = "\
nodes 3
seed 7
at 1 partition 0 > 1,2
at 1 latency 5..20:tail
at 1 duplicate 0.5
at 1 reorder 0.5
at 1 pause 0 2.5
at 1 slow * 20
at 1 clock 1 -0.25 100
at 1 clock 1 3
at 1 drop 0 1 'ping(_, \"it\'s\")'
at 1 duplicate 0 1
at 1 delay 0 1 250 'ping(_, 1)'
at 1 deliver 0 1
at 1 manual
at 1 timer 0 p1
at 1 calm
";
        let (script, errors) = check(text);
        assert_eq!(errors, "");
        assert_eq!((script.nodes, script.seed), (Some(3), Some(7)));
        let what: Vec<&ActionKind> = script.actions.iter().map(|action| &action.what).collect();
        assert!(
            matches!(what[0], ActionKind::Partition(groups, Direction::Forth) if groups.len() == 2)
        );
        assert!(matches!(what[1], ActionKind::Latency { shape: tidemill_event::Shape::Tail, .. }));
        assert_eq!((what[2], what[3]), (&ActionKind::Duplicate(0.5), &ActionKind::Reorder(0.5)));
        assert!(matches!(what[4], ActionKind::Pause(_, 2_500_000_000)));
        assert!(matches!(what[5], ActionKind::Slow(_, 20_000_000)));
        assert!(matches!(what[6], ActionKind::Clock(_, -250_000_000, 100)));
        let ActionKind::Message { act: Act::Drop, tuple: Some(tuple), .. } = what[8] else {
            panic!("a message")
        };
        assert_eq!(tuple.text, "ping(_, \"it's\")");
        assert!(matches!(
            what[9],
            ActionKind::Message { act: Act::Duplicate { .. }, tuple: None, .. }
        ));
        let after = Duration::from_millis(250);
        assert!(matches!(what[10], ActionKind::Message { act: Act::Delay { after: it }, .. }
            if *it == after));
        assert_eq!((what[12], what[14]), (&ActionKind::Manual, &ActionKind::Calm));
        assert!(matches!(what[13], ActionKind::Timer(_, rule) if rule == "p1"));
    }

    #[test]
    fn each_mistake_has_its_place() {
        let cases = [
            ("then 1 end", "t.sim:1:1: error[script-syntax]: expected `at`, `every`, `nodes`"),
            ("at x end", "t.sim:1:4: error[script-syntax]: `x` is no time"),
            ("at 1 explode 3", "t.sim:1:6: error[script-syntax]: expected an action"),
            ("at 1 crash", "t.sim:1:11: error[script-syntax]: expected a node"),
            ("at 1 crash 1 2", "t.sim:1:14: error[script-syntax]: `2` is left over"),
            ("at 1 inject 0 Ping(1)", "t.sim:1:15: error[script-tuple]"),
            ("at 1 inject 0 ping(1, x)", "t.sim:1:23: error[script-tuple]"),
            ("at 1 inject i in 3..1 p(1)", "t.sim:1:18: error[script-syntax]: expected a range"),
            (
                "at 1 inject i in 0..1 p($j)",
                "t.sim:1:25: error[script-tuple]: expected a value\n  help: `$i` is the number",
            ),
            ("at 1 pause 1", "t.sim:1:13: error[script-syntax]: expected a time: seconds"),
            ("at 1 partition 1,2", "t.sim:1:16: error[script-syntax]: a partition has two"),
            ("at 1 partition 1,|2", "t.sim:1:18: error[script-syntax]"),
            ("nodes 0", "t.sim:1:7: error[script-syntax]: `0` is no number of nodes"),
            ("seed x", "t.sim:1:6: error[script-syntax]: `x` is no seed"),
            ("at 1 clock 0 x", "t.sim:1:14: error[script-syntax]: `x` is no time"),
            ("at 1 drop 0 1 p(1)", "t.sim:1:15: error[script-syntax]: a tuple of a message"),
            ("at 1 latency 1..2:x", "t.sim:1:14: error[script-syntax]: `x` is no shape"),
            ("at 1 loss 2", "t.sim:1:11: error[script-syntax]: `2` is no probability"),
            ("every 1..2 step 0 heal", "t.sim:1:17: error[script-syntax]: a step of 0"),
            ("every 2..1 step 1 heal", "t.sim:1:7: error[script-syntax]: `2..1` is no range"),
            ("every 1..2 step 1 end", "t.sim:1:19: error[script-syntax]: a run ends once"),
            ("at 1 expect 0 p(1) count x", "t.sim:1:15: error[script-syntax]: `x` is no count"),
        ];
        for (line, expected) in cases {
            let (script, errors) = check(line);
            assert!(errors.starts_with(expected), "{line}\n got {errors}\nwant {expected}");
            assert!(script.actions.is_empty(), "{line}");
        }
    }

    #[test]
    fn several_errors_are_reported_at_once() {
        let (script, errors) = check("at 1 end\nat x\nat 2 heal\nfoo\n");
        assert_eq!(script.actions.len(), 2);
        assert!(errors.contains("t.sim:2:4") && errors.contains("t.sim:4:1"), "{errors}");
    }

    /// Every text is parsed or refused, without a panic.
    #[test]
    fn mutated_scripts_never_panic() {
        let seed = "every 1..10 step 0.5 inject i in 1..9 p(\"n$i:1\", $i) # é\n\
                    at 4 partition 0,1|2\nat 8 expect 1 s(NODE, _) count 2\nat 7 latency 5..20";
        let mut random = tidemill_stdx::rng::Rng::new(5);
        for _ in 0..5000 {
            let mut bytes = seed.as_bytes().to_vec();
            for _ in 0..random.range(1..=4) {
                if bytes.is_empty() {
                    break;
                }
                let at = random.below(bytes.len() as u64) as usize;
                match random.below(3) {
                    0 => bytes[at] = random.below(128) as u8,
                    1 => drop(bytes.remove(at)),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            check(&String::from_utf8_lossy(&bytes));
        }
    }
}
