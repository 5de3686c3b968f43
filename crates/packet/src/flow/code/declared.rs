//! Headers that a program declares, and tunnels: what they follow, and where they are in a packet.

use tidemill_diag::{Span, meant};

use super::ast::{AfterDef, Constant, Expr, ExprKind, HeaderDef, Word};
use super::headers::{Field, Header};
use super::locate::{TAGS, is_extension};
use super::lower::Lower;
use super::names::{After, Base, DeclaredHeader, Place, Present};
use super::tunnels::{field_at, tunnels};
use crate::kernel::{BlockId, Operator, Value};
use crate::packet::BYTES_MAX;

/// Bits of a declared header at most.
const BITS_MAX: u32 = 256 * 8;

/// What the numbers of a field announce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Announced {
    /// Tags or extension headers, which are passed over otherwise: the field itself counts.
    Passed,
    /// What comes after them.
    Payload,
}

/// What such numbers of a field announce; `None` if some announce one and some the other.
fn announces(header: Header, field: &Field, numbers: &[u64]) -> Option<Announced> {
    let is_passed = |number: &&u64| match (header, field.name) {
        (Header::Ethernet, "type") => TAGS.contains(number),
        (Header::Ipv6, "next_header") => is_extension(**number),
        _ => false,
    };
    match numbers.iter().filter(is_passed).count() {
        0 => Some(Announced::Payload),
        all if all == numbers.len() => Some(Announced::Passed),
        _ => None,
    }
}

