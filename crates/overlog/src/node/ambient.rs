//! The environment of rules on a node.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use tidemill_relation::expr::{Ambient, Param, is_below};
use tidemill_relation::function;
use tidemill_relation::{Id, Messages, OwnedValue, Value};
use tidemill_stdx::hash;
use tidemill_stdx::rng::Rng;

use super::allowances::Interrupt;

/// The name of a node and its number among those started with it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// `host:port`; the node *is* this text.
    pub address: String,
    /// Its number, from 0.
    pub index: u32,
    /// The number of nodes started together.
    pub count: u32,
    /// The address through which it joins others.
    pub landmark: String,
}

/// The random choices of a node that is explored: all possible ones are tried.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Chosen {
    /// The results of coin flips, in order. Flips beyond its end are false, and are appended.
    pub flips: Vec<bool>,
    /// The number of the next symbol: all other random values are distinct symbols.
    pub symbol: u64,
}

/// Clock, random numbers and parameters of one node.
#[derive(Clone, Debug)]
pub(super) struct NodeAmbient {
    now_ns: Cell<i64>,
    random: RefCell<Rng>,
    /// The random choices of an exploration, and the number of coins flipped.
    chosen: RefCell<Option<(Chosen, usize)>>,
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
            chosen: RefCell::new(None),
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

    /// Draws random numbers from another seed from now on.
    pub(super) fn reseed(&self, seed: u64) {
        *self.random.borrow_mut() = Rng::new(seed);
    }

    /// Sets the random choices from now on.
    pub(super) fn choose(&self, chosen: Chosen) {
        *self.chosen.borrow_mut() = Some((chosen, 0));
    }

    /// The random choices, with the coins that were flipped.
    pub(super) fn chosen(&self) -> Chosen {
        self.chosen.borrow_mut().take().map(|(chosen, _)| chosen).unwrap_or_default()
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
        if let Some((chosen, _)) = &mut *self.chosen.borrow_mut() {
            chosen.symbol += 1;
            // Symbols of different nodes are different, and none looks like a number of programs.
            return hash::combine(hash::hash_u64(self.index as u64), chosen.symbol);
        }
        self.random.borrow_mut().next_u64()
    }

    fn flip(&self, probability: f64) -> bool {
        if let Some((chosen, taken)) = &mut *self.chosen.borrow_mut() {
            if probability <= 0.0 || probability >= 1.0 {
                return probability >= 1.0;
            }
            let at = *taken;
            *taken += 1;
            if at == chosen.flips.len() {
                chosen.flips.push(false);
            }
            return chosen.flips[at];
        }
        is_below(self.random(), probability)
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
