//! A module while it grows: declarations, definitions, data.

use std::sync::Arc;

use cranelift_codegen::ir::{Function, Signature, UserFuncName};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use tidemill_stdx::id::{IdMap, IdVec};

use crate::blob::Blob;
use crate::body::Body;
use crate::code::Code;
use crate::compile::{Compiled, Compiler, Draft};
use crate::error::Error;
use crate::link::{Object, link};
use crate::options::{Machine, Options};
use crate::symbol::{DataId, Declared, FuncId, Symbols, Target};

/// Functions and data that are compiled, and later mapped and freed, together.
pub struct Module {
    pub(crate) options: Options,
    pub(crate) object: Object,
    machine: Machine,
    compiler: Compiler,
    /// Kept for its memory.
    scratch: FunctionBuilderContext,
}

impl Module {
    /// An empty module.
    ///
    /// # Errors
    /// No code can be made for this machine.
    pub fn new(options: Options) -> Result<Module, Error> {
        let machine = Machine::new(&options)?;
        let config = machine.generator.frontend_config();
        Ok(Module {
            object: Object {
                symbols: Symbols { functions: IdVec::new(), data: IdVec::new(), config },
                blobs: IdVec::new(),
                compiled: IdMap::new(),
            },
            compiler: Compiler::new(machine.clone(), options.listing),
            scratch: FunctionBuilderContext::new(),
            machine,
            options,
        })
    }

    /// Announces a function, so that others may refer to it before it is defined. Names are for
    /// people and need not differ.
    pub fn declare(&mut self, name: impl Into<Arc<str>>, signature: Signature) -> FuncId {
        self.object.symbols.functions.push(Declared {
            name: name.into(),
            signature,
            imported: None,
        })
    }

    /// Announces a function from outside of the module.
    ///
    /// # Safety
    /// At `address` is an `extern "C"` function of this signature, and stays there for as long as
    /// the code.
    pub unsafe fn import(
        &mut self,
        name: impl Into<Arc<str>>,
        signature: Signature,
        address: *const (),
    ) -> FuncId {
        let imported = Some(address as usize);
        self.object.symbols.functions.push(Declared { name: name.into(), signature, imported })
    }

    /// The signature of a function.
    pub fn signature(&self, id: FuncId) -> &Signature {
        &self.object.symbols.functions[id].signature
    }

    /// Adds read-only data. Functions it refers to need not be defined yet.
    pub fn data(&mut self, name: impl Into<Arc<str>>, blob: Blob) -> DataId {
        self.object.blobs.push(blob);
        self.object.symbols.data.push(name.into())
    }

    /// Writes and compiles a function.
    ///
    /// # Errors
    /// An error of the generator, or something that the machine does not support. The function
    /// stays undefined.
    ///
    /// # Panics
    /// In debug builds, for what the builder finds at once, such as an instruction after the last
    /// of a block.
    pub fn define(&mut self, id: FuncId, write: impl FnOnce(&mut Body<'_>)) -> Result<(), Error> {
        let draft = self.draft(id, write)?;
        let compiled = self.compiler.compile(draft)?;
        self.add(compiled)
    }

    /// Writes a function, which a [`Compiler`] may compile elsewhere.
    ///
    /// # Errors
    /// A block that does not end, or a function that has a definition.
    ///
    /// # Panics
    /// As [`Module::define`].
    pub fn draft(&mut self, id: FuncId, write: impl FnOnce(&mut Body<'_>)) -> Result<Draft, Error> {
        let declared = self.undefined(id)?.clone();
        let name = UserFuncName::User(Target::function_name(id));
        let mut function = Function::with_name_signature(name, declared.signature);
        let builder = FunctionBuilder::new(&mut function, &mut self.scratch);
        let mut body = Body::new(builder, &self.object.symbols);
        write(&mut body);
        if let Err(error) = body.finish() {
            // It holds what the unfinished function left.
            self.scratch = FunctionBuilderContext::new();
            return Err(match error {
                Error::Unfinished { text, .. } => {
                    Error::Unfinished { function: declared.name.to_string(), text }
                }
                other => other,
            });
        }
        Ok(Draft { id, name: declared.name, function })
    }

    /// Another compiler for functions of this module.
    pub fn compiler(&self) -> Compiler {
        Compiler::new(self.machine.clone(), self.options.listing)
    }

    /// Adds a function that was compiled elsewhere, from a draft of this module.
    ///
    /// # Errors
    /// The function has a definition.
    pub fn add(&mut self, compiled: Compiled) -> Result<(), Error> {
        self.undefined(compiled.id)?;
        self.object.compiled.insert(compiled.id, compiled);
        Ok(())
    }

    fn undefined(&self, id: FuncId) -> Result<&Declared, Error> {
        let declared = &self.object.symbols.functions[id];
        if declared.imported.is_some() || self.object.compiled.get(id).is_some() {
            return Err(Error::Twice { function: declared.name.to_string() });
        }
        Ok(declared)
    }

    /// Maps everything, resolves references, and makes the code executable.
    ///
    /// # Errors
    /// A function without definition; no memory; a map file that cannot be written.
    ///
    /// # Safety
    /// The defined functions have no undefined behaviour when they are called as their generator
    /// prescribes: loads, stores and calls go to objects of their type, and no store breaks what
    /// others rely on.
    pub unsafe fn finish(self) -> Result<Code, Error> {
        link(self.object, self.options)
    }
}
