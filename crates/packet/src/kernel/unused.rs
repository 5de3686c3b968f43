//! Leaves out the values that nothing uses, such as the parts of a constant that is computed when
//! the kernel is made: an interpreter would compute them for every packet.

use tidemill_stdx::id::{Id, IdVec};

use super::{Address, Block, BlockId, End, Expr, Key, Step, Value};

/// Removes unused values from verified blocks, and numbers the others anew, in the order of the
/// steps. Returns their number.
pub(super) fn remove(blocks: &mut IdVec<BlockId, Block>, values: u32) -> u32 {
    let used = used(blocks, values);
    let (mut numbers, mut count) = (vec![Value::new(0); values as usize], 0);
    for block in blocks.iter_mut() {
        block.steps.retain(|step| !matches!(step, Step::Let(value, _) if !used[value.index()]));
        for step in &block.steps {
            if let Step::Let(value, _) = step {
                numbers[value.index()] = Value::new(count);
                count += 1;
            }
        }
    }
    let number = |value: Value| numbers[value.index()];
    for block in blocks.iter_mut() {
        block.steps.iter_mut().for_each(|step| *step = numbered(*step, number));
        if let End::If(value, ..) = &mut block.end {
            *value = number(*value);
        }
    }
    count
}

/// Whether each value is used, itself or by one that is.
fn used(blocks: &IdVec<BlockId, Block>, values: u32) -> Vec<bool> {
    let mut steps: Vec<Option<Step>> = vec![None; values as usize];
    let mut open = Vec::new();
    for block in blocks.iter() {
        for step in &block.steps {
            match step {
                Step::Let(value, Expr::Insert(_)) => open.push(*value),
                Step::Let(value, _) => steps[value.index()] = Some(*step),
                _ => open.extend(step.operands()),
            }
        }
        if let End::If(value, ..) = block.end {
            open.push(value);
        }
    }
    let mut used = vec![false; values as usize];
    while let Some(value) = open.pop() {
        if !std::mem::replace(&mut used[value.index()], true) {
            open.extend(steps[value.index()].iter().flat_map(Step::operands));
        }
    }
    used
}

/// The step with other numbers of values.
fn numbered(step: Step, number: impl Fn(Value) -> Value) -> Step {
    let placed = |Address { base, offset }| Address { base: base.map(&number), offset };
    match step {
        Step::Let(value, expr) => Step::Let(number(value), expr_numbered(expr, &number)),
        Step::SetWord(word, value) => Step::SetWord(word, number(value)),
        Step::SetMark(value) => Step::SetMark(number(value)),
        Step::Store(width, place, value) => Step::Store(width, placed(place), number(value)),
        Step::Need(place, reason) => Step::Need(placed(place), reason),
        Step::StripTo(place) => Step::StripTo(placed(place)),
        Step::Truncate(value) => Step::Truncate(number(value)),
        Step::Shorten(value) => Step::Shorten(number(value)),
        Step::Put(table, entry, at, value) => Step::Put(table, number(entry), at, number(value)),
        Step::Refresh(table, entry) => Step::Refresh(table, number(entry)),
        Step::Delete(table, entry) => Step::Delete(table, number(entry)),
        Step::Draft(table, word, value) => Step::Draft(table, word, number(value)),
        Step::Prepend(..) | Step::Strip(_) | Step::Clone(_) => step,
    }
}

fn expr_numbered(expr: Expr, number: impl Fn(Value) -> Value) -> Expr {
    let placed = |Address { base, offset }| Address { base: base.map(&number), offset };
    match expr {
        Expr::Load(width, place) => Expr::Load(width, placed(place)),
        Expr::Sum(place) => Expr::Sum(placed(place)),
        Expr::Binary(operator, a, b) => Expr::Binary(operator, number(a), number(b)),
        Expr::Find(table, key) => {
            let words: Vec<Value> = key.words().iter().map(|&word| number(word)).collect();
            Expr::Find(table, Key::new(&words))
        }
        Expr::EntryKey(table, entry, word) => Expr::EntryKey(table, number(entry), word),
        Expr::Get(table, entry, at) => Expr::Get(table, number(entry), at),
        Expr::Const(_)
        | Expr::Length
        | Expr::WireLength
        | Expr::Now
        | Expr::Mark
        | Expr::Input
        | Expr::Word(_)
        | Expr::Linked(_)
        | Expr::Insert(_)
        | Expr::Entry(_) => expr,
    }
}
