//! The steps of a strand over registers that are plain integers.

use crate::table::{ColumnOffset, Part, RowId, Side, Table, Visible};

/// An operand that is known when a row has been bound.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Reg(usize),
    Int(i64),
}

impl Operand {
    #[inline]
    pub(super) fn read(self, regs: &[i64]) -> i64 {
        match self {
            Operand::Reg(reg) => regs[reg],
            Operand::Int(value) => value,
        }
    }
}

/// The action for an integer of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    Load(ColumnOffset, usize),
    Equal(ColumnOffset, Operand),
}

/// The contribution of a column to the hash of a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hashed {
    Reg(usize),
    Known(u64),
}

/// The look-up of rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path {
    Scan,
    Primary,
    Index(u32),
    /// By an index over small integers, and the one wanted.
    Dense(u32, Operand),
    /// By an ordered index and the limits of a probe.
    Ordered(u32),
}

/// Looking up rows of a table.
#[derive(Debug)]
pub(super) struct Probe<'a> {
    pub(super) table: &'a Table,
    pub(super) visible: Visible,
    /// `visible` shows every row below this one; `None` if each must be checked.
    pub(super) below: Option<RowId>,
    pub(super) path: Path,
    /// The subset of rows that it searches, if not all.
    pub(super) part: Option<&'a Part>,
    /// The hash of the columns of the key before the first register.
    pub(super) state: u64,
    pub(super) hashed: Vec<Hashed>,
    pub(super) key: Vec<(ColumnOffset, Operand)>,
    /// Of an ordered index.
    pub(super) limits: Vec<(Side, Operand)>,
    pub(super) binds: Vec<Bound>,
}

impl Probe<'_> {
    #[inline]
    pub(super) fn sees(&self, row: RowId) -> bool {
        match self.below {
            Some(limit) => row < limit,
            None => self.table.sees(row, self.visible),
        }
    }
}

#[derive(Debug)]
pub(super) enum Step<'a> {
    Join(Probe<'a>),
    Exists(Probe<'a>),
    Absent(Probe<'a>),
    /// Continues if the operands compare in one of these ways: less, equal, greater.
    Compare(Operand, Operand, [bool; 3]),
}
