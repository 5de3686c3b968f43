//! The values that an idle robust-ring node creates, deletes and assigns, second by second.
//!
//! The experiment of the notes' figure 1: three nodes of the robust ring, one of them watched;
//! towards the end the other two are killed. A value is created when a strand derives the tuple
//! that holds it; it is assigned when it is copied: into the turn's buffer, into a table, into a
//! message; it is deleted when the turn's region is cleared or its row goes.

use std::sync::Arc;

use tidemill_event::{Conditions, Loop, Sim, Time};
use tidemill_overlog::fleet::{self, Fleet, NodeId, World};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::{Identity, Node, Program};
use tidemill_relation::plan::RelationId;

use crate::program::{Blind, compiled};
use crate::report::Report;

const SOURCE: &str = include_str!("../../../examples/robust-ring/robust-ring.olg");

struct Ring {
    fleet: Fleet,
}

impl World for Ring {
    fn fleet(&mut self) -> &mut Fleet {
        &mut self.fleet
    }
}

/// Values counted up to some time.
#[derive(Clone, Copy, Default, Debug)]
struct Count {
    created: u64,
    assigned: u64,
    deleted: u64,
    tuples: u64,
}

impl Count {
    fn of(node: &Node) -> Count {
        let (plan, counters) = (node.program().plan(), node.counters());
        let mut count = Count::default();
        for (rule, counted) in counters.rules.iter().enumerate() {
            let strands = plan.strands.iter().filter(|strand| strand.rule.index() == rule);
            let arity = strands.map(|strand| strand.output.columns.len()).max().unwrap_or(0);
            count.tuples += counted.derived;
            count.created += counted.derived * arity as u64;
        }
        let (mut stored, mut dropped) = (0, 0);
        for (id, relation) in (0..).map(RelationId).zip(&plan.relations) {
            let table = node.table_counters(id);
            stored += table.inserted * relation.arity() as u64;
            dropped += table.deleted * relation.arity() as u64;
        }
        count.assigned = count.created + stored + counters.sent * 3;
        count.deleted = count.created + dropped;
        count
    }

    fn since(self, before: Count) -> Count {
        Count {
            created: self.created - before.created,
            assigned: self.assigned - before.assigned,
            deleted: self.deleted - before.deleted,
            tuples: self.tuples - before.tuples,
        }
    }
}

/// Draws `seconds` seconds of the node's life.
pub fn run(seconds: u32, report: &mut Report) -> Result<(), String> {
    let program = Program::new(compiled("robust-ring.olg", SOURCE)?);
    let program = Arc::new(program.map_err(|error| error.to_string())?);
    let fleet = Fleet::new(program, Fabric::Udp, 1, Box::new(Blind));
    let host = Sim::new(1).with_conditions(Conditions::default());
    let (mut world, mut events) = (Ring { fleet }, Loop::new(Box::new(host)));
    for index in 0..3 {
        let address = format!("n{index}:1");
        let endpoint = events.host().bind(&address).map_err(|error| error.to_string())?;
        let landmark = "n0:1".to_owned();
        let identity = Identity { address, index, count: 3, landmark };
        fleet::start(&mut world, &mut events, endpoint, identity)
            .map_err(|error| error.to_string())?;
    }
    report.note("a robust-ring node: values created (#), assigned, deleted; tuples; a second");
    let mut before = Count::default();
    for second in 1..=seconds {
        if second + 10 == seconds {
            for other in [1, 2] {
                let endpoint = fleet::crash(&mut world, &mut events, NodeId(other));
                endpoint.into_iter().for_each(|endpoint| events.host().close(endpoint));
            }
            report.note("   (the other two are killed)");
        }
        events.run_until(&mut world, Time::from_secs_f64(second.into()));
        let node = world.fleet.node(NodeId(0)).ok_or("the watched node lives")?;
        let now = Count::of(node);
        let Count { created, assigned, deleted, tuples } = now.since(before);
        before = now;
        let bar = "#".repeat((created / 8).min(60) as usize);
        report.note(&format!(
            "{second:>4} s {created:>5} {assigned:>5} {deleted:>5} {tuples:>5} {bar}"
        ));
    }
    match before.created {
        0 => Err("the ring created nothing".to_owned()),
        _ => Ok(()),
    }
}
