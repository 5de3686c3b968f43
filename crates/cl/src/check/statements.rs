//! Statements.

use tidemill_diag::Span;

use crate::ast::{self, StatementKind};
use crate::check::builtins::Builtin;
use crate::check::checker::Checker;
use crate::check::designators::numbered;
use crate::check::names::{Found, Name};
use crate::check::types::{Placed, Shape, Type};
use crate::ir::Storage;
use crate::tree::{Lock, Place, PlaceKind, Sequence, Statement};

impl<'a> Checker<'a> {
    /// Statements one after the other; those in error are left out.
    pub(super) fn sequence(&mut self, it: &ast::Sequence) -> Sequence {
        let lock = match &it.attributes {
            Some(attributes) => self.lock(Some(attributes)),
            None => None,
        };
        let known = self.known.len();
        let mut statements = Vec::new();
        for one in &it.statements {
            let outer = std::mem::take(&mut self.guards);
            let statement = self.statement(one);
            let guards = std::mem::replace(&mut self.guards, outer);
            let Some(statement) = statement else { continue };
            statements.extend(guards);
            statements.push((statement, one.span));
        }
        self.known.truncate(known);
        Sequence { lock, statements, span: it.span }
    }

    /// EXCLUSIVE or SHARED; other attributes are errors.
    pub(super) fn lock(&mut self, attributes: Option<&ast::Attributes>) -> Option<Lock> {
        let attributes = attributes?;
        self.allowed_attributes(Some(attributes), &["EXCLUSIVE", "SHARED"]);
        let exclusive = attributes.find("EXCLUSIVE");
        let shared = attributes.find("SHARED");
        match (exclusive, shared) {
            (Some(_), Some(_)) => {
                let message = "EXCLUSIVE and SHARED exclude each other";
                self.fail("unknown-attribute", attributes.span, message, "EXCLUSIVE suffices")
            }
            (Some(_), None) => Some(Lock::Exclusive),
            (None, Some(_)) => Some(Lock::Shared),
            (None, None) => None,
        }
    }

    fn statement(&mut self, it: &ast::Statement) -> Option<Statement> {
        let span = it.span;
        match &it.kind {
            StatementKind::Assign { target, value } => self.assign(target, value, span),
            StatementKind::New { target, arguments } => self.new_statement(target, arguments, span),
            StatementKind::Connect { required, offered } => self.connect(required, offered),
            StatementKind::Disconnect(port) => self.disconnect(port),
            StatementKind::Delete(target) => self.delete(target),
            StatementKind::Move { source, target } => self.move_statement(source, target),
            StatementKind::Send { to, message, arguments } => {
                self.send(to.as_ref(), message, arguments, span)
            }
            StatementKind::Receive { from, message, targets } => {
                self.receive(from.as_ref(), message, targets, span)
            }
            StatementKind::Await(condition) => {
                Some(Statement::Await(self.condition(condition, "AWAIT")?))
            }
            StatementKind::Call(call) => self.call_statement(call),
            StatementKind::Return(value) => self.return_statement(value.as_ref(), span),
            StatementKind::If { branches, otherwise } => {
                self.if_statement(branches, otherwise.as_ref())
            }
            StatementKind::While { condition, body } => {
                let condition = self.condition(condition, "WHILE");
                let body = self.under(condition.as_ref(), body);
                Some(Statement::While { condition: condition?, body })
            }
            StatementKind::Repeat { body, until } => {
                let body = self.sequence(body);
                let until = self.unguarded(|checker| checker.condition(until, "UNTIL"))?;
                Some(Statement::Repeat { body, until })
            }
            StatementKind::For { variable, from, to, by, body } => {
                self.for_statement(variable, (from, to), by.as_ref(), body)
            }
            StatementKind::ForEach { variables, of, body } => {
                self.for_each(variables, of, body, span)
            }
            StatementKind::Block(body) => Some(Statement::Block(self.sequence(body))),
        }
    }

