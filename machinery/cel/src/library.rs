//! Function libraries of environments.

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

/// Value of a call, or the reason why it has none.
pub type Outcome<'a> = Result<Value<'a>, Error>;

/// Implementation of a function. The first argument is the receiver, if there is one. The caller has checked
/// the number of the arguments, and, except for operators, their types as far as the signature determines
/// them. An implementation should charge the meter before it reads or creates more than a few bytes.
pub type OverloadFunction = for<'a> fn(&mut Meter, &[Value<'a>]) -> Outcome<'a>;

/// A function that expressions can call.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Name of the function, with its package if it has one.
    pub name: &'static str,
    /// Signatures, such as `string.(int) string` and `(int) bool`. `A` and `B` are any type.
    pub overloads: &'static [&'static str],
    /// Implementation of all overloads.
    pub run: OverloadFunction,
}

/// A group of functions (and macros).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Functions, macros and syntax of optional values: `optional.of(x)`, `optMap`, `a.?b` and others.
    Optional,
    /// Functions `first`, `last`, `unwrapOpt` and `optional.unwrap` for lists, and the macros and syntax of
    /// optional values.
    OptionalLists,
    /// String functions of cel-go's extension: `charAt`, `format`, `split` and others.
    Strings,
    /// Function `reverse` for strings.
    StringsReverse,
    /// Functions `sum`, `min`, `max`, `isSorted`, `indexOf`, `lastIndexOf` of Kubernetes.
    Lists,
    /// Functions `slice`, `flatten`, `lists.range`, `distinct`, `reverse` and `sort`, and macro `sortBy`, of
    /// cel-go.
    ListsExtended,
    /// Functions `find` and `findAll`.
    Regex,
    /// Function `url`, and the functions for the parts of a URL.
    Urls,
    /// Functions of Kubernetes' quantities.
    Quantity,
    /// Functions of IP addresses.
    Ip,
    /// Functions of ranges of IP addresses.
    Cidr,
    /// Functions that validate strings in named formats, such as `dns1123Label`.
    Format,
    /// Functions of semantic versions.
    Semver,
    /// Functions `semver` and `isSemver` with a flag to normalize the version before parsing.
    SemverNormalized,
    /// Functions `sets.contains`, `sets.equivalent` and `sets.intersects` for lists.
    Sets,
    /// Macros with two variables: for key (or index) and value.
    TwoVariables,
    /// Comparisons of numbers of different types.
    CrossTypeNumbers,
    /// Functions of `authorizer`, which describe access reviews.
    Authorizer,
    /// Function `jsonpatch.escapeKey`.
    JsonPatch,
    /// Function `parseJSON`.
    Json,
}

/// Functions of every environment.
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

/// Creates an entry of a function table.
const fn function(name: &'static str, overloads: &'static [&'static str], run: OverloadFunction) -> Function {
    Function { name, overloads, run }
}

/// Converts a length or a position to an int of CEL.
fn count(number: usize) -> Value<'static> {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}
