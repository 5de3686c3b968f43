//! Compilation beside the decoding: the table decoder is used until the code is ready.

use std::sync::{Arc, OnceLock};
use std::thread;

use super::super::Decoder;
use super::super::tables::Tables;
use super::{Native, NativeError};
use crate::schema::{MessageId, Schema};
use crate::sink::Wants;

/// A native decoder that another thread compiles.
///
/// This is the only thread of the crate. The caller starts it; it ends with the compilation, and
/// hands over one value.
///
/// ```
/// use tidemill_wire::decode::Compiling;
/// use tidemill_wire::{Decoder, Scalar, SchemaBuilder, Tables, Wants, Label};
///
/// let mut builder = SchemaBuilder::new("demo");
/// let point = builder.message("Point");
/// builder.field(point, "x", 1, Scalar::Sint64, Label::Optional);
/// let schema = builder.build().unwrap();
/// let tables = Tables::new(&schema);
///
/// let compiling = Compiling::start(&schema, &tables, point, Wants::NONE);
/// // The same result, sooner or later faster.
/// compiling.decoder(&schema, &tables).decode(point, b"\x08\x05", &mut ())?;
/// compiling.wait().expect("code can be made here");
/// compiling.decoder(&schema, &tables).decode(point, b"\x08\x05", &mut ())?;
/// # Ok::<(), tidemill_wire::DecodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Compiling(Arc<OnceLock<Result<Native, NativeError>>>);

impl Compiling {
    /// Starts [`Native::compile`], and the compilation of the code for messages of a type.
    pub fn start(schema: &Schema, tables: &Tables, message: MessageId, wants: Wants) -> Compiling {
        let compiling = Compiling(Arc::new(OnceLock::new()));
        let (slot, schema, tables) = (compiling.clone(), schema.clone(), tables.clone());
        thread::spawn(move || {
            let compile = || {
                let native = Native::compile(&schema, &tables, wants)?;
                // Without code, the table decoder continues.
                let _ = native.prepare(message);
                Ok(native)
            };
            slot.0.get_or_init(compile).is_ok()
        });
        compiling
    }

    /// The native decoder, if it is ready.
    pub fn get(&self) -> Option<&Native> {
        self.0.get()?.as_ref().ok()
    }

    /// The native decoder, as soon as it is ready.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn wait(&self) -> Result<&Native, &NativeError> {
        self.0.wait().as_ref()
    }

    /// A decoder by these tables, which the compilation was started with: native if that is ready.
    pub fn decoder<'s>(&'s self, schema: &'s Schema, tables: &'s Tables) -> Decoder<'s> {
        let decoder = Decoder::with(schema, tables);
        self.get().map_or(decoder, |native| decoder.native(native))
    }
}
