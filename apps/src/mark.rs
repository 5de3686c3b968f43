//! Marks, and the least that an app can do to a packet's bytes.

use tidemill_packet::app::{App, Fault, Io, Reconfigured, Start};
use tidemill_packet::kernel::{Builder, Operator, Running, Width};

use crate::code;

tidemill_packet::declare! {
    /// Marks packets with a number, which travels with them and is not sent.
    app Mark {
        config MarkConfig {
            /// The mark.
            mark: u64,
        }
        ports {
            /// What is marked.
            input: Input(Either, One),
            /// The same, marked.
            output: Output(Either, One),
        }
        traits { passes, kernel }
    }
}

tidemill_packet::declare! {
    /// Adds to a byte of each packet. Packets without that byte are dropped as `too_short`.
    app Touch {
        config TouchConfig {
            /// Where the byte is, from the start of the frame.
            offset: u16 = 0,
            /// What is added, modulo 256.
            add: u8 = 1,
        }
        ports {
            /// What is touched.
            input: Input(Either, One),
            /// The same, with another byte.
            output: Output(Either, One),
        }
        traits { passes, kernel }
    }
}

/// See [`Mark::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Mark(Running);

/// See [`Touch::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Touch(Running);

impl App for Mark {
    fn new(config: MarkConfig, _: &mut Start) -> Result<Mark, Fault> {
        let mut kernel = Builder::new("Mark");
        let mark = kernel.state("mark", config.mark);
        let mark = kernel.word(mark);
        kernel.set_mark(mark);
        kernel.emit(0);
        Ok(Mark(code::running(kernel)?))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }

    fn reconfigure(&mut self, config: MarkConfig) -> Reconfigured {
        self.0.set_word("mark", config.mark);
        Reconfigured::Kept
    }
}

impl Touch {
    fn running(config: TouchConfig) -> Result<Running, Fault> {
        let mut kernel = Builder::new("Touch");
        let too_short = kernel.reason("too_short");
        let at = u32::from(config.offset);
        kernel.need(at + 1, too_short);
        let (old, by) = (kernel.load(Width::W8, at), kernel.constant(config.add.into()));
        let new = kernel.binary(Operator::Add, old, by);
        kernel.store(Width::W8, at, new);
        kernel.emit(0);
        code::running(kernel)
    }
}

impl App for Touch {
    fn new(config: TouchConfig, _: &mut Start) -> Result<Touch, Fault> {
        Touch::running(config).map(Touch)
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }

    fn reconfigure(&mut self, config: TouchConfig) -> Reconfigured {
        code::follow(&mut self.0, Touch::running(config))
    }
}
