//! Which rules are traced, decided when a program is compiled.
//!
//! `trace(p)` records the executions that derive `p` and those that `p` starts. A rule may be
//! carried out in parts, over hidden relations: over several locations, or with an aggregate over a
//! table. Parts that lead to a traced relation, or come from one, are traced as well, so the record
//! has no gap. What is started by the record itself, or follows from that, is not: it would never
//! end.

use tidemill_relation::plan::{Plan, RelationId, RuleId, Step, Strand, ViewRule};

use crate::check::system;
use crate::names::{Names, is_part};

/// The columns of `sys::tuple` that have an index in any case: the id.
pub(crate) const TUPLE_INDEX: [u32; 1] = [1];

/// The traces of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traces {
    /// The table of executions, `sys::ruleExec`.
    pub rule_exec: RelationId,
    /// The table of origins, `sys::tuple`.
    pub tuple: RelationId,
    /// The table of what tuples are, `sys::content`.
    pub content: RelationId,
    /// By strand of the plan, whether it is traced.
    strands: Vec<bool>,
    /// By relation, whether one of the strands that it starts is.
    starts: Vec<bool>,
    /// By stratum and rule, whether the view rule is traced.
    views: Vec<Vec<bool>>,
    /// By relation, whether it is traced, or its tuples go into traced executions.
    inputs: Vec<bool>,
    /// By relation: it comes from the record.
    from_record: Vec<bool>,
    names: Names,
}

/// What leads from relations to others besides the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around<'a> {
    /// Operators, from input to output.
    pub operators: &'a [(RelationId, RelationId)],
    /// Views that are shipped, from where they are derived to where they arrive.
    pub shipped: &'a [(RelationId, RelationId)],
}

impl Traces {
    /// What is traced if these relations are; `None` without the tables of the record.
    pub(crate) fn new(plan: &Plan, around: Around<'_>, traced: &[RelationId]) -> Option<Traces> {
        let (rule_exec, tuple) = (plan.find(system::RULE_EXEC)?, plan.find(system::TUPLE)?);
        let content = plan.find(system::CONTENT)?;
        let parts = Parts::new(plan, around);
        let from_record = parts.following(&[rule_exec, tuple, content]);
        let mut is_traced = vec![false; plan.relations.len()];
        for relation in traced {
            parts.mark(*relation, &mut is_traced);
        }
        let executes = |part: &Part, is_traced: &[bool]| {
            let from_record = part.starts.iter().any(|it| from_record[it.index()]);
            let starts = || part.starts.iter().any(|it| is_traced[it.index()]);
            !from_record && (is_traced[part.head.index()] || starts())
        };
        loop {
            let before = is_traced.iter().filter(|traced| **traced).count();
            for part in parts.all.iter().filter(|part| part.is_rule) {
                if executes(part, &is_traced) {
                    let ends = part.starts.iter().chain(&part.joins).chain([&part.head]);
                    let hidden: Vec<RelationId> =
                        ends.copied().filter(|it| is_part(plan, *it)).collect();
                    hidden.into_iter().for_each(|it| parts.mark(it, &mut is_traced));
                }
            }
            if is_traced.iter().filter(|traced| **traced).count() == before {
                break;
            }
        }
        let strand = |strand: &Strand| executes(&Part::of_strand(strand), &is_traced);
        let view = |rule: &ViewRule| executes(&Part::of_view(rule), &is_traced);
        let strands: Vec<bool> = plan.strands.iter().map(strand).collect();
        let views: Vec<Vec<bool>> =
            plan.strata.iter().map(|it| it.rules.iter().map(view).collect()).collect();
        let mut inputs = vec![false; plan.relations.len()];
        let mut starts = inputs.clone();
        let all_strands = plan.strands.iter().zip(&strands).filter(|(_, traced)| **traced);
        let all_views = plan.strata.iter().zip(&views);
        let all_views = all_views.flat_map(|(stratum, traced)| stratum.rules.iter().zip(traced));
        for (strand, _) in all_strands {
            starts[strand.trigger.relation.index()] = true;
            let part = Part::of_strand(strand);
            part.starts.iter().chain(&part.joins).for_each(|it| inputs[it.index()] = true);
        }
        for (rule, _) in all_views.filter(|(_, traced)| **traced) {
            rule.body.iter().for_each(|atom| inputs[atom.relation.index()] = true);
        }
        traced.iter().for_each(|it| inputs[it.index()] = true);
        let names = Names::new(plan, around.shipped);
        Some(Traces {
            rule_exec,
            tuple,
            content,
            strands,
            starts,
            views,
            inputs,
            from_record,
            names,
        })
    }

