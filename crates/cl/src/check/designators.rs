//! Designators: variables, elements, characters of texts, variables seen as a type.

use tidemill_diag::Span;

use crate::ast::{self, Designator, DesignatorKind};
use crate::check::checker::Checker;
use crate::check::names::{Found, Name};
use crate::check::types::{Placed, Shape, Type};
use crate::ir::{self, Storage};
use crate::tree::{ExpressionKind, Place, PlaceKind, Statement};

impl<'a> Checker<'a> {
    /// The place that the designator names, or an error.
    pub(super) fn place(&mut self, designator: &Designator) -> Option<Placed> {
        let span = designator.span;
        match &designator.kind {
            DesignatorKind::Name(name) => match self.name(name, span, "variable")? {
                found @ (Name::Variable(..) | Name::Local(..)) => self.variable(found, span),
                Name::Constant(_) => {
                    let message = format!("`{name}` is a constant");
                    self.fail("not-a-variable", span, message, "only a variable can stand here")
                }
                Name::Procedure(_) => {
                    let message = format!("`{name}` is a procedure");
                    self.fail("not-a-variable", span, message, "only a variable can stand here")
                }
                Name::Component(_) => {
                    let message = format!("`{name}` is a type of components");
                    let help = format!("declare a variable of this type: `x: {name}`");
                    self.fail("not-a-variable", span, message, &help)
                }
            },
            DesignatorKind::Index { base, indices } => {
                let base = self.place(base)?;
                self.element(base, indices, span)
            }
            DesignatorKind::Of { base, argument } => self.seen_as(base, argument, span),
        }
    }

    /// The place of a variable or local.
    pub(super) fn variable(&mut self, name: Name, span: Span) -> Option<Placed> {
        let (kind, shape) = match name {
            Name::Variable(component, id) => {
                (PlaceKind::Variable(id), self.components[component].variables[id].shape.clone())
            }
            Name::Local(routine, id) => {
                let shape = self.routines[routine].locals[id].shape.clone();
                (PlaceKind::Local(self.routines[routine].id, id), shape)
            }
            _ => return None,
        };
        if shape == Shape::Wrong {
            self.spoil();
            return None;
        }
        Some(Placed { place: Place { kind, storage: shape.storage(), span }, shape })
    }

    /// The current routine uses something with an error elsewhere: no rules over all of it.
    pub(super) fn spoil(&mut self) {
        if let Some(routine) = self.here.routine {
            self.routines[routine].broken = true;
        }
    }

    fn element(&mut self, base: Placed, indices: &[ast::Expr], span: Span) -> Option<Placed> {
        let count = indices.len();
        let (want, element) = match &base.shape {
            Shape::Array(element, dimensions) => {
                (vec![Type::Integer; usize::from(*dimensions)], element.clone())
            }
            Shape::Collection(keys, element) => (keys.clone(), element.clone()),
            Shape::One(Type::Text) if count == 1 => return self.character(base, &indices[0], span),
            Shape::One(ty) => {
                let message = format!("{} has no elements", self.an(ty));
                let help = match ty {
                    Type::Text => "a text has one index",
                    _ => "declare a collection, `x[k: INTEGER]`, or an array, with {ARRAY}",
                };
                return self.fail("index", span, message, help);
            }
            Shape::Wrong => return None,
        };
        if want.len() != count {
            let (what, there) = match base.shape {
                Shape::Array(..) => ("array", numbered(want.len(), "dimension")),
                _ => ("collection", numbered(want.len(), "key")),
            };
            let is = if count == 1 { "is" } else { "are" };
            let given = numbered(count, "index");
            let message = format!("the {what} has {there}, but {given} {is} given");
            return self.fail("index", span, message, "");
        }
        let what = match base.shape {
            Shape::Array(..) => "the index",
            _ => "the key",
        };
        let mut values = Vec::new();
        for (index, ty) in indices.iter().zip(&want) {
            let value = self.expression(index);
            values.push(value.and_then(|it| self.fitted(it, ty, what)).map(|it| it.expr));
        }
        let indices = values.into_iter().collect::<Option<Vec<_>>>()?;
        let kind = PlaceKind::Element { base: Box::new(base.place), indices };
        let storage = Storage::One(element.lowered());
        Some(Placed { place: Place { kind, storage, span }, shape: Shape::One(element) })
    }

