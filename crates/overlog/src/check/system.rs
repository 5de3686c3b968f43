//! The relations of the system, which programs need not declare: those that it fills itself and
//! programs may read, and those that it reads.

use tidemill_relation::TypeSet;

/// A table of the system; the first column is the location.
pub(crate) struct SystemTable {
    pub name: &'static str,
    pub columns: &'static [TypeSet],
    /// Columns (from 0) of the primary key.
    pub key: &'static [u32],
}

impl SystemTable {
    /// Whether it holds what traces record: a program may declare its lifetime and size.
    pub fn is_recorded(&self) -> bool {
        [RULE_EXEC, TUPLE, CONTENT].contains(&self.name)
    }

    /// Whether the rules of a program fill it, and the system reads it.
    pub fn is_written_by_rules(&self) -> bool {
        self.name == FLOW_CONFIG || self.name == PROGRAM_RULES
    }

    /// Whether it has rows at any time, also at a node that does not keep it.
    pub fn is_of_now(&self) -> bool {
        self.is_sampled() || self.name == PEER
    }

    /// Whether the copy of a node that keeps it may lack present counts and measurements.
    pub fn is_behind(&self) -> bool {
        [COUNTER, RULE, APP].contains(&self.name)
    }

    /// Whether its rows are sampled, and the differences passed to nodes that read it.
    pub fn is_sampled(&self) -> bool {
        SAMPLED.contains(&self.name)
    }
}

/// The executions of traced rules: location, rule, the tuples that came in and went out, whether
/// the latter went to another node, when either happened, and what the first one was: `"EVENT"` or
/// `"PRECOND"`.
pub(crate) const RULE_EXEC: &str = "sys::ruleExec";

/// The senders of tuples: location, id, the sending node, and their id there.
pub(crate) const TUPLE: &str = "sys::tuple";

/// The contents of recorded tuples: location, id, relation, columns.
pub(crate) const CONTENT: &str = "sys::content";

/// The most rows of each of these tables, unless the program declares another size.
pub(crate) const RECORDS_MAX: u64 = 100_000;

/// The rules of the program and the declarations of its tables: location, name of the rule or
/// table, place in its file, text.
pub(crate) const SOURCE: &str = "sys::source";

/// The counters of the process: most change all the time and are rarely queried.
pub(crate) const COUNTER: &str = "sys::counter";

/// Rules, with what they cost.
pub(crate) const RULE: &str = "sys::rule";

/// The apps of the graph, with the time that they take.
pub(crate) const APP: &str = "sys::app";

/// The node's peers.
pub(crate) const PEER: &str = "sys::peer";

/// Settings of packet apps: app, key, value.
pub(crate) const FLOW_CONFIG: &str = "flow::config";

/// Rules that are installed: name, text.
pub(crate) const PROGRAM_RULES: &str = "program::rules";

/// The tables whose rows are sampled.
const SAMPLED: [&str; 13] = [
    APP,
    "sys::channel",
    "sys::component",
    COUNTER,
    "sys::link",
    "sys::log",
    "sys::pore",
    "sys::process",
    "sys::program",
    RULE,
    SOURCE,
    "sys::table",
    "sys::turn",
];

const TEXT: TypeSet = TypeSet::TEXT;
const INT: TypeSet = TypeSet::INT;
const ID: TypeSet = TypeSet::ID;
const TIME: TypeSet = TypeSet::TIME;
const BOOL: TypeSet = TypeSet::BOOL;
const NUMBER: TypeSet = TypeSet::NUMBER;

const RULE_EXEC_COLUMNS: &[TypeSet] = &[TEXT, TEXT, INT, INT, BOOL, TIME, TIME, TEXT];

/// All of them, by name.
pub(crate) const TABLES: &[SystemTable] = &[
    table(FLOW_CONFIG, &[TEXT, TEXT, TEXT, TypeSet::ANY], &[1, 2]),
    table(PROGRAM_RULES, &[TEXT, TEXT, TEXT], &[1]),
    table(APP, &[TEXT, TEXT, TEXT, TEXT, INT, INT, INT], &[1]),
    table("sys::channel", &[TEXT, TEXT, TEXT, TEXT, INT, INT], &[1, 2, 3]),
    table("sys::component", &[TEXT, TEXT, TEXT, TEXT, INT, INT], &[1]),
    table(CONTENT, &[TEXT, INT, TEXT, TypeSet::ANY], &[1]),
    table(COUNTER, &[TEXT, TEXT, INT], &[1]),
    table("sys::link", &[TEXT, TEXT, TEXT, INT, INT, INT, INT], &[1, 2]),
    table("sys::log", &[TEXT, TIME, TEXT, TEXT, TEXT, INT, TEXT], &[0, 1, 2, 3, 4, 5, 6]),
    table(PEER, &[TEXT, TEXT, TEXT, TIME, TEXT], &[1]),
    table("sys::pore", &[TEXT, TEXT, TEXT, TEXT, BOOL, BOOL], &[1]),
    table("sys::process", &[TEXT, TEXT, INT, TEXT, TIME, INT], &[1, 2]),
    table("sys::program", &[TEXT, TEXT, TEXT, TIME], &[1]),
    table(RULE, &[TEXT, TEXT, INT, INT, INT], &[1]),
    table(SOURCE, &[TEXT, TEXT, TEXT, TEXT], &[1, 2]),
    table(RULE_EXEC, RULE_EXEC_COLUMNS, &[0, 1, 2, 3, 4, 5, 6, 7]),
    table("sys::table", &[TEXT, TEXT, INT, INT, INT, INT, INT], &[1]),
    table(TUPLE, &[TEXT, INT, TEXT, INT], &[1, 2, 3]),
    table("sys::turn", &[TEXT, TEXT, TEXT, INT, INT, INT], &[1, 2]),
    table("sim::node", &[TEXT, TEXT, ID, BOOL], &[1]),
];

const fn table(
    name: &'static str,
    columns: &'static [TypeSet],
    key: &'static [u32],
) -> SystemTable {
    SystemTable { name, columns, key }
}

/// The timer of rule bodies: location, random integer, period, and the count where one is given.
pub(crate) const PERIODIC: &str = "periodic";

/// The columns of [`PERIODIC`], with the optional last one.
pub(crate) const PERIODIC_COLUMNS: [TypeSet; 4] = [TEXT, INT, NUMBER, NUMBER];

/// The name under which the system knows a relation: old names are aliases.
pub(crate) fn canonical(name: &str) -> &str {
    match name {
        "ruleExecTable" => RULE_EXEC,
        "tupleTable" => TUPLE,
        name => name,
    }
}

/// Whether a table of this name exists without a declaration.
pub fn is_predeclared(name: &str) -> bool {
    find(name).is_some()
}

/// The system table of this name.
pub(crate) fn find(name: &str) -> Option<&'static SystemTable> {
    let name = canonical(name);
    TABLES.iter().find(|table| table.name == name)
}
