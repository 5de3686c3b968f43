//! Dropping and handing over what words own.
//!
//! A word that is dropped is empty afterwards. A component in it is terminated, and freed once it
//! has ended; its owner still counts it among its sub-components until then. *Freeing* a word
//! leaves components alone: for owners that end themselves and terminate their sub-components
//! anyway.

mod drop;
mod own;

use crate::handle::Words;
use crate::machine::Worker;
use crate::program::WordKind;

pub(crate) use drop::drop_word;
pub(crate) use own::{
    components_in, free_word, keep_components, kind_of, owns, owns_tied, take_components,
};

/// How what a word of a kind owns is freed. Arrays and collections are given it, as words own these
/// and their elements are words: it is [`free_word`] always.
pub(crate) type FreeWord = fn(&mut Worker, WordKind, Words);
