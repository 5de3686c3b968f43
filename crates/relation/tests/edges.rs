//! Machine code of strands in cases that random ones rarely reach: integers at the ends of their
//! range and constants that trap.

use tidemill_relation::Value;
use tidemill_relation::database::Database;
use tidemill_relation::expr::{Expr, Reg, Scope};
use tidemill_relation::native::{self, Native, Options};
use tidemill_relation::operator::{Binary, Unary};
use tidemill_relation::plan::{
    self, Action, Bind, HeadColumn, On, Output, Plan, RelationId, Rule, RuleId, Step, Strand,
    Trigger,
};
use tidemill_relation::strand::{self, Reading};
use tidemill_relation::{SeqBuilder, TypeSet};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;

use crate::noise::strands::{EVENT, HEAD, Log, Still, relations};

const INTEGERS: [i64; 10] = [i64::MIN, i64::MIN + 1, -64, -1, 0, 1, 3, 63, 64, i64::MAX];

/// Binds registers 0 and 1 to an event, takes the steps, and gives the head this.
fn strand(steps: Vec<Step>, result: Expr) -> Strand {
    let reg = |at| HeadColumn::Value(Expr::Reg(Reg(at)));
    Strand {
        rule: RuleId(0),
        trigger: Trigger {
            relation: RelationId(EVENT),
            on: On::Event,
            columns: vec![Bind::Reg(Reg(0)), Bind::Reg(Reg(1)), Bind::Ignore],
        },
        steps,
        output: Output {
            relation: RelationId(HEAD),
            columns: vec![reg(0), reg(1), HeadColumn::Value(result)],
            action: Action::Emit,
            location: None,
            group_at: 0,
        },
        regs: 4,
    }
}

fn plan(strands: Vec<Strand>) -> Plan {
    let rules = vec![Rule { name: "r".into(), place: "f:1:1".into() }];
    let plan = Plan { relations: relations(), rules, strands, strata: Vec::new() };
    plan::verify(&plan).unwrap_or_else(|error| panic!("{error:?}"));
    plan
}

fn compile(plan: &Plan) -> Native {
    let types = |strand: usize| Some(vec![TypeSet::INT; plan.strands[strand].regs as usize]);
    let name = |at: usize| format!("strand {at}");
    Native::compile(&plan.strands, types, name, Options::named("edges")).expect("code")
}

fn event(a: i64, b: i64) -> SeqBuilder {
    let mut event = SeqBuilder::new();
    [a, b, 0].into_iter().for_each(|number| event.push(Value::Int(number)));
    event
}

/// The effects of a strand for an event: interpreted, or as machine code.
fn run(
    plan: &Plan,
    native: Option<&Native>,
    number: usize,
    event: &SeqBuilder,
    database: &Database,
) -> Vec<String> {
    let (scratch, ambient) = (Bump::new(), Still::default());
    let scope = Scope { scratch: &scratch, ambient: &ambient };
    let mut log = Log::new(usize::MAX);
    match native {
        None => {
            let reading = Reading::present(database);
            strand::run(&plan.strands[number], event.as_seq(), reading, scope, &mut log);
        }
        Some(native) => native::run(native, number, event.as_seq(), database, scope, &mut log),
    }
    log.lines
}

#[test]
fn integers_at_their_ends_are_computed_as_they_are_interpreted() {
    let reg = |at| Expr::Reg(Reg(at));
    let mut results: Vec<Expr> =
        Unary::ALL.iter().map(|one| Expr::Unary(*one, Box::new(reg(0)))).collect();
    for operator in Binary::ALL {
        let mut add = |one, other| {
            results.push(Expr::Binary(operator, Box::new([one, other])));
        };
        add(reg(0), reg(1));
        for number in INTEGERS {
            add(reg(0), Expr::constant(Value::Int(number)));
            add(Expr::constant(Value::Int(number)), reg(0));
        }
    }
    let plan = plan(results.into_iter().map(|result| strand(Vec::new(), result)).collect());
    let native = compile(&plan);
    let database = Database::new(&plan, Secret::FIXED);
    for number in 0..plan.strands.len() {
        assert!(native.has(number), "{:?}", plan.strands[number]);
        for (a, b) in INTEGERS.into_iter().flat_map(|a| INTEGERS.map(|b| (a, b))) {
            let event = event(a, b);
            let interpreted = run(&plan, None, number, &event, &database);
            let compiled = run(&plan, Some(&native), number, &event, &database);
            assert_eq!(compiled, interpreted, "{a} {b}: {:?}", plan.strands[number].output);
        }
    }
}
