//! The order in which a breath visits apps.

use super::Graph;

impl Graph {
    /// Positions of all apps so that links lead from earlier to later ones, but for those that
    /// close a cycle: the reverse of the order in which a search from the sources leaves them.
    /// Among equals the order of the graph holds.
    pub fn order(&self) -> Vec<usize> {
        let count = self.apps.len();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut is_fed = vec![false; count];
        for link in &self.links {
            next[link.from.app].push(link.to.app);
            is_fed[link.to.app] = true;
        }
        // The order is the reverse of the visits: so sources and links are tried from the last on.
        let sources = (0..count).rev().filter(|&app| !is_fed[app]);
        let cycles = (0..count).rev().filter(|&app| is_fed[app]);
        let mut seen = vec![false; count];
        let mut left = Vec::with_capacity(count);
        for root in sources.chain(cycles) {
            visit(root, &next, &mut seen, &mut left);
        }
        left.reverse();
        left
    }
}

/// Visits what can be reached from `root`; chains of apps may be longer than the stack is deep.
fn visit(root: usize, next: &[Vec<usize>], seen: &mut [bool], left: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[root], true) {
        return;
    }
    // An app and how many of its links are still to be followed.
    let mut path = vec![(root, next[root].len())];
    while let Some((app, rest)) = path.last_mut() {
        if *rest == 0 {
            left.push(*app);
            path.pop();
            continue;
        }
        *rest -= 1;
        let to = next[*app][*rest];
        if !std::mem::replace(&mut seen[to], true) {
            path.push((to, next[to].len()));
        }
    }
}
