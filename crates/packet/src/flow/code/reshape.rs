//! Headers taken off and put on, and packets shortened. Afterwards nothing is known of the packet
//! but what was put on.

use super::ast::{Expr, ExprKind, Word};
use super::headers::{Field, Header, TTL};
use super::lower::Lower;
use super::names::{After, Base, Meaning, Place, Present};
use crate::kernel::{Address, Expr as Computed, Operator, Width};
use crate::packet::BYTES_MAX as PACKET_BYTES_MAX;

/// Bytes that are put on at once, at most.
const BYTES_MAX: u32 = crate::kernel::HEADER_MAX;

impl Lower<'_> {
    /// `strip header;`: all up to its end goes.
    pub(super) fn strip(&mut self, word: &Word) {
        if !self.needs_packet(word.span) {
            return;
        }
        let Some(header) = self.header(word) else { return };
        let Some(present) = self.present(header) else { return self.absent(word) };
        let next = self.next_of(present);
        let next = self.resolved(next);
        if next.value.is_none() && next.offset <= self.bytes {
            self.build.strip(next.offset);
            self.bytes -= next.offset;
            self.present.iter_mut().for_each(|present| present.is_gone = true);
            return;
        }
        let reason = self.reason("short");
        let base = self.value_of(next);
        self.build.need_at(base, 0, reason);
        self.build.strip_to(base, 0);
        self.forget_headers();
    }

    /// `shorten length;`: what is longer is cut off.
    pub(super) fn shorten(&mut self, length: &Expr) {
        let value = self.number(length);
        if self.needs_packet(length.span) {
            self.build.shorten(value);
            self.forget_headers();
        }
    }

    fn forget_headers(&mut self) {
        self.present.iter_mut().for_each(|present| present.is_gone = true);
        self.bytes = 0;
    }

    /// `truncate length;`: what is longer is cut off; its length on the wire stays.
    pub(super) fn truncate(&mut self, length: &Expr) {
        let value = self.number(length);
        if self.needs_packet(length.span) {
            self.build.truncate(value);
            self.forget_headers();
        }
    }

    /// `if length < bytes { drop reason; }` with a number that is known: returns whether it was
    /// one.
    pub(super) fn need(&mut self, condition: &Expr, reason: &Word) -> bool {
        let ExprKind::Binary("<", length, bytes) = &condition.kind else { return false };
        let is_length = matches!(&length.kind, ExprKind::Name(name) if name == "length");
        if !is_length || !self.has_packet || !self.is_constant(bytes) {
            return false;
        }
        let value = self.number(bytes);
        let known = self.build.constant_of(value).and_then(|number| u32::try_from(number).ok());
        let Some(bytes) = known.filter(|bytes| *bytes as usize <= PACKET_BYTES_MAX) else {
            return false;
        };
        let reason = self.reason_for(reason);
        self.build.need(bytes, reason);
        self.bytes = self.bytes.max(bytes);
        true
    }

    /// Whether an expression has constants only.
    fn is_constant(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Constant(_) => true,
            ExprKind::Name(name) => {
                let found = self.names.iter().rev().find(|(text, _)| text == name);
                matches!(found, Some((_, Meaning::Constant(_))))
            }
            ExprKind::Binary(_, a, b) => self.is_constant(a) && self.is_constant(b),
            _ => false,
        }
    }

    /// `byte(offset) = value;`: nothing, where there is no such byte.
    pub(super) fn set_byte(&mut self, word: &Word, offset: &Expr, value: &Expr) {
        let (offset, value) = (self.number(offset), self.number(value));
        if !self.needs_packet(word.span) {
            return;
        }
        let (at, mut missed) = (Base::at_value(offset), Vec::new());
        self.has(at, 1, &mut missed);
        self.store_at(at, 0, Width::W8, value);
        if !missed.is_empty() {
            self.join(missed);
        }
    }

    /// `prepend header, ...;`: zeros, but for what makes each follow the one before.
    pub(super) fn prepend(&mut self, words: &[Word], reason: Option<&Word>) {
        if !self.needs_packet(words[0].span) {
            return;
        }
        let headers: Option<Vec<Header>> = words.iter().map(|word| self.header(word)).collect();
        let Some(headers) = headers else { return };
        let bytes = self.bytes_put_on(words, &headers);
        let reason = match reason {
            Some(reason) => self.reason_for(reason),
            None => self.reason("too_long"),
        };
        self.build.prepend(bytes, reason);
        let known = self.bytes;
        self.forget_headers();
        self.bytes = known + bytes;
        let mut base = Base::START;
        let mut transport = None;
        // The header, with its place, that optional parts belong to: it announces what follows.
        let mut owner = (headers[0], base);
        for (at, &header) in headers.iter().enumerate() {
            let next = base.plus(self.own_bytes(header));
            // The fields of a tag have their offsets from the beginning of the frame.
            let start = if header == Header::Vlan { Base::START } else { base };
            if self.is_part(header) {
                self.fits_part(&words[at], header, [owner.1, base]);
            } else {
                owner = (header, start);
            }
            let follows = headers.get(at + 1).map(|&next| self.link_of(owner.0, header, next));
            if follows == Some(None) {
                let (before, following) = (&words[at].text, &words[at + 1]);
                let message = format!("`{}` does not follow `{before}`", following.text);
                let help = match headers[at + 1] {
                    Header::Vlan => "one tag follows `ethernet`; the app VlanTag puts on another",
                    _ => "declare what follows by which field",
                };
                self.error("bad-header", following.span, message, help);
            }
            let follows = follows.flatten().flatten();
            self.fill(header, start, follows.filter(|_| owner.0 == header));
            if let Some((field, number)) = follows.filter(|_| owner.0 != header) {
                self.announce(owner, &field, number);
            }
            let end = self.end_of_new(header, next, &headers[at + 1..]);
            let is_option = self.is_part(header) && owner.0 == Header::Ipv4;
            let covered_by = if is_option { Some(owner) } else { transport };
            let present = Present { next: end, covered_by, ..Present::new(header, start) };
            self.present.push(present);
            if matches!(header, Header::Tcp | Header::Udp | Header::Icmp | Header::Icmp6) {
                transport = Some((header, base));
            }
            base = next;
        }
        self.fill_checksums(&headers);
        self.know_protocols();
    }

    /// Where a new header ends whose fields end at `next`, before these others.
    fn end_of_new(&self, header: Header, next: Base, others: &[Header]) -> Option<Base> {
        match header {
            // Its options are those that are put on with it.
            Header::Ipv4 => {
                let parts = others.iter().take_while(|&&part| self.is_part(part));
                Some(next.plus(parts.map(|&part| self.own_bytes(part)).sum()))
            }
            // What has options ends where its fields say, which the program may set.
            header => (!self.has_options(header)).then_some(next),
        }
    }

    /// What a new header of IPv6 carries is known from its own field: there are no extension
    /// headers.
    fn know_protocols(&mut self) {
        for present in 0..self.present.len() {
            let Present { header, base, is_gone, .. } = self.present[present];
            if header == Header::Ipv6 && !is_gone {
                self.present[present].protocol = Some(self.load_at(base, 6, Width::W8));
            }
        }
    }

    /// Writes the checksums of headers that were put on, over what follows them, the innermost
    /// first. UDP over IPv4 needs none.
    fn fill_checksums(&mut self, headers: &[Header]) {
        let mut end: u32 = headers.iter().map(|&header| self.own_bytes(header)).sum();
        for (at, &header) in headers.iter().enumerate().rev() {
            end -= self.own_bytes(header);
            let ip = headers[..at].iter().rev().copied().find(|&before| !self.is_part(before));
            let pseudo = match (header, ip) {
                (Header::Icmp, _) => 0,
                (Header::Tcp, Some(Header::Ipv4 | Header::Ipv6)) => 6,
                (Header::Icmp6, Some(Header::Ipv6)) => 58,
                (Header::Udp, Some(Header::Ipv6)) => 17,
                _ => continue,
            };
            let Some(offset) = header.checksum() else { continue };
            let mut sum = self.build.value(Computed::Sum(Address { base: None, offset: end }));
            if pseudo != 0 {
                sum = self.with(Operator::Add, sum, pseudo);
            }
            // The length that UDP has in its pseudo-header is that of its field, which is 0 so far.
            if matches!(header, Header::Tcp | Header::Icmp6) {
                let length = self.build.value(Computed::Length);
                let length = self.with(Operator::Sub, length, end.into());
                sum = self.build.binary(Operator::Add, sum, length);
            }
            let sum = self.with(Operator::Sum16, sum, 0);
            let mut checksum = self.with(Operator::Xor, sum, 0xFFFF);
            if header == Header::Udp {
                let is_none = self.with(Operator::Eq, checksum, 0);
                let ones = self.with(Operator::Mul, is_none, 0xFFFF);
                checksum = self.build.binary(Operator::Or, checksum, ones);
            }
            self.store_at(Base::START, end + offset, Width::W16, checksum);
        }
    }

    /// Bytes of all headers that are put on.
    fn bytes_put_on(&mut self, words: &[Word], headers: &[Header]) -> u32 {
        let bytes: u32 = headers.iter().map(|&header| self.own_bytes(header)).sum();
        if bytes > BYTES_MAX {
            let message = format!("these headers have {bytes} bytes");
            let help = format!("at most {BYTES_MAX} bytes are put on at once");
            self.error("bad-header", words[0].span, message, &help);
        }
        if headers[0] == Header::Vlan {
            let help = "write `prepend ethernet, vlan`; the app VlanTag puts a tag into a frame";
            self.error("bad-header", words[0].span, "`vlan` follows `ethernet`".into(), help);
        }
        bytes.min(BYTES_MAX)
    }

    /// Bytes of a header that is put on: of a tag without those of Ethernet before it.
    fn own_bytes(&self, header: Header) -> u32 {
        match header {
            Header::Vlan => Header::Vlan.bytes() - Header::Ethernet.bytes(),
            header => self.bytes_of(header),
        }
    }

    /// A header in the options of `owner` is put on where its declaration says that it is.
    fn fits_part(&mut self, word: &Word, header: Header, [start, base]: [Base; 2]) {
        let Header::Declared(number) = header else { return };
        let after = self.headers[number as usize].after.first();
        let Some(After { place: Place::Inside(at), .. }) = after.cloned() else { return };
        let at = self.number(&at);
        if self.build.constant_of(at) != Some(u64::from(base.offset - start.offset)) {
            let message = format!("`{}` does not begin here", word.text);
            let help =
                "its declaration says where it is: a number, behind what is put on before it";
            self.error("bad-header", word.span, message, help);
        }
    }

    fn is_part(&self, header: Header) -> bool {
        matches!(header, Header::Declared(number) if self.headers[number as usize].is_part())
    }

    /// The field of a header that announces another one, and its number; nothing inside, if it
    /// always follows. `last` is the header, or the part of it that is before the other.
    fn link_of(&self, header: Header, last: Header, next: Header) -> Option<Option<(Field, u64)>> {
        // Parts have an order, by number.
        if let (Header::Declared(last), Header::Declared(part)) = (last, next)
            && header != Header::Declared(last)
            && self.is_part(next)
            && part <= last
        {
            return None;
        }
        let named = |name: &str, number| {
            let field = header.fields().iter().find(|field| field.name == name).copied()?;
            Some(Some((field, number)))
        };
        match (header, next) {
            (Header::Ethernet, Header::Vlan) => named("type", 0x8100),
            // A tag announces what Ethernet would announce.
            (Header::Vlan, next) if next != Header::Vlan => {
                let link = self.link_of(Header::Ethernet, Header::Ethernet, next)?;
                let kind = header.fields().iter().find(|field| field.name == "type");
                Some(link.map(|(field, number)| match kind {
                    Some(kind) if field.name == "type" => (*kind, number),
                    _ => (field, number),
                }))
            }
            (Header::Ethernet, Header::Ipv4) => named("type", 0x0800),
            (Header::Ethernet, Header::Ipv6) => named("type", 0x86DD),
            (Header::Ethernet, Header::Arp) => named("type", 0x0806),
            (Header::Ipv4, Header::Tcp) => named("protocol", 6),
            (Header::Ipv4, Header::Udp) => named("protocol", 17),
            (Header::Ipv4, Header::Icmp) => named("protocol", 1),
            (Header::Ipv6, Header::Tcp) => named("next_header", 6),
            (Header::Ipv6, Header::Udp) => named("next_header", 17),
            (Header::Ipv6, Header::Icmp6) => named("next_header", 58),
            (_, Header::Declared(number)) => {
                let after = self.headers[number as usize].after.iter();
                let after = after.into_iter().find(|after| after.parent == header)?;
                let when = after.when.as_ref();
                Some(when.and_then(|(field, numbers)| Some((*field, *numbers.first()?))))
            }
            _ => None,
        }
    }

    /// Writes what makes a header of zeros one of its kind.
    fn fill(&mut self, header: Header, base: Base, follows: Option<(Field, u64)>) {
        let mut put = |offset, width, number| {
            let value = self.build.constant(number);
            self.store_at(base, offset, width, value);
        };
        match header {
            Header::Ipv4 => {
                put(0, Width::W8, 0x45);
                put(8, Width::W8, TTL);
                // The sum of the words that are not 0: so a field that is set corrects it.
                put(10, Width::W16, !(0x4500 + (TTL << 8)) & 0xFFFF);
            }
            Header::Ipv6 => {
                put(0, Width::W8, 0x60);
                put(7, Width::W8, TTL);
            }
            Header::Tcp => put(12, Width::W8, 0x50),
            Header::Arp => {
                // For IPv4 on Ethernet.
                put(0, Width::W32, 0x0001_0800);
                put(4, Width::W16, 0x0604);
            }
            Header::Declared(number) => {
                for (field, value) in self.headers[number as usize].presets.clone() {
                    let value = self.build.constant(value);
                    self.assign(Present::new(header, base), &field, value, true);
                }
            }
            _ => {}
        }
        // What follows decides, where a new header announces something else by itself.
        if let Some((field, number)) = follows {
            self.announce((header, base), &field, number);
        }
    }

    /// Sets the field of a new header that announces what follows. The checksums of others than
    /// IPv4 are written afterwards.
    fn announce(&mut self, (header, base): (Header, Base), field: &Field, number: u64) {
        let (value, is_raw) = (self.build.constant(number), header != Header::Ipv4);
        self.assign(Present::new(header, base), field, value, is_raw);
    }
}
