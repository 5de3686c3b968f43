//! Code is never writable, and is unmapped with its owner.
//!
//! One test, for the mappings of the process belong to all threads of it.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::{finish, import, module, of_integers};
use tidemill_jit::build::{CallConv, InstBuilder};
use tidemill_jit::{Blob, Code, DataId, FuncId};

struct Mapping {
    start: usize,
    end: usize,
    access: String,
}

fn mappings() -> Vec<Mapping> {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mapping = |line: &str| {
        let (range, rest) = line.split_once(' ').unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        Mapping { start: number(start), end: number(end), access: rest[..4].to_owned() }
    };
    text.lines().map(mapping).collect()
}

fn access(address: usize) -> Option<String> {
    let found = mappings().into_iter().find(|map| (map.start..map.end).contains(&address));
    found.map(|map| map.access)
}

/// How often the code below found pages that can be written and executed.
static BOTH: AtomicUsize = AtomicUsize::new(0);

extern "C" fn look(x: i64) -> i64 {
    let both = mappings().iter().filter(|map| map.access.starts_with("rwx")).count();
    // Relaxed: written and read by one thread.
    BOTH.fetch_add(both, Ordering::Relaxed);
    x
}

fn example() -> (Code, FuncId, DataId) {
    let mut module = module("memory");
    let look = import(&mut module, "look", of_integers(CallConv::SystemV, 1), look as *const ());
    let f = module.declare("f", of_integers(CallConv::SystemV, 1));
    module
        .define(f, |body| {
            let x = body.begin()[0];
            let x = body.call(look, &[x])[0];
            body.ins().return_(&[x]);
        })
        .unwrap();
    let mut blob = Blob::new();
    blob.bytes(&[7; 10_000]).align(8).function(f);
    let blob = module.data("blob", blob);
    (finish(module).unwrap(), f, blob)
}

#[test]
fn mappings_come_and_go() {
    let (code, f, blob) = example();
    let (function, data) = (code.address(f) as usize, code.data_address(blob) as usize);
    let page = rustix::param::page_size();
    assert_eq!(code.mapped_bytes(), page + 10_008_usize.next_multiple_of(page));
    assert_eq!(access(function).as_deref(), Some("r-xp"));
    assert_eq!(access(data).as_deref(), Some("r--p"));
    assert_eq!(access(data + 10_000).as_deref(), Some("r--p"));
    assert_eq!(function!(code, f, fn(i64) -> i64)(3), 3);
    assert_eq!(BOTH.load(Ordering::Relaxed), 0);
    drop(code);
    assert_ne!(access(function).as_deref(), Some("r-xp"));

    let executable = || mappings().iter().filter(|map| map.access.contains('x')).count();
    let before = executable();
    let many: Vec<_> = (0..100).map(|_| example().0).collect();
    assert!(executable() >= before + 100, "data stands between the code of two modules");
    drop(many);
    assert_eq!(executable(), before);
}
