//! Kernels from text, as they are printed: a line each for words, reasons, tests, steps and ends.

use std::fmt;
use std::str::SplitWhitespace;
use std::sync::Arc;

use tidemill_stdx::id::IdVec;

use super::{
    Block, BlockId, End, Expr, Kernel, Operator, Place, Step, Supply, Test, Value, Width, Word,
};

/// A text is no kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Unreadable {}

/// Reads a kernel as it is printed. `tests` makes conditions of their names. What is read may still
/// be wrong: see [`Kernel::verify`].
///
/// # Errors
/// The first line that is none of a kernel.
pub fn parse(
    text: &str,
    tests: &dyn Fn(&str) -> Option<Arc<dyn Test>>,
) -> Result<Kernel, Unreadable> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let mut lines = lines.filter(|(_, line)| !line.is_empty());
    let at = |line: usize| move |message: String| Unreadable { line, message };
    let (line, first) = lines.next().ok_or_else(|| at(1)("there is no kernel".to_owned()))?;
    let name = first.strip_prefix("kernel ");
    let name = name.ok_or_else(|| at(line)("`kernel NAME` is expected".to_owned()))?;
    let mut reader = Reader {
        tests,
        kernel: Kernel {
            name: name.to_owned(),
            supply: None,
            words: Vec::new(),
            reasons: Vec::new(),
            tests: Vec::new(),
            blocks: IdVec::new(),
            values: 0,
        },
        open: None,
    };
    let mut last = line;
    for (line, text) in lines {
        reader.line(text).map_err(at(line))?;
        last = line;
    }
    match reader.open {
        None => Ok(reader.kernel),
        Some(_) => Err(at(last)("the last block has no end".to_owned())),
    }
}

struct Reader<'t> {
    tests: &'t dyn Fn(&str) -> Option<Arc<dyn Test>>,
    kernel: Kernel,
    /// The steps of a block that has no end yet.
    open: Option<Vec<Step>>,
}

type Read<T> = Result<T, String>;

/// The words of a line, taken one by one.
struct Words<'l>(SplitWhitespace<'l>);

impl<'l> Words<'l> {
    fn next(&mut self) -> Read<&'l str> {
        self.0.next().ok_or_else(|| "the line ends too early".to_owned())
    }

    fn number<T: std::str::FromStr>(&mut self) -> Read<T> {
        let word = self.next()?;
        word.parse().map_err(|_| format!("a number is expected, not `{word}`"))
    }

    fn is(&mut self, expected: &str) -> Read<()> {
        let word = self.next()?;
        if word == expected {
            Ok(())
        } else {
            Err(format!("`{expected}` is expected, not `{word}`"))
        }
    }

    fn id(&mut self, prefix: char) -> Read<u32> {
        id(self.next()?, prefix)
    }

    fn value(&mut self) -> Read<Value> {
        Ok(Value::new(self.id('v')?))
    }

    fn block(&mut self) -> Read<BlockId> {
        Ok(BlockId::new(self.id('b')?))
    }

    fn place(&mut self) -> Read<Place> {
        let word = self.next()?;
        let inside = word.strip_prefix('[').ok_or_else(|| format!("`[` is expected: {word}"))?;
        let number = |text: &str| {
            let text = text.strip_suffix(']').ok_or_else(|| format!("`]` is expected: {text}"))?;
            text.parse().map_err(|_| format!("a number is expected, not `{text}`"))
        };
        if !inside.starts_with('v') {
            return Ok(Place { base: None, offset: number(inside)? });
        }
        let base = Some(Value::new(id(inside, 'v')?));
        self.is("+")?;
        Ok(Place { base, offset: number(self.next()?)? })
    }

    fn end(mut self) -> Read<()> {
        self.0.next().map_or(Ok(()), |word| Err(format!("`{word}` is too much")))
    }
}

fn id(word: &str, prefix: char) -> Read<u32> {
    let number = word.strip_prefix(prefix).and_then(|number| number.parse().ok());
    // Ids are dense; what is far beyond any kernel is none.
    let number = number.filter(|&number: &u32| number < 1 << 20);
    number.ok_or_else(|| format!("`{prefix}` and a number is expected, not `{word}`"))
}

fn width(word: &str, prefix: &str) -> Option<Width> {
    let bits: u32 = word.strip_prefix(prefix)?.parse().ok()?;
    Width::ALL.into_iter().find(|width| width.bytes() * 8 == bits)
}