    fn assign(
        &mut self,
        target: &ast::Designator,
        value: &ast::Expr,
        span: Span,
    ) -> Option<Statement> {
        let target = self.place(target);
        let value = self.expression(value);
        let (target, value) = (target?, value?);
        match &target.shape {
            Shape::One(ty) if ty.is_component() => {
                let help = "MOVE(source, target) hands it over";
                self.fail("type", span, "components are moved, not assigned", help)
            }
            Shape::One(ty) => {
                let value = self.fitted(value, ty, "the variable")?.expr;
                Some(Statement::Assign { target: target.place, value })
            }
            _ => {
                self.read(target)?;
                None
            }
        }
    }

    fn new_statement(
        &mut self,
        target: &ast::Designator,
        arguments: &[ast::Expr],
        span: Span,
    ) -> Option<Statement> {
        let Placed { place: target, shape } = self.place(target)?;
        match shape {
            Shape::Array(_, dimensions) => {
                let dimensions = usize::from(dimensions);
                if arguments.len() != dimensions {
                    let has = numbered(dimensions, "dimension");
                    let message = format!("the array has {has}, {} given", arguments.len());
                    return self.fail(
                        "argument-count",
                        span,
                        message,
                        "NEW takes an extent for each",
                    );
                }
                let extents: Vec<_> = arguments.iter().map(|it| self.extent(it)).collect();
                let extents = extents.into_iter().collect::<Option<_>>()?;
                Some(Statement::NewArray { target, extents })
            }
            Shape::One(Type::Text) => match arguments {
                [length] => {
                    let length = self.extent(length)?;
                    Some(Statement::NewText { target, length })
                }
                _ => {
                    let message = "NEW of a text takes its length";
                    self.fail("argument-count", span, message, "write NEW(t, length)")
                }
            },
            Shape::One(ty) if ty.is_component() => {
                let component = self.new_type(&ty, arguments, span)?;
                self.forget(&target);
                let synchronous = self.is_synchronous(&target);
                if self.here.component != Some(component) {
                    self.made.insert(component);
                }
                Some(Statement::NewComponent { target, component, synchronous })
            }
            Shape::One(ty) => {
                let message = format!(
                    "NEW is for components, arrays and texts, and this is {}",
                    self.an(&ty)
                );
                self.fail("type", span, message, "")
            }
            Shape::Collection(..) => {
                let message =
                    "the elements of a collection appear on their first write, or by NEW of each";
                self.fail("type", span, message, "write NEW(x[key]), or mark the variable {ARRAY}")
            }
            Shape::Wrong => None,
        }
    }

    /// Whether the variable that the place belongs to is marked SYNCHRONOUS.
    fn is_synchronous(&self, place: &Place) -> bool {
        let attributes = match &place.kind {
            PlaceKind::Variable(id) => self
                .here
                .component
                .and_then(|component| self.components[component].variables[*id].attributes),
            PlaceKind::Local(routine, id) => {
                let of = self.routines.iter().find(|it| it.id == *routine);
                of.and_then(|it| it.locals[*id].attributes)
            }
            PlaceKind::Element { base, .. } => return self.is_synchronous(base),
            PlaceKind::Character { .. } => None,
        };
        attributes.is_some_and(|it| it.find("SYNCHRONOUS").is_some())
    }

    fn extent(&mut self, it: &ast::Expr) -> Option<crate::tree::Expression> {
        let value = self.expression(it)?;
        Some(self.fitted(value, &Type::Integer, "a length")?.expr)
    }

    /// The component that NEW makes.
    fn new_type(
        &mut self,
        ty: &Type,
        arguments: &[ast::Expr],
        span: Span,
    ) -> Option<crate::ir::ComponentId> {
        let (named, at) = match arguments {
            [] => match ty {
                Type::Component(id) => return Some(*id),
                _ => {
                    let message = "NEW of an ANY variable needs the type of the component";
                    return self.fail("argument-count", span, message, "write NEW(x, Type)");
                }
            },
            [one] => (one.as_designator(), one.span),
            _ => {
                let message = "NEW of a component takes at most its type";
                return self.fail("argument-count", span, message, "write NEW(x) or NEW(x, Type)");
            }
        };
        let argument = named.map(ast::Argument::Designator);
        let Some(Type::Component(id)) = argument.and_then(|it| self.argument_type(&it)) else {
            return self.fail("unknown-type", at, "a component type is expected here", "");
        };
        let made = Type::Component(id);
        let fits = match ty {
            Type::Any(any) => self.lacks(&made, any),
            other if *other == made => None,
            other => Some(format!("the variable holds {}", self.an(other))),
        };
        match fits {
            None => Some(id),
            Some(why) => {
                let message = format!("{} does not fit the variable: {why}", self.an(&made));
                self.fail("type", at, message, "")
            }
        }
    }

