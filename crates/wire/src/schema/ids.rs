//! Typed 32-bit ids into the arrays of a draft, and of the schema that it becomes.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The index in the schema's array, from 0 in the order of declaration.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A file of a schema.
    FileId
}
id! {
    /// A message of a schema.
    MessageId
}
id! {
    /// A field of some message of a schema, or an extension.
    FieldId
}
id! {
    /// A oneof of some message of a schema.
    OneofId
}
id! {
    /// An enum of a schema.
    EnumId
}
id! {
    /// A service of a schema.
    ServiceId
}
