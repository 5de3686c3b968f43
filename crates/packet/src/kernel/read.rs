//! Kernels from text, as they are printed: a line each for words, reasons, tests, steps and ends.

use std::sync::Arc;

use tidemill_diag::text::ir::{IrError, IrReader, Layout, Read};

use tidemill_stdx::id::IdVec;

use super::table::spec::{
    Column, KEY_WORDS_MAX, Meaning, TableKind, TableSpec, TableWriter, WhenFull,
};
use super::{
    Address, Block, BlockId, End, Event, Expr, Handler, Kernel, Key, Operator, Step, Supply, Test,
    Value, Width, Word, WordKind,
};

/// Reads a kernel as it is printed. `tests` makes conditions of their names. The result may still
/// be invalid: see [`Kernel::verify`].
///
/// # Errors
/// The first line that is none of a kernel.
pub fn parse(text: &str, tests: &dyn Fn(&str) -> Option<Arc<dyn Test>>) -> Result<Kernel, IrError> {
    let mut words = IrReader::new(text, Layout::Lines);
    words.expect("kernel")?;
    let kernel = Kernel::empty(words.rest_of_line());
    words.end_line()?;
    let mut reader = KernelReader { tests, kernel, words, open: None, handler: None };
    while !reader.words.at_end() {
        reader.line()?;
        reader.words.end_line()?;
    }
    if reader.open.is_some() {
        return reader.words.fail("the last block has no end");
    }
    reader.end_handler();
    Ok(reader.kernel)
}

struct KernelReader<'t> {
    tests: &'t dyn Fn(&str) -> Option<Arc<dyn Test>>,
    words: IrReader<'t>,
    kernel: Kernel,
    /// The steps of a block that has no end yet.
    open: Option<Vec<Step>>,
    /// The handler that is read, and the blocks and values of the kernel itself meanwhile.
    handler: Option<(Event, IdVec<BlockId, Block>, u32)>,
}

