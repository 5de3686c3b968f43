//! What reads messages: the tables, or code that was made of them.

#[cfg(feature = "native")]
use super::native::Unit;

/// What reads the middle of the input.
#[derive(Clone, Copy, Debug)]
pub(super) enum Engine<'w> {
    /// The table decoder, which needs nothing else.
    Table(std::marker::PhantomData<&'w ()>),
    /// Generated code.
    #[cfg(feature = "native")]
    Native(&'w Unit),
}
