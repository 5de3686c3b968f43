//! The machine code of components, listed.

use std::fmt::Write;

use tidemill_cl::compile::{Checkpoints, Choices, compile};

use crate::error::Error;
use crate::program::Program;

/// The machine code of every function, as compiled for a single loop, followed by sizes and compile
/// times.
///
/// # Errors
/// If the program has errors, or the code generator does not support this machine.
pub fn listing(program: &Program) -> Result<String, Error> {
    let components = &program.components;
    let ir = components.program.as_ref().ok_or_else(|| Error::program("the program has errors"))?;
    let choices =
        Choices { checkpoints: Checkpoints::Flag, several: false, listing: true, observed: false };
    let compiled = compile(ir, &program.sources, components.files, &choices)
        .map_err(|error| Error::Program(format!("no code can be made: {error}")))?;
    let mut text = String::new();
    for (_, id) in &compiled.functions {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", compiled.code.listing(*id).unwrap_or_default());
    }
    text.push_str(&compiled.code.report());
    text.push_str(
        "for one loop; with several, code of messages also asks where the other side is\n",
    );
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::GREETING;
    use crate::program::LoadOptions;

    fn load() -> Program {
        Program::of_text("greet.com", GREETING, &LoadOptions::default())
    }

    #[test]
    fn every_function_is_listed() {
        let listing = listing(&load()).expect("code");
        for function in ["Greeter.Greet", "Main.BEGIN"] {
            assert!(listing.matches(function).count() >= 2, "{listing}");
        }
    }
}
