//! tidemill-wire
