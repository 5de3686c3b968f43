//! The next version of a program as more of the one before: what has not changed keeps its numbers,
//! and what has is added after, so that code and components of both can live side by side.
//!
//! ```text
//! before:  A B C        next:  A B' D        both:  A B C B' D      B' is the successor of B
//! ```
//! A component type is unchanged if its declaration is, with its functions, wherever these are in
//! the source. A changed one is the *successor* of the one before if it offers and requires the
//! same: code that made the one before makes its successor from then on. One that offers or
//! requires something else is no successor, and a component that names it has changed with it.

use tidemill_stdx::id::{Id, IdSet, IdVec};

use crate::ir::form::Form;
use crate::ir::parts::Rename;
use crate::ir::{
    Component, ComponentId, Function, FunctionId, FunctionKind, Instruction, Interface,
    InterfaceId, Program, Reason, Terminator, TextId,
};

/// Two versions of a program in one.
#[derive(Debug)]
pub struct Succession {
    /// Both of them: first the one before. It begins with the component of that one.
    pub program: Program,
    /// The number that represents each component type of the next version: that of the first whose
    /// successor it is, or its own.
    pub components: IdVec<ComponentId, ComponentId>,
    /// The number that each interface of the next version has.
    pub interfaces: IdVec<InterfaceId, InterfaceId>,
    /// Types that have a successor, each with the latest one.
    pub successors: Vec<(ComponentId, ComponentId)>,
    /// Interfaces of the version before of which the next one has another declaration.
    pub replaced: Vec<InterfaceId>,
    /// Whether the next version begins with another component, or a changed one.
    pub begins_otherwise: bool,
    /// Components and functions of the version before.
    known: (usize, usize),
}

impl Succession {
    /// Whether it begins with a program, of which this many components and functions are known.
    ///
    /// # Panics
    /// It begins with another one.
    pub(crate) fn expect_after(&self, components: usize, functions: usize) {
        assert_eq!(self.known, (components, functions), "a succession of another program");
    }

    /// The pairs of types as the run-time has them.
    pub(crate) fn successors_raw(&self) -> Vec<(u32, u32)> {
        self.successors.iter().map(|(from, to)| (from.raw(), to.raw())).collect()
    }
}

/// The numbers that the next version has in both.
struct Numbers {
    components: IdVec<ComponentId, ComponentId>,
    interfaces: IdVec<InterfaceId, InterfaceId>,
    functions: IdVec<FunctionId, FunctionId>,
    texts: IdVec<TextId, TextId>,
}

impl Rename for Numbers {
    fn component(&self, component: ComponentId) -> ComponentId {
        self.components[component]
    }

    fn interface(&self, interface: InterfaceId) -> InterfaceId {
        self.interfaces[interface]
    }

    fn function(&self, function: FunctionId) -> FunctionId {
        self.functions[function]
    }

    fn text(&self, text: TextId) -> TextId {
        self.texts[text]
    }
}

/// Of equal constants the first for all; for types that have a successor the latest one.
struct Equal<'p>(&'p Program);

impl Rename for Equal<'_> {
    fn component(&self, component: ComponentId) -> ComponentId {
        let Equal(program) = self;
        let last = latest(program, &program.components[component].name);
        let is_like = |last: &ComponentId| ports(program, *last) == ports(program, component);
        last.filter(is_like).unwrap_or(component)
    }

    fn text(&self, text: TextId) -> TextId {
        let Equal(program) = self;
        known_text(program, &program.texts[text]).unwrap_or(text)
    }
}

/// The first constant of this content.
fn known_text(program: &Program, text: &[u8]) -> Option<TextId> {
    program.texts.iter().position(|known| known == text).map(TextId::from_index)
}

/// The program `before`, which may be made of several versions, with the `next` one.
pub fn merge(before: &Program, next: &Program) -> Succession {
    let mut program = before.clone();
    let (interfaces, replaced) = interfaces(&mut program, next);
    let texts = next
        .texts
        .iter()
        .map(|text| known_text(&program, text).unwrap_or_else(|| program.texts.push(text.clone())));
    let texts = texts.collect();
    let known = next.components.iter().map(|component| latest(before, &component.name)).collect();
    let mut both = Both { before, next, known, changed: IdSet::new() };
    let mut numbers = both.tentative(interfaces, texts);
    while both.compare(&numbers) {}
    both.number_anew(&mut program, &mut numbers);
    both.add(&mut program, &numbers);
    let successors = both.successors(&program, &numbers);
    let stands_for = |id: ComponentId| {
        let number = numbers.components[id];
        let first = successors.iter().find(|(_, to)| *to == number);
        first.map_or(number, |(from, _)| *from)
    };
    let components = next.components.ids().map(stands_for).collect();
    let begins_otherwise = next.entry.map(|entry| numbers.components[entry]) != before.entry;
    let interfaces = numbers.interfaces;
    let known = (before.components.len(), before.functions.len());
    Succession { program, components, interfaces, successors, replaced, begins_otherwise, known }
}

