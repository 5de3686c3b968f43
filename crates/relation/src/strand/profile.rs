//! The types observed in the registers of strands while they were interpreted.

use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use crate::plan::Strand;
use crate::types::TypeSet;
use crate::value::{Type, Value};

/// The types of the values that each register of a strand has held when a run ended. Nodes that
/// share a program share it, across threads.
#[derive(Debug)]
pub struct TypeProfile {
    types: Vec<AtomicU16>,
    ran: AtomicBool,
}

impl TypeProfile {
    /// Without observations.
    pub fn new(strand: &Strand) -> TypeProfile {
        let types = (0..strand.regs).map(|_| AtomicU16::new(0)).collect();
        TypeProfile { types, ran: AtomicBool::new(false) }
    }

    /// Adds the types in the registers; registers that were not reached hold null.
    pub(crate) fn note(&self, regs: &[Value<'_>]) {
        // Relaxed: only speed depends on the profile. Most types are known already, which needs no
        // store.
        if !self.ran.load(Ordering::Relaxed) {
            self.ran.store(true, Ordering::Relaxed);
        }
        for (seen, value) in self.types.iter().zip(regs) {
            let one = TypeSet::of(value.type_of()).bits();
            if value.type_of() != Type::Null && seen.load(Ordering::Relaxed) & one == 0 {
                seen.fetch_or(one, Ordering::Relaxed);
            }
        }
    }

    /// True once the strand has run.
    pub fn ran(&self) -> bool {
        self.ran.load(Ordering::Relaxed)
    }

    /// The types observed so far, by register.
    pub fn types(&self) -> Vec<TypeSet> {
        let types = |seen: &AtomicU16| TypeSet::from_bits(seen.load(Ordering::Relaxed));
        self.types.iter().map(types).collect()
    }
}
