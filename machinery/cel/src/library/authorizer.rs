//! Functions of access reviews. An expression only describes a review; the caller provides the answers. A
//! missing answer ends the evaluation with [`Error::PendingReview`], so that the caller can make the review
//! and evaluate again.

use std::sync::Arc;

use super::{Function, function};
use crate::error::Error;
use crate::library::Outcome;
use crate::meter::Meter;
use crate::review::{Decision, Review, ReviewSubject};
use crate::value::{Access, Text, Value};

/// Cost of a review, as in Kubernetes.
const CHECK_COST: usize = 350_000;
/// Highest length of a service account's name.
const MAX_NAME_LENGTH: usize = 253;
/// Highest length of a namespace's name.
const MAX_NAMESPACE_LENGTH: usize = 63;

pub(super) const FUNCTIONS: &[Function] = &[
    function("path", &["Authorizer.(string) PathCheck"], path),
    function("group", &["Authorizer.(string) GroupCheck"], group),
    function(
        "serviceAccount",
        &["Authorizer.(string, string) Authorizer"],
        service_account,
    ),
    function("resource", &["GroupCheck.(string) ResourceCheck"], resource),
    function(
        "subresource",
        &["ResourceCheck.(string) ResourceCheck"],
        subresource,
    ),
    function("namespace", &["ResourceCheck.(string) ResourceCheck"], namespace),
    function("name", &["ResourceCheck.(string) ResourceCheck"], name),
    function(
        "fieldSelector",
        &["ResourceCheck.(string) ResourceCheck"],
        field_selector,
    ),
    function(
        "labelSelector",
        &["ResourceCheck.(string) ResourceCheck"],
        label_selector,
    ),
    function(
        "check",
        &["PathCheck.(string) Decision", "ResourceCheck.(string) Decision"],
        check,
    ),
    function("errored", &["Decision.() bool"], errored),
    function("error", &["Decision.() string"], error),
    function("allowed", &["Decision.() bool"], allowed),
    function("reason", &["Decision.() string"], reason),
];

fn wrap<'a>(access: Access) -> Outcome<'a> {
    Ok(Value::Access(Arc::new(access)))
}

fn text(value: &Value<'_>) -> Result<Arc<str>, Error> {
    match value {
        Value::String(Text::Shared(text)) => Ok(Arc::clone(text)),
        Value::String(text) => Ok((**text).into()),
        _ => Err(Error::no_such_overload()),
    }
}

/// Returns the receiver and the first argument, which is text.
fn with_text<'v>(meter: &mut Meter, args: &'v [Value<'_>]) -> Result<(&'v Access, Arc<str>), Error> {
    meter.charge(1)?;
    match args {
        [Value::Access(access), argument, ..] => Ok((access, text(argument)?)),
        _ => Err(Error::no_such_overload()),
    }
}

fn path<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match with_text(meter, args)? {
        (_, path) if path.trim().is_empty() => Err(Error::failed("path must not be empty")),
        (Access::Account(account), path) => wrap(Access::Check(account.clone(), ReviewSubject::Path(path))),
        _ => Err(Error::no_such_overload()),
    }
}

fn group<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match with_text(meter, args)? {
        (Access::Account(account), group) => wrap(Access::Group(account.clone(), group)),
        _ => Err(Error::no_such_overload()),
    }
}

fn service_account<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (Access::Account(_), namespace) = with_text(meter, args)? else {
        return Err(Error::no_such_overload());
    };
    let name = text(args.get(2).ok_or_else(Error::no_such_overload)?)?;
    if name.len() > MAX_NAME_LENGTH || !name.split('.').all(is_label) {
        return Err(Error::failed("Invalid service account name"));
    }
    if namespace.len() > MAX_NAMESPACE_LENGTH || !is_label(&namespace) {
        return Err(Error::failed("Invalid service account namespace"));
    }
    wrap(Access::Account(Some((namespace, name))))
}

/// Whether `text` is a DNS label, except for its length.
fn is_label(text: &str) -> bool {
    let plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.iter().all(|letter| plain(*letter) || *letter == b'-')
        && bytes.first().is_some_and(|letter| plain(*letter))
        && bytes.last().is_some_and(|letter| plain(*letter))
}

fn resource<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    match with_text(meter, args)? {
        (_, resource) if resource.trim().is_empty() => Err(Error::failed("resource must not be empty")),
        (Access::Group(account, group), resource) => wrap(Access::Check(
            account.clone(),
            ReviewSubject::resource(group, &resource),
        )),
        _ => Err(Error::no_such_overload()),
    }
}

/// Returns the receiver, a check of access to a resource, with one property set.
fn with_property<'a>(
    meter: &mut Meter,
    args: &[Value<'a>],
    set: impl FnOnce(&mut ReviewSubject, Arc<str>),
) -> Outcome<'a> {
    match with_text(meter, args)? {
        (Access::Check(account, subject), text) => {
            let mut subject = subject.clone();
            set(&mut subject, text);
            wrap(Access::Check(account.clone(), subject))
        }
        _ => Err(Error::no_such_overload()),
    }
}

macro_rules! with_property {
    ($($function:ident: $field:ident),* $(,)?) => {
        $(fn $function<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
            with_property(meter, args, |subject, text| {
                if let ReviewSubject::Resource { $field, .. } = subject {
                    *$field = text;
                }
            })
        })*
    };
}

with_property! {
    subresource: subresource,
    namespace: namespace,
    name: name,
    field_selector: fields,
    label_selector: labels,
}

fn check<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let (Access::Check(account, subject), verb) = with_text(meter, args)? else {
        return Err(Error::no_such_overload());
    };
    meter.charge(CHECK_COST - 1)?;
    let decision = meter.decision(Review {
        account: account.clone(),
        verb,
        subject: subject.clone(),
    })?;
    wrap(Access::Decision(decision))
}

fn decision<'v>(meter: &mut Meter, args: &'v [Value<'_>]) -> Result<&'v Decision, Error> {
    meter.charge(1)?;
    match args {
        [Value::Access(access)] => match &**access {
            Access::Decision(decision) => Ok(decision),
            _ => Err(Error::no_such_overload()),
        },
        _ => Err(Error::no_such_overload()),
    }
}

fn errored<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(decision(meter, args)?.error.is_some()))
}

fn error<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(decision(meter, args)?.error.as_deref().unwrap_or_default().into())
}

fn allowed<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(Value::Bool(decision(meter, args)?.allowed))
}

fn reason<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    Ok(decision(meter, args)?.reason.as_str().into())
}
