//! Native code for every function of a program.
//!
//! A function that may suspend is a state machine over its heap frame, as the run-time's layout
//! describes: it starts at the frame's resume point; where an operation suspends it keeps the live
//! registers and returns; resumed, it executes the operation again and finds it granted. A
//! function that cannot suspend is an ordinary native function. One that waits for nothing, and is
//! suspended only to let others run, has both forms: it gets a frame when that happens ([`lazy`]).
//!
//! ```text
//! start -- resume point 0 --> block 0 ... send --+-- done --> ...
//!       \-- resume point n --> reload --> retry -+-- suspended --> keep registers, return 1
//!                                                \-- fault --> return 2
//! ```
//!
//! The run-time trusts this code: this file has the generator's unsafe blocks. Only verified
//! programs are compiled, whose registers and places have the types that their instructions
//! require. The code touches what the layouts of frames, components and messages give it, and
//! elements whose bounds it has checked, and calls operations as the run-time prescribes.

use std::sync::Arc;

use tidemill_diag::Sources;
use tidemill_jit::build::{CallConv, Signature, Type as Machine, signature, types};
use tidemill_jit::{Blob, Code, DataId, Error, FuncId, Module, Options};
use tidemill_proc::entry::{Entry, Passing, entries};
use tidemill_proc::program::{Executable, FunctionCode, Program};
use tidemill_stdx::hash::Map;
use tidemill_stdx::id::IdVec;

use crate::compile::describe::{Descriptors, Ports};
use crate::compile::frame::Frame;
use crate::compile::lazy::{Form, Lazy};
use crate::ir::succession::Succession;
use crate::ir::suspending::Suspending;
use crate::ir::{self, BlockId, ComponentId, FunctionId, FunctionKind, Instruction, Place};
use crate::optimise::optimise;

mod call;
mod channel;
mod collection;
mod component;
pub(crate) mod describe;
mod facts;
pub(crate) mod frame;
mod lazy;
mod lazy_frame;
mod mark;
mod message;
mod operation;
mod owned;
mod registers;
mod scalar;
mod search;
mod section;
mod suspend;
mod translate;
mod unit;
mod unwind;
mod view;
mod watch;

use translate::Translator;
pub use unit::Checkpoints;
use unit::{Functions, Unit, machine};
use watch::Watch;

/// Options of a compilation.
#[derive(Debug, Clone)]
pub struct Choices {
    /// See [`Checkpoints`].
    pub checkpoints: Checkpoints,
    /// The program runs on several loops: code tests whether a channel is between them.
    pub several: bool,
    /// Keep listings of the machine code.
    pub listing: bool,
    /// Code leaves messages to the run-time, for [`Executable::observed`] programs.
    pub observed: bool,
}

/// A program with its code.
pub struct Compiled {
    /// What the run-time runs; its functions keep `code` mapped.
    pub program: Executable,
    /// The machine code, for listings.
    pub code: Arc<Code>,
    /// The functions' names in `code`.
    pub functions: Vec<(String, FuncId)>,
}

/// Compiles a program of `files` source files.
///
/// # Errors
/// If no code can be made for this machine.
///
/// # Panics
/// The program is not [verified](ir::verify::verify).
#[allow(unsafe_code, reason = "the run-time trusts the code")]
pub fn compile(
    ir: &ir::Program,
    sources: &Sources,
    files: u32,
    choices: &Choices,
) -> Result<Compiled, Error> {
    let generated = generate(None, ir, (sources, files), choices)?;
    let Generated { program, code, functions } = generated;
    // SAFETY: see the top of this file; the descriptors were made of the same frames and ports as
    // the code.
    let program = unsafe { Executable::new(program, None) };
    Ok(Compiled { program, code, functions })
}

/// Compiles what the next version of a program adds to the one before, which was compiled of what
/// `succession` begins with.
///
/// # Errors
/// As of [`compile`].
///
/// # Panics
/// As of [`compile`], or the succession begins with another program.
#[allow(unsafe_code, reason = "the run-time trusts the code")]
pub fn compile_next(
    before: &Executable,
    succession: &Succession,
    sources: (&Sources, u32),
    choices: &Choices,
) -> Result<Executable, Error> {
    succession.expect_after(before.components.len(), before.functions.len());
    let generated = generate(Some(&**before), &succession.program, sources, choices)?;
    let successors = succession.successors_raw();
    // SAFETY: the code keeps to the contract of `Executable::new`, as for the first version, and
    // the predecessor's lists were only appended to.
    Ok(unsafe { Executable::after(before, generated.program, None, &successors) })
}

