//! A program as nodes run it.

use std::sync::{Arc, OnceLock};

use tidemill_relation::native;
use tidemill_relation::plan::{Plan, RelationId};
use tidemill_relation::view::Views;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;
use tidemill_wire::SchemaError;

use super::compilation::Compilation;
use super::dispatch::Dispatch;
use super::records::RECORDED_MAX;
use super::short::ShortTurns;
use super::watch::Watching;
use crate::names::Names;
use crate::net::mail::Post;
use crate::program::Compiled;
use crate::stage::Registry;

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Debug;

/// A program prepared to run on any number of nodes.
#[derive(Clone, Debug)]
pub struct Program {
    /// The output of the compiler.
    pub compiled: Compiled,
    /// All relations, by name.
    by_name: Vec<RelationId>,
    pub(super) dispatch: Dispatch,
    pub(super) watching: Watching,
    /// Relations whose changes start events, or are watched.
    pub(super) observed: Vec<RelationId>,
    /// By relation: its tuples are also for the world outside the fleet.
    pub(super) crossing: Vec<bool>,
    /// By relation: its event tuples are shown beyond strands and stages: to observers, the check
    /// for violations, histories, the world outside the fleet.
    pub(super) shown: Vec<bool>,
    /// Rules, watches or the world outside the fleet read the tables of the record.
    pub(super) reads_record: bool,
    /// The turns that need no queue.
    pub(super) short: ShortTurns,
    post: OnceLock<Arc<Post>>,
    pub(super) registry: Arc<Registry>,
    pub(super) compilation: Arc<Compilation>,
    /// The source of ids for the tuples that observers get, if executions are observed.
    pub(super) explained: Option<Arc<Names>>,
}

impl Program {
    /// Prepares a compiled program whose stages are built-in operators.
    ///
    /// # Errors
    /// Relations whose messages would have one name.
    pub fn new(compiled: Compiled) -> Result<Program, SchemaError> {
        Program::with_operators(compiled, Arc::default())
    }

    /// Its operators read files, but no pipes, so that runs repeat.
    pub fn refuse_pipes(&mut self) {
        Arc::make_mut(&mut self.registry).refuse_pipes();
    }

    /// Prepares a compiled program; `registry` makes the operators of its stages.
    ///
    /// # Errors
    /// As [`Program::new`].
    pub fn with_operators(
        compiled: Compiled,
        registry: Arc<Registry>,
    ) -> Result<Program, SchemaError> {
        let post = Post::new(&compiled)?;
        let schema = post.schema();
        say!(Debug, "plan", "{} relations travel, as {:016x}", schema.len(), schema.program());
        Ok(Program::prepared(compiled, registry, Arc::new(post).into()))
    }

    /// A program without relations. Its messages are made when a node needs them.
    pub fn idle() -> Program {
        Program::prepared(Compiled::default(), Arc::default(), OnceLock::new())
    }

    fn prepared(compiled: Compiled, registry: Arc<Registry>, post: OnceLock<Arc<Post>>) -> Program {
        let plan = &compiled.plan;
        let dispatch = Dispatch::new(&compiled);
        let watches = compiled.watches.iter().map(|watch| (watch.relation, watch.stages));
        let watching = Watching::new(plan, watches, &compiled.queries, compiled.traces.as_ref());
        let exported = |id| compiled.exports.iter().any(|export| export.out == id);
        let observed = (0..plan.relations.len() as u32)
            .map(RelationId)
            .filter(|&id| {
                plan.relation(id).table().is_some()
                    && (!dispatch.changes[id.index()].is_empty()
                        || watching.watches(id)
                        || watching.violation == Some(id)
                        || watching.history == Some(id)
                        || exported(id))
            })
            .collect::<Vec<_>>();
        let (relations, rules) = (plan.relations.len(), plan.rules.len());
        let (strands, strata) = (plan.strands.len(), plan.strata.len());
        say!(
            Debug,
            "plan",
            "{relations} relations, {rules} rules, {strands} strands, {strata} strata"
        );
        let crossing = vec![false; compiled.plan.relations.len()];
        let mut shown = vec![watching.any; compiled.plan.relations.len()];
        let ends = watching.violation.into_iter().chain(watching.history);
        ends.for_each(|relation| shown[relation.index()] = true);
        let compilation = Arc::new(Compilation::new(&compiled.plan));
        let reads_record = compiled.traces.as_ref().is_some_and(|it| it.are_read(plan, &observed));
        let short = ShortTurns::new(&compiled, &dispatch, (&shown, &watching));
        let mut by_name: Vec<_> = (0..relations as u32).map(RelationId).collect();
        by_name.sort_by(|one, other| name_of(plan, *one).cmp(name_of(plan, *other)));
        Program {
            compiled,
            by_name,
            dispatch,
            watching,
            observed,
            crossing,
            shown,
            reads_record,
            short,
            post,
            registry,
            compilation,
            explained: None,
        }
    }

