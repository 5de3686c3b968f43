//! A token, which counts its hops, passed round a ring of nodes.

use std::collections::VecDeque;

use super::channel::Channel;

#[derive(Clone, Debug, Default)]
struct Node {
    inbox: Channel,
}

pub fn run(nodes: u64, rounds: u64) -> u64 {
    let mut ring = vec![Node::default(); nodes as usize];
    let last = nodes * rounds;
    let mut ready = VecDeque::new();
    let first = 1 % ring.len();
    ring[first].inbox.send(1);
    ready.push_back(first);
    while let Some(me) = ready.pop_front() {
        // Woken without a message it continues to wait.
        let Some(hops) = ring[me].inbox.receive() else { continue };
        if hops == last {
            return hops;
        }
        let next = if me + 1 == ring.len() { 0 } else { me + 1 };
        // There is only one token, so no channel is ever full.
        ring[next].inbox.send(hops + 1);
        ready.push_back(next);
    }
    0
}
