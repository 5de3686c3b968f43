//! The descriptors of a program for the run-time: sizes, words that own, protocols, positions.

use tidemill_diag::{Sources, Span};
use tidemill_proc::layout::{
    COMPONENT_HEADER, PORT_IMPLEMENTATION, PORT_OFFERED, PORT_REQUIRED, SLOT_SIZE,
};
use tidemill_proc::program::{
    ComponentType, Direction, Facet, Function, FunctionCode, Interface, Key, Message, Port,
    Position, Program, Shape, Variable, WordKind,
};
use tidemill_stdx::id::{Id, IdVec};
use tidemill_stdx::sorted::SortedMap;

use crate::compile::frame::Frame;
use crate::ir::{self, ComponentId, FunctionId, InterfaceId, MessageId, Storage, Type, VariableId};

/// The descriptors of a program, and numbers that code refers to.
pub(crate) struct Descriptors<'a> {
    ir: &'a ir::Program,
    sources: &'a Sources,
    /// For the run-time; functions are added last.
    pub(crate) program: Program,
    /// Where each source file is in the list of the program.
    files: Vec<u32>,
    /// The numbers of components and functions described before.
    pub(crate) known: (usize, usize),
    /// Collections whose elements stay where they are.
    pinned: Vec<Storage>,
    numbers: Numbers,
}

/// Indices of positions, shapes and facets in the lists of a program.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    positions: SortedMap<(u32, u32), u32>,
    shapes: Vec<(Storage, u32)>,
    facets: Vec<Facet>,
}

impl Numbers {
    /// Of a place in the source; 0 if it has none.
    pub(crate) fn position(&self, span: Span) -> u32 {
        self.positions.get(&(span.file.0, span.start)).copied().unwrap_or(0)
    }

    /// Of the shape of an array or collection; 0 if it has none.
    pub(crate) fn shape(&self, storage: &Storage) -> u32 {
        let known = self.shapes.iter().find(|(known, _)| known == storage);
        known.map_or(0, |(_, number)| *number)
    }

    /// The number of a facet; 0 if the program has none.
    pub(crate) fn facet(&self, facet: &Facet) -> u32 {
        self.facets.iter().position(|known| known == facet).unwrap_or(0) as u32
    }
}

