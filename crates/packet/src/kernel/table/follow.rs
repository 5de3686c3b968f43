//! Records changes of a table for its observer.

use tidemill_stdx::ordered::OrderedMap;

use super::observed::{Delta, Observed};
use super::{Books, Row, Table};

impl Table {
    /// Records changes from now on. `known` are the rows that the observer knows already, from the
    /// predecessor of this table.
    pub(crate) fn observe(&self, known: Vec<Row>) {
        let books = &mut *self.books.borrow_mut();
        let mut observed = Observed::default();
        let by_key = known.into_iter().map(|row| ((row.key.clone(), row.mask.clone()), row));
        let mut known: OrderedMap<(Vec<u128>, Vec<u128>), Row> = by_key.collect();
        let entries: Vec<u32> = books.ages.iter().collect();
        for entry in entries {
            observed.entry(entry).is_there = true;
            let row = self.row(books, entry);
            match known.remove(&(row.key.clone(), row.mask.clone())) {
                Some(as_known) => {
                    observed.remember(entry, &as_known, &self.spec);
                    if as_known != row {
                        observed.set_due(entry);
                    }
                }
                None => observed.set_due(entry),
            }
        }
        observed.gone = known.into_values().collect();
        books.observed = Some(observed);
    }

    /// Ends the observation.
    pub(crate) fn unobserve(&self) {
        self.books.borrow_mut().observed = None;
    }

    /// Whether it is observed.
    pub(crate) fn is_observed(&self) -> bool {
        self.books.borrow().observed.is_some()
    }

    /// An entry was inserted, or an insert has changed its values.
    pub(super) fn note_change(&self, books: &mut Books, entry: u32) {
        let Some(mut observed) = books.observed.take() else { return };
        observed.entry(entry).is_there = true;
        if !observed.entry(entry).is_known || !self.is_as_known(books, &mut observed, entry) {
            observed.set_due(entry);
        }
        books.observed = Some(observed);
    }

    /// An entry is about to go.
    pub(super) fn note_removal(&self, books: &mut Books, entry: u32) {
        let Some(mut observed) = books.observed.take() else { return };
        let known = observed.entry(entry);
        known.is_there = false;
        if std::mem::take(&mut known.is_known) {
            let mut row = self.row(books, entry);
            let numbers = observed.numbers(entry, self.spec.value_words() + 1);
            row.priority = numbers[0];
            row.values = self.spec.join_values(numbers[1..].iter().copied());
            observed.gone.push_back(row);
        }
        books.observed = Some(observed);
    }

    /// Whether priority and values of an entry are those known, without making a row of it.
    fn is_as_known(&self, books: &Books, observed: &mut Observed, entry: u32) -> bool {
        let width = self.spec.value_words() + 1;
        let known = observed.numbers(entry, width);
        known[0] == self.priority(books, entry)
            && (0u32..).zip(&known[1..]).all(|(at, known)| self.value(entry, at) == *known)
    }

    /// Notes the values that kernels have changed since they were known.
    pub(crate) fn report(&self) {
        let books = &mut *self.books.borrow_mut();
        let Some(mut observed) = books.observed.take() else { return };
        let entries: Vec<u32> = books.ages.iter().collect();
        for entry in entries {
            if !self.is_as_known(books, &mut observed, entry) {
                observed.set_due(entry);
            }
        }
        books.observed = Some(observed);
    }

    /// The next change. Removals are first, as a key may have been inserted again since.
    pub(crate) fn take_change(&self) -> Option<Delta> {
        let books = &mut *self.books.borrow_mut();
        let mut observed = books.observed.take()?;
        let change = self.next_change(books, &mut observed);
        books.observed = Some(observed);
        change
    }

    fn next_change(&self, books: &Books, observed: &mut Observed) -> Option<Delta> {
        if let Some(row) = observed.gone.pop_front() {
            return Some(Delta::Removed(row));
        }
        while let Some(entry) = observed.due.pop_front() {
            let known = observed.entry(entry);
            known.is_due = false;
            if !known.is_there {
                continue;
            }
            let is_known = known.is_known;
            let row = self.row(books, entry);
            if is_known && observed.is_as_known(entry, &row, &self.spec) {
                continue;
            }
            observed.remember(entry, &row, &self.spec);
            return Some(Delta::Inserted(row));
        }
        None
    }

    /// Whether there are changes to take.
    pub(crate) fn has_changes(&self) -> bool {
        let books = self.books.borrow();
        let observed = books.observed.as_ref();
        observed.is_some_and(|observed| !observed.due.is_empty() || !observed.gone.is_empty())
    }

    /// Pending changes, at most twice as many as there may be entries.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        let books = self.books.borrow();
        books.observed.as_ref().map_or(0, |observed| observed.due.len() + observed.gone.len())
    }
}
