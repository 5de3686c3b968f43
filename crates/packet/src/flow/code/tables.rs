//! Tables: declared, looked up and changed.

use tidemill_diag::{Span, meant};

use super::ast::{ColumnDef, Expr, Insert, Statement, TableDef, Word};
use super::lower::Lower;
use super::names::{DeclaredTable, FoundEntry, Operand, Type};
use crate::kernel::table::spec::{
    Column, KeyPlace, Meaning, TableKind, TableSpec, TableWriter, low_bits,
};
use crate::kernel::{Expr as Computed, Operator, TABLES_MAX, Value};

/// Types of columns and how many bits they have.
const TYPES: [(&str, u32); 8] = [
    ("bool", 1),
    ("u8", 8),
    ("u16", 16),
    ("u32", 32),
    ("u64", 64),
    ("ipv4", 32),
    ("ipv6", 128),
    ("mac", 48),
];

/// Where a column is.
#[derive(Clone, Copy)]
enum At {
    Key(KeyPlace),
    Value(u32),
}

impl Lower<'_> {
    /// Declares a table; returns its number, and reports its errors.
    pub(super) fn declare_table(&mut self, table: &TableDef) -> u32 {
        let (name, span) = (&table.name.text, table.name.span);
        let mut types = Vec::new();
        let [key, values] = [&table.key, &table.values].map(|columns| {
            columns.iter().map(|column| self.declare_column(column, &mut types)).collect()
        });
        let all: Vec<&Word> = table.key.iter().chain(&table.values).map(|it| &it.name).collect();
        for (at, column) in all.iter().enumerate() {
            if all[..at].iter().any(|other| other.text == column.text) {
                let message = format!("there are two columns `{}`", column.text);
                self.error("duplicate-name", column.span, message, "give one another name");
            }
        }
        if table.writer.is_none() {
            let message = format!("`{name}` does not say who writes it");
            self.error("bad-table", span, message, "write `writer kernel;` or `writer program;`");
        }
        let Some(size) = table.size else {
            let message = format!("`{name}` does not say how many entries it has room for");
            self.error("bad-table", span, message, "write `size 1024;`");
            return self.add_table(table, key, values, types, 1);
        };
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        self.add_table(table, key, values, types, size)
    }

    fn declare_column(&mut self, column: &ColumnDef, types: &mut Vec<Type>) -> Column {
        let (kind, bits) = self.type_named(&column.kind);
        types.push(kind);
        let named = |(_, name, _): &&(Meaning, &str, u32)| *name == column.kind.text;
        let meaning = Meaning::NAMES.iter().find(named);
        Column {
            name: column.name.text.clone(),
            bits,
            meaning: meaning.map_or(Meaning::Number, |(meaning, ..)| *meaning),
        }
    }

    /// The type of a column, a parameter or a result, and how many bits it has.
    pub(super) fn type_named(&mut self, word: &Word) -> (Type, u32) {
        let kind = word.text.as_str();
        let Some((_, bits)) = TYPES.iter().find(|(name, _)| *name == kind) else {
            let message = format!("there is no type `{kind}`");
            let names = TYPES.map(|(name, _)| name);
            let help = meant(kind, names, || format!("there are {}", names.join(", ")));
            self.error("unknown-column-type", word.span, message, &help);
            return (Type::Number, 64);
        };
        match kind {
            "bool" => (Type::Bool, *bits),
            "ipv6" => (Type::Ipv6, *bits),
            _ => (Type::Number, *bits),
        }
    }

    fn add_table(
        &mut self,
        table: &TableDef,
        key: Vec<Column>,
        values: Vec<Column>,
        types: Vec<Type>,
        size: u32,
    ) -> u32 {
        let expire_by = table.expire_by.as_ref().and_then(|column| {
            let at = values.iter().position(|value| value.name == column.text);
            let word = at.map(|at| words_before(&values, at));
            if word.is_none() || types.get(key.len() + at.unwrap_or(0)) != Some(&Type::Number) {
                let message = format!("`{}` is no value that is a number", column.text);
                let help = "declare it behind `->`: the seconds that an entry stays";
                self.error("bad-table", column.span, message, help);
            }
            word
        });
        let spec = TableSpec {
            name: table.name.text.clone(),
            kind: table.kind,
            key,
            values,
            writer: table.writer.unwrap_or(TableWriter::Kernel),
            size,
            when_full: table.when_full,
            expire_ns: table.expire_ns,
            expire_by,
            report_ns: table.report_ns,
        };
        if let Some(message) = spec.verify() {
            self.error("bad-table", table.name.span, message, "see the limits of tables");
        }
        if self.tables.len() == TABLES_MAX {
            let message = format!("there are more than {TABLES_MAX} tables");
            self.error("bad-table", table.name.span, message, "make one of several");
        }
        let places = spec.key_places();
        self.tables.push(DeclaredTable { spec: spec.clone(), places, types });
        self.build.table(spec)
    }

    fn table(&mut self, name: &Word) -> Option<u32> {
        if let Some(table) = self.table_of(&name.text) {
            return Some(table);
        }
        let names: Vec<String> = self.tables.iter().map(|table| table.spec.name.clone()).collect();
        let message = format!("there is no table `{}`", name.text);
        let help = meant(&name.text, names.iter().map(String::as_str), || {
            format!("declare it: `table {}(key: type) {{ ... }}`", name.text)
        });
        self.error("unknown-table", name.span, message, &help);
        None
    }

    /// The table of a handler of expiry.
    pub(super) fn expiring_table(&mut self, name: &Word) -> Option<u32> {
        let table = self.table(name)?;
        if self.tables[table as usize].spec.expire_ns == 0 {
            let message = format!("entries of `{}` never expire", name.text);
            self.error("bad-table", name.span, message, "write `expire 60;` in the table");
            return None;
        }
        Some(table)
    }

    /// A table that the kernel is about to change.
    fn changed_table(&mut self, name: &Word) -> Option<u32> {
        let table = self.table(name)?;
        if self.tables[table as usize].spec.writer == TableWriter::Program {
            let message = format!("the program writes `{}`, not the kernel", name.text);
            self.error("table-writer", name.span, message, "declare it with `writer kernel;`");
            return None;
        }
        Some(table)
    }

    /// One value for each column, of the right type.
    fn columns_of(
        &mut self,
        span: Span,
        given: &[Expr],
        types: &[Type],
        what: &str,
    ) -> Option<Vec<Operand>> {
        if given.len() != types.len() {
            let (has, are) = (types.len(), given.len());
            let message = format!("{what}: {are} given, the table has {has}");
            self.error("bad-columns", span, message, "give one value for each column");
            return None;
        }
        Some(given.iter().zip(types).map(|(given, kind)| self.typed(given, *kind)).collect())
    }

    /// The words of a key of these columns.
    fn pack(&mut self, table: u32, columns: &[Operand]) -> Vec<Value> {
        let declared = &self.tables[table as usize];
        let parts: Vec<(KeyPlace, u32)> = declared
            .places
            .iter()
            .copied()
            .zip(declared.spec.key.iter().map(|column| column.bits))
            .collect();
        let mut words: Vec<Value> = Vec::new();
        for ((place, bits), &column) in parts.into_iter().zip(columns) {
            if bits > 64 {
                words.extend(column.words());
                continue;
            }
            let mut part = column.value;
            if self.build.bits(part) > bits {
                part = self.with(Operator::And, part, low_bits(bits));
            }
            if place.shift > 0 {
                part = self.with(Operator::Shl, part, place.shift.into());
            }
            match words.get(place.word) {
                Some(&word) => words[place.word] = self.build.binary(Operator::Or, word, part),
                None => words.push(part),
            }
        }
        words
    }

    fn key_of(&mut self, name: &Word, table: u32, key: &[Expr]) -> Option<Vec<Operand>> {
        let declared = &self.tables[table as usize];
        let types = declared.types[..declared.spec.key.len()].to_vec();
        self.columns_of(name.span, key, &types, "columns of a key")
    }

    pub(super) fn find(
        &mut self,
        name: &Word,
        key: &[Expr],
        yes: &[Statement],
        no: &[Statement],
    ) -> bool {
        let Some(table) = self.table(name) else { return false };
        let Some(columns) = self.key_of(name, table, key) else { return false };
        let words = self.pack(table, &columns);
        let entry = self.build.find(table, &words);
        let (mut missed, known) = (Vec::new(), self.known());
        self.guard(entry, &mut missed);
        self.found_entries.push(FoundEntry { table, entry, is_gone: false });
        self.branches(yes, no, missed, known)
    }

    pub(super) fn insert(&mut self, insert: &Insert) -> bool {
        let name = &insert.table;
        let Some(table) = self.changed_table(name) else { return false };
        if !self.may_lose_entries(name, table) {
            return false;
        }
        let Some(columns) = self.key_of(name, table, &insert.key) else { return false };
        let declared = &self.tables[table as usize];
        let types = declared.types[declared.spec.key.len()..].to_vec();
        let Some(values) = self.columns_of(name.span, &insert.values, &types, "values") else {
            return false;
        };
        let key = self.pack(table, &columns);
        let words = key.len() as u32;
        self.draft(table, 0, &key);
        if let Some((mask, priority)) = self.mask_of(insert, table) {
            let mask = self.pack(table, &mask);
            self.draft(table, words, &mask);
            self.draft(table, 2 * words, &[priority]);
        }
        let values: Vec<Value> = values.into_iter().flat_map(Operand::words).collect();
        self.draft(table, 2 * words + 1, &values);
        let entry = self.build.value(Computed::Insert(table));
        self.lose_entries(table);
        if insert.refused.is_empty() {
            return false;
        }
        let (mut missed, known) = (Vec::new(), self.known());
        self.guard(entry, &mut missed);
        self.branches(&[], &insert.refused, missed, known)
    }

    fn draft(&mut self, table: u32, first: u32, values: &[Value]) {
        for (word, &value) in (first..).zip(values) {
            self.build.draft(table, word, value);
        }
    }

    /// The bits of each column that count for an entry, and its priority; nothing, if the table is
    /// exact.
    fn mask_of(&mut self, insert: &Insert, table: u32) -> Option<(Vec<Operand>, Value)> {
        let spec = &self.tables[table as usize].spec;
        let (kind, columns) = (spec.kind, spec.key.clone());
        let misplaced = match kind {
            TableKind::Exact => {
                insert.prefix.is_some() || insert.mask.is_some() || insert.priority.is_some()
            }
            TableKind::Prefix => insert.mask.is_some() || insert.priority.is_some(),
            TableKind::Ternary => insert.prefix.is_some(),
        };
        if misplaced {
            let message = format!("`{}` is a table of another kind", insert.table.text);
            let help = "`prefix` is for tables of prefixes, `mask` and `priority` for ternary ones";
            self.error("bad-columns", insert.table.span, message, help);
            return None;
        }
        if kind == TableKind::Exact {
            return None;
        }
        let mut mask = match &insert.mask {
            Some(mask) => {
                let wide = |column: &Column| column.bits > 64;
                let kind = |column| if wide(column) { Type::Ipv6 } else { Type::Number };
                let types: Vec<Type> = columns.iter().map(kind).collect();
                self.columns_of(insert.table.span, mask, &types, "masks")?
            }
            None => columns.iter().map(|column| self.all_bits(column)).collect(),
        };
        if let (Some(prefix), Some(mask), Some(last)) =
            (&insert.prefix, mask.last_mut(), columns.last())
        {
            *mask = self.prefix_mask(prefix, last);
        }
        let priority = match &insert.priority {
            Some(priority) => self.number(priority),
            None => self.build.constant(0),
        };
        Some((mask, priority))
    }

    /// A mask of all bits of a column.
    fn all_bits(&mut self, column: &Column) -> Operand {
        match column.bits {
            128 => Operand::ipv6(self.wide_constant(u128::MAX)),
            bits => Operand::number(self.build.constant(low_bits(bits))),
        }
    }

    /// The first bits of a column; a prefix that is longer is as long as the column.
    fn prefix_mask(&mut self, prefix: &Expr, column: &Column) -> Operand {
        let prefix = self.number(prefix);
        let bits = self.build.constant(column.bits.into());
        let rest = self.build.binary(Operator::SubSat, bits, prefix);
        let ones = self.all_bits(column);
        if ones.high.is_some() {
            let halves = self.halves(ones);
            return Operand::ipv6(self.wide_shift(halves, rest, [Operator::Shl, Operator::Shr]));
        }
        let ones = self.build.binary(Operator::Shl, ones.value, rest);
        Operand::number(self.with(Operator::And, ones, low_bits(column.bits)))
    }

    /// Whether entries of a table may be inserted and deleted here.
    fn may_lose_entries(&mut self, name: &Word, table: u32) -> bool {
        let is_expiring = self.expiring == Some(table);
        if is_expiring {
            let message = format!("an entry of `{}` goes, the table cannot change", name.text);
            let help = "the entry is deleted when the handler has ended";
            self.error("expiring-table", name.span, message, help);
        }
        !is_expiring
    }

    /// Something was inserted into a table, or deleted: entries that were found may be gone.
    fn lose_entries(&mut self, table: u32) {
        let found = self.found_entries.iter_mut().filter(|found| found.table == table);
        found.for_each(|found| found.is_gone = true);
    }

    /// The entry of a table that has been found.
    fn entry(&mut self, name: &Word, table: u32) -> Option<Value> {
        let found = self.found_entries.iter().rev().find(|found| found.table == table).copied();
        match found {
            Some(FoundEntry { entry, is_gone: false, .. }) => return Some(entry),
            Some(_) => {
                let message = format!("the entry of `{}` may be gone here", name.text);
                let help = "something was inserted or deleted since it was found";
                self.error("absent-entry", name.span, message, help);
            }
            None => {
                let message = format!("no entry of `{}` has been found here", name.text);
                let help = format!("write `find {}(key) {{ ... }}` around it", name.text);
                self.error("absent-entry", name.span, message, &help);
            }
        }
        None
    }

    fn column_at(&mut self, table: u32, name: &Word) -> Option<(At, Type, u32)> {
        let declared = &self.tables[table as usize];
        let (spec, keys) = (&declared.spec, declared.spec.key.len());
        let all = spec.key.iter().chain(&spec.values).enumerate();
        let found = all.into_iter().find(|(_, column)| column.name == name.text);
        if let Some((at, column)) = found {
            let place = match declared.places.get(at) {
                Some(place) => At::Key(*place),
                None => At::Value(words_before(&spec.values, at - keys)),
            };
            return Some((place, declared.types[at], column.bits));
        }
        let names: Vec<String> =
            spec.key.iter().chain(&spec.values).map(|column| column.name.clone()).collect();
        let message = format!("`{}` has no column `{}`", spec.name, name.text);
        let help = meant(&name.text, names.iter().map(String::as_str), || {
            format!("its columns are {}", names.join(", "))
        });
        self.error("unknown-column", name.span, message, &help);
        None
    }

    /// A column of the entry that has been found.
    pub(super) fn column(&mut self, name: &Word, column: &Word) -> Operand {
        let found = self.table(name).and_then(|table| {
            let at = self.column_at(table, column)?;
            Some((table, at, self.entry(name, table)?))
        });
        let Some((table, (at, kind, bits), entry)) = found else {
            return self.error_operand();
        };
        if kind == Type::Ipv6 {
            let word = |half: u32| match at {
                At::Value(at) => Computed::Get(table, entry, at + half),
                At::Key(place) => Computed::EntryKey(table, entry, place.word as u32 + half),
            };
            return Operand::ipv6([0, 1].map(|half| self.build.value(word(half))));
        }
        let value = match at {
            At::Value(at) => self.build.value(Computed::Get(table, entry, at)),
            At::Key(place) => {
                let word = self.build.value(Computed::EntryKey(table, entry, place.word as u32));
                let word = match place.shift {
                    0 => word,
                    shift => self.with(Operator::Shr, word, shift.into()),
                };
                if bits < 64 { self.with(Operator::And, word, low_bits(bits)) } else { word }
            }
        };
        Operand { kind, ..Operand::number(value) }
    }

    /// The place of a column that the kernel is about to change.
    fn settable(&mut self, name: &Word, column: &Word) -> Option<(u32, Value, u32, Type)> {
        let table = self.changed_table(name)?;
        let (at, kind, _) = self.column_at(table, column)?;
        let entry = self.entry(name, table)?;
        let At::Value(at) = at else {
            let message = format!("`{}` is a column of the key", column.text);
            self.error("not-settable", column.span, message, "delete the entry, insert another");
            return None;
        };
        Some((table, entry, at, kind))
    }

    /// `table.column = value;`
    pub(super) fn set_column(&mut self, name: &Word, column: &Word, value: &Expr, is_raw: bool) {
        if is_raw {
            let message = format!("`{}` is a table, not a header", name.text);
            return self.error("bad-type", name.span, message, "leave `raw` out");
        }
        let Some((table, entry, at, kind)) = self.settable(name, column) else { return };
        let value = self.typed(value, kind);
        for (word, value) in (at..).zip(value.words()) {
            self.build.put(table, entry, word, value);
        }
    }

    /// `count table.column by value;`
    pub(super) fn count_column(&mut self, name: &Word, column: &Word, by: Value) {
        let Some((table, entry, at, kind)) = self.settable(name, column) else { return };
        if kind != Type::Number {
            let message = format!("`{}` is {}", column.text, kind.name());
            return self.error("bad-type", column.span, message, "count in a column of numbers");
        }
        let old = self.build.value(Computed::Get(table, entry, at));
        let new = self.build.binary(Operator::Add, old, by);
        self.build.put(table, entry, at, new);
    }

    pub(super) fn delete(&mut self, name: &Word) {
        let Some(table) = self.changed_table(name) else { return };
        if !self.may_lose_entries(name, table) {
            return;
        }
        let Some(entry) = self.entry(name, table) else { return };
        self.build.delete(table, entry);
        self.lose_entries(table);
    }

    pub(super) fn refresh(&mut self, name: &Word) {
        let Some(table) = self.changed_table(name) else { return };
        let Some(entry) = self.entry(name, table) else { return };
        self.build.refresh(table, entry);
    }
}

/// Words of the columns before one.
fn words_before(columns: &[Column], at: usize) -> u32 {
    columns[..at].iter().map(|column| column.words() as u32).sum()
}
