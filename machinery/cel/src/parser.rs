//! Recursive-descent parser: builds a syntax tree of limited depth from the tokens of a source.

mod macros;

use crate::ast::{Expr, Item, Kind, MAX_DEPTH, Select, too_deep};
use crate::lexer::{Token, tokens};
use crate::text::Issue;
use crate::value::Value;

/// Non-standard macros and syntax of an environment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Syntax {
    /// Whether optionals are allowed: `a.?b`, `a[?b]`, `[?a]`, `{?a: b}`, `optMap`, `optFlatMap`.
    pub(crate) optional: bool,
    /// Whether macros over key and value are allowed: `all`, `exists` and others.
    pub(crate) two_variables: bool,
    /// Whether `sortBy` is allowed.
    pub(crate) sort_by: bool,
    /// Whether mutations are allowed: `Object{...}` and `JSONPatch{...}`.
    pub(crate) messages: bool,
}

/// Parses `source` to a syntax tree.
pub(crate) fn parse(source: &str, syntax: Syntax) -> Result<Expr, Issue> {
    let mut parser = Parser {
        tokens: tokens(source)?,
        next: 0,
        depth: 0,
        syntax,
    };
    let expression = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(expression),
        _ => Err(parser.unexpected("<EOF>")),
    }
}

/// Words that are reserved for later use. They cannot be names of variables or global functions.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Words that are literals or operators.
const KEYWORDS: [&str; 4] = ["true", "false", "null", "in"];

/// Whether `name` is valid as the name of a variable.
#[must_use]
pub fn is_identifier(name: &str) -> bool {
    let begins = name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
    let continues = |each: char| each == '_' || each.is_ascii_alphanumeric();
    begins && name.chars().all(continues) && !is_reserved_word(name)
}

/// Whether `name` is a reserved word or a keyword.
pub(crate) fn is_reserved_word(name: &str) -> bool {
    RESERVED.contains(&name) || KEYWORDS.contains(&name)
}

/// Binary operators, with their names and their precedence: higher numbers bind tighter.
const BINARY: [(&str, &str, u8); 12] = [
    ("<", "_<_", 1),
    ("<=", "_<=_", 1),
    (">", "_>_", 1),
    (">=", "_>=_", 1),
    ("==", "_==_", 1),
    ("!=", "_!=_", 1),
    ("in", "@in", 1),
    ("+", "_+_", 2),
    ("-", "_-_", 2),
    ("*", "_*_", 3),
    ("/", "_/_", 3),
    ("%", "_%_", 3),
];

