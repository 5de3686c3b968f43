//! The code for a type of messages and all types inside, made when the type is first decoded.

use std::fmt;
use std::mem::transmute;

use tidemill_jit::build::{CallConv, signature, types};
use tidemill_jit::{Code, Level, Module, Options};

use super::super::state::{DecodeState, Frame};
use super::super::tables::Tables;
use super::context::Context;
use super::reach::Reach;
use super::records::{self, Records};
use super::serves::{Listing, NativeError, Serves};
use super::sink_calls::SinkCalls;
use super::write;
use super::writer::{Helpers, Target};
use crate::message::layout::Maps;
use crate::schema::Schema;

type Entry = unsafe extern "C" fn(*mut Context, u32) -> u32;

/// One function; see the module.
pub(in crate::decode) struct Unit {
    pub(super) tables: Tables,
    /// Whether it stores into messages by itself.
    pub(super) fills: bool,
    pub(super) entry: Entry,
    /// The nodes that it has code for, ascending.
    compiled: Box<[u32]>,
    pub(super) listing: Option<String>,
    /// Owns what `entry` points to.
    pub(super) code: Code,
    /// Owns the numbers of enums that the code points to.
    _schema: Schema,
}

impl fmt::Debug for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unit").field("compiled", &self.compiled).finish_non_exhaustive()
    }
}

/// The options of the compilation.
pub(super) fn options(listing: Listing) -> Options {
    let kept = listing == Listing::Kept;
    Options { optimise: Level::Speed, listing: kept, ..Options::named("decoder") }
}

impl Unit {
    /// The code for these nodes.
    pub(super) fn new(
        schema: &Schema,
        tables: &Tables,
        serves: &Serves,
        listing: Listing,
        reach: Reach,
    ) -> Result<Unit, NativeError> {
        let mut module = Module::new(options(listing)).map_err(NativeError::Code)?;
        let target: Box<dyn Target> = match serves {
            Serves::Sinks(wants) => Box::new(SinkCalls { wants: *wants }),
            Serves::Messages(maps, strings) => {
                let layouts = match maps {
                    Maps::Indexed => schema.layouts(),
                    Maps::Listed => schema.batch_layouts(),
                };
                let helpers = records::Helpers::import(&mut module);
                Box::new(Records { layouts, strings: *strings, helpers })
            }
        };
        let helpers = Helpers::import(&mut module);
        let parameters = [types::I64, types::I32];
        let id = module.declare("decode", signature(CallConv::SystemV, &parameters, &[types::I32]));
        module
            .define(id, |body| write::write(body, schema, tables, &*target, &reach, &helpers))
            .map_err(NativeError::Code)?;
        // SAFETY: the decoder stays within its input, and stores where its sink or the layouts of
        // its records say.
        let code = unsafe { module.finish() }.map_err(NativeError::Code)?;
        // SAFETY: the function was declared with this signature, and `code` stays beside it.
        let entry = unsafe { transmute::<*const u8, Entry>(code.address(id)) };
        let listing = code.listing(id);
        let fills = matches!(serves, Serves::Messages(..));
        let (tables, compiled) = (tables.clone(), reach.into_compiled());
        Ok(Unit { tables, fills, entry, compiled, listing, code, _schema: schema.clone() })
    }

    /// The nodes that it has code for, ascending.
    pub(super) fn compiled(&self) -> &[u32] {
        &self.compiled
    }

    /// Whether it has code for a node.
    #[inline]
    pub(super) fn covers(&self, node: u32) -> bool {
        self.compiled.binary_search(&node).is_ok()
    }

    /// Runs the code from where the walk is, and returns where it exited.
    #[inline]
    pub(super) fn execute(
        &self,
        state: &mut DecodeState,
        context: &mut Context,
        depth_max: usize,
    ) -> u32 {
        let depth = state.frames.len();
        let room = state.frames.places_mut();
        let allowed = room.len().min(depth_max).max(depth);
        let frames: *mut Frame = room.as_mut_ptr().cast();
        (context.pos, context.end) = (context.address(state.pos), context.address(state.end));
        context.seen = state.seen;
        context.top = frames.wrapping_add(depth);
        context.frames_end = frames.wrapping_add(allowed);
        // SAFETY: the code was written for these tables; `Context` has their layout; the words it
        // reads begin before `safe`, and so end on pages of the piece.
        let code = unsafe { (self.entry)(context, state.node) };
        let depth = (context.top.addr() - frames.addr()) / size_of::<Frame>();
        // SAFETY: the code wrote each frame that it pushed.
        unsafe { state.frames.set_len(depth) };
        (state.pos, state.end) = (context.place(context.pos), context.place(context.end));
        state.seen = context.seen;
        state.node = context.node as u32;
        state.next = self.tables.node(state.node).first();
        code
    }
}
