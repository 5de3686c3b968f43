//! A node's mail: sends of its turns, and received tuples.
//!
//! A thin layer over [`Endpoint`] that knows the program's relations, which tuples must not be lost
//! (changes of views always, others depending on the fabric), and whose rows are valid here only
//! while their sender lives.

use std::sync::Arc;

use tidemill_fabric::endpoint::Config;
use tidemill_relation::plan::{Plan, RelationId};
use tidemill_relation::value::Type;
use tidemill_relation::{Seq, TypeSet, Value};
use tidemill_stdx::ordered::{OrderedMap, OrderedSet};
use tidemill_stdx::sorted::SortedSet;
use tidemill_wire::SchemaError;

use super::address::canonical;
use super::admission::{self, Admission};
use super::endpoint::Endpoint;
use super::schema::{ColumnType, ProgramSchema};
use crate::node::Send;
use crate::program::Compiled;
use tidemill_fabric::counters::{Count, Counters};
use tidemill_fabric::fragment::MESSAGE_BYTES_MAX;
use tidemill_fabric::peer::Mode;
use tidemill_fabric::reliable::{HEADER_BYTES_MAX, PeerEvent};

/// The transport of tuples between nodes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Fabric {
    /// Datagrams, best effort.
    #[default]
    Udp,
    /// Datagrams with acknowledgement: once each, in order.
    Reliable,
    /// Streams: in order, and lost only with a connection. What must not be lost is acknowledged
    /// as with datagrams, inside the stream, so that it outlives the connection.
    Tcp,
}

/// Bytes of an envelope on a connection: any message fits in one, as fragments would gain nothing.
const FRAME_BYTES: usize = MESSAGE_BYTES_MAX + HEADER_BYTES_MAX;

/// A tuple received for this node.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// Its relation.
    pub relation: RelationId,
    /// Its columns.
    pub columns: Seq<'a>,
    /// Delete the row instead of inserting it.
    pub delete: bool,
}

/// An event of a peer that concerns the node's views.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Rows from this address in our views are no longer supported.
    Gone(String),
    /// This address has lost the rows that our views have sent there.
    Forgot(String),
}

/// The messages of a program with their relations.
#[derive(Clone, Debug)]
pub struct Post {
    schema: Arc<ProgramSchema>,
    /// By number, from 1.
    relations: Vec<RelationId>,
    /// By relation: its number, 0 for those that never travel.
    numbers: Vec<u32>,
    /// Tables that receive rows of other nodes' views.
    imports: SortedSet<RelationId>,
    /// The tuples that other nodes may send.
    admission: Arc<admission::Table>,
}

impl Post {
    /// The messages of a compiled program.
    ///
    /// # Errors
    /// Two relations that give one message.
    pub fn new(compiled: &Compiled) -> Result<Post, SchemaError> {
        let plan = &compiled.plan;
        let types: Vec<(RelationId, Vec<ColumnType>)> =
            compiled.wire.iter().map(|&id| (id, column_types(plan, id))).collect();
        let named = types.iter().map(|(id, types)| (plan.relation(*id).name.as_str(), &types[..]));
        let schema = ProgramSchema::new(&compiled.package, named)?;
        let mut numbers = vec![0; plan.relations.len()];
        let mut relations = vec![RelationId(0); schema.len() as usize];
        for &id in &compiled.wire {
            if let Some(number) = schema.number(&plan.relation(id).name) {
                numbers[id.index()] = number;
                relations[number as usize - 1] = id;
            }
        }
        let imports = compiled.exports.iter().map(|export| export.into).collect();
        let arrivals = relations.iter().map(|&id| compiled.arrivals.get(id).cloned());
        let admission = Arc::new(admission::Table::new(arrivals.map(Option::unwrap_or_default)));
        Ok(Post { schema: Arc::new(schema), relations, numbers, imports, admission })
    }

    /// The messages.
    pub fn schema(&self) -> &ProgramSchema {
        &self.schema
    }
}

fn column_types(plan: &Plan, relation: RelationId) -> Vec<ColumnType> {
    plan.relation(relation).columns.iter().map(|&types| column_type(types)).collect()
}

/// A column of one type travels as that type, null as absence; any other as a `Value`.
fn column_type(types: TypeSet) -> ColumnType {
    match types.without(TypeSet::of(Type::Null)).single() {
        Some(Type::Bool) => ColumnType::Bool,
        Some(Type::Int) => ColumnType::Int,
        Some(Type::Double) => ColumnType::Double,
        Some(Type::Str) => ColumnType::Str,
        Some(Type::Bytes) => ColumnType::Bytes,
        Some(Type::Id) => ColumnType::Id,
        Some(Type::Time) => ColumnType::Time,
        Some(Type::Interval) => ColumnType::Interval,
        _ => ColumnType::Value,
    }
}

/// The mail of one node; see the module.
#[derive(Clone, Debug)]
pub struct Mail {
    post: Arc<Post>,
    fabric: Fabric,
    endpoint: Endpoint,
    /// Peers whose rows are in our views, by the source of their datagrams.
    supporters: OrderedMap<String, OrderedSet<String>>,
    /// Events of peers that were not reported yet.
    fates: Vec<Fate>,
    /// Datagrams that the host did not take.
    unsent: u64,
}

impl Mail {
    /// The mail of the node of this address. `secret`: random bytes, new for each start of a node;
    /// `datagram_bytes`: the limit of datagrams, if it is less than usual.
    pub fn new(
        post: Arc<Post>,
        fabric: Fabric,
        address: &str,
        secret: [u8; 32],
        datagram_bytes: Option<usize>,
    ) -> Mail {
        let mut config = Config { secret, ..Config::default() };
        if fabric == Fabric::Tcp {
            config.limits.datagram_bytes = FRAME_BYTES;
        } else if let Some(bytes) = datagram_bytes {
            config.limits.datagram_bytes = bytes;
        }
        let admission = Admission::new(post.admission.clone(), address);
        let endpoint = Endpoint::new(post.schema.clone(), admission, config);
        Mail { post, fabric, endpoint, supporters: OrderedMap::new(), fates: Vec::new(), unsent: 0 }
    }

