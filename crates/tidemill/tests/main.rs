//! The library, as used by programs that embed it.

mod borders;
mod captures;
mod decode;
mod explore;
mod instances;
mod loops;
mod messages;
mod mixed;
mod nodes;
mod noise;
mod packets;
mod pipes;
mod pores;
mod sinks;
mod system;
