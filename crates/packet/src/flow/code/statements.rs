//! Statements: from the tree to blocks of the kernel.

use tidemill_diag::Span;

use super::ast::{Expr, Statement, Word};
use super::lower::{Lower, STEPS_MAX};
use super::names::{Known, Meaning, Operand, Type};
use crate::app::{Direction, UNLINKED};
use crate::kernel::BlockId;

impl Lower<'_> {
    /// Statements with names of their own; returns whether all ways end in a verdict.
    pub(super) fn statements(&mut self, statements: &[Statement]) -> bool {
        let outer = self.names.len();
        let mut has_ended = false;
        for statement in statements {
            if has_ended {
                let span = span_of(statement);
                let (message, help) = if self.inlined.is_empty() {
                    ("no packet comes here", "what stands before has sent or dropped it")
                } else {
                    ("this is never reached", "what stands before returns")
                };
                self.error("unreachable", span, message.to_owned(), help);
                break;
            }
            // What follows is checked all the same.
            self.too_long(span_of(statement));
            has_ended = self.statement(statement);
        }
        self.names.truncate(outer);
        has_ended
    }

    /// Whether there are too many steps to continue, which is reported once.
    pub(super) fn too_long(&mut self, span: Span) -> bool {
        let is_too_long = self.build.steps() - self.first_step > STEPS_MAX;
        if is_too_long && !std::mem::replace(&mut self.is_too_long, true) {
            let message = format!("the handler has more than {STEPS_MAX} steps");
            self.error("too-many-steps", span, message, "loops are unrolled: shorten them");
        }
        is_too_long
    }

    fn statement(&mut self, statement: &Statement) -> bool {
        if !self.may_stand(statement, span_of(statement)) {
            return matches!(statement, Statement::Send(_) | Statement::Drop(_));
        }
        match statement {
            Statement::Let(name, value) | Statement::Var(name, value) => {
                let value = self.expr(value);
                let meaning = match statement {
                    Statement::Let(..) => Meaning::Value(value),
                    _ => self.local(&name.text, value),
                };
                self.name(name, meaning);
            }
            Statement::Set(name, value) => self.set(name, value),
            Statement::Assign { is_raw, header, field, value }
                if self.table_of(&header.text).is_some() =>
            {
                self.set_column(header, field, value, *is_raw);
            }
            Statement::Assign { is_raw, header, field, value } => {
                let (found, span) = (self.expr(value), value.span);
                if let Some((at, field)) = self.field_of(header, field) {
                    let kind = if field.bits > 64 { Type::Ipv6 } else { Type::Number };
                    self.expect(found, span, kind);
                    self.write_field(at, &field, found, *is_raw);
                }
            }
            Statement::If(condition, yes, no) => return self.branch(condition, yes, no),
            Statement::When(header, yes, no) => return self.when(header, yes, no),
            Statement::For(name, first, end, body) => return self.repeat(name, *first, *end, body),
            Statement::Find(table, key, yes, no) => return self.find(table, key, yes, no),
            Statement::Insert(insert) => return self.insert(insert),
            Statement::Within(meter, by, yes, no) => {
                return self.within(meter, by.as_ref(), yes, no);
            }
            Statement::Strip(header) => self.strip(header),
            Statement::Prepend(headers, reason) => self.prepend(headers, reason.as_ref()),
            Statement::Shorten(length) => self.shorten(length),
            Statement::Truncate(length) => self.truncate(length),
            Statement::SetByte(word, offset, value) => self.set_byte(word, offset, value),
            Statement::Clone(port) => self.clone_to(port),
            Statement::Delete(table) => self.delete(table),
            Statement::Refresh(table) => self.refresh(table),
            Statement::Count(name, column, by) => self.count(name, column.as_ref(), by.as_ref()),
            Statement::Send(port) => return self.send(port),
            Statement::Drop(reason) => return self.drop_for(reason),
            Statement::Return(word, value) => {
                self.return_from(word, value);
                return true;
            }
        }
        false
    }

    fn branch(&mut self, condition: &Expr, yes: &[Statement], no: &[Statement]) -> bool {
        if let ([Statement::Drop(reason)], []) = (yes, no)
            && self.need(condition, reason)
        {
            return false;
        }
        let value = self.truth(condition);
        let (mut missed, known) = (Vec::new(), self.known());
        self.guard(value, &mut missed);
        self.branches(yes, no, missed, known)
    }

    /// A variable of its block, with its first value.
    pub(super) fn local(&mut self, name: &str, value: Operand) -> Meaning {
        let low = self.build.local(&format!("@{name}"));
        self.build.set_word(low, value.value);
        let Some(high_value) = value.high else { return Meaning::Word(low, value.kind, true) };
        let high = self.build.local(&format!("@{name}_high"));
        self.build.set_word(high, high_value);
        Meaning::Address([high, low], true)
    }

    fn clone_to(&mut self, port: &Word) {
        if self.needs_packet(port.span) {
            let port = self.port(port, Direction::Output);
            self.build.clone_to(port);
        }
    }

    fn send(&mut self, port: &Word) -> bool {
        if self.needs_packet(port.span) {
            let port = self.port(port, Direction::Output);
            self.build.emit(port);
        } else {
            self.build.take();
        }
        true
    }

    fn drop_for(&mut self, reason: &Word) -> bool {
        if !self.needs_packet(reason.span) {
            self.build.take();
            return true;
        }
        let reason = self.reason_for(reason);
        self.build.drop(reason);
        true
    }

    /// A reason to drop packets for.
    pub(super) fn reason_for(&mut self, reason: &Word) -> u32 {
        if reason.text == UNLINKED {
            let message = format!("`drop_{UNLINKED}` is counted of each app");
            self.error("duplicate-name", reason.span, message, "choose another reason");
        }
        self.reason(&reason.text)
    }

    /// The facts about the packet and tables.
    pub(super) fn known(&self) -> Known {
        let (present, entries) = (self.present.clone(), self.found_entries.clone());
        Known { bytes: self.bytes, present, entries }
    }

    /// What follows a condition: this block, and those that missed it, where no more is known than
    /// `known`.
    pub(super) fn branches(
        &mut self,
        yes: &[Statement],
        no: &[Statement],
        missed: Vec<BlockId>,
        known: Known,
    ) -> bool {
        let (mut open, mut gone, mut moved) = (Vec::new(), Vec::new(), Vec::new());
        let mut bytes = u32::MAX;
        let (entries, present) = (known.entries.len(), known.present.len());
        if !self.statements(yes) {
            open.push(self.here);
            bytes = self.bytes;
            gone.extend(self.found_entries[..entries].iter().map(|entry| entry.is_gone));
            moved.extend(self.present[..present].iter().map(|present| present.is_gone));
        }
        self.present.clone_from(&known.present);
        self.found_entries.clone_from(&known.entries);
        self.bytes = known.bytes;
        let other = self.build.block();
        for block in missed {
            self.build.at(block);
            self.build.jump(other);
        }
        self.at(other);
        if self.statements(no) {
            self.found_entries = known.entries;
            self.present = known.present;
        } else {
            open.push(self.here);
            bytes = bytes.min(self.bytes);
        }
        self.bytes = if open.is_empty() { known.bytes } else { bytes };
        // An entry that one branch has removed may be gone.
        for (entry, gone) in self.found_entries.iter_mut().zip(gone) {
            entry.is_gone |= gone;
        }
        self.present.truncate(present);
        for (present, gone) in self.present.iter_mut().zip(moved) {
            present.is_gone |= gone;
        }
        let Some(last) = open.pop() else { return true };
        self.at(last);
        self.join(open);
        false
    }

    fn when(&mut self, word: &Word, yes: &[Statement], no: &[Statement]) -> bool {
        if !self.needs_packet(word.span) {
            return false;
        }
        let Some(header) = self.header(word) else { return false };
        let (mut missed, known) = (Vec::new(), self.known());
        let found = self.locate(header, &mut missed);
        self.present.push(found);
        if found.base.value.is_none() {
            self.bytes = self.bytes.max(found.base.offset + self.bytes_of(header));
        }
        if missed.is_empty() {
            // It is known to be there: no packet goes the other way.
            if no.is_empty() {
                return self.known_way(yes, known.present.len());
            }
            missed.push(self.build.block());
        }
        self.branches(yes, no, missed, known)
    }

    /// Statements that all packets come to, which know headers of their own. What stands behind
    /// them is written all the same.
    fn known_way(&mut self, statements: &[Statement], present: usize) -> bool {
        if self.statements(statements) {
            let never = self.build.block();
            self.at(never);
        }
        self.present.truncate(present);
        false
    }

    fn repeat(&mut self, name: &Word, first: u64, end: u64, body: &[Statement]) -> bool {
        for number in first..end {
            if self.too_long(name.span) && number > first {
                break;
            }
            let outer = self.names.len();
            let value = self.build.constant(number);
            self.name(name, Meaning::Value(Operand::number(value)));
            let has_ended = self.statements(body);
            self.names.truncate(outer);
            if has_ended || self.is_too_long {
                return has_ended;
            }
        }
        false
    }

    fn count(&mut self, name: &Word, column: Option<&Word>, by: Option<&Expr>) {
        let by = match by {
            Some(by) => self.number(by),
            None => self.build.constant(1),
        };
        if let Some(column) = column {
            return self.count_column(name, column, by);
        }
        match self.meaning(name) {
            Some(Meaning::Counter(word)) => self.build.count(word, by),
            Some(_) => {
                let message = format!("`{}` is no counter", name.text);
                let help = format!("declare it: `counter {};`", name.text);
                self.error("no-counter", name.span, message, &help);
            }
            None => {}
        }
    }

    fn set(&mut self, name: &Word, value: &Expr) {
        if name.text == "mark" {
            if !self.needs_packet(name.span) {
                return;
            }
            let value = self.number(value);
            return self.build.set_mark(value);
        }
        match self.meaning(name) {
            Some(Meaning::Word(word, kind, true)) => {
                let value = self.typed(value, kind);
                self.build.set_word(word, value.value);
            }
            Some(Meaning::Address(words, true)) => {
                let value = self.typed(value, Type::Ipv6);
                for (word, value) in words.into_iter().zip(value.words()) {
                    self.build.set_word(word, value);
                }
            }
            Some(_) => {
                let message = format!("`{}` cannot be set", name.text);
                let help = match name.text.as_str() {
                    "length" => "`truncate` and `shorten` cut a packet",
                    _ => "state words and those declared with `var` can",
                };
                self.error("not-settable", name.span, message, help);
            }
            None => {}
        }
    }
}

fn span_of(statement: &Statement) -> Span {
    match statement {
        Statement::Let(word, _)
        | Statement::Var(word, _)
        | Statement::Set(word, _)
        | Statement::Assign { field: word, .. }
        | Statement::When(word, ..)
        | Statement::For(word, ..)
        | Statement::Count(word, ..)
        | Statement::Find(word, ..)
        | Statement::Delete(word)
        | Statement::Refresh(word)
        | Statement::Within(word, ..)
        | Statement::Clone(word)
        | Statement::Strip(word)
        | Statement::Send(word)
        | Statement::Return(word, _)
        | Statement::SetByte(word, ..)
        | Statement::Drop(word) => word.span,
        Statement::If(condition, ..) => condition.span,
        Statement::Shorten(length) | Statement::Truncate(length) => length.span,
        Statement::Insert(insert) => insert.table.span,
        Statement::Prepend(headers, _) => headers[0].span,
    }
}