/// Descriptors with their code.
struct Generated {
    program: Program,
    code: Arc<Code>,
    functions: Vec<(String, FuncId)>,
}

/// Makes code of all functions that the program before does not have.
#[allow(unsafe_code, reason = "the run-time trusts the code")]
fn generate(
    before: Option<&Program>,
    ir: &ir::Program,
    (sources, files): (&Sources, u32),
    choices: &Choices,
) -> Result<Generated, Error> {
    ir::verify::expect_verified(ir);
    let ir = &optimise(ir);
    debug_assert_eq!(ir::verify::verify(ir), Ok(()));
    let options = Options { listing: choices.listing, ..Options::named("components") };
    let mut module = Module::new(options)?;
    let descriptors = match before {
        Some(before) => Descriptors::after(before, ir, sources, files),
        None => Descriptors::of(ir, sources, files),
    };
    let mut unit = declared(ir, &mut module, descriptors, choices);
    let first = unit.functions.first;
    for (id, _) in ir.functions.iter_enumerated().skip(first) {
        let form = if unit.suspending.contains(id) { Form::Framed } else { Form::Native };
        let target = unit.functions[id];
        let points = define(&mut module, target, &mut unit, (id, form))?;
        if let Some(target) = unit.functions.lazy(id) {
            let others = define(&mut module, target, &mut unit, (id, Form::Lazy))?;
            debug_assert_eq!(points, others, "one form resumes where the other has left");
        }
    }
    // SAFETY: see the top of this file.
    let code = Arc::new(unsafe { module.finish() }?);
    describe(&mut unit, &code);
    let named = ir.functions.iter_enumerated().skip(first);
    let functions = named.flat_map(|(id, it)| {
        let forms = [Some(unit.functions[id]), unit.functions.lazy(id)];
        forms.into_iter().flatten().map(|form| (it.name.clone(), form))
    });
    let functions = functions.collect();
    Ok(Generated { program: unit.descriptors.program, code, functions })
}

/// Translates a function, and returns the number of its resume points.
fn define(
    module: &mut Module,
    target: FuncId,
    unit: &mut Unit<'_>,
    function: (FunctionId, Form),
) -> Result<usize, Error> {
    let mut points = 0;
    module.define(target, |body| points = Translator::translate(unit, function, body))?;
    Ok(points)
}

/// Declares all functions, operations of the run-time and data, before any code is translated.
#[allow(unsafe_code, reason = "the run-time trusts the code")]
fn declared<'a>(
    ir: &'a ir::Program,
    module: &mut Module,
    descriptors: Descriptors<'a>,
    choices: &Choices,
) -> Unit<'a> {
    let suspending = Suspending::of(ir);
    let frames = ir.functions.iter().map(|it| Frame::of(it, &suspending)).collect();
    let (_, first) = descriptors.known;
    let lazy = Lazy::of(ir, &suspending);
    let functions = ir.functions.iter_enumerated().skip(first).map(|(id, function)| {
        let mut declare = |name, form| module.declare(name, signature_of(function, form));
        if lazy.contains(id) {
            let framed = declare(format!("{}, resumed", function.name), Form::Framed);
            return (framed, Some(declare(function.name.clone(), Form::Lazy)));
        }
        let form = if suspending.contains(id) { Form::Framed } else { Form::Native };
        (declare(function.name.clone(), form), None)
    });
    let functions = Functions { first, declared: functions.collect() };
    let imported = entries().into_iter().map(|entry| {
        let signature = entry_signature(&entry);
        // SAFETY: an operation of the run-time, of the signature that it names.
        let id = unsafe { module.import(entry.name, signature, entry.address.cast()) };
        (entry.name, (id, entry))
    });
    let imported = imported.collect();
    let texts = ir.texts.iter().map(|text| {
        let mut blob = Blob::new();
        blob.bytes(text);
        module.data("text", blob)
    });
    let ports: IdVec<ComponentId, Ports> =
        ir.components.ids().map(|id| Ports::of(ir, id)).collect();
    let mut no_array = Blob::new();
    no_array.bytes(&[0; 16 + 8 * u8::MAX as usize]);
    let mut unit = Unit {
        ir,
        watch: Watch::of(ir, &ports),
        descriptors,
        suspending,
        frames,
        ports,
        functions,
        entries: imported,
        texts: texts.collect(),
        no_array: module.data("no array", no_array),
        scopes: Map::default(),
        several: choices.several,
        observed: choices.observed,
        checkpoints: choices.checkpoints,
    };
    unit.scopes = scopes(ir, first, module);
    unit
}

