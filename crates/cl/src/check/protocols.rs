//! The automaton of a protocol, by Glushkov's construction: as each message occurs once in it, the
//! positions of the regular expression are the messages, and the automaton is deterministic.

use tidemill_stdx::id::{Id, IdVec};

use crate::ast::{self, ProtocolFactor};
use crate::ir::MessageId;
use crate::ir::protocol::{Protocol, ProtocolState};

/// What of a part of the expression the whole needs.
#[derive(Default)]
struct Part {
    /// What it can begin with.
    first: Vec<MessageId>,
    /// What it can end with.
    last: Vec<MessageId>,
    /// Whether it can be passed over.
    empty: bool,
}

struct Builder {
    /// Messages that may follow each.
    follow: IdVec<MessageId, Vec<MessageId>>,
    next: usize,
}

/// The automaton, with a state for the start and one for each message.
pub(super) fn automaton(protocol: &ast::Protocol, messages: usize) -> Protocol {
    let mut builder = Builder { follow: IdVec::filled(Vec::new(), messages), next: 0 };
    let whole = builder.protocol(protocol);
    let mut states = vec![ProtocolState { next: sorted(whole.first), may_end: whole.empty }];
    let last = sorted(whole.last);
    for (message, next) in builder.follow.into_iter_enumerated() {
        let may_end = last.binary_search(&message).is_ok();
        states.push(ProtocolState { next: sorted(next), may_end });
    }
    Protocol { states }
}

fn sorted(mut list: Vec<MessageId>) -> Vec<MessageId> {
    list.sort_unstable();
    list.dedup();
    list
}

impl Builder {
    fn protocol(&mut self, protocol: &ast::Protocol) -> Part {
        let mut whole = Part::default();
        for term in &protocol.terms {
            let mut one = Part { empty: true, ..Part::default() };
            for factor in &term.factors {
                let next = self.factor(factor);
                one = self.concatenate(one, next);
            }
            whole.first.extend(one.first);
            whole.last.extend(one.last);
            whole.empty |= one.empty;
        }
        whole
    }

    fn concatenate(&mut self, a: Part, b: Part) -> Part {
        self.link(&a.last, &b.first);
        let mut first = a.first;
        if a.empty {
            first.extend(&b.first);
        }
        let mut last = b.last;
        if b.empty {
            last.extend(&a.last);
        }
        Part { first, last, empty: a.empty && b.empty }
    }

    fn link(&mut self, from: &[MessageId], to: &[MessageId]) {
        for message in from {
            self.follow[*message].extend(to);
        }
    }

    fn factor(&mut self, factor: &ProtocolFactor) -> Part {
        match factor {
            ProtocolFactor::Message(_) => {
                let message = MessageId::from_index(self.next);
                self.next += 1;
                Part { first: vec![message], last: vec![message], empty: false }
            }
            ProtocolFactor::Optional(inner, _) => Part { empty: true, ..self.protocol(inner) },
            ProtocolFactor::Repeated(inner, _) => {
                let part = self.protocol(inner);
                self.link(&part.last.clone(), &part.first);
                Part { empty: true, ..part }
            }
            ProtocolFactor::Group(inner, _) => self.protocol(inner),
        }
    }
}
