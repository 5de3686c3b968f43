//! A message that is made.

/// A message, and the text that its type is in.
pub struct Made {
    /// What the case is called.
    pub name: &'static str,
    /// The name of its file.
    pub file: &'static str,
    /// The `.proto` text; it may import what is built in.
    pub text: &'static str,
    /// The full name of its type.
    pub message: &'static str,
    /// The message.
    pub bytes: Vec<u8>,
    /// Two fields that stand in it.
    pub select: [&'static str; 2],
}
