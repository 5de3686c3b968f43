//! An error of a generator has the name of the function; the module stays usable.

use crate::common::{finish, import, module, of_integers};
use tidemill_jit::build::{CallConv, InstBuilder, signature, types};
use tidemill_jit::{Error, Module};

const C: CallConv = CallConv::SystemV;

#[test]
fn types_and_counts_are_checked() {
    let mut module = module("bad");
    let f = module.declare("narrow", of_integers(C, 1));
    let error = module
        .define(f, |body| {
            let x = body.begin()[0];
            let y = body.ins().iconst(types::I32, 1);
            let sum = body.ins().iadd(x, y);
            body.ins().return_(&[sum]);
        })
        .unwrap_err();
    assert!(matches!(&error, Error::Invalid { function, .. } if function == "narrow"), "{error:?}");
    assert!(error.to_string().contains("iadd"), "{error}");
    let error = module
        .define(f, |body| {
            body.begin();
            body.ins().return_(&[]);
        })
        .unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error:?}");
    define_and_run(module, f);
}

/// After errors the same function can still be defined.
fn define_and_run(mut module: Module, f: tidemill_jit::FuncId) {
    module
        .define(f, |body| {
            let x = body.begin()[0];
            body.ins().return_(&[x]);
        })
        .unwrap();
    let code = finish(module).unwrap();
    assert_eq!(function!(code, f, fn(i64) -> i64)(8), 8);
}

#[test]
fn blocks_end() {
    let mut module = module("bad");
    let f = module.declare("open", of_integers(C, 1));
    let error = module
        .define(f, |body| {
            let x = body.begin()[0];
            let variable = body.declare_var(types::I64);
            body.def_var(variable, x);
            let next = body.create_block();
            body.ins().jump(next, &[]);
            body.switch_to_block(next);
            body.use_var(variable);
            body.ins().iconst(types::I64, 1);
        })
        .unwrap_err();
    assert_eq!(error.to_string(), "`open`: block1 does not end with a jump or a return");
    let error = module.define(f, |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "`open`: it has no block");
    let error = module
        .define(f, |body| {
            let x = body.begin()[0];
            let unused = body.create_block();
            body.append_block_param(unused, types::I8);
            body.ins().return_(&[x]);
        })
        .unwrap_err();
    assert_eq!(error.to_string(), "`open`: block1 has parameters and no instruction");
    define_and_run(module, f);
}

#[test]
fn what_the_machine_cannot_return() {
    let mut module = module("bad");
    let f = module.declare("three", signature(C, &[], &[types::I64; 9]));
    let error = module
        .define(f, |body| {
            body.begin();
            let x = body.ins().iconst(types::I64, 1);
            body.ins().return_(&[x; 9]);
        })
        .unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error:?}");
}

#[test]
fn a_function_is_defined_once() {
    let mut module = module("bad");
    let abs = import(&mut module, "abs", of_integers(C, 1), i64::abs as *const ());
    let f = module.declare("f", of_integers(C, 1));
    let error = module.define(abs, |_| unreachable!()).unwrap_err();
    assert_eq!(error.to_string(), "`abs` has a definition already");
    let mut define = || {
        module.define(f, |body| {
            let x = body.begin()[0];
            body.ins().return_(&[x]);
        })
    };
    define().unwrap();
    assert_eq!(define().unwrap_err().to_string(), "`f` has a definition already");
    module.declare("g", of_integers(C, 1));
    let error = finish(module).err().unwrap();
    assert_eq!(error.to_string(), "`g` is declared, not defined");
}
