//! Patterns of lists: which lists match, and what they bind.

use tidemill_relation::database::Database;
use tidemill_relation::expr::{EvalError, Scope};
use tidemill_relation::plan::{self, Output, RuleId};
use tidemill_relation::strand::{self, Reading, Sink};
use tidemill_relation::text::parse_value;
use tidemill_relation::{SeqBuilder, Value};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;

use crate::noise::strands::Still;

/// The last derived tuple, as text.
#[derive(Default)]
struct Last(Option<String>);

impl Sink for Last {
    fn derive(&mut self, _: &Output, columns: &[Value<'_>], _: u64) {
        self.0 = columns.first().map(Value::to_string);
    }

    fn failed(&mut self, rule: RuleId, error: EvalError) {
        panic!("{rule:?}: {error}");
    }
}

/// The tuple derived for a value that must match a pattern.
fn derived(pattern: &str, result: &str, value: &str) -> Option<String> {
    let text = format!(
        "relation p0 \"e\" at 0 (any)\nrule r0 \"r\" at \"f:1:1\"\n\
         strand r0 on event p0 (v0) regs 3\n  match v0 {pattern}\n  emit p0 ({result})\n"
    );
    let plan = plan::parse(&text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    assert_eq!(plan::verify(&plan), Ok(()), "{text}");
    let database = Database::new(&plan, Secret::FIXED);
    let mut event = SeqBuilder::new();
    event.push(parse_value(value).expect(value).get());
    let (scratch, ambient) = (Bump::new(), Still::default());
    let scope = Scope { scratch: &scratch, ambient: &ambient };
    let mut last = Last::default();
    let reading = Reading::present(&database);
    strand::run(&plan.strands[0], event.as_seq(), reading, scope, &mut last);
    last.0
}

#[test]
fn a_list_matches_by_its_length_and_its_elements() {
    for (pattern, result, value, expected) in [
        ("_", "v0", "5", Some("5")),
        ("=5", "v0", "5", Some("5")),
        ("=5", "v0", "6", None),
        ("v1", "v1", "[6]", Some("[6]")),
        ("[]", "v0", "[]", Some("[]")),
        ("[]", "v0", "[7]", None),
        ("[v1, v2]", "(list v2 v1)", "[7, 8]", Some("[8, 7]")),
        ("[v1, v2]", "v1", "[7]", None),
        ("[v1, v2]", "v1", "[7, 8, 9]", None),
        ("[v1, v2]", "v1", "7", None),
        ("[_, =8]", "v0", "[7, 8]", Some("[7, 8]")),
        ("[_, =8]", "v0", "[8, 7]", None),
        ("[[v1], v2]", "(list v1 v2)", "[[7], 8]", Some("[7, 8]")),
        ("[[v1], v2]", "v1", "[7, 8]", None),
        ("[v1 | v2]", "(list v1 v2)", "[7, 8, 9]", Some("[7, [8, 9]]")),
        ("[v1 | v2]", "v2", "[7]", Some("[]")),
        ("[v1 | v2]", "v2", "[]", None),
        ("[v1 | [v2]]", "v2", "[7, 8]", Some("8")),
        ("[v1 | [v2]]", "v2", "[7, 8, 9]", None),
    ] {
        let found = derived(pattern, result, value);
        assert_eq!(found.as_deref(), expected, "{pattern} of {value}");
    }
}