    fn character(&mut self, base: Placed, index: &ast::Expr, span: Span) -> Option<Placed> {
        let index = self.expression(index)?;
        let index = Box::new(self.fitted(index, &Type::Integer, "the index of a text")?.expr);
        let kind = PlaceKind::Character { text: Box::new(base.place), index };
        let storage = Storage::One(ir::Type::Character);
        Some(Placed { place: Place { kind, storage, span }, shape: Shape::One(Type::Character) })
    }

    /// `x(Type)`: the variable, as a component of that type. That it is one is tested before the
    /// statement.
    fn seen_as(
        &mut self,
        base: &Designator,
        argument: &ast::Argument,
        span: Span,
    ) -> Option<Placed> {
        let name = base.root().0;
        if !matches!(self.find(name), Found::Name(Name::Variable(..) | Name::Local(..)))
            && self.find_interface(name).is_some()
        {
            let message = "an interface of a component is no variable";
            return self.fail("not-a-variable", span, message, "only a variable can stand here");
        }
        let Placed { place, shape } = self.place(base)?;
        let Some(ty) = self.argument_type(argument) else {
            let message = "a component type is expected in the parentheses";
            return self.fail("unknown-type", span, message, "");
        };
        match &shape {
            Shape::One(from) if from.is_component() => {
                if let (Type::Component(from), Type::Component(to)) = (from, &ty)
                    && from != to
                {
                    let from = self.an(&shape_type(&shape)?);
                    let message = format!("the variable holds {from}, never {}", self.an(&ty));
                    return self.fail("type", span, message, "");
                }
            }
            _ => {
                let message = "only a component can be seen as another type";
                return self.fail("type", span, message, "conversions look like `INTEGER(x)`");
            }
        }
        let place = Place { span, ..place };
        let same = shape_type(&shape).as_ref() == Some(&ty);
        let any = matches!(&ty, Type::Any(any) if any.offers.is_empty() && any.requires.is_empty());
        if same || any {
            return Some(Placed { place, shape: Shape::One(ty) });
        }
        if let Some(test) = self.type_test(place.clone(), &ty, span) {
            let component = match ty {
                Type::Component(component) => Some(component),
                _ => None,
            };
            let (condition, place) = (test.expr, place.clone());
            self.guards.push((Statement::Guard { condition, place, component }, span));
        }
        Some(Placed { place, shape: Shape::One(ty) })
    }

    /// The place of one component, or an error; `what` it is for.
    pub(super) fn component_place(
        &mut self,
        designator: &Designator,
        what: &str,
    ) -> Option<(Place, Type)> {
        let placed = self.place(designator)?;
        match placed.shape {
            Shape::One(ty) if ty.is_component() => Some((placed.place, ty)),
            Shape::One(ty) => {
                let message = format!("{what} components, and this is {}", self.an(&ty));
                self.fail("type", designator.span, message, "")
            }
            _ => {
                let message = format!("{what} one component, and these are many");
                self.fail("type", designator.span, message, "name an element with its index")
            }
        }
    }

    /// The place as a value.
    pub(super) fn read(&mut self, placed: Placed) -> Option<crate::check::types::Typed> {
        let span = placed.place.span;
        match placed.shape {
            Shape::One(ty) => {
                Some(crate::check::types::Typed::new(ExpressionKind::Place(placed.place), ty, span))
            }
            Shape::Array(..) => {
                let help = "copy its elements one by one";
                self.fail("type", span, "an array as a whole is no value", help)
            }
            Shape::Collection(..) => {
                let help = "go through its elements with FOREACH";
                self.fail("type", span, "a collection as a whole is no value", help)
            }
            Shape::Wrong => None,
        }
    }
}

fn shape_type(shape: &Shape) -> Option<Type> {
    match shape {
        Shape::One(ty) => Some(ty.clone()),
        _ => None,
    }
}

/// `1 index`, `2 dimensions`.
pub(super) fn numbered(count: usize, what: &str) -> String {
    let ending = match (count, what) {
        (1, _) => "",
        (_, "index") => "es",
        _ => "s",
    };
    format!("{count} {what}{ending}")
}
