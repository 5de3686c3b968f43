//! tidemill-stat
