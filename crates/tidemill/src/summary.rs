//! The summary of a run: the last line of a simulation, and of an interrupted run.
//!
//! All figures are in the loop's own time, so that a simulation prints the same on every machine.

use std::fmt;

use tidemill_event::Loop;
use tidemill_fabric::counters::Count;
use tidemill_overlog::fleet::Fleet;
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::{Counters, StageCounters};
use tidemill_relation::json::JsonWriter;
use tidemill_relation::plan::RelationId;

use crate::history::Checked;
use crate::journal::Seconds;

/// The figures of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Summary {
    /// Nodes started, without restarts.
    pub nodes: u64,
    /// Nodes alive at the end.
    pub alive: u64,
    /// The duration in nanoseconds.
    pub elapsed_ns: u64,
    /// Turns of nodes.
    pub turns: u64,
    /// Datagrams and frames sent by nodes.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Drops by reason; reasons that never occurred are omitted.
    pub dropped: Vec<(String, u64)>,
    /// Rows at the end over all live nodes, by table; empty tables too.
    pub tables: Vec<(String, u64)>,
    /// Tuples of the relation `violation`.
    pub violations: u64,
    /// Expectations of the script that held.
    pub expectations_met: u64,
    /// Expectations of the script that did not.
    pub expectations_failed: u64,
    /// Turns abandoned as endless; they are among `dropped`, too.
    pub given_up: u64,
    /// It was interrupted.
    pub interrupted: bool,
    /// Rules of the program, and how often they were started and have derived something.
    pub rules: RuleTotals,
    /// The result of checking the history of clients against a model, if there was one.
    pub history: Option<Checked>,
    /// The seed of all random numbers, if it was given.
    pub seed: Option<u64>,
}

/// The totals of the rules of a program at all nodes, in all of their lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuleTotals {
    /// Rules of the program.
    pub rules: u64,
    /// The number of starts by an event, a timer or a changed row.
    pub fired: u64,
    /// The number of derived tuples.
    pub derived: u64,
    /// Derivations dropped because of an evaluation error.
    pub failed: u64,
}

impl Summary {
    /// Whether the program is correct in this run: no violation, no endless turn, all expectations
    /// held, and a checked history is linearizable.
    pub fn is_well(&self) -> bool {
        let has_order = self.history.as_ref().is_none_or(|checked| checked.failure.is_none());
        self.violations == 0 && self.expectations_failed == 0 && self.given_up == 0 && has_order
    }