/// Parser of a part of an expression.
type ParseFunction = fn(&mut Parser) -> Result<Expr, Issue>;

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    depth: usize,
    syntax: Syntax,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].1
    }

    /// Returns the byte offset of the next token.
    fn at(&self) -> usize {
        self.tokens[self.next].0
    }

    fn advance(&mut self) -> (usize, Token) {
        let token = self.tokens[self.next].clone();
        if token.1 != Token::End {
            self.next += 1;
        }
        token
    }

    /// Consumes the next token if it is `sign`, and returns whether the token was consumed.
    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(next) if *next == sign);
        if found {
            self.next += 1;
        }
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), Issue> {
        if self.take(sign) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{sign}'")))
        }
    }

    fn unexpected(&self, wanted: &str) -> Issue {
        let found = self.peek().description();
        Issue::new(
            self.at(),
            format!("Syntax error: mismatched input {found} expecting {wanted}"),
        )
    }

    /// Runs `parse` one level deeper, unless the nesting is too deep.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, Issue>) -> Result<T, Issue> {
        if self.depth >= MAX_DEPTH {
            return Err(too_deep(self.at()));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn expression(&mut self) -> Result<Expr, Issue> {
        let condition = self.logic(true)?;
        let at = self.at();
        if !self.take("?") {
            return Ok(condition);
        }
        let args = self.nested(|parser| {
            let yes = parser.logic(true)?;
            parser.expect(":")?;
            let no = parser.expression()?;
            Ok(vec![condition, yes, no])
        })?;
        call(at, "_?_:_", args)
    }

    /// Parses terms joined by `||` if `or` is set, otherwise terms joined by `&&`.
    fn logic(&mut self, or: bool) -> Result<Expr, Issue> {
        let (sign, part): (_, ParseFunction) = if or {
            ("||", |parser| parser.logic(false))
        } else {
            ("&&", |parser| parser.binary(1))
        };
        let first = part(self)?;
        let at = self.at();
        if !self.take(sign) {
            return Ok(first);
        }
        let mut terms = vec![first];
        loop {
            terms.push(part(self)?);
            if !self.take(sign) {
                break;
            }
        }
        Expr::new(at, if or { Kind::Or(terms) } else { Kind::And(terms) })
    }

    /// Parses operands joined by binary operators whose precedence is at least `lowest_precedence`.
    fn binary(&mut self, lowest_precedence: u8) -> Result<Expr, Issue> {
        let mut left = self.unary()?;
        loop {
            let sign = match self.peek() {
                Token::Sign(sign) => *sign,
                Token::Ident(word) if word == "in" => "in",
                _ => "",
            };
            let operator = BINARY.iter().find(|(known, ..)| *known == sign);
            let Some((_, name, precedence)) =
                operator.filter(|(.., precedence)| *precedence >= lowest_precedence)
            else {
                return Ok(left);
            };
            let (at, _) = self.advance();
            let right = self.binary(precedence + 1)?;
            left = call(at, name, vec![left, right])?;
        }
    }

    fn unary(&mut self) -> Result<Expr, Issue> {
        let at = self.at();
        for (sign, name) in [("!", "!_"), ("-", "-_")] {
            if !self.take(sign) {
                continue;
            }
            let mut count = 1;
            if sign == "-"
                && let Some(number) = self.negative_number(at)?
            {
                return self.members(number);
            }
            while self.take(sign) {
                count += 1;
            }
            let operand = self.nested(Self::unary)?;
            // Two equal prefix operators in a row cancel each other out.
            return if count % 2 == 0 {
                Ok(operand)
            } else {
                call(at, name, vec![operand])
            };
        }
        let primary = self.primary()?;
        self.members(primary)
    }

    /// Parses the number after the minus at `at`; `None` when no int or double follows.
    fn negative_number(&mut self, at: usize) -> Result<Option<Expr>, Issue> {
        let value = match self.peek() {
            Token::Int(value) => Value::Int(0i64.wrapping_sub_unsigned(*value)),
            Token::Double(value) => Value::Double(-value),
            _ => return Ok(None),
        };
        self.advance();
        Expr::new(at, Kind::Literal(value)).map(Some)
    }

    fn primary(&mut self) -> Result<Expr, Issue> {
        let (at, token) = self.advance();
        let literal = |value| Expr::new(at, Kind::Literal(value));
        match token {
            Token::Int(value) => match i64::try_from(value) {
                Ok(value) => literal(Value::Int(value)),
                Err(_) => Err(Issue::new(at, "invalid int literal")),
            },
            Token::Uint(value) => literal(Value::Uint(value)),
            Token::Double(value) => literal(Value::Double(value)),
            Token::String(value) => literal(Value::from(value)),
            Token::Bytes(value) => literal(Value::Bytes(value.into())),
            Token::Sign("(") => {
                let inside = self.nested(Self::expression)?;
                self.expect(")")?;
                Ok(inside)
            }
            Token::Sign("[") => self.list(at),
            Token::Sign("{") => self.map(at),
            Token::Sign(".") => match self.advance() {
                (at, Token::Ident(name)) => self.name(at, name),
                (at, other) => Err(Issue::new(
                    at,
                    format!(
                        "Syntax error: mismatched input {} expecting IDENTIFIER",
                        other.description()
                    ),
                )),
            },
            Token::Ident(word) => match word.as_str() {
                "true" => literal(Value::Bool(true)),
                "false" => literal(Value::Bool(false)),
                "null" => literal(Value::Null),
                _ => self.name(at, word),
            },
            other => {
                let found = other.description();
                Err(Issue::new(
                    at,
                    format!("Syntax error: mismatched input {found} expecting an expression"),
                ))
            }
        }
    }

    /// Parses a variable, or the call of a global function or of the macro `has`.
    fn name(&mut self, at: usize, name: String) -> Result<Expr, Issue> {
        if name == "in" {
            return Err(Issue::new(
                at,
                "Syntax error: mismatched input 'in' expecting an expression",
            ));
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(Issue::new(at, format!("reserved identifier: {name}")));
        }
        let open = self.at();
        if !self.take("(") {
            return Expr::new(at, Kind::Ident(name));
        }
        let args = self.arguments()?;
        if name == "has" {
            return macros::has(open, args);
        }
        call(open, &name, args)
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Issue> {
        let mut args = Vec::new();
        if self.take(")") {
            return Ok(args);
        }
        loop {
            args.push(self.nested(Self::expression)?);
            if self.take(")") {
                return Ok(args);
            }
            self.expect(",")?;
        }
    }

    /// Parses the fields, indices, member calls and message fields that follow `operand`.
    fn members(&mut self, mut operand: Expr) -> Result<Expr, Issue> {
        loop {
            let at = self.at();
            if self.take(".") {
                operand = self.member(at, operand)?;
            } else if self.take("[") {
                let optional = self.optional_sign()?;
                let index = self.nested(Self::expression)?;
                self.expect("]")?;
                operand = call(at, if optional { "_[?_]" } else { "_[_]" }, vec![operand, index])?;
            } else if self.take("{") {
                operand = match name_of(&operand) {
                    Some(name) if self.syntax.messages && is_mutation_type(&name) => {
                        self.message(at, name)?
                    }
                    _ => return Err(unsupported_message(at, &operand)),
                };
            } else {
                return Ok(operand);
            }
        }
    }

    fn member(&mut self, at: usize, operand: Expr) -> Result<Expr, Issue> {
        let optional = self.optional_sign()?;
        let field = self.field()?;
        let open = self.at();
        if optional || !self.take("(") {
            let mode = if optional { Select::Optional } else { Select::Value };
            let operand = Box::new(operand);
            return Expr::new(at, Kind::Select { operand, field, mode });
        }
        let args = self.arguments()?;
        macros::member(open, operand, field, args, self.syntax)
    }

    /// Consumes the name of a field. Reserved identifiers are names of fields, too; keywords are not.
    fn field(&mut self) -> Result<String, Issue> {
        let found = match self.advance() {
            (_, Token::Ident(field)) if !KEYWORDS.contains(&field.as_str()) => return Ok(field),
            found => found,
        };
        let (at, found) = (found.0, found.1.description());
        let text = format!("Syntax error: mismatched input {found} expecting IDENTIFIER");
        Err(Issue::new(at, text))
    }

    /// Consumes a `?` that marks an optional, and returns whether there was one.
    fn optional_sign(&mut self) -> Result<bool, Issue> {
        let at = self.at();
        let optional = self.take("?");
        if optional && !self.syntax.optional {
            return Err(Issue::new(at, "unsupported syntax '?'"));
        }
        Ok(optional)
    }

    fn list(&mut self, at: usize) -> Result<Expr, Issue> {
        let mut items = Vec::new();
        while !self.take("]") {
            items.push(self.item()?);
            if !self.take(",") {
                self.expect("]")?;
                break;
            }
        }
        Expr::new(at, Kind::List(items))
    }

    fn item(&mut self) -> Result<Item, Issue> {
        let optional = self.optional_sign()?;
        let value = self.nested(Self::expression)?;
        Ok(Item { value, optional })
    }

    /// Parses the fields of a typed literal. The opening brace is already consumed.
    fn message(&mut self, at: usize, name: String) -> Result<Expr, Issue> {
        let mut fields = Vec::new();
        while !self.take("}") {
            let optional = self.optional_sign()?;
            let field = self.field()?;
            self.expect(":")?;
            let value = self.nested(Self::expression)?;
            fields.push((field, Item { value, optional }));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Expr::new(at, Kind::Message { name, fields })
    }

    fn map(&mut self, at: usize) -> Result<Expr, Issue> {
        let mut entries = Vec::new();
        while !self.take("}") {
            let key = self.item()?;
            self.expect(":")?;
            let value = self.nested(Self::expression)?;
            let optional = key.optional;
            entries.push((key.value, Item { value, optional }));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Expr::new(at, Kind::Map(entries))
    }
}

/// Creates the issue of a message literal that the environment does not support.
fn unsupported_message(at: usize, operand: &Expr) -> Issue {
    match name_of(operand) {
        Some(name) if !name.starts_with("google.protobuf.") => {
            Issue::new(at, format!("undeclared reference to '{name}' (in container '')"))
        }
        Some(_) => Issue::new(at, "message literals are not supported"),
        None => Issue::new(at, "Syntax error: mismatched input '{' expecting <EOF>"),
    }
}

/// Whether a mutation may create an object of this type.
fn is_mutation_type(name: &str) -> bool {
    name == "JSONPatch" || name == "Object" || name.starts_with("Object.")
}

/// Returns the dotted name in `operand`; `None` when the expression is not a name.
fn name_of(operand: &Expr) -> Option<String> {
    match &operand.kind {
        Kind::Ident(name) => Some(name.clone()),
        Kind::Select {
            operand,
            field,
            mode: Select::Value,
        } => Some(format!("{}.{field}", name_of(operand)?)),
        _ => None,
    }
}

fn call(at: usize, function: &str, args: Vec<Expr>) -> Result<Expr, Issue> {
    let function = function.to_owned();
    Expr::new(
        at,
        Kind::Call {
            function,
            target: None,
            args,
        },
    )
}