    /// Whether a strand of the plan is traced.
    pub fn strand(&self, position: usize) -> bool {
        self.strands.get(position).is_some_and(|traced| *traced)
    }

    /// Whether a relation starts traced strands.
    pub(crate) fn starts(&self, relation: RelationId) -> bool {
        self.starts[relation.index()]
    }

    /// Whether a view rule of a stratum is traced.
    pub fn view(&self, stratum: usize, rule: usize) -> bool {
        self.views.get(stratum).and_then(|rules| rules.get(rule)).is_some_and(|traced| *traced)
    }

    /// Whether it is recorded where tuples of a relation come from.
    pub(crate) fn takes(&self, relation: RelationId) -> bool {
        self.inputs[relation.index()]
    }

    /// Whether a relation comes from the record, so that what it starts is not traced.
    pub(crate) fn is_from_record(&self, relation: RelationId) -> bool {
        self.from_record[relation.index()]
    }

    /// Whether a view rule is traced.
    pub(crate) fn view_rule(&self, plan: &Plan, rule: RuleId) -> bool {
        let all = plan.strata.iter().zip(&self.views);
        let mut all = all.flat_map(|(stratum, traced)| stratum.rules.iter().zip(traced));
        all.any(|(it, traced)| *traced && it.rule == rule)
    }

    /// The tables of the record.
    pub(crate) fn tables(&self) -> [RelationId; 3] {
        [self.rule_exec, self.tuple, self.content]
    }

    /// Whether a relation is a table of the record.
    pub(crate) fn is_record(&self, relation: RelationId) -> bool {
        self.tables().contains(&relation)
    }

    /// Whether rules read tables of the record, or they are among the observed ones.
    pub(crate) fn are_read(&self, plan: &Plan, observed: &[RelationId]) -> bool {
        let looked_up = plan.strands.iter().flat_map(|strand| &strand.steps).filter_map(looked_up);
        let rules = plan.strata.iter().flat_map(|stratum| &stratum.rules);
        let of_views = rules.flat_map(|rule| &rule.body).map(|atom| atom.relation);
        let mut all = looked_up.chain(of_views).chain(observed.iter().copied());
        all.any(|relation| self.is_record(relation))
    }

    /// The source of ids for tuples.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }
}

/// Something that leads from relations to another.
struct Part {
    /// Its trigger.
    starts: Vec<RelationId>,
    /// The tables that it joins.
    joins: Vec<RelationId>,
    head: RelationId,
    /// A rule, not an operator.
    is_rule: bool,
}

impl Part {
    fn of_strand(strand: &Strand) -> Part {
        let joined = |step: &Step| match step {
            Step::Join(lookup) | Step::Exists(lookup) => Some(lookup.relation),
            _ => None,
        };
        Part {
            starts: vec![strand.trigger.relation],
            joins: strand.steps.iter().filter_map(joined).collect(),
            head: strand.output.relation,
            is_rule: true,
        }
    }

    fn of_view(rule: &ViewRule) -> Part {
        let starts = rule.body.iter().map(|atom| atom.relation).collect();
        Part { starts, joins: Vec::new(), head: rule.head, is_rule: true }
    }
}

/// The relation that a step of a strand looks up, also to find no row.
fn looked_up(step: &Step) -> Option<RelationId> {
    match step {
        Step::Join(lookup) | Step::Exists(lookup) | Step::Absent(lookup) => Some(lookup.relation),
        Step::Let(..) | Step::Match(..) | Step::Filter(_) => None,
    }
}

