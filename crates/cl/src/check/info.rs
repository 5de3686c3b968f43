//! Facts about declarations, and what the tree does not contain of them.

use tidemill_diag::Span;
use tidemill_stdx::hash::Map;
use tidemill_stdx::id::IdVec;

use crate::ast;
use crate::check::names::{Here, RoutineId, ScopeId};
use crate::check::types::{Limits, Shape, Type, Typed};
use crate::ir::{ComponentId, InterfaceId, MessageId, VariableId};
use crate::tree::{ByReference, LocalId, Place, Routine};

/// A component, with facts that the tree does not contain.
pub(super) struct ComponentInfo<'a> {
    /// Its declaration.
    pub(super) ast: &'a ast::Component,
    /// Where it is declared.
    pub(super) outer: ScopeId,
    /// Its own names.
    pub(super) scope: ScopeId,
    /// Its variables.
    pub(super) variables: IdVec<VariableId, Declared<'a>>,
    /// What it implements.
    pub(super) implementations: Vec<(InterfaceId, RoutineId, Span)>,
    /// Own offered interfaces that a CONNECT gives to a sub-component or an own required one.
    pub(super) delegated: Vec<InterfaceId>,
    /// Interfaces whose own implementation a CONNECT names.
    pub(super) served: Vec<InterfaceId>,
}

/// A variable or parameter.
pub(super) struct Declared<'a> {
    /// Its name.
    pub(super) name: &'a ast::Ident,
    /// The indices of a collection or array.
    pub(super) indices: &'a [ast::Parameters],
    /// Its type or that of its elements.
    pub(super) ty: &'a ast::Type,
    /// `{ARRAY}`, `{SYNCHRONOUS}`.
    pub(super) attributes: Option<&'a ast::Attributes>,
    /// A variable has none.
    pub(super) parameter: Option<ByReference>,
    /// What it holds.
    pub(super) shape: Shape,
}

/// A procedure, with facts that the tree does not contain.
pub(super) struct ProcedureInfo<'a> {
    /// Its declaration.
    pub(super) ast: &'a ast::Procedure,
    /// Its code.
    pub(super) routine: RoutineId,
}

/// Something with code.
pub(super) struct RoutineInfo<'a> {
    /// Its id; that of an implementation is set when its interface is resolved.
    pub(super) id: Routine,
    /// Whose variables it reaches.
    pub(super) component: ComponentId,
    /// Its names.
    pub(super) scope: ScopeId,
    /// What it is nested in.
    pub(super) outer: Option<RoutineId>,
    /// Of an implementation: the name of its interface.
    pub(super) implements: Option<&'a ast::Ident>,
    /// Of an implementation: its interface.
    pub(super) interface: Option<InterfaceId>,
    /// The type of what it returns.
    pub(super) result: Option<Type>,
    /// Parameters first.
    pub(super) locals: IdVec<LocalId, Declared<'a>>,
    /// What it does.
    pub(super) code: Option<&'a ast::Sequence>,
    /// Where it is declared.
    pub(super) span: Span,
    /// It has errors: rules over whole routines leave it out.
    pub(super) broken: bool,
}

/// An interface, with facts that the tree does not contain.
pub(super) struct InterfaceInfo<'a> {
    /// Its declaration.
    pub(super) ast: &'a ast::Interface,
    /// Where it is declared.
    pub(super) scope: ScopeId,
    /// The types of each message's parameters; `None` for one in error.
    pub(super) parameters: IdVec<MessageId, Vec<Option<Type>>>,
    /// Its messages by name.
    pub(super) names: Map<&'a str, MessageId>,
}

/// A constant, with its value once it is folded.
pub(super) struct ConstantInfo<'a> {
    pub(super) ast: &'a ast::Constant,
    pub(super) here: Here,
    pub(super) state: ConstantState,
}

/// How far a constant is.
pub(super) enum ConstantState {
    /// Not needed yet.
    New,
    /// Being folded: another request for it is a cycle.
    Busy,
    /// The value; `None` if it is in error.
    Done(Option<Typed>),
}

impl<'a> ConstantInfo<'a> {
    /// A constant declared there.
    pub(super) fn new(ast: &'a ast::Constant, here: Here) -> ConstantInfo<'a> {
        ConstantInfo { ast, here, state: ConstantState::New }
    }
}

/// A condition around has found that the component in the place has these interfaces.
pub(super) struct Known {
    pub(super) place: Place,
    pub(super) offered: bool,
    pub(super) interfaces: Vec<Limits>,
}
