//! The apps in graphs, beside their oracles.

mod cases;
mod common;
mod compile;
mod devices;
mod flow_export;
mod hostile;
mod instances;
mod load;
mod noise;
mod oracles;
mod state;
mod steering;
mod tcp;
mod truth;
