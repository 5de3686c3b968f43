//! Calls that do not return here: constant stack, a pinned register, and the way in from Rust.

use crate::common::{finish, import, module, of_integers};
use tidemill_jit::build::{CallConv, InstBuilder, IntCC, signature, types};
use tidemill_jit::{Body, Code, FuncId, Module, Options};

const C: CallConv = CallConv::SystemV;
const TAIL: CallConv = CallConv::Tail;

/// `if n == 0 { sum } else { become other(n - 1, sum + n) }`
fn write_step(body: &mut Body<'_>, other: FuncId, indirect: bool) {
    let arguments = body.begin();
    let (n, sum) = (arguments[0], arguments[1]);
    let (done, more) = (body.create_block(), body.create_block());
    body.ins().brif(n, more, &[], done, &[]);
    body.switch_to_block(done);
    body.ins().return_(&[sum]);
    body.switch_to_block(more);
    let sum = body.ins().iadd(sum, n);
    let n = body.ins().iadd_imm_s(n, -1);
    if indirect {
        let address = body.function_address(other);
        let of_other = body.import_signature(of_integers(TAIL, 2));
        body.ins().return_call_indirect(of_other, address, &[n, sum]);
    } else {
        let other = body.function(other);
        body.ins().return_call(other, &[n, sum]);
    }
}

/// Ten million frames would not fit any stack.
#[test]
fn tail_calls_need_no_stack() {
    let mut module = module("tail");
    let even = module.declare("even", of_integers(TAIL, 2));
    let odd = module.declare("odd", of_integers(TAIL, 2));
    module.define(even, |body| write_step(body, odd, false)).unwrap();
    module.define(odd, |body| write_step(body, even, true)).unwrap();
    let enter = module.enter("enter", even).unwrap();
    let code = finish(module).unwrap();
    let sum = function!(code, enter, fn(i64, i64) -> i64);
    assert_eq!(sum(10_000_000, 1), 10_000_000 * 10_000_001 / 2 + 1);
}

/// A module whose functions read and move the pinned register.
struct Pinned {
    code: Code,
    /// Entered from Rust: the sum of the memory from the pinned address to a zero.
    sum: FuncId,
    /// Of the C convention and not an entry: leaves 5 in the register.
    careless: FuncId,
}

fn pinned_module() -> Pinned {
    let options = Options { pinned_register: true, verify: true, ..Options::named("pinned") };
    let mut module = Module::new(options).unwrap();
    let sum = module.declare("sum", of_integers(TAIL, 1));
    module
        .define(sum, |body| {
            let sum = body.begin()[0];
            let (done, more) = (body.create_block(), body.create_block());
            let at = body.ins().get_pinned_reg(types::I64);
            let word =
                body.ins().load(types::I64, tidemill_jit::build::MemFlagsData::trusted(), at, 0);
            let at_end = body.ins().icmp_imm_s(IntCC::Equal, word, 0);
            body.ins().brif(at_end, done, &[], more, &[]);
            body.switch_to_block(done);
            body.ins().return_(&[sum]);
            body.switch_to_block(more);
            let next = body.ins().iadd_imm_s(at, 8);
            body.ins().set_pinned_reg(next);
            let sum_so_far = body.ins().iadd(sum, word);
            let again = body.function(FuncId::new(0));
            body.ins().return_call(again, &[sum_so_far]);
        })
        .unwrap();
    let careless = module.declare("careless", signature(C, &[], &[]));
    module
        .define(careless, |body| {
            body.begin();
            let five = body.ins().iconst(types::I64, 5);
            body.ins().set_pinned_reg(five);
            body.ins().return_(&[]);
        })
        .unwrap();
    let sum = module.enter("enter_sum", sum).unwrap();
    Pinned { code: finish(module).unwrap(), sum, careless }
}

#[test]
fn the_pinned_register_holds_what_was_given() {
    let pinned = pinned_module();
    let sum = function!(pinned.code, pinned.sum, fn(*const i64, i64) -> i64);
    assert_eq!(sum([1, 2, 3, 4, 0].as_ptr(), 100), 110);
    assert_eq!(sum([0].as_ptr(), 1), 1);
}

/// Calls the function with a mark in the register that the C convention preserves, and gives what
/// is in it afterwards.
#[cfg(target_arch = "x86_64")]
fn register_after(function: *const u8, first: *const i64) -> u64 {
    let mut register = 0x1234_5678_9abc_def0_u64;
    // SAFETY: the function is of the C convention, takes these two arguments at most, and may
    // besides change r15, which is declared here.
    unsafe {
        std::arch::asm!(
            "call {function}",
            function = in(reg) function,
            in("rdi") first,
            in("rsi") 0,
            inout("r15") register,
            clobber_abi("C"),
        );
    }
    register
}

#[cfg(target_arch = "x86_64")]
#[test]
fn an_entry_restores_the_register() {
    let pinned = pinned_module();
    let words = [1, 2, 0];
    let address = pinned.code.address(pinned.sum);
    assert_eq!(register_after(address, words.as_ptr()), 0x1234_5678_9abc_def0);
    // Without an entry it would not be: no function restores the register.
    assert_eq!(register_after(pinned.code.address(pinned.careless), words.as_ptr()), 5);
}

/// Rust in between: the register survives calls out, and calls out that enter again.
#[test]
fn calls_out_and_in_again() {
    extern "C" fn again(pinned: &Pinned, words: *const i64) -> i64 {
        function!(pinned.code, pinned.sum, fn(*const i64, i64) -> i64)(words, 0)
    }
    let inner = pinned_module();
    let options = Options { pinned_register: true, verify: true, ..Options::named("outer") };
    let mut module = Module::new(options).unwrap();
    let again = import(&mut module, "again", of_integers(C, 2), again as *const ());
    let outer = module.declare("outer", of_integers(TAIL, 2));
    module
        .define(outer, |body| {
            let arguments = body.begin();
            let sum = body.call(again, &arguments)[0];
            let pinned = body.ins().get_pinned_reg(types::I64);
            let sum = body.ins().iadd(sum, pinned);
            body.ins().return_(&[sum]);
        })
        .unwrap();
    let enter = module.enter("enter", outer).unwrap();
    let code = finish(module).unwrap();
    let outer = function!(code, enter, fn(i64, &Pinned, *const i64) -> i64);
    assert_eq!(outer(1000, &inner, [20, 22, 0].as_ptr()), 1042);
}
