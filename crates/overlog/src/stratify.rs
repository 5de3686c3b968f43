//! Stratification: the order in which views are evaluated.
//!
//! An edge leads from each table of a rule's body to its head. Heads that depend on each other
//! are evaluated together. Negation and aggregates must not stand on a cycle, for then there is
//! no order in which what they range over is complete; but for a MIN or MAX that is the only
//! such edge of its cycle, as in shortest paths, which only gets better.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tidemill_diag::{Diagnostic, Span};
use tidemill_relation::aggregate::Aggregate;
use tidemill_relation::plan::{HeadColumn, RelationId, ViewKind};
use tidemill_stdx::sort;
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use crate::ir::Catalog;
use crate::rewrite::View;

/// Views whose heads depend on each other, or those of a single head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Group {
    /// The heads, ascending.
    pub heads: Vec<RelationId>,
    /// Positions of their rules, in program order.
    pub rules: Vec<usize>,
    /// Tables selected from candidates.
    pub selected: Vec<RelationId>,
}

/// The requirement of an edge on its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Demand {
    /// Nothing.
    None,
    /// That it only gets better: MIN or MAX.
    Improving,
    /// That it be complete.
    Complete,
}

#[derive(Clone, Copy, Debug)]
struct Edge {
    from: usize,
    to: usize,
    demand: Demand,
    rule: usize,
    span: Span,
    negated: bool,
}

