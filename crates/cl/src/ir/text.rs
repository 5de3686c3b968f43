//! The text form of a whole program, printed and read back.
//!
//! ```text
//! interface interface0 "Token" user
//!   message m0 in "Token" [integer]
//!   state [m0] true
//!   state [m0] true
//! component component0 "Node" ~0:0..90
//!   offer interface0 1 1 fn0
//!   require interface0 1 1
//!   variable @0 "count" integer own
//!   begin -
//!   activity -
//!   finally -
//! text text0 "done"
//! function fn0 "Node.Token" component0 implementation interface0 [] -
//!   register %0 integer
//!   local $0 "name" text
//!   block b0
//!     receive client m0 [register %0] ~0:44..52
//!     return - ~0:60..63
//!   rare block b1
//!     jump b0 ~0:60..63
//! entry component0
//! ```

use std::fmt::{self, Display, Formatter};

use tidemill_diag::text::ir::{IrError, IrReader as Reader, Layout, Read, write_quoted};
use tidemill_stdx::id::IdVec;

use crate::ir::form::{Form, in_order, quoted_name};
use crate::ir::protocol::{Protocol, ProtocolState};
use crate::ir::{
    Block, BlockId, Component, ComponentId, Function, FunctionId, FunctionKind, Instruction,
    Interface, InterfaceId, Local, LocalId, Message, MessageId, Offer, Program, Register, Require,
    Storage, Terminator, TextId, Type, Variable, VariableId,
};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        for (id, interface) in self.interfaces.iter_enumerated() {
            write_interface(id, interface, &mut out);
        }
        for (id, component) in self.components.iter_enumerated() {
            write_component(id, component, &mut out);
        }
        for (id, text) in self.texts.iter_enumerated() {
            parts(&mut out, "text", &[&id, &Quoted(text)]);
        }
        for (id, function) in self.functions.iter_enumerated() {
            write_function(id, function, &mut out);
        }
        parts(&mut out, "entry", &[&self.entry]);
        f.write_str(&out)
    }
}

/// What can be appended; [`Form`] without reading.
trait Written {
    fn append(&self, out: &mut String);
}

impl<T: Form> Written for T {
    fn append(&self, out: &mut String) {
        self.write(out);
    }
}

struct Quoted<'a>(&'a [u8]);

impl Written for Quoted<'_> {
    fn append(&self, out: &mut String) {
        write_quoted(self.0, out);
    }
}

