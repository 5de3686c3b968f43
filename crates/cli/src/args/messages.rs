//! Options of `proto convert`, `decode`, `encode` and `bench`.

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use tidemill::messages::ColumnForm;

use super::SchemaArgs;

/// How messages are found, read and written.
#[derive(Args, Debug)]
pub struct MessagesArgs {
    /// The schema.
    #[command(flatten)]
    pub schema: SchemaArgs,
    /// The type of the messages: its full name
    #[arg(long = "type", value_name = "T")]
    pub message: String,
    /// What the input is; binary, for `encode` json
    #[arg(long, value_enum, value_name = "FORM")]
    pub from: Option<InputForm>,
    /// What the output is; json, for `encode` binary
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: Option<OutputForm>,
    /// Only these fields: names joined by dots, several divided by commas
    #[arg(long, value_name = "PATHS")]
    pub select: Option<String>,
    /// How messages are decoded
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub engine: Option<DecoderKind>,
    /// The file; - or nothing is standard input
    #[arg(value_name = "INPUT")]
    pub input: Option<String>,
}

/// Forms that are read.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputForm {
    /// One message.
    Binary,
    /// Messages, each preceded by its length.
    Delimited,
    /// JSON values.
    Json,
    /// One message in the text format.
    Text,
}

/// Forms that are written; the last two if this build has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OutputForm {
    /// One message.
    Binary,
    /// Messages, each preceded by its length.
    Delimited,
    /// One JSON value per line.
    Json,
    /// The text format.
    Text,
    /// A stream of Arrow record batches.
    Arrow,
    /// A Parquet file.
    Parquet,
}

impl OutputForm {
    const ALL: [OutputForm; 6] = [
        OutputForm::Binary,
        OutputForm::Delimited,
        OutputForm::Json,
        OutputForm::Text,
        OutputForm::Arrow,
        OutputForm::Parquet,
    ];
}

impl ValueEnum for OutputForm {
    fn value_variants<'a>() -> &'a [OutputForm] {
        if ColumnForm::AVAILABLE { &OutputForm::ALL } else { &OutputForm::ALL[..4] }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            OutputForm::Binary => ("binary", "One message"),
            OutputForm::Delimited => ("delimited", "Messages, each preceded by its length"),
            OutputForm::Json => ("json", "A JSON value a line"),
            OutputForm::Text => ("text", "The text format"),
            OutputForm::Arrow => ("arrow", "A stream of Arrow record batches"),
            OutputForm::Parquet => ("parquet", "A Parquet file"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

/// Decoders.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecoderKind {
    /// Native code.
    Native,
    /// Tables.
    Table,
}
