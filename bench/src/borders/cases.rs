//! The borders, and the programs that cross them.

use super::load::Size;
use super::{components, packets, rules};

/// A border.
pub struct Case {
    pub name: &'static str,
    /// The marks along the crossing.
    pub marks: &'static [&'static str],
    /// Crossings of a run.
    pub crossings: u64,
    /// The files of the program.
    pub texts: fn(Size) -> Vec<(&'static str, String)>,
    /// Its expected output.
    pub expected: fn(Size) -> String,
}

impl Case {
    /// The number of crossings of a run.
    pub fn count(&self, size: Size) -> u64 {
        size.batch * size.rounds
    }
}

/// Into the node: an event is created and queued, and its turn begins.
const INTO_RULES: &[&str] = &["rules/inbox", "rules/turn"];
/// Into components: a message is put into a channel, and its process runs.
const INTO_COMPONENTS: &[&str] = &["components/kept", "components/channel", "components/process"];
/// Into the graph: a packet is put on a link, and a breath begins.
const INTO_PACKETS: &[&str] = &["packets/link", "packets/breath"];
/// Into a call to schemas, or to a file.
const INTO_CALLS: &[&str] =
    &["schemas/decode", "schemas/encode", "schemas/packet", "schemas/call", "files/record"];

pub const CASES: &[Case] = &[
    Case {
        name: "rules->schemas decode",
        marks: INTO_CALLS,
        crossings: 64_000,
        texts: rules::decode,
        expected: rules::total,
    },
    Case {
        name: "rules->schemas encode",
        marks: INTO_CALLS,
        crossings: 64_000,
        texts: rules::encode,
        expected: rules::total,
    },
    Case {
        name: "rules->components stage",
        marks: INTO_COMPONENTS,
        crossings: 64_000,
        texts: rules::stage,
        expected: rules::total,
    },
    Case {
        name: "rules->components keyed",
        marks: INTO_COMPONENTS,
        crossings: 64_000,
        texts: rules::keyed_stage,
        expected: rules::total,
    },
    Case {
        name: "rules->components Next",
        marks: INTO_COMPONENTS,
        crossings: 64_000,
        texts: components::next,
        expected: components::total,
    },
    Case {
        name: "rules->packets config",
        marks: &["packets/check", "packets/settings", "packets/reconfigured"],
        crossings: 1_280,
        texts: rules::settings,
        expected: rules::total,
    },
    Case {
        name: "rules->packets table",
        marks: &["packets/table"],
        crossings: 64_000,
        texts: rules::table,
        expected: rules::total,
    },
    Case {
        name: "rules->packets verdict",
        marks: INTO_PACKETS,
        crossings: 64_000,
        texts: packets::verdicts,
        expected: packets::total,
    },
    Case {
        name: "rules->files jsonl",
        marks: INTO_CALLS,
        crossings: 64_000,
        texts: rules::jsonl,
        expected: rules::total,
    },
    Case {
        name: "rules->files csv",
        marks: INTO_CALLS,
        crossings: 64_000,
        texts: rules::csv,
        expected: rules::total,
    },
    Case {
        name: "rules->files pcap",
        marks: INTO_CALLS,
        crossings: 64_000,
        texts: rules::pcap,
        expected: rules::total,
    },
    Case {
        name: "components->rules",
        marks: INTO_RULES,
        crossings: 64_000,
        texts: components::send,
        expected: components::total,
    },
    Case {
        name: "components->schemas",
        marks: INTO_CALLS,
        crossings: 64_000,
        texts: components::messages,
        expected: components::total,
    },
    Case {
        name: "components->packets",
        marks: INTO_PACKETS,
        crossings: 64_000,
        texts: packets::outside,
        expected: packets::total,
    },
    Case {
        name: "packets->rules bytes",
        marks: INTO_RULES,
        crossings: 64_000,
        texts: packets::bytes,
        expected: packets::total,
    },
    Case {
        name: "packets->rules fields",
        marks: INTO_RULES,
        crossings: 64_000,
        texts: packets::fields,
        expected: packets::total,
    },
    Case {
        name: "packets->components Script",
        marks: INTO_COMPONENTS,
        crossings: 64_000,
        texts: packets::script,
        expected: packets::total,
    },
    Case {
        name: "packets->components per flow",
        marks: INTO_COMPONENTS,
        crossings: 64_000,
        texts: packets::flows,
        expected: packets::total,
    },
    Case {
        name: "packets->schemas",
        marks: INTO_CALLS,
        crossings: 64_000,
        texts: packets::decode,
        expected: packets::total,
    },
];
