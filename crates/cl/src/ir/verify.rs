//! Checks that a program keeps the rules of the IR: numbers exist, types fit, addresses of elements
//! do not outlive a suspension or a change of what they point into.

use std::fmt::Display;

use tidemill_stdx::id::{Id, IdMap, IdSet};

use crate::ir::liveness::Liveness;
use crate::ir::memory::{Effects, Memory};
use crate::ir::{
    Access, Argument, Binary, Block, BlockId, Constant, Conversion, Function, FunctionId,
    FunctionKind, Instruction, InterfaceId, Key, MessageId, Parameter, Part, Party, Payload, Place,
    Program, Reason, Register, Storage, Terminator, TextId, Type, Unary,
};

/// What the generator and the interpreter rely on.
///
/// # Panics
/// The program is not verified.
pub(crate) fn expect_verified(program: &Program) {
    let errors = verify(program);
    assert!(errors.is_empty(), "the program breaks rules of the IR: {errors:?}");
}

/// All that is wrong with the program, each with its place; empty if nothing is.
pub fn verify(program: &Program) -> Vec<String> {
    let mut faults = Vec::new();
    for (id, interface) in program.interfaces.iter_enumerated() {
        let states = interface.protocol.states.len();
        if states != interface.messages.len() + 1 {
            faults.push(format!("{id}: {states} states for {} messages", interface.messages.len()));
        }
        for state in &interface.protocol.states {
            let known = state.next.iter().all(|it| it.index() < interface.messages.len());
            if !known || !state.next.is_sorted() {
                faults.push(format!("{id}: what may follow is no ascending list of its messages"));
            }
        }
    }
    for (id, component) in program.components.iter_enumerated() {
        let functions = component.offers.iter().filter_map(|offer| offer.implementation);
        for function in
            functions.chain(component.begin).chain(component.activity).chain(component.finally)
        {
            match program.functions.get(function) {
                Some(it) if it.component == id => {}
                _ => faults.push(format!("{id}: {function} is none of its functions")),
            }
        }
    }
    for (id, function) in program.functions.iter_enumerated() {
        let mut verifier =
            Verifier { program, function, id, at: String::new(), faults: &mut faults };
        verifier.function();
    }
    if faults.is_empty() {
        let effects = Effects::of(program);
        for (id, function) in program.functions.iter_enumerated() {
            let mut verifier =
                Verifier { program, function, id, at: String::new(), faults: &mut faults };
            verifier.views(&effects);
        }
    }
    if program.entry.is_some_and(|entry| program.components.get(entry).is_none()) {
        faults.push("the entry is no component".into());
    }
    faults
}

struct Verifier<'a> {
    program: &'a Program,
    function: &'a Function,
    id: FunctionId,
    at: String,
    faults: &'a mut Vec<String>,
}

