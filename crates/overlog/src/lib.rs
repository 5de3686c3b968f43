//! tidemill-overlog

pub mod net;
