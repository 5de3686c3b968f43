//! Words of variables that are moved and dropped.

use crate::fault::Reason;
use crate::handle::{ComponentRef, Words};
use crate::layout::OK;
use crate::machine::Context;
use crate::machine::Worker;
use crate::program::WordKind;
use crate::words;

pub(crate) fn move_word(cx: &mut Context, from: *mut u64, to: *mut u64, position: u32) -> u32 {
    if Words(to).get(0) != 0 {
        return cx.fault(Reason::NotMovable, 0, position);
    }
    Words(to).set(0, Words(from).take(0));
    OK
}

pub(crate) fn drop_word(cx: &mut Context, word: *mut u64, kind: u32) {
    words::drop_word(cx.worker, words::kind_of(kind), Words(word));
}

/// Drops what a component's variables own. Its sub-components are ended separately.
pub(crate) fn drop_variables(worker: &mut Worker, component: ComponentRef) {
    for variable in &component.descriptor().variables {
        let word = component.word(variable.offset);
        match variable.kind {
            WordKind::Component => word.set(0, 0),
            kind => words::free_word(worker, kind, word),
        }
    }
}