impl<'a> Descriptors<'a> {
    pub(crate) fn of(ir: &'a ir::Program, sources: &'a Sources, files: u32) -> Descriptors<'a> {
        // Position 0 is unknown.
        let mut first = Program::default();
        first.positions.push(Position::default());
        Descriptors::after(&first, ir, sources, files)
    }

    /// Of a program that begins with one that has been described.
    pub(crate) fn after(
        before: &Program,
        ir: &'a ir::Program,
        sources: &'a Sources,
        files: u32,
    ) -> Descriptors<'a> {
        let mut program = before.clone();
        let files = (0..files).map(|file| {
            let name = sources.name(tidemill_diag::FileId(file));
            let known = program.files.iter().position(|known| known == name);
            known.unwrap_or_else(|| {
                program.files.push(name.to_owned());
                program.files.len() - 1
            }) as u32
        });
        let files = files.collect();
        let interfaces = ir.interfaces.iter().skip(program.interfaces.len());
        program.interfaces.extend(interfaces.map(interface));
        let known = (program.components.len(), program.functions.len());
        let (pinned, numbers) = (ir::pinned::pinned(ir), Numbers::default());
        let mut all = Descriptors { ir, sources, program, files, known, pinned, numbers };
        for (id, component) in ir.components.iter_enumerated().skip(known.0) {
            let described = all.component(id, component);
            all.program.components.push(described);
        }
        all.program.entry = ir.entry.map_or(0, |entry| entry.raw());
        all
    }

    /// The descriptors, and the numbers that have been given.
    pub(crate) fn finish(self) -> (Program, Numbers) {
        let facets = self.program.facets.clone();
        (self.program, Numbers { facets, ..self.numbers })
    }

    /// The number of a place in the source.
    pub(crate) fn position(&mut self, span: Span) -> u32 {
        let known = &mut self.numbers.positions;
        if let Some(number) = known.get(&(span.file.0, span.start)) {
            return *number;
        }
        let Some(&file) = self.files.get(span.file.0 as usize) else { return 0 };
        let place = self.sources.place(span);
        let number = self.program.positions.len() as u32;
        let (line, column) = (place.line, place.column);
        self.program.positions.push(Position { file, line, column });
        known.insert((span.file.0, span.start), number);
        number
    }

    /// The number of the shape of an array or collection.
    pub(crate) fn shape(&mut self, storage: &Storage) -> u32 {
        if let Some((_, number)) = self.numbers.shapes.iter().find(|(known, _)| known == storage) {
            return *number;
        }
        let shape = match storage {
            Storage::Array { element, dimensions } => {
                Shape::Array { dimensions: u32::from(*dimensions), element: kind(*element) }
            }
            Storage::Collection { keys, element } => {
                let keys = keys.iter().map(|key| match key {
                    Type::Text => Key::Text,
                    _ => Key::Integer,
                });
                let pinned = self.pinned.contains(storage);
                Shape::Collection { keys: keys.collect(), element: kind(*element), pinned }
            }
            Storage::One(_) => return 0,
        };
        let number = self.program.shapes.len() as u32;
        self.program.shapes.push(shape);
        self.numbers.shapes.push((storage.clone(), number));
        number
    }

    /// Whether elements of this collection may move.
    pub(crate) fn moves(&self, storage: &Storage) -> bool {
        is_scalar(storage) && !self.pinned.contains(storage)
    }

    /// The number of a facet, that is, what a component is required to offer or require.
    pub(crate) fn facet(&mut self, facet: Facet) -> u32 {
        let known = self.program.facets.iter().position(|known| *known == facet);
        known.unwrap_or_else(|| {
            self.program.facets.push(facet);
            self.program.facets.len() - 1
        }) as u32
    }

    fn component(&mut self, id: ComponentId, component: &ir::Component) -> ComponentType {
        let ports = Ports::of(self.ir, id);
        let variables = component.variables.iter_enumerated().map(|(number, variable)| Variable {
            name: variable.name.clone(),
            offset: ports.variable(number) as u32,
            kind: storage_kind(&variable.storage),
            shape: self.shape(&variable.storage),
            synchronous: variable.synchronous,
        });
        let variables: Vec<Variable> = variables.collect();
        let size = ports.variable(VariableId::new(component.variables.len() as u32)) as u32;
        ComponentType {
            position: self.position(component.span),
            name: component.name.clone(),
            size,
            offered: ports.offered,
            required: ports.required,
            variables,
            begin: component.begin.map(FunctionId::raw),
            activity: component.activity.map(FunctionId::raw),
            finally: component.finally.map(FunctionId::raw),
            awaits_input: awaits_input(self.ir, id),
            watch: 0,
            origin: 0,
        }
    }

    /// Describes a function with a frame.
    pub(crate) fn function(
        &mut self,
        function: &ir::Function,
        frame_size: u32,
        code: FunctionCode,
    ) -> Function {
        let owned = function.locals.iter_enumerated().filter_map(|(id, local)| {
            let kind = storage_kind(&local.storage);
            (kind != WordKind::Scalar && kind != WordKind::Reference).then(|| Variable {
                name: local.name.clone(),
                offset: Frame::local(id) as u32,
                kind,
                shape: self.shape(&local.storage),
                synchronous: false,
            })
        });
        Function {
            // Reports name the component separately.
            name: function.name.rsplit('.').next().unwrap_or_default().to_owned(),
            frame_size,
            owned: owned.collect(),
            code,
            ignored: 0,
        }
    }
}

/// The interfaces of a component with their slots.
pub(crate) struct Ports {
    pub(crate) offered: Vec<Port>,
    pub(crate) required: Vec<Port>,
    /// Where the variables begin.
    end: i32,
}

impl Ports {
    /// Required interfaces have slots, and offered ones that something is connected to.
    pub(crate) fn of(ir: &ir::Program, id: ComponentId) -> Ports {
        let component = &ir.components[id];
        let mut end = COMPONENT_HEADER;
        let mut slot = || {
            end += SLOT_SIZE;
            (end - SLOT_SIZE) as u32
        };
        let required = component.requires.iter().map(|it| Port {
            interface: it.interface.raw(),
            low: it.count.0,
            high: it.count.1,
            slot: slot(),
            implementation: None,
        });
        let required = required.collect();
        let redirected = redirected(ir, id);
        let offered = component.offers.iter().map(|it| Port {
            interface: it.interface.raw(),
            low: it.count.0,
            high: it.count.1,
            slot: if redirected.contains(&it.interface) { slot() } else { 0 },
            implementation: it.implementation.map(FunctionId::raw),
        });
        let offered = offered.collect();
        Ports { offered, required, end }
    }

