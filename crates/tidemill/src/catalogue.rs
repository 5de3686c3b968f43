//! What the rule language offers: functions, aggregates, operators and stages, from their
//! declarations.

use std::fmt::Write;

use tidemill_diag::nearest_three;
use tidemill_overlog::stage::{Declaration, Registry};
use tidemill_relation::function::{self, Function, Purity};
use tidemill_relation::{aggregate, operator};

/// Lists the whole catalogue, a line per entry.
pub fn list() -> String {
    let mut out = String::new();
    for group in function::CATALOGUE {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(out, "{}:", group.name);
        for function in group.functions {
            let _ = writeln!(out, "  {function}");
        }
    }
    let _ = writeln!(out, "aggregates:");
    for declaration in aggregate::catalogue() {
        let _ = writeln!(out, "  {declaration}");
    }
    let _ = writeln!(out, "operators:");
    for declaration in operator::catalogue() {
        let _ = writeln!(out, "  {:<4}{}", declaration.symbol, declaration.name);
    }
    let _ = writeln!(out, "stages:");
    for declaration in Registry::default().declarations() {
        let _ = writeln!(out, "  {declaration}");
    }
    out
}

/// Describes one entry, with examples.
///
/// # Errors
/// Names similar to `name`, which is unknown.
pub fn describe(name: &str) -> Result<String, Vec<String>> {
    let bare = name.strip_prefix("f_").unwrap_or(name);
    if let Some(function) = function::catalogue().iter().find(|function| function.name == bare) {
        return Ok(describe_function(function));
    }
    let upper = name.strip_prefix("a_").unwrap_or(name).to_ascii_uppercase();
    if let Some(found) = aggregate::catalogue().into_iter().find(|one| one.name == upper) {
        return Ok(described(&found.to_string(), found.doc, found.examples));
    }
    if let Some(found) = operator::catalogue().find(|one| one.symbol == name) {
        let lines: Vec<String> = found.signature_lines().collect();
        return Ok(described(&lines.join("\n"), found.doc, found.examples));
    }
    if let Some(found) = Registry::default().find(name) {
        return Ok(describe_stage(&found));
    }
    let functions = function::catalogue().iter().map(|function| function.name);
    Err(nearest_three(bare, functions).iter().map(|name| format!("f_{name}")).collect())
}

fn describe_function(function: &Function) -> String {
    let mut text = described(&function.to_string(), function.doc, function.examples);
    match function.purity {
        Purity::Pure | Purity::Schemas => {}
        Purity::Time => {
            text.push_str("\nIts result depends on the time: a rule that calls it is no view.\n");
        }
        Purity::Random => {
            text.push_str("\nIts result is another each time: a rule that calls it is no view.\n");
        }
    }
    if !function.see.is_empty() {
        let _ = writeln!(text, "\nSee also f_{}.", function.see.join(", f_"));
    }
    text
}

fn describe_stage(stage: &Declaration) -> String {
    let mut text = described(&stage.to_string(), &stage.doc, &[]);
    for example in &stage.examples {
        let _ = writeln!(text, "\n  {}  yields", example.input);
        for output in example.outputs {
            let _ = writeln!(text, "    {output}");
        }
    }
    text
}

fn described(signature: &str, doc: &str, examples: &[(&str, &str)]) -> String {
    let mut text = format!("{signature}\n\n{doc}\n");
    if !examples.is_empty() {
        text.push('\n');
    }
    for (call, result) in examples {
        let _ = writeln!(text, "  {call}  gives  {result}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_a_line_for_everything() {
        let list = list();
        assert!(list.contains("  f_sha1("), "{list}");
        assert!(list.contains("\naggregates:\n") && list.contains("COUNTDISTINCT"), "{list}");
        assert!(list.contains("  <<  ") && list.contains("  TOKENIZER("), "{list}");
    }

    #[test]
    fn descriptions_are_found_by_all_spellings() {
        assert_eq!(describe("sha1"), describe("f_sha1"));
        assert_eq!(describe("a_count"), describe("COUNT"));
        assert!(describe("TOKENIZER").is_ok_and(|text| text.contains("yields")));
        assert!(describe("|||").is_ok_and(|text| text.contains("gives")));
        assert!(describe("f_slice").is_ok_and(|text| text.contains("See also f_substr.")));
        assert!(describe("f_now").is_ok_and(|text| text.contains("no view")));
        assert_eq!(describe("f_sha"), Err(vec!["f_sha1".to_owned()]));
    }
}
