//! Places in a region.

use super::arena::Region;
use super::plain::Plain;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The place of a `T` in a [`Region`]; `Handle<T>` itself is [`Plain`].
#[repr(transparent)]
pub struct Handle<T> {
    pub(super) word: u32,
    value: PhantomData<fn() -> T>,
}

/// The place of several `T` in a row in a [`Region`].
#[repr(C)]
pub struct Slice<T> {
    pub(super) word: u32,
    pub(super) len: u32,
    value: PhantomData<fn() -> T>,
}

/// The place of a string in a [`Region`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Text(pub(super) Slice<u8>);

impl<T> Handle<T> {
    #[inline]
    pub(super) const fn new(word: u32) -> Handle<T> {
        Handle { word, value: PhantomData }
    }

    /// Points nowhere; [`Region::get`] finds nothing there.
    pub const NULL: Handle<T> = Handle::new(0);

    /// True for [`Handle::NULL`].
    #[inline]
    pub const fn is_null(self) -> bool {
        self.word == 0
    }

    /// The handle as a slice of one value.
    #[inline]
    pub(super) fn as_slice(self) -> Slice<T> {
        Slice::new(self.word, 1)
    }
}

impl<T> Slice<T> {
    #[inline]
    pub(super) const fn new(word: u32, len: u32) -> Slice<T> {
        Slice { word, len, value: PhantomData }
    }

    /// No values, in every region.
    pub const EMPTY: Slice<T> = Slice::new(0, 0);

    /// How many values.
    #[inline]
    pub const fn len(self) -> usize {
        self.len as usize
    }

    /// True without values.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

impl Text {
    /// The empty string, in every region.
    pub const EMPTY: Text = Text(Slice::EMPTY);

    /// Length in bytes.
    #[inline]
    pub const fn len(self) -> usize {
        self.0.len()
    }

    /// True for the empty string.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

// SAFETY: a transparent `u32`.
unsafe impl<T: 'static> Plain for Handle<T> {}
// SAFETY: two `u32`.
unsafe impl<T: 'static> Plain for Slice<T> {}
// SAFETY: a transparent `Slice`.
unsafe impl Plain for Text {}

/// # Panics
/// If the handle is null or of another region.
impl<T: Plain> Index<Handle<T>> for Region {
    type Output = T;

    #[inline]
    fn index(&self, handle: Handle<T>) -> &T {
        self.get(handle).expect("handle of another region")
    }
}

impl<T: Plain> IndexMut<Handle<T>> for Region {
    #[inline]
    fn index_mut(&mut self, handle: Handle<T>) -> &mut T {
        self.get_mut(handle).expect("handle of another region")
    }
}

/// # Panics
/// If the slice is of another region.
impl<T: Plain> Index<Slice<T>> for Region {
    type Output = [T];

    #[inline]
    fn index(&self, slice: Slice<T>) -> &[T] {
        self.slice(slice).expect("slice of another region")
    }
}

impl<T: Plain> IndexMut<Slice<T>> for Region {
    #[inline]
    fn index_mut(&mut self, slice: Slice<T>) -> &mut [T] {
        self.slice_mut(slice).expect("slice of another region")
    }
}

/// # Panics
/// If the text is of another region.
impl Index<Text> for Region {
    type Output = str;

    #[inline]
    fn index(&self, text: Text) -> &str {
        self.str(text).expect("text of another region")
    }
}

// By hand: derives would ask the same of `T`.
impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Handle<T> {}
impl<T> PartialEq for Handle<T> {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}
impl<T> Eq for Handle<T> {}
impl<T> Hash for Handle<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.word.hash(state);
    }
}
impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{:x}", self.word)
    }
}
impl<T> Clone for Slice<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Slice<T> {}
impl<T> PartialEq for Slice<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.word, self.len) == (other.word, other.len)
    }
}
impl<T> Eq for Slice<T> {}
impl<T> Hash for Slice<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.word, self.len).hash(state);
    }
}
impl<T> fmt::Debug for Slice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{:x}+{}", self.word, self.len)
    }
}
