//! A generated message.

/// A message, and the source of its type.
pub struct Made {
    /// The name of the case.
    pub name: &'static str,
    /// The name of its file.
    pub file: &'static str,
    /// The `.proto` text; it may import built-in files.
    pub text: &'static str,
    /// The full name of its type.
    pub message: &'static str,
    /// The message.
    pub bytes: Vec<u8>,
    /// Two fields that it contains.
    pub select: [&'static str; 2],
}
