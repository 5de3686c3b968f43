//! Scopes: what a name means where.

use tidemill_diag::{Span, nearest};
use tidemill_stdx::hash::Map;
use tidemill_stdx::id_type;

use crate::ir::{ComponentId, InterfaceId, VariableId};
use crate::tree::{LocalId, ProcedureId};

id_type! {
    /// A scope.
    pub(super) struct ScopeId, "scope";
    /// A constant of the program.
    pub(super) struct ConstantId, "constant";
    /// A routine of the program.
    pub(super) struct RoutineId, "routine";
}

/// What a name that is no interface denotes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name {
    /// A component type.
    Component(ComponentId),
    /// A constant.
    Constant(ConstantId),
    /// A variable of a component.
    Variable(ComponentId, VariableId),
    /// A parameter or variable of a routine.
    Local(RoutineId, LocalId),
    /// A procedure.
    Procedure(ProcedureId),
}

/// What a lookup finds.
pub(super) enum Found {
    /// This.
    Name(Name),
    /// A variable or procedure of an outer component.
    Outer(Name, Span),
    /// Nothing.
    Nothing,
}

/// The names declared in one body.
#[derive(Default)]
pub(super) struct Scope<'a> {
    /// Where it is.
    pub(super) outer: Option<ScopeId>,
    /// Variables and procedures further out are not visible.
    pub(super) of_component: bool,
    /// Everything but interfaces.
    pub(super) names: Map<&'a str, (Name, Span)>,
    /// Interfaces.
    pub(super) interfaces: Map<&'a str, (InterfaceId, Span)>,
}

/// Where checking is.
#[derive(Clone, Copy)]
pub(super) struct Here {
    pub(super) scope: ScopeId,
    pub(super) component: Option<ComponentId>,
    pub(super) routine: Option<RoutineId>,
    /// In the value of a constant: what cannot be folded is an error.
    pub(super) constant: bool,
}

/// `did you mean ...?` for a name that differs little from the text; else empty.
pub(super) fn similar<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> String {
    nearest(text, names).map_or(String::new(), |name| format!("did you mean `{name}`?"))
}
