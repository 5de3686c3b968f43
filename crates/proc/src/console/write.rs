//! The procedures that write.

use crate::machine::Context;
use crate::text;

pub(crate) fn write(cx: &mut Context, bytes: &[u8]) {
    if cx.worker.machine.desk.is_some() {
        crate::crew::write(cx.worker, bytes);
    } else {
        cx.worker.machine.console.write(bytes);
    }
}

pub(crate) fn write_text(cx: &mut Context, text: u64) {
    write(cx, text::shown(text));
}

pub(crate) fn write_bytes(cx: &mut Context, bytes: *const u8, length: u64) {
    // SAFETY: `length` bytes of the program's constants begin at `bytes`.
    write(cx, unsafe { std::slice::from_raw_parts(bytes, length as usize) });
}

pub(crate) fn write_integer(cx: &mut Context, value: i64) {
    write(cx, value.to_string().as_bytes());
}

pub(crate) fn write_real(cx: &mut Context, value: f64) {
    write(cx, text::show_real(value).as_bytes());
}

pub(crate) fn write_character(cx: &mut Context, value: u64) {
    write(cx, &[value as u8]);
}

pub(crate) fn write_boolean(cx: &mut Context, value: u64) {
    write(cx, text::show_boolean(value).as_bytes());
}

pub(crate) fn write_hex(cx: &mut Context, value: i64) {
    write(cx, text::show_hex(value).as_bytes());
}

pub(crate) fn write_line(cx: &mut Context) {
    write(cx, b"\n");
}
