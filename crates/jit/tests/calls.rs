//! Calls: within a module, recursively, out to Rust, through tables.

use crate::common::{finish, import, module, of_integers};
use tidemill_jit::build::{
    CallConv, InstBuilder, IntCC, MemFlagsData, Switch, Value, signature, types,
};
use tidemill_jit::{Blob, Body, FuncId, Module};

const C: CallConv = CallConv::SystemV;

#[test]
fn arithmetic() {
    let mut module = module("arithmetic");
    let square_sum = module.declare("square_sum", of_integers(C, 2));
    module
        .define(square_sum, |body| {
            let arguments = body.begin();
            let sum = body.ins().iadd(arguments[0], arguments[1]);
            let square = body.ins().imul(sum, sum);
            body.ins().return_(&[square]);
        })
        .unwrap();
    let scale = module.declare("scale", signature(C, &[types::F64; 2], &[types::F64]));
    module
        .define(scale, |body| {
            let arguments = body.begin();
            let half = body.ins().f64const(0.5);
            let product = body.ins().fma(arguments[0], arguments[1], half);
            let floor = body.ins().floor(product);
            body.ins().return_(&[floor]);
        })
        .unwrap();
    let code = finish(module).unwrap();
    let square_sum = function!(code, square_sum, fn(i64, i64) -> i64);
    let scale = function!(code, scale, fn(f64, f64) -> f64);
    for (a, b) in [(0, 0), (3, -5), (i64::MAX, 1), (1 << 40, 77)] {
        assert_eq!(square_sum(a, b), a.wrapping_add(b).wrapping_mul(a.wrapping_add(b)));
        let (a, b) = (a as f64, b as f64);
        assert_eq!(scale(a, b), a.mul_add(b, 0.5).floor());
    }
}

/// `if n < 2 { n } else { fib(n - 1) + fib(n - 2) }`
fn write_fibonacci(body: &mut Body<'_>, fibonacci: FuncId) {
    let n = body.begin()[0];
    let (small, large) = (body.create_block(), body.create_block());
    let is_small = body.ins().icmp_imm_s(IntCC::SignedLessThan, n, 2);
    body.ins().brif(is_small, small, &[], large, &[]);
    body.switch_to_block(small);
    body.ins().return_(&[n]);
    body.switch_to_block(large);
    let one_less = body.ins().iadd_imm_s(n, -1);
    let a = body.call(fibonacci, &[one_less])[0];
    let two_less = body.ins().iadd_imm_s(n, -2);
    let b = body.call(fibonacci, &[two_less])[0];
    let sum = body.ins().iadd(a, b);
    body.ins().return_(&[sum]);
}

#[test]
fn recursion() {
    let mut module = module("recursion");
    let fibonacci = module.declare("fibonacci", of_integers(C, 1));
    module.define(fibonacci, |body| write_fibonacci(body, fibonacci)).unwrap();
    let code = finish(module).unwrap();
    assert_eq!(function!(code, fibonacci, fn(i64) -> i64)(20), 6765);
}

/// Each function calls the one declared before it or, in every other module, after it: forwards
/// and backwards over many pages.
#[test]
fn calls_over_many_pages() {
    const COUNT: usize = 2000;
    for backwards in [false, true] {
        let mut module = module("chain");
        let declare = |i| (i, module.declare(format!("link_{i}"), of_integers(C, 1)));
        let chain: Vec<(usize, FuncId)> = (0..COUNT).map(declare).collect();
        for &(i, id) in &chain {
            let next = if backwards { i.checked_sub(1) } else { Some(i + 1) };
            let next = next.and_then(|next| chain.get(next));
            module
                .define(id, |body| {
                    let x = body.begin()[0];
                    let mut sum = body.ins().iadd_imm_s(x, i as i64);
                    if let Some(&(_, next)) = next {
                        sum = body.call(next, &[sum])[0];
                    }
                    body.ins().return_(&[sum]);
                })
                .unwrap();
        }
        let code = finish(module).unwrap();
        assert!(code.mapped_bytes() > COUNT * 8, "{} bytes", code.mapped_bytes());
        let first = if backwards { chain[COUNT - 1].1 } else { chain[0].1 };
        let sum = function!(code, first, fn(i64) -> i64)(7);
        assert_eq!(sum, 7 + (COUNT * (COUNT - 1) / 2) as i64);
    }
}

extern "C" fn remember(list: &mut Vec<i64>, value: i64) -> i64 {
    list.push(value);
    list.len() as i64
}

