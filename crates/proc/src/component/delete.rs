//! DELETE and the end of scopes.

use super::husk;
use crate::component::terminate::wait_for;
use crate::crew;
use crate::handle::Words;
use crate::layout::OK;
use crate::machine::Context;
use crate::pieces;
use crate::words;

/// DELETE and the end of scopes: waits for the components in the words, then drops what they own.
/// Until then the words name the components, in reports.
pub(crate) fn delete_words(
    cx: &mut Context,
    all: impl Iterator<Item = (u32, Words)> + Clone,
) -> u32 {
    let free = |cx: &mut Context| {
        for (kind, word) in all.clone() {
            words::free_word(cx.worker, words::kind_of(kind), word);
        }
        OK
    };
    if cx.process.take_grant() {
        return free(cx);
    }
    if crew::is_spread(cx.worker)
        && all.clone().any(|(kind, word)| words::owns_tied(cx.worker, words::kind_of(kind), word))
    {
        return crew::later(cx);
    }
    let (mut components, mut large) = (Vec::new(), 0);
    for (kind, word) in all.clone() {
        let kind = words::kind_of(kind);
        if pieces::delete(cx.worker, cx.process, kind, word) {
            large += 1;
        } else {
            words::components_in(cx.worker, kind, word, &mut components);
        }
    }
    components.retain(|component| !husk::is_husk(*component));
    match wait_for(cx, &components, large) {
        OK => free(cx),
        status => status,
    }
}

pub(crate) fn delete(cx: &mut Context, word: *mut u64, kind: u32) -> u32 {
    delete_words(cx, std::iter::once((kind, Words(word))))
}

pub(crate) fn end_scope(cx: &mut Context, offsets: *const u32, count: u32) -> u32 {
    let frame = cx.frame;
    let function = &cx.worker.program().functions[frame.function() as usize];
    // SAFETY: the caller promises `count` offsets.
    let offsets = unsafe { std::slice::from_raw_parts(offsets, count as usize) };
    let known = offsets.iter().filter_map(|&offset| {
        let variable = function.owned.iter().find(|variable| variable.offset == offset)?;
        Some((variable.kind as u32, frame.word(offset)))
    });
    delete_words(cx, known)
}
