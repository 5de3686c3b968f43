//! Skipping of unknown groups: everything up to the matching end.

use super::{ErrorKind, Machine, Step};
use crate::schema::WireType;
use crate::sink::Sink;

impl<'a, S: Sink<'a>> Machine<'_, 'a, '_, S> {
    /// Skips the rest of the group `number`, whose start tag has been read.
    pub(super) fn skip_group(&mut self, number: u32) -> Step {
        let mut open = Vec::new();
        let mut innermost = number;
        self.check_depth(open.len())?;
        loop {
            if self.pos == self.end {
                return Err(self.short());
            }
            let (number, wire_type) = self.tag()?;
            match wire_type {
                WireType::StartGroup => {
                    open.push(innermost);
                    innermost = number;
                    self.check_depth(open.len())?;
                }
                WireType::EndGroup if number != innermost => return Err(ErrorKind::EndGroup),
                WireType::EndGroup => match open.pop() {
                    Some(outer) => innermost = outer,
                    None => return Ok(()),
                },
                _ => self.skip_plain(wire_type)?,
            }
        }
    }

    fn check_depth(&self, groups_outside: usize) -> Step {
        match self.frames.len() + groups_outside >= self.depth_max {
            true => Err(ErrorKind::TooDeep),
            false => Ok(()),
        }
    }
}
