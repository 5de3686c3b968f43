//! Counters of what was received, sent, and dropped by reason.

/// Defines the counts with their names.
macro_rules! counts {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// One thing that is counted.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Count {
            $($(#[$doc])* $variant,)+
        }

        impl Count {
            /// All counts, in the order in which they are shown.
            pub const ALL: &'static [Count] = &[$(Count::$variant,)+];

            /// True for reasons why something was not delivered.
            pub fn is_drop(self) -> bool {
                Count::Malformed <= self && self <= Count::FrameFull
            }

            /// The name of its counter.
            pub fn name(self) -> &'static str {
                match self {
                    $(Count::$variant => $name,)+
                }
            }
        }
    };
}

counts! {
    /// Datagrams or frames received, bad ones included.
    Received = "rx_datagrams",
    /// Bytes received.
    ReceivedBytes = "rx_bytes",
    /// Tuples delivered.
    Delivered = "rx_tuples",
    /// Datagrams or frames sent.
    Sent = "tx_datagrams",
    /// Bytes sent.
    SentBytes = "tx_bytes",
    /// Tuples accepted for sending.
    Queued = "tx_tuples",
    /// Datagrams sent again.
    Retransmitted = "tx_retransmitted",

    /// Bytes that are no envelope.
    Malformed = "malformed",
    /// A tuple without relation and name.
    NoRelation = "no_relation",
    /// A relation number that the program does not have.
    UnknownRelation = "unknown_relation",
    /// A body in an envelope of another program.
    BadProgramBody = "bad_program_body",
    /// A body that is not of its relation's message.
    BadBody = "bad_body",
    /// A tuple by name with another number of columns than its relation has.
    BadArity = "bad_arity",
    /// A tuple that the program lets no other node send, or that is located elsewhere.
    NotExported = "not_exported",
    /// A tuple that nests too deep or is too large to be sent.
    Unsendable = "unsendable",
    /// A tuple for an address beyond the number of peers kept.
    TooManyPeers = "too_many_peers",

    /// A datagram with content for a node that is about to end.
    Ending = "ending",

    /// A fragment that contradicts itself, its message or the limits.
    FragmentInvalid = "fragment_invalid",
    /// A fragment that was already there.
    FragmentDuplicate = "fragment_duplicate",
    /// A message given up for a newer one of the same peer.
    FragmentEvicted = "fragment_evicted",
    /// A fragment for which there was no memory.
    FragmentFull = "fragment_full",
    /// A message whose fragments did not all come in time.
    FragmentTimeout = "fragment_timeout",
    /// A fragment inside fragments.
    FragmentNested = "fragment_nested",

    /// Tuples or messages beyond the limit of a send queue.
    QueueFull = "queue_full",
    /// A datagram that had already come.
    Duplicate = "duplicate",
    /// A datagram from or to an earlier life of either side, or of a stream given up.
    Stale = "stale",
    /// An acknowledgement of what was never sent, or without its parts.
    BadAck = "bad_ack",
    /// A datagram beyond the window.
    WindowExceeded = "window_exceeded",
    /// A datagram out of order for which there was no memory.
    ReorderFull = "reorder_full",
    /// Datagrams queued for a peer that restarted.
    PeerRestarted = "peer_restarted",
    /// Datagrams queued for a peer that fell silent, or with which a link began anew.
    PeerLost = "peer_lost",

    /// A datagram without seal, at a node that has a key.
    Unsealed = "unsealed",
    /// A message of a handshake that is not by the fleet's key.
    BadMac = "bad_mac",
    /// A cookie that is not by the fleet's key, or a proof of one that this node has not given.
    BadCookie = "bad_cookie",
    /// A handshake beyond the number of those that may be unfinished.
    HalfOpenFull = "half_open_full",
    /// A message of a handshake that cannot be read.
    HandshakeFailed = "handshake_failed",
    /// A handshake that was not finished in time.
    HandshakeTimeout = "handshake_timeout",
    /// A handshake with or by a node of another name than requested.
    WrongName = "wrong_name",
    /// A peer that is not in the list of those let in, or has another identity there.
    WrongIdentity = "wrong_identity",
    /// A handshake for a name that another identity has.
    NameTaken = "name_taken",
    /// A sealed datagram of no session that there is.
    UnknownSession = "unknown_session",
    /// A sealed datagram that had already come, or is too old for the replay window.
    Replayed = "replayed",
    /// A sealed datagram that its session has not sealed.
    BadSeal = "bad_seal",
    /// A sealed frame on a connection that is not the next one.
    OutOfOrder = "out_of_order",
    /// A datagram that waited too long for a session, or behind too many others.
    NoSession = "no_session",
    /// A handshake for which there was no randomness.
    NoEntropy = "no_entropy",

    /// A frame longer than allowed, which ends its connection.
    FrameTooLong = "frame_too_long",
    /// A connection ended because it and others held too much of frames that were not yet whole.
    FrameFull = "frame_full",
    /// Connections made to peers.
    Connected = "connected",
    /// Connections taken from peers.
    Accepted = "accepted",
    /// Connections that could not be made, or broke.
    ConnectionBroken = "connection_broken",
    /// Connections closed to make room for others.
    ConnectionEvicted = "connection_evicted",
    /// Connections closed because nothing had gone over them for long.
    ConnectionIdle = "connection_idle",
    /// Reliable links that began anew: the peer was silent for too long, or could not go on.
    LinkRestarted = "links_restarted",
    /// Sessions with peers that were made.
    Handshakes = "handshakes",
    /// Times that key files were reread and accepted.
    KeysTaken = "keys_taken",
    /// Times that they were refused, and the old keys stayed in use.
    KeysRefused = "keys_refused",
    /// Handshakes that were answered with a cookie.
    CookieSent = "cookies_sent",
    /// Peers whose datagrams came from another socket.
    RouteMoved = "route_moved",
}

