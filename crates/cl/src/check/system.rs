//! The interfaces of the system, known without declaration, as the language itself writes them.

use tidemill_diag::{Diagnostic, FileId};

use crate::ast::{self, Definition, ProtocolFactor};
use crate::check::checker::Checker;
use crate::ir::InterfaceId;
use crate::parse::parse_file;

/// Their names.
pub(super) const NAMES: [&str; 10] = [
    "SystemTime",
    "FileSystem",
    "GraphicView",
    "Input",
    "Arguments",
    "Network",
    "Pore",
    "Xenstore",
    "Packets",
    "Messages",
];

/// What names of interfaces begin with by which a program reaches rules; it declares them itself.
pub const RULES: &str = "Rules";

/// Ticks are milliseconds; colours are 0RRGGBBH; arguments count from 1.
const SOURCE: &str = "
INTERFACE SystemTime;
  IN GetSystemTime OUT SystemTime(ticks: INTEGER) | IN Wait(ms: INTEGER) OUT Passed
END SystemTime;

INTERFACE FileSystem;
  ( IN New(name: TEXT) | IN Open(name: TEXT) )
  ( OUT Done
    { IN SetPosition(position: INTEGER)
    | IN GetPosition OUT Position(pos: INTEGER)
    | IN GetLength OUT Length(len: INTEGER)
    | ( IN ReadByte | IN ReadLine ) ( OUT Byte(x: CHARACTER) | OUT Line(x: TEXT) | OUT EOF )
    | IN Write(x: CHARACTER)
    | IN WriteText(x: TEXT)
    | IN Update }
    IN Close
  | OUT Failed )
END FileSystem;

INTERFACE GraphicView;
  { IN Clear
  | IN GetSize OUT Size(width, height, bgColor: INTEGER)
  | IN Pixel(x, y, color: INTEGER)
  | IN Font(x, y: INTEGER; char: CHARACTER; color: INTEGER)
  | IN Fill(x, y, w, h, color: INTEGER)
  | IN SetLayer(level: INTEGER)
  | IN DrawLayers }
END GraphicView;

INTERFACE Input;
  { ( IN ReadByte | IN ReadLine ) ( OUT Byte(x: CHARACTER) | OUT Line(x: TEXT) | OUT EOF ) }
END Input;

INTERFACE Arguments;
  IN GetCount OUT Count(n: INTEGER) | IN Get(i: INTEGER) OUT Argument(x: TEXT)
END Arguments;

INTERFACE Network;
  ( IN Listen(address: TEXT) | IN Connect(address: TEXT) | IN Take(id: INTEGER)
  | IN Bind(address: TEXT) )
  ( OUT Failed(reason: TEXT)
  | OUT Opened(address: TEXT)
    { IN Accept OUT Accepted(id: INTEGER)
    | IN Send(data: TEXT)
    | IN Receive ( OUT Data(data: TEXT) | OUT End )
    | IN SendTo(address, data: TEXT)
    | IN ReceiveFrom OUT Datagram(address, data: TEXT) }
    IN Close )
END Network;

INTERFACE Pore;
  ( IN Open(kind, argument: TEXT) | IN Take(id: INTEGER) )
  ( OUT Failed(reason: TEXT)
  | OUT Opened(size: INTEGER)
    { IN Avail OUT Available(readable, writable: INTEGER)
    | ( IN Read(n: INTEGER) | IN Peek(n: INTEGER) | IN Get(offset, length: INTEGER) )
      OUT Data(data: TEXT)
    | IN Write(data: TEXT) OUT Accepted(n: INTEGER)
    | IN Send(first, second, third, fourth: TEXT)
    | IN Put(offset: INTEGER; data: TEXT)
    | IN Load(offset, width: INTEGER) OUT Loaded(value: INTEGER)
    | IN Store(offset, width, value: INTEGER)
    | IN Ring
    | IN Arm(readable, writable: INTEGER)
    | IN Next(n, writable: INTEGER)
    | IN Ask(n: INTEGER; first, second, third, fourth: TEXT)
    | OUT Event(readable, writable: INTEGER)
    | OUT Came(data: TEXT; until: INTEGER)
    | OUT Trouble(reason: TEXT) }
    ( IN Close | IN HandOver OUT Handed(id: INTEGER) ) )
END Pore;

INTERFACE Xenstore;
  IN Connect(kind, address: TEXT)
  ( OUT Refused(reason: TEXT)
  | OUT Connected
    { ( IN Write(path, value: TEXT; transaction: INTEGER)
      | IN Read(path: TEXT; transaction: INTEGER)
      | IN MakeDirectory(path: TEXT; transaction: INTEGER)
      | IN Remove(path: TEXT; transaction: INTEGER)
      | IN Directory(path: TEXT; transaction: INTEGER)
      | IN GetPermissions(path: TEXT; transaction: INTEGER)
      | IN SetPermissions(path, permissions: TEXT; transaction: INTEGER)
      | IN Watch(path, token: TEXT)
      | IN Unwatch(path, token: TEXT)
      | IN Start
      | IN Commit(transaction: INTEGER)
      | IN Abort(transaction: INTEGER) )
      ( OUT Done(result: TEXT) | OUT Failed(error: TEXT) )
    | IN Next OUT Fired(path, token: TEXT) }
    IN Close )
