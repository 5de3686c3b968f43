//! Tuples through an endpoint of the fabric: encoding for a peer, and admission of received tuples.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tidemill_fabric::counters::{Count, Counters};
use tidemill_fabric::endpoint::{self as fabric, Config, Message};
use tidemill_fabric::fragment::MESSAGE_BYTES_MAX;
use tidemill_fabric::peer::Mode;
use tidemill_fabric::reliable::PeerEvent;
use tidemill_relation::{Seq, SeqBuilder, Value};
use tidemill_stdx::sorted::SortedSet;

use crate::arrivals::is_reserved;
use crate::net::admission::Admission;
use crate::net::envelope::{self, Content, Envelope, Tuple};
use crate::net::plain::{self, PlainTuple};
use crate::net::schema::{BodyError, ProgramSchema};
use crate::net::values;

/// Bytes of a tuple's message besides the tuple: the program's identity.
const PROGRAM_BYTES: usize = 9;

/// The initial capacity for columns, enough for most tuples.
const COLUMNS_BYTES: usize = 128;

/// Earlier programs of a node whose messages it can still read.
const EARLIER_MAX: usize = 3;

/// A received tuple.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The relation's number in this node's program.
    pub relation: u32,
    /// Its columns, in the number of the relation, of any types.
    pub columns: Seq<'a>,
    /// Delete the row instead of inserting it.
    pub delete: bool,
    /// The mode of its delivery.
    pub mode: Mode,
}

/// The network side of one node; see the module.
#[derive(Clone, Debug)]
pub struct Endpoint {
    schema: Arc<ProgramSchema>,
    /// The messages of programs that the node ran before, the last first: tuples under way may be
    /// theirs.
    earlier: Vec<Arc<ProgramSchema>>,
    admission: Admission,
    peers: fabric::Endpoint,
}

impl Endpoint {
    /// An endpoint without peers, for a node of this program.
    pub fn new(schema: Arc<ProgramSchema>, admission: Admission, config: Config) -> Endpoint {
        let peers = fabric::Endpoint::new(schema.program(), config);
        Endpoint { schema, earlier: Vec::new(), admission, peers }
    }

    /// Switches the node to another program. Tuples under way are read by the names of their
    /// relations.
    pub fn replace(&mut self, schema: Arc<ProgramSchema>, admission: Admission, now_ns: u64) {
        self.peers.set_program(schema.program(), now_ns);
        let before = std::mem::replace(&mut self.schema, schema);
        self.earlier.retain(|one| one.program() != before.program());
        self.earlier.insert(0, before);
        self.earlier.truncate(EARLIER_MAX);
        self.admission = admission;
    }

    /// The messages of the node's program.
    pub fn schema(&self) -> &Arc<ProgramSchema> {
        &self.schema
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        self.peers.counters()
    }

    /// For what the owner counts itself.
    pub fn counters_mut(&mut self) -> &mut Counters {
        self.peers.counters_mut()
    }

    /// Number of peers known.
    pub fn peers(&self) -> usize {
        self.peers.peers()
    }

    /// The fabric's endpoint, with the state of peers.
    pub fn fabric(&self) -> &tidemill_fabric::endpoint::Endpoint {
        &self.peers
    }

    /// The same, to watch them.
    pub fn fabric_mut(&mut self) -> &mut tidemill_fabric::endpoint::Endpoint {
        &mut self.peers
    }

