//! The interfaces that the system offers to components.
//!
//! Each is declared once, as a text of the language in `interfaces/`: the checker parses it when a
//! program names it. `declared` has the messages of each as Rust types, for the servers: a request
//! with its parameters, and what is answered. `text` reads the declarations while the crate is
//! compiled and compares: a message that is in the text and not in the types, or has other
//! parameters there, does not compile, and neither does a server whose match forgets one.

mod declared;
mod parameter;
mod parsed;
mod text;

pub use declared::{
    arguments, file_system, graphic_view, input, messages, network, packets, pore, system_time,
    xenstore,
};
pub use parameter::{Joined, Response, Text};
pub(crate) use parsed::Interfaces;

/// An interface of the system; requests carry its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    /// The wall clock, and pauses.
    Time,
    /// Files below one folder.
    Files,
    /// A screen.
    View,
    /// The standard input.
    Input,
    /// The arguments after `--` on the command line.
    Arguments,
    /// Connections and datagrams.
    Network,
    /// Memory that is shared with the outside.
    Pore,
    /// The store of a hypervisor.
    Xenstore,
    /// The packet graph that runs beside the components.
    Packets,
    /// Values of the types that schemas have.
    Messages,
}

impl System {
    /// All of them, by their numbers.
    pub const ALL: [System; 10] = [
        System::Time,
        System::Files,
        System::View,
        System::Input,
        System::Arguments,
        System::Network,
        System::Pore,
        System::Xenstore,
        System::Packets,
        System::Messages,
    ];

    /// The name of the interface.
    pub const fn name(self) -> &'static str {
        match self {
            System::Time => system_time::NAME,
            System::Files => file_system::NAME,
            System::View => graphic_view::NAME,
            System::Input => input::NAME,
            System::Arguments => arguments::NAME,
            System::Network => network::NAME,
            System::Pore => pore::NAME,
            System::Xenstore => xenstore::NAME,
            System::Packets => packets::NAME,
            System::Messages => messages::NAME,
        }
    }

    /// Its declaration.
    pub const fn text(self) -> &'static str {
        match self {
            System::Time => system_time::TEXT,
            System::Files => file_system::TEXT,
            System::View => graphic_view::TEXT,
            System::Input => input::TEXT,
            System::Arguments => arguments::TEXT,
            System::Network => network::TEXT,
            System::Pore => pore::TEXT,
            System::Xenstore => xenstore::TEXT,
            System::Packets => packets::TEXT,
            System::Messages => messages::TEXT,
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<System> {
        System::ALL.into_iter().find(|it| it.name() == name)
    }
}
