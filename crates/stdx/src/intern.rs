//! Each string once, named by a number.
//!
//! For the names and constants of a program, whose number its source bounds; never for what comes
//! in while it runs, as nothing is ever forgotten.
//!
//! ```
//! use tidemill_stdx::intern::Interner;
//!
//! let mut names = Interner::new();
//! let link = names.intern("link");
//! assert_eq!(names.intern("link"), link);
//! assert_eq!(&names[link], "link");
//! assert_eq!(names.get("path"), None);
//! ```

use crate::hash::hash_bytes;
use crate::id::Id as _;
use hashbrown::HashTable;
use std::fmt;
use std::ops::Index;

crate::id_type! {
    /// The number of a string; numbers ascend in the order in which strings first came.
    pub struct Symbol, "sym";
}

/// Strings and their numbers.
#[derive(Clone, Default)]
pub struct Interner {
    /// All strings, one after the other.
    text: String,
    /// By symbol: where its string ends in `text`. It starts where the one before ends.
    ends: Vec<usize>,
    symbols: HashTable<Symbol>,
}

impl Interner {
    /// Without strings.
    pub fn new() -> Interner {
        Interner::default()
    }

    /// The number of `text`, which is copied if it is new.
    ///
    /// # Panics
    /// At 2^32 different strings.
    pub fn intern(&mut self, text: &str) -> Symbol {
        let hash = hash_bytes(text.as_bytes());
        if let Some(symbol) = self.find(hash, text) {
            return symbol;
        }
        let symbol = Symbol::from_index(self.ends.len());
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let Interner { text, ends, symbols } = self;
        symbols
            .insert_unique(hash, symbol, |&other| hash_bytes(place(text, ends, other).as_bytes()));
        symbol
    }

    /// The number of `text`, if it was interned.
    pub fn get(&self, text: &str) -> Option<Symbol> {
        self.find(hash_bytes(text.as_bytes()), text)
    }

    /// The string of a number; `None` for a number of another interner that is too great here.
    pub fn resolve(&self, symbol: Symbol) -> Option<&str> {
        (symbol.index() < self.ends.len()).then(|| place(&self.text, &self.ends, symbol))
    }

    /// How many strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All strings with their numbers, in the order in which they first came.
    pub fn iter(&self) -> impl Iterator<Item = (Symbol, &str)> {
        let symbols = (0..self.ends.len()).map(Symbol::from_index);
        symbols.map(|symbol| (symbol, place(&self.text, &self.ends, symbol)))
    }

    fn find(&self, hash: u64, text: &str) -> Option<Symbol> {
        let same = |&symbol: &Symbol| place(&self.text, &self.ends, symbol) == text;
        self.symbols.find(hash, same).copied()
    }
}

fn place<'a>(text: &'a str, ends: &[usize], symbol: Symbol) -> &'a str {
    let start = symbol.index().checked_sub(1).map_or(0, |before| ends[before]);
    &text[start..ends[symbol.index()]]
}

/// # Panics
/// If the number is of another interner and too great here.
impl Index<Symbol> for Interner {
    type Output = str;

    fn index(&self, symbol: Symbol) -> &str {
        place(&self.text, &self.ends, symbol)
    }
}

impl fmt::Debug for Interner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_and_strings_come_back() {
        let mut names = Interner::new();
        let symbols: Vec<Symbol> = (0..10_000).map(|i| names.intern(&format!("n{i}"))).collect();
        assert!(symbols.is_sorted());
        for (i, &symbol) in symbols.iter().enumerate() {
            let name = format!("n{i}");
            assert_eq!((&names[symbol], names.get(&name)), (&*name, Some(symbol)));
            assert_eq!(names.intern(&name), symbol);
        }
        assert_eq!(names.len(), 10_000);
        assert_eq!(names.iter().nth(42), Some((Symbol::new(42), "n42")));
    }

    #[test]
    fn the_empty_string_is_a_string() {
        let mut names = Interner::new();
        let (a, empty, b) = (names.intern("a"), names.intern(""), names.intern("b"));
        assert_eq!((&names[a], &names[empty], &names[b]), ("a", "", "b"));
        assert_eq!(names.intern(""), empty);
        assert_eq!(names.resolve(Symbol::new(3)), None);
    }
}
