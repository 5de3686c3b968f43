//! From a strand to probes with resolved offsets.

use super::memo::Memo;
use super::steps::{Bound, Hashed, Operand, Path, Probe, Step};
use super::{Copied, Narrow};
use crate::eval::Scope;
use crate::expr::{Expr, Reg};
use crate::operator::Binary;
use crate::plan::{self, Bind, HeadColumn, Lookup, Strand};
use crate::strand::Reading;
use crate::table::{Access, ColumnOffset, Fit, Layout, Part, Side, Table, Visible, WordKind};
use crate::value::Value;

/// Why there is nothing to run.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The interpreter has to do it.
    Unfit,
    /// With the present tables the strand derives nothing.
    Never,
    /// The head's table has to be widened first; then try again.
    Widen(Layout),
}

/// Compiles a strand that the delta of a view rule starts, for the present layout of the tables.
/// The indexes that it reads are [prepared](crate::database::Database::prepare). An atom that sees
/// rows [within](Visible::Within) a range looks for them in `part`, if that is given.
pub(crate) fn compile<'a>(
    strand: &'a Strand,
    reading: Reading<'a>,
    part: Option<&'a Part>,
    scope: Scope<'a>,
) -> Result<Narrow<'a>, Halt> {
    let regs = vec![None; strand.regs as usize];
    let mut compiler = Compiler { reading, part, scope, regs };
    let table = reading.database.table(strand.trigger.relation);
    let binds = compiler.binds(table, &strand.trigger.columns)?;
    let mut steps = Vec::with_capacity(strand.steps.len());
    for step in &strand.steps {
        steps.extend(compiler.step(step)?);
    }
    let output = compiler.output(strand)?;
    let copied = copied(&steps, &output);
    let regs = strand.regs as usize;
    let known = reading.database.table(strand.output.relation).known_pairs();
    let mut narrow = Narrow { table, binds, steps, output, copied, known, memo: None, regs };
    narrow.memo = Memo::new(&narrow.binds, &narrow.steps, &narrow.output);
    Ok(narrow)
}

/// The words that the last join copies to the output, if it copies them unchanged and compares
/// none.
fn copied(steps: &[Step<'_>], output: &[(ColumnOffset, Operand)]) -> Option<Copied> {
    let Some(Step::Join(probe)) = steps.last() else { return None };
    let mut loaded = Vec::with_capacity(probe.binds.len());
    for bound in &probe.binds {
        match *bound {
            Bound::Load(place, reg) => loaded.push((reg, place)),
            Bound::Equal(..) => return None,
        }
    }
    let (mut words, mut at) = (Vec::new(), 0);
    for &(to, operand) in output {
        let from = loaded.iter().find(|(reg, _)| matches!(operand, Operand::Reg(of) if of == *reg));
        let width = to.words();
        if let Some((_, from)) = from {
            let from = from.start_of_same(to)?;
            words.extend((0..width).map(|word| (at + word, from + word)));
        }
        at += width;
    }
    Some(Copied { words })
}

struct Compiler<'a> {
    reading: Reading<'a>,
    part: Option<&'a Part>,
    scope: Scope<'a>,
    /// The kind of each register that has been bound.
    regs: Vec<Option<WordKind<'a>>>,
}

impl<'a> Compiler<'a> {
    /// The kind of an expression's value, and how to read it if it is an integer.
    fn operand(&self, expr: &'a Expr) -> Result<(WordKind<'a>, Option<Operand>), Halt> {
        let (kind, reg) = match expr {
            Expr::Reg(Reg(reg)) => {
                (self.regs[*reg as usize].ok_or(Halt::Unfit)?, Some(Operand::Reg(*reg as usize)))
            }
            Expr::Const(constant) => (WordKind::Known(constant.get()), None),
            Expr::Param(param) => (WordKind::Known(self.scope.ambient.param(*param)), None),
            _ => return Err(Halt::Unfit),
        };
        let operand = match kind {
            WordKind::Known(Value::Int(value)) => Some(Operand::Int(value)),
            WordKind::Known(_) => None,
            WordKind::Half | WordKind::Whole => reg,
        };
        Ok((kind, operand))
    }

