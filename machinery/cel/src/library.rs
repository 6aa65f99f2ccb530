//! The functions an environment may have.

mod authorizer;
mod convert;
mod json;
mod json_patch;
mod lists;
mod named_format;
mod net;
mod operators;
mod optional;
mod quantity;
mod regex;
mod semver;
mod sets;
mod strings;
mod time;
mod url;

pub(crate) use lists::sorted_by;

use crate::error::Error;
use crate::meter::Meter;
use crate::value::Value;

/// Value of a function, or the error.
pub type Outcome<'a> = Result<Value<'a>, Error>;

/// Runs a function on its arguments, the receiver first. Their number and, as far as the signature has
/// them, their types are as declared. It charges the meter before it reads or makes more than a few
/// bytes.
pub type OverloadFunction = for<'a> fn(&mut Meter, &[Value<'a>]) -> Outcome<'a>;

/// A function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name, with its package if it has one.
    pub name: &'static str,
    /// Signatures, such as `string.(int) string` and `(int) bool`. `A` and `B` are any type.
    pub overloads: &'static [&'static str],
    /// Implementation.
    pub run: OverloadFunction,
}

/// A group of functions (and macros).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Optional values.
    Optional,
    /// `first`, `last` and unwrapping for lists.
    OptionalLists,
    /// cel-go's extended strings.
    Strings,
    /// `reverse` for strings.
    StringsReverse,
    /// Kubernetes' `sum`, `min`, `max`, `isSorted`, `indexOf`.
    Lists,
    /// cel-go's `slice`, `flatten`, `range`, `distinct`, `reverse`, `sort`, `sortBy`.
    ListsExtended,
    /// `find` and `findAll`.
    Regex,
    /// `url` and its parts.
    Urls,
    /// Kubernetes' quantities.
    Quantity,
    /// IP addresses.
    Ip,
    /// Ranges of IP addresses.
    Cidr,
    /// Named formats of strings.
    Format,
    /// Semantic versions.
    Semver,
    /// Semantic versions that are normalized first.
    SemverNormalized,
    /// Lists as sets.
    Sets,
    /// Macros over key and value.
    TwoVariables,
    /// Comparisons of numbers of different types.
    CrossTypeNumbers,
    /// Access reviews.
    Authorizer,
    /// `jsonpatch.escapeKey`.
    JsonPatch,
    /// `parseJSON`.
    Json,
}

/// The functions every environment has.
pub(crate) const STANDARD: [&[Function]; 5] = [
    operators::FUNCTIONS,
    convert::FUNCTIONS,
    strings::STANDARD,
    time::FUNCTIONS,
    regex::STANDARD,
];

impl Library {
    pub(crate) fn functions(self) -> &'static [Function] {
        match self {
            Self::Optional => optional::FUNCTIONS,
            Self::OptionalLists => optional::LISTS,
            Self::Strings => strings::EXTENDED,
            Self::StringsReverse => strings::REVERSE,
            Self::Lists => lists::KUBERNETES,
            Self::ListsExtended => lists::EXTENDED,
            Self::Regex => regex::FUNCTIONS,
            Self::Urls => url::FUNCTIONS,
            Self::Quantity => quantity::FUNCTIONS,
            Self::Ip => net::IP,
            Self::Cidr => net::CIDR,
            Self::Format => named_format::FUNCTIONS,
            Self::Semver => semver::FUNCTIONS,
            Self::SemverNormalized => semver::NORMALIZED,
            Self::Sets => sets::FUNCTIONS,
            Self::TwoVariables => &[],
            Self::CrossTypeNumbers => operators::CROSS_TYPE,
            Self::Authorizer => authorizer::FUNCTIONS,
            Self::JsonPatch => json_patch::FUNCTIONS,
            Self::Json => json::FUNCTIONS,
        }
    }
}

/// A function of the table, in one line.
const fn function(name: &'static str, overloads: &'static [&'static str], run: OverloadFunction) -> Function {
    Function { name, overloads, run }
}

/// A number of bytes or elements as CEL counts them.
fn count(number: usize) -> Value<'static> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
