//! Functions from outside, which code calls for what is rare.

use tidemill_jit::build::{CallConv, signature, types};
use tidemill_jit::{FuncId, Module};

use super::blueprint::Helpers;

/// Functions from outside, as the module knows them.
pub(super) struct Imports {
    pub pulled: FuncId,
    pub failed: FuncId,
    pub oldest: FuncId,
    pub waits: FuncId,
    pub notify: FuncId,
    pub free: FuncId,
    pub no_packet: FuncId,
    pub grow: FuncId,
    pub duplicate: FuncId,
    pub copy: FuncId,
    pub clear: FuncId,
    pub sum: FuncId,
    pub prepend: FuncId,
    pub find: FuncId,
    pub ahead: FuncId,
    pub insert: FuncId,
    pub delete: FuncId,
}

impl Imports {
    pub(super) fn new(module: &mut Module, helpers: &Helpers) -> Imports {
        let mut import = |name: &str, address: usize, parameters: &[_], results: &[_]| {
            let signature = signature(CallConv::SystemV, parameters, results);
            let address = std::ptr::with_exposed_provenance(address);
            // SAFETY: the helpers of a blueprint are functions of these signatures.
            unsafe { module.import(name, signature, address) }
        };
        let (wide, narrow, byte) = (types::I64, types::I32, types::I8);
        Imports {
            pulled: import("engine.pulled", helpers.pulled, &[wide, narrow, narrow], &[]),
            failed: import("engine.failed", helpers.failed, &[wide, narrow], &[]),
            oldest: import("engine.oldest", helpers.oldest, &[wide], &[]),
            waits: import("engine.waits", helpers.waits, &[wide], &[byte]),
            notify: import("link.notify", helpers.notify, &[wide], &[]),
            free: import("packet.free", helpers.free, &[wide], &[]),
            no_packet: import("app.no_packet", helpers.no_packet, &[wide], &[]),
            grow: import("pool.grow", helpers.grow, &[wide], &[wide]),
            duplicate: import("packet.duplicate", helpers.duplicate, &[wide], &[wide]),
            copy: import("bytes.copy", helpers.copy, &[wide, wide, wide], &[]),
            clear: import("bytes.clear", helpers.clear, &[wide, wide], &[]),
            sum: import("bytes.sum", helpers.sum, &[wide, wide], &[wide]),
            prepend: import("packet.prepend", helpers.prepend, &[wide, wide], &[wide]),
            find: import("table.find", helpers.find, &[wide], &[wide]),
            ahead: import("table.ahead", helpers.ahead, &[wide, wide], &[]),
            insert: import("table.insert", helpers.insert, &[wide, wide], &[wide]),
            delete: import("table.delete", helpers.delete, &[wide, wide], &[]),
        }
    }
}
