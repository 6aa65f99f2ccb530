//! The fields of an audit event (docs/reference.md, "Audit").

use std::collections::BTreeMap;

use berth_admission::UserInfo;
use berth_apimachinery::{Timestamp, time};
use serde::{Serialize, Serializer};

use super::level::{Level, Stage};

/// An event of kind `audit.k8s.io/v1` Event.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event<'a> {
    pub(crate) kind: &'static str,
    pub(crate) api_version: &'static str,
    pub(crate) level: Level,
    #[serde(rename = "auditID")]
    pub(crate) audit_id: &'a str,
    pub(crate) stage: Stage,
    #[serde(rename = "requestURI")]
    pub(crate) request_uri: &'a str,
    pub(crate) verb: &'a str,
    pub(crate) user: User<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) impersonated_user: Option<User<'a>>,
    #[serde(rename = "sourceIPs", skip_serializing_if = "<[String]>::is_empty")]
    pub(crate) source_ips: &'a [String],
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) user_agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) object_ref: Option<ObjectReference<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) response_status: Option<ResponseStatus<'a>>,
    #[serde(serialize_with = "micro")]
    pub(crate) request_received_timestamp: Timestamp,
    #[serde(serialize_with = "micro")]
    pub(crate) stage_timestamp: Timestamp,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
    /// Body of the request as JSON on one line, inserted unchanged.
    #[serde(skip)]
    pub(crate) request_object: Option<&'a [u8]>,
    /// Body of the response as JSON on one line, inserted unchanged.
    #[serde(skip)]
    pub(crate) response_object: Option<&'a [u8]>,
}

impl Event<'_> {
    /// Returns the event as JSON on one line, without the newline.
    pub(crate) fn line(&self) -> serde_json::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(self)?;
        let bodies = [
            ("requestObject", self.request_object),
            ("responseObject", self.response_object),
        ];
        for (name, body) in bodies {
            let Some(body) = body else { continue };
            // Appends the body before the closing brace, without parsing it: it is JSON already, and may be
            // large.
            line.pop();
            line.extend_from_slice(format!(",\"{name}\":").as_bytes());
            line.extend_from_slice(body);
            line.push(b'}');
        }
        Ok(line)
    }
}

/// A user in an event: the user of the request, or the impersonated user.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct User<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    username: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    groups: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extra: &'a BTreeMap<String, Vec<String>>,
}

impl<'a> From<&'a UserInfo> for User<'a> {
    fn from(user: &'a UserInfo) -> Self {
        Self {
            username: &user.name,
            uid: &user.uid,
            groups: &user.groups,
            extra: &user.extra,
        }
    }
}

/// Object of the request.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ObjectReference<'a> {
    pub(crate) resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) namespace: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) api_group: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) api_version: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) subresource: &'a str,
}

/// Outcome of the request; message and reason are set only for failures that the server itself reports, and
/// for a request that has no answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ResponseStatus<'a> {
    pub(crate) metadata: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) status: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) reason: &'a str,
    /// Code of the answer; `None` if there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<u16>,
}

fn micro<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&time::rfc3339_micro(*at))
}
