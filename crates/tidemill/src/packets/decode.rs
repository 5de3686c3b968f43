//! Messages in packets: the app `Decode`.
//!
//! The machine does the work, with the rules and files (`borders/decode`): the app only declares
//! ports and config.

use tidemill_packet::app::{App, ConfigError, Fault, Io, Progress, Reconfigured, Start};
use tidemill_packet::fields::{FieldType, Fields};

use crate::borders::files::FileName;

tidemill_packet::declare! {
    /// Decodes the message in each packet, and hands its fields to the rules of the program as
    /// events, or writes them into a file.
    ///
    /// An event is `event(@N, FIELD, ..., field, ...)`: the `fields` of the packet, null where it
    /// has none, then those of the message, as `stage("proto:pkg.Type", in, out)` gives them. A
    /// line or row of a file is the same without the location, under the names of the fields. The
    /// schemas of the program have the type.
    ///
    /// What is no such message, or has no `from`, goes on at `rest`, and is counted by reason.
    /// While many events of the node wait, packets stay on the links.
    app Decode {
        config DecodeConfig {
            /// The type of the messages, with its package.
            r#type: String,
            /// Where in a packet the message is: a field that is bytes.
            from: String = "udp.payload".to_owned(),
            /// The fields of the message, such as `device, position.latitude`; without it, all of
            /// them by number.
            select: String = String::new(),
            /// The fields of the packet that come before: names such as `ip.src, time`.
            fields: String = String::new(),
            /// The event of the rules.
            event: String = String::new(),
            /// The file, in place of an event: `.jsonl`, `.csv` or `.parquet`, below `--root`; `%Y`
            /// and so on in its name begin a file for each stretch of time.
            output: String = String::new(),
        }
        ports {
            /// Packets with messages.
            input: Input(Pull, Many),
            /// Packets without; without a link they are dropped.
            rest: Output(Push, Optional),
        }
        traits { pulls }
    }
}

/// See [`Decode::declaration`](tidemill_packet::app::Declared::declaration).
pub struct Decode;

impl App for Decode {
    fn validate(config: &DecodeConfig) -> Result<(), ConfigError> {
        let fields = |key: &'static str, text: &str| {
            Fields::parse(text).map_err(|unknown| ConfigError::new(key, unknown.to_string()))
        };
        fields("fields", &config.fields)?;
        let from = fields("from", &config.from)?;
        let types: Vec<FieldType> = from.types().map(|(_, kind)| kind).collect();
        if types != [FieldType::Bytes] {
            return Err(ConfigError::new(
                "from",
                "it is one field that is bytes, such as `udp.payload`",
            ));
        }
        match (config.event.is_empty(), config.output.is_empty()) {
            (true, true) => Err(ConfigError::new("event", "say `event`, or `output`")),
            (false, false) => {
                Err(ConfigError::new("output", "say `event` or `output`, and not both"))
            }
            (false, true) => Ok(()),
            (true, false) => match FileName::parse(&config.output) {
                Ok(_) => Ok(()),
                Err(wrong) => {
                    let text = format!("{}; {}", wrong.message, wrong.help);
                    Err(ConfigError::new("output", text))
                }
            },
        }
    }

    fn new(_: DecodeConfig, _: &mut Start) -> Result<Decode, Fault> {
        Ok(Decode)
    }

    /// The border was settled when the program was loaded.
    fn reconfigure(&mut self, _: DecodeConfig) -> Reconfigured {
        Reconfigured::Kept
    }

    fn pull(&mut self, _: &mut Io) -> Result<Progress, Fault> {
        Ok(Progress::Asleep)
    }
}
