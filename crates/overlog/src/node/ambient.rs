//! What rules can know of the node they run on.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use tidemill_relation::expr::{Ambient, Param};
use tidemill_relation::function;
use tidemill_relation::{Id, Messages, OwnedValue, Value};
use tidemill_stdx::rng::Rng;

use super::allowances::Interrupt;

/// How a node is called and where it stands among those started with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// `host:port`; the node *is* this text.
    pub address: String,
    /// Its number, from 0.
    pub index: u32,
    /// How many nodes were started together.
    pub count: u32,
    /// The address through which it joins others.
    pub landmark: String,
}

/// Clock, random numbers and parameters of one node.
#[derive(Debug)]
pub(super) struct NodeAmbient {
    now_ns: Cell<i64>,
    random: RefCell<Rng>,
    node: OwnedValue,
    landmark: OwnedValue,
    id: Id,
    index: i64,
    count: i64,
    messages: Option<Arc<dyn Messages>>,
    pub(super) interrupt: Interrupt,
}

impl NodeAmbient {
    pub(super) fn new(
        identity: &Identity,
        seed: u64,
        messages: Option<Arc<dyn Messages>>,
    ) -> NodeAmbient {
        NodeAmbient {
            now_ns: Cell::new(0),
            random: RefCell::new(Rng::new(seed)),
            node: OwnedValue::new(Value::Str(&identity.address)),
            landmark: OwnedValue::new(Value::Str(&identity.landmark)),
            id: node_id(&identity.address),
            index: i64::from(identity.index),
            count: i64::from(identity.count),
            messages,
            interrupt: Interrupt::default(),
        }
    }

    /// The message types of another program.
    pub(super) fn set_messages(&mut self, messages: Option<Arc<dyn Messages>>) {
        self.messages = messages;
    }

    /// Sets the clock for the turn that begins.
    pub(super) fn set_now(&self, wall_ns: i64) {
        self.now_ns.set(wall_ns);
    }
}

/// `NODE_ID` of an address: its SHA-1.
pub fn node_id(address: &str) -> Id {
    function::id_of(Value::Str(address))
}

impl Ambient for NodeAmbient {
    fn is_interrupted(&self) -> bool {
        self.interrupt.is_set()
    }

    fn messages(&self) -> Option<&dyn Messages> {
        self.messages.as_deref()
    }

    fn now_ns(&self) -> i64 {
        self.now_ns.get()
    }

    fn random(&self) -> u64 {
        self.random.borrow_mut().next_u64()
    }

    fn param(&self, param: Param) -> Value<'_> {
        match param {
            Param::Node => self.node.get(),
            Param::NodeIndex => Value::Int(self.index),
            Param::NodeCount => Value::Int(self.count),
            Param::NodeId => Value::Id(self.id),
            Param::Landmark => self.landmark.get(),
        }
    }
}
