//! tidemill-overlog
