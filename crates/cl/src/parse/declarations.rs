//! Components, interfaces, bodies and types.

use super::Parser;
use super::recovery::Parsed;
use crate::ast::*;
use crate::lex::{TokenKind, value};
use tidemill_diag::Span;

const COMPONENT: &str = "COMPONENT Name OFFERS A, B REQUIRES C; ... END Name;";
const INTERFACE: &str = "INTERFACE Name; IN Ask(x: INTEGER) OUT Answer(y: INTEGER) END Name;";
const PROCEDURE: &str = "PROCEDURE Name(a: T; VARIABLE b: T): T; BEGIN ... END Name;";
const IMPLEMENTATION: &str = "IMPLEMENTATION Interface; BEGIN ... END Interface;";
const CONSTANT: &str = "CONSTANT a = 1; b = 2;";
const VARIABLE: &str = "VARIABLE a, b: INTEGER; c[i: INTEGER]: Node; d[i: INTEGER]: REAL {ARRAY};";
const LIMITS: &str = "limits look like `[2]`, `[1..2]` or `[1..*]`";
const ATTRIBUTES: &str = "attributes look like `{EXCLUSIVE}`";
const ANY: &str = "ANY(OfferedA, OfferedB | RequiredC)";

/// What has declarations, and after them statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Component,
    Procedure,
    Implementation,
}

/// The contents between the head of a [`Scope`] and its END.
#[derive(Default)]
struct Body {
    declarations: Vec<Declaration>,
    /// After BEGIN, ACTIVITY and FINALLY.
    sections: [Option<Sequence>; 3],
    /// The wrong order has been reported.
    misplaced: bool,
}

const SECTIONS: [TokenKind; 3] = [TokenKind::Begin, TokenKind::Activity, TokenKind::Finally];

