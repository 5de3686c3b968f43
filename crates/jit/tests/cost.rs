//! What compiling costs: the time of an empty module and of many small functions.
//!
//! `cargo test --profile dist -p tidemill-jit --test it cost -- --include-ignored --nocapture`
//! prints it; `release` does not optimise the compiler.

use std::time::Instant;

use crate::common::{finish, of_integers};
use tidemill_jit::build::{CallConv, InstBuilder, IntCC};
use tidemill_jit::{FuncId, Level, Module, Options};

/// Functions like small rules: a few tests, a sum, a way out.
fn compile(count: usize, optimise: Level) -> f64 {
    let start = Instant::now();
    let options = Options { optimise, verify: false, ..Options::named("cost") };
    let mut module = Module::new(options).unwrap();
    let mut ids: Vec<FuncId> = Vec::new();
    for i in 0..count {
        let id = module.declare(format!("f{i}"), of_integers(CallConv::SystemV, 2));
        module
            .define(id, |body| {
                let arguments = body.begin();
                let (small, large) = (body.create_block(), body.create_block());
                let limit = i as i64 + 10;
                let less = body.ins().icmp_imm_s(IntCC::SignedLessThan, arguments[0], limit);
                body.ins().brif(less, small, &[], large, &[]);
                body.switch_to_block(small);
                let sum = body.ins().iadd(arguments[0], arguments[1]);
                body.ins().return_(&[sum]);
                body.switch_to_block(large);
                let product = body.ins().imul(arguments[0], arguments[1]);
                let rest = body.ins().iadd_imm_s(product, limit);
                body.ins().return_(&[rest]);
            })
            .unwrap();
        ids.push(id);
    }
    let code = finish(module).unwrap();
    let ms = start.elapsed().as_secs_f64() * 1e3;
    for (i, &id) in ids.iter().enumerate() {
        let f = function!(code, id, fn(i64, i64) -> i64);
        assert_eq!((f(1, 2), f(1 << 20, 3)), (3, (3 << 20) + i as i64 + 10));
    }
    let bytes: usize = code.stats().map(|stats| stats.bytes).sum();
    println!("{count} functions, {optimise:?}: {ms:.2} ms, {bytes} bytes");
    ms
}

#[test]
fn small() {
    compile(20, Level::Speed);
    compile(20, Level::None);
}

#[test]
#[ignore = "a measurement"]
fn large() {
    for round in 0..3 {
        let start = Instant::now();
        let module = Module::new(Options::named("empty")).unwrap();
        let made = start.elapsed();
        drop(finish(module).unwrap());
        println!("round {round}: module made in {made:?}, finished after {:?}", start.elapsed());
        compile(1, Level::Speed);
        compile(1000, Level::Speed);
        compile(1000, Level::None);
    }
}