impl Lower<'_> {
    pub(super) fn declare_headers(&mut self) {
        let definition = self.definition;
        self.headers = tunnels();
        for header in &definition.headers {
            let declared = self.declare_header(header);
            self.headers.push(declared);
        }
    }

    fn declare_header(&mut self, header: &HeaderDef) -> DeclaredHeader {
        let (name, span) = (header.name.text.as_str(), header.name.span);
        if self.header_named(name).is_some() || self.is_reserved(name) {
            let message = format!("`{name}` is a name of the language, or another header");
            self.error("duplicate-name", span, message, "choose another name");
        }
        let (mut fields, mut bit) = (Vec::<(String, Field)>::new(), 0);
        for (field, bits) in &header.fields {
            let bits = u32::try_from(*bits).unwrap_or(u32::MAX).min(BITS_MAX);
            match field_at(bit, bits) {
                Some(at) => fields.push((field.text.clone(), at)),
                None => {
                    let message =
                        format!("`{}` has no bits, or is in more than 8 bytes", field.text);
                    let help = "a field has 1 to 64 bits and lies in 8 bytes, or is 16 whole bytes";
                    self.error("bad-header", field.span, message, help);
                }
            }
            bit = (bit + bits).min(BITS_MAX);
        }
        let names: Vec<&Word> = header.fields.iter().map(|(field, _)| field).collect();
        for (at, field) in names.iter().enumerate() {
            if names[..at].iter().any(|other| other.text == field.text) {
                let message = format!("there are two fields `{}`", field.text);
                self.error("duplicate-name", field.span, message, "give one another name");
            }
        }
        if bit % 8 != 0 || bit == 0 || bit >= BITS_MAX {
            let message = format!("`{name}` has {bit} bits, which are no bytes");
            let help = "add a field `reserved`; a header has 1 to 255 bytes";
            self.error("bad-header", span, message, help);
        }
        let after = self.declare_parents(header);
        let at = header.at.map_or(0, |(at, span)| self.offset_of(at, span));
        let size = header.size.clone();
        let presets = Vec::new();
        DeclaredHeader { name: name.to_owned(), fields, bytes: bit / 8, after, at, size, presets }
    }

    /// Where a header begins that follows none.
    fn offset_of(&mut self, at: u64, span: Span) -> u32 {
        match u32::try_from(at).ok().filter(|at| *at as usize <= BYTES_MAX) {
            Some(at) => at,
            None => {
                let message = format!("no packet has byte {at}");
                let help = format!("a header begins at {BYTES_MAX} at most");
                self.error("bad-header", span, message, &help);
                0
            }
        }
    }

    fn declare_parents(&mut self, header: &HeaderDef) -> Vec<After> {
        let mut after = Vec::new();
        for parent in &header.after {
            let Some(found) = self.header(&parent.parent) else { continue };
            let when = match &parent.when {
                Some((field, numbers)) => {
                    let Some(known) = self.field_named(found, field) else { continue };
                    if known.bits > 64 {
                        let message = format!("`{}` is an IPv6 address", field.text);
                        let help = "a field that announces a header is a number";
                        self.error("bad-header", field.span, message, help);
                    }
                    Some((known, numbers.clone()))
                }
                None => None,
            };
            if let Some((field, numbers)) = &when
                && announces(found, field, numbers).is_none()
            {
                let message = format!("`{}` announces headers of two kinds", field.name);
                let help = "declare one header for tags or extension headers, which others pass \
                            over, and one for the rest";
                self.error("bad-header", parent.parent.span, message, help);
            }
            let is_covered = self.is_covered(found);
            if header.after.len() > 1 && is_covered {
                let message = format!("`{}` cannot be one of several here", parent.parent.text);
                let help = "the checksum that covers a header must be known: declare two headers";
                self.error("bad-header", parent.parent.span, message, help);
            }
            let place = self.declare_place(found, parent);
            after.push(After { parent: found, when, place });
        }
        after
    }

    /// Whether a header is behind another, or where it is in the options of that.
    fn declare_place(&mut self, found: Header, parent: &AfterDef) -> Place {
        let Some(at) = &parent.at else { return Place::Behind };
        let (name, fixed) = (&parent.parent.text, self.bytes_of(found));
        if !self.has_options(found) {
            let message = format!("{name} has no options that a header could be in");
            let help = "a header is in ipv4, tcp, geneve, or one that is declared with a `size`";
            self.error("bad-header", parent.parent.span, message, help);
        } else if let ExprKind::Constant(Constant::Number(number)) = at.kind
            && number < fixed.into()
        {
            let message = format!("byte {number} of {name} belongs to its fields");
            let help =
                format!("`at` counts from the beginning of {name}: its options begin at {fixed}");
            self.error("bad-header", at.span, message, &help);
        }
        Place::Inside(at.clone())
    }

    /// Whether a checksum covers what follows a header.
    fn is_covered(&self, header: Header) -> bool {
        match header {
            Header::Tcp | Header::Udp | Header::Icmp | Header::Icmp6 => true,
            Header::Declared(number) => {
                let after = &self.headers[number as usize].after;
                after.iter().any(|after| self.is_covered(after.parent))
            }
            _ => false,
        }
    }

    /// Whether a header says itself how many bytes it has after its fields.
    pub(super) fn has_options(&self, header: Header) -> bool {
        match header {
            Header::Ipv4 | Header::Tcp => true,
            Header::Declared(number) => self.headers[number as usize].size.is_some(),
            _ => false,
        }
    }

    /// A field of a header.
    pub(super) fn field_named(&mut self, header: Header, field: &Word) -> Option<Field> {
        let name = self.name_of(header);
        let all: Vec<(String, Field)> = match header {
            Header::Declared(number) => self.headers[number as usize].fields.clone(),
            header => header.fields().iter().map(|it| (it.name.to_owned(), *it)).collect(),
        };
        if let Some((_, found)) = all.iter().find(|(name, _)| *name == field.text) {
            return Some(*found);
        }
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        let help = meant(&field.text, names.iter().copied(), || {
            format!("its fields are {}", names.join(", "))
        });
        let message = format!("{name} has no field `{}`", field.text);
        self.error("unknown-field", field.span, message, &help);
        None
    }

    pub(super) fn header_named(&self, name: &str) -> Option<Header> {
        let declared = self.headers.iter().position(|header| header.name == name);
        let known = Header::NAMES.iter().find(|(_, known)| *known == name);
        known.map(|(header, _)| *header).or(declared.map(|at| Header::Declared(at as u32)))
    }

    pub(super) fn name_of(&self, header: Header) -> String {
        match header {
            Header::Declared(number) => self.headers[number as usize].name.clone(),
            header => {
                let known = Header::NAMES.iter().find(|(known, _)| *known == header);
                known.map_or(String::new(), |(_, name)| (*name).to_owned())
            }
        }
    }

    /// Bytes that a packet has of a header at least.
    pub(super) fn bytes_of(&self, header: Header) -> u32 {
        match header {
            Header::Declared(number) => self.headers[number as usize].bytes,
            header => header.bytes(),
        }
    }

    /// Continues where the packet has a declared header.
    pub(super) fn locate_declared(&mut self, number: u32, missed: &mut Vec<BlockId>) -> Present {
        let header = Header::Declared(number);
        let DeclaredHeader { after, at, bytes, name, .. } = self.headers[number as usize].clone();
        let mut found = Present::new(header, Base::START);
        if after.is_empty() {
            found.base = Base::START.plus(at);
        } else if let [after] = after.as_slice() {
            let (base, covered_by) = self.base_after(after, bytes, missed);
            (found.base, found.covered_by) = (base, covered_by);
        } else {
            let start = self.scratch(&format!("@{name}"));
            let mut ways = Vec::new();
            for after in &after {
                let mut others = Vec::new();
                let (base, _) = self.base_after(after, bytes, &mut others);
                let base = self.value_of(base);
                self.build.set_word(start, base);
                ways.push(self.here);
                let on = self.build.block();
                self.end_all(others, on);
                self.at(on);
            }
            missed.push(self.here);
            self.meet(ways);
            found.base = Base::at_value(self.build.word(start));
        }
        self.has(found.base, bytes, missed);
        found
    }

    /// Continues where a header is announced by its predecessor: the place where the next header
    /// begins, which has `bytes` bytes, and the header whose checksum covers it.
    fn base_after(
        &mut self,
        after: &After,
        bytes: u32,
        missed: &mut Vec<BlockId>,
    ) -> (Base, Option<(Header, Base)>) {
        if after.parent == Header::Ethernet && self.present(Header::Ethernet).is_none() {
            self.has(Base::START, 14, missed);
        }
        let own = after.when.as_ref().and_then(|(field, of)| announces(after.parent, field, of));
        if let (Some(Announced::Passed), Some((field, numbers))) = (own, &after.when) {
            return (self.base_of_passed(after.parent, field, numbers, missed), None);
        }
        if after.parent == Header::Ethernet {
            // Tags are passed over: it is the type after them that counts.
            let (start, kind) = self.network_start();
            if let Some((field, numbers)) = &after.when {
                let is_type = field.name == "type";
                let at = Present::new(Header::Ethernet, Base::START);
                let value = if is_type { kind } else { self.field(at.base, field) };
                self.is_one_of(value, numbers, missed);
            }
            return (Base::at_value(start), None);
        }
        let parent = self.locate(after.parent, missed);
        if let Some((field, numbers)) = &after.when {
            let value = match parent.protocol {
                Some(protocol) if field.name == "next_header" => protocol,
                _ => self.field(parent.base, field),
            };
            self.is_one_of(value, numbers, missed);
        }
        if parent.header == Header::Ipv4 && !matches!(after.place, Place::Inside(_)) {
            let is_first = self.is_first_fragment(parent);
            self.guard(is_first, missed);
        }
        let covered_by = match parent.header {
            Header::Tcp | Header::Udp | Header::Icmp | Header::Icmp6 => {
                Some((parent.header, parent.base))
            }
            Header::Ipv4 if matches!(after.place, Place::Inside(_)) => {
                Some((parent.header, parent.base))
            }
            _ => parent.covered_by,
        };
        let base = match &after.place {
            Place::Behind => self.next_of(parent),
            Place::Part(at) => self.base_behind(parent, at),
            Place::Inside(at) => self.base_inside(parent, at, bytes, missed),
        };
        (base, covered_by)
    }

    /// Continues where a tag, or the first extension header, is of one of these kinds: the place
    /// where it begins.
    fn base_of_passed(
        &mut self,
        parent: Header,
        field: &Field,
        numbers: &[u64],
        missed: &mut Vec<BlockId>,
    ) -> Base {
        let base = match parent {
            Header::Ethernet => Base::START,
            parent => self.locate(parent, missed).base,
        };
        let value = self.field(base, field);
        self.is_one_of(value, numbers, missed);
        base.plus(parent.bytes())
    }

    /// Continues where the options of a header have `bytes` bytes at an offset from its beginning.
    fn base_inside(
        &mut self,
        parent: Present,
        at: &Expr,
        bytes: u32,
        missed: &mut Vec<BlockId>,
    ) -> Base {
        let base = self.base_behind(parent, at);
        let first = parent.base.plus(self.bytes_of(parent.header));
        if base.value != first.value || base.offset < first.offset {
            let (first, start) = (self.value_of(first), self.value_of(base));
            let is_option = self.build.binary(Operator::Le, first, start);
            self.guard(is_option, missed);
        }
        let (end, next) = (self.value_of(base.plus(bytes)), self.next_of(parent));
        let next = self.value_of(next);
        let is_inside = self.build.binary(Operator::Le, end, next);
        self.guard(is_inside, missed);
        base
    }

    fn is_one_of(&mut self, value: Value, numbers: &[u64], missed: &mut Vec<BlockId>) {
        let mut is_one = None;
        for &number in numbers {
            let is_it = self.with(Operator::Eq, value, number);
            is_one = Some(match is_one {
                None => is_it,
                Some(others) => self.build.binary(Operator::Or, others, is_it),
            });
        }
        if let Some(is_one) = is_one {
            self.guard(is_one, missed);
        }
    }

    /// Where what a header carries begins.
    pub(super) fn next_of(&mut self, present: Present) -> Base {
        if let Some(next) = present.next {
            return next;
        }
        let words = match present.header {
            Header::Tcp => {
                let words = self.load_at(present.base, 12, crate::kernel::Width::W8);
                let words = self.with(Operator::Shr, words, 4);
                self.with(Operator::Shl, words, 2)
            }
            Header::Declared(number) => {
                let declared = &self.headers[number as usize];
                let Some(size) = declared.size.clone() else {
                    return present.base.plus(declared.bytes);
                };
                return self.base_behind(present, &size);
            }
            header => return present.base.plus(header.bytes()),
        };
        let base = self.value_of(present.base);
        Base::at_value(self.build.binary(Operator::AddSat, base, words))
    }

    /// The place as many bytes behind the beginning of a header as an expression about it says.
    fn base_behind(&mut self, present: Present, bytes: &Expr) -> Base {
        self.present.push(present);
        let bytes = self.number(bytes);
        self.present.pop();
        let known = self.build.constant_of(bytes).and_then(|known| u32::try_from(known).ok());
        if let Some(known) = known.filter(|known| *known as usize <= BYTES_MAX) {
            return present.base.plus(known);
        }
        let base = self.value_of(present.base);
        Base::at_value(self.build.binary(Operator::AddSat, base, bytes))
    }

    /// A place as a number.
    pub(super) fn value_of(&mut self, base: Base) -> Value {
        match base {
            Base { value: None, offset } => self.build.constant(offset.into()),
            Base { value: Some(value), offset: 0 } => value,
            Base { value: Some(value), offset } => {
                self.with(Operator::AddSat, value, offset.into())
            }
        }
    }
}
