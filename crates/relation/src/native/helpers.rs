//! The functions of [`frame`](super::frame) as generated code knows them.

use tidemill_jit::build::{CallConv, Type, signature, types};
use tidemill_jit::{FuncId, Module};

use super::frame;

const ADDRESS: Type = types::I64;
const NUMBER: Type = types::I32;

/// The functions that the code calls.
#[derive(Clone, Copy)]
pub(super) struct Helpers {
    pub(super) interpret_all: FuncId,
    pub(super) interpret_rest: FuncId,
    pub(super) interpret_row: FuncId,
    pub(super) interpret_step: FuncId,
    pub(super) evaluate: FuncId,
    pub(super) function: FuncId,
    pub(super) binary: FuncId,
    pub(super) unary: FuncId,
    pub(super) ring: FuncId,
    pub(super) truth: FuncId,
    pub(super) equal: FuncId,
    pub(super) read: FuncId,
    pub(super) only: FuncId,
    pub(super) first: FuncId,
    pub(super) next: FuncId,
    pub(super) load: FuncId,
    pub(super) derive: FuncId,
    pub(super) group: FuncId,
    pub(super) gather: FuncId,
    pub(super) conclude: FuncId,
}

impl Helpers {
    pub(super) fn import(module: &mut Module) -> Helpers {
        let mut import = |name: &str, takes: &[Type], gives: &[Type], address: *const ()| {
            let shape = signature(CallConv::SystemV, takes, gives);
            // SAFETY: each of the functions below is `extern "C"` and has the signature beside it.
            unsafe { module.import(name, shape, address) }
        };
        let (a, n) = (ADDRESS, NUMBER);
        Helpers {
            interpret_all: import("interpret_all", &[a], &[], frame::interpret_all as *const ()),
            interpret_rest: import(
                "interpret_rest",
                &[a, n],
                &[],
                frame::interpret_rest as *const (),
            ),
            interpret_row: import("interpret_row", &[a, n], &[], frame::interpret_row as *const ()),
            interpret_step: import(
                "interpret_step",
                &[a, n],
                &[n],
                frame::interpret_step as *const (),
            ),
            evaluate: import(
                "evaluate",
                &[a, a, a],
                &[n],
                frame::interpret_expression as *const (),
            ),
            function: import("function", &[a, n, a, n, a], &[n], frame::function as *const ()),
            binary: import("binary", &[a, n, a, a, a], &[n], frame::binary as *const ()),
            unary: import("unary", &[a, n, a, a], &[n], frame::unary as *const ()),
            ring: import("ring", &[a, a, a, n], &[n], frame::ring as *const ()),
            truth: import("truth", &[a], &[n], frame::truth as *const ()),
            equal: import("equal", &[a, a], &[n], frame::equal as *const ()),
            read: import("read", &[a, a, a], &[a], frame::read as *const ()),
            only: import("only", &[a, n, a], &[n], frame::only as *const ()),
            first: import("first", &[a, n, n, a], &[n], frame::first as *const ()),
            next: import("next", &[a, n, n], &[n], frame::next as *const ()),
            load: import("load", &[a, n, n, a], &[], frame::load as *const ()),
            derive: import("derive", &[a], &[], frame::derive as *const ()),
            group: import("group", &[a], &[n], frame::group as *const ()),
            gather: import("gather", &[a, n], &[], frame::gather as *const ()),
            conclude: import("conclude", &[a], &[], frame::conclude as *const ()),
        }
    }
}
