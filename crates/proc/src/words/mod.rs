//! Dropping and handing over what words own.
//!
//! A word that is dropped is empty afterwards. A component in it is told to end and freed when it
//! has; its owner still counts it among its sub-components until then. *Freeing* a word leaves
//! components alone: for owners that end themselves and tell their sub-components anyway.

mod drop;
mod own;

pub(crate) use drop::drop_word;
pub(crate) use own::{
    components_in, free_word, keep_components, kind_of, owns, owns_tied, take_components,
};