/// The numbers of the interfaces of the next version, of which unknown ones are added; and those
/// before that have another declaration now.
fn interfaces(
    program: &mut Program,
    next: &Program,
) -> (IdVec<InterfaceId, InterfaceId>, Vec<InterfaceId>) {
    let mut replaced = Vec::new();
    let numbers = next.interfaces.iter().map(|interface| {
        let is_it = |known: &(InterfaceId, &Interface)| known.1.name == interface.name;
        let last = program.interfaces.iter_enumerated().rfind(is_it).map(|(id, _)| id);
        match last {
            Some(id) if program.interfaces[id] == *interface => return id,
            Some(id) => replaced.push(id),
            None => {}
        }
        program.interfaces.push(interface.clone())
    });
    (numbers.collect(), replaced)
}

/// The last version of a component type.
fn latest(program: &Program, name: &str) -> Option<ComponentId> {
    program.components.iter_enumerated().rfind(|(_, known)| known.name == name).map(|(id, _)| id)
}

/// Both versions while they are compared.
struct Both<'p> {
    before: &'p Program,
    next: &'p Program,
    /// The component type of the same name before, for each of the next version.
    known: IdVec<ComponentId, Option<ComponentId>>,
    /// Those of the next version that have changed or are new.
    changed: IdSet<ComponentId>,
}

impl Both<'_> {
    /// As if everything of the same name were unchanged; what is new has numbers of nothing.
    fn tentative(
        &self,
        interfaces: IdVec<InterfaceId, InterfaceId>,
        texts: IdVec<TextId, TextId>,
    ) -> Numbers {
        let (first, first_function) = (self.before.components.len(), self.before.functions.len());
        let components = self.known.iter_enumerated().map(|(id, known)| {
            known.unwrap_or_else(|| ComponentId::from_index(first + id.index()))
        });
        let functions = self.next.functions.ids();
        let functions = functions.map(|id| FunctionId::from_index(first_function + id.index()));
        let mut functions: IdVec<FunctionId, FunctionId> = functions.collect();
        for (id, known) in self.known.iter_enumerated() {
            let Some(known) = *known else { continue };
            for (new, old) in of(self.next, id).zip(of(self.before, known)) {
                functions[new] = old;
            }
        }
        Numbers { components: components.collect(), interfaces, functions, texts }
    }

    /// Notes one more round of what has changed; returns whether there was anything.
    fn compare(&mut self, numbers: &Numbers) -> bool {
        let mut found = false;
        for id in self.next.components.ids() {
            if !self.changed.contains(id) && !self.is_same(id, numbers) {
                found |= self.changed.insert(id);
            }
        }
        found
    }

    fn is_same(&self, id: ComponentId, numbers: &Numbers) -> bool {
        let Some(known) = self.known[id] else { return false };
        let component = renamed_component(&self.next.components[id], numbers);
        let old = &self.before.components[known];
        if (Component { span: old.span, ..component }) != *old {
            return false;
        }
        let (new, old): (Vec<_>, Vec<_>) =
            (of(self.next, id).collect(), of(self.before, known).collect());
        new.len() == old.len()
            && new.iter().zip(&old).all(|(&new, &old)| {
                let new = &self.next.functions[new];
                let old = renamed_function(&self.before.functions[old], &Equal(self.before));
                !self.names_others(new, numbers)
                    && form(&renamed_function(new, numbers)) == form(&old)
            })
    }

    /// Whether a function names a type that has changed and is no successor of the one before.
    fn names_others(&self, function: &Function, numbers: &Numbers) -> bool {
        let is_other = |id: ComponentId| self.changed.contains(id) && !self.is_like(id, numbers);
        let blocks = function.blocks.iter();
        blocks.into_iter().any(|block| {
            let named = block.instructions.iter().any(|(instruction, _)| match instruction {
                Instruction::New { component, .. } | Instruction::Is { component, .. } => {
                    is_other(*component)
                }
                _ => false,
            });
            named
                || matches!(&block.terminator.0, Terminator::Fault(Reason::Type(guard))
                    if guard.component.is_some_and(is_other))
        })
    }

    /// Whether a type of the next version offers and requires what the one before did.
    fn is_like(&self, id: ComponentId, numbers: &Numbers) -> bool {
        let Some(known) = self.known[id] else { return false };
        let (mut offered, mut required) = ports(self.next, id);
        for (interface, _) in offered.iter_mut().chain(&mut required) {
            *interface = numbers.interface(*interface);
        }
        (offered, required) == ports(self.before, known)
    }

    /// Gives what has changed numbers after the others.
    fn number_anew(&self, program: &mut Program, numbers: &mut Numbers) {
        let (mut components, mut functions) = (program.components.len(), program.functions.len());
        for id in self.changed.iter() {
            numbers.components[id] = ComponentId::from_index(components);
            components += 1;
            for function in of(self.next, id) {
                numbers.functions[function] = FunctionId::from_index(functions);
                functions += 1;
            }
        }
    }

    /// Adds what has changed, in the order of these numbers.
    fn add(&self, program: &mut Program, numbers: &Numbers) {
        for id in self.changed.iter() {
            program.components.push(renamed_component(&self.next.components[id], numbers));
            for function in of(self.next, id) {
                program.functions.push(renamed_function(&self.next.functions[function], numbers));
            }
        }
    }

    /// All types that have a successor in the next version: the one before, and those before that.
    fn successors(&self, both: &Program, numbers: &Numbers) -> Vec<(ComponentId, ComponentId)> {
        let mut pairs = Vec::new();
        for id in self.next.components.ids() {
            let to = numbers.components[id];
            let name = &both.components[to].name;
            let named = both.components.iter_enumerated().filter(|(_, it)| it.name == *name);
            let earlier = named.map(|(id, _)| id).filter(|from| *from != to);
            let like = earlier.filter(|from| ports(both, *from) == ports(both, to));
            pairs.extend(like.map(|from| (from, to)));
        }
        pairs
    }
}