impl KernelReader<'_> {
    fn line(&mut self) -> Read {
        if self.words.peek().ends_with(':') {
            let expected = format!("b{}:", self.kernel.blocks.len());
            if self.open.is_some() {
                return self.words.fail("the last block has no end");
            }
            self.open = Some(Vec::new());
            return self.words.expect(&expected);
        }
        let Some(mut steps) = self.open.take() else {
            if self.words.eat("on") {
                self.end_handler();
                let event = event(&mut self.words)?;
                let blocks = std::mem::take(&mut self.kernel.blocks);
                let values = std::mem::take(&mut self.kernel.values);
                self.handler = Some((event, blocks, values));
                return Ok(());
            }
            return self.head();
        };
        match self.end()? {
            Some(end) => {
                self.kernel.blocks.push(Block { steps, end });
            }
            None => {
                steps.push(self.step()?);
                self.open = Some(steps);
            }
        }
        Ok(())
    }

    /// Puts what was read for a handler there.
    fn end_handler(&mut self) {
        let Some((event, blocks, values)) = self.handler.take() else { return };
        let blocks = std::mem::replace(&mut self.kernel.blocks, blocks);
        let values = std::mem::replace(&mut self.kernel.values, values);
        self.kernel.handlers.push(Handler { event, blocks, values });
    }

    /// A line before the first block.
    fn head(&mut self) -> Read {
        let (words, kernel) = (&mut self.words, &mut self.kernel);
        if words.eat("supply") {
            kernel.supply = Some(supply(words)?);
            return Ok(());
        }
        let count = match words.peek() {
            "state" | "counter" | "local" => kernel.words.len(),
            "reason" => kernel.reasons.len(),
            "test" => kernel.tests.len(),
            "table" => kernel.tables.len(),
            _ => return words.expected("state, counter, local, supply, reason, test or table"),
        };
        if !kernel.blocks.is_empty() || self.handler.is_some() {
            return words.expected("a block");
        }
        let what = words.word();
        words.in_order("", count)?;
        match what {
            "test" => {
                let before = *words;
                let name = words.rest_of_line();
                match (self.tests)(name) {
                    Some(test) => kernel.tests.push(test),
                    None => return before.fail(format!("no test `{name}`")),
                }
            }
            "table" => kernel.tables.push(table(words)?),
            "reason" => kernel.reasons.push(words.until_blank().to_owned()),
            "local" => {
                let name = words.until_blank().to_owned();
                kernel.words.push(Word { name, initial: 0, kind: WordKind::Local });
            }
            _ => {
                let name = words.until_blank().to_owned();
                words.expect("=")?;
                let kind = if what == "counter" { WordKind::Counter } else { WordKind::State };
                kernel.words.push(Word { name, initial: words.number()?, kind });
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Read<Step> {
        let words = &mut self.words;
        if let Some(width) = width(words.peek(), "store") {
            words.word();
            return Ok(Step::Store(width, place(words)?, value(words)?));
        }
        let reason = |words: &mut IrReader<'_>| {
            words.expect("else")?;
            words.number()
        };
        let first = *words;
        Ok(match words.word() {
            "set_word" => Step::SetWord(words.number()?, value(words)?),
            "set_mark" => Step::SetMark(value(words)?),
            "need" => Step::Need(place(words)?, reason(words)?),
            "prepend" => Step::Prepend(words.number()?, reason(words)?),
            "strip" => Step::Strip(words.number()?),
            "strip_to" => Step::StripTo(place(words)?),
            "truncate" => Step::Truncate(value(words)?),
            "shorten" => Step::Shorten(value(words)?),
            "put" => Step::Put(words.number()?, value(words)?, words.number()?, value(words)?),
            "refresh" => Step::Refresh(words.number()?, value(words)?),
            "delete" => Step::Delete(words.number()?, value(words)?),
            "clone" => Step::Clone(words.number()?),
            "draft" => Step::Draft(words.number()?, words.number()?, value(words)?),
            _ => {
                *words = first;
                let value = id(words, "v")?;
                words.expect("=")?;
                self.kernel.values = self.kernel.values.max(value + 1);
                Step::Let(Value::new(value), expr(words)?)
            }
        })
    }

    /// The end of a block, if it is next.
    fn end(&mut self) -> Read<Option<End>> {
        let words = &mut self.words;
        let first = *words;
        Ok(Some(match words.word() {
            "jump" => End::Jump(block(words)?),
            "if" => End::If(value(words)?, block(words)?, block(words)?),
            "test" => End::Test(words.number()?, block(words)?, block(words)?),
            "emit_all" => End::EmitAll,
            "emit" => End::Emit(words.number()?),
            "drop" => End::Drop(words.number()?),
            "take" => End::Take,
            _ => {
                *words = first;
                return Ok(None);
            }
        }))
    }
}

fn id(words: &mut IrReader<'_>, prefix: &str) -> Read<u32> {
    let before = *words;
    match words.id(prefix)? {
        // Ids are dense; what is far beyond any kernel is none.
        number if number < 1 << 20 => Ok(number),
        _ => before.fail("the number is too large"),
    }
}

fn value(words: &mut IrReader<'_>) -> Read<Value> {
    id(words, "v").map(Value::new)
}

fn block(words: &mut IrReader<'_>) -> Read<BlockId> {
    id(words, "b").map(BlockId::new)
}

fn place(words: &mut IrReader<'_>) -> Read<Address> {
    words.expect("[")?;
    let mut base = None;
    if words.peek().starts_with('v') {
        base = Some(value(words)?);
        words.expect("+")?;
    }
    let place = Address { base, offset: words.number()? };
    words.expect("]")?;
    Ok(place)
}

fn width(word: &str, prefix: &str) -> Option<Width> {
    let bits: u32 = word.strip_prefix(prefix)?.parse().ok()?;
    Width::ALL.into_iter().find(|width| width.bytes() * 8 == bits)
}

fn supply(words: &mut IrReader<'_>) -> Read<Supply> {
    let bytes = words.number()?;
    words.expect("bytes")?;
    let burst = words.number()?;
    words.expect("burst")?;
    words.expect("word")?;
    Ok(Supply { bytes, burst, left: words.number()? })
}

fn event(words: &mut IrReader<'_>) -> Read<Event> {
    if words.eat("tick") {
        return Ok(Event::Tick(words.number()?));
    }
    words.expect("expire")?;
    Ok(Event::Expire(words.number()?))
}

fn table(words: &mut IrReader<'_>) -> Read<TableSpec> {
    let name = words.until_blank().to_owned();
    let kind = words.named("exact, prefix or ternary", &TableKind::NAMES)?;
    let writer = words.named("kernel or program", &TableWriter::NAMES)?;
    let size = words.number()?;
    let when_full = words.named("evict or refuse", &WhenFull::NAMES)?;
    let expire_ns = words.number()?;
    let expire_by = if words.eat("by") { Some(words.number()?) } else { None };
    let mut report_ns = 0;
    if words.peek() == "report" {
        words.word();
        report_ns = words.number()?;
    }
    words.expect("key")?;
    let mut key = Vec::new();
    while !words.peek().is_empty() && words.peek() != "values" {
        key.push(column(words)?);
    }
    words.expect("values")?;
    let mut values = Vec::new();
    while !words.peek().is_empty() {
        values.push(column(words)?);
    }
    Ok(TableSpec {
        name,
        kind,
        key,
        values,
        writer,
        size,
        when_full,
        expire_ns,
        expire_by,
        report_ns,
    })
}

fn column(words: &mut IrReader<'_>) -> Read<Column> {
    let before = *words;
    let text = words.until_blank();
    let column = text.rsplit_once(':').and_then(|(name, kind)| {
        let named = Meaning::NAMES.iter().find(|(_, named, _)| *named == kind);
        let (meaning, bits) = match named {
            Some((meaning, _, bits)) => (*meaning, *bits),
            None => (Meaning::Number, kind.parse().ok()?),
        };
        Some(Column { name: name.to_owned(), bits, meaning })
    });
    column.map_or_else(|| before.expected("a column as `name:bits`, or `name:ipv4`"), Ok)
}

fn expr(words: &mut IrReader<'_>) -> Read<Expr> {
    if let Some(width) = width(words.peek(), "load") {
        words.word();
        return Ok(Expr::Load(width, place(words)?));
    }
    let first = *words;
    Ok(match words.word() {
        "const" => Expr::Const(words.number()?),
        "length" => Expr::Length,
        "wire_length" => Expr::WireLength,
        "now" => Expr::Now,
        "mark" => Expr::Mark,
        "input" => Expr::Input,
        "sum" => Expr::Sum(place(words)?),
        "word" => Expr::Word(words.number()?),
        "linked" => Expr::Linked(words.number()?),
        "find" => {
            let table = words.number()?;
            let mut key = Vec::new();
            while words.peek().starts_with('v') && key.len() < KEY_WORDS_MAX {
                key.push(value(words)?);
            }
            Expr::Find(table, Key::new(&key))
        }
        "insert" => Expr::Insert(words.number()?),
        "entry" => Expr::Entry(words.number()?),
        "key" => Expr::EntryKey(words.number()?, value(words)?, words.number()?),
        "get" => Expr::Get(words.number()?, value(words)?, words.number()?),
        _ => {
            *words = first;
            let operator = words.named("an operation", &Operator::NAMES)?;
            Expr::Binary(operator, value(words)?, value(words)?)
        }
    })
}
