//! The filler: the table decoder for messages in memory, without a sink.
//!
//! ```text
//!   zone  |--- filler ---| one field by the walk |--- filler ---| tail ...
//! ```
//! It stores what it reads into records itself, as generated code does, by a [`Plan`]: the tables
//! with the layouts. Rare, malformed and incomplete fields it leaves, at their tag, to the walk,
//! which reads that one field for the builder and finds the error. So both give the same messages
//! and errors by construction. The rare fields are: unknown ones, extensions, items of sets of
//! messages, numbers that a closed enum does not have, closed enums with gaps, oneofs over several
//! words of presence bits.

mod plan;
mod record;
mod run;
mod store;

pub(crate) use plan::Plan;
pub(super) use record::{enter, leave, record_at};
use run::Filler;

use super::load::SLACK;
use super::state::Within;
use super::tables::Tables;
use super::walk::{Step, Walk, Zone};
use crate::message::layout::Maps;
use crate::schema::Schema;
use crate::sink::Sink;

/// The plan to fill messages of `schema` by these tables; `None` if they were made from another.
#[inline]
fn plan<'t>(tables: &'t Tables, schema: &Schema) -> Option<&'t Plan> {
    if !tables.is_of(schema) {
        return None;
    }
    tables.plan_or(|nodes| Plan::new(schema, schema.layouts(), nodes))
}

impl<'a, S: Sink<'a>> Walk<'_, 'a, S> {
    /// Reads a zone, by the filler if the sink is a message of the same schema.
    pub(super) fn over_fields(&mut self, zone: Zone) -> Step {
        let tables = self.tables;
        let plan = match self.sink.storage() {
            Some(storage) if storage.maps() == Maps::Indexed => plan(tables, storage.schema()),
            _ => None,
        };
        match plan {
            Some(plan) => self.over_zone_filling(plan, zone),
            None => self.over_zone(zone),
        }
    }

    fn over_zone_filling(&mut self, plan: &Plan, zone: Zone) -> Step {
        loop {
            if self.state.within == Within::Fields {
                if self.state.pos >= zone.to && self.state.pos != self.state.end {
                    return Ok(());
                }
                if !self.fill_zone(plan, zone) {
                    return self.over_zone(zone);
                }
                if self.state.pos >= zone.to && self.state.pos != self.state.end {
                    return Ok(());
                }
            }
            // The walk reads one field, or the rest of one.
            let before = (self.state.pos, self.state.within, self.state.frames.len());
            let to = match self.state.within {
                Within::Fields => zone.to.min(before.0 + 1),
                _ => zone.to,
            };
            self.over_zone(Zone { to, ..zone })?;
            if before == (self.state.pos, self.state.within, self.state.frames.len()) {
                return Ok(());
            }
        }
    }

    /// Fills as far into the zone as the filler can; false if it can fill nothing here.
    fn fill_zone(&mut self, plan: &Plan, zone: Zone) -> bool {
        let (have, piece) = (self.have(), self.piece.as_ptr().wrapping_sub(self.piece_start));
        let Some(storage) = self.sink.storage() else { return false };
        let Some(record) = enter(self.state, self.tables, storage) else { return false };
        // Strings are taken from the piece, so a place before it is left to the walk.
        if self.state.pos < self.piece_start {
            return false;
        }
        debug_assert!(zone.to <= have);
        let filler = Filler {
            tables: self.tables,
            steps: plan.steps(),
            zone,
            have,
            piece,
            depth_max: self.depth_max,
        };
        // SAFETY: the plan is of these tables and of the schema of the storage, whose record and
        // frames were just compared with them; of each zone SLACK bytes can be read from all
        // places before `to`, and the piece holds all from the first place up to `have`.
        let record = unsafe {
            if storage.copies() {
                filler.run::<true>(self.state, storage, record)
            } else {
                filler.run::<false>(self.state, storage, record)
            }
        };
        leave(self.state, self.tables, storage, record);
        true
    }

    /// The zone of a piece that is longer than the slack.
    pub(super) fn middle(&self) -> Zone {
        let base = self.piece.as_ptr().wrapping_sub(self.piece_start);
        Zone { base, to: self.have() - SLACK }
    }
}
