//! Built-in functions on numbers. Their bits are the same on every machine: they come from `libm`.

use crate::fault::Reason;
use crate::layout::OK;
use crate::machine::Context;

pub(crate) fn random(cx: &mut Context, low: i64, high: i64, position: u32) -> u32 {
    if low > high {
        return cx.fault(Reason::EmptyRange, 0, position);
    }
    let span = high.wrapping_sub(low) as u64;
    let drawn = cx.worker.machine.random.range(0..=span);
    cx.frame.set_result(low.wrapping_add(drawn as i64) as u64);
    OK
}

macro_rules! functions {
    ($($name:ident = $function:path;)+) => {
        $(pub(crate) fn $name(_: &mut Context, x: f64) -> f64 {
            $function(x)
        })+
    };
}

functions! {
    sin = libm::sin;
    cos = libm::cos;
    tan = libm::tan;
    arcsin = libm::asin;
    arccos = libm::acos;
    arctan = libm::atan;
    sqrt = libm::sqrt;
}
