//! A stage whose two sides fit.

use tidemill_cl::ir::succession::Succession;
use tidemill_cl::ir::{ComponentId, InterfaceId};
use tidemill_relation::plan::RelationId;

use crate::borders::counterparts::Counterparts;
use crate::borders::parameters::Parameter;

/// A stage that a component works on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageBorder {
    /// The name of the component.
    pub component: String,
    /// The relation whose tuples are its input.
    pub input: RelationId,
    /// The relation of its output.
    pub output: RelationId,
    /// The columns of the input, from 0, that form the key of an instance.
    pub keys: Vec<usize>,
    pub(super) talk: InterfaceIds,
    pub(super) inputs: Vec<Parameter>,
    pub(super) outputs: Vec<Parameter>,
    /// The location column of the input, and of the output.
    pub(super) locations: (usize, usize),
    /// Whether the input is a table.
    pub(super) reads_table: bool,
    /// `stage::fault(@N, Component, Key, Reason)`, if rules read it, with its location column.
    pub(super) fault: Option<(RelationId, usize)>,
}

impl StageBorder {
    /// The number of the component in the program.
    pub(crate) fn number(&self) -> usize {
        self.talk.kind as usize
    }

    /// Whether a stage of the new rules is the same but for the numbers of its relations.
    pub(super) fn goes_on(&self, new: &StageBorder, counterparts: &Counterparts<'_>) -> bool {
        let StageBorder { input, output, fault, .. } = *new;
        counterparts.are(self.input, input)
            && StageBorder { input, output, fault, ..self.clone() } == *new
    }

    /// Renumbers the component and its interface for a succession of programs.
    pub(in crate::borders) fn renumber(&mut self, succession: &Succession) {
        let InterfaceIds { kind, interface, .. } = &mut self.talk;
        *kind = succession.components[ComponentId::new(*kind)].raw();
        *interface = succession.interfaces[InterfaceId::new(*interface)].raw();
    }

    /// Whether there is an instance for each row of a table.
    pub(super) fn has_rows(&self) -> bool {
        self.reads_table
    }

    /// `stage::fault`, if rules read it.
    pub(crate) fn fault(&self) -> Option<RelationId> {
        self.fault.map(|(id, _)| id)
    }
}

/// The interface of a component: numbers in the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InterfaceIds {
    pub(super) kind: u32,
    pub(super) interface: u32,
    pub(super) input: u32,
    pub(super) output: u32,
    pub(super) done: u32,
}
