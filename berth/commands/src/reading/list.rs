//! Lists of objects, requested page by page.

use anyhow::{Context as _, Result, bail};
use berth_apimachinery::{Kind, Status};
use berth_client::{Client, TextAnswer};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Highest number of objects in a page of a list.
const PAGE_LIMIT: usize = 500;

/// Answer to a request for a list.
pub(super) enum Answer {
    /// The objects; empty if the kind is not served.
    Objects(Objects),
    /// The reason why the list is refused, in the server's words.
    Refused(String),
}

/// Returns the server's refusal, if the caller may not list the objects of `kind`; a missing kind is no
/// refusal.
///
/// # Errors
/// When no server answers, or it fails.
pub(super) async fn refusal(client: &Client, kind: &dyn Kind) -> Result<Option<String>> {
    let page = format!("{}?limit=1", path(kind, kind.info().storage_version, None));
    let answer = client.raw(&page).await?;
    match answer.code {
        200 | 404 => Ok(None),
        _ => refusal_text(&page, &answer).map(Some),
    }
}

/// Returns the reason why the list at `page` is refused, in the server's words.
///
/// # Errors
/// When the server failed: the objects exist, and a decision without them would be wrong.
fn refusal_text(page: &str, answer: &TextAnswer) -> Result<String> {
    let with_path = |text: &str| format!("GET {page}: {}: {text}", answer.code);
    match (answer.code, serde_json::from_str::<Status>(&answer.text).ok()) {
        (403 | 405, Some(status)) => Ok(status.message),
        (403 | 405, None) => Ok(with_path(answer.text.trim())),
        (_, Some(status)) => bail!(with_path(&status.message)),
        (_, None) => bail!(with_path(answer.text.trim())),
    }
}

fn path(kind: &dyn Kind, version: &str, namespace: Option<&str>) -> String {
    let info = kind.info();
    let root = match info.group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    match namespace {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{}", info.plural),
        None => format!("{root}/{}", info.plural),
    }
}

/// Requests the objects of `kind` that the label selector `labels` matches, in `namespace` or in all
/// namespaces. The first version of the kind that the server has is used.
///
/// # Errors
/// When no server answers, or it fails.
pub(super) async fn of(
    client: &Client,
    kind: &dyn Kind,
    namespace: Option<&str>,
    labels: &str,
) -> Result<Answer> {
    let info = kind.info();
    let other_versions = info.versions.iter().copied();
    let versions = std::iter::once(info.storage_version)
        .chain(other_versions.filter(|version| *version != info.storage_version));
    for version in versions {
        let path = path(kind, version, namespace);
        match pages(client, &path, labels).await? {
            Ok(Some(items)) => {
                return Ok(Answer::Objects(Objects {
                    api_version: info.api_version(version),
                    kind: info.kind,
                    items,
                }));
            }
            Ok(None) => {}
            Err(message) => return Ok(Answer::Refused(message)),
        }
    }
    Ok(Answer::Objects(Objects::default()))
}

/// Requests all pages of a list; `None` if the resource is not served, an error text if the server refuses.
/// The server answers from its cache, so that the list causes no reads of its store.
async fn pages(
    client: &Client,
    path: &str,
    labels: &str,
) -> Result<std::result::Result<Option<Vec<Item>>, String>> {
    let selector = match labels {
        "" => String::new(),
        labels => format!("&labelSelector={}", escaped(labels)),
    };
    let (mut all, mut token) = (Vec::new(), String::new());
    loop {
        let page = match token.as_str() {
            "" => format!("{path}?limit={PAGE_LIMIT}&resourceVersion=0{selector}"),
            token => format!("{path}?limit={PAGE_LIMIT}&continue={token}{selector}"),
        };
        let answer = client.raw(&page).await?;
        match answer.code {
            200 => {
                let List { items, metadata } =
                    serde_json::from_str(&answer.text).with_context(|| format!("GET {page}"))?;
                all.extend(items);
                match metadata.next.as_str() {
                    "" => return Ok(Ok(Some(all))),
                    next => token = escaped(next),
                }
            }
            // The requests took too long: the server has compacted the revision of the list. Begin again.
            410 if !token.is_empty() => {
                all.clear();
                token.clear();
            }
            404 => return Ok(Ok(None)),
            _ => return refusal_text(&page, &answer).map(Err),
        }
    }
}