    /// Queues a tuple of relation `relation`; false if it was dropped, which is counted.
    pub fn post(
        &mut self,
        address: &str,
        relation: u32,
        columns: &[Value<'_>],
        delete: bool,
        mode: Mode,
        now_ns: u64,
    ) -> bool {
        let schema = &self.schema;
        let tuple = |same| encode(schema, relation, columns, delete, same);
        self.peers.post(address, mode, now_ns, tuple)
    }

    /// Takes a datagram, or the content of a frame, and gives the tuples in it.
    pub fn receive(
        &mut self,
        address: &str,
        bytes: &[u8],
        now_ns: u64,
        deliver: &mut impl FnMut(Received<'_>),
    ) {
        let messages = (&*self.schema, &self.earlier[..]);
        let admission = &self.admission;
        self.peers.receive(address, bytes, now_ns, &mut |message, counters| {
            deliver_all(messages, admission, message, counters, deliver);
        });
    }

    /// Sends all that may go now.
    pub fn flush(&mut self, now_ns: u64, send: &mut impl FnMut(&str, &[u8])) {
        self.peers.flush(now_ns, send);
    }

    /// From now on takes content only from these peers: see
    /// [`tidemill_fabric::endpoint::Endpoint::take_only_from`].
    pub fn take_only_from(&mut self, members: SortedSet<String>) {
        self.peers.take_only_from(members);
    }

    /// True if nothing waits to be sent or acknowledged.
    pub fn is_delivered(&self) -> bool {
        self.peers.is_delivered()
    }

    /// True if nothing is under way but the upkeep of leases.
    pub fn only_upkeep(&self) -> bool {
        self.peers.only_upkeep()
    }

    /// When [`Endpoint::on_time`] has something to do, if nothing comes before.
    pub fn next_timeout(&self) -> Option<u64> {
        self.peers.next_timeout()
    }

    /// Handles what is due; `flush` sends the resulting datagrams.
    pub fn on_time(&mut self, now_ns: u64) {
        self.peers.on_time(now_ns);
    }

    /// Events of peers, oldest first.
    pub fn poll_event(&mut self) -> Option<(Box<str>, PeerEvent)> {
        self.peers.poll_event()
    }

    /// Holds a lease of a peer: something here is valid only while that peer lives. See
    /// [`tidemill_fabric::reliable::Reliable::hold_lease`].
    pub fn hold_lease(&mut self, address: &str, now_ns: u64) {
        self.peers.hold_lease(address, now_ns);
    }

    /// Releases the lease of that peer.
    pub fn release_lease(&mut self, address: &str) {
        self.peers.release_lease(address);
    }
}

/// The messages of the program, and of earlier ones.
type Messages<'e> = (&'e ProgramSchema, &'e [Arc<ProgramSchema>]);

/// Gives the tuples of a message.
fn deliver_all(
    messages: Messages<'_>,
    admission: &Admission,
    message: Message<'_>,
    counters: &mut Counters,
    deliver: &mut impl FnMut(Received<'_>),
) {
    let mut columns = SeqBuilder::with_capacity(COLUMNS_BYTES);
    let mut take = |program: u64, tuple: &Tuple<'_>| match resolve(
        messages,
        admission,
        program,
        tuple,
        &mut columns,
    ) {
        Err(reason) => counters.count(reason),
        Ok((relation, columns)) if !admission.is_here(relation, columns) => {
            counters.count(Count::NotExported);
        }
        Ok((relation, columns)) => {
            counters.count(Count::Delivered);
            deliver(Received { relation, columns, delete: tuple.delete, mode: message.mode });
        }
    };
    if let Some(envelope) = plain::envelope(message.bytes) {
        for PlainTuple { relation, body, delete } in envelope.tuples {
            take(envelope.program, &Tuple { relation, body, delete, ..Tuple::default() });
        }
        return;
    }
    match Envelope::decode(message.bytes) {
        Ok(envelope) => envelope.tuples.iter().for_each(|tuple| take(envelope.program, tuple)),
        Err(_) => counters.count(Count::Malformed),
    }
}

/// The field of an envelope that holds the tuple; `None` if it cannot be sent.
fn encode(
    schema: &ProgramSchema,
    relation: u32,
    columns: &[Value<'_>],
    delete: bool,
    same_program: bool,
) -> Option<Vec<u8>> {
    let mut tuple = Vec::new();
    let body = same_program.then(|| schema.encode_body(relation, columns)).flatten();
    match &body {
        Some(body) => envelope::append_tuple(&mut tuple, Content::Body { relation, body }, delete),
        None => {
            let name = schema.name(relation)?;
            if !columns.iter().all(|&value| values::fits(value)) {
                return None;
            }
            envelope::append_tuple(&mut tuple, Content::Columns { name, columns }, delete);
        }
    }
    (tuple.len() <= MESSAGE_BYTES_MAX - PROGRAM_BYTES).then_some(tuple)
}

/// Relation and columns of a tuple that came under `program`, or why it is dropped; `space` holds
/// the columns of a body.
fn resolve<'a>(
    (schema, earlier): Messages<'_>,
    admission: &Admission,
    program: u64,
    tuple: &'a Tuple<'_>,
    space: &'a mut SeqBuilder,
) -> Result<(u32, Seq<'a>), Count> {
    if tuple.relation == 0 {
        if tuple.name.is_empty() {
            return Err(Count::NoRelation);
        }
        // Messages of the system have frames of their own.
        if is_reserved(tuple.name) {
            return Err(Count::NotExported);
        }
        return by_name(schema, admission, tuple.name, tuple.delete, tuple.columns.as_seq());
    }
    space.clear();
    if program == schema.program() {
        admission.admit(tuple.relation, tuple.delete)?;
        decode(schema, tuple, space)?;
        return Ok((tuple.relation, space.as_seq()));
    }
    let earlier = earlier.iter().find(|one| one.program() == program);
    let earlier = earlier.ok_or(Count::BadProgramBody)?;
    let name = earlier.name(tuple.relation).ok_or(Count::UnknownRelation)?;
    decode(earlier, tuple, space)?;
    by_name(schema, admission, name, tuple.delete, space.as_seq())
}

/// Reads the columns of a tuple from the message of its relation.
fn decode(
    schema: &ProgramSchema,
    tuple: &Tuple<'_>,
    columns: &mut SeqBuilder,
) -> Result<(), Count> {
    schema.decode_body(tuple.relation, tuple.body, columns).map_err(|error| match error {
        BodyError::UnknownRelation => Count::UnknownRelation,
        BodyError::Malformed(_) => Count::BadBody,
    })
}

/// A tuple of the relation that has this name here.
fn by_name<'a>(
    schema: &ProgramSchema,
    admission: &Admission,
    name: &str,
    delete: bool,
    columns: Seq<'a>,
) -> Result<(u32, Seq<'a>), Count> {
    let number = schema.number(name).ok_or(Count::UnknownRelation)?;
    admission.admit(number, delete)?;
    // A relation without declared columns may have any number.
    let fits = |known| known == columns.len() || known == 0 && !columns.is_empty();
    if schema.columns(number).is_some_and(fits) {
        Ok((number, columns))
    } else {
        Err(Count::BadArity)
    }
}
