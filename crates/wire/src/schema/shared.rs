//! A schema: shared definitions, with the tables derived from them.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::definitions::Definitions;
use crate::decode::Tables;
use crate::encode::Steps;
use crate::json::{JsonNames, JsonSteps, Names};
use crate::message::Layouts;
use crate::message::layout::Maps;

/// All definitions of some files, immutable; clones share them.
///
/// Ids are unique in the whole schema: an event that carries a [`FieldId`](super::FieldId) says
/// which message it belongs to. An id is valid in its schema only: getters panic on ids out of
/// range. Printing one gives `.proto` text (of schemas made by a builder).
#[derive(Clone, Debug)]
pub struct Schema {
    shared: Arc<Shared>,
}

/// Each derived part is made on first use, as most schemas never need all; two threads may race to
/// make it.
#[derive(Debug)]
struct Shared {
    definitions: Definitions,
    /// For messages in memory.
    layouts: OnceLock<Layouts>,
    batch_layouts: OnceLock<Layouts>,
    /// For decoders.
    decoding: OnceLock<Tables>,
    /// For decoders that defer sub-messages.
    shallow: OnceLock<Tables>,
    /// For the encoder by tables.
    encoding: OnceLock<Steps>,
    /// For JSON and text.
    json_names: OnceLock<JsonNames>,
    /// For JSON of messages in memory, by [`Names`].
    json_steps: [OnceLock<JsonSteps>; 2],
}

impl Deref for Schema {
    type Target = Definitions;

    #[inline]
    fn deref(&self) -> &Definitions {
        &self.shared.definitions
    }
}

impl Schema {
    /// True if both are one schema, so that their ids are the same.
    pub fn is(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    pub(super) fn new(definitions: Definitions) -> Schema {
        Schema {
            shared: Arc::new(Shared {
                definitions,
                layouts: OnceLock::new(),
                batch_layouts: OnceLock::new(),
                decoding: OnceLock::new(),
                shallow: OnceLock::new(),
                encoding: OnceLock::new(),
                json_names: OnceLock::new(),
                json_steps: Default::default(),
            }),
        }
    }

    /// True if both are clones of one schema, so that their ids are the same.
    pub fn is_same(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// The layouts of this schema's messages in memory.
    #[inline]
    pub fn layouts(&self) -> &Layouts {
        self.shared.layouts.get_or_init(|| Layouts::new(self))
    }

    /// The layouts of messages in a [`Batch`](crate::message::Batch).
    #[inline]
    pub(crate) fn batch_layouts(&self) -> &Layouts {
        self.shared.batch_layouts.get_or_init(|| Layouts::with(self, Maps::Listed))
    }

    /// The tables of decoders of whole messages.
    #[inline]
    pub(crate) fn decoding(&self) -> &Tables {
        self.shared.decoding.get_or_init(|| Tables::new(self))
    }

    /// The tables of decoders that defer sub-messages.
    pub(crate) fn shallow(&self) -> &Tables {
        self.shared.shallow.get_or_init(|| Tables::shallow(self))
    }

    /// The steps of the table encoder.
    #[inline]
    pub(crate) fn encoding(&self) -> &Steps {
        self.shared.encoding.get_or_init(|| Steps::new(self, self.layouts()))
    }

    /// The names in JSON and text.
    pub(crate) fn json_names(&self) -> &JsonNames {
        self.shared.json_names.get_or_init(|| JsonNames::new(self))
    }

    /// The steps that print messages in memory as JSON.
    pub(crate) fn json_steps(&self, names: Names) -> &JsonSteps {
        let make = || JsonSteps::new(self, self.layouts(), self.json_names(), names);
        self.shared.json_steps[names as usize].get_or_init(make)
    }
}
