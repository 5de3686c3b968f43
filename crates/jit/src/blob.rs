//! Read-only data beside the code: constants, and tables of the addresses of functions and blobs.

use crate::symbol::{DataId, FuncId, Target};

/// The bytes of a blob, with the places where addresses belong.
///
/// Addresses are absolute and 64 bits wide; they are filled in when the module is finished.
#[derive(Clone, Debug)]
pub struct Blob {
    pub(crate) bytes: Vec<u8>,
    pub(crate) alignment: usize,
    pub(crate) addresses: Vec<(usize, Target)>,
}

impl Default for Blob {
    fn default() -> Blob {
        Blob::new()
    }
}

impl Blob {
    /// An empty blob that will start at a multiple of 8.
    pub fn new() -> Blob {
        Blob { bytes: Vec::new(), alignment: 8, addresses: Vec::new() }
    }

    /// Starts at a multiple of 16, as vectors like it.
    #[must_use]
    pub fn aligned_16(mut self) -> Blob {
        self.alignment = 16;
        self
    }

    /// The bytes so far: where the next thing goes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was put in.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Blob {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends zeros up to a multiple of `bytes`.
    pub fn align(&mut self, bytes: usize) -> &mut Blob {
        self.bytes.resize(self.bytes.len().next_multiple_of(bytes), 0);
        self
    }

    /// Appends the address of a function.
    pub fn function(&mut self, function: FuncId) -> &mut Blob {
        self.address(Target::Function(function))
    }

    /// Appends the address of another blob.
    pub fn data(&mut self, data: DataId) -> &mut Blob {
        self.address(Target::Data(data))
    }

    fn address(&mut self, target: Target) -> &mut Blob {
        self.addresses.push((self.bytes.len(), target));
        self.bytes(&[0; 8])
    }
}
