use super::*;
use crate::operator::Binary;
use crate::table::Key;
use crate::value::Value;

#[test]
fn a_plan_prints_as_it_reads_and_is_verified() {
    for text in crate::view::tests::PLANS {
        let plan = parse(text).unwrap();
        assert_eq!(verify(&plan), Ok(()));
        let printed = print(&plan);
        assert_eq!(parse(&printed).as_ref(), Ok(&plan), "{printed}");
    }
}

#[test]
fn every_form_of_expression_and_step_reads_back() {
    let text = r#"
relation p0 "e" at 0 (string, any, list)
relation p1 "t" at 0 (int64, int64)
  table key(0, 1) lifetime 1000 size 5 index(1) ordered(1) ordered(1, 0) soft
rule r0 "r" at "f:1:1"
strand r0 on periodic 0.5 3 p0 (v0, _, =(+ NODE_INDEX 1)) regs 9
  match v0 [v1, _, =1 | [v2]]
  let v3 (? (&& (> v1 1) (|| true (! false))) (f_sha1 v1)
    0x0000000000000000000000000000000000000001I)
  absent p1 primary [v0, (- 3)] atom 1 (_, _)
  join p1 index 0 [(% 7 3)] atom 2 (v4, _)
  filter (in (] v3 0 5)
  join p1 ordered 0 [] where [(>= _ v3), (< (+ _ 5) (* v1 2)), (in [) _ 1 v3)] atom 2 (_, v5)
  filter (&& (<= v3 v5) (> (* v1 2) (+ 5 v5)))
  filter (in [) v5 1 v3)
  join p1 ordered 1 [v5] where [(<= (+ _ (- v1)) 7)] atom 3 (v6, _)
  filter (<= (- v6 v1) 7)
  filter (== (list 1, "a b", null) vector [1, 2])
  filter (== (matrix [1, 2] [v1, v2]) {[1, 2], [3, 4]})
  emit p0 (v0, (f_now), (f_append v1 (list )))
strand r0 on event p0 (v0, v1, _) regs 2
  insert p1 (v0, COUNT<*>) group 0
strand r0 on event p0 (v0, _, _) regs 1
  delete p1 (v0, 1)
stratum heads(p1) selected()
  view r0 plain p1 from p1
    scan r0 on scan p1 () regs 2
      join p1 scan [] atom 0 (v0, v1)
      insert p1 (v0, v1)
    delta r0 on delta p1 (v0, v1) regs 2
      insert p1 (v0, v1)
"#;
    let plan = parse(text).unwrap();
    assert_eq!(verify(&plan), Ok(()));
    assert_eq!(parse(&print(&plan)).as_ref(), Ok(&plan), "{}", print(&plan));
}

#[test]
fn mistakes_are_found() {
    let with = |strand: &str| {
        let text = format!(
            "relation p0 \"e\" at 0 (string)\nrelation p1 \"t\" at 0 (string)\n  table key(0)\n\
             rule r0 \"r\" at \"f:1:1\"\nstrand r0 on event p0 (v0) regs 1\n{strand}"
        );
        verify(&parse(&text).unwrap()).unwrap_err()
    };
    let errors = with("let v0 v1\nemit p0 (v0)").to_string();
    assert_eq!(errors, "strand 0 `let v0 v1`: reads v1 before it is bound");
    let messages = |strand: &str| {
        let errors = with(strand);
        errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>().join("; ")
    };
    let cases = [
        ("emit p0 (v1)", "reads v1 before it is bound"),
        ("emit p1 (v0)", "treats its head as what it is not"),
        ("emit p0 (v0, v0)", "derives another number of columns than its head has"),
        ("join p0 scan [] atom 1 (_)\nemit p0 (v0)", "uses p0 as a table"),
        ("join p1 index 3 [v0] atom 1 (_)\nemit p0 (v0)", "looks up by no such key or index"),
        ("emit p9 (v0)", "names p9, which the plan does not have"),
    ];
    for (strand, message) in cases {
        assert_eq!(messages(strand), message, "{strand}");
    }
}

