//! Data that is nothing but its bytes.

/// Values that are valid whatever their bytes are, and have no padding.
///
/// A [`Handle`](super::Handle) is a number and may be used on the wrong region, or after a reset.
/// What it then finds is some other value's bytes; for plain types that is a wrong value and
/// nothing worse. [`plain!`](crate::plain) implements it for structs and checks what can be
/// checked.
///
/// # Safety
/// Every pattern of initialised bytes is a value of the type; the type has no padding, needs an
/// alignment of at most 8, and has no interior mutability.
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain_primitives {
    ($($name:ty)*) => {$(
        // SAFETY: a number: all bit patterns are values, no padding, aligned to 8 at most.
        unsafe impl Plain for $name {}
    )*};
}

plain_primitives! { u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 usize isize }

// SAFETY: an array has no padding between plain elements, and their alignment.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Implements [`Plain`](crate::region::Plain) for a `#[repr(C)]` struct whose fields are plain.
///
/// Checked: that every named field is plain, and that together they fill the struct (so no field
/// is forgotten and there is no padding).
///
/// ```
/// use tidemill_stdx::region::{Handle, Region};
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Link { next: Handle<Link>, value: u32 }
/// tidemill_stdx::plain!(Link { next: Handle<Link>, value: u32 });
///
/// let mut region = Region::new();
/// let last = region.alloc(Link { next: Handle::NULL, value: 1 })?;
/// let first = region.alloc(Link { next: last, value: 2 })?;
/// assert_eq!(region[region[first].next].value, 1);
/// # Ok::<(), tidemill_stdx::region::Full>(())
/// ```
///
/// ```compile_fail
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Padded { a: u8, b: u64 }
/// tidemill_stdx::plain!(Padded { a: u8, b: u64 });
/// ```
#[macro_export]
macro_rules! plain {
    ($name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        // SAFETY: all fields are plain and nothing lies between them, checked below.
        unsafe impl $crate::region::Plain for $name {}
        const _: () = {
            const fn is_plain<T: $crate::region::Plain>() {}
            const fn has_the_fields(value: &$name) {
                $(let _: &$type = &value.$field;)+
            }
            $(is_plain::<$type>();)+
            let _ = has_the_fields;
            assert!(size_of::<$name>() == 0 $(+ size_of::<$type>())+, "padding or missing fields");
            assert!(align_of::<$name>() <= 8, "aligned to more than 8 bytes");
        };
    };
}