END Xenstore;

INTERFACE Packets;
  IN Open(app: TEXT)
  ( OUT Failed(reason: TEXT)
  | OUT Opened
    { IN Send(packet: TEXT) OUT Sent(isSent: BOOLEAN)
    | IN Receive OUT Packet(packet: TEXT)
    | IN GetTime OUT Time(time: INTEGER) }
    IN Close )
END Packets;

INTERFACE Messages;
  { ( IN New(type: TEXT)
    | IN Decode(type, data: TEXT)
    | IN Encode
    | IN Index(place: INTEGER)
    | IN Has(path: TEXT)
    | IN Count(path: TEXT)
    | IN GetInteger(path: TEXT)
    | IN GetReal(path: TEXT)
    | IN GetBoolean(path: TEXT)
    | IN GetText(path: TEXT)
    | IN SetInteger(path: TEXT; value: INTEGER)
    | IN SetReal(path: TEXT; value: REAL)
    | IN SetBoolean(path: TEXT; value: BOOLEAN)
    | IN SetText(path, value: TEXT)
    | IN Clear(path: TEXT) )
    ( OUT Done
    | OUT Integer(value: INTEGER)
    | OUT Real(value: REAL)
    | OUT Boolean(value: BOOLEAN)
    | OUT Text(value: TEXT)
    | OUT Failed(reason: TEXT) ) }
END Messages;
";

/// They have no file that a diagnostic could show.
const FILE: FileId = FileId(u32::MAX);

/// All of them, parsed.
pub(super) fn interfaces() -> ast::Program {
    let (file, diagnostics) = parse_file(FILE, SOURCE);
    debug_assert!(diagnostics.is_empty(), "{diagnostics:?}");
    ast::Program { files: vec![file] }
}

impl<'a> Checker<'a> {
    /// The interface of the system with this name, declared now if it has not been.
    pub(super) fn system_interface(&mut self, name: &str) -> Option<InterfaceId> {
        let ast = self.system_definition(name)?;
        let root = self.here_root();
        let id = self.add_interface(ast, root, true);
        self.scopes[root].interfaces.insert(&ast.name.text, (id, ast.name.span));
        self.resolve_interface(id);
        Some(id)
    }

    fn system_definition(&self, name: &str) -> Option<&'a ast::Interface> {
        self.system.definitions().find_map(|it| match it {
            Definition::Interface(it) if it.name.text == name => Some(it),
            _ => None,
        })
    }

    /// Whether the declaration repeats, rightly or not, one of the system.
    pub(super) fn repeats_system(&mut self, ast: &'a ast::Interface) -> bool {
        let Some(system) = self.system_definition(&ast.name.text) else { return false };
        let same = match (&ast.protocol, &system.protocol) {
            (Some(a), Some(b)) => same_protocol(a, b),
            _ => false,
        };
        if !same {
            let name = &ast.name.text;
            let message = format!("`{name}` is another interface of the system");
            let error = Diagnostic::error("system-interface", ast.name.span, message);
            self.report(error.help("leave it out, declare it the same, or choose another name"));
        }
        true
    }
}

fn same_protocol(a: &ast::Protocol, b: &ast::Protocol) -> bool {
    let same_term = |(a, b): (&ast::ProtocolTerm, &ast::ProtocolTerm)| {
        a.factors.len() == b.factors.len() && a.factors.iter().zip(&b.factors).all(same_factor)
    };
    a.terms.len() == b.terms.len() && a.terms.iter().zip(&b.terms).all(same_term)
}

fn same_factor((a, b): (&ProtocolFactor, &ProtocolFactor)) -> bool {
    match (a, b) {
        (ProtocolFactor::Message(a), ProtocolFactor::Message(b)) => {
            let same = a.direction == b.direction && a.name.text == b.name.text;
            same && parameters(a).eq(parameters(b))
        }
        (ProtocolFactor::Optional(a, _), ProtocolFactor::Optional(b, _))
        | (ProtocolFactor::Repeated(a, _), ProtocolFactor::Repeated(b, _))
        | (ProtocolFactor::Group(a, _), ProtocolFactor::Group(b, _)) => same_protocol(a, b),
        _ => false,
    }
}

/// The types of the parameters; their names say nothing to the other side.
fn parameters(message: &ast::Message) -> impl Iterator<Item = &ast::TypeKind> {
    message.parameters.iter().flat_map(|it| it.names.iter().map(|_| &it.ty.kind))
}