    fn delete(&mut self, target: &ast::Designator) -> Option<Statement> {
        let span = target.span;
        let Placed { place, shape } = self.place(target)?;
        let is_element = match &place.kind {
            PlaceKind::Element { base, .. } => matches!(base.storage, Storage::Collection { .. }),
            _ => false,
        };
        match shape {
            Shape::One(ty) if !ty.is_component() && ty != Type::Text && !is_element => {
                let message = format!("this is {}, which is never deleted", self.an(&ty));
                let help = "DELETE is for components and elements of collections";
                self.fail("type", span, message, help)
            }
            _ => Some(Statement::Delete(place)),
        }
    }

    fn move_statement(
        &mut self,
        source: &ast::Designator,
        target: &ast::Designator,
    ) -> Option<Statement> {
        let from = self.component_place(source, "MOVE is for");
        let to = self.component_place(target, "MOVE is for");
        let ((from, have), (to, want)) = (from?, to?);
        let fits = match &want {
            Type::Any(any) => self.has(&have, any),
            want => *want == have,
        };
        if !fits {
            let (have_name, want_name) = (self.an(&have), self.an(&want));
            let message = format!("{have_name} does not fit a variable of {want_name}");
            let help = self.conversion_help(&have, &want);
            return self.fail("type", source.span, message, &help);
        }
        self.forget(&from);
        self.forget(&to);
        Some(Statement::Move { from, to })
    }

    fn call_statement(&mut self, call: &ast::Call) -> Option<Statement> {
        let name = call.name.text.as_str();
        match self.find(name) {
            Found::Name(Name::Procedure(id)) => {
                if self.procedures[id].ast.result.is_some() {
                    let message = format!("the result of {name} is not used");
                    return self.fail("type", call.span, message, "assign it to a variable");
                }
                Some(Statement::Call(self.call(id, &call.arguments, call.span)?))
            }
            Found::Name(_) => {
                let message = format!("`{name}` is no procedure");
                self.fail("type", call.span, message, "")
            }
            found => match Builtin::named(name) {
                Some(builtin) => self.builtin_statement(builtin, &call.arguments, call.span),
                None => {
                    if matches!(found, Found::Nothing) && self.find_interface(name).is_some() {
                        let message = format!("`{name}` is an interface, not a procedure");
                        let help = "send with `!`, receive with `?`";
                        return self.fail("type", call.span, message, help);
                    }
                    self.name(name, call.name.span, "procedure")?;
                    None
                }
            },
        }
    }

    fn return_statement(&mut self, value: Option<&ast::Expr>, span: Span) -> Option<Statement> {
        let routine = self.here.routine?;
        let wants = match self.routines[routine].id {
            crate::tree::Routine::Procedure(id) => self.procedures[id].ast.result.is_some(),
            _ => false,
        };
        let ty = self.routines[routine].result.clone();
        match (value, wants) {
            (None, false) => Some(Statement::Return(None)),
            (None, true) => {
                let message = "RETURN needs a value here";
                self.fail("type", span, message, "the procedure has a result")
            }
            (Some(_), false) => {
                let message = "nothing is returned here";
                self.fail("type", span, message, "a function is declared with `: Type`")
            }
            (Some(value), true) => {
                let value = self.expression(value);
                let (value, ty) = (value?, ty?);
                let value = self.fitted(value, &ty, "the result")?.expr;
                Some(Statement::Return(Some(value)))
            }
        }
    }

    /// The statements, where the condition holds.
    fn under(
        &mut self,
        condition: Option<&crate::tree::Expression>,
        body: &ast::Sequence,
    ) -> Sequence {
        let known = self.known.len();
        if let Some(condition) = condition {
            self.learn(condition);
        }
        let body = self.sequence(body);
        self.known.truncate(known);
        body
    }