/// Completes the descriptors with the code of functions, and with what conditions read.
#[allow(unsafe_code, reason = "the run-time trusts the code")]
fn describe(unit: &mut Unit<'_>, code: &Arc<Code>) {
    let (ir, (components, first)) = (unit.ir, unit.descriptors.known);
    for (id, function) in ir.functions.iter_enumerated().skip(first) {
        // SAFETY: see the top of this file.
        let entry = unsafe { FunctionCode::compiled(code, unit.functions[id]) };
        let entry = entry.unwrap_or_else(FunctionCode::frameless);
        let mut described = unit.descriptors.function(function, unit.frames[id].size(), entry);
        described.ignored = unit.watch.ignored(id);
        unit.descriptors.program.functions.push(described);
    }
    let described = ir.components.ids().zip(&mut unit.descriptors.program.components);
    for (id, described) in described.skip(components) {
        let (offset, size) = unit.watch.words(id);
        described.watch = offset;
        described.size += size;
    }
}

/// The lists of words that scopes end with.
fn scopes(
    ir: &ir::Program,
    first: usize,
    module: &mut Module,
) -> Map<(FunctionId, BlockId, usize), DataId> {
    let mut scopes = Map::default();
    for (function, it) in ir.functions.iter_enumerated().skip(first) {
        for (block, it) in it.blocks.iter_enumerated() {
            for (index, (instruction, _)) in it.instructions.iter().enumerate() {
                let Instruction::EndScope { places } = instruction else { continue };
                let mut blob = Blob::new();
                for place in places {
                    if let Place::Local(local) = place {
                        blob.bytes(&(Frame::local(*local) as u32).to_ne_bytes());
                    }
                }
                scopes.insert((function, block, index), module.data("scope", blob));
            }
        }
    }
    scopes
}

/// Frame, process and worker, then what an operation takes.
fn entry_signature(entry: &Entry) -> Signature {
    let machine = |passing: Passing| match passing {
        Passing::None => None,
        Passing::Half => Some(types::I32),
        Passing::Word | Passing::Address => Some(types::I64),
        Passing::Real => Some(types::F64),
    };
    let mut parameters = vec![types::I64; 3];
    parameters.extend(entry.parameters.iter().filter_map(|parameter| machine(parameter.1)));
    let results: Vec<Machine> = machine(entry.result).into_iter().collect();
    signature(CallConv::SystemV, &parameters, &results)
}

/// A function with a frame, and a condition, gets frame, process and worker; one without gets its
/// arguments, too, and gives its result beside the status. One that gets a frame when it is
/// suspended finds frame and process by the worker, and has the convention without registers that
/// the callee saves: so a call that returns at once saves none.
fn signature_of(function: &ir::Function, form: Form) -> Signature {
    let (convention, fixed) = match form {
        Form::Lazy => (CallConv::Tail, 1),
        _ => (CallConv::SystemV, 3),
    };
    let mut parameters = vec![types::I64; fixed];
    let mut results = vec![types::I32];
    if form != Form::Framed && !matches!(function.kind, FunctionKind::Condition { .. }) {
        for parameter in &function.parameters {
            parameters.push(match parameter {
                ir::Parameter::Register(register) => machine(function.registers[*register]),
                ir::Parameter::Local(local) => match function.locals[*local].storage {
                    ir::Storage::One(ty) => machine(ty),
                    _ => types::I64,
                },
            });
        }
        results.extend(function.result.map(machine));
    }
    signature(convention, &parameters, &results)
}
