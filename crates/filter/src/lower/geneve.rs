//! `geneve`: what is inside of the tunnel (RFC 8926).
//!
//! ```text
//!   outer headers | UDP to 6081
//!   version 2 bits, words of options 6 bits | flags 1 | type 2 | network 3 | 0 1
//!   options | Ethernet header and payload, or payload alone
//! ```
//! From here on the text is about the inner packet, and its start depends on the packet: after
//! IPv4 with options or after IPv6, after options of Geneve, with or without an Ethernet header.
//! A graph has no variables, so the offsets are computed: a bit that distinguishes two cases,
//! spread over a word, selects one of two numbers without a branch.
//!
//! Tests on ways that have not found such a header (`not geneve and tcp`) look where it would lead.
//! libpcap then uses registers that nothing has set.

use tidemill_diag::Span;

use super::condition::Condition;
use super::headers::{Field, Number};
use super::layout::{HeaderStart, Link};
use super::link::{IP, IP6};
use super::primitive::UDP;
use super::{Lower, Lowered};
use crate::ast::{Direction, Operator};
use crate::graph::{Check, Comparison, Family, Test, ValueId, Width};

const PORT: u32 = 6081;
const UDP_BYTES: u32 = 8;
/// Bytes of a Geneve header before its options.
const HEADER_BYTES: u32 = 8;
/// The type of a payload with an Ethernet header.
const BRIDGED: u32 = 0x6558;
/// Tunnels within tunnels: each triples what it takes to know where the next header is.
const TUNNELS_MAX: u32 = 3;

impl Lower {
    /// Only where there is an Ethernet header, which Geneve may do without.
    pub(super) fn with_ethernet(&mut self, condition: Condition) -> Condition {
        let Some(left) = self.layout.has_ethernet else { return condition };
        let (right, comparison) = (self.values.constant(1), Comparison::Equal);
        Condition::Test(self.tunnels.clone(), Test { comparison, left, right }).and(condition)
    }

    pub(super) fn geneve(&mut self, network: Option<u32>, span: Span) -> Lowered<Condition> {
        self.at_most(network, 0xff_ffff, "a network of Geneve", span)?;
        if self.layout.tunnels == TUNNELS_MAX {
            let message = format!("more than {TUNNELS_MAX} tunnels within each other");
            return Err(self.error("nesting-too-deep", span, message));
        }
        let four = self.geneve_over(Family::Four, network, span)?;
        let six = self.geneve_over(Family::Six, network, span)?;
        let there = four.or(six);
        Ok(there.and(self.enter_geneve()))
    }

    fn geneve_over(
        &mut self,
        family: Family,
        network: Option<u32>,
        span: Span,
    ) -> Lowered<Condition> {
        let frame = self.frame(if family == Family::Four { IP } else { IP6 }, span)?;
        let port = self.any_port(family, &[UDP], Direction::Destination, (PORT, PORT))?;
        let field = |offset| match family {
            Family::Four => Field::Transport4(UDP_BYTES + offset),
            Family::Six => Field::Transport6(UDP_BYTES + offset),
        };
        let version = self.masked(field(0), Width::Byte, 0xc0, Comparison::Equal, 0);
        let network = network.map(|network| {
            let (mask, number) = (0xffff_ff00, network << 8);
            self.masked(field(4), Width::Word, mask, Comparison::Equal, number)
        });
        Ok(Condition::And([frame, port, version].into_iter().chain(network).collect()))
    }

    /// Moves on to the inner packet. The condition always holds; its checks are those of the loads
    /// that compute its start.
    fn enter_geneve(&mut self) -> Condition {
        let outer = self.layout.network();
        let mut checks = Vec::new();
        // One bit of the frame's type distinguishes the two; after labels, the version.
        let (field, width, bit) = match (self.layout.labels, self.layout.link) {
            (0, Link::Ethernet) => (Field::At(self.layout.link_type), Width::Half, 15),
            (0, Link::Ppp) => (Field::At(self.layout.link_type), Width::Half, 1),
            _ => (Field::Network(0), Width::Byte, 5),
        };
        let kind = self.loaded(field, width, &mut checks);
        let (bit, one) = (self.values.constant(bit), self.values.constant(1));
        let kind = self.values.binary(Operator::ShiftRight, kind, bit);
        let is_six = self.values.binary(Operator::And, kind, one);
        let Number { value: header_bytes, checks: more } = self.header_bytes();
        checks.extend(more);
        let forty = self.values.constant(40);
        let header_bytes = self.choose(is_six, forty, header_bytes);
        let base = self.after(header_bytes, outer.base);
        let header = HeaderStart { base: Some(base), offset: outer.offset + UDP_BYTES };
        // The options, and what follows them.
        let first = self.loaded(Field::At(header), Width::Byte, &mut checks);
        let kind = self.loaded(Field::At(header.plus(2)), Width::Half, &mut checks);
        let (words, two) = (self.values.constant(0x3f), self.values.constant(2));
        let options = self.values.binary(Operator::And, first, words);
        let options = self.values.binary(Operator::ShiftLeft, options, two);
        let inner = self.values.binary(Operator::Add, options, base);
        let inner = HeaderStart { base: Some(inner), offset: header.offset + HEADER_BYTES };
        // 0 less 1 has its highest bit set, and no other difference has.
        let (bridged, top) = (self.values.constant(BRIDGED), self.values.constant(31));
        let difference = self.values.binary(Operator::Xor, kind, bridged);
        let difference = self.values.binary(Operator::Subtract, difference, one);
        let has_ethernet = self.values.binary(Operator::ShiftRight, difference, top);
        // The type is in the Ethernet header, 12 bytes after the end of the other, or 2 bytes
        // after the begin of that.
        let zero = self.values.constant(0);
        let type_at = self.values.constant(HEADER_BYTES - 2 + 12);
        let type_at = self.values.binary(Operator::Add, options, type_at);
        let type_at = self.choose(has_ethernet, type_at, zero);
        let type_base = self.values.binary(Operator::Add, type_at, base);
        let ethernet = self.values.constant(14);
        let skipped = self.choose(has_ethernet, ethernet, zero);
        let payload = self.after(skipped, inner.base);
        self.layout.link = Link::Ethernet;
        self.layout.link_header = inner;
        self.layout.link_type = HeaderStart { base: Some(type_base), ..header }.plus(2);
        self.layout.payload = HeaderStart { base: Some(payload), ..inner };
        self.layout.labels = 0;
        self.layout.has_ethernet = Some(has_ethernet);
        self.layout.tunnels += 1;
        let (left, right) = (first, self.values.constant(0xff));
        self.tunnels.clone_from(&checks);
        Condition::Test(checks, Test { comparison: Comparison::Greater, left, right }).not()
    }

    fn loaded(&mut self, field: Field, width: Width, checks: &mut Vec<Check>) -> ValueId {
        let Number { value, checks: more } = self.load(field, width);
        checks.extend(more);
        value
    }

    /// The first if the bit is 1, the second if it is 0.
    fn choose(&mut self, bit: ValueId, first: ValueId, second: ValueId) -> ValueId {
        let zero = self.values.constant(0);
        let mask = self.values.binary(Operator::Subtract, zero, bit);
        let difference = self.values.binary(Operator::Xor, first, second);
        let difference = self.values.binary(Operator::And, difference, mask);
        self.values.binary(Operator::Xor, difference, second)
    }
}
