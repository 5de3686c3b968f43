//! A profile as tables: of rules, of their parts by what started the turn, and of the engine.

use tidemill_overlog::node::Worker;
use tidemill_relation::cost::Cost;
use tidemill_stdx::ordered::OrderedMap;
use tidemill_stdx::sort;

use super::{Profile, percent, span};
use crate::top::columns;

const HEAD: [&str; 7] = ["", "time", "ns", "ns each", "fired", "derived", "probes"];

/// The tables, the longest times first.
pub fn table(profile: &Profile) -> String {
    let total = profile.total_ns();
    let names = profile.rules.iter().map(|rule| rule.name.chars().count());
    let width = names.max().unwrap_or(0);
    let of_rule = |rule: &super::RuleCost| {
        let name = format!("{:width$}  {}", rule.name, rule.place);
        cells(name, rule.cost, total)
    };
    let rules: Vec<_> = profile.rules.iter().map(of_rule).collect();
    let mut parts: Vec<(String, Cost)> = Vec::new();
    let mut engine: OrderedMap<&str, Cost> = OrderedMap::new();
    for (spot, cost) in &profile.costs.costs {
        match &spot.worker {
            Worker::Rule { rule, part, .. } => {
                parts.push((format!("{rule} {part}, in turns: {}", spot.turn), *cost));
            }
            Worker::Operator(name) => {
                parts.push((format!("stage {name}, in turns: {}", spot.turn), *cost));
            }
            Worker::Engine(part) => *engine.entry(part.name()).or_default() += *cost,
        }
    }
    sort::by(&mut parts, |one, other| other.1.ns.cmp(&one.1.ns).then(one.0.cmp(&other.0)));
    let parts: Vec<_> = parts.into_iter().map(|(name, cost)| cells(name, cost, total)).collect();
    let engine: Vec<_> =
        engine.into_iter().map(|(name, cost)| cells(name.to_owned(), cost, total)).collect();
    let mut out = format!("profile of {} in turns\n\n", span(total));
    out += &columns(&head("rule"), &rules);
    out += &columns(&head("part"), &parts);
    out += &columns(&head("engine"), &engine);
    out.truncate(out.trim_end().len());
    out + "\n"
}

fn head(of: &'static str) -> [&'static str; 7] {
    let mut head = HEAD;
    head[0] = of;
    head
}

fn cells(name: String, cost: Cost, total: u64) -> Vec<String> {
    let Cost { fired, derived, probes, ns } = cost;
    let share = format!("{:.1}%", percent(ns, total));
    let numbers = [ns, ns / fired.max(1), fired, derived, probes].map(|number| number.to_string());
    [name, share].into_iter().chain(numbers).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::example;
    use super::*;

    #[test]
    fn tables_have_the_longest_times_first() {
        let expected = "\
profile of 10.0 us in turns

rule            time    ns  ns each  fired  derived  probes
r1  a.olg:1:1  65.0%  6500      590     11       21     300
r2  a.olg:2:1  20.0%  2000      100     20        5       0
r3  a.olg:3:1   0.0%     0        0      0        0       0

part                                       time    ns  ns each  fired  derived  probes
r1 on event ping, in turns: event ping    60.0%  6000      600     10       20     300
r2 on event <pong>, in turns: event ping  20.0%  2000      100     20        5       0
r1 on timer, in turns: timer of r1         5.0%   500      500      1        1       0
stage COUNT, in turns: timer of r1         2.5%   250      250      1        0       0

engine     time    ns  ns each  fired  derived  probes
commit     2.5%   250      250      1        0       0
dispatch  10.0%  1000      100     10        0       0
";
        assert_eq!(table(&example()), expected);
    }
}
