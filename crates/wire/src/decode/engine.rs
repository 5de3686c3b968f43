//! The engine that reads messages: the tables, or code compiled from them.

#[cfg(feature = "native")]
use super::native::Unit;

/// The reader of the middle of the input.
#[derive(Clone, Copy, Debug)]
pub(super) enum Engine<'w> {
    /// The table decoder, which needs nothing else.
    Table(std::marker::PhantomData<&'w ()>),
    /// Generated code.
    #[cfg(feature = "native")]
    Native(&'w Unit),
}
