//! Arithmetic, arrays and calls in one process: `loops`.
//!
//! Ours is `bench/cl/loops.com`, over variables of procedures, and for the cases `-component`
//! `bench/cl/loops-component.com`, over those of the component, with overflow and bounds checks.
//! Go, with bounds checks, and C (`-O2`), with neither, do the same operations in the same order,
//! so that even reals agree.

use crate::activities::Start;
use crate::extent::Extent;
use crate::measure::Measured;
use crate::report::Report;
use crate::serial::{self, Bench, Case};
use crate::{cl, tool};

const OF_PROCEDURES: &str = include_str!("../cl/loops.com");
const OF_COMPONENT: &str = include_str!("../cl/loops-component.com");

/// The numbers of cases over variables of the component begin after this one; those of the others
/// do the same.
const COMPONENT: u64 = 10;

pub const BENCH: Bench =
    Bench { name: "loops", own: &["tidemill"], measure: measure_own, memory: false };

/// Measures all cases.
///
/// # Errors
/// A contender fails, or has another result.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let case = |name, parameters: [u64; 3], expected| {
        let parameters = parameters.to_vec();
        Case { name, parameters, expected }
    };
    // Known results (checksum and flips, energy, norm), or those of C.
    let cases = if extent.small {
        [
            case("fannkuch", [1, 7, 1], 22_816),
            case("n-body", [2, 5, 1000], 169_087_605),
            case("matrix", [3, 50, 2], 2_895_965),
            case("spectral-norm", [4, 100, 10], 1_274_219_991),
            case("calls", [5, 20, 10], 67_650),
            case("fannkuch-component", [COMPONENT + 1, 7, 1], 22_816),
            case("n-body-component", [COMPONENT + 2, 5, 1000], 169_087_605),
            case("matrix-component", [COMPONENT + 3, 50, 2], 2_895_965),
        ]
    } else {
        [
            case("fannkuch", [1, 10, 1], 7_319_638),
            case("n-body", [2, 5, 2_000_000], 169_026_285),
            case("matrix", [3, 300, 5], 3_807_615_761),
            case("spectral-norm", [4, 1000, 5], 1_274_224_148),
            case("calls", [5, 38, 1], 39_088_169),
            case("fannkuch-component", [COMPONENT + 1, 10, 1], 7_319_638),
            case("n-body-component", [COMPONENT + 2, 5, 2_000_000], 169_026_285),
            case("matrix-component", [COMPONENT + 3, 300, 5], 3_807_615_761),
        ]
    };
    serial::run(&BENCH, &cases, || vec![c()], extent, report)
}

fn c() -> Result<Start, String> {
    let program = tool::target("c")?.join("loops");
    tool::cc(&program, "c/loops.c", &["-lm"]).map_err(|reason| format!("c: {reason}"))?;
    Ok(Start::new("c", &program, &[], Vec::new()))
}

fn measure_own(who: &str, parameters: &[u64]) -> Result<Measured, String> {
    match who {
        "tidemill" => {
            let source = if parameters[0] > COMPONENT { OF_COMPONENT } else { OF_PROCEDURES };
            cl::run(source, parameters, cl::Options { checkpoints: true, workers: 1 })
        }
        _ => Err(format!("nobody is called {who}")),
    }
}
