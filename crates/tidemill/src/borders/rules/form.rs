//! The form of interfaces that lead to rules.

use tidemill_cl::ir::{self, Direction, MessageId};

/// The required form of the interface.
pub(super) const FORM: &str =
    "`{ IN p(..) OUT Taken | IN Next ( OUT q(change: CHARACTER; ..) | OUT End ) }`";
/// The names of the messages that are not relations.
pub(super) const NEXT: &str = "Next";
pub(super) const TAKEN: &str = "Taken";
pub(super) const END: &str = "End";

/// Checks that an interface can be served: a put is answered by `Taken`, and `Next` by any change
/// or by `End`.
///
/// # Errors
/// The error, and the message at fault.
pub(super) fn check(interface: &ir::Interface) -> Result<(), (Option<MessageId>, String)> {
    let wrong = |id: Option<MessageId>, message: String| Err((id, message));
    let after = |last: Option<MessageId>| &interface.protocol.after(last).next;
    let find = |name: &str| {
        let mut all = interface.messages.iter_enumerated();
        all.find(|(_, it)| it.name == name).map(|(id, _)| id)
    };
    let is_in = |id: &MessageId| interface.messages[*id].direction == Direction::In;
    let changes: Vec<MessageId> = interface
        .messages
        .iter_enumerated()
        .filter(|(_, it)| it.direction == Direction::Out && it.name != TAKEN)
        .map(|(id, _)| id)
        .collect();
    if let Some(&id) = after(None).iter().find(|id| !is_in(id)) {
        let message = format!("`{}` begins with OUT, and rules do not begin", interface.name);
        return wrong(Some(id), message);
    }
    for (id, message) in interface.messages.iter_enumerated() {
        let name = message.name.as_str();
        let is_bare = matches!(name, NEXT | TAKEN | END);
        if is_bare && !message.parameters.is_empty() {
            return wrong(Some(id), format!("`{name}` has no parameters"));
        }
        let next = after(Some(id));
        let fits = match (message.direction, name) {
            (Direction::In, NEXT) => *next == changes && find(END).is_some(),
            (Direction::In, _) => next.len() == 1 && next.first().copied() == find(TAKEN),
            (Direction::Out, _) => next.iter().all(is_in),
        };
        if !fits {
            let message = match (message.direction, name) {
                (Direction::In, NEXT) => {
                    "`Next` is answered by any of the changes, or `End`".into()
                }
                (Direction::In, _) => format!("`{name}` is answered by `Taken`"),
                (Direction::Out, _) => format!("after `{name}` it is the component's turn"),
            };
            return wrong(Some(id), message);
        }
    }
    Ok(())
}
