//! Faults: why a component failed, where, and to whom it is reported.
//!
//! A fault is noted where it happens and the component is *doomed*; the operation returns
//! "unwinding", the code returns to the scheduler, and only then is the component torn down. So
//! nothing that running code uses is freed, even if the fault was in a condition that another
//! process evaluated.

mod reason;
mod report;

pub use reason::{ANY_TYPE, Ended, Fault, Reason, Reports};
pub(crate) use report::{
    doom, halt, note_component, process_name, raise, raise_type, report_no_entry,
};
