//! Turns messages into Arrow columns, by two paths with the same result.
//!
//! ```text
//! bytes --decoder--> events ------ Columns, a sink ------> values, list starts, presence bits
//!    '--native--> records of some hundred messages --'         |
//!                 BatchReader, column by column                finish, per batch
//!                                                              v
//!                                      RecordBatch --Output--> Arrow IPC stream, Parquet file
//! ```
//! [`Columns`] appends the values of any decoder one by one, and is the reference. [`BatchReader`]
//! lets native code store some hundred messages as records, which stay in the cache, and reads them
//! field by field in branch-free loops.
//!
//! | in the schema | column |
//! |---|---|
//! | numbers, `bool`, `string`, `bytes` | the type of that width, `Boolean`, `Utf8`, `Binary` |
//! | `string` of proto2 that is not UTF-8 | `Utf8`, with U+FFFD for invalid bytes |
//! | enum | `Dictionary(Int32, Utf8)` of names, or `Int32` ([`EnumForm`]) |
//! | message | `Struct`, null where absent |
//! | message without fields that have columns | `Boolean`, true where present |
//! | `repeated` | `List`, empty where absent |
//! | `map` | `Map`; an entry that occurs twice is kept twice |
//! | `map` whose keys or values have no column | `List` of the other |
//! | `google.protobuf.Timestamp`, `Duration` | nanoseconds: `Timestamp(UTC)`, `Duration` |
//! | `google.protobuf.Int64Value` and the like | the value's type, null where absent |
//!
//! A field with presence is nullable; one without holds its default where absent. In a oneof all
//! members but the set one are null. A recursive message has no finite set of columns, so fields
//! that lead back to an enclosing message are left out, and [`Columns::left_out`] names them.
//! Unknown fields and extensions have no column.
//!
//! ```
//! use tidemill_wire::{Decoder, Label, Scalar, SchemaBuilder, encode};
//! use tidemill_wire_arrow::{Columns, Options};
//!
//! let mut builder = SchemaBuilder::new("demo");
//! let reading = builder.message("Reading");
//! let celsius = builder.field(reading, "celsius", 1, Scalar::Double, Label::Implicit);
//! builder.field(reading, "note", 2, Scalar::String, Label::Optional);
//! let schema = builder.build().unwrap();
//!
//! let mut columns = Columns::new(&schema, reading, &Options::default()).unwrap();
//! for value in [20.5, 21.0] {
//!     let bytes = encode::to_vec(&schema, |to| to.put_f64(celsius, value));
//!     Decoder::new(&schema).decode(reading, &bytes, &mut columns).unwrap();
//! }
//! let batch = columns.finish().unwrap();
//! assert_eq!((batch.num_rows(), batch.num_columns()), (2, 2));
//! assert_eq!(batch.column(1).null_count(), 2);
//! ```
//! Rows that are no messages become Parquet files by [`RowFile`].
#![forbid(unsafe_code)]

mod append;
mod bits;
mod column;
mod columns;
mod export;
mod output;
mod plan;
mod reader;
mod rows;

pub use columns::Columns;
pub use output::{Format, Output};
pub use plan::{EnumForm, Options, PlanError};
pub use reader::{BatchReader, Engine, ReaderCode};
pub use rows::{Cell, ColumnType, RowError, RowFile};
