//! Finds headers in a packet.

use super::headers::Header;
use super::lower::{Lower, Present};
use crate::kernel::{BlockId, Expr, Operator, Value, Width};

/// Types of Ethernet that are tags.
const TAGS: [u64; 2] = [0x8100, 0x88A8];

/// Tags before what is looked for, at most.
const TAGS_MAX: u32 = 2;

impl Lower<'_> {
    /// Goes on where `value` is not 0; another block, without an end, is among the missed.
    pub(super) fn guard(&mut self, value: Value, missed: &mut Vec<BlockId>) {
        let (yes, no) = (self.build.block(), self.build.block());
        self.build.branch(value, yes, no);
        missed.push(no);
        self.at(yes);
    }

    /// Goes on where the packet has so many bytes behind a value.
    pub(super) fn has(&mut self, base: Option<Value>, bytes: u32, missed: &mut Vec<BlockId>) {
        let mut end = self.build.constant(bytes.into());
        if let Some(base) = base {
            end = self.build.binary(Operator::AddSat, base, end);
        }
        let length = self.build.value(Expr::Length);
        let reaches = self.build.binary(Operator::Le, end, length);
        self.guard(reaches, missed);
        // For the verifier, which learns from this step alone.
        let never = self.reason("short");
        match base {
            Some(base) => self.build.need_at(base, bytes, never),
            None => self.build.need(bytes, never),
        }
    }

    /// Ends the current block and those that have no end: all go on at a new one.
    pub(super) fn join(&mut self, ends: Vec<BlockId>) {
        let here = self.here;
        let on = self.build.block();
        for end in ends.into_iter().chain([here]) {
            self.build.at(end);
            self.build.jump(on);
        }
        self.at(on);
    }

    /// Goes on where the packet has a header.
    pub(super) fn locate(&mut self, header: Header, missed: &mut Vec<BlockId>) -> Present {
        if let Some(found) = self.present(header) {
            return found;
        }
        match header {
            Header::Ethernet => {
                self.has(None, 14, missed);
                Present { header, base: None, next: None }
            }
            Header::Vlan => {
                self.has(None, 14, missed);
                let kind = self.load_at(None, 12, Width::W16);
                let is = self.is_tag(kind);
                self.guard(is, missed);
                self.has(None, 18, missed);
                Present { header, base: None, next: None }
            }
            Header::Arp => {
                let base = Some(self.network(0x0806, missed));
                self.has(base, 28, missed);
                Present { header, base, next: None }
            }
            Header::Ipv4 => self.ipv4(missed),
            Header::Ipv6 => self.ipv6(missed),
            Header::Tcp => self.transport(header, [Some(6), Some(6)], missed),
            Header::Udp => self.transport(header, [Some(17), Some(17)], missed),
            Header::Icmp => self.transport(header, [Some(1), None], missed),
        }
    }

    fn is_tag(&mut self, kind: Value) -> Value {
        let [one, other] = TAGS.map(|tag| self.with(Operator::Eq, kind, tag));
        self.build.binary(Operator::Or, one, other)
    }

    /// Where what follows Ethernet and its tags begins, if it is of a type.
    fn network(&mut self, wanted: u64, missed: &mut Vec<BlockId>) -> Value {
        self.has(None, 14, missed);
        let (start, kind) = (self.scratch("@network"), self.scratch("@type"));
        let at = self.build.constant(14);
        self.build.set_word(start, at);
        let found = self.load_at(None, 12, Width::W16);
        self.build.set_word(kind, found);
        let mut others = Vec::new();
        for tag in 0..TAGS_MAX {
            let end = 18 + 4 * tag;
            let found = self.build.word(kind);
            let is = self.is_tag(found);
            self.guard(is, &mut others);
            self.has(None, end, &mut others);
            let at = self.build.constant(end.into());
            self.build.set_word(start, at);
            let found = self.load_at(None, end - 2, Width::W16);
            self.build.set_word(kind, found);
        }
        self.join(others);
        let found = self.build.word(kind);
        let is = self.with(Operator::Eq, found, wanted);
        self.guard(is, missed);
        self.build.word(start)
    }

    fn ipv4(&mut self, missed: &mut Vec<BlockId>) -> Present {
        let base = self.network(0x0800, missed);
        self.has(Some(base), 20, missed);
        let first = self.load_at(Some(base), 0, Width::W8);
        let version = self.with(Operator::Shr, first, 4);
        let is = self.with(Operator::Eq, version, 4);
        self.guard(is, missed);
        let words = self.with(Operator::And, first, 15);
        let bytes = self.with(Operator::Shl, words, 2);
        let least = self.build.constant(20);
        let is = self.build.binary(Operator::Le, least, bytes);
        self.guard(is, missed);
        let next = Some(self.build.binary(Operator::Add, base, bytes));
        Present { header: Header::Ipv4, base: Some(base), next }
    }

    fn ipv6(&mut self, missed: &mut Vec<BlockId>) -> Present {
        let base = self.network(0x86DD, missed);
        self.has(Some(base), 40, missed);
        let first = self.load_at(Some(base), 0, Width::W8);
        let version = self.with(Operator::Shr, first, 4);
        let is = self.with(Operator::Eq, version, 6);
        self.guard(is, missed);
        let next = Some(self.with(Operator::Add, base, 40));
        Present { header: Header::Ipv6, base: Some(base), next }
    }

    /// A header behind IPv4 or IPv6, by the numbers it has there.
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
            let is = self.carries(at, protocol);
            self.guard(is, &mut others);
            if let Some(next) = at.next {
                self.build.set_word(start, next);
            }
            found.push(self.here);
            let on = self.build.block();
            for other in others {
                self.build.at(other);
                self.build.jump(on);
            }
            self.at(on);
        }
        missed.push(self.here);
        match found.pop() {
            Some(last) => {
                self.at(last);
                self.join(found);
            }
            // ICMP of IPv4 within IPv6: no packet has it.
            None => self.unreached(),
        }
        let base = Some(self.build.word(start));
        self.has(base, header.bytes(), missed);
        Present { header, base, next: None }
    }

    /// Goes on in a block that no other leads to.
    fn unreached(&mut self) {
        let never = self.build.block();
        self.at(never);
    }
}
