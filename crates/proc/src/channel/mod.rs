//! Communications: four entries between a client and a server process.
//!
//! One FIFO serves both directions; each entry bears its sender. A side that finds the head not
//! from the other one waits for it; a side that finds four entries waits for room. If the other
//! side waits already, neither could ever continue: that is a protocol deadlock, and the second to
//! wait faults. The client finishes; the server sees FINISH after it has read all before it.
//!
//! After the client has finished, what the server still sends is dropped. After the server is done,
//! the client's end is finished too, and waiting for it is a protocol deadlock.

mod client;
mod guard;
mod open;
mod server;
pub(crate) use client::{client_input, client_peek, client_receive, client_send, client_wake};
pub(crate) use guard::{hold, release, set_remote};
pub(crate) use open::{open_from_outside, slot_offered, slot_required, unpark};
pub(crate) use server::{server_input, server_peek, server_receive, server_send, server_wake};
mod entries;
mod finish;
mod notify;

pub(crate) use entries::{
    Unread, drop_entries, drop_unread, head_from, interface_of, is_closed, is_full, partner_of,
    pass_head, put, take, take_unread,
};
pub(crate) use finish::{close_failed, finish, is_in_middle};
pub(crate) use notify::{notify_client, notify_server, notify_watching_client};
