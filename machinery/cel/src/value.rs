//! Values of expressions. Values from JSON stay in the JSON tree, and are read on demand.

mod access;
mod compare;
mod containers;
mod json;
mod key;
mod moment;
mod number_format;
mod quantity;
mod semver;
pub(crate) mod url;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value as Json;

pub use access::Access;
pub(crate) use compare::Order;
pub use containers::{List, Map};
pub use key::Key;
pub use moment::Moment;
pub(crate) use number_format::{format_double, format_duration};
pub use quantity::Quantity;
pub use semver::Semver;
pub use url::Url;

/// A value of an expression.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// The value `null`.
    Null,
    /// A bool.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// Text.
    String(Text<'a>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A list.
    List(List<'a>),
    /// A map.
    Map(Map<'a>),
    /// A duration, in nanoseconds.
    Duration(i64),
    /// A timestamp.
    Timestamp(Moment),
    /// A type, by its name.
    Type(&'static str),
    /// An optional value.
    Optional(Option<Arc<Value<'a>>>),
    /// An IP address.
    Ip(IpAddr),
    /// A range of IP addresses: an address of the range and the length of the prefix.
    Cidr(IpAddr, u8),
    /// A URL.
    Url(Arc<Url>),
    /// A quantity.
    Quantity(Quantity),
    /// A semantic version.
    Semver(Arc<Semver>),
    /// A named format of strings.
    Format(&'static str),
    /// Rights of a user, or a part of an access review.
    Access(Arc<Access>),
    /// A typed object literal.
    Message(Arc<Message<'a>>),
    /// A declared value that is not available, with the reason.
    Unavailable(&'static str),
}

/// An object that an expression created: `Object.spec{replicas: 3}`.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// Name of the type.
    pub name: Arc<str>,
    /// Fields of the object.
    pub fields: BTreeMap<String, Value<'a>>,
}

/// Text, borrowed if it comes from JSON.
#[derive(Clone)]
pub enum Text<'a> {
    /// Text of a JSON value.
    Borrowed(&'a str),
    /// Text created by an expression.
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::String(Text::Shared(text.into()))
    }
}

impl From<&str> for Value<'_> {
    fn from(text: &str) -> Self {
        Self::String(Text::Shared(text.into()))
    }
}

impl<'a> From<Vec<Value<'a>>> for Value<'a> {
    fn from(values: Vec<Value<'a>>) -> Self {
        Self::List(List::Values(values.into()))
    }
}

impl<'a> From<&'a Json> for Value<'a> {
    /// Converts JSON as Kubernetes' API machinery decodes it: integers in the range of `int` become `int`,
    /// other numbers `double`.
    fn from(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(flag) => Self::Bool(*flag),
            Json::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => Self::Int(whole),
                (None, Some(double)) => Self::Double(double),
                (None, None) => Self::Null,
            },
            Json::String(text) => Self::String(Text::Borrowed(text)),
            Json::Array(list) => Self::List(List::Json(list)),
            Json::Object(fields) => Self::Map(Map::Json(fields)),
        }
    }
}

impl<'a> Value<'a> {
    /// Creates an optional with a value.
    pub(crate) fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// Returns the name of the value's type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Access(access) => access.type_name(),
            Self::Message(_) => "object",
            Self::Unavailable(_) => "unavailable",
        }
    }

    /// Returns the size by cel-go's cost rules: the bytes of text, bytes and IP addresses, the elements of
    /// lists and maps, the size of the value in an optional; 1 for all other values.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::String(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
            Self::Ip(address) | Self::Cidr(address, _) => match address {
                IpAddr::V4(_) => 4,
                IpAddr::V6(_) => 16,
            },
            Self::Optional(Some(value)) => value.size(),
            _ => 1,
        }
    }

    /// Whether the value is the zero value of its type: null, zero, empty.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null
            | Self::Optional(None)
            | Self::Bool(false)
            | Self::Int(0)
            | Self::Uint(0)
            | Self::Duration(0) => true,
            Self::Double(value) => *value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(list) => list.is_empty(),
            Self::Map(map) => map.is_empty(),
            _ => false,
        }
    }
}
