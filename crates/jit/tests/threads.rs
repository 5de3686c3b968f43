//! Compiling may happen on any thread, and gives the same bytes.

use crate::common::{finish, of_integers};
use tidemill_jit::build::{CallConv, InstBuilder};
use tidemill_jit::{Code, Draft, FuncId, Module, Options};

const COUNT: usize = 40;

/// A module of functions that are written and not compiled.
fn drafts() -> (Module, Vec<FuncId>, Vec<Draft>) {
    let options = Options { listing: true, verify: true, ..Options::named("threads") };
    let mut module = Module::new(options).unwrap();
    let signature = of_integers(CallConv::SystemV, 1);
    let declare = |i| module.declare(format!("f{i}"), signature.clone());
    let ids: Vec<FuncId> = (0..COUNT).map(declare).collect();
    let write = |i: usize| {
        module.draft(ids[i], |body| {
            let mut x = body.begin()[0];
            for (k, &earlier) in ids[..i].iter().enumerate() {
                x = body.ins().imul_imm_s(x, k as i64 | 1);
                x = body.call(earlier, &[x])[0];
            }
            let x = body.ins().iadd_imm_s(x, i as i64);
            body.ins().return_(&[x]);
        })
    };
    let drafts = (0..COUNT).map(write).collect::<Result<_, _>>().unwrap();
    (module, ids, drafts)
}

fn listings(code: &Code, ids: &[FuncId]) -> Vec<String> {
    ids.iter().map(|&id| code.listing(id).unwrap()).collect()
}

/// Code may be made on one thread, run on many and freed on any.
#[test]
fn code_belongs_to_no_thread() {
    fn shared<T: Send + Sync>(_: &T) {}
    let (mut module, ids, drafts) = drafts();
    let mut compiler = module.compiler();
    for draft in drafts {
        module.add(compiler.compile(draft).unwrap()).unwrap();
    }
    let code = std::thread::spawn(move || finish(module).unwrap()).join().unwrap();
    shared(&code);
    assert_eq!(function!(code, ids[0], fn(i64) -> i64)(5), 5);
    std::thread::spawn(move || drop(code)).join().unwrap();
}

#[test]
fn threads_compile_the_same() {
    let (mut module, ids, drafts_here) = drafts();
    assert!(drafts_here[3].to_string().starts_with("; f3\nfunction u0:3"), "{}", drafts_here[3]);
    let mut compiler = module.compiler();
    for draft in drafts_here {
        let compiled = compiler.compile(draft).unwrap();
        module.add(compiled).unwrap();
    }
    let here = finish(module).unwrap();

    let (mut module, ids_there, mut drafts_there) = drafts();
    assert_eq!(ids, ids_there);
    let second = drafts_there.split_off(COUNT / 2);
    let workers: Vec<_> = [second, drafts_there]
        .into_iter()
        .map(|drafts| {
            let mut compiler = module.compiler();
            std::thread::spawn(move || {
                drafts.into_iter().map(|draft| compiler.compile(draft)).collect::<Vec<_>>()
            })
        })
        .collect();
    for worker in workers {
        for compiled in worker.join().unwrap() {
            module.add(compiled.unwrap()).unwrap();
        }
    }
    let there = finish(module).unwrap();
    assert_eq!(listings(&here, &ids), listings(&there, &ids));
    let (f, g) =
        (function!(here, ids[9], fn(i64) -> i64), function!(there, ids[9], fn(i64) -> i64));
    assert_eq!(f(3), g(3));
}