impl Count {
    /// True for what was dropped because of what a peer sent, not by the network or for want of a
    /// place of our own: this is logged.
    pub fn is_refusal(self) -> bool {
        use Count::{
            BadAck, BadArity, BadBody, BadCookie, BadMac, BadProgramBody, BadSeal, FragmentFull,
            FragmentInvalid, FragmentNested, FrameFull, FrameTooLong, HalfOpenFull,
            HandshakeFailed, Malformed, NameTaken, NoRelation, NotExported, OutOfOrder, Replayed,
            TooManyPeers, UnknownRelation, UnknownSession, Unsealed, WrongIdentity, WrongName,
        };
        matches!(
            self,
            Malformed
                | NoRelation
                | UnknownRelation
                | BadProgramBody
                | BadBody
                | BadArity
                | NotExported
                | TooManyPeers
                | FragmentInvalid
                | FragmentFull
                | FragmentNested
                | BadAck
                | Unsealed
                | BadMac
                | BadCookie
                | HalfOpenFull
                | HandshakeFailed
                | WrongName
                | WrongIdentity
                | NameTaken
                | UnknownSession
                | Replayed
                | BadSeal
                | OutOfOrder
                | FrameTooLong
                | FrameFull
        )
    }
}

/// The counters of one node's network; plain numbers, for the owner to publish.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters {
    counts: [u64; Count::ALL.len()],
    /// The number of drops among them, and the reason of the last.
    drops: u64,
    last_drop: Option<Count>,
}

impl Default for Counters {
    fn default() -> Counters {
        Counters { counts: [0; Count::ALL.len()], drops: 0, last_drop: None }
    }
}

impl Counters {
    /// All at zero.
    pub fn new() -> Counters {
        Counters::default()
    }

    /// Adds one.
    pub fn count(&mut self, count: Count) {
        self.add(count, 1);
    }

    /// Adds `number`.
    pub fn add(&mut self, count: Count, number: u64) {
        self.counts[count as usize] += number;
        if number > 0 && count.is_drop() {
            self.drops += number;
            self.last_drop = Some(count);
        }
    }

    /// Adds the counts of `others`.
    pub fn merge(&mut self, others: &Counters) {
        self.counts.iter_mut().zip(others.counts).for_each(|(count, more)| *count += more);
        self.drops += others.drops;
        self.last_drop = others.last_drop.or(self.last_drop);
    }

    /// The number of drops so far, for all reasons.
    pub fn drops(&self) -> u64 {
        self.drops
    }

    /// The reason of the last drop, if there are more than `drops`.
    pub fn dropped_since(&self, drops: u64) -> Option<Count> {
        self.last_drop.filter(|_| self.drops > drops)
    }

    /// The count so far.
    pub fn get(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }

    /// Names and numbers, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Count::ALL.iter().map(|&count| (count.name(), self.get(count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_and_counts_are_kept_apart() {
        let names: BTreeSet<_> = Count::ALL.iter().map(|count| count.name()).collect();
        assert_eq!(names.len(), Count::ALL.len());
        let mut counters = Counters::new();
        counters.count(Count::Malformed);
        counters.add(Count::SentBytes, 7);
        let seen: Vec<_> = counters.iter().filter(|&(_, number)| number > 0).collect();
        assert_eq!(seen, [("tx_bytes", 7), ("malformed", 1)]);
        assert_eq!((counters.drops(), counters.dropped_since(0)), (1, Some(Count::Malformed)));
        assert_eq!(counters.dropped_since(1), None);
    }
}
