//! The text form of plans: a plan that parses is verified without a panic, and prints as parsed.

use tidemill_relation::plan;

/// Panics if reading, verifying and printing `input` do not agree.
pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    match plan::parse(text) {
        Err(error) => assert!(error.line <= text.matches('\n').count() + 1, "{error:?}"),
        Ok(plan) => {
            if let Err(errors) = plan::verify(&plan) {
                assert!(errors.iter().next().is_some());
            }
            let printed = plan::print(&plan);
            assert_eq!(plan::parse(&printed).as_ref(), Ok(&plan), "{printed}");
            assert_eq!(plan::print(&plan), printed);
        }
    }
}

/// True for the text of a valid plan.
pub fn is_understood(input: &[u8]) -> bool {
    str::from_utf8(input)
        .is_ok_and(|text| plan::parse(text).is_ok_and(|plan| plan::verify(&plan).is_ok()))
}
