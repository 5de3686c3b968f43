//! Counters of a run's control connections.

use tidemill_stat::{Counter, Registry};

/// Defines the counters with their names.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// The counters, shown as `control/run/NAME`.
        #[derive(Debug)]
        pub struct ControlCounters {
            $($(#[$doc])* pub $name: Counter,)+
        }

        impl ControlCounters {
            /// All at zero.
            pub fn new(registry: &Registry) -> ControlCounters {
                let counter = |name: &str| registry.counter(&format!("control/run/{name}"));
                ControlCounters { $($name: counter(stringify!($name)),)+ }
            }
        }
    };
}

counters! {
    /// Accepted connections.
    accepted,
    /// Received requests.
    requests,
    /// Connections to the socket by another user.
    refused_user,
    /// Connections beyond the maximum.
    refused_full,
    /// Connections with another token.
    refused_token,
    /// Connections over the network to a run without a token.
    refused_no_token,
    /// Connections that did not show a token in time.
    handshake_timeouts,
    /// Connections without a token that were closed to make room for others.
    half_open_evicted,
    /// Requests that this version, or this kind of run, does not support.
    unsupported,
    /// Malformed frames or requests, which end their connection.
    malformed,
    /// Frames that exceed the length limit, which end their connection.
    too_long,
    /// Frames not sealed by the peer, which end their connection.
    bad_seal,
    /// Connections ended because they sent no request for a while.
    idle,
    /// Connections ended because the peer did not read the answer.
    stalled,
    /// Broken connections.
    broken,
}
