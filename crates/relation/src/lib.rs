//! tidemill-relation