#[test]
fn what_is_no_plan_gives_the_place() {
    let error = parse("relation p0 \"e\" at 0 (string)\nrelation p1 \"f\" at 0 (string, strin)")
        .unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (2, "expected a type"));
    let nested = format!(
        "strand r0 on event p0 (={}",
        "(! ".repeat(if cfg!(miri) { 2000 } else { 100_000 })
    );
    assert!(parse(&nested).unwrap_err().message.contains("too deep"));
}

/// Tables with and without candidates, and a rule of each kind.
const WHOLE: &str = r#"
relation p0 "a" at 0 (int64, int64)
  table key(0, 1) index(1) ordered(1)
relation p1 "c!" at 0 (int64, int64, int64)
  table key(0, 1, 2) index(1)
  hidden
relation p2 "c" at 0 (int64, int64)
  table key(0)
  candidates p1
relation p3 "e" at 0 (int64, any)
relation p4 "n" at 0 (int64, int64)
  table key(0)
rule r0 "r" at "t:1:1"
strand r0 on event p3 (v0, v1) regs 4
  match v1 [v2]
  join p0 primary [v0, v2] atom 1 (_, _)
  exists p0 scan [] atom 2 (v3, =v3)
  emit p3 (v0, v2)
strand r0 on periodic 0.5 3 p3 (v0, _) regs 1
  emit p3 (v0, 1)
strand r0 on event p3 (v0, _) regs 3
  let v1 (+ v0 1)
  join p0 scan [] atom 1 (=v0, v2)
  emit p3 (v1, MAX<v2>) group 1
strand r0 on event p3 (v0, v1) regs 3
  join p0 ordered 0 [] where [(>= (+ _ 1) v1)] atom 1 (_, v2)
  filter (>= (+ v2 1) v1)
  emit p3 (v0, v1)
stratum heads(p1) selected(p2)
  view r0 maintained p1 from p0
    scan r0 on scan p1 () regs 2
      join p0 scan [] atom 0 (v0, v1)
      insert p1 (0, v0, v1)
    delta r0 on delta p0 (v0, v1) regs 2
      insert p1 (0, v0, v1)
    check r0 on head p1 (=0, v0, v1) regs 2
      join p0 primary [v0, v1] atom 0 (_, _)
      insert p1 (0, v0, v1)
stratum heads(p4) selected()
  view r0 grouped p4 from p0
    scan r0 on scan p4 () regs 2
      join p0 scan [] atom 0 (v0, v1)
      insert p4 (v1, v0)
    delta r0 on delta p0 (v0, v1) regs 2
      insert p4 (v1, v0)
    check r0 on head p4 (v1, _) regs 2
      join p0 index 0 [v1] atom 0 (v0, _)
      insert p4 (v1, COUNT<v0>) group 0
"#;

fn spec(plan: &mut Plan, relation: usize) -> &mut TableSpec {
    match &mut plan.relations[relation].storage {
        Storage::Table { spec, .. } => spec,
        Storage::Event => panic!("p{relation} is no table"),
    }
}

fn view(plan: &mut Plan, stratum: usize) -> &mut ViewRule {
    &mut plan.strata[stratum].rules[0]
}

fn lookup(strand: &mut Strand, step: usize) -> &mut Lookup {
    match &mut strand.steps[step] {
        Step::Join(lookup) | Step::Exists(lookup) | Step::Absent(lookup) => lookup,
        other => panic!("{other:?}"),
    }
}