impl Verifier<'_> {
    fn fault(&mut self, message: impl Display) {
        self.faults.push(format!("{} {}: {message}", self.id, self.at));
    }

    fn function(&mut self) {
        for parameter in &self.function.parameters {
            let known = match *parameter {
                Parameter::Register(register) => self.function.registers.get(register).is_some(),
                Parameter::Local(local) => self.function.locals.get(local).is_some(),
            };
            if !known {
                self.fault("an unknown parameter");
            }
        }
        if self.function.registers.iter().any(|ty| matches!(ty, Type::Text | Type::Component)) {
            self.fault("a register that owns");
        }
        if self.function.blocks.is_empty() {
            self.fault("no block");
        }
        for (id, block) in self.function.blocks.iter_enumerated() {
            self.block(id, block);
        }
        if self.faults.is_empty() {
            self.addresses();
        }
    }

    fn block(&mut self, id: BlockId, block: &Block) {
        for (index, (instruction, _)) in block.instructions.iter().enumerate() {
            self.at = format!("{id}.{index}");
            let mut parts = Vec::new();
            instruction.parts(&mut |part| parts.push(part));
            if self.parts_exist(&parts) {
                self.instruction(instruction);
            }
        }
        self.at = format!("{id}.end");
        let terminator = &block.terminator.0;
        let mut parts = Vec::new();
        terminator.parts(&mut |part| parts.push(part));
        if self.parts_exist(&parts) {
            self.terminator(terminator);
        }
    }

    fn parts_exist(&mut self, parts: &[Part]) -> bool {
        let faults = self.faults.len();
        for part in parts {
            match *part {
                Part::Register(register, _) => {
                    if self.function.registers.get(register).is_none() {
                        self.fault(format!("{register} does not exist"));
                    }
                }
                Part::Place(Place::At(register)) => {
                    if self.function.registers.get(register).is_none_or(|ty| *ty != Type::Address) {
                        self.fault(format!("{register} is no address"));
                    }
                }
                Part::Place(place) => {
                    if self.storage(place).is_none() {
                        self.fault(format!("{place:?} does not exist"));
                    }
                }
            }
        }
        self.faults.len() == faults
    }

    /// What the place holds; none if it does not exist or is known at run time only.
    fn storage(&self, place: Place) -> Option<&Storage> {
        match place {
            Place::Local(local) => self.function.locals.get(local).map(|local| &local.storage),
            Place::Outer(local) => {
                let FunctionKind::Condition { of } = self.function.kind else { return None };
                let outer = self.program.functions.get(of)?;
                outer.locals.get(local).map(|local| &local.storage)
            }
            Place::Variable(variable) => {
                let component = self.program.components.get(self.function.component)?;
                component.variables.get(variable).map(|variable| &variable.storage)
            }
            Place::At(_) => None,
        }
    }

    fn is(&mut self, register: Register, ty: Type) {
        if self.function.registers[register] != ty {
            self.fault(format!("{register} is no {ty:?}"));
        }
    }

    fn holds(&mut self, place: Place, ty: Type) {
        if self.storage(place).is_some_and(|storage| *storage != Storage::One(ty)) {
            self.fault(format!("{place:?} holds no {ty:?}"));
        }
    }

    fn payload(&mut self, payload: Payload, ty: Type) {
        match payload {
            Payload::Register(register) => self.is(register, ty),
            Payload::Copy(place) | Payload::Move(place) => self.holds(place, ty),
        }
    }

    fn payloads(&mut self, payloads: &[Payload], types: &[Type]) {
        if payloads.len() != types.len() {
            self.fault(format!("{} parts for {} parameters", payloads.len(), types.len()));
        }
        payloads.iter().zip(types).for_each(|(payload, ty)| self.payload(*payload, *ty));
    }

    fn keys(&mut self, collection: Place, keys: &[Key]) {
        let Some(storage) = self.storage(collection) else { return };
        let Storage::Collection { keys: types, .. } = storage.clone() else {
            return self.fault(format!("{collection:?} is no collection"));
        };
        if keys.len() != types.len() {
            self.fault(format!("{} keys instead of {}", keys.len(), types.len()));
        }
        for (key, ty) in keys.iter().zip(types) {
            match *key {
                Key::Register(register) => self.is(register, ty),
                Key::Text(place) => self.holds(place, Type::Text),
            }
        }
    }

    fn array(&mut self, array: Place, dimensions: usize) {
        match self.storage(array) {
            None => {}
            Some(Storage::Array { dimensions: known, .. }) if usize::from(*known) == dimensions => {
            }
            Some(_) => self.fault(format!("{array:?} is no array of {dimensions} dimensions")),
        }
    }

    // Long, as it has one short arm for each instruction; split, neither half would be complete.
    fn instruction(&mut self, instruction: &Instruction) {
        use Type::{Address, Boolean, Character, Component, Integer, Real, Text};
        let types = &self.function.registers;
        match instruction {
            Instruction::Constant { to, value } => {
                let ty = match value {
                    Constant::Integer(_) => Integer,
                    Constant::Real(_) => Real,
                    Constant::Boolean(_) => Boolean,
                    Constant::Character(_) => Character,
                };
                self.is(*to, ty);
            }
            Instruction::Copy { to, from } => self.is(*to, types[*from]),
            Instruction::Split { .. } => {}
            Instruction::Binary { to, operator, a, b } => self.binary(*to, *operator, *a, *b),
            Instruction::Unary { to, operator, a } => {
                let ty = match operator {
                    Unary::Not => Boolean,
                    Unary::Negate if types[*a] == Integer => Integer,
                    _ => Real,
                };
                self.is(*a, ty);
                self.is(*to, ty);
            }
            Instruction::Convert { to, conversion, a } => {
                let (from, into) = match conversion {
                    Conversion::IntegerToReal => (Integer, Real),
                    Conversion::RealToInteger => (Real, Integer),
                    Conversion::CharacterToInteger => (Character, Integer),
                    Conversion::IntegerToCharacter => (Integer, Character),
                    Conversion::BooleanToInteger => (Boolean, Integer),
                };
                self.is(*a, from);
                self.is(*to, into);
            }
            Instruction::Random { to, low, high } => {
                [to, low, high].into_iter().for_each(|register| self.is(*register, Integer));
            }
            Instruction::Load { to: register, from: place }
            | Instruction::Store { to: place, from: register } => {
                self.holds(*place, types[*register]);
            }
            Instruction::AddressOf { to, .. } => self.is(*to, Address),
            Instruction::TextConstant { to, text } => {
                self.holds(*to, Text);
                self.text(*text);
            }
            Instruction::WriteConstant { text } => self.text(*text),
            Instruction::TextCopy { to, from } | Instruction::TextMove { to, from } => {
                self.holds(*to, Text);
                self.holds(*from, Text);
            }
            Instruction::TextNew { to, length } => {
                self.holds(*to, Text);
                self.is(*length, Integer);
            }
            Instruction::TextOf { to, .. } => self.holds(*to, Text),
            Instruction::TextNumber { from, .. } => self.holds(*from, Text),
            Instruction::TextLength { to, from } => {
                self.is(*to, Integer);
                self.holds(*from, Text);
            }
            Instruction::TextGet { to: character, from: text, index }
            | Instruction::TextSet { to: text, index, from: character } => {
                self.holds(*text, Text);
                self.is(*index, Integer);
                self.is(*character, Character);
            }
            Instruction::TextCompare { to, a, b } => {
                self.is(*to, Integer);
                self.holds(*a, Text);
                self.holds(*b, Text);
            }
            Instruction::ArrayNew { array, extents, .. } => {
                self.array(*array, extents.len());
                extents.iter().for_each(|extent| self.is(*extent, Integer));
            }
            Instruction::ArrayLength { to, array, dimension } => {
                self.is(*to, Integer);
                if let Some(Storage::Array { dimensions, .. }) = self.storage(*array)
                    && dimension >= dimensions
                {
                    self.fault("no such dimension");
                }
            }
            Instruction::ArrayElement { to, array, indices } => {
                self.is(*to, Address);
                self.array(*array, indices.len());
                indices.iter().for_each(|index| self.is(*index, Integer));
            }
            Instruction::ArrayView { to, array } => {
                self.is(*to, Address);
                if !matches!(self.storage(*array), None | Some(Storage::Array { .. })) {
                    self.fault(format!("{array:?} is no array"));
                }
            }
            Instruction::ViewExtent { to, view, .. } => {
                self.is(*to, Integer);
                self.is(*view, Address);
            }
            Instruction::ViewElement { to, array, view, extents, indices, checked } => {
                self.is(*to, Address);
                self.is(*view, Address);
                self.array(*array, indices.len());
                if ![0, indices.len()].contains(&extents.len()) {
                    self.fault("extents of other dimensions");
                }
                if !checked && indices.len() > 1 && extents.is_empty() {
                    self.fault("no extents");
                }
                extents.iter().chain(indices).for_each(|it| self.is(*it, Integer));
            }
            Instruction::Element { to, collection, keys, .. } => {
                self.is(*to, Address);
                self.keys(*collection, keys);
            }
            Instruction::ElementExists { to: flag, collection, keys, .. }
            | Instruction::FirstKey { found: flag, collection, keys }
            | Instruction::NextKey { found: flag, collection, keys } => {
                self.is(*flag, Boolean);
                self.keys(*collection, keys);
            }
            Instruction::ElementDelete { collection, keys } => self.keys(*collection, keys),
            Instruction::ElementCount { to, .. } => self.is(*to, Integer),
            Instruction::New { place, component, .. } => {
                self.holds(*place, Component);
                self.component(*component);
            }
            Instruction::Delete { place } => self.holds(*place, Component),
            Instruction::EndScope { .. } => {}
            Instruction::Move { to, from } => {
                self.holds(*to, Component);
                self.holds(*from, Component);
            }
            Instruction::Exists { to, place } | Instruction::Failed { to, place } => {
                self.is(*to, Boolean);
                self.holds(*place, Component);
            }
            Instruction::Is { to, place, component } => {
                self.is(*to, Boolean);
                self.holds(*place, Component);
                self.component(*component);
            }
            Instruction::Has { to, place, interfaces, .. } => {
                self.is(*to, Boolean);
                self.holds(*place, Component);
                interfaces.iter().for_each(|it| self.interface(it.0));
            }
            Instruction::Connect { .. } | Instruction::Disconnect { .. } => {}
            Instruction::Connected { to, .. } => self.is(*to, Integer),
            Instruction::Terminated { to } => self.is(*to, Boolean),
            Instruction::Lock { .. } | Instruction::Unlock => {}
            Instruction::Send { to: party, message, payload }
            | Instruction::Receive { from: party, message, into: payload } => {
                if let Some(types) = self.message(*party, *message) {
                    self.payloads(payload, &types);
                }
            }
            Instruction::Test { to, from, .. } | Instruction::Input { to, from, .. } => {
                self.is(*to, Boolean);
                self.party(*from);
            }
            Instruction::Await { condition } => self.condition(*condition),
            Instruction::LockWhen { condition } => {
                self.condition(*condition);
                if self.program.functions.get(*condition).is_some_and(|it| !it.is_closed()) {
                    self.fault(format!("{condition} needs more than the component"));
                }
            }
            Instruction::Passivate { duration: register } | Instruction::Time { to: register } => {
                self.is(*register, Integer);
            }
            Instruction::Checkpoint | Instruction::WriteLine | Instruction::Write { .. } => {}
            Instruction::Call { result, function, arguments } => {
                self.call(*result, *function, arguments);
            }
        }
    }

    fn text(&mut self, text: TextId) {
        if self.program.texts.get(text).is_none() {
            self.fault(format!("{text} does not exist"));
        }
    }

    fn condition(&mut self, condition: FunctionId) {
        match self.program.functions.get(condition).map(|it| it.kind) {
            Some(FunctionKind::Condition { of }) if of == self.id => {}
            _ => self.fault(format!("{condition} is no condition of this function")),
        }
    }

    fn binary(&mut self, to: Register, operator: Binary, a: Register, b: Register) {
        use Binary::{Add, Div, Divide, DivideUnchecked, Mod, Multiply, Subtract};
        use Binary::{AddUnchecked, MultiplyUnchecked, SubtractUnchecked};
        let ty = self.function.registers[a];
        self.is(b, ty);
        let fits = match operator {
            Add | Subtract | Multiply => matches!(ty, Type::Integer | Type::Real),
            Divide | DivideUnchecked => ty == Type::Real,
            AddUnchecked | SubtractUnchecked | MultiplyUnchecked | Div | Mod => ty == Type::Integer,
            _ => ty != Type::Address,
        };
        if !fits {
            self.fault(format!("no {operator:?} for {ty:?}"));
        }
        self.is(to, if operator.is_comparison() { Type::Boolean } else { ty });
    }

    fn component(&mut self, component: crate::ir::ComponentId) {
        if self.program.components.get(component).is_none() {
            self.fault(format!("{component} does not exist"));
        }
    }

    fn interface(&mut self, interface: InterfaceId) {
        if self.program.interfaces.get(interface).is_none() {
            self.fault(format!("{interface} does not exist"));
        }
    }

    /// The interface that is spoken with the party.
    fn party(&mut self, party: Party) -> Option<InterfaceId> {
        let interface = match party {
            Party::Client => None,
            Party::Required { interface, .. }
            | Party::Sub { interface, .. }
            | Party::Own { interface } => Some(interface),
        };
        if let Some(interface) = interface {
            self.interface(interface);
        }
        match (interface, self.function.kind) {
            (None, FunctionKind::Implementation(interface)) => Some(interface),
            _ => interface,
        }
    }

    /// The parameters of the message; none where the interface is that of a caller.
    fn message(&mut self, party: Party, message: MessageId) -> Option<Vec<Type>> {
        let interface = self.program.interfaces.get(self.party(party)?)?;
        let types = interface.messages.get(message).map(|it| it.parameters.clone());
        if types.is_none() {
            self.fault(format!("{message} does not exist"));
        }
        types
    }

    fn call(&mut self, result: Option<Payload>, callee: FunctionId, arguments: &[Argument]) {
        let Some(callee) = self.program.functions.get(callee) else {
            return self.fault(format!("{callee} does not exist"));
        };
        if arguments.len() != callee.parameters.len() {
            self.fault("wrong number of arguments");
        }
        for (argument, parameter) in arguments.iter().zip(&callee.parameters) {
            let storage = match *parameter {
                Parameter::Register(register) => Storage::One(callee.registers[register]),
                Parameter::Local(local) => callee.locals[local].storage.clone(),
            };
            let Storage::One(ty) = storage else {
                self.fault("a parameter that is no single value");
                continue;
            };
            match *argument {
                Argument::Value(payload) => self.payload(payload, ty),
                Argument::Reference(register) => {
                    self.is(register, Type::Address);
                    if ty != Type::Address {
                        self.fault("an address for a value");
                    }
                }
            }
        }
        match (result, callee.result) {
            (Some(result), Some(ty)) => self.payload(result, ty),
            (Some(_), None) => self.fault("no result"),
            (None, Some(Type::Text | Type::Component)) => self.fault("an owned result is lost"),
            (None, _) => {}
        }
    }

    fn terminator(&mut self, terminator: &Terminator) {
        for target in terminator.targets() {
            if self.function.blocks.get(target).is_none() {
                self.fault(format!("{target} does not exist"));
            }
        }
        match *terminator {
            Terminator::Branch { condition, .. } => self.is(condition, Type::Boolean),
            Terminator::Return(payload) => match (payload, self.function.result) {
                (Some(payload), Some(ty)) => self.payload(payload, ty),
                (None, None) => {}
                _ => self.fault("the result is not that of the function"),
            },
            Terminator::Fault(Reason::Halt(code) | Reason::Assertion(Some(code))) => {
                self.is(code, Type::Integer);
            }
            _ => {}
        }
    }

    /// Addresses of elements end before the next suspension or change of an element's place.
    fn addresses(&mut self) {
        let mut elements = IdSet::<Register>::default();
        for (instruction, _) in self.function.blocks.iter().flat_map(|block| &block.instructions) {
            if let Instruction::ArrayElement { to, .. }
            | Instruction::ViewElement { to, .. }
            | Instruction::Element { to, .. } = instruction
            {
                elements.insert(*to);
            }
        }
        let liveness = Liveness::of(self.function);
        for (id, block) in self.function.blocks.iter_enumerated() {
            let mut bad = Vec::new();
            liveness.visit(block, |index, instruction, before, after| {
                let moves = instruction.suspends(|_| true)
                    || matches!(instruction, Instruction::Element { access: Access::Make, .. });
                let mut kept = after.clone();
                kept.intersect_with(before);
                kept.intersect_with(&elements);
                if moves && kept.iter().next().is_some() {
                    bad.push(index);
                }
            });
            for index in bad {
                self.at = format!("{id}.{index}");
                self.fault("the address of an element is kept across it");
            }
        }
    }

    /// A view ends before its array may be allocated anew or freed.
    fn views(&mut self, effects: &Effects) {
        let mut views = IdMap::<Register, Place>::new();
        for (instruction, _) in self.function.blocks.iter().flat_map(|block| &block.instructions) {
            if let Instruction::ArrayView { to, array } = instruction
                && let Some(other) = views.insert(*to, *array)
                && other != *array
            {
                self.fault(format!("{to} is a view of two arrays"));
            }
        }
        if views.is_empty() {
            return;
        }
        let (memory, liveness) = (Memory::of(self.function, effects), Liveness::of(self.function));
        for (id, block) in self.function.blocks.iter_enumerated() {
            let mut bad = Vec::new();
            liveness.visit(block, |index, instruction, before, after| {
                let mut kept = views
                    .iter()
                    .filter(|(view, _)| after.contains(*view) && before.contains(*view));
                if kept.any(|(_, array)| memory.may_move(instruction, *array)) {
                    bad.push(index);
                }
            });
            for index in bad {
                self.at = format!("{id}.{index}");
                self.fault("a view is kept across it");
            }
        }
    }
}
