//! Tuples of the command line and of scripts, matched with a program.

use std::fmt;

use tidemill_diag::nearest;
use tidemill_overlog::fleet::Extra;
use tidemill_overlog::is_predeclared;
use tidemill_overlog::net::address::is_address;
use tidemill_overlog::node::{Identity, node_id};
use tidemill_relation::expr::{Expr, Param};
use tidemill_relation::plan::{Plan, RelationId};
use tidemill_relation::table::Key;
use tidemill_relation::text::{Pattern, Term};
use tidemill_relation::{OwnedValue, Value};

/// Why a tuple does not fit a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unsuited {
    /// The program has no such relation.
    Unknown {
        /// The name.
        name: String,
        /// A similar name in the program.
        similar: Option<String>,
    },
    /// The relation has another number of columns.
    Arity {
        /// The name.
        name: String,
        /// The number of columns of the relation.
        expected: usize,
        /// The number of given columns.
        given: usize,
    },
    /// Its rows are not stored, so there is nothing to compare with.
    NoTable {
        /// The name.
        name: String,
    },
    /// `_` in a place where a value is required.
    Wildcard,
    /// `_` in a column of the key of a row to be deleted.
    WildcardInKey,
    /// Only the system writes that table.
    System {
        /// The relation.
        name: String,
    },
    /// The tuple is located at another node than its destination.
    Elsewhere {
        /// The destination.
        node: String,
    },
}

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsuited::Unknown { name, similar } => {
                write!(f, "the program has no relation `{name}`")?;
                match similar {
                    Some(similar) => write!(f, "; is `{similar}` meant?"),
                    None => Ok(()),
                }
            }
            Unsuited::Arity { name, expected, given } => {
                write!(f, "`{name}` has {expected} columns, location included, not {given}")
            }
            Unsuited::NoTable { name } => {
                write!(f, "`{name}` is an event, whose tuples do not stay")
            }
            Unsuited::System { name } => {
                write!(f, "`{name}` is a table of the system, which alone writes it")
            }
            Unsuited::WildcardInKey => {
                f.write_str("`_` stands for a column of the key, which says what to delete")
            }
            Unsuited::Wildcard => f.write_str("expected a value, found `_`"),
            Unsuited::Elsewhere { node } => {
                write!(f, "the tuple is not located at {node}; write `NODE` for the node's address")
            }
        }
    }
}

impl std::error::Error for Unsuited {}

impl Unsuited {
    /// What to write instead.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Unsuited::WildcardInKey => Some("give the columns of the key and the location a value"),
            Unsuited::NoTable { .. } => Some("name a table: a relation with a `materialize`"),
            _ => None,
        }
    }
}

/// The relation of a pattern, if it has the same number of columns.
pub fn relation_of(plan: &Plan, pattern: &Pattern) -> Result<RelationId, Unsuited> {
    let name = pattern.name.trim_start_matches("::");
    // Predeclared tables are hidden from schemas, and visible to queries, facts and expectations.
    let visible = |id: &RelationId| is_predeclared(name) || !plan.relation(*id).hidden;
    let Some(id) = plan.find(name).filter(visible) else {
        let names = plan.relations.iter().filter(|one| !one.hidden).map(|one| one.name.as_str());
        let similar = nearest(name, names).map(str::to_owned);
        return Err(Unsuited::Unknown { name: name.to_owned(), similar });
    };
    let expected = plan.relation(id).arity();
    match pattern.terms.len() {
        given if plan.relation(id).takes(given) => Ok(id),
        given => Err(Unsuited::Arity { name: name.to_owned(), expected, given }),
    }
}

/// The relation of a pattern whose tuple is to be inserted.
pub fn writable_of(plan: &Plan, pattern: &Pattern) -> Result<RelationId, Unsuited> {
    let relation = relation_of(plan, pattern)?;
    let name = &plan.relation(relation).name;
    if is_of_the_system(name) { Err(Unsuited::System { name: name.clone() }) } else { Ok(relation) }
}

fn is_of_the_system(relation: &str) -> bool {
    relation.starts_with("sys::") || relation.starts_with("sim::")
}

/// The location column of a pattern: the one marked with `@`, else that of its relation.
pub fn location_of(plan: &Plan, relation: RelationId, pattern: &Pattern) -> u32 {
    pattern.location.unwrap_or(plan.relation(relation).location)
}

/// The columns of a pattern as expressions without registers; `None` if one is `_`.
pub fn expressions(pattern: &Pattern) -> Option<Vec<Expr>> {
    let expression = |term: &Term| match term {
        Term::Value(value) => Some(Expr::Const(value.clone())),
        Term::Param(param) => Some(Expr::Param(*param)),
        Term::Any | Term::Variable(_) => None,
    };
    pattern.terms.iter().map(expression).collect()
}

/// Where a tuple is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location<'t> {
    /// At each node, or at the landmark.
    AtNodes,
    /// At the node of an address.
    At(&'t str),
    /// Its location is no address.
    Nowhere,
}