/// A plan that is not in order, and what is wrong with it.
type Mistake = (&'static str, fn(&mut Plan));

const UNORDERED_KEY: &str = "has a key of unknown or unordered columns";
const UNORDERED_INDEX: &str = "has an index of unknown or unordered columns";
const SHAPE: &str = "has candidates of another shape";
const TRIGGER: &str = "binds another number of columns than its trigger has";
const GROUP: &str = "does more than compute before its group";
const HEAD: &str = "derives something other than its head";
const CHECK: &str = "has a check that does not start from its head";

const MISTAKES: &[Mistake] = &[
    ("relation p0: has no such location column", |p| p.relations[0].location = 2),
    ("relation p3: has no such location column", |p| p.relations[3].location = 2),
    ("is declared with another arity", |p| spec(p, 0).arity = 3),
    (UNORDERED_KEY, |p| spec(p, 0).key = Key::Columns(vec![1, 0])),
    (UNORDERED_KEY, |p| spec(p, 0).key = Key::Columns(vec![0, 0])),
    (UNORDERED_KEY, |p| spec(p, 0).key = Key::Columns(vec![0, 2])),
    (UNORDERED_INDEX, |p| spec(p, 0).indexes[0] = vec![]),
    (UNORDERED_INDEX, |p| spec(p, 0).indexes[0] = vec![2]),
    (UNORDERED_INDEX, |p| spec(p, 0).indexes[0] = vec![1, 0]),
    ("relation p2: uses p3 as a table", |p| p.relations[2].candidates = Some(RelationId(3))),
    (SHAPE, |p| p.relations[2].candidates = Some(RelationId(0))),
    (SHAPE, |p| spec(p, 1).indexes[0] = vec![2]),
    (SHAPE, |p| spec(p, 2).key = Key::Bag),
    ("strand 0: is started by no event, change or timer", |p| {
        p.strands[0].trigger.on = On::Delta;
    }),
    ("belongs to no rule", |p| p.strands[0].rule = RuleId(1)),
    ("names p5, which the plan does not have", |p| {
        p.strands[0].trigger.relation = RelationId(5);
    }),
    ("names p5, which the plan does not have", |p| p.strands[0].output.relation = RelationId(5)),
    (TRIGGER, |p| p.strands[0].trigger.columns.push(Bind::Ignore)),
    (TRIGGER, |p| p.strands[1].trigger.columns.extend([Bind::Ignore, Bind::Ignore, Bind::Ignore])),
    (TRIGGER, |p| view(p, 0).scan.trigger.columns.push(Bind::Ignore)),
    ("uses p3 as a table", |p| p.strands[0].trigger.on = On::Change),
    ("strand 1: reads v0 before it is bound", |p| {
        let (period, count) = (Expr::Reg(Reg(0)), None);
        p.strands[1].trigger.on = On::Periodic { period, count };
    }),
    ("strand 1: reads v0 before it is bound", |p| {
        let (period, count) = (Expr::constant(Value::Int(1)), Some(Expr::Reg(Reg(0))));
        p.strands[1].trigger.on = On::Periodic { period, count };
    }),
    ("binds v1, which it does not have", |p| p.strands[0].regs = 1),
    ("binds v2, which it does not have", |p| p.strands[0].regs = 2),
    ("reads v3 before it is bound", |p| {
        p.strands[0].trigger.columns[0] = Bind::Equal(Expr::Reg(Reg(3)));
    }),
    ("reads v3 before it is bound", |p| p.strands[0].steps[0] = Step::Match(Reg(3), Pattern::Any)),
    ("reads v3 before it is bound", |p| {
        let tail = Some(Box::new(Pattern::Equal(Expr::Reg(Reg(3)))));
        let elements = vec![Pattern::Reg(Reg(2))];
        p.strands[0].steps[0] = Step::Match(Reg(1), Pattern::List { elements, tail });
    }),
    ("reads v3 before it is bound", |p| {
        lookup(&mut p.strands[0], 1).key[1] = Expr::Reg(Reg(3));
    }),
    // Registers bound by a look-up for existence alone are not bound after it.
    ("reads v3 before it is bound", |p| {
        p.strands[0].output.columns[1] = HeadColumn::Value(Expr::Reg(Reg(3)));
    }),
    ("reads v3 before it is bound", |p| p.strands[0].steps.push(Step::Filter(Expr::Reg(Reg(3))))),
    ("reads v3 before it is bound", |p| {
        p.strands[0].steps.push(Step::Let(Reg(2), Expr::Reg(Reg(3))))
    }),
    ("looks up by no such key or index", |p| {
        lookup(&mut p.strands[0], 1).key.pop();
    }),
    ("looks up by no such key or index", |p| spec(p, 0).key = Key::Bag),
    ("looks up by no such key or index", |p| {
        lookup(&mut p.strands[0], 2).access = Access::Index(1);
    }),
    ("looks up by no such key or index", |p| {
        lookup(&mut p.strands[3], 0).access = Access::Ordered(1);
    }),
    ("has an ordered index of unknown or unordered columns", |p| spec(p, 0).ordered[0] = vec![2]),
    ("has an ordered index of unknown or unordered columns", |p| spec(p, 0).ordered[0] = vec![]),
    ("has an ordered index of unknown or unordered columns", |p| {
        spec(p, 0).ordered[0] = vec![1, 1];
    }),
    ("has bounds without an ordered index", |p| {
        lookup(&mut p.strands[3], 0).access = Access::Scan;
    }),
    ("tests by an ordered index, which may find too much", |p| {
        p.strands[3].steps[0] = Step::Exists(lookup(&mut p.strands[3], 0).clone());
    }),
    ("does not bind the column that its bounds limit", |p| {
        lookup(&mut p.strands[3], 0).columns[1] = Bind::Ignore;
    }),
    ("has a bound that no filter requires", |p| {
        p.strands[3].steps.pop();
    }),
    ("has a bound that no filter requires", |p| {
        let value = Expr::Reg(Reg(0));
        let bound = Bound::Compare { operator: Binary::Less, added: None, value };
        lookup(&mut p.strands[3], 0).bounds.push(bound);
    }),
    ("reads v2 before it is bound", |p| {
        let value = Expr::Reg(Reg(2));
        lookup(&mut p.strands[3], 0).bounds[0] =
            Bound::Compare { operator: Binary::GreaterEqual, added: None, value };
    }),
    ("has a bound that changes from row to row", |p| {
        let rand = FunctionId::from_name("rand").expect("a function");
        lookup(&mut p.strands[3], 0).bounds[0] = Bound::Compare {
            operator: Binary::GreaterEqual,
            added: None,
            value: Expr::Call(rand, Vec::new()),
        };
    }),
    ("adds to a column that may hold no integers", |p| {
        p.relations[0].columns[1] = TypeSet::ANY;
    }),
    ("binds another number of columns than the table has", |p| {
        lookup(&mut p.strands[0], 1).columns.pop();
    }),
    ("uses p3 as a table", |p| lookup(&mut p.strands[0], 1).relation = RelationId(3)),
    ("derives another number of columns than its head has", |p| {
        p.strands[0].output.columns.pop();
    }),
    ("goes where no column says", |p| p.strands[0].output.location = Some(2)),
    ("treats its head as what it is not", |p| p.strands[0].output.action = Action::Insert),
    ("treats its head as what it is not", |p| p.strands[0].output.relation = RelationId(0)),
    ("strand 2: reads v2 before it is bound", |p| {
        p.strands[2].output.columns[0] = HeadColumn::Value(Expr::Reg(Reg(2)));
    }),
    ("strand 2: reads v1 before it is bound", |p| {
        p.strands[2].steps.remove(0);
        p.strands[2].output.group_at = 0;
    }),
    // At the end of all steps as well.
    ("strand 2: reads v2 before it is bound", |p| {
        p.strands[2].steps.truncate(1);
        p.strands[2].output.columns[0] = HeadColumn::Value(Expr::Reg(Reg(2)));
    }),
    ("strand 2: reads v2 before it is bound", |p| p.strands[2].steps.truncate(1)),
    (GROUP, |p| p.strands[2].output.group_at = 2),
    (GROUP, |p| p.strands[2].output.group_at = 3),
    ("stratum 0, view 0: fills a head of another stratum", |p| p.strata[0].heads.clear()),
    ("stratum 0, view 0: uses p3 as a table", |p| view(p, 0).head = RelationId(3)),
    ("stratum 0, view 0: uses p3 as a table", |p| view(p, 0).body[0].relation = RelationId(3)),
    ("has a scan with a trigger", |p| {
        let delta = view(p, 0).deltas[0].clone();
        view(p, 0).scan = delta;
    }),
    ("view 0: binds v1, which it does not have", |p| view(p, 0).scan.regs = 1),
    ("has not one delta for each atom of its body", |p| view(p, 0).deltas.clear()),
    ("has a delta of another atom", |p| view(p, 0).deltas[0].trigger.on = On::Change),
    ("has a delta of another atom", |p| view(p, 0).body[0].relation = RelationId(2)),
    ("view 0: binds v1, which it does not have", |p| view(p, 0).deltas[0].regs = 1),
    ("has no check, or one without need", |p| view(p, 0).check = None),
    ("has no check, or one without need", |p| view(p, 0).kind = ViewKind::Plain),
    (CHECK, |p| view(p, 0).check.iter_mut().for_each(|one| one.trigger.on = On::Delta)),
    (CHECK, |p| {
        view(p, 1).check.iter_mut().for_each(|one| one.trigger.relation = RelationId(2));
    }),
    ("aggregates where it should not, or does not", |p| view(p, 0).kind = ViewKind::Grouped),
    ("aggregates where it should not, or does not", |p| view(p, 1).kind = ViewKind::Maintained),
    ("view 0: binds v1, which it does not have", |p| {
        view(p, 0).check.iter_mut().for_each(|one| one.regs = 1);
    }),
    (HEAD, |p| view(p, 0).scan.output.action = Action::Delete),
    (HEAD, |p| view(p, 0).deltas[0].output.action = Action::Delete),
    (HEAD, |p| view(p, 1).check.iter_mut().for_each(|one| one.output.action = Action::Delete)),
    (HEAD, |p| view(p, 1).deltas[0].output.relation = RelationId(2)),
];

#[test]
fn each_rule_can_be_broken() {
    let whole = parse(WHOLE).unwrap();
    assert_eq!(verify(&whole), Ok(()));
    assert_eq!(parse(&print(&whole)).as_ref(), Ok(&whole));
    for (number, (message, mistake)) in MISTAKES.iter().enumerate() {
        let mut plan = whole.clone();
        mistake(&mut plan);
        let errors = verify(&plan).unwrap_err();
        let found: Vec<String> =
            errors.iter().map(|error| format!("{}: {}", error.place, error.message)).collect();
        assert!(found.iter().any(|one| one.contains(message)), "{number}, {message}: {found:?}");
    }
}

#[test]
fn relations_are_found_by_name_and_take_as_many_columns_as_they_have() {
    let text = "relation p0 \"e\" at 0 (string, any)\nrelation p1 \"open\" at 0 ()\n";
    let plan = parse(&format!("{text}rule r0 \"r\" at \"f:1:1\"\n")).unwrap();
    assert_eq!(plan.find("open"), Some(RelationId(1)));
    assert_eq!(plan.find("closed"), None);
    let takes = |relation: usize| {
        (0..4).map(|columns| plan.relations[relation].takes(columns)).collect::<Vec<_>>()
    };
    assert_eq!(takes(0), [false, false, true, false]);
    assert_eq!(takes(1), [false, true, true, true]);
}

/// A view rule of a recursive table, with these steps and this second column of the head.
fn recursive(step: &str, column: &str) -> Plan {
    let text = format!(
        r#"
relation p0 "t" at 0 (any, any)
  table key(0, 1)
rule r0 "r" at "f:1:1"
stratum heads(p0) selected()
  view r0 plain p0 from p0
    scan r0 on scan p0 () regs 3
      join p0 scan [] atom 0 (v0, v1)
      let v2 {step}
      insert p0 (v0, {column})
    delta r0 on delta p0 (v0, v1) regs 3
      let v2 {step}
      insert p0 (v0, {column})
"#
    );
    parse(&text).unwrap()
}

#[test]
fn a_stratum_computes_where_its_rows_hold_what_none_before_did() {
    let computes = |step, column| recursive(step, column).strata[0].computes();
    assert!(!computes("v1", "v2"));
    assert!(computes("(+ v1 1)", "v2"));
    assert!(computes("v1", "(+ v1 1)"));
    // One that reads other tables ends with them.
    let mut plan = recursive("(+ v1 1)", "v2");
    plan.strata[0].heads = vec![RelationId(1)];
    assert!(!plan.strata[0].computes());
}

#[test]
fn what_takes_the_time_anywhere_is_not_pure() {
    let is_pure = |step, column| recursive(step, column).strata[0].rules[0].scan.is_pure();
    assert!(is_pure("(+ v1 1)", "v2"));
    assert!(!is_pure("(f_now)", "v2"));
    assert!(!is_pure("v1", "(f_now)"));
}
