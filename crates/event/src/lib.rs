//! tidemill-event
