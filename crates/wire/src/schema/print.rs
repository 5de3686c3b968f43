//! Schemas as `.proto` text that `protoc` accepts.
//!
//! Messages in the order of declaration, fields ascending by number; a oneof comes at its lowest
//! member. The text depends on the definitions alone, so its hash can identify them.

use std::fmt;

use super::{Field, FieldType, Label, Message, Schema};

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("syntax = \"proto3\";\n")?;
        let package = self.files().next().map_or("", |file| self.file(file).package());
        if !package.is_empty() {
            write!(f, "\npackage {package};\n")?;
        }
        self.messages().try_for_each(|id| write_message(self, self.message(id), f))
    }
}

fn write_message(schema: &Schema, message: &Message, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if message.fields().is_empty() {
        return write!(f, "\nmessage {} {{}}\n", message.name());
    }
    write!(f, "\nmessage {} {{\n", message.name())?;
    for &id in message.fields() {
        let field = schema.field(id);
        let Some(oneof) = field.oneof() else {
            write_field(schema, field, "  ", f)?;
            continue;
        };
        let oneof = schema.oneof(oneof);
        if oneof.fields().first() == Some(&id) {
            writeln!(f, "  oneof {} {{", oneof.name())?;
            for &member in oneof.fields() {
                write_field(schema, schema.field(member), "    ", f)?;
            }
            f.write_str("  }\n")?;
        }
    }
    f.write_str("}\n")
}

fn write_field(
    schema: &Schema,
    field: &Field,
    indent: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let label = match field.label() {
        Label::Optional if field.is_proto3_optional() => "optional ",
        Label::Repeated => "repeated ",
        _ => "",
    };
    let ty = match field.field_type() {
        FieldType::Scalar(scalar) => scalar.name(),
        FieldType::Message(id) | FieldType::Group(id) => schema.message(id).name(),
        FieldType::Enum(id) => schema.enum_def(id).name(),
    };
    writeln!(f, "{indent}{label}{ty} {} = {};", field.name(), field.number())
}

#[cfg(test)]
mod tests {
    use crate::{Label, Scalar, SchemaBuilder};

    #[test]
    fn the_text_is_what_protoc_reads() {
        let mut builder = SchemaBuilder::new("a.b");
        let value = builder.message("Value");
        let values = builder.message("Values");
        let v = builder.oneof(value, "v");
        builder.oneof_field(v, "list", 9, values);
        builder.oneof_field(v, "i", 1, Scalar::Sint64);
        builder.field(value, "unit", 2, Scalar::String, Label::Optional);
        builder.field(value, "scale", 3, Scalar::Uint32, Label::Implicit);
        builder.field(values, "v", 1, value, Label::Repeated);
        builder.message("Empty");
        let text = builder.build().unwrap().to_string();
        assert_eq!(
            text,
            "syntax = \"proto3\";

package a.b;

message Value {
  oneof v {
    sint64 i = 1;
    Values list = 9;
  }
  optional string unit = 2;
  uint32 scale = 3;
}

message Values {
  repeated Value v = 1;
}

message Empty {}
"
        );
    }
}
