//! tidemill-bench

fn main() {}
