//! The rules as hand-written Rust, over the tables of a node.
//!
//! Each gets the columns of an event and appends the rows of its head to a buffer; `None` if an
//! integer overflows or a value is not an integer.

use tidemill_overlog::node::Node;
use tidemill_relation::table::{Access, Table, Visible};
use tidemill_relation::{TupleBuf, Value};

/// A hand-written rule.
pub type Rule = fn(&Tables<'_>, &[Value<'_>], &mut TupleBuf<()>) -> Option<()>;

/// The joined tables, where there are some.
pub struct Tables<'t> {
    a: Option<&'t Table>,
    b: Option<&'t Table>,
}

impl<'t> Tables<'t> {
    /// The tables of a node.
    pub fn of(node: &'t Node) -> Tables<'t> {
        let table = |name| node.database().get(node.program().plan().find(name)?);
        Tables { a: table("a"), b: table("b") }
    }

    /// Calls `each` with C of a(N, X, B), b(N, B, C).
    fn join<'v>(
        &'v self,
        n: Value<'v>,
        x: i64,
        mut each: impl FnMut(Value<'v>) -> Option<()>,
    ) -> Option<()> {
        for b in values(self.a?, n, Value::Int(x)) {
            for c in values(self.b?, n, b) {
                each(c)?;
            }
        }
        Some(())
    }
}

/// The third column of rows with these values in the first two; the second is the key.
#[inline]
fn values<'t>(
    table: &'t Table,
    n: Value<'t>,
    key: Value<'t>,
) -> impl Iterator<Item = Value<'t>> + use<'t> {
    let rows = table.rows(Access::Primary, &[key], Visible::Live);
    let here = rows.filter(move |row| table.value(*row, 0).equal(&n));
    here.map(move |row| table.value(row, 2))
}

/// `out(@N, X + 1) :- in(@N, X).`
pub fn one_rule(_: &Tables<'_>, event: &[Value<'_>], out: &mut TupleBuf<()>) -> Option<()> {
    let &[n, Value::Int(x)] = event else { return None };
    out.push((), &[n, Value::Int(x.checked_add(1)?)]);
    Some(())
}

/// `out(@N, X, C) :- in(@N, X), a(@N, X, B), b(@N, B, C).`
pub fn three_way_join(
    tables: &Tables<'_>,
    event: &[Value<'_>],
    out: &mut TupleBuf<()>,
) -> Option<()> {
    let &[n, Value::Int(x)] = event else { return None };
    tables.join(n, x, |c| {
        out.push((), &[n, Value::Int(x), c]);
        Some(())
    })
}

/// `out(@N, X, a_COUNT<*>, a_MAX<C>) :- in(@N, X), a(@N, X, B), b(@N, B, C).`
pub fn join_aggregate(
    tables: &Tables<'_>,
    event: &[Value<'_>],
    out: &mut TupleBuf<()>,
) -> Option<()> {
    let &[n, Value::Int(x)] = event else { return None };
    let (mut count, mut max) = (0i64, Value::Null);
    tables.join(n, x, |c| {
        count = count.checked_add(1)?;
        if count == 1 || c.compare(&max).is_gt() {
            max = c;
        }
        Some(())
    })?;
    out.push((), &[n, Value::Int(x), Value::Int(count), max]);
    Some(())
}

/// The rule of ten expressions, with the overflow checks of rules.
pub fn ten_expressions(_: &Tables<'_>, event: &[Value<'_>], out: &mut TupleBuf<()>) -> Option<()> {
    let &[n, Value::Int(x)] = event else { return None };
    let a = x.checked_mul(3)?.checked_add(1)?;
    let b = a.checked_rem(17)?;
    let c = b.checked_mul(1 << 2)? ^ x;
    let d = c.checked_sub(a)?;
    let e = d & 255;
    if a > x && b < 17 && c != 5000 && d < 100_000 && e >= 0 {
        out.push(
            (),
            &[n, Value::Int(a), Value::Int(b), Value::Int(c), Value::Int(d), Value::Int(e)],
        );
    }
    Some(())
}
