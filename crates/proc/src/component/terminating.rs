//! Components that are terminating, for the search for circles that wait for each other.

use super::id::ComponentId;

/// Entries checked at each addition: more than one, so that they become fewer.
const LOOKS: usize = 2;

/// Components that may serve others until they end. The caller checks which of them still do.
#[derive(Default)]
pub(crate) struct TerminatingSet {
    ids: Vec<ComponentId>,
    /// The entry to check next.
    next: usize,
}

impl TerminatingSet {
    /// Adds one. Each addition also checks [`LOOKS`] others and removes those that serve no more,
    /// so the set stays bounded in a program that never rests.
    pub(crate) fn add(&mut self, id: ComponentId, is_serving: impl Fn(ComponentId) -> bool) {
        for _ in 0..LOOKS {
            match self.ids.get(self.next) {
                None => self.next = 0,
                Some(&id) if is_serving(id) => self.next += 1,
                Some(_) => {
                    self.ids.swap_remove(self.next);
                }
            }
        }
        self.ids.push(id);
    }

    /// Those that still serve, each once.
    pub(crate) fn all(&mut self, is_serving: impl Fn(ComponentId) -> bool) -> &[ComponentId] {
        self.ids.retain(|id| is_serving(*id));
        self.ids.sort_unstable();
        self.ids.dedup();
        &self.ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_serve_no_more_leave_as_others_come() {
        let id = |number: u32| ComponentId::new(number, 1);
        // The last hundred still serve, and one of the first.
        let serves =
            |now: u32| move |one: ComponentId| one == id(7) || one >= id(now.max(100) - 100);
        let mut terminating = TerminatingSet::default();
        for now in 0..10_000 {
            terminating.add(id(now), serves(now));
            assert!(terminating.ids.len() < 300, "{now}: {}", terminating.ids.len());
        }
        terminating.add(id(7), serves(10_000));
        let expected: Vec<ComponentId> = std::iter::once(7).chain(9_900..10_000).map(id).collect();
        assert_eq!(terminating.all(serves(10_000)), expected);
    }
}
