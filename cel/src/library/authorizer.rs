//! Access reviews of the hub. They are declared, so that expressions that ask for one are checked; the variable itself
//! is [`Value::Unavailable`], so none is ever made.

use super::{Function, function};
use crate::error::Error;
use crate::library::Outcome;
use crate::meter::Meter;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    function("path", &["Authorizer.(string) PathCheck"], unavailable),
    function("group", &["Authorizer.(string) GroupCheck"], unavailable),
    function(
        "serviceAccount",
        &["Authorizer.(string, string) Authorizer"],
        unavailable,
    ),
    function("resource", &["GroupCheck.(string) ResourceCheck"], unavailable),
    function(
        "subresource",
        &["ResourceCheck.(string) ResourceCheck"],
        unavailable,
    ),
    function(
        "namespace",
        &["ResourceCheck.(string) ResourceCheck"],
        unavailable,
    ),
    function("name", &["ResourceCheck.(string) ResourceCheck"], unavailable),
    function(
        "fieldSelector",
        &["ResourceCheck.(string) ResourceCheck"],
        unavailable,
    ),
    function(
        "labelSelector",
        &["ResourceCheck.(string) ResourceCheck"],
        unavailable,
    ),
    function(
        "check",
        &["PathCheck.(string) Decision", "ResourceCheck.(string) Decision"],
        unavailable,
    ),
    function("errored", &["Decision.() bool"], unavailable),
    function("error", &["Decision.() string"], unavailable),
    function("allowed", &["Decision.() bool"], unavailable),
    function("reason", &["Decision.() string"], unavailable),
];

fn unavailable<'a>(_: &mut Meter, _: &[Value<'a>]) -> Outcome<'a> {
    Err(Error::no_such_overload())
}