/// Where a tuple without registers is.
pub fn location(tuple: &Extra) -> Location<'_> {
    match tuple.columns.get(tuple.location as usize) {
        Some(Expr::Param(Param::Node | Param::Landmark)) => Location::AtNodes,
        Some(Expr::Const(value)) => match value.get() {
            Value::Str(text) if is_address(text) => Location::At(text),
            _ => Location::Nowhere,
        },
        _ => Location::Nowhere,
    }
}

/// The values of a node's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'i>(pub &'i Identity);

impl<'i> Parameters<'i> {
    /// The value of a parameter.
    pub fn get(self, param: Param) -> Value<'i> {
        let Parameters(identity) = self;
        match param {
            Param::Node => Value::Str(&identity.address),
            Param::NodeIndex => Value::Int(identity.index.into()),
            Param::NodeCount => Value::Int(identity.count.into()),
            Param::NodeId => Value::Id(node_id(&identity.address)),
            Param::Landmark => Value::Str(&identity.landmark),
        }
    }
}

/// The columns of a tuple of a relation.
pub type Bound = (RelationId, Vec<OwnedValue>);

/// The tuple of a pattern without `_` at a node, which must be its location.
pub fn bind(plan: &Plan, pattern: &Pattern, node: &Identity) -> Result<Bound, Unsuited> {
    let relation = writable_of(plan, pattern)?;
    let columns = pattern.bind(|param| Parameters(node).get(param)).ok_or(Unsuited::Wildcard)?;
    located(plan, pattern, node, (relation, columns))
}

/// The same for a row to be deleted: columns that its key does not have may be `_`.
pub fn bind_deleted(plan: &Plan, pattern: &Pattern, node: &Identity) -> Result<Bound, Unsuited> {
    let relation = writable_of(plan, pattern)?;
    let Some(spec) = plan.relation(relation).table() else {
        return Err(Unsuited::NoTable { name: plan.relation(relation).name.clone() });
    };
    let location = location_of(plan, relation, pattern);
    let is_free = |column: u32| match &spec.key {
        Key::Columns(key) => column != location && !key.contains(&column),
        Key::Bag => false,
    };
    let mut given = pattern.clone();
    for (column, term) in (0..).zip(&mut given.terms) {
        if *term == Term::Any && is_free(column) {
            *term = Term::Value(OwnedValue::new(Value::Null));
        }
    }
    let columns = given.bind(|param| Parameters(node).get(param)).ok_or(Unsuited::WildcardInKey)?;
    located(plan, pattern, node, (relation, columns))
}

/// The tuple, if it is located at a node.
fn located(
    plan: &Plan,
    pattern: &Pattern,
    node: &Identity,
    (relation, columns): Bound,
) -> Result<Bound, Unsuited> {
    let location = location_of(plan, relation, pattern) as usize;
    let here = columns.get(location).and_then(|column| column.get().as_str());
    if here == Some(node.address.as_str()) {
        Ok((relation, columns))
    } else {
        Err(Unsuited::Elsewhere { node: node.address.clone() })
    }
}

#[cfg(test)]
mod tests {
    use tidemill_relation::text::parse_pattern;

    use super::*;

    fn plan() -> Plan {
        tidemill_relation::plan::parse(
            "relation p0 \"lookup\" at 0 (string, id)\n\
             relation p1 \"succ\" at 0 (string, string)\n  table key(0)\n",
        )
        .expect("a plan")
    }

    fn node() -> Identity {
        let address = "n3:1".to_owned();
        Identity { address, index: 3, count: 5, landmark: "n0:1".to_owned() }
    }

    fn bound(text: &str) -> Result<String, String> {
        let pattern = parse_pattern(text).expect("a pattern");
        let (_, columns) = bind(&plan(), &pattern, &node()).map_err(|wrong| wrong.to_string())?;
        Ok(columns.iter().map(|column| format!("{column} ")).collect())
    }

    #[test]
    fn parameters_are_those_of_the_node() {
        assert_eq!(bound("succ(NODE, LANDMARK)"), Ok("\"n3:1\" \"n0:1\" ".to_owned()));
        let id = node_id("n3:1");
        assert_eq!(bound("succ(1, @NODE)"), Ok("1 \"n3:1\" ".to_owned()));
        assert_eq!(bound("::lookup(\"n3:1\", NODE_ID)"), Ok(format!("\"n3:1\" {id} ")));
    }

    #[test]
    fn unsuited_tuples_are_reported() {
        let wrong = |text| bound(text).expect_err("it does not suit");
        assert_eq!(wrong("suc(NODE, 1)"), "the program has no relation `suc`; is `succ` meant?");
        assert_eq!(wrong("succ(NODE)"), "`succ` has 2 columns, location included, not 1");
        assert_eq!(wrong("succ(NODE, _)"), "expected a value, found `_`");
        assert!(wrong("succ(\"n1:1\", 2)").starts_with("the tuple is not located at n3:1"));
    }
}
