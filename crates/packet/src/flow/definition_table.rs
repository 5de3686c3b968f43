//! Tables in definitions of apps: their declarations, and the statements about them.

use super::code::ast::{ColumnDef, Expr, Insert, Statement, TableDef};
use super::lex::TokenKind;
use super::literal::Literal;
use super::parse::Parser;
use crate::kernel::table::spec::{TableKind, TableWriter, WhenFull};

/// How a table is declared.
const HELP: &str =
    "write `table name exact(key: type) -> (value: type) { writer kernel; size 1024; }`";

/// The types that there are.
pub(super) const TYPES_HELP: &str = "there are u8, u16, u32, u64, bool, ipv4, ipv6 and mac";

/// Columns of a list at most; tables have fewer.
const COLUMNS_MAX: usize = 64;

/// Seconds at most.
const SECONDS_MAX: f64 = 1e9;

impl Parser<'_> {
    /// Behind `table`.
    pub(super) fn table_definition(&mut self) -> Option<TableDef> {
        let name = self.name("the name of the table", HELP)?;
        let mut kind = TableKind::Exact;
        if self.kind() != &TokenKind::Mark('(') {
            kind = self.one_of("exact, prefix or ternary", &TableKind::NAMES, HELP)?;
        }
        let key = self.columns(HELP)?;
        let values = if self.takes(&TokenKind::Arrow) { self.columns(HELP)? } else { Vec::new() };
        let mut made = TableDef {
            name,
            kind,
            key,
            values,
            writer: None,
            size: None,
            when_full: WhenFull::Refuse,
            expire_ns: 0,
            expire_by: None,
            report_ns: 0,
        };
        self.mark('{', HELP)?;
        while !self.takes(&TokenKind::Mark('}')) {
            if self.kind() == &TokenKind::End {
                self.expected("`}`", "close the table");
                return None;
            }
            let before = self.at;
            if self.option(&mut made).is_none() {
                self.recover_statement(before);
            }
        }
        Some(made)
    }

    fn option(&mut self, made: &mut TableDef) -> Option<()> {
        if self.word("writer") {
            made.writer = Some(self.one_of("kernel or program", &TableWriter::NAMES, HELP)?);
        } else if self.word("size") {
            let size = self.number("a number", "write `size 1024;`");
            // An invalid size is no missing one.
            made.size = Some(size.unwrap_or(1));
            size?;
        } else if self.word("full") {
            made.when_full = self.one_of("evict or refuse", &WhenFull::NAMES, HELP)?;
        } else if self.word("expire") {
            let help = "write `expire 60;`, in seconds, or `expire column;`";
            if self.kind() == &TokenKind::Name {
                made.expire_by = Some(self.name("a column", help)?);
                made.expire_ns = 1_000_000_000;
            } else {
                made.expire_ns = self.seconds(help)?;
            }
        } else if self.word("report") {
            made.report_ns = self.seconds("write `report 5;`, in seconds")?;
        } else {
            let help = "a table has `writer`, `size`, `full`, `expire` and `report`";
            self.expected("an option of a table", help);
            return None;
        }
        self.semicolon()
    }

    pub(super) fn one_of<T: Copy>(
        &mut self,
        what: &str,
        names: &[(T, &str)],
        help: &str,
    ) -> Option<T> {
        let found = names.iter().find(|(_, name)| self.source() == *name);
        match found.filter(|_| self.kind() == &TokenKind::Name) {
            Some((one, _)) => {
                self.advance();
                Some(*one)
            }
            None => {
                self.expected(what, help);
                None
            }
        }
    }

    pub(super) fn columns(&mut self, help: &str) -> Option<Vec<ColumnDef>> {
        self.mark('(', help)?;
        let mut columns = Vec::new();
        while !self.takes(&TokenKind::Mark(')')) {
            let name = self.name("a name", help)?;
            self.mark(':', "write `name: type`")?;
            let kind = self.name("a type", TYPES_HELP)?;
            columns.push(ColumnDef { name, kind });
            self.comma(columns.len())?;
        }
        Some(columns)
    }

    /// Behind an element of a list.
    fn comma(&mut self, elements: usize) -> Option<()> {
        let goes_on = self.takes(&TokenKind::Mark(',')) && elements < COLUMNS_MAX;
        if !goes_on && self.kind() != &TokenKind::Mark(')') {
            self.expected("`,` or `)`", "columns are separated by commas");
            return None;
        }
        Some(())
    }

    /// Nanoseconds of a time that is written in seconds.
    pub(super) fn seconds(&mut self, help: &str) -> Option<u64> {
        let seconds = match self.literal() {
            Some(Literal::Integer(seconds)) => seconds as f64,
            Some(Literal::Double(seconds)) => seconds,
            _ => 0.0,
        };
        let ns = (seconds.clamp(0.0, SECONDS_MAX) * 1e9) as u64;
        if ns == 0 || seconds > SECONDS_MAX {
            self.expected("seconds, more than 0", help);
            return None;
        }
        self.advance();
        Some(ns)
    }

    /// `(value, ...)`
    pub(super) fn list_of_exprs(&mut self, help: &str) -> Option<Vec<Expr>> {
        self.mark('(', help)?;
        let mut all = Vec::new();
        while !self.takes(&TokenKind::Mark(')')) {
            all.push(self.expr()?);
            self.comma(all.len())?;
        }
        Some(all)
    }

    pub(super) fn find(&mut self, depth: u32) -> Option<Statement> {
        let help = "write `find table(key) { ... } else { ... }`";
        self.advance();
        let table = self.name("a table", help)?;
        let key = self.list_of_exprs(help)?;
        let yes = self.block(depth + 1)?;
        let no = self.otherwise(depth)?;
        Some(Statement::Find(table, key, yes, no))
    }

    pub(super) fn insert(&mut self, depth: u32) -> Option<Statement> {
        let help = "write `insert table(key) -> (value);`";
        self.advance();
        let table = self.name("a table", help)?;
        let key = self.list_of_exprs(help)?;
        let prefix = if self.word("prefix") { Some(self.expr()?) } else { None };
        let mask = if self.word("mask") {
            Some(self.list_of_exprs("write `mask (bits, ...)`, one for each column")?)
        } else {
            None
        };
        let priority = if self.word("priority") { Some(self.expr()?) } else { None };
        let values =
            if self.takes(&TokenKind::Arrow) { self.list_of_exprs(help)? } else { Vec::new() };
        let has_else = self.kind() == &TokenKind::Name && self.source() == "else";
        let refused = self.otherwise(depth)?;
        if !has_else {
            self.semicolon()?;
        }
        let insert = Insert { table, key, prefix, mask, priority, values, refused };
        Some(Statement::Insert(Box::new(insert)))
    }
}
