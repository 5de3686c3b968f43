//! The `tidemill` command. All of it is in the library beside it, which compiles while the crates
//! below are still being optimised.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    tidemill_cli::main()
}