    /// The figures of a fleet and its loop so far.
    pub fn of<W: 'static>(fleet: &Fleet, events: &mut Loop<W>) -> Summary {
        let mut summary = Summary::of_part(fleet, events);
        summary.leave_out();
        summary
    }

    /// Removes reasons for drops that never occurred.
    pub(crate) fn leave_out(&mut self) {
        self.dropped.retain(|(_, count)| *count > 0);
    }

    /// Adds the figures of another part of a simulation with the same nodes.
    pub(crate) fn add(&mut self, other: &Summary) {
        let add = |all: &mut [(String, u64)], other: &[(String, u64)]| {
            all.iter_mut().zip(other).for_each(|(sum, (_, count))| sum.1 += count);
        };
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.alive += other.alive;
        self.turns += other.turns;
        self.messages += other.messages;
        self.bytes += other.bytes;
        add(&mut self.dropped, &other.dropped);
        add(&mut self.tables, &other.tables);
        self.violations += other.violations;
        self.expectations_met += other.expectations_met;
        self.expectations_failed += other.expectations_failed;
        self.given_up += other.given_up;
        self.interrupted |= other.interrupted;
        self.rules.fired += other.rules.fired;
        self.rules.derived += other.rules.derived;
        self.rules.failed += other.rules.failed;
    }

    /// The figures of a fleet so far, with all reasons for drops.
    pub(crate) fn of_part<W: 'static>(fleet: &Fleet, events: &mut Loop<W>) -> Summary {
        let mut summary =
            Summary { elapsed_ns: events.now().0, tables: rows(fleet), ..Summary::default() };
        summary.turns = fleet.former_lives().counters.turns;
        for id in fleet.ids() {
            summary.nodes += 1;
            if let Some(node) = fleet.node(id) {
                summary.alive += 1;
                summary.turns += node.counters().turns;
            }
        }
        let host = events.host().stats();
        let (frames, bytes) = frames(fleet);
        (summary.messages, summary.bytes) = (host.sent + frames, host.sent_bytes + bytes);
        summary.dropped = dropped(fleet, events);
        summary.rules = rule_totals(fleet);
        summary
    }

    /// Adds packets that were lost with crashed nodes.
    pub(crate) fn add_lost(&mut self, packets: u64) {
        self.dropped.push(("node_crashed".to_owned(), packets));
    }

    /// A count per node and second.
    fn rate(&self, count: u64) -> f64 {
        let node_seconds = self.nodes as f64 * self.elapsed_ns as f64 / 1e9;
        if node_seconds > 0.0 { count as f64 / node_seconds } else { 0.0 }
    }

    /// The object `{"summary":{...}}`.
    pub fn json(&self) -> String {
        let mut json = JsonWriter::new();
        let counts = |json: &mut JsonWriter, counts: &[(String, u64)]| {
            json.object(|json| {
                counts.iter().for_each(|(name, count)| json.key(name).number(count))
            });
        };
        json.object(|json| {
            json.key("summary").object(|json| {
                json.key("nodes").number(self.nodes);
                json.key("alive").number(self.alive);
                json.key("seconds").number(Seconds(self.elapsed_ns));
                json.key("turns").number(self.turns);
                json.key("messages").number(self.messages);
                json.key("bytes").number(self.bytes);
                json.key("messages_per_node_s").number(Rate(self.rate(self.messages)));
                json.key("bytes_per_node_s").number(Rate(self.rate(self.bytes)));
                counts(json.key("dropped"), &self.dropped);
                counts(json.key("tables"), &self.tables);
                json.key("violations").number(self.violations);
                json.key("expectations_met").number(self.expectations_met);
                json.key("expectations_failed").number(self.expectations_failed);
                if let Some(checked) = &self.history {
                    json.key("history").object(|json| {
                        json.key("model").string(&checked.model);
                        json.key("operations").number(checked.operations);
                        json.key("returned").number(checked.returned);
                        json.key("linearizable").bool(checked.failure.is_none());
                    });
                }
                if self.interrupted {
                    json.key("interrupted").bool(true);
                }
                if let Some(seed) = self.seed {
                    json.key("seed").number(seed);
                }
            });
        });
        json.finish()
    }
}

/// Rows of the declared tables of a program, over all live nodes.
fn rows(fleet: &Fleet) -> Vec<(String, u64)> {
    let plan = fleet.program().plan();
    let tables = (0..).map(RelationId).zip(&plan.relations);
    let tables = tables.filter(|(_, relation)| !relation.hidden && relation.table().is_some());
    let count = |id| {
        let nodes = fleet.ids().filter_map(|node| fleet.node(node));
        nodes.filter_map(|node| Some(node.database().get(id)?.len() as u64)).sum()
    };
    tables.map(|(id, relation)| (relation.name.clone(), count(id))).collect()
}

/// The counters of all lives of nodes.
fn counters(fleet: &Fleet) -> impl Iterator<Item = &Counters> {
    let living = fleet.ids().filter_map(|id| fleet.node(id)).map(|node| node.counters());
    living.chain([&fleet.former_lives().counters])
}

/// The totals of rules so far.
fn rule_totals(fleet: &Fleet) -> RuleTotals {
    let mut totals =
        RuleTotals { rules: fleet.program().plan().rules.len() as u64, ..RuleTotals::default() };
    for rule in counters(fleet).flat_map(|counters| &counters.rules) {
        totals.fired += rule.fired;
        totals.derived += rule.derived;
        totals.failed += rule.failed;
    }
    totals
}