    /// The comparison needed per row so that a column equals an expression; none if they are known
    /// to be equal.
    fn equal(
        &self,
        table: &'a Table,
        column: u32,
        expr: &'a Expr,
    ) -> Result<Option<(ColumnOffset, Operand)>, Halt> {
        let (kind, operand) = self.operand(expr)?;
        match (table.place(column), operand, table.kind(column), kind) {
            (Some(place), Some(operand), ..) => Ok(Some((place, operand))),
            (_, _, Some(WordKind::Known(a)), WordKind::Known(b)) => {
                if a.equal(&b) {
                    Ok(None)
                } else {
                    Err(Halt::Never)
                }
            }
            _ => Err(Halt::Unfit),
        }
    }

    fn binds(&mut self, table: &'a Table, columns: &'a [Bind]) -> Result<Vec<Bound>, Halt> {
        let mut binds = Vec::with_capacity(columns.len());
        for (column, bind) in (0..).zip(columns) {
            match bind {
                Bind::Ignore => {}
                Bind::Equal(expr) => binds.extend(
                    self.equal(table, column, expr)?.map(|(place, by)| Bound::Equal(place, by)),
                ),
                Bind::Reg(Reg(reg)) => {
                    let kind = table.kind(column).ok_or(Halt::Unfit)?;
                    let known = self.regs[*reg as usize].replace(kind);
                    if known.is_some() {
                        return Err(Halt::Unfit);
                    }
                    if let (WordKind::Half | WordKind::Whole, Some(place)) =
                        (kind, table.place(column))
                    {
                        binds.push(Bound::Load(place, *reg as usize));
                    }
                }
            }
        }
        Ok(binds)
    }

