//! No decode loop makes a system call.
//!
//! A forked process enters the strictest seccomp mode of Linux: any call but `read`, `write`,
//! `exit` and `sigreturn` kills it. Then it decodes, many times, by both decoders. It reaches its
//! `exit` only if it has made no system call before, not even for memory.

use std::fmt::Write;

use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{Decoder, FieldId, Native, Sink, SinkResult, Tables, Wants};

#[derive(Default)]
struct Count(u64);

impl<'a> Sink<'a> for Count {
    fn i32(&mut self, _: FieldId, value: i32) -> SinkResult {
        self.0 += value as u64;
        Ok(())
    }

    fn string(&mut self, _: FieldId, piece: &'a str) -> SinkResult {
        self.0 += piece.len() as u64;
        Ok(())
    }
}

/// Exit codes of the child.
const FINE: i32 = 0;
const WRONG: i32 = 3;
const NO_FILTER: i32 = 4;

#[test]
fn decoding_makes_no_system_call() {
    let mut text = "syntax = \"proto3\";\nmessage M {\n  repeated M list = 1;\n".to_owned();
    writeln!(text, "  int32 number = 2;\n  string name = 3;\n  repeated int32 many = 4;\n}}")
        .unwrap();
    let schema = compile(&["a.proto"], &Texts::from_iter([("a.proto", text)])).schema.unwrap();
    let message = schema.message_by_name("M").unwrap();
    let tables = Tables::new(&schema);
    let native = Native::compile(&schema, &tables, Wants::ALL).unwrap();
    native.prepare(message).unwrap();
    let table = Decoder::with(&schema, &tables);
    let inner = b"\x0a\x07\x10\x2a\x1a\x03Ann\x22\x03\x01\x02\x03\x0a\x00";
    let bytes = inner.repeat(20);
    let expected = 20 * (42 + 3 + 6);
    // SAFETY: the child has one thread and calls nothing that takes locks or memory.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the arguments are numbers.
        let filter = unsafe { libc::prctl(libc::PR_SET_SECCOMP, 1) };
        let mut code = if filter == 0 { FINE } else { NO_FILTER };
        for _ in 0..1000 {
            for decoder in [table, table.native(&native)] {
                let mut count = Count::default();
                let result = decoder.decode(message, &bytes, &mut count);
                if result.is_err() || count.0 != expected {
                    code = WRONG;
                }
            }
        }
        // SAFETY: the call ends the only thread, and with it the process.
        unsafe { libc::syscall(libc::SYS_exit, code) };
    }
    let mut status = 0;
    // SAFETY: the call waits for the child and writes its status to a valid address.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child);
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == NO_FILTER {
        println!("skipped: this system has no such filter");
        return;
    }
    let fine = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == FINE;
    assert!(fine, "status {status:#x}: 9 is a system call, 0x300 a wrong result");
}
