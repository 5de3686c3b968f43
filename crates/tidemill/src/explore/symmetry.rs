//! Which nodes are interchangeable, and the hash that is equal for permuted states.
//!
//! Nodes are candidates if a transposition of them maps the beginning of all runs to itself: their
//! facts, timers, and the actions of the script. As such permutations form a group, candidates fall
//! into classes, within which all permutations are taken. [`orbits`](super::orbits) checks that
//! turns treat them alike.

use std::sync::Arc;

use tidemill_stdx::hash::Map;

use super::actions::{Action, Effect};
use super::digest::{Digest, scattered};
use super::fingerprint::Digests;
use super::locals::{LocalId, Locals};
use super::orbits::Orbit;
use super::renaming::{Addresses, Renaming};
use super::row::{DONE, GROUP, HEADER, State};
use super::seen::part;
use super::turns::MessageId;

/// The maximum number of permutations: all those of six nodes.
const PERMUTATIONS_MAX: usize = 720;

/// The permutations of a search.
pub(super) struct Symmetry {
    /// Classes of interchangeable nodes.
    pub(super) classes: Vec<Vec<u32>>,
    pub(super) all: Arc<[Renaming]>,
    /// The index of each permutation, as the nodes that nodes become.
    indices: Map<Box<[u32]>, usize>,
    /// By permutation: the action that each becomes.
    actions: Vec<Box<[u32]>>,
    /// By group: its first action, and their number.
    groups: Vec<(usize, usize)>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    locals: Vec<Orbit>,
    /// With the node to which each goes.
    messages: Vec<(Orbit, u32)>,
    /// By node: a value that permutations preserve.
    signatures: Vec<u128>,
    /// By node: the node that it becomes.
    becomes: Vec<u32>,
}

impl Symmetry {
    /// The symmetry of the beginning of all runs, with some nodes fixed; `None` if there is none.
    pub(super) fn new(locals: &mut Locals, script: &[Action], fixed: &[u32]) -> Option<Symmetry> {
        let names = locals.turns.identities.iter().map(|identity| identity.address.clone());
        let addresses = Arc::new(Addresses::new(names));
        let count = locals.turns.identities.len() as u32;
        let identity: Vec<u32> = (0..count).collect();
        let mut classes: Vec<Vec<u32>> = Vec::new();
        for node in identity.iter().copied().filter(|node| !fixed.contains(node)) {
            let class = classes.iter_mut().find(|class| {
                let mut to = identity.clone();
                to.swap(class[0] as usize, node as usize);
                let renaming = Renaming::new(to.into(), addresses.clone());
                locals.begin_alike(&renaming) && permuted(locals, script, &renaming).is_some()
            });
            match class {
                Some(class) => class.push(node),
                None => classes.push(vec![node]),
            }
        }
        classes.retain(|class| class.len() > 1);
        let mut count = 1;
        for class in &mut classes {
            let most = (1..=class.len())
                .rev()
                .find(|size| count * (1..=*size).product::<usize>() <= PERMUTATIONS_MAX);
            class.truncate(most.unwrap_or(1));
            count *= (1..=class.len()).product::<usize>();
        }
        classes.retain(|class| class.len() > 1);
        if classes.is_empty() {
            return None;
        }
        let all = permutations(&identity, &classes).into_iter();
        let all: Vec<Renaming> =
            all.map(|to| Renaming::new(to.into(), addresses.clone())).collect();
        let actions = all.iter().map(|renaming| permuted(locals, script, renaming));
        let actions: Vec<Box<[u32]>> = actions.collect::<Option<_>>()?;
        let indices = all.iter().map(|renaming| renaming.to.clone()).zip(0..).collect();
        let (groups, scratch) = (groups(script), Scratch::default());
        Some(Symmetry { classes, all: all.into(), indices, actions, groups, scratch })
    }

    /// The same for another thread.
    pub(super) fn for_thread(&self) -> Symmetry {
        Symmetry {
            classes: self.classes.clone(),
            all: self.all.clone(),
            indices: self.indices.clone(),
            actions: self.actions.clone(),
            groups: self.groups.clone(),
            scratch: Scratch::default(),
        }
    }