/// Frames that nodes sent over connections, which the host does not count as datagrams, and their
/// bytes.
fn frames(fleet: &Fleet) -> (u64, u64) {
    if fleet.fabric() != Fabric::Tcp {
        return (0, 0);
    }
    let counters = fleet.ids().filter_map(|id| fleet.mail(id)).map(|mail| mail.counters());
    let sent = counters.map(|counts| (counts.get(Count::Sent), counts.get(Count::SentBytes)));
    sent.fold((0, 0), |sum, sent| (sum.0 + sent.0, sum.1 + sent.1))
}

/// Drops of a node's network beside refused datagrams: tuples that are too long, of which fragments
/// were lost, or which waited for a session that failed.
const GIVEN_UP: [Count; 4] =
    [Count::NoSession, Count::Unsendable, Count::FragmentTimeout, Count::FragmentEvicted];

/// The drops of the network, the loop and the nodes, by all reasons.
fn dropped<W: 'static>(fleet: &Fleet, events: &mut Loop<W>) -> Vec<(String, u64)> {
    let mut reasons: Vec<(&str, u64)> = vec![("loop_queue_full", events.stats().dropped_events)];
    match events.host().sim().map(|sim| *sim.net_stats()) {
        Some(drops) => reasons.extend([
            ("lost", drops.lost),
            ("partitioned", drops.dropped_partitioned),
            ("crashed", drops.dropped_crashed),
            ("unbound", drops.dropped_unbound),
            ("network_full", drops.dropped_full),
            ("truncated", drops.dropped_truncated),
        ]),
        None => {
            let host = events.host().stats();
            reasons.extend([
                ("host_full", host.dropped_full),
                ("kernel_full", host.dropped_kernel),
                ("unresolved", host.dropped_unresolved),
                ("truncated", host.dropped_truncated),
            ]);
        }
    }
    let nodes: Vec<&Counters> = counters(fleet).collect();
    let former = fleet.former_lives();
    let sum = |of: fn(&Counters) -> u64| nodes.iter().map(|counters| of(counters)).sum();
    let sum_stages = |of: fn(&StageCounters) -> u64| {
        nodes.iter().flat_map(|counters| &counters.stages).map(of).sum()
    };
    let is_shown = |count: &&Count| count.is_refusal() || GIVEN_UP.contains(*count);
    reasons.extend(Count::ALL.iter().filter(is_shown).map(|count| {
        let mails = fleet.ids().filter_map(|id| fleet.mail(id)).map(|mail| mail.counters());
        (count.name(), mails.chain([&former.mail]).map(|counters| counters.get(*count)).sum())
    }));
    reasons.extend([
        ("unaddressed", sum(|counters| counters.dropped_unaddressed)),
        ("failed", sum(|counters| counters.dropped_failed)),
        ("table_full", sum(|counters| counters.dropped_table_full)),
        ("queue_full", sum(|counters| counters.dropped_queue_full)),
        ("replaced", sum(|counters| counters.dropped_replaced)),
        ("records", sum(|counters| counters.dropped_records)),
        ("arity", sum(|counters| counters.dropped_arity)),
        ("stage_inputs", sum_stages(|stage| stage.refused)),
        ("stage_rows", sum_stages(|stage| stage.failed + stage.misfits)),
        ("periodics_skipped", sum(|counters| counters.periodics_skipped)),
        ("turns_abandoned", sum(|counters| counters.turns_abandoned)),
        ("waiting_crashed", former.waiting),
    ]);
    reasons.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect()
}

/// A rate with 3 decimals.
struct Rate(f64);

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

