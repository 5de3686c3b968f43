//! The control flow of a function: predecessors, an order, dominators and natural loops.

use tidemill_stdx::id::{Id, IdSet, IdVec};
use tidemill_stdx::sort;

use crate::ir::{BlockId, Function};

/// Which block leads where, and which are passed on every way to another.
///
/// Dominators: Cooper, Harvey, Kennedy, *A Simple, Fast Dominance Algorithm*.
#[derive(Debug, Clone)]
pub struct Graph {
    /// Blocks that are reached, each before those that it dominates.
    order: Vec<BlockId>,
    /// The place in `order`; none of blocks that nothing leads to.
    place: IdVec<BlockId, Option<usize>>,
    predecessors: IdVec<BlockId, Vec<BlockId>>,
    /// By place: the place of the nearest dominator; of the first block its own.
    dominator: Vec<usize>,
}

/// A natural loop: all blocks on ways from its head back to it.
#[derive(Debug, Clone)]
pub struct Loop {
    /// Every way into the loop leads through it.
    pub head: BlockId,
    /// The blocks, the head among them.
    pub blocks: IdSet<BlockId>,
}

impl Graph {
    /// The graph of the function's blocks.
    pub fn of(function: &Function) -> Graph {
        let order = reverse_postorder(function);
        let mut place: IdVec<BlockId, Option<usize>> =
            function.blocks.iter().map(|_| None).collect();
        let mut predecessors: IdVec<BlockId, Vec<BlockId>> =
            function.blocks.iter().map(|_| Vec::new()).collect();
        for (index, &block) in order.iter().enumerate() {
            place[block] = Some(index);
            for target in function.blocks[block].terminator.0.targets() {
                if predecessors[target].last() != Some(&block) {
                    predecessors[target].push(block);
                }
            }
        }
        let mut graph = Graph { order, place, predecessors, dominator: Vec::new() };
        graph.find_dominators();
        graph
    }

    /// Blocks that are reached, each before those that it dominates.
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// The blocks that lead there, of those that are reached.
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        &self.predecessors[block]
    }

    /// Whether every way to `block` passes `by`. Neither if one of them is not reached.
    pub fn dominates(&self, by: BlockId, block: BlockId) -> bool {
        let (Some(by), Some(mut place)) = (self.place[by], self.place[block]) else { return false };
        while place > by {
            place = self.dominator[place];
        }
        place == by
    }

    /// The nearest block that is passed on every way to this one; none of the first.
    pub fn dominator(&self, block: BlockId) -> Option<BlockId> {
        let place = self.place[block].filter(|place| *place > 0)?;
        Some(self.order[self.dominator[place]])
    }

    fn find_dominators(&mut self) {
        const UNKNOWN: usize = usize::MAX;
        let mut dominator = vec![UNKNOWN; self.order.len()];
        if let Some(first) = dominator.first_mut() {
            *first = 0;
        }
        let common = |dominator: &[usize], mut a: usize, mut b: usize| {
            while a != b {
                if a > b {
                    a = dominator[a];
                } else {
                    b = dominator[b];
                }
            }
            a
        };
        let mut changed = true;
        while changed {
            changed = false;
            for (place, &block) in self.order.iter().enumerate().skip(1) {
                let before = self.predecessors[block].iter().filter_map(|it| self.place[*it]);
                let nearest = before
                    .filter(|place| dominator[*place] != UNKNOWN)
                    .reduce(|a, b| common(&dominator, a, b));
                if let Some(nearest) = nearest
                    && dominator[place] != nearest
                {
                    dominator[place] = nearest;
                    changed = true;
                }
            }
        }
        self.dominator = dominator;
    }

    /// All natural loops, outer before inner; those with one head are one.
    pub fn loops(&self) -> Vec<Loop> {
        let mut loops = Vec::new();
        for &head in &self.order {
            let back = |from: &&BlockId| self.dominates(head, **from);
            let ends: Vec<BlockId> = self.predecessors[head].iter().filter(back).copied().collect();
            if !ends.is_empty() {
                loops.push(Loop { head, blocks: self.within(head, ends) });
            }
        }
        // Of two loops either one has the other's head, or they share nothing.
        sort::by_key(&mut loops, |one| std::cmp::Reverse(one.blocks.len()));
        loops
    }

    /// What lies on the ways from the head to the ends.
    fn within(&self, head: BlockId, ends: Vec<BlockId>) -> IdSet<BlockId> {
        let mut blocks = IdSet::new();
        blocks.insert(head);
        let mut ways = ends;
        while let Some(block) = ways.pop() {
            if blocks.insert(block) {
                ways.extend(&self.predecessors[block]);
            }
        }
        blocks
    }
}

