//! Edges from components to the apps and the messages that they name.

use tidemill_cl::ast::Sent;
use tidemill_cl::system::messages::NAME as MESSAGES;
use tidemill_cl::system::packets::NAME as PACKETS;

use super::model::{EdgeKind, NodeKind};
use super::whole::Whole;
use crate::borders::flows::{OPEN, literal};
use crate::borders::messages::{DECODE, TYPED};
use crate::components::system::packets::OUTSIDE;

/// The name of the messages whose type a component computes.
const ANY_TYPE: &str = "of any type";

/// From components to the apps that they open. A name that is computed may be that of any.
pub(super) fn opened(whole: &mut Whole<'_>) {
    let program = whole.program;
    let Some(graph) = &program.packets else { return };
    let outside = || graph.apps.iter().filter(|app| app.kind.name == OUTSIDE);
    program.components.tree.for_each_send(PACKETS, &mut |sent| {
        let Sent { component, message, arguments } = sent;
        let Some(from) = whole.component(component).filter(|_| message.text == OPEN) else {
            return;
        };
        let name = arguments.first().and_then(literal).map(|(name, _)| name);
        let kind = if name.is_some() { EdgeKind::Opens } else { EdgeKind::MayOpen };
        for app in outside().filter(|app| name.is_none_or(|name| name == app.name)) {
            whole.app(&app.name).into_iter().for_each(|to| whole.edge(from, to, kind));
        }
    });
}

/// From components to the types of messages that they decode and make.
pub(super) fn messages(whole: &mut Whole<'_>) {
    whole.program.components.tree.for_each_send(MESSAGES, &mut |sent| {
        let Sent { component, message, arguments } = sent;
        let is_typed = TYPED.contains(&message.text.as_str());
        let Some(from) = whole.component(component).filter(|_| is_typed) else { return };
        let kind = if message.text == DECODE { EdgeKind::Decodes } else { EdgeKind::Makes };
        let name = arguments.first().and_then(literal).map_or(ANY_TYPE, |(name, _)| name);
        let to = whole.node(NodeKind::Message, name);
        whole.edge(from, to, kind);
    });
}
