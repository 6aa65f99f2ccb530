//! Types of variables, functions and expressions.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::parser::is_reserved_word;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Any type; the actual type is known only at run time.
    Dyn,
    /// Type of an expression whose error is already reported.
    Error,
    /// Type of `null`.
    Null,
    /// Type of `true` and `false`.
    Bool,
    /// Signed integers of 64 bits.
    Int,
    /// Unsigned integers of 64 bits.
    Uint,
    /// Floating point numbers of 64 bits.
    Double,
    /// Unicode text.
    String,
    /// Bytes.
    Bytes,
    /// A duration.
    Duration,
    /// A timestamp.
    Timestamp,
    /// A list of elements of one type.
    List(Arc<Type>),
    /// A map from one type to another.
    Map(Arc<(Type, Type)>),
    /// An optional value.
    Optional(Arc<Type>),
    /// The type of types.
    Type(Arc<Type>),
    /// A type that is identified by its name, such as `net.IP`.
    Named(&'static str),
    /// The type of an object literal, by its name: `Object.spec`.
    Message(Arc<str>),
    /// An object with declared fields.
    Object(Arc<Object>),
    /// A type variable, which the arguments of a call determine.
    Param(usize),
}

/// The type of an object with declared fields. As in cel-go, types with equal names are equal.
#[derive(Debug)]
pub struct Object {
    /// Name of the type in messages.
    pub name: Cow<'static, str>,
    /// Fields, by their escaped names.
    pub fields: Vec<(Cow<'static, str>, Type)>,
}

impl Object {
    /// Returns the type of the field that expressions call `name`.
    pub(crate) fn field(&self, name: &str) -> Option<&Type> {
        let found = |name: &str| {
            let field = self.fields.iter().find(|(known, _)| known == name)?;
            Some(&field.1)
        };
        found(name).or_else(|| is_reserved_word(name).then(|| found(&format!("__{name}__")))?)
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Type {
    /// Creates the type of a list of `element`.
    #[must_use]
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// Creates the type of a map from `key` to `value`.
    #[must_use]
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// Creates the type of an optional `value`.
    #[must_use]
    pub fn optional(value: Self) -> Self {
        Self::Optional(Arc::new(value))
    }

    /// Creates the type of the type `ty`.
    #[must_use]
    pub fn type_of(ty: Self) -> Self {
        Self::Type(Arc::new(ty))
    }

    /// Creates the type `name` of an object whose fields have identifiers as names.
    #[must_use]
    pub fn object(name: impl Into<Cow<'static, str>>, fields: Vec<(Cow<'static, str>, Self)>) -> Self {
        let name = name.into();
        Self::Object(Arc::new(Object { name, fields }))
    }

    /// Whether the type is known only at run time, or not at all after an error.
    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// Whether a value of the type may be `null`.
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

    /// Returns the component types.
    pub(crate) fn parameters(&self) -> Vec<&Self> {
        match self {
            Self::List(ty) | Self::Optional(ty) | Self::Type(ty) => vec![ty],
            Self::Map(pair) => vec![&pair.0, &pair.1],
            _ => Vec::new(),
        }
    }

    /// Returns the type with `change` applied to its components.
    pub(crate) fn rebuilt(&self, mut change: impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::List(ty) => Self::list(change(ty)),
            Self::Optional(ty) => Self::optional(change(ty)),
            Self::Type(ty) => Self::type_of(change(ty)),
            Self::Map(pair) => Self::map(change(&pair.0), change(&pair.1)),
            other => other.clone(),
        }
    }

    /// Returns the number of types that this type consists of, including itself. The count ends at `most`.
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
            Self::List(ty) => return write!(formatter, "list({ty})"),
            Self::Map(pair) => return write!(formatter, "map({}, {})", pair.0, pair.1),
            Self::Optional(ty) => return write!(formatter, "optional_type({ty})"),
            Self::Type(ty) => return write!(formatter, "type({ty})"),
            Self::Param(number) => return write!(formatter, "_var{number}"),
        };
        formatter.write_str(name)
    }
}
