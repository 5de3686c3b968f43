//! Rules: parsing, compiling, turns, views and the network.

mod aggregates;
mod arrivals;
mod circles;
mod compile;
mod corpus;
mod deletes;
mod fmt;
mod harness;
mod hashing;
mod hostile;
mod limits;
mod locations;
mod noise;
mod oracle;
mod parse;
mod peers;
mod plain;
mod provenance;
mod queries;
mod remote_views;
mod replace;
mod rows;
mod stages;
mod streams;
mod turns;
mod views;
