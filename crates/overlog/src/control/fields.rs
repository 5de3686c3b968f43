//! The definition as a schema, and where its fields are.

use std::sync::LazyLock;

use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{FieldId, MessageId, Schema};

use crate::net::protocol::ValueFields;

/// The definition of the messages.
pub const PROTO: &str = include_str!("control.proto");

const PACKAGE: &str = "tidemill.control";

/// The messages.
///
/// The lock guards only the first use, of tables that never change.
pub(super) static CONTROL: LazyLock<Fields> = LazyLock::new(|| {
    let compiled = compile(&["control.proto"], &Texts::from_iter([("control.proto", PROTO)]));
    Fields::of(compiled.schema.expect("the text is part of the program"))
});

/// Requests that this version knows by name only.
pub(super) const UNSUPPORTED: [&str; 2] = ["inject", "why"];

/// The schema and its fields.
pub(super) struct Fields {
    pub(super) schema: Schema,
    pub(super) control: MessageId,
    pub(super) id: FieldId,
    pub(super) query: FieldId,
    pub(super) top: FieldId,
    pub(super) top_costs: FieldId,
    pub(super) install: FieldId,
    pub(super) uninstall: FieldId,
    pub(super) unsupported: [FieldId; UNSUPPORTED.len()],
    pub(super) rows: FieldId,
    pub(super) counters: FieldId,
    pub(super) text: FieldId,
    pub(super) end: FieldId,
    pub(super) query_node: FieldId,
    pub(super) query_text: FieldId,
    pub(super) install_node: FieldId,
    pub(super) install_name: FieldId,
    pub(super) install_text: FieldId,
    pub(super) uninstall_node: FieldId,
    pub(super) uninstall_name: FieldId,
    pub(super) row: FieldId,
    pub(super) column: FieldId,
    pub(super) counter: FieldId,
    pub(super) counter_name: FieldId,
    pub(super) counter_value: FieldId,
    pub(super) text_text: FieldId,
    pub(super) end_status: FieldId,
    pub(super) end_name: FieldId,
    pub(super) end_reason: FieldId,
    pub(super) value: ValueFields,
}

impl Fields {
    fn of(schema: Schema) -> Fields {
        let message = |name: &str| {
            let found = schema.message_by_name(&format!("{PACKAGE}.{name}"));
            found.unwrap_or_else(|| panic!("the text defines {name}"))
        };
        let field = |of: &str, name: &str| {
            let found = schema.field_by_name(message(of), name);
            found.unwrap_or_else(|| panic!("the text defines {of}.{name}"))
        };
        Fields {
            control: message("Control"),
            id: field("Control", "id"),
            query: field("Control", "query"),
            top: field("Control", "top"),
            top_costs: field("Top", "costs"),
            install: field("Control", "install"),
            uninstall: field("Control", "uninstall"),
            unsupported: UNSUPPORTED.map(|name| field("Control", name)),
            rows: field("Control", "rows"),
            counters: field("Control", "counters"),
            text: field("Control", "text"),
            end: field("Control", "end"),
            query_node: field("Query", "node"),
            query_text: field("Query", "text"),
            install_node: field("Install", "node"),
            install_name: field("Install", "name"),
            install_text: field("Install", "text"),
            uninstall_node: field("Uninstall", "node"),
            uninstall_name: field("Uninstall", "name"),
            row: field("Rows", "rows"),
            column: field("Row", "columns"),
            counter: field("Counters", "counters"),
            counter_name: field("Counter", "name"),
            counter_value: field("Counter", "value"),
            text_text: field("Text", "text"),
            end_status: field("End", "status"),
            end_name: field("End", "name"),
            end_reason: field("End", "reason"),
            value: ValueFields::find(
                message("Value"),
                |name| field("Value", name),
                field("Values", "v"),
            ),
            schema,
        }
    }
}
