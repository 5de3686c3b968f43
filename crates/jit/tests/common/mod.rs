//! Shared by the tests.
#![allow(dead_code, reason = "not every test that shares this module uses all of it")]

use tidemill_jit::build::{CallConv, Signature, signature, types};
use tidemill_jit::{Code, Error, FuncId, Module, Options};

/// The function pointer of a finished function: `function!(code, id, fn(i64) -> i64)`.
#[macro_export]
macro_rules! function {
    ($code:expr, $id:expr, fn($($parameter:ty),*) -> $result:ty) => {{
        type Function = extern "C" fn($($parameter),*) -> $result;
        let address = $code.address($id);
        // SAFETY: tests declare the function with this signature and hold `code` meanwhile.
        unsafe { std::mem::transmute::<*const u8, Function>(address) }
    }};
}

/// A module that checks what is written.
pub fn module(name: &str) -> Module {
    Module::new(Options { verify: true, ..Options::named(name) }).unwrap()
}

/// The signature of a function of 64-bit integers with one result.
pub fn of_integers(convention: CallConv, parameters: usize) -> Signature {
    signature(convention, &vec![types::I64; parameters], &[types::I64])
}

/// A function of the test, of this signature.
pub fn import(module: &mut Module, name: &str, signature: Signature, at: *const ()) -> FuncId {
    // SAFETY: the tests name functions of their own, or of the library, with their signatures.
    unsafe { module.import(name, signature, at) }
}

/// The module as code.
pub fn finish(module: Module) -> Result<Code, Error> {
    // SAFETY: the functions of these tests touch only what the tests give them.
    unsafe { module.finish() }
}