impl Parser<'_> {
    /// Components and interfaces to the end of the file.
    pub(super) fn file(&mut self) -> Vec<Definition> {
        let mut definitions = Vec::new();
        loop {
            self.correct_declaration();
            match self.kind() {
                TokenKind::End => return definitions,
                TokenKind::Component => {
                    definitions.extend(self.component().map(Definition::Component));
                }
                TokenKind::Interface => {
                    definitions.extend(self.interface().map(Definition::Interface));
                }
                TokenKind::Semicolon => self.next(),
                _ => self.skip_outside(),
            }
        }
    }

    fn skip_outside(&mut self) {
        let found = self.kind().describe(self.slice());
        let message = format!("expected COMPONENT or INTERFACE, found {found}");
        self.complain(self.error("unexpected-token", message).help(COMPONENT));
        let starts = [TokenKind::Component, TokenKind::Interface, TokenKind::End];
        while !self.is_one_of(&starts) {
            self.next();
        }
    }

    /// A keyword of a declaration or section in lower case, which can be nothing else here.
    fn correct_declaration(&mut self) {
        use TokenKind::{Colon, Comma, Equal, LBracket};
        self.correct_short_form();
        let Some(keyword) = self.lower_case_keyword() else { return };
        let named = [Colon, Comma, Equal, LBracket].contains(&self.ahead(1));
        let fits = keyword == TokenKind::KeywordEnd || SECTIONS.contains(&keyword) || {
            use TokenKind::{Component, Constant, Implementation, Interface, Procedure, Variable};
            [Component, Constant, Implementation, Interface, Procedure, Variable].contains(&keyword)
        };
        if fits && !named {
            self.correct_case(keyword);
        }
    }

    fn component(&mut self) -> Option<Component> {
        self.definition(|it, start| {
            it.next();
            let attributes = it.attributes()?;
            let name = it.declared_name("the name of the component")?;
            it.opened(&name.text, it.since(start));
            let offers = it.offered(TokenKind::Offers);
            let requires = it.offered(TokenKind::Requires);
            it.head_end("head of the component");
            let body = it.body(Scope::Component);
            it.close("component");
            let [begin, activity, finally] = body.sections;
            if name.text.is_empty() {
                return Ok(None);
            }
            let (declarations, span) = (body.declarations, it.since(start));
            Ok(Some(Component {
                attributes,
                name,
                offers,
                requires,
                declarations,
                begin,
                activity,
                finally,
                span,
            }))
        })
    }

    /// Runs `part`, one level deeper, on something that ends with `END name;`. It yields nothing if
    /// the name is missing: then it was read for what else is wrong.
    fn definition<T>(
        &mut self,
        part: impl FnOnce(&mut Self, Span) -> Parsed<Option<T>>,
    ) -> Option<T> {
        let (start, from, open) = (self.span(), self.at, self.open.len());
        let done = self.nested(|it| part(it, start));
        if done.is_err() {
            self.open.truncate(open);
            if self.at == from {
                // Too deep: step over the keyword.
                self.next();
            }
            self.skip_declaration(self.at);
            self.eat(TokenKind::Semicolon);
        }
        done.ok().flatten()
    }

    /// The `;` after a head, and before it what should not be there.
    fn head_end(&mut self, what: &str) {
        if !self.is(TokenKind::Semicolon) && !self.at_declaration() && !self.is(TokenKind::Begin) {
            let found = self.kind().describe(self.slice());
            let message = format!("expected `;` after the {what}, found {found}");
            self.complain(self.error("unexpected-token", message));
            self.skip_declaration(self.at);
            self.eat(TokenKind::Semicolon);
        } else {
            self.semicolon(what);
        }
    }

    /// `OFFERS` or `REQUIRES` and what follows. A wrong one is empty.
    fn offered(&mut self, keyword: TokenKind) -> Vec<InterfaceDeclaration> {
        if self.eat(keyword) || self.eat_lower_case(keyword) {
            self.interface_declarations().unwrap_or_default()
        } else {
            Vec::new()
        }
    }

    pub(super) fn interface_declarations(&mut self) -> Parsed<Vec<InterfaceDeclaration>> {
        self.list(Self::interface_declaration)
    }

    fn interface_declaration(&mut self) -> Parsed<InterfaceDeclaration> {
        let name = self.ident("the name of an interface")?;
        let start = self.span();
        let (mut low, mut high, mut limits) = (1, Some(1), None);
        if self.eat(TokenKind::LBracket) {
            low = self.limit()?;
            high = Some(low);
            if self.eat(TokenKind::DotDot) {
                high = if self.eat(TokenKind::Star) { None } else { Some(self.limit()?) };
            }
            self.expect(TokenKind::RBracket, LIMITS)?;
            limits = Some(self.since(start));
        }
        let span = self.since(name.span);
        Ok(InterfaceDeclaration { name, low, high, limits, span })
    }

    fn limit(&mut self) -> Parsed<u64> {
        if !self.is(TokenKind::Integer) {
            return self.expected("a number", LIMITS);
        }
        let limit = value::integer(self.slice());
        self.next();
        Ok(limit)
    }

    pub(super) fn attributes(&mut self) -> Parsed<Option<Attributes>> {
        let start = self.span();
        if !self.eat(TokenKind::LBrace) {
            return Ok(None);
        }
        let names = self.list(|it| it.ident("an attribute"))?;
        self.expect(TokenKind::RBrace, ATTRIBUTES)?;
        Ok(Some(Attributes { names, span: self.since(start) }))
    }

    fn interface(&mut self) -> Option<Interface> {
        self.definition(|it, start| {
            it.next();
            let name = it.declared_name("the name of the interface")?;
            it.opened(&name.text, it.since(start));
            it.head_end("head of the interface");
            let protocol = if it.is(TokenKind::KeywordEnd) { None } else { it.whole_protocol() };
            it.close("interface");
            if name.text.is_empty() {
                return Ok(None);
            }
            Ok(Some(Interface { name, protocol, span: it.since(start) }))
        })
    }

    /// The protocol of an interface; after an error, parsing continues at its END.
    fn whole_protocol(&mut self) -> Option<Protocol> {
        let protocol = self.protocol().and_then(|protocol| {
            if self.is(TokenKind::KeywordEnd)
                || self.lower_case_keyword() == Some(TokenKind::KeywordEnd)
                || self.at_declaration()
                || self.is(TokenKind::End)
            {
                return Ok(protocol);
            }
            self.expected("IN, OUT or END", INTERFACE)
        });
        if protocol.is_err() {
            while !self.at_sequence_end() {
                self.next();
            }
        }
        protocol.ok()
    }

    fn protocol(&mut self) -> Parsed<Protocol> {
        let start = self.span();
        let mut terms = vec![self.protocol_term()?];
        while self.eat(TokenKind::Bar) {
            terms.push(self.protocol_term()?);
        }
        Ok(Protocol { terms, span: self.since(start) })
    }

    fn protocol_term(&mut self) -> Parsed<ProtocolTerm> {
        let start = self.span();
        let mut factors = Vec::new();
        loop {
            let first = self.span();
            let factor = match self.kind() {
                TokenKind::In | TokenKind::Out => ProtocolFactor::Message(self.message()?),
                TokenKind::LBracket => {
                    let inner = self.enclosed(TokenKind::RBracket)?;
                    ProtocolFactor::Optional(inner, self.since(first))
                }
                TokenKind::LBrace => {
                    let inner = self.enclosed(TokenKind::RBrace)?;
                    ProtocolFactor::Repeated(inner, self.since(first))
                }
                TokenKind::LParen => {
                    let inner = self.enclosed(TokenKind::RParen)?;
                    ProtocolFactor::Group(inner, self.since(first))
                }
                _ => match self.lower_case_keyword() {
                    Some(keyword @ (TokenKind::In | TokenKind::Out)) => {
                        self.correct_case(keyword);
                        continue;
                    }
                    _ if factors.is_empty() => {
                        return self.expected("a message, such as `IN Name`", INTERFACE);
                    }
                    _ => break,
                },
            };
            factors.push(factor);
        }
        Ok(ProtocolTerm { factors, span: self.since(start) })
    }

    /// A protocol between brackets, of which the next token is the first.
    fn enclosed(&mut self, close: TokenKind) -> Parsed<Protocol> {
        self.next();
        let inner = self.nested(Self::protocol)?;
        self.expect(close, INTERFACE)?;
        Ok(inner)
    }

    fn message(&mut self) -> Parsed<Message> {
        let start = self.span();
        let direction = if self.is(TokenKind::In) { Direction::In } else { Direction::Out };
        self.next();
        let name = self.ident("the name of a message")?;
        let mut parameters = Vec::new();
        // A group may follow the message; parameters begin with a name.
        let inside = self.ahead(1);
        if self.is(TokenKind::LParen) && matches!(inside, TokenKind::Ident | TokenKind::Variable) {
            self.next();
            parameters = self.parameter_sections(INTERFACE)?;
            self.expect(TokenKind::RParen, INTERFACE)?;
        } else if self.is(TokenKind::LParen) && self.ahead(1) == TokenKind::RParen {
            self.next();
            self.next();
        }
        Ok(Message { direction, name, parameters, span: self.since(start) })
    }

    /// Sections with `;` between them. `form` shows VARIABLE where it is allowed before one.
    fn parameter_sections(&mut self, form: &str) -> Parsed<Vec<Parameters>> {
        let mut sections = vec![self.parameters(form)?];
        while self.eat(TokenKind::Semicolon) {
            sections.push(self.parameters(form)?);
        }
        Ok(sections)
    }

    fn parameters(&mut self, form: &str) -> Parsed<Parameters> {
        let start = self.span();
        let mut passing = Passing::Value;
        self.correct_short_form();
        if self.is(TokenKind::Variable) {
            if form != PROCEDURE {
                let error = self.error("misplaced-variable", "only procedures take variables");
                self.complain(error.help("leave out VARIABLE: data is copied"));
            } else {
                passing = Passing::Variable;
            }
            self.next();
        }
        let names = self.list(|it| it.ident("a name"))?;
        self.expect(TokenKind::Colon, form)?;
        let ty = self.ty()?;
        Ok(Parameters { passing, names, ty, span: self.since(start) })
    }

    /// Declarations and sections, up to END or where one is missing.
    fn body(&mut self, place: Scope) -> Body {
        let mut body = Body::default();
        loop {
            self.correct_declaration();
            let ended = body.sections.iter().any(Option::is_some);
            match self.kind() {
                TokenKind::End | TokenKind::KeywordEnd => return body,
                TokenKind::Begin | TokenKind::Activity | TokenKind::Finally => {
                    if !self.section(place, &mut body) {
                        return body;
                    }
                }
                _ if self.at_declaration() => {
                    // After the statements of a procedure its END is missing, not its place.
                    let outer = matches!(self.kind(), TokenKind::Component | TokenKind::Interface);
                    if ended && (place != Scope::Component || outer) {
                        return body;
                    }
                    if ended && !std::mem::replace(&mut body.misplaced, true) {
                        let message = "declarations come before the statements";
                        let error = self.error("misplaced-declaration", message);
                        self.complain(error.help("move it to before BEGIN"));
                    }
                    self.declaration(place, &mut body.declarations);
                }
                TokenKind::Semicolon => self.next(),
                _ => self.stray_in_body(ended, &mut body),
            }
        }
    }

    /// One of BEGIN, ACTIVITY and FINALLY; false if it is not for this body.
    fn section(&mut self, place: Scope, body: &mut Body) -> bool {
        let which = SECTIONS.iter().position(|it| self.is(*it)).unwrap_or(0);
        if place != Scope::Component && which > 0 {
            let begun = body.sections[0].is_some();
            if begun && self.open.len() > 1 {
                return false;
            }
            let message = format!("only components have {}", self.slice());
            self.complain(self.error("misplaced-section", message));
        } else if body.sections[which].is_some() {
            let message = format!("there is another {} already", self.slice());
            self.complain(self.error("misplaced-section", message));
        } else if body.sections[which..].iter().any(Option::is_some) {
            let error = self.error("misplaced-section", "the sections are out of order");
            self.complain(error.help("first BEGIN, then ACTIVITY, then FINALLY"));
        }
        self.next();
        let sequence = self.sequence();
        body.sections[which].get_or_insert(sequence);
        true
    }

    /// Something that is neither declaration nor section: statements without BEGIN, or noise.
    fn stray_in_body(&mut self, ended: bool, body: &mut Body) {
        let statement = self.at_statement_keyword() || self.is(TokenKind::Ident);
        if statement && !ended {
            let found = self.kind().describe(self.slice());
            let message = format!("expected a declaration, BEGIN or END, found {found}");
            let help = "statements come after BEGIN";
            self.complain(self.error("missing-begin", message).help(help));
            let sequence = self.sequence();
            body.sections[0].get_or_insert(sequence);
            body.misplaced = true;
            return;
        }
        let help = "declarations begin with CONSTANT, VARIABLE, PROCEDURE and the like";
        let _ = self.expected::<()>("a declaration, BEGIN or END", help);
        self.next();
        while !self.at_sequence_end() && !self.is(TokenKind::Begin) {
            self.next();
        }
        // No enclosing rule can use these either.
        if self.is_one_of(&[TokenKind::Else, TokenKind::Elsif, TokenKind::Elseif, TokenKind::Until])
        {
            self.next();
        }
    }

    fn declaration(&mut self, place: Scope, declarations: &mut Vec<Declaration>) {
        match self.kind() {
            TokenKind::Component => {
                declarations.extend(self.component().map(Declaration::Component));
            }
            TokenKind::Interface => {
                declarations.extend(self.interface().map(Declaration::Interface));
            }
            TokenKind::Procedure => {
                declarations.extend(self.procedure().map(Declaration::Procedure));
            }
            TokenKind::Constant => self.constants(declarations),
            TokenKind::Variable => self.variable_section(declarations),
            _ => {
                if place != Scope::Component {
                    let message = "only components contain implementations";
                    self.complain(self.error("misplaced-declaration", message));
                }
                let implementation = self.implementation();
                if place == Scope::Component {
                    declarations.extend(implementation.map(Declaration::Implementation));
                }
            }
        }
    }

    /// Names and their types or values, after CONSTANT or VARIABLE.
    fn entries(
        &mut self,
        declarations: &mut Vec<Declaration>,
        mut entry: impl FnMut(&mut Self) -> Parsed<Declaration>,
    ) {
        let section = self.kind();
        self.next();
        let first = self.at;
        use TokenKind::{Assign, Exclamation, KeywordEnd, LParen, Question, Semicolon};
        loop {
            self.correct_declaration();
            let from = self.at;
            if !self.is(TokenKind::Ident) {
                let ends = self.at_sequence_end() || self.at_statement_keyword();
                if ends || self.is(Semicolon) {
                    return;
                }
                let _ = self.expected::<()>("a name", "");
                self.skip_declaration(from);
                self.eat(Semicolon);
                continue;
            }
            // Statements without BEGIN are for the body to find.
            let statement = [LParen, Exclamation, Question, Semicolon, KeywordEnd];
            let follows = self.ahead(1);
            let assigned = section == TokenKind::Variable && follows == Assign;
            if self.at > first && (assigned || statement.contains(&follows)) {
                return;
            }
            match entry(self) {
                Ok(declaration) => declarations.push(declaration),
                Err(_) => {
                    self.skip_declaration(from);
                    self.eat(Semicolon);
                }
            }
        }
    }

    fn constants(&mut self, declarations: &mut Vec<Declaration>) {
        self.entries(declarations, |it| {
            let name = it.ident("the name of a constant")?;
            if it.is(TokenKind::Assign) || it.is(TokenKind::Colon) {
                let error = it.error("assign-for-equal", "a constant is not assigned");
                it.complain(error.help("write `=`"));
                it.next();
            } else {
                it.expect(TokenKind::Equal, CONSTANT)?;
            }
            let value = it.recovered_expr();
            it.semicolon("constant");
            let span = it.since(name.span);
            Ok(Declaration::Constant(Constant { name, value, span }))
        });
    }

    /// An expression that ends with `;`, or an error node.
    fn recovered_expr(&mut self) -> Expr {
        let (start, from) = (self.span(), self.at);
        self.expr().unwrap_or_else(|_| {
            self.skip_declaration(from);
            Expr { kind: ExprKind::Error, span: start }
        })
    }

    fn variable_section(&mut self, declarations: &mut Vec<Declaration>) {
        self.entries(declarations, |it| {
            let start = it.span();
            let names = it.list(Self::variable_name)?;
            it.expect(TokenKind::Colon, VARIABLE)?;
            let from = it.at;
            let (mut ty, mut attributes) = (it.ty(), None);
            if ty.is_ok() {
                match it.attributes() {
                    Ok(found) => attributes = found,
                    Err(failed) => ty = Err(failed),
                }
            }
            let ty = ty.unwrap_or_else(|_| {
                it.skip_declaration(from);
                Type { kind: TypeKind::Error, span: it.span_at(from) }
            });
            it.semicolon("declaration");
            let span = it.since(start);
            Ok(Declaration::Variables(Variables { names, ty, attributes, span }))
        });
    }

    fn variable_name(&mut self) -> Parsed<VariableName> {
        let name = self.ident("the name of a variable")?;
        let mut indices = Vec::new();
        if self.eat(TokenKind::LBracket) {
            indices = self.parameter_sections(VARIABLE)?;
            self.expect(TokenKind::RBracket, VARIABLE)?;
        }
        let span = self.since(name.span);
        Ok(VariableName { name, indices, span })
    }

    fn procedure(&mut self) -> Option<Procedure> {
        self.definition(|it, start| {
            it.next();
            let name = it.declared_name("the name of the procedure")?;
            it.opened(&name.text, it.since(start));
            let (parameters, result) = it.signature();
            it.head_end("head of the procedure");
            let body = it.body(Scope::Procedure);
            it.close("procedure");
            let [begin, ..] = body.sections;
            if name.text.is_empty() {
                return Ok(None);
            }
            let (declarations, span) = (body.declarations, it.since(start));
            Ok(Some(Procedure { name, parameters, result, declarations, begin, span }))
        })
    }

    /// Parameters and result. An error in them ends at the `;` of the head.
    fn signature(&mut self) -> (Vec<Parameters>, Option<Type>) {
        let mut parameters = Vec::new();
        if self.eat(TokenKind::LParen) && !self.eat(TokenKind::RParen) {
            let from = self.at;
            let read = self.parameter_sections(PROCEDURE).and_then(|sections| {
                self.expect(TokenKind::RParen, PROCEDURE)?;
                Ok(sections)
            });
            match read {
                Ok(sections) => parameters = sections,
                Err(_) => self.skip_parameters(from),
            }
        }
        let result = if self.eat(TokenKind::Colon) { self.ty().ok() } else { None };
        (parameters, result)
    }

    /// Skips after the `)` of a head, if it is before what can only follow the head.
    fn skip_parameters(&mut self, from: usize) {
        let stops = |it: &Self| {
            it.is(TokenKind::Begin)
                || it.at_sequence_end() && !it.is(TokenKind::Variable)
                || it.at > from && it.is(TokenKind::RParen)
        };
        while !stops(self) {
            self.next();
        }
        self.eat(TokenKind::RParen);
    }

    fn implementation(&mut self) -> Option<Implementation> {
        self.definition(|it, start| {
            it.next();
            let name = it.declared_name("the name of the interface")?;
            it.opened(&name.text, it.since(start));
            if !it.is(TokenKind::Semicolon) && !it.is(TokenKind::Begin) {
                let error = it.error("unexpected-token", "expected `;` after the name");
                it.complain(error.help(IMPLEMENTATION));
                it.skip_declaration(it.at);
                it.eat(TokenKind::Semicolon);
            } else {
                it.semicolon("head of the implementation");
            }
            let body = it.body(Scope::Implementation);
            it.close("implementation");
            let [begin, ..] = body.sections;
            if name.text.is_empty() {
                return Ok(None);
            }
            let (declarations, span) = (body.declarations, it.since(start));
            Ok(Some(Implementation { name, declarations, begin, span }))
        })
    }

    pub(super) fn ty(&mut self) -> Parsed<Type> {
        self.height = 1;
        let start = self.span();
        if self.eat(TokenKind::Any) {
            let (offers, requires) = self.any_limits()?;
            let span = self.since(start);
            return Ok(Type { kind: TypeKind::Any { offers, requires }, span });
        }
        if !self.is(TokenKind::Ident) {
            return self.expected("a type", "a type is a name, or ANY");
        }
        if let Some(wrong) = self.foreign_type() {
            return wrong;
        }
        let kind = TypeKind::Name(self.slice().to_string());
        self.next();
        Ok(Type { kind, span: start })
    }

    /// The contents of the parentheses after ANY.
    fn any_limits(&mut self) -> Parsed<(Vec<InterfaceDeclaration>, Vec<InterfaceDeclaration>)> {
        let (mut offers, mut requires) = (Vec::new(), Vec::new());
        if self.eat(TokenKind::LParen) {
            if !self.is_one_of(&[TokenKind::Bar, TokenKind::RParen]) {
                offers = self.interface_declarations()?;
            }
            if self.eat(TokenKind::Bar) && !self.is(TokenKind::RParen) {
                requires = self.interface_declarations()?;
            }
            self.expect(TokenKind::RParen, ANY)?;
        }
        Ok((offers, requires))
    }
}
