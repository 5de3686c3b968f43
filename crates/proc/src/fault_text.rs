//! Texts of faults beyond the reason: the partner, the message, the limits.

use crate::channel::{interface_of, partner_of};
use crate::component;
use crate::fault::Reason;
use crate::handle::{ChannelRef, ComponentRef};
use crate::layout::{FROM_CLIENT, START};
use crate::machine::Context;

/// An index that is not below a count.
pub(crate) fn outside(index: i64, count: u64) -> String {
    match count {
        0 => format!("index {index} is outside, there is nothing"),
        _ => format!("index {index} is outside 0 to {}", count - 1),
    }
}

impl Context<'_> {
    /// An index that is not below a count.
    #[cold]
    pub(crate) fn outside(&mut self, index: i64, count: u64, position: u32) -> u32 {
        self.fault_with(Reason::Index, outside(index, count), position)
    }

    fn own_path(&self) -> String {
        component::path(self.worker, self.component())
    }

    /// The path of the other side, or the name of the interface of the system that it is.
    fn partner(&self, channel: ChannelRef, sender: u16) -> String {
        let partner = partner_of(channel, sender);
        if !partner.is_null() {
            return component::path(self.worker, partner);
        }
        match sender {
            FROM_CLIENT => interface_of(self.worker, channel).name.clone(),
            _ => "the client".to_owned(),
        }
    }

    fn message(&self, channel: ChannelRef, number: u16) -> String {
        interface_of(self.worker, channel).messages[usize::from(number)].name.clone()
    }

    /// A message that the protocol does not allow after the last one.
    #[cold]
    pub(crate) fn against_protocol(
        &mut self,
        channel: ChannelRef,
        number: u16,
        sender: u16,
        position: u32,
    ) -> u32 {
        let (own, partner) = (self.own_path(), self.partner(channel, sender));
        let (name, state) = (self.message(channel, number), channel.state());
        let when = match state {
            START => "first".to_owned(),
            state => format!("after {}", self.message(channel, state)),
        };
        let interface = &interface_of(self.worker, channel).name;
        let message = format!("{own} sends {name} to {partner} {when}, against {interface}");
        self.fault_with(Reason::Protocol, message, position)
    }

    /// A communication cannot begin with a message.
    #[cold]
    pub(crate) fn no_beginning(
        &mut self,
        partner: ComponentRef,
        interface: u32,
        number: u16,
        position: u32,
    ) -> u32 {
        let interface = &self.worker.program().interfaces[interface as usize];
        let name = interface.messages.get(usize::from(number)).map_or("?", |it| it.name.as_str());
        let own = self.own_path();
        let partner = if partner.is_null() {
            interface.name.clone()
        } else {
            component::path(self.worker, partner)
        };
        let message = format!("{own} begins with {name} to {partner}, against {}", interface.name);
        self.fault_with(Reason::Protocol, message, position)
    }

    /// The client of a communication is disconnected in the middle of it.
    #[cold]
    pub(crate) fn in_middle(
        &mut self,
        client: ComponentRef,
        channel: ChannelRef,
        position: u32,
    ) -> u32 {
        let (own, client) = (self.own_path(), component::path(self.worker, client));
        let partner = self.partner(channel, FROM_CLIENT);
        let (state, interface) = (channel.state(), interface_of(self.worker, channel));
        let (last, interface) = (self.message(channel, state), &interface.name);
        let message = format!(
            "{own} disconnects {client} from {partner} after {last}, in the middle of {interface}"
        );
        self.fault_with(Reason::Protocol, message, position)
    }

    /// Another message than the one to be received.
    #[cold]
    pub(crate) fn unexpected(
        &mut self,
        channel: ChannelRef,
        (expected, came): (u16, u16),
        receiver: u16,
        position: u32,
    ) -> u32 {
        let (expected, came) = (self.message(channel, expected), self.message(channel, came));
        let partner = self.partner(channel, receiver);
        let message = format!("{expected} was expected from {partner}, {came} came");
        self.fault_with(Reason::Unexpected, message, position)
    }

    /// The other side waits too, so neither can continue.
    #[cold]
    pub(crate) fn deadlock(&mut self, channel: ChannelRef, side: u16, position: u32) -> u32 {
        let message =
            format!("{} and {} wait for each other", self.own_path(), self.partner(channel, side));
        self.fault_with(Reason::ProtocolDeadlock, message, position)
    }

    /// The other side is done, and a message of it is waited for.
    #[cold]
    pub(crate) fn finished(&mut self, channel: ChannelRef, side: u16, position: u32) -> u32 {
        let message = format!("{} has finished the communication", self.partner(channel, side));
        self.fault_with(Reason::Finished, message, position)
    }

    /// The other side has failed; null if it is not there any more.
    #[cold]
    pub(crate) fn failed_partner(&mut self, partner: ComponentRef, position: u32) -> u32 {
        let name = if partner.is_null() {
            "the other side".to_owned()
        } else {
            component::path(self.worker, partner)
        };
        self.fault_with(Reason::PartnerFailed, format!("{name} has failed"), position)
    }
}