/// Every block after those that lead to it, back edges apart.
fn reverse_postorder(function: &Function) -> Vec<BlockId> {
    let mut order = Vec::with_capacity(function.blocks.len());
    let mut seen = IdSet::new();
    let first = BlockId::from_index(0);
    seen.insert(first);
    // The targets of a block that are still to be visited.
    let targets = |block: BlockId| -> Vec<BlockId> {
        function.blocks[block].terminator.0.targets().collect()
    };
    let mut ways = vec![(first, targets(first))];
    while let Some((block, rest)) = ways.last_mut() {
        match rest.pop() {
            Some(next) if seen.insert(next) => ways.push((next, targets(next))),
            Some(_) => {}
            None => {
                order.push(*block);
                ways.pop();
            }
        }
    }
    order.reverse();
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{FunctionId, parse};

    /// A function of blocks that lead to others: none, one, or two of them.
    fn graph(targets: &[&[u32]]) -> Graph {
        let mut text = String::from("function fn0 \"f\" component0 procedure [] -\n");
        text += "register %0 boolean\n";
        for (block, targets) in targets.iter().enumerate() {
            text += &format!("block b{block}\n");
            text += &match targets {
                [] => "return - ~0:0..0\n".to_owned(),
                [one] => format!("jump b{one} ~0:0..0\n"),
                [one, two, ..] => format!("branch %0 b{one} b{two} ~0:0..0\n"),
            };
        }
        Graph::of(&parse(&text).unwrap().functions[FunctionId::new(0)])
    }

    #[test]
    fn dominators_are_what_removing_a_block_cuts_off() {
        let mut rng = tidemill_stdx::rng::Rng::new(7);
        for _ in 0..500 {
            let count = 1 + rng.below(9) as u32;
            let ways: Vec<Vec<u32>> = (0..count)
                .map(|_| (0..rng.below(3)).map(|_| rng.below(u64::from(count)) as u32).collect())
                .collect();
            let ways: Vec<&[u32]> = ways.iter().map(Vec::as_slice).collect();
            let graph = graph(&ways);
            // The blocks reachable without passing a block.
            let reached = |without: Option<u32>| {
                let mut seen = vec![false; ways.len()];
                let mut next = vec![0];
                while let Some(block) = next.pop() {
                    if Some(block) != without && !seen[block as usize] {
                        seen[block as usize] = true;
                        next.extend(ways[block as usize]);
                    }
                }
                seen
            };
            let all = reached(None);
            for by in 0..count {
                let rest = reached(Some(by));
                for block in 0..count {
                    let is = all[by as usize] && all[block as usize] && !rest[block as usize];
                    let ids = (BlockId::new(by), BlockId::new(block));
                    assert_eq!(graph.dominates(ids.0, ids.1), is, "{by} {block} {ways:?}");
                }
            }
        }
    }

    #[test]
    fn loops_are_found_outer_before_inner() {
        let graph = graph(&[&[1], &[2, 5], &[3], &[2, 4], &[1], &[]]);
        let loops = graph.loops();
        let shown: Vec<(u32, Vec<u32>)> = loops
            .iter()
            .map(|it| (it.head.raw(), it.blocks.iter().map(BlockId::raw).collect()))
            .collect();
        assert_eq!(shown, [(1, vec![1, 2, 3, 4]), (2, vec![2, 3])]);
    }
}