/// One line for users.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (messages, bytes) = (Rate(self.rate(self.messages)), Rate(self.rate(self.bytes)));
        write!(f, "summary: {} nodes ({} alive), ", self.nodes, self.alive)?;
        write!(f, "{} s, {} turns; ", Seconds(self.elapsed_ns), self.turns)?;
        write!(f, "{} messages ({messages} a node and second), ", self.messages)?;
        write!(f, "{} bytes ({bytes} a node and second)", self.bytes)?;
        write_counts(f, "; rows: ", &self.tables)?;
        write_counts(f, "; dropped: ", &self.dropped)?;
        if self.expectations_met + self.expectations_failed > 0 {
            let (met, failed) = (self.expectations_met, self.expectations_failed);
            write!(f, "; expectations: {met} met, {failed} failed")?;
        }
        if self.violations > 0 {
            write!(f, "; violations: {}", self.violations)?;
        }
        if let Some(Checked { model, operations, returned, failure }) = &self.history {
            let not = if failure.is_some() { "not " } else { "" };
            write!(f, "; {model} history: {operations} operations, ")?;
            write!(f, "{returned} returned, {not}linearizable")?;
        }
        if let Some(seed) = self.seed {
            write!(f, "; seed {seed}")?;
        }
        if self.interrupted { f.write_str("; interrupted") } else { Ok(()) }
    }
}

fn write_counts(f: &mut fmt::Formatter<'_>, title: &str, counts: &[(String, u64)]) -> fmt::Result {
    for (i, (name, count)) in counts.iter().enumerate() {
        write!(f, "{}{name} {count}", if i > 0 { ", " } else { title })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> Summary {
        Summary {
            nodes: 2,
            alive: 1,
            elapsed_ns: 10_000_000_000,
            turns: 77,
            messages: 30,
            bytes: 1000,
            dropped: vec![("loss".to_owned(), 3)],
            tables: vec![("succ".to_owned(), 2), ("a::b".to_owned(), 0)],
            seed: Some(7),
            ..Summary::default()
        }
    }

    #[test]
    fn a_history_is_part_of_it() {
        let failure = Some("no order".to_owned());
        let checked = Checked { model: "kv".to_owned(), operations: 9, returned: 8, failure };
        let mut summary = Summary { history: Some(checked), ..summary() };
        assert!(!summary.is_well());
        let end = "; kv history: 9 operations, 8 returned, not linearizable; seed 7";
        assert!(summary.to_string().ends_with(end), "{summary}");
        summary.history.iter_mut().for_each(|checked| checked.failure = None);
        assert!(summary.is_well());
        let part =
            "\"history\":{\"model\":\"kv\",\"operations\":9,\"returned\":8,\"linearizable\":true}";
        assert!(summary.json().contains(part), "{}", summary.json());
    }

    #[test]
    fn a_summary_is_one_line() {
        assert_eq!(
            summary().to_string(),
            "summary: 2 nodes (1 alive), 10.000000 s, 77 turns; 30 messages (1.500 a node and \
             second), 1000 bytes (50.000 a node and second); rows: succ 2, a::b 0; dropped: loss \
             3; seed 7"
        );
    }

    #[test]
    fn a_summary_is_one_object() {
        assert_eq!(
            summary().json(),
            "{\"summary\":{\"nodes\":2,\"alive\":1,\"seconds\":10.000000,\"turns\":77,\
             \"messages\":30,\"bytes\":1000,\"messages_per_node_s\":1.500,\
             \"bytes_per_node_s\":50.000,\"dropped\":{\"loss\":3},\
             \"tables\":{\"succ\":2,\"a::b\":0},\"violations\":0,\"expectations_met\":0,\
             \"expectations_failed\":0,\"seed\":7}}"
        );
    }

    #[test]
    fn a_run_of_no_time_has_no_rates() {
        let summary = Summary { messages: 5, ..Summary::default() };
        assert!(summary.json().contains("\"messages_per_node_s\":0.000"));
    }
}
