//! What a run counts of those who talk to it.

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
    /// Connections that were taken.
    accepted,
    /// Requests that came.
    requests,
    /// Connections of another user to the socket.
    refused_user,
    /// Connections beyond the number that may be.
    refused_full,
    /// Connections by another token.
    refused_token,
    /// Connections over the network to a run without a token.
    refused_no_token,
    /// Connections that had not shown a token in time.
    handshake_timeouts,
    /// Connections that had not shown a token when others needed their place.
    half_open_evicted,
    /// Requests that this version, or this kind of run, does not answer.
    unsupported,
    /// Frames that are none, or no request, which end their connection.
    malformed,
    /// Frames that are longer than a request may be, which end their connection.
    too_long,
    /// Frames that the other side has not sealed, which end their connection.
    bad_seal,
    /// Connections ended because nothing was asked for a while.
    idle,
    /// Connections ended because the answer was not read.
    stalled,
    /// Connections that broke.
    broken,
}
