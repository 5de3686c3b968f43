//! What goes into an engine, and what comes out.

/// Facts as pairs, by relation.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The edges; for points-to, `assign(to, from)`.
    pub edges: Vec<(i32, i32)>,
    /// Points-to: `addressOf(variable, object)`.
    pub address_of: Vec<(i32, i32)>,
    /// Points-to: `load(to, pointer)`.
    pub load: Vec<(i32, i32)>,
    /// Points-to: `store(pointer, from)`.
    pub store: Vec<(i32, i32)>,
}

/// What one engine found: tuples, and bytes per tuple where it knows them.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub tuples: usize,
    pub bytes: Option<usize>,
}
