//! Lists, page by page.

use anyhow::Result;
use berth_apimachinery::Kind;
use berth_client::Client;
use http::Method;
use serde_json::Value;

/// The largest page of a list.
const PAGE: usize = 500;

/// The answer to a request for a list.
pub(super) enum Answer {
    /// The objects; none where the kind is not served.
    Objects(Vec<Value>),
    /// The refusal in the server's words.
    Refused(String),
}

/// The objects of a kind, of one namespace or of all, each with its apiVersion and kind.
pub(super) async fn of(client: &Client, kind: &dyn Kind, namespace: Option<&str>) -> Result<Answer> {
    let info = kind.info();
    let others = info.versions.iter().copied();
    let versions = std::iter::once(info.storage_version)
        .chain(others.filter(|version| *version != info.storage_version));
    for version in versions {
        let root = match info.group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        let path = match namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{}", info.plural),
            None => format!("{root}/{}", info.plural),
        };
        match pages(client, &path).await? {
            Ok(Some(mut objects)) => {
                for object in &mut objects {
                    object["apiVersion"] = info.api_version(version).into();
                    object["kind"] = info.kind.into();
                    if let Some(metadata) = object["metadata"].as_object_mut() {
                        // What no scheduler reads, and every write changes.
                        metadata.remove("managedFields");
                        metadata.remove("resourceVersion");
                    }
                }
                return Ok(Answer::Objects(objects));
            }
            Ok(None) => {}
            Err(message) => return Ok(Answer::Refused(message)),
        }
    }
    Ok(Answer::Objects(Vec::new()))
}

/// Every page of a list; nothing where there is no such list. It is asked of the server's cache, which costs its store
/// nothing.
async fn pages(client: &Client, path: &str) -> Result<std::result::Result<Option<Vec<Value>>, String>> {
    let (mut all, mut token) = (Vec::new(), String::new());
    loop {
        let page = match token.as_str() {
            "" => format!("{path}?limit={PAGE}&resourceVersion=0"),
            token => format!("{path}?limit={PAGE}&continue={token}"),
        };
        match client.send(Method::GET, &page, None).await? {
            Ok(mut list) => {
                if let Some(items) = list["items"].as_array_mut() {
                    all.append(items);
                }
                match list["metadata"]["continue"].as_str() {
                    Some(next) if !next.is_empty() => token = form(next),
                    _ => return Ok(Ok(Some(all))),
                }
            }
            // It took too long: what was read is of a moment that is gone.
            Err(status) if status.code == 410 && !token.is_empty() => {
                all.clear();
                token.clear();
            }
            Err(status) if status.code == 404 => return Ok(Ok(None)),
            Err(status) => return Ok(Err(status.message)),
        }
    }
}

/// A token of any server's as part of a query.
fn form(token: &str) -> String {
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
