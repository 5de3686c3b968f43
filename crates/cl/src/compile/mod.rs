//! Native code for every function of a program.
//!
//! A function that may suspend is a state machine over its heap frame, as the run-time's layout
//! says: at the start it goes on where the frame's resume point is; where an operation suspends it
//! keeps the registers that are needed later and returns; resumed, it executes the operation again
//! and finds it granted. A function that cannot suspend is an ordinary native function.
//!
//! ```text
//! start -- resume point 0 --> block 0 ... send --+-- done --> ...
//!       \-- resume point n --> reload --> retry -+-- suspended --> keep registers, return 1
//!                                                \-- fault --> return 2
//! ```
//!
//! The run-time trusts this code: this file has the generator's unsafe blocks. Only verified
//! programs are compiled, whose registers and places have the types that their instructions ask
//! for. The code touches what the layouts of frames, components and messages give it, and elements
//! whose bounds it has checked, and calls operations as the run-time prescribes.

use std::sync::Arc;

use tidemill_diag::Sources;
use tidemill_jit::build::{CallConv, Signature, Type as Machine, signature, types};
use tidemill_jit::{Blob, Code, DataId, Error, FuncId, Module, Options};
use tidemill_proc::entry::{Entry, Passing, entries};
use tidemill_proc::program::{Executable, FunctionCode};
use tidemill_stdx::hash::Map;
use tidemill_stdx::id::IdVec;

use crate::compile::describe::{Descriptors, Ports};
use crate::compile::frame::Frame;
use crate::ir::suspending::Suspending;
use crate::ir::{self, BlockId, ComponentId, FunctionId, Instruction, Kind, Place};
use crate::optimise::optimise;

mod call;
mod channel;
mod collection;
mod component;
mod constant;
pub(crate) mod describe;
mod found;
pub(crate) mod frame;
mod mark;
mod message;
mod owned;
mod registers;
mod scalar;
mod search;
mod section;
mod translate;
mod unit;
mod unwind;
mod view;
mod watch;

use translate::Translator;
pub use unit::Checkpoints;
use unit::{Unit, machine};
use watch::Watch;

/// What a compilation may choose.
#[derive(Debug, Clone)]
pub struct Choices {
    /// See [`Checkpoints`].
    pub checkpoints: Checkpoints,
    /// The program runs on several loops: channels may be between them, which code looks at.
    pub several: bool,
    /// Keep listings of the machine code.
    pub listing: bool,
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
    ir::verify::expect_verified(ir);
    let ir = &optimise(ir);
    debug_assert_eq!(ir::verify::verify(ir), Vec::<String>::new());
    let options = Options { listing: choices.listing, ..Options::named("components") };
    let mut module = Module::new(options)?;
    let mut unit = declared(ir, &mut module, Descriptors::of(ir, sources, files), choices);
    for (id, _) in ir.functions.iter_enumerated() {
        let target = unit.functions[id];
        module.define(target, |body| Translator::translate(&mut unit, id, body))?;
    }
    // SAFETY: see the top of this file.
    let code = Arc::new(unsafe { module.finish() }?);
    describe(&mut unit, &code);
    let names =
        ir.functions.iter_enumerated().map(|(id, it)| (it.name.clone(), unit.functions[id]));
    let functions = names.collect();
    // SAFETY: as above; the descriptors were made of the same frames and ports as the code.
    let program = unsafe { Executable::new(unit.descriptors.program, None) };
    Ok(Compiled { program, code, functions })
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
    let functions = ir.functions.iter_enumerated().map(|(id, function)| {
        let signature = signature_of(function, suspending.contains(id));
        module.declare(function.name.clone(), signature)
    });
    let functions: IdVec<FunctionId, FuncId> = functions.collect();
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
        checkpoints: choices.checkpoints,
    };
    unit.scopes = scopes(ir, module);
    unit
}

/// Completes the descriptors with the code of functions, and with what conditions read.
#[allow(unsafe_code, reason = "the run-time trusts the code")]
fn describe(unit: &mut Unit<'_>, code: &Arc<Code>) {
    let ir = unit.ir;
    for (id, function) in ir.functions.iter_enumerated() {
        // SAFETY: see the top of this file.
        let entry = unsafe { FunctionCode::compiled(code, unit.functions[id]) };
        let entry = entry.unwrap_or_else(FunctionCode::frameless);
        let mut described = unit.descriptors.function(function, unit.frames[id].size(), entry);
        described.ignored = unit.watch.ignored(id);
        unit.descriptors.program.functions.push(described);
    }
    for (id, described) in ir.components.ids().zip(&mut unit.descriptors.program.components) {
        let (offset, size) = unit.watch.words(id);
        described.watch = offset;
        described.size += size;
    }
}

/// The lists of words that scopes end with.
fn scopes(ir: &ir::Program, module: &mut Module) -> Map<(FunctionId, BlockId, usize), DataId> {
    let mut scopes = Map::default();
    for (function, it) in ir.functions.iter_enumerated() {
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

/// A function with a frame, and a condition, gets frame, process and worker; a native one its
/// arguments, too, and gives its result beside the status.
fn signature_of(function: &ir::Function, framed: bool) -> Signature {
    let mut parameters = vec![types::I64; 3];
    let mut results = vec![types::I32];
    if !framed && !matches!(function.kind, Kind::Condition { .. }) {
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
    signature(CallConv::SystemV, &parameters, &results)
}
