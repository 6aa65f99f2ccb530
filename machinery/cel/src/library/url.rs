//! Functions of URLs, which are parsed like the URI of a request by Go's `net/url`: absolute, or an absolute
//! path.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Function, Outcome, function, strings};
use crate::error::Error;
use crate::meter::Meter;
use crate::value::url::unescaped;
use crate::value::{Key, Map, Text, Url, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    function("url", &["(string) URL"], |meter, args| {
        let text = strings::text(args, 0)?;
        meter.charge_bytes(text.len())?;
        let url = Url::read(text);
        Ok(Value::Url(Arc::new(url.map_err(|problem| {
            Error::failed(format!(
                "URL parse error during conversion from string: {problem}"
            ))
        })?)))
    }),
    function("isURL", &["(string) bool"], |meter, args| {
        let text = strings::text(args, 0)?;
        meter.charge_bytes(text.len())?;
        Ok(Value::Bool(Url::read_request_uri(text).is_ok()))
    }),
    function("getScheme", PART, |meter, args| {
        part(meter, args, |url| url.scheme.clone())
    }),
    function("getHost", PART, |meter, args| {
        part(meter, args, |url| url.host.clone())
    }),
    function("getHostname", PART, |meter, args| {
        part(meter, args, |url| url.split_host().0)
    }),
    function("getPort", PART, |meter, args| {
        part(meter, args, |url| url.split_host().1)
    }),
    function("getEscapedPath", PART, |meter, args| {
        part(meter, args, Url::escaped_path)
    }),
    function("getQuery", &["URL.() map(string, list(string))"], query),
];

const PART: &[&str] = &["URL.() string"];

fn part<'a>(meter: &mut Meter, args: &[Value<'a>], read: fn(&Url) -> String) -> Outcome<'a> {
    meter.charge(1)?;
    match args {
        [Value::Url(url)] => {
            meter.charge_bytes(url.path.len() + url.host.len())?;
            Ok(read(url).into())
        }
        _ => Err(Error::no_such_overload()),
    }
}

fn query<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Url(url)] = args else {
        return Err(Error::no_such_overload());
    };
    meter.charge_bytes(4 * url.query.len())?;
    let mut all: BTreeMap<Key<'a>, Vec<Value<'a>>> = BTreeMap::new();
    let decoded =
        |text: &str| unescaped(text, true).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    for pair in url
        .query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
    {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Some(key), Some(value)) = (decoded(key), decoded(value)) {
            meter.charge(2)?;
            let key = Key::String(Text::Shared(key.into()));
            all.entry(key).or_default().push(value.into());
        }
    }
    let map = all
        .into_iter()
        .map(|(key, values)| (key, values.into()))
        .collect();
    Ok(Value::Map(Map::Values(Arc::new(map))))
}
