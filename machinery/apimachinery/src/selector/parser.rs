//! The string form of label selectors: a lexer and a parser for `a=b,c!=d,e in (f,g),!h,i>1`.
//!
//! The grammar and the error texts are those of kube-apiserver; of several invalid values, only the first is
//! reported. In the position of a key or a value, the keywords `in` and `notin` are names.

use super::label::{validate_label_key, validate_label_value};
use super::{Operator, Requirement, Selector, SelectorError};

/// One token of a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A key, a value or a keyword.
    Name(&'a str),
    Symbol(&'static str),
    /// A special character that begins no symbol.
    Unknown(&'a str),
    End,
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Name(text) | Self::Unknown(text) => text,
            Self::Symbol(text) => text,
            Self::End => "",
        }
    }
}

const SYMBOLS: [&str; 8] = ["==", "!=", "=", "!", "(", ")", ",", ">"];

fn is_special(byte: u8) -> bool {
    matches!(byte, b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<')
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Lexer that splits `text` into tokens. A run of special characters is split greedily, with the longest
/// known symbol first.
struct Lexer<'a> {
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Token<'a> {
        self.rest = self
            .rest
            .trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8));
        let Some(&first) = self.rest.as_bytes().first() else {
            return Token::End;
        };
        if !is_special(first) {
            let end = self
                .rest
                .bytes()
                .position(|byte| is_special(byte) || is_space(byte));
            return Token::Name(self.take(end.unwrap_or(self.rest.len())));
        }
        for symbol in SYMBOLS.into_iter().chain(["<"]) {
            if self.rest.starts_with(symbol) {
                self.take(symbol.len());
                return Token::Symbol(symbol);
            }
        }
        Token::Unknown(self.take(1))
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (head, rest) = self.rest.split_at(length);
        self.rest = rest;
        head
    }
}

/// Recursive descent parser with one token of lookahead.
struct Parser<'a> {
    lexer: Lexer<'a>,
    lookahead: Token<'a>,
}

/// Parses the whole `text`.
pub(super) fn parse(text: &str) -> Result<Selector, SelectorError> {
    let mut lexer = Lexer { rest: text };
    let lookahead = lexer.next();
    let mut parser = Parser { lexer, lookahead };
    let mut requirements = parser.requirements()?;
    requirements.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(Selector { requirements })
}

impl<'a> Parser<'a> {
    fn consume(&mut self) -> Token<'a> {
        let next = self.lexer.next();
        std::mem::replace(&mut self.lookahead, next)
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut list = Vec::new();
        match self.lookahead {
            Token::End => return Ok(list),
            Token::Name(_) | Token::Symbol("!") => {}
            other => {
                return Err(format!(
                    "found '{}', expected: !, identifier, or 'end of string'",
                    other.text()
                ));
            }
        }
        loop {
            let requirement = self
                .requirement()
                .map_err(|error| format!("unable to parse requirement: {error}"))?;
            list.push(requirement);
            match self.consume() {
                Token::End => return Ok(list),
                Token::Symbol(",") => {}
                other => {
                    return Err(format!(
                        "found '{}', expected: ',' or 'end of string'",
                        other.text()
                    ));
                }
            }
            if !matches!(self.lookahead, Token::Name(_) | Token::Symbol("!")) {
                return Err(format!(
                    "found '{}', expected: identifier after ','",
                    self.lookahead.text()
                ));
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.lookahead == Token::Symbol("!");
        if absent {
            self.consume();
        }
        let key = match self.consume() {
            Token::Name(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        // kube-apiserver reports a key's error without a path; clients match on this text.
        validate_label_key(key).map_err(|problem| format!("<nil>: Invalid value: {key:?}: {problem}"))?;
        if absent {
            return requirement(key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.lookahead, Token::End | Token::Symbol(",")) {
            return requirement(key, Operator::Exists, Vec::new());
        }
        match self.consume() {
            Token::Name("in") => requirement(key, Operator::In, self.values()?),
            Token::Name("notin") => requirement(key, Operator::NotIn, self.values()?),
            Token::Symbol("=" | "==") => requirement(key, Operator::In, self.exact_value()?),
            Token::Symbol("!=") => requirement(key, Operator::NotIn, self.exact_value()?),
            Token::Symbol(">") => requirement(key, Operator::GreaterThan, self.exact_value()?),
            Token::Symbol("<") => requirement(key, Operator::LessThan, self.exact_value()?),
            other => Err(format!(
                "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                other.text()
            )),
        }
    }

    fn exact_value(&mut self) -> Result<Vec<String>, String> {
        if matches!(self.lookahead, Token::End | Token::Symbol(",")) {
            return Ok(vec![String::new()]);
        }
        match self.consume() {
            Token::Name(value) => Ok(vec![value.to_owned()]),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// Parses `(a,b)`. An empty text between commas, or next to a parenthesis, is the empty value.
    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.consume() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = Vec::new();
        loop {
            match self.lookahead {
                Token::Name(value) => {
                    self.consume();
                    values.push(value.to_owned());
                }
                Token::Symbol("," | ")") => values.push(String::new()),
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', ')' or identifier",
                        other.text()
                    ));
                }
            }
            match self.consume() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => return Ok(values),
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }
}

/// Creates a requirement with sorted values, if the values are valid for the operator.
fn requirement(key: &str, operator: Operator, mut values: Vec<String>) -> Result<Requirement, String> {
    values.sort_unstable();
    values.dedup();
    for (index, value) in values.iter().enumerate() {
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) && value.parse::<i64>().is_err() {
            return Err(format!(
                "values[{index}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
            ));
        }
        validate_label_value(value)
            .map_err(|problem| format!("values[{index}][{key}]: Invalid value: {value:?}: {problem}"))?;
    }
    Ok(Requirement {
        key: key.to_owned(),
        operator,
        values,
    })
}
