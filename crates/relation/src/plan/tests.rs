use super::*;

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
relation p1 "t" at 0 (string, int64)
  table key(0, 1) lifetime 1000 size 5 index(1) soft
rule r0 "r" at "f:1:1"
strand r0 on periodic 0.5 3 p0 (v0, _, =(+ NODE_INDEX 1)) regs 9
  match v0 [v1, _, =1 | [v2]]
  let v3 (? (&& (> v1 1) (|| true (! false))) (f_sha1 v1)
    0x0000000000000000000000000000000000000001I)
  absent p1 primary [v0, (- 3)] atom 1 (_, _)
  join p1 index 0 [(% 7 3)] atom 2 (v4, _)
  filter (in (] v3 0 5)
  filter (== (list 1, "a b", null) vector [1, 2])
  filter (== (matrix [1, 2] [v1, v2]) {[1, 2], [3, 4]})
  emit p0 (v0, (f_now), (f_append v1 (list )))
strand r0 on event p0 (v0, v1, _) regs 2
  insert p1 (v0, COUNT<*>) group 0
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
        let errors = verify(&parse(&text).unwrap()).unwrap_err();
        errors.into_iter().map(|error| error.message).collect::<Vec<_>>().join("; ")
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
        assert_eq!(with(strand), message, "{strand}");
    }
}

#[test]
fn what_is_no_plan_gives_the_place() {
    let error = parse("relation p0 \"e\" at 0 (string)\nrelation p1 \"f\" at 0 (string, strin)")
        .unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (2, "expected a type"));
    let nested = format!("strand r0 on event p0 (={}", "(! ".repeat(100_000));
    assert!(parse(&nested).unwrap_err().message.contains("too deep"));
}
