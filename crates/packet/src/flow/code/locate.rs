//! Finds headers in a packet.

use super::headers::Header;
use super::lower::Lower;
use super::names::{Base, Present};
use crate::kernel::{BlockId, Expr, Operator, Value, Width};
use crate::packet::BYTES_MAX;

/// Types of Ethernet that are tags.
pub(super) const TAGS: [u64; 2] = [0x8100, 0x88A8];

/// Numbers of IPv6 extension headers that are passed over, as bits: hop by hop, routing, fragment,
/// authentication, destination options.
const EXTENSIONS: u64 = 1 | 1 << 43 | 1 << 44 | 1 << 51 | 1 << 60;

/// Extension headers that are passed over, at most.
const EXTENSIONS_MAX: u32 = 4;

/// Whether it is the number of an extension header.
pub(super) fn is_extension(number: u64) -> bool {
    number < 64 && EXTENSIONS >> number & 1 == 1
}

/// Tags before what is looked for, at most.
const TAGS_MAX: u32 = 2;

impl Lower<'_> {
    /// Continues where `value` is not 0; another block, without an end, is among the missed.
    pub(super) fn guard(&mut self, value: Value, missed: &mut Vec<BlockId>) {
        let (yes, no) = (self.build.block(), self.build.block());
        self.build.branch(value, yes, no);
        missed.push(no);
        self.at(yes);
    }

    /// Continues where the packet has `bytes` bytes after a place. What is known is not tested.
    pub(super) fn has(&mut self, base: Base, bytes: u32, missed: &mut Vec<BlockId>) {
        let base = self.resolved(base);
        if base.value.is_none() && base.offset + bytes <= self.bytes {
            return;
        }
        let mut end = self.build.constant((base.offset + bytes).into());
        if let Some(base) = base.value {
            end = self.build.value(Expr::Binary(Operator::AddSat, base, end));
        }
        let length = self.build.value(Expr::Length);
        // From this form the verifier learns that the bytes are there.
        let reaches = self.build.binary(Operator::Le, end, length);
        self.guard(reaches, missed);
    }

    /// A place as an offset, if that is known and within a packet.
    pub(super) fn resolved(&self, base: Base) -> Base {
        let known = base.value.and_then(|value| self.build.constant_of(value));
        match known.and_then(|known| u32::try_from(known).ok()) {
            Some(known) if known as usize <= BYTES_MAX => Base::START.plus(known + base.offset),
            _ => base,
        }
    }

    /// Ends the current block and those that have no end: all continue at a new one.
    pub(super) fn join(&mut self, ends: Vec<BlockId>) {
        let here = self.here;
        let on = self.build.block();
        self.end_all(ends.into_iter().chain([here]), on);
        self.at(on);
    }

    /// Ends blocks: they continue at another.
    pub(super) fn end_all(&mut self, ends: impl IntoIterator<Item = BlockId>, on: BlockId) {
        for end in ends {
            self.build.at(end);
            self.build.jump(on);
        }
    }

    /// Continues where one of several ways has led to.
    pub(super) fn meet(&mut self, mut ways: Vec<BlockId>) {
        match ways.pop() {
            Some(last) => {
                self.at(last);
                self.join(ways);
            }
            // Unreachable.
            None => self.unreached(),
        }
    }

    /// Continues where the packet has a header.
    pub(super) fn locate(&mut self, header: Header, missed: &mut Vec<BlockId>) -> Present {
        if let Some(found) = self.present(header) {
            return found;
        }
        match header {
            Header::Ethernet => {
                self.has(Base::START, 14, missed);
                Present::new(header, Base::START)
            }
            Header::Vlan => {
                self.has(Base::START, 14, missed);
                let kind = self.load_at(Base::START, 12, Width::W16);
                let is = self.is_tag(kind);
                self.guard(is, missed);
                self.has(Base::START, 18, missed);
                Present::new(header, Base::START)
            }
            Header::Arp => {
                let base = self.network(0x0806, missed);
                self.has(base, 28, missed);
                Present::new(header, base)
            }
            Header::Ipv4 => self.ipv4(missed),
            Header::Ipv6 => self.ipv6(missed),
            Header::Tcp => self.transport(header, [Some(6), Some(6)], missed),
            Header::Udp => self.transport(header, [Some(17), Some(17)], missed),
            Header::Icmp => self.transport(header, [Some(1), None], missed),
            Header::Icmp6 => self.transport(header, [None, Some(58)], missed),
            Header::Declared(number) => self.locate_declared(number, missed),
        }
    }

    fn is_tag(&mut self, kind: Value) -> Value {
        let [one, other] = TAGS.map(|tag| self.with(Operator::Eq, kind, tag));
        self.build.binary(Operator::Or, one, other)
    }

    /// Where what follows Ethernet and its tags begins, if it is of a type. That is compared
    /// first, as most packets have no tag.
    fn network(&mut self, wanted: u64, missed: &mut Vec<BlockId>) -> Base {
        self.has(Base::START, 14, missed);
        let start = self.scratch("@network");
        let mut found = Vec::new();
        for end in (0..=TAGS_MAX).map(|tags| 14 + 4 * tags) {
            if end > 14 {
                self.has(Base::START, end, missed);
            }
            let kind = self.load_at(Base::START, end - 2, Width::W16);
            let is = self.with(Operator::Eq, kind, wanted);
            let mut others = Vec::new();
            self.guard(is, &mut others);
            let at = self.build.constant(end.into());
            self.build.set_word(start, at);
            found.push(self.here);
            others.iter().for_each(|&other| self.at(other));
            if end == 14 + 4 * TAGS_MAX {
                missed.extend(others);
            } else {
                self.guard_tag(kind, missed);
            }
        }
        self.meet(found);
        Base::at_value(self.build.word(start))
    }

    /// Continues where a type is that of a tag.
    fn guard_tag(&mut self, kind: Value, missed: &mut Vec<BlockId>) {
        let mut tagged = Vec::new();
        for tag in TAGS {
            let is = self.with(Operator::Eq, kind, tag);
            let mut others = Vec::new();
            self.guard(is, &mut others);
            tagged.push(self.here);
            others.iter().for_each(|&other| self.at(other));
        }
        missed.push(self.here);
        self.meet(tagged);
    }

    /// Where what follows Ethernet and its tags begins, and its type. The packet has 14 bytes.
    pub(super) fn network_start(&mut self) -> (Value, Value) {
        let (start, kind) = (self.scratch("@network"), self.scratch("@type"));
        let at = self.build.constant(14);
        self.build.set_word(start, at);
        let found = self.load_at(Base::START, 12, Width::W16);
        self.build.set_word(kind, found);
        let mut others = Vec::new();
        for tag in 0..TAGS_MAX {
            let end = 18 + 4 * tag;
            let found = self.build.word(kind);
            let is = self.is_tag(found);
            self.guard(is, &mut others);
            self.has(Base::START, end, &mut others);
            let at = self.build.constant(end.into());
            self.build.set_word(start, at);
            let found = self.load_at(Base::START, end - 2, Width::W16);
            self.build.set_word(kind, found);
        }
        self.join(others);
        let found = self.build.word(kind);
        (self.build.word(start), found)
    }

    fn ipv4(&mut self, missed: &mut Vec<BlockId>) -> Present {
        let base = self.network(0x0800, missed);
        self.has(base, 20, missed);
        let first = self.load_at(base, 0, Width::W8);
        // Version 4, and 5 to 15 words.
        let words = self.with(Operator::Sub, first, 0x45);
        let is = self.with(Operator::Le, words, 10);
        self.guard(is, missed);
        let words = self.with(Operator::And, first, 15);
        let bytes = self.with(Operator::Shl, words, 2);
        let start = self.value_of(base);
        let next = Base::at_value(self.build.binary(Operator::Add, start, bytes));
        Present { next: Some(next), ..Present::new(Header::Ipv4, base) }
    }

    fn ipv6(&mut self, missed: &mut Vec<BlockId>) -> Present {
        let base = self.network(0x86DD, missed);
        self.has(base, 40, missed);
        let first = self.load_at(base, 0, Width::W8);
        let version = self.with(Operator::Shr, first, 4);
        let is = self.with(Operator::Eq, version, 6);
        self.guard(is, missed);
        let (next, protocol) = self.skip_extensions(base);
        let (next, protocol) = (Some(next), Some(protocol));
        Present { next, protocol, ..Present::new(Header::Ipv6, base) }
    }

    /// Where what an IPv6 header carries begins after extension headers, and its protocol; 256 and
    /// more for what is no beginning, but a later fragment.
    fn skip_extensions(&mut self, base: Base) -> (Base, Value) {
        let (start, protocol) = (self.scratch("@ipv6_next"), self.scratch("@ipv6_protocol"));
        let found = self.load_at(base, 6, Width::W8);
        self.build.set_word(protocol, found);
        let at = self.value_of(base.plus(40));
        self.build.set_word(start, at);
        let mut others = Vec::new();
        for _ in 0..EXTENSIONS_MAX {
            let kind = self.build.word(protocol);
            let all = self.build.constant(EXTENSIONS);
            let is = self.build.binary(Operator::Shr, all, kind);
            let is = self.with(Operator::And, is, 1);
            self.guard(is, &mut others);
            let at = self.build.word(start);
            self.has(Base::at_value(at), 8, &mut others);
            let head = self.load_at(Base::at_value(at), 0, Width::W32);
            let [is_fragment, is_ah] = [44, 51].map(|of| self.with(Operator::Eq, kind, of));
            // In units of 8 bytes, or of 4; a fragment header has 8 bytes, whatever the field
            // contains.
            let units = self.with(Operator::Shr, head, 16);
            let units = self.with(Operator::And, units, 0xFF);
            let three = self.build.constant(3);
            let shift = self.build.binary(Operator::Sub, three, is_ah);
            let units = self.build.binary(Operator::Shl, units, shift);
            let is_other = self.with(Operator::Xor, is_fragment, 1);
            let bytes = self.build.binary(Operator::Mul, units, is_other);
            let bytes = self.with(Operator::Add, bytes, 8);
            let end = self.build.binary(Operator::Add, at, bytes);
            self.build.set_word(start, end);
            let next = self.with(Operator::Shr, head, 24);
            let later = self.with(Operator::And, head, 0xFFF8);
            let later = self.with(Operator::Ne, later, 0);
            let later = self.build.binary(Operator::And, later, is_fragment);
            let later = self.with(Operator::Shl, later, 8);
            let next = self.build.binary(Operator::Or, next, later);
            self.build.set_word(protocol, next);
        }
        self.join(others);
        (Base::at_value(self.build.word(start)), self.build.word(protocol))
    }

    /// A header after IPv4 or IPv6, by the numbers it has there.
    fn transport(
        &mut self,
        header: Header,
        [four, six]: [Option<u64>; 2],
        missed: &mut Vec<BlockId>,
    ) -> Present {
        let start = self.scratch("@transport");
        let known = self.present(Header::Ipv4).is_some() || self.present(Header::Ipv6).is_some();
        let mut found = Vec::new();
        for (ip, protocol) in [(Header::Ipv4, four), (Header::Ipv6, six)] {
            let Some(protocol) = protocol else { continue };
            if known && self.present(ip).is_none() {
                continue;
            }
            let mut others = Vec::new();
            let at = self.locate(ip, &mut others);
            self.guard_carries(at, protocol, &mut others);
            if let Some(next) = at.next {
                let next = self.value_of(next);
                self.build.set_word(start, next);
            }
            found.push(self.here);
            let on = self.build.block();
            self.end_all(others, on);
            self.at(on);
        }
        missed.push(self.here);
        // ICMP of IPv4 within IPv6, and the other way round, no packet has.
        self.meet(found);
        let base = Base::at_value(self.build.word(start));
        self.has(base, header.bytes(), missed);
        Present::new(header, base)
    }

    /// Continues in a block that no other leads to.
    fn unreached(&mut self) {
        let never = self.build.block();
        self.at(never);
    }
}