/// An interface, and how many of it at least and at most.
type Counted = (InterfaceId, (u32, Option<u32>));

/// What a component type offers and requires.
fn ports(program: &Program, id: ComponentId) -> (Vec<Counted>, Vec<Counted>) {
    let Component { offers, requires, .. } = &program.components[id];
    let offers = offers.iter().map(|it| (it.interface, it.count));
    (offers.collect(), requires.iter().map(|it| (it.interface, it.count)).collect())
}

/// The functions of a component type, in order.
fn of(program: &Program, id: ComponentId) -> impl Iterator<Item = FunctionId> {
    let functions = program.functions.iter_enumerated();
    functions.filter(move |(_, it)| it.component == id).map(|(id, _)| id)
}

fn renamed_component(component: &Component, numbers: &Numbers) -> Component {
    let mut component = component.clone();
    let functions = [&mut component.begin, &mut component.activity, &mut component.finally];
    for function in functions.into_iter().flatten() {
        *function = numbers.function(*function);
    }
    for offer in &mut component.offers {
        offer.interface = numbers.interface(offer.interface);
        offer.implementation = offer.implementation.map(|id| numbers.function(id));
    }
    for require in &mut component.requires {
        require.interface = numbers.interface(require.interface);
    }
    component
}

fn renamed_function(function: &Function, numbers: &dyn Rename) -> Function {
    let mut function = function.clone();
    function.component = numbers.component(function.component);
    function.kind = match function.kind {
        FunctionKind::Implementation(interface) => {
            FunctionKind::Implementation(numbers.interface(interface))
        }
        FunctionKind::Condition { of } => FunctionKind::Condition { of: numbers.function(of) },
        other => other,
    };
    for block in function.blocks.iter_mut() {
        for (instruction, _) in &mut block.instructions {
            instruction.rename(numbers);
        }
        block.terminator.0.rename(numbers);
    }
    function
}

/// A function as text, bit by bit, without places in the source.
fn form(function: &Function) -> String {
    let Function { name, component, kind, parameters, result, registers, locals, blocks } =
        function;
    let mut text =
        format!("{name} {component} {kind:?} {parameters:?} {result:?} {registers:?} {locals:?}\n");
    for block in blocks.iter() {
        for (instruction, _) in &block.instructions {
            instruction.write(&mut text);
            text.push('\n');
        }
        block.terminator.0.write(&mut text);
        text.push('\n');
    }
    text
}