/// A page of a list.
#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default, deserialize_with = "items_or_none")]
    items: Vec<Item>,
}

/// `metadata` of a page.
#[derive(Default, Deserialize)]
struct Metadata {
    /// Token of the next page; empty on the last page.
    #[serde(default, rename = "continue")]
    next: String,
}

/// Parses the items of a page; servers in Go write null for an empty list.
fn items_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<Item>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Object as JSON bytes, without metadata that every write changes and no scheduler reads. A parsed tree
/// would take ten times the memory.
#[derive(Clone, Debug)]
struct Item(Box<[u8]>);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let mut object = Value::deserialize(deserializer)?;
        if !object.is_object() {
            return Err(D::Error::custom("an item of the list is not an object"));
        }
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
            metadata.remove("resourceVersion");
        }
        let bytes = serde_json::to_vec(&object).map_err(D::Error::custom)?;
        Ok(Self(bytes.into()))
    }
}

/// The objects of one kind, in a compact form.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    api_version: String,
    kind: &'static str,
    items: Vec<Item>,
}

impl Objects {
    /// Number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Parses each object, and adds the apiVersion and kind, which items of a list do not have.
    pub fn into_values(self) -> impl Iterator<Item = Value> {
        let Self {
            api_version,
            kind,
            items,
        } = self;
        items.into_iter().map(move |Item(bytes)| {
            let mut object: Value =
                serde_json::from_slice(&bytes).expect("the bytes were serialized as JSON");
            object["apiVersion"] = api_version.as_str().into();
            object["kind"] = kind.into();
            object
        })
    }
}

/// Escapes a page token or a selector for a query.
fn escaped(token: &str) -> String {
    let mut text = String::new();
    for byte in token.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte));
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_refusal_leaves_a_kind_out_and_a_failure_ends_the_command() {
        let text_of = |code: u16, text: &str| {
            let answer = TextAnswer {
                code,
                date: None,
                text: text.to_owned(),
            };
            refusal_text("/api/v1/things", &answer).map_err(|failure| failure.to_string())
        };
        let status = json!({"kind": "Status", "apiVersion": "v1", "message": "not for you"}).to_string();
        for code in [403, 405] {
            assert_eq!(text_of(code, &status), Ok("not for you".to_owned()));
            let text = format!("GET /api/v1/things: {code}: denied");
            assert_eq!(text_of(code, "denied\n"), Ok(text));
        }
        for code in [401, 410, 429, 500, 503] {
            let text = format!("GET /api/v1/things: {code}: not for you");
            assert_eq!(text_of(code, &status), Err(text));
        }
        let text = "GET /api/v1/things: 502: Bad Gateway".to_owned();
        assert_eq!(text_of(502, "Bad Gateway\n"), Err(text));
    }

    #[test]
    fn items_are_kept_without_what_every_write_changes_and_come_back_with_their_kind() {
        let page = json!({
            "metadata": {"continue": "next"},
            "items": [{"metadata": {"name": "one", "resourceVersion": "7", "managedFields": [{"manager": "kubectl"}]}, "spec": {"a": 1}}],
        });
        let List { items, metadata } = serde_json::from_value(page).unwrap();
        assert_eq!(metadata.next, "next");
        let objects = Objects {
            api_version: "example.com/v1".to_owned(),
            kind: "Thing",
            items,
        };
        let one = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "one"}, "spec": {"a": 1}});
        assert_eq!(
            (objects.len(), objects.into_values().collect::<Vec<_>>()),
            (1, vec![one])
        );
        let of = |items: Value| serde_json::from_value::<List>(json!({"items": items}));
        assert!(of(json!(null)).unwrap().items.is_empty(), "Go writes no items so");
        assert!(of(json!(["text"])).is_err());
    }
}