    /// The least hash of the permutations of a state, among those in which nodes of a class are in
    /// the order of their signatures.
    pub(super) fn hash(&mut self, locals: &mut Locals, state: &State) -> u128 {
        let mut scratch = self.orbits_of(locals, state);
        let fixed = (self.all[0].to.len() + HEADER) as u32;
        let Scratch { locals: orbits, messages, signatures, becomes } = &mut scratch;
        signatures.extend(orbits.iter().map(|orbit| part(0, least(orbit))));
        for (orbit, to) in &*messages {
            let to = *to as usize;
            signatures[to] = signatures[to].wrapping_add(part(1, least(orbit)));
        }
        let message = |message: MessageId| part(fixed, message);
        let parts = (&orbits[..], &messages[..]);
        let hash = |at: usize| self.sum(state, parts, at, (&part, &message));
        let hash = self.least(signatures, becomes, &hash);
        self.scratch = scratch;
        hash
    }

    /// The same by digests, which do not depend on numbers.
    pub(super) fn digest(
        &mut self,
        locals: &mut Locals,
        digests: &mut Digests,
        state: &State,
    ) -> Digest {
        let mut scratch = self.orbits_of(locals, state);
        let Scratch { locals: orbits, messages, signatures, becomes } = &mut scratch;
        signatures.extend(orbits.iter().map(|orbit| digests.least_local(locals, orbit)));
        for (orbit, to) in &*messages {
            let (to, least) = (*to as usize, digests.least_message(locals, orbit));
            signatures[to] = signatures[to].wrapping_add(scattered(least));
        }
        let digests = &*digests;
        let local = |_: u32, local: LocalId| digests.known_local(local);
        let message = |message: MessageId| digests.known_message(message);
        let parts = (&orbits[..], &messages[..]);
        let digest = |at: usize| self.sum(state, parts, at, (&local, &message));
        let digest = self.least(signatures, becomes, &digest);
        self.scratch = scratch;
        digest
    }

    /// The nodes and messages of a state under each permutation; without signatures.
    fn orbits_of(&mut self, locals: &mut Locals, state: &State) -> Scratch {
        let nodes = self.all[0].to.len();
        let mut scratch = std::mem::take(&mut self.scratch);
        let Scratch { locals: orbits, messages, signatures, .. } = &mut scratch;
        orbits.clear();
        messages.clear();
        signatures.clear();
        orbits.extend(state[..nodes].iter().map(|local| locals.renamed(*local)));
        messages.extend(state[nodes + HEADER..].iter().map(|message| {
            let to = locals.turns.message(*message).0;
            (locals.renamed_message(*message), to)
        }));
        scratch
    }

    /// The least hash among the permutations that put nodes into the order of their signatures.
    fn least(
        &self,
        signatures: &[u128],
        becomes: &mut Vec<u32>,
        hash: &dyn Fn(usize) -> u128,
    ) -> u128 {
        if let Some(at) = self.sorting(signatures, becomes, hash) {
            return hash(at);
        }
        let is_sorted = |renaming: &Renaming| {
            let signature = |node: &u32| signatures[renaming.from[*node as usize] as usize];
            self.classes.iter().all(|class| class.is_sorted_by_key(signature))
        };
        let sorted = (0..self.all.len()).filter(|at| is_sorted(&self.all[*at]));
        sorted.map(hash).min().unwrap_or_default()
    }

    /// The permutation that puts the nodes of each class into the order of their signatures; `None`
    /// if there are several that lead to different states. Nodes of one signature may be in any
    /// order if the state is the same after they are exchanged.
    fn sorting(
        &self,
        signatures: &[u128],
        becomes: &mut Vec<u32>,
        hash: &dyn Fn(usize) -> u128,
    ) -> Option<usize> {
        let identity = 0..signatures.len() as u32;
        let mut own = None;
        for class in &self.classes {
            for (at, node) in class.iter().enumerate() {
                let signature = |node: &u32| signatures[*node as usize];
                let Some(other) = class[..at].iter().find(|it| signature(it) == signature(node))
                else {
                    continue;
                };
                becomes.clear();
                becomes.extend(identity.clone());
                becomes.swap(*other as usize, *node as usize);
                let exchanged = hash(*self.indices.get(&becomes[..])?);
                if exchanged != *own.get_or_insert_with(|| hash(0)) {
                    return None;
                }
            }
        }
        becomes.clear();
        becomes.extend(identity);
        for class in &self.classes {
            for node in class {
                let key = |node: &u32| (signatures[*node as usize], *node);
                let before = class.iter().filter(|other| key(other) < key(node)).count();
                becomes[*node as usize] = class[before];
            }
        }
        self.indices.get(&becomes[..]).copied()
    }