impl Reader<'_> {
    fn line(&mut self, line: &str) -> Read<()> {
        if let Some(name) = line.strip_suffix(':') {
            let expected = format!("b{}", self.kernel.blocks.len());
            if self.open.is_some() || name != expected {
                return Err(format!("block {expected} is expected, after the end of the last"));
            }
            self.open = Some(Vec::new());
            return Ok(());
        }
        let mut words = Words(line.split_whitespace());
        let first = words.next()?;
        match &mut self.open {
            None => self.head(first, words),
            Some(_) => {
                if let Some(end) = end(first, &mut words)? {
                    let steps = self.open.take().unwrap_or_default();
                    self.kernel.blocks.push(Block { steps, end });
                } else {
                    let step = self.step(first, &mut words)?;
                    self.open.get_or_insert_default().push(step);
                }
                words.end()
            }
        }
    }

    /// A line before the first block.
    fn head(&mut self, first: &str, mut words: Words<'_>) -> Read<()> {
        if first == "supply" {
            self.kernel.supply = Some(supply(&mut words)?);
            return words.end();
        }
        let number: usize = words.number()?;
        let kernel = &mut self.kernel;
        let count = match first {
            "state" | "counter" => kernel.words.len(),
            "reason" => kernel.reasons.len(),
            "test" => kernel.tests.len(),
            _ => return Err(format!("`{first}` is none of state, counter, supply, reason, test")),
        };
        if number != count || !kernel.blocks.is_empty() {
            return Err(format!("{first} {count} is expected, before the first block"));
        }
        match first {
            "test" => {
                let name: Vec<&str> = words.0.collect();
                let name = name.join(" ");
                let test = (self.tests)(&name).ok_or_else(|| format!("no test `{name}`"))?;
                kernel.tests.push(test);
                Ok(())
            }
            "reason" => {
                kernel.reasons.push(words.next()?.to_owned());
                words.end()
            }
            _ => {
                let name = words.next()?.to_owned();
                words.is("=")?;
                let is_counter = first == "counter";
                kernel.words.push(Word { name, initial: words.number()?, is_counter });
                words.end()
            }
        }
    }

    fn step(&mut self, first: &str, words: &mut Words<'_>) -> Read<Step> {
        if let Some(width) = width(first, "store") {
            return Ok(Step::Store(width, words.place()?, words.value()?));
        }
        let reason = |words: &mut Words<'_>| {
            words.is("else")?;
            words.number()
        };
        Ok(match first {
            "set_word" => Step::SetWord(words.number()?, words.value()?),
            "set_mark" => Step::SetMark(words.value()?),
            "need" => Step::Need(words.place()?, reason(words)?),
            "prepend" => Step::Prepend(words.number()?, reason(words)?),
            "strip" => Step::Strip(words.number()?),
            "truncate" => Step::Truncate(words.value()?),
            _ => {
                let value = id(first, 'v')?;
                words.is("=")?;
                self.kernel.values = self.kernel.values.max(value + 1);
                Step::Let(Value::new(value), expr(words)?)
            }
        })
    }
}

fn supply(words: &mut Words<'_>) -> Read<Supply> {
    let bytes = words.number()?;
    words.is("bytes")?;
    let burst = words.number()?;
    words.is("burst")?;
    words.is("word")?;
    Ok(Supply { bytes, burst, left: words.number()? })
}

fn expr(words: &mut Words<'_>) -> Read<Expr> {
    let first = words.next()?;
    if let Some(width) = width(first, "load") {
        return Ok(Expr::Load(width, words.place()?));
    }
    Ok(match first {
        "const" => Expr::Const(words.number()?),
        "length" => Expr::Length,
        "wire_length" => Expr::WireLength,
        "now" => Expr::Now,
        "mark" => Expr::Mark,
        "word" => Expr::Word(words.number()?),
        "linked" => Expr::Linked(words.number()?),
        _ => {
            let found = Operator::NAMES.iter().find(|(_, name)| *name == first);
            let (operator, _) = found.ok_or_else(|| format!("there is no operation `{first}`"))?;
            Expr::Binary(*operator, words.value()?, words.value()?)
        }
    })
}

fn end(first: &str, words: &mut Words<'_>) -> Read<Option<End>> {
    Ok(Some(match first {
        "jump" => End::Jump(words.block()?),
        "if" => End::If(words.value()?, words.block()?, words.block()?),
        "test" => End::Test(words.number()?, words.block()?, words.block()?),
        "emit_all" => End::EmitAll,
        "emit" => End::Emit(words.number()?),
        "drop" => End::Drop(words.number()?),
        "take" => End::Take,
        _ => return Ok(None),
    }))
}