    /// The relation of a name.
    pub(super) fn find(&self, name: &str) -> Option<RelationId> {
        let name = |id: &RelationId| name_of(self.plan(), *id).cmp(name);
        self.by_name.binary_search_by(name).ok().map(|at| self.by_name[at])
    }

    /// Compiles its strands now, before any has run.
    ///
    /// # Errors
    /// Why no code can be made for this machine.
    pub fn compile(&mut self) -> Result<(), native::Error> {
        self.compilation = Arc::new(Compilation::at_once(&self.compiled.plan)?);
        Ok(())
    }

    /// Makes its strands always interpreted.
    pub fn interpret(&mut self) {
        self.compilation = Arc::new(Compilation::none(&self.compiled.plan));
    }

    /// Reports each execution of a rule, and each tuple from another node, to observers. It has no
    /// other effect.
    pub fn explain(&mut self) {
        let exports = self.compiled.exports.iter().map(|export| (export.out, export.into));
        let shipped: Vec<_> = exports.collect();
        self.explained = Some(Arc::new(Names::new(&self.compiled.plan, &shipped)));
        self.watching.see_joins();
        self.short = ShortTurns::none(&self.compiled);
    }

    /// Hands the event tuples of a relation, or the changes of a table, to
    /// [`World::crossed`](crate::fleet::World::crossed) too.
    pub fn cross(&mut self, relation: RelationId) {
        let Some(crosses) = self.crossing.get_mut(relation.index()) else { return };
        *crosses = true;
        self.shown[relation.index()] = true;
        self.reads_record |= self.compiled.traces.as_ref().is_some_and(|it| it.is_record(relation));
        let is_table = self.compiled.plan.relation(relation).table().is_some();
        if is_table && !self.observed.contains(&relation) {
            self.observed.push(relation);
        }
        if self.explained.is_none() {
            let seen = (&self.shown[..], &self.watching);
            self.short = ShortTurns::new(&self.compiled, &self.dispatch, seen);
        }
    }

    /// Whether tuples of a relation are shown to observers.
    pub fn watches(&self, relation: RelationId) -> bool {
        self.watching.watches(relation)
    }

    /// Whether the origin of some tuples is recorded.
    pub(crate) fn has_origins(&self) -> bool {
        self.explained.is_some() || self.compiled.traces.is_some()
    }

    /// Whether the origin of tuples of a relation is recorded.
    pub(crate) fn records_origin(&self, relation: RelationId) -> bool {
        self.explained.is_some()
            || self.compiled.traces.as_ref().is_some_and(|traces| traces.takes(relation))
    }

    /// Makes the views of a node note what traced rules derive.
    pub(super) fn trace(&self, views: &mut Views) {
        let traces = self.compiled.traces.as_ref();
        let is_explained = self.explained.is_some();
        if is_explained || traces.is_some() {
            let is_traced = |stratum, rule| {
                is_explained || traces.is_some_and(|traces| traces.view(stratum, rule))
            };
            views.trace(&self.compiled.plan, is_traced, RECORDED_MAX);
        }
    }

    /// The messages in which its tuples travel.
    pub fn post(&self) -> &Arc<Post> {
        self.post.get_or_init(|| {
            let post = Post::new(&self.compiled);
            Arc::new(post.expect("a program without relations has no names that collide"))
        })
    }

    /// The operators of its stages, and the message types that its rules know.
    pub fn operators(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.compiled.plan
    }
}

fn name_of(plan: &Plan, relation: RelationId) -> &str {
    &plan.relation(relation).name
}
