//! The functions that compiled code calls where the machine has no instruction.

use cranelift_codegen::ir::LibCall;
use tidemill_stdx::copy;

extern "C" fn ceil_f32(x: f32) -> f32 {
    x.ceil()
}
extern "C" fn ceil_f64(x: f64) -> f64 {
    x.ceil()
}
extern "C" fn floor_f32(x: f32) -> f32 {
    x.floor()
}
extern "C" fn floor_f64(x: f64) -> f64 {
    x.floor()
}
extern "C" fn trunc_f32(x: f32) -> f32 {
    x.trunc()
}
extern "C" fn trunc_f64(x: f64) -> f64 {
    x.trunc()
}
extern "C" fn nearest_f32(x: f32) -> f32 {
    x.round_ties_even()
}
extern "C" fn nearest_f64(x: f64) -> f64 {
    x.round_ties_even()
}
extern "C" fn fma_f32(x: f32, y: f32, z: f32) -> f32 {
    x.mul_add(y, z)
}
extern "C" fn fma_f64(x: f64, y: f64, z: f64) -> f64 {
    x.mul_add(y, z)
}

/// # Safety
/// As for [`copy::copy`].
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    if copy::is_long(bytes) {
        // SAFETY: the caller guarantees what it needs.
        unsafe { copy::copy(to, from, bytes) };
        return to;
    }
    // SAFETY: likewise. This call is a jump, so that short copies cost no more than the library's.
    unsafe { libc::memcpy(to.cast(), from.cast(), bytes).cast() }
}

/// The address of the function; `None` for those that our settings never use.
pub(crate) fn address(call: LibCall) -> Option<usize> {
    let function = match call {
        LibCall::CeilF32 => ceil_f32 as *const (),
        LibCall::CeilF64 => ceil_f64 as *const (),
        LibCall::FloorF32 => floor_f32 as *const (),
        LibCall::FloorF64 => floor_f64 as *const (),
        LibCall::TruncF32 => trunc_f32 as *const (),
        LibCall::TruncF64 => trunc_f64 as *const (),
        LibCall::NearestF32 => nearest_f32 as *const (),
        LibCall::NearestF64 => nearest_f64 as *const (),
        LibCall::FmaF32 => fma_f32 as *const (),
        LibCall::FmaF64 => fma_f64 as *const (),
        LibCall::Memcpy => memcpy as *const (),
        LibCall::Memset => libc::memset as *const (),
        LibCall::Memmove => libc::memmove as *const (),
        LibCall::Memcmp => libc::memcmp as *const (),
        _ => return None,
    };
    Some(function as usize)
}
