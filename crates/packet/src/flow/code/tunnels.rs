//! Tunnels: headers that every program has, described in the way in which programs describe theirs.

use tidemill_diag::{FileId, Span};

use super::ast::{Constant, Expr, ExprKind, Word};
use super::headers::{Field, Header, TTL};
use super::names::{After, DeclaredHeader, Place};

/// The flag of VXLAN without which receivers drop a packet (RFC 7348).
const VNI_IS_VALID: u64 = 0x08;

/// The number of GRE among the headers.
const GRE: u32 = 1;

/// The protocol of Geneve for Ethernet inside (RFC 8926).
const ETHERNET: u64 = 0x6558;

/// The field of `bits` bits from `first_bit` on; nothing, if it is in more than 8 bytes and no
/// address of IPv6.
pub(super) fn field_at(first_bit: u32, bits: u32) -> Option<Field> {
    let (offset, below) = (first_bit / 8, first_bit % 8);
    let bytes = (below + bits).div_ceil(8);
    let shift = bytes * 8 - below - bits;
    let is_address = bits == 128 && below == 0;
    (bits > 0 && (bytes <= 8 || is_address)).then_some(Field {
        name: "",
        offset,
        bytes,
        shift,
        bits,
    })
}

/// Headers from 0 on, by number.
pub(super) fn tunnels() -> Vec<DeclaredHeader> {
    let mpls = header("mpls", &[("label", 20), ("class", 3), ("bottom", 1), ("ttl", 8)]);
    let mpls = preset(preset(mpls, "bottom", 1), "ttl", TTL);
    let mut gre = header(
        "gre",
        &[
            ("checksum_present", 1),
            ("reserved", 1),
            ("key_present", 1),
            ("sequence_present", 1),
            ("reserved_2", 9),
            ("version", 3),
            ("protocol", 16),
        ],
    );
    let optional = ["checksum_present", "key_present", "sequence_present"];
    let optional = optional.map(|name| binary("*", number(4), field("gre", name)));
    gre.size = Some(optional.clone().into_iter().fold(number(4), |sum, one| binary("+", sum, one)));
    // The optional parts of GRE in their order: the key is behind the checksum.
    let key_at = binary("+", number(4), optional[0].clone());
    let sequence_at = binary("+", key_at.clone(), optional[1].clone());
    let key = header("gre_key", &[("key", 32)]);
    let sequence = header("gre_sequence", &[("sequence", 32)]);
    let vxlan = [("flags", 8), ("reserved", 24), ("vni", 24), ("reserved_2", 8)];
    let vxlan = preset(header("vxlan", &vxlan), "flags", VNI_IS_VALID);
    let mut geneve = header(
        "geneve",
        &[
            ("version", 2),
            ("options_words", 6),
            ("control", 1),
            ("critical", 1),
            ("reserved", 6),
            ("protocol", 16),
            ("vni", 24),
            ("reserved_2", 8),
        ],
    );
    let options = binary("*", number(4), field("geneve", "options_words"));
    geneve.size = Some(binary("+", number(8), options));
    let geneve = preset(geneve, "protocol", ETHERNET);
    vec![
        after(mpls, &[(Header::Ethernet, "type", &[0x8847, 0x8848])]),
        after(
            gre.clone(),
            &[(Header::Ipv4, "protocol", &[47]), (Header::Ipv6, "next_header", &[47])],
        ),
        part(key, GRE, (&gre, "key_present"), key_at),
        part(sequence, GRE, (&gre, "sequence_present"), sequence_at),
        after(vxlan, &[(Header::Udp, "destination", &[4789])]),
        after(geneve, &[(Header::Udp, "destination", &[6081])]),
    ]
}

fn header(name: &str, fields: &[(&str, u32)]) -> DeclaredHeader {
    let mut bit = 0;
    let field = |&(name, bits): &(&str, u32)| {
        let field = field_at(bit, bits)?;
        bit += bits;
        Some((name.to_owned(), field))
    };
    let fields = fields.iter().filter_map(field).collect();
    let (after, presets) = (Vec::new(), Vec::new());
    let name = name.to_owned();
    DeclaredHeader { name, fields, bytes: bit / 8, after, at: 0, size: None, presets }
}

/// Sets what a field is in a new header.
fn preset(mut header: DeclaredHeader, field: &str, value: u64) -> DeclaredHeader {
    let found = header.fields.iter().find(|(name, _)| name == field);
    let preset = found.map(|(_, field)| (*field, value));
    header.presets.extend(preset);
    header
}

fn after(mut header: DeclaredHeader, parents: &[(Header, &str, &[u64])]) -> DeclaredHeader {
    for &(parent, name, numbers) in parents {
        let field = parent.fields().iter().find(|field| field.name == name).copied();
        let when = field.map(|field| (field, numbers.to_vec()));
        header.after.push(After { parent, when, place: Place::Behind });
    }
    header
}

/// An optional part of another header, which it has if a flag is 1.
fn part(
    mut part: DeclaredHeader,
    number: u32,
    (of, flag): (&DeclaredHeader, &str),
    at: Expr,
) -> DeclaredHeader {
    let found = of.fields.iter().find(|(name, _)| name == flag);
    let when = found.map(|(_, field)| (*field, vec![1]));
    let place = Place::Part(at);
    part.after.push(After { parent: Header::Declared(number), when, place });
    part
}

/// Expressions that no file has.
fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: Span { file: FileId(0), start: 0, end: 0 } }
}

fn number(number: u64) -> Expr {
    expr(ExprKind::Constant(Constant::Number(number)))
}

fn field(header: &str, name: &str) -> Expr {
    let word = |text: &str| Word { text: text.to_owned(), span: number(0).span };
    expr(ExprKind::Field(word(header), word(name)))
}

fn binary(operator: &'static str, a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Binary(operator, Box::new(a), Box::new(b)))
}
