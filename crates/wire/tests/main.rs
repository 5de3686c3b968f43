//! Schemas, decoders, encoders, JSON and text.

mod batch;
mod binary_sink;
mod common;
mod corners;
mod decoders;
mod defs;
mod format;
mod lazy;
mod messages;
mod mutations;
mod native_encoder;
mod noise;
mod oracle;
mod proto;
mod random;
mod round_trip;
mod texts;