    /// Switches the node of this address to another program.
    pub fn replace(&mut self, post: Arc<Post>, address: &str, now_ns: u64) {
        let admission = Admission::new(post.admission.clone(), address);
        self.endpoint.replace(post.schema.clone(), admission, now_ns);
        self.post = post;
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        self.endpoint.counters()
    }

    /// Datagrams that the host did not take.
    pub fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Counts datagrams that the host did not take.
    pub fn count_unsent(&mut self, datagrams: u64) {
        self.unsent += datagrams;
    }

    /// For what the owner of connections counts.
    pub fn counters_mut(&mut self) -> &mut Counters {
        self.endpoint.counters_mut()
    }

    /// The fabric's endpoint, with the state of peers.
    pub fn endpoint(&self) -> &tidemill_fabric::endpoint::Endpoint {
        self.endpoint.fabric()
    }

    /// The same, to watch them.
    pub fn endpoint_mut(&mut self) -> &mut tidemill_fabric::endpoint::Endpoint {
        self.endpoint.fabric_mut()
    }

    /// The identity of this node's program.
    pub fn program(&self) -> u64 {
        self.post.schema.program()
    }

    /// Queues a tuple for the node that its location column names.
    pub fn post(&mut self, send: Send, columns: Seq<'_>, now_ns: u64) {
        let columns: Vec<Value<'_>> = columns.iter().collect();
        let number = self.post.numbers[send.relation.index()];
        let address = columns.get(send.location as usize).and_then(Value::as_str);
        let (Some(address), 1..) = (address, number) else {
            self.endpoint.counters_mut().count(Count::Unsendable);
            return;
        };
        let mode = match (send.view, self.fabric) {
            (false, Fabric::Udp | Fabric::Tcp) => Mode::BestEffort,
            _ => Mode::Reliable,
        };
        let address = canonical(address);
        self.endpoint.post(&address, number, &columns, send.delete, mode, now_ns);
        if send.view {
            // Should it crash and restart, its rows must be sent again.
            self.endpoint.hold_lease(&address, now_ns);
        }
    }

    /// Takes a datagram and gives the tuples in it.
    pub fn receive(
        &mut self,
        from: &str,
        bytes: &[u8],
        now_ns: u64,
        deliver: &mut dyn FnMut(Delivery<'_>),
    ) {
        let from = canonical(from);
        let post = &self.post;
        let mut senders = OrderedSet::new();
        self.endpoint.receive(&from, bytes, now_ns, &mut |received| {
            let relation = post.relations[received.relation as usize - 1];
            let columns = received.columns;
            if post.imports.contains(&relation)
                && let Some(sender) = columns.iter().last().and_then(|sender| sender.as_str())
            {
                senders.insert(sender.to_owned());
            }
            deliver(Delivery { relation, columns, delete: received.delete });
        });
        // A datagram of a new life ends the support of the earlier one, not that of its own rows.
        self.gather_fates();
        if !senders.is_empty() {
            self.supporters.entry(from.to_string()).or_default().extend(senders);
            self.endpoint.hold_lease(&from, now_ns);
        }
    }

    /// Sends the datagrams that may go now.
    pub fn flush(&mut self, now_ns: u64, send: &mut dyn FnMut(&str, &[u8])) {
        self.endpoint.flush(now_ns, &mut |to, datagram| send(to, datagram));
    }

    /// When [`Mail::on_time`] has something to do.
    pub fn next_timeout_ns(&self) -> Option<u64> {
        self.endpoint.next_timeout()
    }

    /// From now on takes tuples only from these peers: see
    /// [`tidemill_fabric::endpoint::Endpoint::take_only_from`].
    pub fn take_only_from(&mut self, members: SortedSet<String>) {
        self.endpoint.take_only_from(members);
    }

    /// True if nothing waits to be sent or acknowledged.
    pub fn is_delivered(&self) -> bool {
        self.endpoint.is_delivered()
    }

    /// True if nothing is under way but the upkeep of leases.
    pub fn only_upkeep(&self) -> bool {
        self.endpoint.only_upkeep()
    }

    /// Handles what is due.
    pub fn on_time(&mut self, now_ns: u64) {
        self.endpoint.on_time(now_ns);
    }

    /// Events of peers since the last call.
    pub fn fates(&mut self) -> Vec<Fate> {
        self.gather_fates();
        std::mem::take(&mut self.fates)
    }

    fn gather_fates(&mut self) {
        while let Some((from, event)) = self.endpoint.poll_event() {
            let senders = self.supporters.remove(&*from).unwrap_or_default();
            self.fates.extend(senders.into_iter().map(Fate::Gone));
            if event == PeerEvent::Lost {
                self.endpoint.release_lease(&from);
            }
            self.fates.push(Fate::Forgot(from.into_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_one_type_or_null_travel_as_that_type() {
        assert_eq!(column_type(TypeSet::INT), ColumnType::Int);
        assert_eq!(column_type(TypeSet::ID.union(TypeSet::of(Type::Null))), ColumnType::Id);
        assert_eq!(column_type(TypeSet::ID.union(TypeSet::TEXT)), ColumnType::Value);
        assert_eq!(column_type(TypeSet::ANY), ColumnType::Value);
        assert_eq!(column_type(TypeSet::NONE), ColumnType::Value);
    }
}
