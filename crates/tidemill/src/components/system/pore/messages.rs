//! The messages of the interface: looked up by name once, then known by number.

/// What a client may ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    Open,
    Take,
    Avail,
    Read,
    Peek,
    Get,
    Write,
    Send,
    Put,
    Load,
    Store,
    Ring,
    Arm,
    Next,
    Ask,
    Close,
    HandOver,
}

/// What it is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Said {
    Failed,
    Opened,
    Available,
    Data,
    Accepted,
    Loaded,
    Event,
    Came,
    Trouble,
    Handed,
}

const ASKED: [(&str, Asked); 17] = [
    ("Open", Asked::Open),
    ("Take", Asked::Take),
    ("Avail", Asked::Avail),
    ("Read", Asked::Read),
    ("Peek", Asked::Peek),
    ("Get", Asked::Get),
    ("Write", Asked::Write),
    ("Send", Asked::Send),
    ("Put", Asked::Put),
    ("Load", Asked::Load),
    ("Store", Asked::Store),
    ("Ring", Asked::Ring),
    ("Arm", Asked::Arm),
    ("Next", Asked::Next),
    ("Ask", Asked::Ask),
    ("Close", Asked::Close),
    ("HandOver", Asked::HandOver),
];

/// By their values.
const SAID: [&str; 10] = [
    "Failed",
    "Opened",
    "Available",
    "Data",
    "Accepted",
    "Loaded",
    "Event",
    "Came",
    "Trouble",
    "Handed",
];

/// The numbers that the program gives them.
pub(super) struct Messages {
    asked: Vec<Option<Asked>>,
    said: [u32; SAID.len()],
}

impl Messages {
    /// From the names of the messages in their order; none if the program does not use them.
    pub(super) fn new(names: &[String]) -> Messages {
        let asked = names.iter().map(|name| {
            let known = ASKED.iter().find(|(known, _)| known == name);
            known.map(|(_, asked)| *asked)
        });
        let said = SAID.map(|name| {
            let number = names.iter().position(|known| known == name);
            number.map_or(u32::MAX, |number| number as u32)
        });
        Messages { asked: asked.collect(), said }
    }

    pub(super) fn asked(&self, number: u32) -> Option<Asked> {
        self.asked.get(number as usize).copied().flatten()
    }

    pub(super) fn number(&self, said: Said) -> u32 {
        self.said[said as usize]
    }
}
