//! Launched components: how they end, and how that is reported.

use crate::support::*;
use tidemill_proc::entry::operations as op;
use tidemill_proc::fault::Reason;
use tidemill_proc::layout::{COMPONENT_HEADER, Frame, Process};
use tidemill_proc::program::{ComponentType, Program};
use tidemill_proc::{ComponentId, Over, Paused, SendError, Worker};

code!(end(f, p, w) {
    0
});

code!(fail(f, p, w) {
    op::fault(f, p, w, Reason::Assertion as u32, 7, 0)
});

// REPEAT PASS UNTIL FALSE
code!(go_on(f, p, w) {
    op::pause(f, p, w)
});

const ENDS: u32 = 0;
const FAILS: u32 = 1;
const GOES_ON: u32 = 2;
const FAILS_LAST: u32 = 3;
const IDLE: u32 = 4;
const OFFERS: u32 = 5;

fn program() -> Program {
    let mut b = Builder::new();
    let end = b.function("BEGIN", end, 0, &[]);
    let fail = b.function("BEGIN", fail, 0, &[]);
    let go_on = b.function("BEGIN", go_on, 0, &[]);
    let interface = b.interface("Asked", Vec::new());
    let bodies = [
        (Some(end), None),
        (Some(fail), None),
        (Some(go_on), Some(end)),
        (Some(end), Some(fail)),
        (None, None),
        (Some(end), None),
    ];
    for (number, (begin, finally)) in (0..).zip(bodies) {
        let offers = (number == OFFERS).then(|| offered(interface, end));
        b.component(ComponentType {
            name: format!("Type{number}"),
            size: COMPONENT_HEADER as u32 + 8,
            offered: offers.into_iter().collect(),
            begin,
            finally,
            ..ComponentType::default()
        });
    }
    b.program
}

/// Runs until nothing is left to do; returns the reported ends.
fn rest(worker: &mut Worker) -> Vec<(ComponentId, Option<String>)> {
    let mut recorded = Vec::new();
    for _ in 0..100 {
        let paused = worker.run(100);
        while let Some(Over { component, fault }) = worker.take_over() {
            if fault.is_some() {
                worker.dismiss(component);
            }
            recorded.push((component, fault));
        }
        if paused == Paused::Waiting && !worker.is_ready() {
            break;
        }
    }
    recorded
}

#[test]
fn what_is_launched_ends_in_all_ways() {
    let (options, reports) = recording();
    let mut worker = worker_for(program(), options);
    // The embedder may still wake components.
    worker.hold();
    let why = Some("assertion failed with code 7".to_owned());
    let one = worker.launch(ENDS).expect("memory");
    assert_eq!(rest(&mut worker), [(one, None)]);
    let one = worker.launch(IDLE).expect("memory");
    assert_eq!(rest(&mut worker), [(one, None)]);
    let one = worker.launch(FAILS).expect("memory");
    assert_eq!(rest(&mut worker), [(one, why.clone()), (one, None)]);
    let one = worker.launch(FAILS_LAST).expect("memory");
    assert_eq!(rest(&mut worker), [(one, why), (one, None)]);
    let one = worker.launch(GOES_ON).expect("memory");
    assert_eq!(rest(&mut worker), []);
    // It does not test TERMINATED.
    worker.dismiss(one);
    assert_eq!(rest(&mut worker), []);
    worker.retire(one);
    assert_eq!(rest(&mut worker), [(one, None)]);
    assert_eq!(worker.launch(OFFERS), Err(SendError::Protocol));
    assert_eq!(worker.launch(99), Err(SendError::Protocol));
    assert_eq!(reports.borrow().faults.len(), 2);
    assert!(reports.borrow().faults.iter().all(|fault| !fault.entry));
    // Components that exist at the end are released with the rest.
    worker.launch(GOES_ON).expect("memory");
    worker.run(10);
    worker.clear();
    assert_empty(&worker);
}
