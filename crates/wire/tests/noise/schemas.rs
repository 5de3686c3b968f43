//! Untrusted schemas, as texts and as descriptors: valid ones round-trip.

use tidemill_wire::json::Mapping;
use tidemill_wire::proto::{Texts, compile};
use tidemill_wire::{Message, Schema};

/// A text; true if it is a schema.
pub fn check_proto(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let compiled = compile(&["a.proto"], &Texts::from_iter([("a.proto", text)]));
    for diagnostic in &compiled.diagnostics {
        assert!(!compiled.sources.render(diagnostic).is_empty());
    }
    let has_errors = compiled.diagnostics.iter().any(|one| one.is_error());
    assert_eq!(compiled.schema.is_none(), has_errors);
    compiled.schema.is_some_and(|schema| {
        check_schema(&schema);
        true
    })
}

/// A set of descriptors; true if it is a schema.
pub fn check_descriptors(input: &[u8]) -> bool {
    let Ok(schema) = Schema::from_descriptor_set(input) else { return false };
    check_schema(&schema);
    true
}

fn check_schema(schema: &Schema) {
    assert!(!schema.to_string().is_empty());
    let set = schema.descriptor_set();
    let back = Schema::from_descriptor_set(&set).expect("what was written is right");
    assert_eq!(back.descriptor_set(), set);
    let _ = Mapping::new(schema);
    for id in schema.messages() {
        let message = schema.message(id);
        assert_eq!(schema.message_by_name(message.full_name()), Some(id));
        for field in message.field_defs() {
            assert_eq!(schema.field_by_number(id, field.number()), Some(field.id()));
        }
        let empty = Message::new(schema, id).expect("there is memory");
        assert!(empty.encode().is_ok_and(|bytes| bytes.is_empty()));
    }
}
