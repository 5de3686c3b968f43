//! What is looked up in which table.

/// What keys are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyKind {
    /// 13 random bytes, as the addresses, ports and the protocol of a flow are.
    Exact,
    /// Prefixes of addresses.
    Prefix,
}

impl KeyKind {
    /// The word that names of cases begin with.
    fn name(self) -> &'static str {
        match self {
            KeyKind::Exact => "exact",
            KeyKind::Prefix => "prefix",
        }
    }
}

/// How keys are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Each as often as another.
    Uniform,
    /// The one of rank `n` with a probability proportional to `1/n`.
    Zipf,
}

impl Choice {
    fn name(self) -> &'static str {
        match self {
            Choice::Uniform => "uniform",
            Choice::Zipf => "zipf",
        }
    }
}

/// Whether packets change the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writes {
    /// One in a hundred.
    Some,
    /// None.
    None,
}

/// A case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    pub kind: KeyKind,
    pub entries: u64,
    pub choice: Choice,
    pub writes: Writes,
    /// Packets of a pass.
    pub packets: u64,
    pub seed: u64,
}

impl Plan {
    /// Keys that are not in the table at first, but may be inserted.
    pub fn fresh(&self) -> u64 {
        1 + self.entries / 64
    }

    /// The entries that there is room for.
    pub fn capacity(&self) -> u64 {
        (self.entries + self.fresh()).next_power_of_two()
    }

    /// The name of the case.
    pub fn name(&self) -> String {
        let size = match self.entries {
            1_000_000.. => format!("{}M", self.entries / 1_000_000),
            1000.. => format!("{}K", self.entries / 1000),
            entries => entries.to_string(),
        };
        let choice = match self.writes {
            Writes::Some => self.choice.name(),
            Writes::None => "read",
        };
        format!("{} {size} {choice}", self.kind.name())
    }
}
