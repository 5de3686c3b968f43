//! The way in from Rust, for functions that Rust cannot call.
//!
//! Two things keep Rust out: it has no name for the calling convention of tail calls, and a module
//! with a pinned register (`r15` on x86-64, `x21` on AArch64) treats that register as its own
//! everywhere, while the C convention promises Rust that it is preserved. An entry is a function of
//! the C convention in between:
//!
//! ```text
//!   saved = pinned;  pinned = first argument;  results = call(the others)
//!   pinned = saved;  return results
//! ```
//!
//! The way out needs nothing: Rust functions restore the register before they return, and they
//! see the value of the generated code, which they do not read. One that enters again gets a new
//! pinned value, and on return the old is back. A function of the C convention in such a module
//! may be called without an entry if neither it nor what it calls sets the register.

use std::sync::Arc;

use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature};
use cranelift_codegen::isa::CallConv;

use crate::error::Error;
use crate::module::Module;
use crate::symbol::FuncId;

impl Module {
    /// Declares and defines an entry to `inner`: an `extern "C"` function with its parameters and
    /// results; in a module with a pinned register, a pointer-sized parameter before them is what
    /// the register holds inside.
    ///
    /// # Errors
    /// The C convention cannot return all results of `inner`.
    pub fn enter(&mut self, name: impl Into<Arc<str>>, inner: FuncId) -> Result<FuncId, Error> {
        let pinned = self.options.pinned_register;
        let pointer = self.object.symbols.config.pointer_type();
        let of_inner = self.signature(inner);
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend(pinned.then(|| AbiParam::new(pointer)));
        signature.params.extend_from_slice(&of_inner.params);
        signature.returns.clone_from(&of_inner.returns);
        let entry = self.declare(name, signature);
        self.define(entry, |body| {
            let arguments = body.begin();
            let results = if pinned {
                let saved = body.ins().get_pinned_reg(pointer);
                body.ins().set_pinned_reg(arguments[0]);
                let results = body.call(inner, &arguments[1..]).to_vec();
                body.ins().set_pinned_reg(saved);
                results
            } else {
                body.call(inner, &arguments).to_vec()
            };
            body.ins().return_(&results);
        })?;
        Ok(entry)
    }
}
