//! The files that can be imported without being installed.

/// The file with the definitions of options.
pub(super) const DESCRIPTOR: &str = "google/protobuf/descriptor.proto";

macro_rules! files {
    ($($name:literal),+) => {
        /// Names and texts.
        const FILES: &[(&str, &str)] = &[
            $((
                concat!("google/protobuf/", $name, ".proto"),
                include_str!(concat!($name, ".proto")),
            )),+
        ];
    };
}

files!(
    "any",
    "api",
    "compiler/plugin",
    "cpp_features",
    "descriptor",
    "duration",
    "empty",
    "field_mask",
    "go_features",
    "java_features",
    "source_context",
    "struct",
    "timestamp",
    "type",
    "wrappers"
);

/// The text of a well-known file.
pub(super) fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|file| file.0 == name).map(|file| file.1)
}

/// The names of all well-known files.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|file| file.0)
}