    /// The sum of the hashes of the parts of a state under a permutation: of nodes by place, of
    /// messages, and of the rest.
    fn sum(
        &self,
        state: &State,
        (locals, messages): (&[Orbit], &[(Orbit, u32)]),
        at: usize,
        (local, message): (&impl Fn(u32, LocalId) -> u128, &impl Fn(MessageId) -> u128),
    ) -> u128 {
        let (nodes, fixed) = (locals.len(), locals.len() + HEADER);
        let renamed = self.all[at].to.iter().zip(locals);
        let renamed = renamed.map(|(node, orbit)| local(*node, orbit[at]));
        let header = (nodes..fixed).map(|place| {
            let done = place == nodes + DONE && state[place] != 0;
            let value = state[place];
            let value = if done { self.done(state[nodes + GROUP], value, at) } else { value };
            part(place as u32, value)
        });
        let messages = messages.iter().map(|(orbit, _)| message(orbit[at]));
        renamed.chain(header).chain(messages).fold(0, u128::wrapping_add)
    }

    /// The actions of a group that have happened, under a permutation.
    fn done(&self, group: u32, done: u32, at: usize) -> u32 {
        let Some(&(first, size)) = self.groups.get(group as usize) else { return done };
        let bits = (0..size).filter(|bit| done & 1 << bit != 0);
        bits.fold(0, |all, bit| all | 1 << (self.actions[at][first + bit] as usize - first))
    }
}

fn least(orbit: &Orbit) -> u32 {
    orbit.iter().copied().min().unwrap_or_default()
}

/// By action: the one that it becomes; `None` if the script is not the same afterwards. Equal
/// actions stay in order.
fn permuted(locals: &mut Locals, script: &[Action], renaming: &Renaming) -> Option<Box<[u32]>> {
    let mut taken = vec![false; script.len()];
    let target = |Action { group, node, effect }: &Action| {
        let effect = match effect {
            Effect::Give(event) => Effect::Give(locals.turns.events.renamed(*event, renaming)),
            Effect::Crash => Effect::Crash,
        };
        let renamed = Action { group: *group, node: renaming.to[*node as usize], effect };
        let mut same = (0..script.len()).filter(|at| script[*at] == renamed);
        let at = same.find(|at| !taken[*at])?;
        taken[at] = true;
        Some(at as u32)
    };
    script.iter().map(target).collect()
}

/// By group: its first action, and the number of them.
fn groups(script: &[Action]) -> Vec<(usize, usize)> {
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for (at, action) in script.iter().enumerate() {
        match groups.get_mut(action.group as usize) {
            Some((_, size)) => *size += 1,
            None => groups.push((at, 1)),
        }
    }
    groups
}

/// All permutations within classes; the identity first.
fn permutations(identity: &[u32], classes: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut all = vec![identity.to_vec()];
    for class in classes {
        // Each element of a class is exchanged with each that follows, as all permutations of those
        // before it are there already.
        for (at, node) in class.iter().enumerate().skip(1) {
            let with_others: Vec<Vec<u32>> = all
                .iter()
                .flat_map(|one| {
                    class[..at].iter().map(|other| {
                        let mut next = one.clone();
                        next.swap(*node as usize, *other as usize);
                        next
                    })
                })
                .collect();
            all.extend(with_others);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_permutations_within_classes_are_taken_once() {
        let identity: Vec<u32> = (0..6).collect();
        let all = permutations(&identity, &[vec![1, 2, 4], vec![0, 5]]);
        assert_eq!((all.len(), &all[0]), (12, &identity));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 12);
        assert!(all.iter().all(|one| one[3] == 3 && [0, 5].contains(&one[0])));
    }
}