    /// Bytes from the start of the component to a variable.
    pub(crate) fn variable(&self, variable: VariableId) -> i32 {
        self.end + 8 * variable.index() as i32
    }
}

/// The offered interfaces that code of the component connects.
fn redirected(ir: &ir::Program, id: ComponentId) -> Vec<InterfaceId> {
    let own = ir.functions.iter().filter(|function| function.component == id);
    let blocks = own.flat_map(|function| &function.blocks);
    let instructions = blocks.flat_map(|block| &block.instructions);
    instructions
        .filter_map(|(instruction, _)| match instruction {
            ir::Instruction::Connect { from: ir::Port::OwnOffered { interface, .. }, .. } => {
                Some(*interface)
            }
            _ => None,
        })
        .collect()
}

/// What a word of this type holds.
pub(crate) fn kind(ty: Type) -> WordKind {
    match ty {
        Type::Text => WordKind::Text,
        Type::Component => WordKind::Component,
        Type::Address => WordKind::Reference,
        _ => WordKind::Scalar,
    }
}

/// Whether the elements of a collection are scalars.
pub(crate) fn is_scalar(collection: &Storage) -> bool {
    matches!(collection, Storage::Collection { element, .. } if kind(*element) == WordKind::Scalar)
}

/// What the word of a variable or local holds.
pub(crate) fn storage_kind(storage: &Storage) -> WordKind {
    match storage {
        Storage::One(ty) => kind(*ty),
        Storage::Array { .. } => WordKind::Array,
        Storage::Collection { .. } => WordKind::Collection,
    }
}

fn interface(interface: &ir::Interface) -> Interface {
    let states = &interface.protocol;
    let mut after = predecessors(interface);
    let messages = interface.messages.iter_enumerated().map(|(id, message)| {
        let own = states.after(Some(id));
        Message {
            name: message.name.clone(),
            direction: match message.direction {
                ir::Direction::In => Direction::In,
                ir::Direction::Out => Direction::Out,
            },
            parameters: message.parameters.iter().map(|ty| kind(*ty)).collect(),
            initial: states.after(None).allows(id),
            after: std::mem::take(&mut after[id]),
            must_end: own.next.is_empty(),
            may_end: own.may_end,
        }
    });
    let messages: Vec<Message> = messages.collect();
    let largest = messages.iter().map(|message| message.parameters.len()).max().unwrap_or(0);
    Interface { name: interface.name.clone(), messages, entry_size: 8 * largest as u32 }
}

/// For each message those that it may follow, as [`Message::after`] has them. Visits each pair that
/// the protocol allows once.
fn predecessors(interface: &ir::Interface) -> IdVec<MessageId, Vec<u64>> {
    let count = interface.messages.len();
    let mut after = IdVec::filled(vec![0u64; count.div_ceil(64)], count);
    for earlier in interface.messages.ids() {
        let (word, bit) = (earlier.index() / 64, 1 << (earlier.index() % 64));
        for &later in &interface.protocol.after(Some(earlier)).next {
            let bits: &mut Vec<u64> = &mut after[later];
            bits[word] |= bit;
        }
    }
    after
}

/// Whether a condition of the component uses INPUT.
fn awaits_input(ir: &ir::Program, id: ComponentId) -> bool {
    let conditions = ir.functions.iter().filter(|function| {
        function.component == id && matches!(function.kind, ir::FunctionKind::Condition { .. })
    });
    conditions.flat_map(|function| &function.blocks).any(|block| {
        let mut instructions = block.instructions.iter();
        instructions.any(|(it, _)| matches!(it, ir::Instruction::Input { .. }))
    })
}

/// What one end of a connection names: a sub-component's place or none for the own component, and
/// kind, interface and index of the port there. An own offered interface is, as the other end of a
/// connection, its implementation.
pub(crate) fn port_parts(
    port: ir::Port,
    is_from: bool,
) -> (Option<ir::Place>, u64, InterfaceId, Option<ir::Register>) {
    use ir::Port::{OwnOffered, OwnRequired, SubOffered, SubRequired};
    match port {
        SubRequired { place, interface, index } => (Some(place), PORT_REQUIRED, interface, index),
        SubOffered { place, interface, index } => (Some(place), PORT_OFFERED, interface, index),
        OwnRequired { interface, index } => (None, PORT_REQUIRED, interface, index),
        OwnOffered { interface, index } => {
            (None, if is_from { PORT_OFFERED } else { PORT_IMPLEMENTATION }, interface, index)
        }
    }
}
