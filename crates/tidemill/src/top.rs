//! The counters of a process as text: rates between two snapshots, or values in the format of
//! Prometheus.
//!
//! Links and apps of packet graphs, and rules, have tables with columns of their own. Other
//! counters that have changed (tables, nodes, loops) are listed, the fastest first.
//!
//! ```
//! use tidemill::top;
//! use tidemill_stat::Registry;
//!
//! let registry = Registry::in_memory();
//! let fired = registry.counter("rule/p1/fired");
//! let before = registry.snapshot();
//! fired.add(50);
//! let text = top::table(&before, &registry.snapshot(), 0.5);
//! assert!(text.starts_with("rule  fired/s"));
//! assert!(top::prometheus(&registry.snapshot()).contains("tidemill_rule_fired{name=\"p1\"} 50"));
//! ```

use std::fmt::Write;

use tidemill_stdx::ordered::OrderedMap;
use tidemill_stdx::sort;

use tidemill_stat::{Distribution, Snapshot};

/// The maximum number of lines in the list.
const LISTED_MAX: usize = 40;

/// The maximum number of rules, those with the highest cost.
const RULES_MAX: usize = 20;

/// A counter's name in its three parts: `link`, `src.output->acl.input`, `tx_packets`.
fn parts(name: &str) -> (&str, &str, &str) {
    let (what, rest) = name.split_once('/').unwrap_or(("", name));
    let (name, counter) = rest.rsplit_once('/').unwrap_or(("", rest));
    (what, name, counter)
}

/// Rates between two snapshots taken `seconds` apart.
pub fn table(before: &Snapshot, after: &Snapshot, seconds: f64) -> String {
    let look = Look { before, after, seconds };
    let mut out = String::new();
    out += &look.engine();
    out += &look.links();
    out += &look.apps();
    out += &look.borders();
    out += &look.rules();
    out += &look.others();
    if out.is_empty() {
        out += "nothing has changed\n";
    }
    for problem in &after.problems {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(out, "unreadable: {problem}");
    }
    out
}

struct Look<'s> {
    before: &'s Snapshot,
    after: &'s Snapshot,
    seconds: f64,
}

/// Columns under their heads, the first left-aligned, the others right-aligned.
pub(crate) fn columns(head: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head: Vec<String> = head.iter().map(|&word| word.to_owned()).collect();
    let lines: Vec<&Vec<String>> = std::iter::once(&head).chain(rows).collect();
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let _ = write!(out, "{:1$}", line[0], widths[0]);
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            let _ = write!(out, "  {cell:>width$}");
        }
        out += "\n";
    }
    out + "\n"
}