    fn if_statement(
        &mut self,
        branches: &[ast::Branch],
        otherwise: Option<&ast::Sequence>,
    ) -> Option<Statement> {
        let mut all = Some(Vec::new());
        for (at, branch) in branches.iter().enumerate() {
            let condition = match at {
                0 => self.condition(&branch.condition, "IF"),
                _ => self.unguarded(|checker| checker.condition(&branch.condition, "IF")),
            };
            let body = self.under(condition.as_ref(), &branch.body);
            match (condition, &mut all) {
                (Some(condition), Some(all)) => all.push((condition, body)),
                _ => all = None,
            }
        }
        let otherwise = otherwise.map(|body| self.sequence(body));
        Some(Statement::If { branches: all?, otherwise })
    }

    fn for_statement(
        &mut self,
        variable: &ast::Designator,
        (from, to): (&ast::Expr, &ast::Expr),
        by: Option<&ast::Expr>,
        body: &ast::Sequence,
    ) -> Option<Statement> {
        let place = self.place(variable);
        let place = place.and_then(|placed| match &placed.shape {
            Shape::One(Type::Integer) => Some(placed.place),
            Shape::One(ty) => {
                let message = format!("the variable of FOR is an INTEGER, not {}", self.an(ty));
                self.fail("type", variable.span, message, "")
            }
            _ => {
                self.read(placed)?;
                None
            }
        });
        let mut bound = |it: &ast::Expr| {
            let value = self.expression(it)?;
            Some(self.fitted(value, &Type::Integer, "the bound of FOR")?.expr)
        };
        let (from, to) = (bound(from), bound(to));
        let by = match by {
            Some(by) => self.by(by),
            None => Some(1),
        };
        let body = self.sequence(body);
        Some(Statement::For { variable: place?, from: from?, to: to?, by: by?, body })
    }

    fn by(&mut self, by: &ast::Expr) -> Option<i64> {
        let value = self.expression(by)?;
        let value = self.fitted(value, &Type::Integer, "the step of FOR")?;
        match value.as_integer() {
            Some(0) => self.fail("constant", by.span, "the step of FOR is 0", "it would never end"),
            Some(step) => Some(step),
            None => {
                let message = "the step of FOR must be known before the program runs";
                self.fail("constant", by.span, message, "use a CONSTANT, or WHILE")
            }
        }
    }

    fn for_each(
        &mut self,
        variables: &[ast::Designator],
        of: &ast::Designator,
        body: &ast::Sequence,
        span: Span,
    ) -> Option<Statement> {
        let collection = self.place(of).and_then(|placed| match placed.shape {
            Shape::Collection(keys, _) => Some((placed.place, keys)),
            Shape::Wrong => None,
            _ => {
                let help = "an array is counted through: FOR i := 0 TO LENGTH(a) - 1";
                self.fail("type", of.span, "FOREACH goes through a collection", help)
            }
        });
        let mut places: Vec<Option<Placed>> = variables.iter().map(|it| self.place(it)).collect();
        if let Some((_, keys)) = &collection {
            if keys.len() != variables.len() {
                let has = numbered(keys.len(), "key");
                let message = format!("the collection has {has}, {} given", variables.len());
                self.fail::<()>(
                    "argument-count",
                    span,
                    message,
                    "FOREACH takes a variable for each",
                );
                places.clear();
            } else {
                for (placed, key) in places.iter_mut().zip(keys) {
                    *placed = placed.take().and_then(|it| self.key_variable(it, key));
                }
            }
        }
        let body = self.sequence(body);
        let variables: Option<Vec<_>> =
            places.into_iter().map(|it| it.map(|it| it.place)).collect();
        let (collection, _) = collection?;
        let variables = variables.filter(|it| !it.is_empty())?;
        Some(Statement::ForEach { variables, collection, body })
    }

    fn key_variable(&mut self, placed: Placed, key: &Type) -> Option<Placed> {
        match &placed.shape {
            Shape::One(ty) if ty == key => Some(placed),
            Shape::One(ty) => {
                let (key, ty) = (self.an(key), self.an(ty));
                let message = format!("the key is {key}, the variable {ty}");
                self.fail("type", placed.place.span, message, "")
            }
            _ => {
                self.read(placed)?;
                None
            }
        }
    }
}
