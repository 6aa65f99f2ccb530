//! Types, as declarations and the checker know them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::parser::is_word;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Any type; it is known only at evaluation.
    Dyn,
    /// An error that was reported already.
    Error,
    /// `null`.
    Null,
    /// `true` and `false`.
    Bool,
    /// Whole numbers of 64 bits.
    Int,
    /// Whole numbers of 64 bits, none negative.
    Uint,
    /// Floating point numbers of 64 bits.
    Double,
    /// Unicode text.
    String,
    /// Bytes.
    Bytes,
    /// A length of time.
    Duration,
    /// A moment.
    Timestamp,
    /// A list of elements of one type.
    List(Arc<Type>),
    /// A map from one type to another.
    Map(Arc<(Type, Type)>),
    /// A value or none.
    Optional(Arc<Type>),
    /// The type of types.
    Type(Arc<Type>),
    /// A type of its own, by name.
    Named(&'static str),
    /// An object that an expression makes, by the name of its type: `Object.spec`.
    Message(Arc<str>),
    /// An object whose fields are known.
    Object(Arc<Object>),
    /// A type that the arguments of a call decide.
    Param(usize),
}

/// An object whose fields are known. As in cel-go it is identified by its name.
#[derive(Debug)]
pub struct Object {
    /// Its name in messages.
    pub name: Cow<'static, str>,
    /// Its fields, by their escaped names.
    pub fields: Vec<(Cow<'static, str>, Type)>,
}

impl Object {
    /// The type of the field that an expression calls `name`.
    pub(crate) fn field(&self, name: &str) -> Option<&Type> {
        let found = |name: &str| {
            let field = self.fields.iter().find(|(known, _)| known == name)?;
            Some(&field.1)
        };
        found(name).or_else(|| is_word(name).then(|| found(&format!("__{name}__")))?)
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Type {
    /// A list of `element`.
    #[must_use]
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// A map from `key` to `value`.
    #[must_use]
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// A value of `value`, or none.
    #[must_use]
    pub fn optional(value: Self) -> Self {
        Self::Optional(Arc::new(value))
    }

    /// The type of the type `of`.
    #[must_use]
    pub fn type_of(of: Self) -> Self {
        Self::Type(Arc::new(of))
    }

    /// An object called `name`, whose fields have identifiers as names.
    #[must_use]
    pub fn object(name: impl Into<Cow<'static, str>>, fields: Vec<(Cow<'static, str>, Self)>) -> Self {
        let name = name.into();
        Self::Object(Arc::new(Object { name, fields }))
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// Whether a value of it may be `null`.
    pub(crate) fn nullable(&self) -> bool {
        matches!(
            self,
            Self::Null
                | Self::Duration
                | Self::Timestamp
                | Self::Named(_)
                | Self::Message(_)
                | Self::Object(_)
                | Self::Optional(_)
        )
    }

    /// Its component types.
    pub(crate) fn parameters(&self) -> Vec<&Self> {
        match self {
            Self::List(of) | Self::Optional(of) | Self::Type(of) => vec![of],
            Self::Map(pair) => vec![&pair.0, &pair.1],
            _ => Vec::new(),
        }
    }

    /// Returns the type with `change` applied to its parts.
    pub(crate) fn rebuilt(&self, mut change: impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::List(of) => Self::list(change(of)),
            Self::Optional(of) => Self::optional(change(of)),
            Self::Type(of) => Self::type_of(change(of)),
            Self::Map(pair) => Self::map(change(&pair.0), change(&pair.1)),
            other => other.clone(),
        }
    }

    /// Number of its component types, counted up to `most`.
    pub(crate) fn size(&self, most: usize) -> usize {
        let mut size = 1;
        for part in self.parameters() {
            if size >= most {
                break;
            }
            size += part.size(most - size);
        }
        size
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Dyn => "dyn",
            Self::Error => "!error!",
            Self::Null => "null",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
            Self::Timestamp => "timestamp",
            Self::Named(name) => name,
            Self::Message(name) => name,
            Self::Object(object) => &object.name,
            Self::List(of) => return write!(formatter, "list({of})"),
            Self::Map(pair) => return write!(formatter, "map({}, {})", pair.0, pair.1),
            Self::Optional(of) => return write!(formatter, "optional_type({of})"),
            Self::Type(of) => return write!(formatter, "type({of})"),
            Self::Param(number) => return write!(formatter, "_var{number}"),
        };
        formatter.write_str(name)
    }
}
