//! Lexer: splits a source into tokens.

mod literal;

use crate::text::Issue;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Ident(String),
    Int(u64),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
    /// An operator, a bracket or a punctuation mark.
    Sign(&'static str),
    /// The end of the source.
    End,
}

impl Token {
    /// Returns the description of the token for messages.
    pub(crate) fn description(&self) -> String {
        match self {
            Self::Ident(name) => format!("'{name}'"),
            Self::Int(_) | Self::Uint(_) | Self::Double(_) => "a number".to_owned(),
            Self::String(_) | Self::Bytes(_) => "a string".to_owned(),
            Self::Sign(sign) => format!("'{sign}'"),
            Self::End => "<EOF>".to_owned(),
        }
    }
}

/// Signs. If a sign is the beginning of another sign, the longer sign comes first, so that the longest sign
/// is found.
const SIGNS: [&str; 26] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}", "=", "`",
];

/// Returns every token with its byte offset; the last token is [`Token::End`].
pub(crate) fn tokens(source: &str) -> Result<Vec<(usize, Token)>, Issue> {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let start = lexer.at;
        let token = lexer.token()?;
        let end = token == Token::End;
        tokens.push((start, token));
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
            self.at += rest.len() - trimmed.len();
            let Some(comment) = trimmed.strip_prefix("//") else {
                return;
            };
            self.at += 2 + comment.find('\n').unwrap_or(comment.len());
        }
    }

    fn token(&mut self) -> Result<Token, Issue> {
        let rest = self.rest();
        let mut characters = rest.chars();
        let Some(first) = characters.next() else {
            return Ok(Token::End);
        };
        let second = characters.next();
        if let Some(token) = self.quoted()? {
            return Ok(token);
        }
        if first.is_ascii_digit() || (first == '.' && second.is_some_and(|digit| digit.is_ascii_digit())) {
            return self.number();
        }
        if first == '_' || first.is_ascii_alphabetic() {
            let length = rest
                .find(|next: char| next != '_' && !next.is_ascii_alphanumeric())
                .unwrap_or(rest.len());
            self.at += length;
            return Ok(Token::Ident(rest[..length].to_owned()));
        }
        let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
        match sign {
            Some(sign) if !matches!(*sign, "=" | "`") => {
                self.at += sign.len();
                Ok(Token::Sign(sign))
            }
            _ => Err(Issue::new(
                self.at,
                format!("Syntax error: token recognition error at: '{first}'"),
            )),
        }
    }

    fn number(&mut self) -> Result<Token, Issue> {
        let (token, length) = literal::number(self.rest()).map_err(|text| Issue::new(self.at, text))?;
        self.at += length;
        Ok(token)
    }

    fn quoted(&mut self) -> Result<Option<Token>, Issue> {
        match literal::quoted(self.rest()) {
            Ok(None) => Ok(None),
            Ok(Some((token, length))) => {
                self.at += length;
                Ok(Some(token))
            }
            Err(text) => Err(Issue::new(self.at, text)),
        }
    }
}