impl Look<'_> {
    fn now(&self, name: &str) -> u64 {
        self.after.counter(name).unwrap_or(0)
    }

    /// The increase of a counter; one that has decreased was restarted.
    fn rise(&self, name: &str) -> u64 {
        self.now(name).saturating_sub(self.before.counter(name).unwrap_or(0))
    }

    fn rate(&self, rise: u64) -> String {
        format!("{:.0}", rise as f64 / self.seconds)
    }

    /// The names of all objects of this kind.
    fn names(&self, what: &str) -> Vec<&str> {
        let all = self.after.counters.keys().map(|name| parts(name));
        let mut names: Vec<&str> =
            all.filter(|(kind, ..)| *kind == what).map(|(_, name, _)| name).collect();
        names.dedup();
        names
    }

    fn engine(&self) -> String {
        if self.after.counter("engine/packets/breaths").is_none() {
            return String::new();
        }
        let [breaths, busy, faults] = ["breaths", "breaths_busy", "faults"]
            .map(|counter| self.rise(&format!("engine/packets/{counter}")));
        let alive =
            self.now("engine/packets/allocated").saturating_sub(self.now("engine/packets/freed"));
        format!(
            "{} breaths a second, {:.0}% busy, {faults} faults, {alive} packets alive\n\n",
            self.rate(breaths),
            busy as f64 * 100.0 / breaths.max(1) as f64,
        )
    }

    fn links(&self) -> String {
        let row = |link: &str| {
            let name = |counter: &str| format!("link/{link}/{counter}");
            let [packets, bytes, drops] = ["rx_packets", "rx_bytes", "tx_drops"].map(name);
            let sent = self.now(&name("tx_packets"));
            vec![
                link.to_owned(),
                self.rate(self.rise(&packets)),
                self.rate(self.rise(&bytes)),
                self.rate(self.rise(&drops)),
                sent.saturating_sub(self.now(&packets)).to_string(),
                self.now(&packets).to_string(),
                self.now(&drops).to_string(),
            ]
        };
        let rows: Vec<_> = self.names("link").into_iter().map(row).collect();
        let head = ["link", "packets/s", "bytes/s", "drops/s", "queued", "packets", "drops"];
        columns(&head, &rows)
    }

    fn apps(&self) -> String {
        let row = |app: &str| {
            let name = |counter: &str| format!("app/{app}/{counter}");
            let drop = name("drop_");
            let dropped: u64 = self
                .after
                .counters
                .range(drop.clone()..)
                .take_while(|(other, _)| other.starts_with(&drop))
                .map(|(other, _)| self.rise(other))
                .sum();
            let latency = self.after.histograms.get(&name("latency_ns"));
            let micros = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
            let quantile = |q| latency.map_or(String::new(), |it| micros(it.quantile(q)));
            vec![
                app.to_owned(),
                self.rate(self.rise(&name("packets"))),
                self.rate(dropped),
                self.now(&name("packets")).to_string(),
                self.now(&name("restarts")).to_string(),
                quantile(0.5),
                quantile(0.99),
            ]
        };
        let rows: Vec<_> = self.names("app").into_iter().map(row).collect();
        let head = ["app", "packets/s", "drops/s", "packets", "restarts", "p50 us", "p99 us"];
        columns(&head, &rows)
    }

    /// The latency of batches at borders.
    fn borders(&self) -> String {
        let borders = self.after.histograms.iter().filter_map(|(name, values)| {
            let (what, border, counter) = parts(name);
            (what == "border" && counter == "latency_ns" && values.count() > 0)
                .then_some((border, values))
        });
        let micros = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
        let row = |(border, values): (&str, &Distribution)| {
            let [half, most, max] = [0.5, 0.99, 1.0].map(|q| micros(values.quantile(q)));
            vec![border.to_owned(), values.count().to_string(), half, most, max]
        };
        let rows: Vec<_> = borders.map(row).collect();
        columns(&["border", "batches", "p50 us", "p99 us", "max us"], &rows)
    }

    /// The rules that were started, the most expensive first. While costs are measured, views are
    /// included, and each rule has its share of the elapsed time.
    fn rules(&self) -> String {
        let cost = |rule: &str| {
            let rise = |counter: &str| self.rise(&format!("rule/{rule}/{counter}"));
            let ns = rise("cost_ns");
            match ns {
                0 => [rise("fired"), rise("derived"), 0, 0],
                _ => [rise("cost_fired"), rise("cost_derived"), rise("cost_probes"), ns],
            }
        };
        let rules = self.names("rule").into_iter().map(|rule| (rule, cost(rule)));
        let mut rules: Vec<(&str, [u64; 4])> =
            rules.filter(|(_, [fired, _, _, ns])| *fired > 0 || *ns > 0).collect();
        sort::by(&mut rules, |(one, [fired, _, _, ns]), (other, [other_fired, _, _, other_ns])| {
            (other_ns, other_fired).cmp(&(ns, fired)).then(one.cmp(other))
        });
        let rest = rules.len().saturating_sub(RULES_MAX);
        rules.truncate(RULES_MAX);
        let row = |(rule, [fired, derived, probes, ns]): (&str, [u64; 4])| {
            let measured = |text: String| if ns == 0 { "-".to_owned() } else { text };
            vec![
                rule.to_owned(),
                self.rate(fired),
                self.rate(derived),
                measured(self.rate(probes)),
                measured((ns / fired.max(1)).to_string()),
                measured(format!("{:.1}%", ns as f64 / 1e7 / self.seconds)),
            ]
        };
        let rows: Vec<_> = rules.into_iter().map(row).collect();
        let head = ["rule", "fired/s", "derived/s", "probes/s", "ns each", "time"];
        let mut out = columns(&head, &rows);
        if rest > 0 {
            let _ = writeln!(out, "and {rest} more rules\n");
        }
        out
    }

    /// Counters that have increased and have no column.
    fn others(&self) -> String {
        const COLUMNS: [&str; 5] = ["packets", "restarts", "rx_packets", "rx_bytes", "tx_drops"];
        let has_column = |name: &str| {
            let (what, _, counter) = parts(name);
            let drops = what == "app" && counter.starts_with("drop_");
            let twin = what == "link" && matches!(counter, "tx_packets" | "tx_bytes");
            let column = matches!(what, "link" | "app") && COLUMNS.contains(&counter);
            let rule = what == "rule" && counter != "failed";
            what == "engine" || column || twin || drops || rule
        };
        let names = self.after.counters.keys().filter(|name| !has_column(name));
        let mut risen: Vec<(u64, &String)> =
            names.map(|name| (self.rise(name), name)).filter(|(rise, _)| *rise > 0).collect();
        sort::by(&mut risen, |one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
        let rest = risen.len().saturating_sub(LISTED_MAX);
        risen.truncate(LISTED_MAX);
        let row = |(rise, name): (u64, &String)| {
            vec![name.clone(), self.rate(rise), self.now(name).to_string()]
        };
        let rows: Vec<_> = risen.into_iter().map(row).collect();
        let mut out = columns(&["counter", "per s", "count"], &rows);
        if rest > 0 {
            let _ = writeln!(out, "and {rest} more");
        }
        out
    }
}

