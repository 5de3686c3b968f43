//! The messages of the interface: looked up by name once, then known by number.

/// What a client may ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Request {
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
pub(super) enum Response {
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

const REQUESTS: [(&str, Request); 17] = [
    ("Open", Request::Open),
    ("Take", Request::Take),
    ("Avail", Request::Avail),
    ("Read", Request::Read),
    ("Peek", Request::Peek),
    ("Get", Request::Get),
    ("Write", Request::Write),
    ("Send", Request::Send),
    ("Put", Request::Put),
    ("Load", Request::Load),
    ("Store", Request::Store),
    ("Ring", Request::Ring),
    ("Arm", Request::Arm),
    ("Next", Request::Next),
    ("Ask", Request::Ask),
    ("Close", Request::Close),
    ("HandOver", Request::HandOver),
];

/// By their values.
const RESPONSES: [&str; 10] = [
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
    requests: Vec<Option<Request>>,
    responses: [u32; RESPONSES.len()],
}

impl Messages {
    /// From the names of the messages in their order; none if the program does not use them.
    pub(super) fn new(names: &[String]) -> Messages {
        let requests = names.iter().map(|name| {
            let known = REQUESTS.iter().find(|(known, _)| known == name);
            known.map(|(_, request)| *request)
        });
        let responses = RESPONSES.map(|name| {
            let number = names.iter().position(|known| known == name);
            number.map_or(u32::MAX, |number| number as u32)
        });
        Messages { requests: requests.collect(), responses }
    }

    pub(super) fn request(&self, number: u32) -> Option<Request> {
        self.requests.get(number as usize).copied().flatten()
    }

    pub(super) fn number(&self, response: Response) -> u32 {
        self.responses[response as usize]
    }
}
