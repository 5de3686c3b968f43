//! Kernels from text, as they are printed: a line each for words, reasons, tests, steps and ends.

use std::sync::Arc;

use tidemill_diag::text::ir::{IrError, IrReader, Layout, Read};

use super::{
    Block, BlockId, End, Expr, Kernel, Operator, Place, Step, Supply, Test, Value, Width, Word,
};

/// Reads a kernel as it is printed. `tests` makes conditions of their names. What is read may still
/// be wrong: see [`Kernel::verify`].
///
/// # Errors
/// The first line that is none of a kernel.
pub fn parse(text: &str, tests: &dyn Fn(&str) -> Option<Arc<dyn Test>>) -> Result<Kernel, IrError> {
    let mut words = IrReader::new(text, Layout::Lines);
    words.expect("kernel")?;
    let kernel = Kernel::empty(words.rest_of_line());
    words.end_line()?;
    let mut reader = Reader { tests, kernel, words, open: None };
    while !reader.words.at_end() {
        reader.line()?;
        reader.words.end_line()?;
    }
    match reader.open {
        None => Ok(reader.kernel),
        Some(_) => reader.words.fail("the last block has no end"),
    }
}

struct Reader<'t> {
    tests: &'t dyn Fn(&str) -> Option<Arc<dyn Test>>,
    words: IrReader<'t>,
    kernel: Kernel,
    /// The steps of a block that has no end yet.
    open: Option<Vec<Step>>,
}

impl Reader<'_> {
    fn line(&mut self) -> Read {
        if self.words.peek().ends_with(':') {
            let expected = format!("b{}:", self.kernel.blocks.len());
            if self.open.is_some() {
                return self.words.fail("the last block has no end");
            }
            self.open = Some(Vec::new());
            return self.words.expect(&expected);
        }
        let Some(mut steps) = self.open.take() else { return self.head() };
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

    /// A line before the first block.
    fn head(&mut self) -> Read {
        let (words, kernel) = (&mut self.words, &mut self.kernel);
        if words.eat("supply") {
            kernel.supply = Some(supply(words)?);
            return Ok(());
        }
        let count = match words.peek() {
            "state" | "counter" => kernel.words.len(),
            "reason" => kernel.reasons.len(),
            "test" => kernel.tests.len(),
            _ => return words.expected("state, counter, supply, reason or test"),
        };
        if !kernel.blocks.is_empty() {
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
            "reason" => kernel.reasons.push(words.until_blank().to_owned()),
            _ => {
                let name = words.until_blank().to_owned();
                words.expect("=")?;
                let is_counter = what == "counter";
                kernel.words.push(Word { name, initial: words.number()?, is_counter });
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
            "truncate" => Step::Truncate(value(words)?),
            _ => {
                *words = first;
                let value = id(words, "v")?;
                words.expect("=")?;
                self.kernel.values = self.kernel.values.max(value + 1);
                Step::Let(Value::new(value), expr(words)?)
            }
        })
    }

    /// What ends a block, if it comes next.
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

fn place(words: &mut IrReader<'_>) -> Read<Place> {
    words.expect("[")?;
    let mut base = None;
    if words.peek().starts_with('v') {
        base = Some(value(words)?);
        words.expect("+")?;
    }
    let place = Place { base, offset: words.number()? };
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
        "word" => Expr::Word(words.number()?),
        "linked" => Expr::Linked(words.number()?),
        _ => {
            *words = first;
            let operator = words.named("an operation", &Operator::NAMES)?;
            Expr::Binary(operator, value(words)?, value(words)?)
        }
    })
}
