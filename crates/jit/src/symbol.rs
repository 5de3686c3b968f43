//! What instructions and blobs may refer to, and how the compiler's names carry it.

use std::sync::Arc;

use cranelift_codegen::ir::{ExternalName, LibCall, Signature, UserExternalName};
use cranelift_codegen::isa::TargetFrontendConfig;
use tidemill_stdx::id::IdVec;

tidemill_stdx::id_type! {
    /// A function of a module; means nothing in another.
    pub struct FuncId, "f";
    /// A blob of a module; means nothing in another.
    pub struct DataId, "d";
}

/// Something with an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Function(FuncId),
    Data(DataId),
    /// The function that the compiler calls where the machine has no instruction.
    Library(LibCall),
    /// An offset in the function that refers.
    Itself(u32),
}

/// The namespaces of the compiler's names.
const FUNCTIONS: u32 = 0;
const DATA: u32 = 1;

impl Target {
    /// The name of a function for the compiler.
    pub fn function_name(id: FuncId) -> UserExternalName {
        UserExternalName::new(FUNCTIONS, id.raw())
    }

    /// The name of a blob for the compiler.
    pub fn data_name(id: DataId) -> UserExternalName {
        UserExternalName::new(DATA, id.raw())
    }

    /// The target of a name of ours.
    pub fn of_user(name: &UserExternalName) -> Option<Target> {
        match name.namespace {
            FUNCTIONS => Some(Target::Function(FuncId::new(name.index))),
            DATA => Some(Target::Data(DataId::new(name.index))),
            _ => None,
        }
    }

    /// What any name means; `None` for what a process does not have.
    pub fn of(
        name: &ExternalName,
        own: impl Fn(cranelift_codegen::ir::UserExternalNameRef) -> UserExternalName,
    ) -> Option<Target> {
        match name {
            ExternalName::User(name) => Target::of_user(&own(*name)),
            ExternalName::LibCall(call) => Some(Target::Library(*call)),
            ExternalName::TestCase(_) | ExternalName::KnownSymbol(_) => None,
        }
    }
}

/// A declared function.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub name: Arc<str>,
    pub signature: Signature,
    /// The address of what is not ours.
    pub imported: Option<usize>,
}

/// Everything that has a name in a module.
pub(crate) struct Symbols {
    pub functions: IdVec<FuncId, Declared>,
    pub data: IdVec<DataId, Arc<str>>,
    pub config: TargetFrontendConfig,
}

impl Symbols {
    /// The name of a target, for people.
    pub fn name(&self, target: Target) -> String {
        match target {
            Target::Function(id) => self.functions[id].name.to_string(),
            Target::Data(id) => self.data[id].to_string(),
            Target::Library(call) => call.to_string(),
            Target::Itself(offset) => format!("+{offset:#x}"),
        }
    }
}