/// Orders views.
///
/// # Errors
/// One for each group of heads that has a cycle through negation or an aggregate.
pub(crate) fn stratify(views: &[View], catalog: &Catalog) -> Result<Vec<Group>, Vec<Diagnostic>> {
    let graph = Graph::new(views, catalog);
    let components = graph.components();
    let mut errors = Vec::new();
    for component in &components {
        if let Some(cycle) = graph.forbidden_cycle(component) {
            errors.push(describe(&cycle, &graph, views, catalog));
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(graph.groups(&components, views, catalog))
}

struct Graph {
    relations: Vec<RelationId>,
    edges: Vec<Edge>,
    /// By node: positions of the edges that leave it.
    leaving: Vec<Vec<usize>>,
}

impl Graph {
    fn new(views: &[View], catalog: &Catalog) -> Graph {
        let mut relations = SortedSet::new();
        for view in views {
            relations.insert(view.rule.head.relation);
            relations.extend(view.rule.atoms().map(|atom| atom.relation));
        }
        for (table, relation) in catalog.iter() {
            if let Some(candidates) = relation.candidates {
                relations.extend([table, candidates]);
            }
        }
        let relations: Vec<RelationId> = relations.into_iter().collect();
        let numbers: SortedMap<RelationId, usize> =
            relations.iter().enumerate().map(|(number, id)| (*id, number)).collect();
        let mut edges = Vec::new();
        for (rule, view) in views.iter().enumerate() {
            for atom in view.rule.atoms() {
                let demand = match (atom.negated, view.kind) {
                    (true, _) => Demand::Complete,
                    // A better trail removes no row.
                    _ if catalog.is_trail(view.rule.head.relation) => Demand::None,
                    (false, ViewKind::Grouped) if improves(view) => Demand::Improving,
                    (false, ViewKind::Grouped) => Demand::Complete,
                    (false, _) => Demand::None,
                };
                edges.push(Edge {
                    from: numbers[&atom.relation],
                    to: numbers[&view.rule.head.relation],
                    demand,
                    rule,
                    span: atom.span,
                    negated: atom.negated,
                });
            }
        }
        let mut graph = Graph { leaving: vec![Vec::new(); relations.len()], relations, edges };
        graph.join_candidates(views, catalog, &numbers);
        for (position, edge) in graph.edges.iter().enumerate() {
            graph.leaving[edge.from].push(position);
        }
        graph
    }

    /// A table and its candidates change together.
    fn join_candidates(
        &mut self,
        views: &[View],
        catalog: &Catalog,
        numbers: &SortedMap<RelationId, usize>,
    ) {
        for (table, relation) in catalog.iter() {
            let Some(candidates) = relation.candidates else { continue };
            let rule = views.iter().position(|view| view.rule.head.relation == candidates);
            let Some(rule) = rule else { continue };
            let span = views[rule].rule.span;
            let (table, candidates) = (numbers[&table], numbers[&candidates]);
            for (from, to) in [(candidates, table), (table, candidates)] {
                let edge = Edge { from, to, demand: Demand::None, rule, span, negated: false };
                self.edges.push(edge);
            }
        }
    }

    /// Strongly connected components (Tarjan's algorithm, without recursion).
    fn components(&self) -> Vec<Vec<usize>> {
        let count = self.relations.len();
        let mut tarjan = Tarjan {
            index: vec![usize::MAX; count],
            low: vec![0; count],
            on_stack: vec![false; count],
            stack: Vec::new(),
            next: 0,
            components: Vec::new(),
        };
        for node in 0..count {
            if tarjan.index[node] == usize::MAX {
                tarjan.visit(node, self);
            }
        }
        self.sort(tarjan.components)
    }

    /// Each component after those it depends on; where that leaves a choice, in program order.
    fn sort(&self, components: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
        let mut of = vec![0; self.relations.len()];
        for (number, component) in components.iter().enumerate() {
            component.iter().for_each(|node| of[*node] = number);
        }
        // The first rule of each; what no rule fills comes first.
        let mut first = vec![0; components.len()];
        let mut waits = vec![0; components.len()];
        for edge in self.edges.iter().rev() {
            first[of[edge.to]] = edge.rule + 1;
            waits[of[edge.to]] += usize::from(of[edge.from] != of[edge.to]);
        }
        let mut ready: BinaryHeap<Reverse<(usize, usize)>> = (0..components.len())
            .filter(|one| waits[*one] == 0)
            .map(|one| Reverse((first[one], one)))
            .collect();
        let mut sorted = Vec::with_capacity(components.len());
        while let Some(Reverse((_, number))) = ready.pop() {
            for node in &components[number] {
                for position in &self.leaving[*node] {
                    let to = of[self.edges[*position].to];
                    if to != number {
                        waits[to] -= 1;
                        if waits[to] == 0 {
                            ready.push(Reverse((first[to], to)));
                        }
                    }
                }
            }
            sorted.push(number);
        }
        let mut components: Vec<Option<Vec<usize>>> = components.into_iter().map(Some).collect();
        sorted.into_iter().filter_map(|number| components[number].take()).collect()
    }

    /// A cycle inside a component that has an edge no cycle may have.
    fn forbidden_cycle(&self, component: &[usize]) -> Option<Vec<Edge>> {
        let inside: SortedSet<usize> = component.iter().copied().collect();
        let within = |edge: &&Edge| inside.contains(&edge.from) && inside.contains(&edge.to);
        let edges: Vec<Edge> = self.edges.iter().filter(within).copied().collect();
        let strict = edges.iter().find(|edge| edge.demand == Demand::Complete);
        if let Some(edge) = strict {
            let mut cycle = vec![*edge];
            cycle.extend(self.path(edge.to, edge.from, &inside).unwrap_or_default());
            return Some(cycle);
        }
        let improving: SortedSet<usize> = edges
            .iter()
            .filter(|edge| edge.demand == Demand::Improving)
            .map(|edge| edge.to)
            .collect();
        if improving.len() < 2 {
            return None;
        }
        improving.iter().find_map(|&start| self.cycle_with_two(start, &inside))
    }

    /// The shortest path between two nodes of a component; empty for a node and itself.
    fn path(&self, from: usize, to: usize, inside: &SortedSet<usize>) -> Option<Vec<Edge>> {
        let mut came: Vec<Option<Edge>> = vec![None; self.relations.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                let mut path = Vec::new();
                let mut at = to;
                while at != from {
                    let edge = came[at].expect("found nodes have edges");
                    path.push(edge);
                    at = edge.from;
                }
                path.reverse();
                return Some(path);
            }
            for &position in &self.leaving[node] {
                let edge = self.edges[position];
                if inside.contains(&edge.to) && edge.to != from && came[edge.to].is_none() {
                    came[edge.to] = Some(edge);
                    queue.push_back(edge.to);
                }
            }
        }
        None
    }

    /// A cycle without repeated nodes through `start` that has two improving edges.
    ///
    /// The search is exponential in theory; programs that exhaust it are taken for legal.
    fn cycle_with_two(&self, start: usize, inside: &SortedSet<usize>) -> Option<Vec<Edge>> {
        const STEPS_MAX: usize = 100_000;
        let mut steps = 0;
        let mut path: Vec<Edge> = Vec::new();
        let mut cursors = vec![0];
        let mut visited = SortedSet::from([start]);
        while let Some(cursor) = cursors.last_mut() {
            let node = path.last().map_or(start, |edge| edge.to);
            let next = self.leaving[node].get(*cursor).map(|position| self.edges[*position]);
            *cursor += 1;
            steps += 1;
            if steps > STEPS_MAX {
                return None;
            }
            let Some(edge) = next else {
                cursors.pop();
                if let Some(edge) = path.pop() {
                    visited.remove(&edge.to);
                }
                continue;
            };
            if edge.to == start {
                path.push(edge);
                let improving = path.iter().filter(|edge| edge.demand == Demand::Improving);
                if improving.count() > 1 {
                    return Some(path);
                }
                path.pop();
            } else if inside.contains(&edge.to) && visited.insert(edge.to) {
                path.push(edge);
                cursors.push(0);
            }
        }
        None
    }

    fn groups(&self, components: &[Vec<usize>], views: &[View], catalog: &Catalog) -> Vec<Group> {
        let mut groups = Vec::new();
        for component in components {
            let members: SortedSet<RelationId> =
                component.iter().map(|node| self.relations[*node]).collect();
            let mut rules: Vec<usize> = (0..views.len())
                .filter(|rule| members.contains(&views[*rule].rule.head.relation))
                .collect();
            let selected: Vec<RelationId> = members
                .iter()
                .copied()
                .filter(|id| catalog.relation(*id).candidates.is_some())
                .collect();
            if rules.is_empty() && selected.is_empty() {
                continue;
            }
            sort::by_key(&mut rules, |rule| (views[*rule].rule.id, *rule));
            let heads: SortedSet<RelationId> =
                rules.iter().map(|rule| views[*rule].rule.head.relation).collect();
            groups.push(Group { heads: heads.into_iter().collect(), rules, selected });
        }
        groups
    }
}

struct Tarjan {
    index: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    components: Vec<Vec<usize>>,
}

impl Tarjan {
    fn enter(&mut self, node: usize) {
        self.index[node] = self.next;
        self.low[node] = self.next;
        self.next += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }

    fn visit(&mut self, root: usize, graph: &Graph) {
        self.enter(root);
        let mut work = vec![(root, 0)];
        while let Some((node, cursor)) = work.last_mut() {
            let node = *node;
            if let Some(&position) = graph.leaving[node].get(*cursor) {
                *cursor += 1;
                let to = graph.edges[position].to;
                if self.index[to] == usize::MAX {
                    self.enter(to);
                    work.push((to, 0));
                } else if self.on_stack[to] {
                    self.low[node] = self.low[node].min(self.index[to]);
                }
                continue;
            }
            work.pop();
            if let Some((parent, _)) = work.last() {
                self.low[*parent] = self.low[*parent].min(self.low[node]);
            }
            if self.low[node] == self.index[node] {
                self.leave(node);
            }
        }
    }

    /// Takes a finished component from the stack.
    fn leave(&mut self, root: usize) {
        let mut component = Vec::new();
        while let Some(node) = self.stack.pop() {
            self.on_stack[node] = false;
            component.push(node);
            if node == root {
                break;
            }
        }
        component.sort_unstable();
        self.components.push(component);
    }
}

/// Whether a grouped view has one aggregate, a MIN or MAX.
pub(crate) fn improves(view: &View) -> bool {
    let functions: Vec<Aggregate> = view
        .rule
        .head
        .columns
        .iter()
        .filter_map(|column| match column {
            HeadColumn::Aggregate { function, .. } => Some(*function),
            HeadColumn::Value(_) => None,
        })
        .collect();
    matches!(functions[..], [function] if function.is_extreme())
}

/// The error for a cycle: its tables in order, and a label for each rule on it.
fn describe(cycle: &[Edge], graph: &Graph, views: &[View], catalog: &Catalog) -> Diagnostic {
    let visible = |node: usize| {
        let relation = catalog.relation(graph.relations[node]);
        (!relation.hidden).then(|| relation.name.clone())
    };
    let mut names: Vec<String> = cycle.iter().filter_map(|edge| visible(edge.from)).collect();
    names.dedup();
    if let Some(first) = names.first().cloned()
        && (names.len() == 1 || names.last() != Some(&first))
    {
        names.push(first);
    }
    let strict = |edge: &&Edge| edge.demand != Demand::None;
    let through = match cycle.iter().find(strict) {
        Some(edge) if edge.negated => "negation",
        _ => "an aggregate",
    };
    let span = cycle.first().map_or(views[0].rule.span, |edge| views[edge.rule].rule.span);
    let message = format!("a cycle through {through}: {}", names.join(" -> "));
    let mut error = Diagnostic::error("unstratified", span, message).help(
        "break the cycle: let an event take part in one of its rules, or move what is negated or \
         aggregated to a table that does not depend on the result",
    );
    let mut labelled = SortedSet::new();
    for edge in cycle {
        let id = views[edge.rule].rule.id;
        if !labelled.insert(id) {
            continue;
        }
        // A rule may be on the cycle with several hidden steps: the one that matters.
        let of_rule = |other: &&Edge| views[other.rule].rule.id == id;
        let edge = cycle.iter().filter(of_rule).find(strict).unwrap_or(edge);
        let how = match (edge.demand, edge.negated) {
            (_, true) => "needs the absence of this",
            (Demand::None, _) => "depends on this",
            _ => "aggregates this",
        };
        let name = &views[edge.rule].rule.name;
        error = error.label(edge.span, format!("rule {name} {how}"));
    }
    error
}
