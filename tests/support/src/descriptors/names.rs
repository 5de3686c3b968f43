//! The names of descriptor fields and enum values, taken from the text of `descriptor.proto`
//! without the library that is tested with them.

/// The descriptor fields by message, and enum values by enum. A type is named by its last part:
/// `descriptor.proto` has no two messages, and no two enums, of one such name.
#[derive(Debug, Default)]
pub struct Names {
    messages: Vec<(String, Vec<Field>)>,
    enums: Vec<(String, Vec<(String, i64)>)>,
}

/// A field of a descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its number.
    pub number: u64,
    /// Its type, a scalar or the last part of a name.
    pub of: String,
}

impl Names {
    /// Those of the `descriptor.proto` in the project.
    pub fn read() -> Names {
        let path = "crates/wire/src/proto/wellknown/descriptor.proto";
        Names::of(&crate::text(&crate::root().join(path)))
    }

    /// Those of a text without comments in statements.
    fn of(text: &str) -> Names {
        let mut names = Names::default();
        // The open blocks, each with its keyword and its name.
        let mut open: Vec<(String, String)> = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            let words: Vec<&str> = line
                .split(|c: char| c.is_whitespace() || ";[]".contains(c))
                .filter(|word| !word.is_empty())
                .collect();
            match (words.as_slice(), open.last()) {
                ([keyword @ ("message" | "enum"), name, "{"], _) => {
                    names.open(keyword, name);
                    open.push(((*keyword).to_owned(), (*name).to_owned()));
                }
                (["}"], _) => drop(open.pop()),
                ([_, of, name, "=", number, ..], Some((keyword, message)))
                    if keyword == "message" =>
                {
                    let Ok(number) = number.parse() else { continue };
                    let of = of.rsplit('.').next().unwrap_or(of).to_owned();
                    names.field(message, Field { name: (*name).to_owned(), number, of });
                }
                ([name, "=", number, ..], Some((keyword, of))) if keyword == "enum" => {
                    let Ok(number) = number.parse() else { continue };
                    names.value(of, name, number);
                }
                _ => {}
            }
        }
        names
    }

    fn open(&mut self, keyword: &str, name: &str) {
        match keyword {
            "message" => self.messages.push((name.to_owned(), Vec::new())),
            _ => self.enums.push((name.to_owned(), Vec::new())),
        }
    }

    fn field(&mut self, message: &str, field: Field) {
        let fields = self.messages.iter_mut().find(|(name, _)| name == message);
        fields.into_iter().for_each(|(_, fields)| fields.push(field.clone()));
    }

    fn value(&mut self, of: &str, name: &str, number: i64) {
        let values = self.enums.iter_mut().find(|(name, _)| name == of);
        values.into_iter().for_each(|(_, values)| values.push((name.to_owned(), number)));
    }

    /// The fields of a message; none of a type that is no message.
    pub fn fields(&self, message: &str) -> &[Field] {
        let found = self.messages.iter().find(|(name, _)| name == message);
        found.map_or(&[], |(_, fields)| fields)
    }

    /// Whether a type is a message.
    pub fn is_message(&self, of: &str) -> bool {
        self.messages.iter().any(|(name, _)| name == of)
    }

    /// The values of an enum; `None` if the type is none.
    pub fn values(&self, of: &str) -> Option<&[(String, i64)]> {
        self.enums.iter().find(|(name, _)| name == of).map(|(_, values)| values.as_slice())
    }

    /// All messages with their fields.
    pub fn messages(&self) -> impl Iterator<Item = (&str, &[Field])> {
        self.messages.iter().map(|(name, fields)| (name.as_str(), fields.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        let names = Names::read();
        let field = |message, number| {
            let found = names.fields(message).iter().find(|field| field.number == number);
            found.map(|field| (field.name.as_str(), field.of.as_str()))
        };
        assert_eq!(field("FileDescriptorSet", 1), Some(("file", "FileDescriptorProto")));
        assert_eq!(field("FileOptions", 10), Some(("java_multiple_files", "bool")));
        assert_eq!(field("FieldOptions", 20), Some(("edition_defaults", "EditionDefault")));
        let labels = names.values("Label").expect("an enum");
        assert_eq!(labels[1], ("LABEL_REPEATED".to_owned(), 3));
        assert!(names.is_message("DescriptorProto") && !names.is_message("Label"));
        let mut all: Vec<&str> = names.messages().map(|(name, _)| name).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
    }
}