/// All counters in the text format of Prometheus: counters untyped, as some decrease, histograms as
/// summaries since the start.
pub fn prometheus(snapshot: &Snapshot) -> String {
    let mut metrics: OrderedMap<String, Vec<String>> = OrderedMap::new();
    for (name, value) in &snapshot.counters {
        let (metric, label) = metric(name);
        let line = format!("{metric}{{name=\"{label}\"}} {value}");
        metrics.entry(format!("{metric} untyped")).or_default().push(line);
    }
    for (name, values) in &snapshot.histograms {
        let (metric, label) = metric(name);
        let lines = metrics.entry(format!("{metric} summary")).or_default();
        for q in [0.5, 0.9, 0.99, 1.0] {
            let value = values.quantile(q);
            lines.push(format!("{metric}{{name=\"{label}\",quantile=\"{q}\"}} {value}"));
        }
        lines.push(format!("{metric}_sum{{name=\"{label}\"}} {}", values.sum()));
        lines.push(format!("{metric}_count{{name=\"{label}\"}} {}", values.count()));
    }
    let mut out = String::new();
    for (kind, lines) in metrics {
        let _ = writeln!(out, "# TYPE {kind}\n{}", lines.join("\n"));
    }
    out
}

/// The name of a metric and the value of its label.
fn metric(name: &str) -> (String, String) {
    let (what, name, counter) = parts(name);
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let metric = format!("tidemill_{what}_{counter}").chars().map(plain).collect();
    let label = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    (metric, label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemill_stat::{Counter, Registry};

    fn link(registry: &Registry, counts: [u64; 4]) -> Vec<Counter> {
        let names = ["tx_packets", "rx_packets", "rx_bytes", "tx_drops"];
        let set = |(name, count)| {
            let counter = registry.counter(&format!("link/a.output->b.input/{name}"));
            counter.set(count);
            counter
        };
        names.into_iter().zip(counts).map(set).collect()
    }

    #[test]
    fn links_and_apps_have_their_columns() {
        let registry = Registry::in_memory();
        let counters = link(&registry, [110, 100, 1000, 5]);
        let app = registry.counter("app/b/packets");
        let over = registry.counter("app/b/drop_over_rate");
        let late = registry.counter("app/b/drop_too_late");
        let latency = registry.histogram("app/b/latency_ns");
        latency.record(2000);
        let before = registry.snapshot();
        [120, 110, 2000, 9].iter().zip(&counters).for_each(|(count, one)| one.set(*count));
        app.add(10);
        over.add(2);
        late.add(4);
        let text = table(&before, &registry.snapshot(), 2.0);
        let row = |start: &str| {
            let line = text.lines().find(|line| line.starts_with(start)).expect(start);
            line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(row("a.output->b.input"), ["5", "500", "2", "10", "110", "9"], "{text}");
        assert_eq!(row("b "), ["5", "3", "10", "0", "2.0", "2.0"], "{text}");
        assert!(!text.contains("counter"), "{text}");
    }

    #[test]
    fn borders_that_something_has_crossed_have_their_latency() {
        let registry = Registry::in_memory();
        let events = registry.counter("border/rules/events");
        let latency = registry.histogram("border/rules/latency_ns");
        let _idle = registry.histogram("border/cl:Adder/latency_ns");
        let before = registry.snapshot();
        events.add(3);
        latency.record(4000);
        let text = table(&before, &registry.snapshot(), 1.0);
        assert!(text.lines().any(|line| line.starts_with("border  batches  p50 us")), "{text}");
        let row = text.lines().find(|line| line.starts_with("rules "));
        let row: Vec<&str> = row.into_iter().flat_map(str::split_whitespace).collect();
        assert_eq!(row, ["rules", "1", "4.0", "4.0", "4.0"], "{text}");
        assert!(text.contains("border/rules/events") && !text.contains("Adder"), "{text}");
    }

    #[test]
    fn rules_are_sorted_by_their_time() {
        let registry = Registry::in_memory();
        let set = |name: &str, count: u64| {
            let counter = registry.counter(&format!("rule/{name}"));
            counter.set(count);
            counter
        };
        let costs = |rule: &str, counts: [u64; 6]| {
            let names =
                ["fired", "derived", "cost_fired", "cost_derived", "cost_probes", "cost_ns"];
            let counters = names.into_iter().zip(counts);
            counters.map(|(name, count)| set(&format!("{rule}/{name}"), count)).collect::<Vec<_>>()
        };
        let before = registry.snapshot();
        let _measured = [
            costs("quick", [900, 800, 900, 800, 0, 18_000]),
            costs("slow", [10, 4, 10, 4, 5000, 250_000_000]),
            costs("view", [0, 0, 6, 60, 60, 1_000_000]),
            costs("idle", [0; 6]),
        ];
        let _counted = [set("unmeasured/fired", 7), set("quick/failed", 1)];
        let text = table(&before, &registry.snapshot(), 2.0);
        let expected = "\
rule        fired/s  derived/s  probes/s   ns each   time
slow              5          2      2500  25000000  12.5%
view              3         30        30    166666   0.1%
quick           450        400         0        20   0.0%
unmeasured        4          0         -         -      -

counter            per s  count
rule/quick/failed      0      1

";
        assert_eq!(text, expected);
    }

    #[test]
    fn of_many_rules_those_that_take_most_are_shown() {
        let registry = Registry::in_memory();
        let before = registry.snapshot();
        let names = (0..25).map(|at| format!("rule/r{at:02}/fired"));
        let counters: Vec<Counter> = names.map(|name| registry.counter(&name)).collect();
        (1..).zip(&counters).for_each(|(count, one)| one.set(count));
        let text = table(&before, &registry.snapshot(), 1.0);
        assert_eq!(text.lines().nth(1).map(|line| &line[..3]), Some("r24"), "{text}");
        assert!(text.ends_with("\nand 5 more rules\n\n"), "{text}");
    }

    #[test]
    fn the_list_has_the_fastest_first_and_an_end() {
        let registry = Registry::in_memory();
        let names = (0..50).map(|at| format!("table/t{at:02}/rows"));
        let counters: Vec<Counter> = names.map(|name| registry.counter(&name)).collect();
        let before = registry.snapshot();
        assert_eq!(table(&before, &before, 1.0), "nothing has changed\n");
        (1..).zip(&counters).for_each(|(count, one)| one.add(count));
        let text = table(&before, &registry.snapshot(), 1.0);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("table/t49/rows"), "{text}");
        assert_eq!(lines.last(), Some(&"and 10 more"), "{text}");
    }

    #[test]
    fn prometheus_reads_names_of_any_kind() {
        let registry = Registry::in_memory();
        let _one = registry.counter("link/a.output->\"b\".input/tx_packets");
        let _two = registry.counter("component/Shop/till/messages");
        let latency = registry.histogram("app/end/latency_ns");
        (1..=100).for_each(|value| latency.record(value));
        let text = prometheus(&registry.snapshot());
        for line in [
            "# TYPE tidemill_link_tx_packets untyped",
            "tidemill_link_tx_packets{name=\"a.output->\\\"b\\\".input\"} 0",
            "tidemill_component_messages{name=\"Shop/till\"} 0",
            "# TYPE tidemill_app_latency_ns summary",
            "tidemill_app_latency_ns{name=\"end\",quantile=\"1\"} 100",
            "tidemill_app_latency_ns_sum{name=\"end\"} 5050",
            "tidemill_app_latency_ns_count{name=\"end\"} 100",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }
}
