//! One function from its representation to bytes, apart from everything else.
//!
//! A [`Draft`] becomes a [`Compiled`]; neither knows the other functions, and both may cross
//! threads, so several threads may use a [`Compiler`] each.

use std::sync::Arc;
use std::time::Instant;

use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::Function;
use cranelift_codegen::print_errors::pretty_verifier_error;
use cranelift_codegen::{CodegenError, CompiledCode, Context, FinalizedRelocTarget};

use crate::constants;
use crate::error::Error;
use crate::options::Machine;
use crate::symbol::{FuncId, Target};

/// A function that is written and not compiled.
pub struct Draft {
    pub(crate) id: FuncId,
    pub(crate) name: Arc<str>,
    pub(crate) function: Function,
}

impl std::fmt::Display for Draft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "; {}\n{}", self.name, self.function.display())
    }
}

/// A place in the bytes of a function where an address belongs.
pub(crate) struct Relocation {
    pub offset: u32,
    pub kind: Reloc,
    pub target: Target,
    pub addend: i64,
}

/// The bytes from `start` to `end` of a function come from one place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first byte, from the start of the function.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
    /// The argument of [`Body::source`](crate::Body::source).
    pub source: u32,
}

/// A function that is compiled and not linked.
pub struct Compiled {
    pub(crate) id: FuncId,
    pub(crate) bytes: Vec<u8>,
    pub(crate) alignment: usize,
    pub(crate) relocations: Vec<Relocation>,
    pub(crate) spans: Vec<Span>,
    /// The text, and what the names in it mean in their order.
    pub(crate) listing: Option<(String, Vec<Target>)>,
    pub(crate) compile_ns: u64,
}

/// Compiles functions of one module, one after the other.
pub struct Compiler {
    machine: Machine,
    listing: bool,
    /// Kept for its memory.
    context: Context,
}

impl Compiler {
    pub(crate) fn new(machine: Machine, listing: bool) -> Compiler {
        Compiler { machine, listing, context: Context::new() }
    }

    /// Compiles a function.
    ///
    /// # Errors
    /// An error of the generator, or something that the machine does not support.
    pub fn compile(&mut self, draft: Draft) -> Result<Compiled, Error> {
        // What compiling costs is reported and decides nothing, so it is no matter of a host.
        let start = Instant::now();
        self.context.clear();
        self.context.func = draft.function;
        self.context.set_disasm(self.listing);
        if let Err(error) = self.generate() {
            return Err(explain(&draft.name, &self.context.func, error));
        }
        let code = self.context.take_compiled_code().ok_or_else(|| Error::Unsupported {
            function: draft.name.to_string(),
            text: "code, and got none".to_owned(),
        })?;
        let mut compiled = self.collect(draft.id, &draft.name, code)?;
        compiled.compile_ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(compiled)
    }

    fn generate(&mut self) -> Result<(), CodegenError> {
        let plane = &mut ControlPlane::default();
        if let Some(optimiser) = &self.machine.optimiser {
            self.context.optimize(&**optimiser, plane)?;
            constants::localise(&mut self.context.func);
        }
        let generated = self.context.compile(&*self.machine.generator, plane);
        generated.map(drop).map_err(|error| error.inner)
    }

    fn collect(&self, id: FuncId, name: &str, code: CompiledCode) -> Result<Compiled, Error> {
        let names = self.context.func.params.user_named_funcs();
        let relocation = |from: &cranelift_codegen::FinalizedMachReloc| {
            let target = match &from.target {
                FinalizedRelocTarget::ExternalName(name) => {
                    Target::of(name, |own| names[own].clone())
                }
                FinalizedRelocTarget::Func(offset) => Some(Target::Itself(*offset)),
            };
            let target = target.ok_or_else(|| Error::Unsupported {
                function: name.to_owned(),
                text: format!("{:?}", from.target),
            })?;
            Ok(Relocation { offset: from.offset, kind: from.kind, target, addend: from.addend })
        };
        let spans = code.buffer.get_srclocs_sorted().iter().filter(|span| !span.loc.is_default());
        let listing = code.vcode.as_ref().map(|text| {
            let targets = names.values().filter_map(Target::of_user).collect();
            (text.clone(), targets)
        });
        Ok(Compiled {
            id,
            bytes: code.code_buffer().to_vec(),
            alignment: code.buffer.alignment as usize,
            relocations: code.buffer.relocs().iter().map(relocation).collect::<Result<_, _>>()?,
            spans: spans
                .map(|span| Span { start: span.start, end: span.end, source: span.loc.bits() })
                .collect(),
            listing,
            compile_ns: 0,
        })
    }
}

fn explain(name: &str, written: &Function, error: CodegenError) -> Error {
    let function = name.to_owned();
    match error {
        CodegenError::Verifier(errors) => {
            Error::Invalid { function, text: pretty_verifier_error(written, None, errors) }
        }
        CodegenError::ImplLimitExceeded | CodegenError::CodeTooLarge => {
            Error::TooLarge { function }
        }
        CodegenError::Unsupported(text) => Error::Unsupported { function, text },
        other => Error::Invalid { function, text: other.to_string() },
    }
}
