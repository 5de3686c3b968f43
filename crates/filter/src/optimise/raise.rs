//! Bounds are checked as early as they are certain to be needed.

use tidemill_stdx::id::IdMap;
use tidemill_stdx::sorted::SortedMap;

use crate::graph::{Check, Graph, NodeId, Target, ValueId};

/// The bytes that every way from here to `accept` needs, by what they count from.
type Needs = SortedMap<Option<ValueId>, u32>;

/// Raises the bounds of each node to what all ways on from it need; ways that do not lead to
/// `accept` lead to `reject`.
pub(super) fn raise(graph: &mut Graph) {
    let mut needs: IdMap<NodeId, Needs> = IdMap::new();
    let ids: Vec<NodeId> = graph.nodes.ids().rev().collect();
    for id in ids {
        let node = &mut graph.nodes[id];
        let mut ahead: Option<Needs> = None;
        for target in [&mut node.yes, &mut node.no] {
            let way = match *target {
                Target::Accept => Needs::new(),
                Target::Reject => continue,
                Target::Node(next) => match needs.get(next) {
                    Some(needs) => needs.clone(),
                    None => {
                        *target = Target::Reject;
                        continue;
                    }
                },
            };
            match &mut ahead {
                None => ahead = Some(way),
                Some(known) => known.retain(|base, end| {
                    *end = way.get(base).copied().unwrap_or(0).min(*end);
                    *end > 0
                }),
            }
        }
        // Without a path to `accept`, edges to here may as well reject.
        let Some(mut all) = ahead else { continue };
        for check in &node.checks {
            if let Check::Bound { base, end } = *check {
                let known = all.entry(base).or_default();
                *known = end.max(*known);
            }
        }
        node.checks = raised(&node.checks, &all);
        needs.insert(id, all);
    }
    if let Target::Node(begin) = graph.begin
        && !needs.contains(begin)
    {
        graph.begin = Target::Reject;
    }
}

/// The bound of the packet, raised, then the others in their order; those that count from a value
/// stay where the value is known to be needed.
fn raised(checks: &[Check], needs: &Needs) -> Vec<Check> {
    let end = needs.get(&None).copied().unwrap_or(0);
    let mut result: Vec<Check> = Vec::new();
    if end > 0 {
        result.push(Check::Bound { base: None, end });
    }
    for &check in checks {
        let check = match check {
            Check::Bound { base: None, .. } => continue,
            Check::Bound { base, end } => {
                Check::Bound { base, end: needs.get(&base).copied().unwrap_or(end) }
            }
            other => other,
        };
        if !result.contains(&check) {
            result.push(check);
        }
    }
    result
}
