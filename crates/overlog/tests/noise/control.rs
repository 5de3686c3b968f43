//! Untrusted control messages: frames, messages, and the handshake before them.
//!
//! The first byte selects the receiver: 0 a run at its socket, 1 a run at a port with a token, 2 a
//! tool that has sent its hello, 3 a run and a tool that have proven the token to each other. The
//! rest is the input, in pieces whose length is the second byte, or in one.

use tidemill_fabric::stream::{FrameReader, write_frame};
use tidemill_fabric::token::{Channel, Token};
use tidemill_overlog::control::{self, Control, Message, REQUEST_BYTES_MAX};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Panics if the input breaks a guarantee; returns the number of valid messages.
pub fn check(input: &[u8]) -> usize {
    let [reader, piece, bytes @ ..] = input else { return 0 };
    let token = Token::parse(TOKEN).expect("it is strong");
    let (mut hello, mut reply) = (Vec::new(), Vec::new());
    let mut caller = Channel::call(&token, [1; 32], &mut hello).expect("a hello");
    let mut listener = Channel::answer(&token, [2; 32]).expect("a listener");
    let mut channel = match reader & 3 {
        0 => None,
        1 => Some(listener),
        2 => Some(caller),
        _ => {
            listener.receive(&hello, &mut Vec::new(), &mut reply).expect("the same token");
            caller.receive(&reply, &mut Vec::new(), &mut Vec::new()).expect("the same token");
            Some(listener)
        }
    };
    let mut frames = FrameReader::new(REQUEST_BYTES_MAX);
    let mut count = 0;
    let size = if *piece == 0 { bytes.len().max(1) } else { usize::from(*piece) };
    for bytes in bytes.chunks(size) {
        match &mut channel {
            None => frames.push(bytes),
            Some(channel) => {
                let (mut plain, mut out) = (Vec::new(), Vec::new());
                let received = channel.receive(bytes, &mut plain, &mut out);
                assert!(out.len() <= 53, "a reply at most");
                assert!(plain.len() <= bytes.len() + (17 << 10), "a frame that was not whole");
                frames.push(&plain);
                if received.is_err() {
                    return count + understood(&mut frames).0;
                }
            }
        }
        let (more, goes_on) = understood(&mut frames);
        count += more;
        if !goes_on {
            break;
        }
        assert!(frames.held() <= REQUEST_BYTES_MAX + 4, "memory that nothing limits");
    }
    count
}

/// Reads the complete frames; returns the number of messages, and whether more can follow.
fn understood(frames: &mut FrameReader) -> (usize, bool) {
    let mut count = 0;
    loop {
        match frames.next_frame() {
            Ok(None) => return (count, true),
            Err(_) => return (count, false),
            Ok(Some(frame)) => match Control::decode(frame) {
                Err(_) => return (count, false),
                Ok(control) => {
                    count += usize::from(control.message.is_some());
                    comes_back(&control);
                }
            },
        }
    }
}

/// Checks that a message round-trips.
fn comes_back(control: &Control) {
    if let Some(bytes) = encode(control) {
        let again = Control::decode(&bytes).expect("this side has written it");
        assert_eq!(encode(&again).as_ref(), Some(&bytes));
    }
}

fn encode(control: &Control) -> Option<Vec<u8>> {
    let id = control.id;
    Some(match control.message.as_ref()? {
        Message::Query { node, text } => control::query(id, node, text),
        Message::Top { costs: false } => control::top(id),
        Message::Top { costs: true } => control::top_of_costs(id),
        Message::Install { node, name, text } => control::install(id, node, name, text),
        Message::Uninstall { node, name } => control::uninstall(id, node, name),
        Message::Unsupported(_) => return None,
        // Rows are repeated fields: without any there is nothing to write.
        Message::Rows(rows) if rows.is_empty() => return None,
        Message::Rows(rows) => {
            let mut bytes = control::part(id);
            for row in rows {
                let row = row.iter().map(|value| value.get());
                if !control::row_fits(row.clone()) {
                    return None;
                }
                control::append_row(&mut bytes, row);
            }
            bytes
        }
        Message::Counters(counters) => control::counters(id, counters),
        Message::Text(text) => control::text(id, text),
        Message::End(end) => control::end(id, end),
    })
}

/// The exchanges of two sides with the same token, as seeds.
pub fn recorded() -> Vec<(&'static str, Vec<u8>)> {
    let token = Token::parse(TOKEN).expect("it is strong");
    let (mut hello, mut reply) = (Vec::new(), Vec::new());
    let mut caller = Channel::call(&token, [1; 32], &mut hello).expect("a hello");
    let mut listener = Channel::answer(&token, [2; 32]).expect("a listener");
    listener.receive(&hello, &mut Vec::new(), &mut reply).expect("the same token");
    caller.receive(&reply, &mut Vec::new(), &mut Vec::new()).expect("the same token");
    let sealed = |channel: &mut Channel, message: &[u8]| {
        let (mut frame, mut sealed) = (Vec::new(), Vec::new());
        write_frame(&mut frame, message).expect("it is short");
        channel.seal(&frame, &mut sealed).expect("it is open");
        sealed
    };
    let question = sealed(&mut caller, &control::query(1, "", "edge"));
    let answer = sealed(&mut listener, &control::text(1, "a tree"));
    vec![
        ("hello", [&[1, 0][..], &hello, &question].concat()),
        ("reply", [&[2, 0][..], &reply, &answer].concat()),
        ("sealed", [&[3, 9][..], &question].concat()),
    ]
}