/// All of a program.
struct Parts {
    all: Vec<Part>,
    /// Relations that are one thing: a table and its candidates, what is shipped and what arrives.
    same: Vec<(RelationId, RelationId)>,
    relations: usize,
}

impl Parts {
    fn new(plan: &Plan, around: Around<'_>) -> Parts {
        let strands = plan.strands.iter().map(Part::of_strand);
        let views = plan.strata.iter().flat_map(|stratum| &stratum.rules).map(Part::of_view);
        let operators = around.operators.iter().map(|&(input, output)| Part {
            starts: vec![input],
            joins: Vec::new(),
            head: output,
            is_rule: false,
        });
        let tables = (0..).map(RelationId).zip(&plan.relations);
        let candidates = tables.filter_map(|(id, relation)| Some((id, relation.candidates?)));
        Parts {
            all: strands.chain(views).chain(operators).collect(),
            same: candidates.chain(around.shipped.iter().copied()).collect(),
            relations: plan.relations.len(),
        }
    }

    /// Marks a relation and what is the same thing.
    fn mark(&self, relation: RelationId, marked: &mut [bool]) {
        marked[relation.index()] = true;
        for (one, other) in &self.same {
            if relation == *one || relation == *other {
                (marked[one.index()], marked[other.index()]) = (true, true);
            }
        }
    }

    /// These relations and all that follows from them.
    fn following(&self, first: &[RelationId]) -> Vec<bool> {
        let mut found = vec![false; self.relations];
        first.iter().for_each(|it| self.mark(*it, &mut found));
        loop {
            let before = found.iter().filter(|found| **found).count();
            for part in &self.all {
                if part.starts.iter().any(|it| found[it.index()]) {
                    self.mark(part.head, &mut found);
                }
            }
            if found.iter().filter(|found| **found).count() == before {
                return found;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::testing::compiled;

    #[test]
    fn nothing_is_traced_unless_a_program_says_so() {
        let program = compiled("r1 q(@N, X) :- p(@N, X).");
        assert_eq!(program.traces, None);
        assert_eq!(program.plan.relations.len(), 2);
    }

    #[test]
    fn what_derives_a_relation_and_what_it_starts_is_traced() {
        let program = compiled(
            "materialize(t, infinity, infinity, keys(1, 2)).
             trace(q).
             r1 q(@N, X) :- p(@N, X).
             r2 s(@N, X) :- q(@N, X), t(@N, X).
             r3 t(@N, X) :- s(@N, X).",
        );
        let traces = program.traces.expect("it traces");
        let traced: Vec<bool> = (0..3).map(|strand| traces.strand(strand)).collect();
        assert_eq!(traced, [true, true, false]);
    }

    #[test]
    fn what_follows_from_the_record_is_not_traced() {
        let program = compiled(
            "trace(q).
             r1 e(@N, I) :- sys::ruleExec(@N, R, I, O, M, A, B, K).
             r2 q(@N, X) :- e(@N, X).
             r3 q(@N, X) :- p(@N, X).",
        );
        let traces = program.traces.expect("it traces");
        let of = |name: &str| {
            let rules = &program.plan.rules;
            let mut strands = program.plan.strands.iter();
            strands.position(|it| rules[it.rule.index()].name == name).expect("a strand")
        };
        assert_eq!((traces.strand(of("r2")), traces.strand(of("r3"))), (false, true));
    }

    #[test]
    fn all_parts_of_a_rule_are_traced() {
        let program = compiled(
            "materialize(a, infinity, infinity, keys(1, 2)).
             materialize(b, infinity, infinity, keys(1, 2)).
             materialize(v, infinity, infinity, keys(1)).
             trace(v).
             r1 v(@Y, X) :- a(@X, Y), b(@Y, X).
             r2 w(@N) :- p(@N).",
        );
        let traces = program.traces.expect("it traces");
        let rules = program.plan.strata.iter().enumerate();
        let mut views = rules.flat_map(|(at, it)| (0..it.rules.len()).map(move |rule| (at, rule)));
        assert!(views.clone().count() >= 2);
        assert!(views.all(|(stratum, rule)| traces.view(stratum, rule)));
        assert!(!traces.strand(0));
    }
}
