//! Copies of short runs of bytes without a call.

use tidemill_stdx::copy::copy;

/// Copies bytes; short runs without a call, as two blocks of a fixed length that may overlap.
///
/// # Safety
/// `to` is valid for writes of `bytes.len()` bytes.
#[inline]
pub(crate) unsafe fn copy_few(to: *mut u8, bytes: &[u8]) {
    // SAFETY: no block reaches beyond the bytes, for which there is room.
    unsafe {
        match bytes.len() {
            0..4 => {
                for (at, &byte) in bytes.iter().enumerate() {
                    to.add(at).write(byte);
                }
            }
            4..8 => copy_pair::<4>(to, bytes),
            8..16 => copy_pair::<8>(to, bytes),
            16..=32 => copy_pair::<16>(to, bytes),
            _ => copy(to, bytes.as_ptr(), bytes.len()),
        }
    }
}

/// Copies at least `N` and at most twice as many bytes.
///
/// # Safety
/// `to` is valid for writes of `bytes.len()` bytes.
#[inline]
unsafe fn copy_pair<const N: usize>(to: *mut u8, bytes: &[u8]) {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) {
        // SAFETY: both blocks are of the bytes, for which there is room.
        unsafe {
            to.cast::<[u8; N]>().write(*first);
            to.add(bytes.len() - N).cast::<[u8; N]>().write(*last);
        }
    }
}