    fn step(&mut self, step: &'a plan::Step) -> Result<Option<Step<'a>>, Halt> {
        match step {
            plan::Step::Join(lookup) => self.probe(lookup).map(|probe| Some(Step::Join(probe))),
            plan::Step::Exists(lookup) => self.probe(lookup).map(|probe| Some(Step::Exists(probe))),
            plan::Step::Absent(_) if self.reading.ignore_absent => Ok(None),
            // A computed value may fail, even if there is no row to compare it with.
            plan::Step::Absent(lookup)
                if lookup.compared_alike().next().is_some()
                    || !lookup.key.iter().all(Expr::is_given) =>
            {
                Err(Halt::Unfit)
            }
            plan::Step::Absent(lookup) => match self.probe(lookup) {
                Ok(probe) => Ok(Some(Step::Absent(probe))),
                Err(Halt::Never) => Ok(None),
                Err(halt) => Err(halt),
            },
            plan::Step::Filter(Expr::Binary(operator, operands)) => {
                let ways = comparison(*operator).ok_or(Halt::Unfit)?;
                let (a, b) = (self.operand(&operands[0])?.1, self.operand(&operands[1])?.1);
                let (Some(a), Some(b)) = (a, b) else { return Err(Halt::Unfit) };
                Ok(Some(Step::Compare(a, b, ways)))
            }
            _ => Err(Halt::Unfit),
        }
    }

    fn probe(&mut self, lookup: &'a Lookup) -> Result<Probe<'a>, Halt> {
        let table = self.reading.database.table(lookup.relation);
        if table.next_row().0 == 0 {
            return Err(Halt::Never);
        }
        let visible = (self.reading.visible)(lookup.atom, lookup);
        let mut path = match lookup.access {
            Access::Scan => Path::Scan,
            // More than one row can have a key if some are dying.
            Access::Primary if visible == Visible::Ever => return Err(Halt::Unfit),
            Access::Primary => Path::Primary,
            Access::Index(number) => Path::Index(number),
            Access::Ordered(number) => Path::Ordered(number),
        };
        let limits = self.limits(lookup)?;
        let (mut key, mut hashed) = (Vec::new(), Vec::with_capacity(lookup.key.len()));
        let mut state = 0;
        let secret = table.secret();
        let columns = table.access_columns(lookup.access).ok_or(Halt::Unfit)?;
        let part = self
            .part
            .filter(|_| matches!(visible, Visible::Within(..)) && lookup.access != Access::Scan);
        let dense = match (part, lookup.access) {
            (Some(part), _) => part.dense_column().map(|column| (0, column)),
            (None, Access::Index(number)) => {
                table.dense_column(number).map(|column| (number, column))
            }
            (None, Access::Scan | Access::Primary | Access::Ordered(_)) => None,
        };
        for (&column, expr) in columns.iter().zip(&lookup.key) {
            let compared = self.equal(table, column, expr)?;
            match (dense, compared) {
                (Some((number, by)), Some((_, operand))) if by == column => {
                    path = Path::Dense(number, operand);
                }
                _ => key.extend(compared),
            }
            match self.operand(expr)? {
                (WordKind::Known(value), _) if hashed.is_empty() => {
                    state = secret.combine(state, value.hash(secret));
                }
                (WordKind::Known(value), _) => hashed.push(Hashed::Known(value.hash(secret))),
                (_, Some(Operand::Reg(reg))) => hashed.push(Hashed::Reg(reg)),
                _ => return Err(Halt::Unfit),
            }
        }
        if dense.is_some() && !matches!(path, Path::Dense(..)) {
            return Err(Halt::Unfit);
        }
        let binds = self.binds(table, &lookup.columns)?;
        let below = match visible {
            _ if !table.all_live() => None,
            Visible::Live => Some(table.next_row()),
            Visible::Below(limit) => Some(limit),
            // The rows of a part are in the range.
            Visible::Within(_, end) if part.is_some() => Some(end),
            Visible::Within(..) | Visible::OlderThan(_) | Visible::Ever | Visible::Before => None,
        };
        Ok(Probe { table, visible, below, path, part, state, hashed, key, limits, binds })
    }

    /// The limits of a look-up, where they are integers.
    fn limits(&self, lookup: &'a Lookup) -> Result<Vec<(Side, Operand)>, Halt> {
        let limit = |bound: &'a plan::Bound| match bound {
            plan::Bound::Compare { operator, added: None, value } => {
                let side = plan::side(*operator).ok_or(Halt::Unfit)?;
                Ok((side, self.operand(value)?.1.ok_or(Halt::Unfit)?))
            }
            _ => Err(Halt::Unfit),
        };
        lookup.bounds.iter().map(limit).collect()
    }

    fn output(&self, strand: &'a Strand) -> Result<Vec<(ColumnOffset, Operand)>, Halt> {
        let head = self.reading.database.table(strand.output.relation);
        let mut kinds = Vec::with_capacity(strand.output.columns.len());
        let mut operands = Vec::with_capacity(kinds.capacity());
        for column in &strand.output.columns {
            let HeadColumn::Value(expr) = column else { return Err(Halt::Unfit) };
            let (kind, operand) = self.operand(expr)?;
            kinds.push(kind);
            operands.push(operand);
        }
        match head.fit(&kinds) {
            Fit::Already => {}
            Fit::Not => return Err(Halt::Unfit),
            Fit::Widened(layout) => return Err(Halt::Widen(layout)),
        }
        let place = |(column, operand): (u32, Option<Operand>)| {
            // Without an offset the column is the same in every row, and equal to the value.
            Some((head.place(column)?, operand?))
        };
        Ok((0..).zip(operands).filter_map(place).collect())
    }
}

/// The orders in which a comparison holds: less, equal, greater.
fn comparison(operator: Binary) -> Option<[bool; 3]> {
    Some(match operator {
        Binary::Equal => [false, true, false],
        Binary::NotEqual => [true, false, true],
        Binary::Less => [true, false, false],
        Binary::LessEqual => [true, true, false],
        Binary::Greater => [false, false, true],
        Binary::GreaterEqual => [false, true, true],
        _ => return None,
    })
}