#[test]
fn rust_is_called() {
    let mut module = module("imports");
    let remember = import(&mut module, "remember", of_integers(C, 2), remember as *const ());
    let twice = module.declare("twice", of_integers(C, 2));
    module
        .define(twice, |body| {
            let arguments = body.begin();
            body.call(remember, &arguments);
            let double = body.ins().iadd(arguments[1], arguments[1]);
            let count = body.call(remember, &[arguments[0], double])[0];
            body.ins().return_(&[count]);
        })
        .unwrap();
    let code = finish(module).unwrap();
    let mut list = Vec::new();
    assert_eq!(function!(code, twice, fn(&mut Vec<i64>, i64) -> i64)(&mut list, 21), 2);
    assert_eq!(list, [21, 42]);
    assert_eq!(code.address(remember), remember_address());
    assert_eq!(code.stats().count(), 1, "what is imported is not ours");
}

fn remember_address() -> *const u8 {
    remember as *const u8
}

#[test]
fn the_library_is_called() {
    let mut module = module("library");
    let copy = module.declare("copy", signature(C, &[types::I64; 3], &[]));
    module
        .define(copy, |body| {
            let arguments = body.begin();
            let config = body.config();
            body.call_memcpy(config, arguments[0], arguments[1], arguments[2]);
            body.ins().return_(&[]);
        })
        .unwrap();
    let code = finish(module).unwrap();
    let from = *b"twelve bytes";
    let mut to = [0_u8; 12];
    function!(code, copy, fn(*mut u8, *const u8, usize) -> ())(to.as_mut_ptr(), from.as_ptr(), 12);
    assert_eq!(to, from);
}

#[test]
fn jump_tables() {
    let mut module = module("switch");
    let switch = module.declare("switch", of_integers(C, 1));
    module
        .define(switch, |body| {
            let x = body.begin()[0];
            let mut cases = Switch::new();
            let blocks: Vec<_> = (0..12).map(|_| body.create_block()).collect();
            let otherwise = body.create_block();
            for (i, &block) in blocks.iter().enumerate() {
                cases.set_entry(i as u128, block);
            }
            cases.emit(body, x, otherwise);
            for (i, block) in blocks.into_iter().chain([otherwise]).enumerate() {
                body.switch_to_block(block);
                let result = body.ins().iconst(types::I64, (i * i) as i64);
                body.ins().return_(&[result]);
            }
        })
        .unwrap();
    let code = finish(module).unwrap();
    let switch = function!(code, switch, fn(i64) -> i64);
    for x in 0..12 {
        assert_eq!(switch(x), x * x);
    }
    for x in [12, -1, i64::MIN, 1 << 32] {
        assert_eq!(switch(x), 144, "{x}");
    }
}

/// `table[index](x)`, where the blob `tables` holds the address of the table.
fn write_dispatch(body: &mut Body<'_>, tables: Value, index: Value, x: Value) {
    let constant = MemFlagsData::trusted().with_readonly();
    let pointer = body.pointer();
    let table = body.ins().load(pointer, constant, tables, 16);
    let offset = body.ins().ishl_imm_u(index, 3);
    let entry = body.ins().iadd(table, offset);
    let callee = body.ins().load(pointer, constant, entry, 0);
    let of_callee = body.import_signature(of_integers(C, 1));
    let call = body.ins().call_indirect(of_callee, callee, &[x]);
    let results = body.inst_results(call).to_vec();
    body.ins().return_(&results);
}

#[test]
fn tables_of_functions_and_blobs() {
    let mut module: Module = module("tables");
    let functions: Vec<FuncId> =
        (0..5).map(|i| module.declare(format!("times_{i}"), of_integers(C, 1))).collect();
    let mut table = Blob::new();
    for &function in &functions {
        table.function(function);
    }
    let table = module.data("table", table);
    let mut outer = Blob::new().aligned_16();
    outer.bytes(b"sixteen").align(16).data(table);
    assert_eq!(outer.len(), 24);
    let outer = module.data("outer", outer);
    let dispatch = module.declare("dispatch", of_integers(C, 2));
    module
        .define(dispatch, |body| {
            let arguments = body.begin();
            let tables = body.data_address(outer);
            write_dispatch(body, tables, arguments[0], arguments[1]);
        })
        .unwrap();
    for (i, &function) in functions.iter().enumerate() {
        module
            .define(function, |body| {
                let x = body.begin()[0];
                let product = body.ins().imul_imm_s(x, i as i64);
                body.ins().return_(&[product]);
            })
            .unwrap();
    }
    let code = finish(module).unwrap();
    let dispatch = function!(code, dispatch, fn(i64, i64) -> i64);
    for i in 0..5 {
        assert_eq!(dispatch(i, 9), 9 * i);
    }
    let address = code.data_address(outer);
    assert_eq!(address as usize % 16, 0);
    // SAFETY: the blob starts with these bytes and lives as long as the code.
    assert_eq!(unsafe { std::slice::from_raw_parts(address, 8) }, b"sixteen\0");
}

/// A module without functions is one page of nothing.
#[test]
fn nothing() {
    let code = finish(module("nothing")).unwrap();
    assert_eq!(code.mapped_bytes(), rustix::param::page_size());
    assert_eq!(code.symbolise(0), None);
    assert_eq!(code.stats().count(), 0);
}