struct Word(&'static str);

impl Written for Word {
    fn append(&self, out: &mut String) {
        *out += self.0;
    }
}

/// One line: a word, then parts.
fn parts(out: &mut String, word: &str, parts: &[&dyn Written]) {
    *out += word;
    for part in parts {
        out.push(' ');
        part.append(out);
    }
    out.push('\n');
}

fn write_interface(id: InterfaceId, interface: &Interface, out: &mut String) {
    let whose = Word(if interface.system { "system" } else { "user" });
    parts(out, "interface", &[&id, &Quoted(interface.name.as_bytes()), &whose]);
    for (id, message) in interface.messages.iter_enumerated() {
        let name = Quoted(message.name.as_bytes());
        parts(out, "  message", &[&id, &message.direction, &name, &message.parameters]);
    }
    for state in &interface.protocol.states {
        parts(out, "  state", &[&state.next, &state.may_end]);
    }
}

fn write_component(id: ComponentId, component: &Component, out: &mut String) {
    let name = Quoted(component.name.as_bytes());
    parts(out, "component", &[&id, &name, &component.span]);
    for Offer { interface, count, implementation } in &component.offers {
        parts(out, "  offer", &[interface, &count.0, &count.1, implementation]);
    }
    for Require { interface, count } in &component.requires {
        parts(out, "  require", &[interface, &count.0, &count.1]);
    }
    for (id, variable) in component.variables.iter_enumerated() {
        let clock = Word(if variable.synchronous { "synchronous" } else { "own" });
        let name = Quoted(variable.name.as_bytes());
        parts(out, "  variable", &[&id, &name, &variable.storage, &clock]);
    }
    parts(out, "  begin", &[&component.begin]);
    parts(out, "  activity", &[&component.activity]);
    parts(out, "  finally", &[&component.finally]);
}

fn write_function(id: FunctionId, function: &Function, out: &mut String) {
    let name = Quoted(function.name.as_bytes());
    let head: [&dyn Written; 6] =
        [&id, &name, &function.component, &function.kind, &function.parameters, &function.result];
    parts(out, "function", &head);
    for (id, ty) in function.registers.iter_enumerated() {
        parts(out, "  register", &[&id, ty]);
    }
    for (id, local) in function.locals.iter_enumerated() {
        parts(out, "  local", &[&id, &Quoted(local.name.as_bytes()), &local.storage]);
    }
    for (id, block) in function.blocks.iter_enumerated() {
        parts(out, if block.is_rare { "  rare block" } else { "  block" }, &[&id]);
        for (instruction, span) in &block.instructions {
            parts(out, "   ", &[instruction, span]);
        }
        parts(out, "   ", &[&block.terminator.0, &block.terminator.1]);
    }
}

impl Form for FunctionKind {
    fn write(&self, out: &mut String) {
        match self {
            FunctionKind::Begin => *out += "begin",
            FunctionKind::Activity => *out += "activity",
            FunctionKind::Implementation(interface) => {
                *out += &format!("implementation {interface}")
            }
            FunctionKind::Procedure => *out += "procedure",
            FunctionKind::Finally => *out += "finally",
            FunctionKind::Condition { of } => *out += &format!("condition {of}"),
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(match reader.word() {
            "begin" => FunctionKind::Begin,
            "activity" => FunctionKind::Activity,
            "implementation" => FunctionKind::Implementation(Form::read(reader)?),
            "procedure" => FunctionKind::Procedure,
            "finally" => FunctionKind::Finally,
            "condition" => FunctionKind::Condition { of: Form::read(reader)? },
            _ => return reader.fail("expected the kind of a function"),
        })
    }
}

/// Reads the text form; [`crate::ir::verify`] checks its meaning.
///
/// # Errors
/// The first place where the text is no program.
pub fn parse(text: &str) -> Result<Program, IrError> {
    let reader = &mut Reader::new(text, Layout::Free);
    let mut program = Program::default();
    while !reader.at_end() {
        match reader.word() {
            "interface" => {
                in_order::<InterfaceId>(reader, program.interfaces.len())?;
                program.interfaces.push(read_interface(reader)?);
            }
            "component" => {
                in_order::<ComponentId>(reader, program.components.len())?;
                program.components.push(read_component(reader)?);
            }
            "text" => {
                in_order::<TextId>(reader, program.texts.len())?;
                program.texts.push(reader.quoted()?);
            }
            "function" => {
                in_order::<FunctionId>(reader, program.functions.len())?;
                program.functions.push(read_function(reader)?);
            }
            "entry" => program.entry = Form::read(reader)?,
            _ => return reader.fail("expected interface, component, text, function or entry"),
        }
    }
    Ok(program)
}

/// One of two words.
fn either(reader: &mut Reader, yes: &str, no: &str) -> Read<bool> {
    if reader.eat(yes) {
        return Ok(true);
    }
    reader.expect(no).map(|()| false)
}

fn read_interface(reader: &mut Reader) -> Read<Interface> {
    let (name, system) = (quoted_name(reader)?, either(reader, "system", "user")?);
    let mut messages = IdVec::new();
    while reader.eat("message") {
        in_order::<MessageId>(reader, messages.len())?;
        let (direction, name) = (Form::read(reader)?, quoted_name(reader)?);
        messages.push(Message { name, direction, parameters: Form::read(reader)? });
    }
    let mut protocol = Protocol::default();
    while reader.eat("state") {
        let (next, may_end) = (Form::read(reader)?, Form::read(reader)?);
        protocol.states.push(ProtocolState { next, may_end });
    }
    Ok(Interface { name, messages, protocol, system })
}

fn read_component(reader: &mut Reader) -> Read<Component> {
    let (name, span) = (quoted_name(reader)?, Form::read(reader)?);
    let (mut offers, mut requires, mut variables) = (Vec::new(), Vec::new(), IdVec::new());
    while reader.eat("offer") {
        let (interface, low, high) =
            (Form::read(reader)?, Form::read(reader)?, Form::read(reader)?);
        let implementation = Form::read(reader)?;
        offers.push(Offer { interface, count: (low, high), implementation });
    }
    while reader.eat("require") {
        let (interface, low, high) =
            (Form::read(reader)?, Form::read(reader)?, Form::read(reader)?);
        requires.push(Require { interface, count: (low, high) });
    }
    while reader.eat("variable") {
        in_order::<VariableId>(reader, variables.len())?;
        let (name, storage) = (quoted_name(reader)?, Storage::read(reader)?);
        let synchronous = either(reader, "synchronous", "own")?;
        variables.push(Variable { name, storage, synchronous });
    }
    reader.expect("begin")?;
    let begin = Form::read(reader)?;
    reader.expect("activity")?;
    let activity = Form::read(reader)?;
    reader.expect("finally")?;
    let finally = Form::read(reader)?;
    Ok(Component { name, offers, requires, variables, begin, activity, finally, span })
}

fn read_function(reader: &mut Reader) -> Read<Function> {
    let name = quoted_name(reader)?;
    let (component, kind) = (Form::read(reader)?, Form::read(reader)?);
    let (parameters, result) = (Form::read(reader)?, Form::read(reader)?);
    let (mut registers, mut locals) = (IdVec::new(), IdVec::new());
    while reader.eat("register") {
        in_order::<Register>(reader, registers.len())?;
        registers.push(Type::read(reader)?);
    }
    while reader.eat("local") {
        in_order::<LocalId>(reader, locals.len())?;
        let (name, storage) = (quoted_name(reader)?, Storage::read(reader)?);
        locals.push(Local { name, storage });
    }
    let mut blocks = IdVec::new();
    loop {
        let is_rare = reader.eat("rare");
        if !reader.eat("block") {
            break;
        }
        in_order::<BlockId>(reader, blocks.len())?;
        blocks.push(read_block(reader, is_rare)?);
    }
    Ok(Function { name, component, kind, parameters, result, registers, locals, blocks })
}

fn read_block(reader: &mut Reader, is_rare: bool) -> Read<Block> {
    let mut instructions = Vec::new();
    while !Terminator::is_next(reader) {
        instructions.push((Instruction::read(reader)?, Form::read(reader)?));
    }
    Ok(Block { instructions, terminator: (Form::read(reader)?, Form::read(reader)?), is_rare })
}
