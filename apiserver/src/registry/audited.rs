//! Audit events of in-process writes, with their user and cause.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::write::{CommitError, Verb, Write};
use berth_apimachinery::{Object, Status, Timestamp};

use super::transaction::{Author, Origin};
use super::{InstallError, Registry};
use crate::annotations::Annotations;
use crate::audit::{
    self, Audit, Event, Level, ObjectReference, PolicyAttributes, ResponseStatus, Stage, Verdict,
};

impl Registry {
    /// Sets the audit log of in-process writes, which can be set once.
    ///
    /// # Errors
    /// When an audit log is already set.
    pub fn audit(&self, audit: Audit) -> Result<(), InstallError> {
        self.audit
            .set(audit)
            .map_err(|_| InstallError::AlreadySet("an audit log"))
    }

    /// Creates the annotations of an in-process write that comes from `origin`.
    pub(super) fn annotations(&self, origin: &Origin) -> Annotations {
        match &origin.annotations {
            Some(request) => request.empty_in_same_domain(),
            None => self.audit.get().map(Audit::annotations).unwrap_or_default(),
        }
    }

    /// Records a list of writes that was committed or refused, with one of `write_annotations` for each.
    /// Writes without a cause belong to a request, which has an audit event of its own.
    pub(super) async fn record(
        &self,
        author: Author<'_>,
        writes: &[Write],
        write_annotations: &[Annotations],
        since: Timestamp,
        result: Result<&[Arc<Object>], &CommitError>,
    ) {
        let (Some(audit), Some(cause)) = (self.audit.get(), author.cause) else {
            return;
        };
        for (index, write) in writes.iter().enumerate() {
            let outcome = result
                .map(|objects| objects.get(index).map(AsRef::as_ref))
                .map_err(|error| &error.status);
            let annotations = write_annotations.get(index).cloned();
            let annotations = annotations.unwrap_or_else(|| audit.annotations());
            annotations.add_own("audit", "cause", cause);
            self.record_one(audit, author, &annotations, write, since, outcome)
                .await;
        }
    }

    /// Records one write, if the audit policy requires it.
    async fn record_one(
        &self,
        audit: &Audit,
        author: Author<'_>,
        annotations: &Annotations,
        write: &Write,
        since: Timestamp,
        outcome: Result<Option<&Object>, &Status>,
    ) {
        let key = &write.key;
        let (group, resource) = (key.resource.group, key.resource.resource);
        let attributes = PolicyAttributes {
            user: &author.user.name,
            groups: &author.user.groups,
            verb: write.verb.as_str(),
            is_resource: true,
            path: "",
            group,
            resource,
            subresource: write.subresource,
            namespace: &key.namespace,
            name: &key.name,
        };
        let verdict = audit.judge(attributes);
        if !verdict.writes(Stage::ResponseComplete) {
            return;
        }
        let version = self.preferred(key.resource).map_or("", |served| served.version);
        let is_confidential = audit::are_confidential(attributes);
        let bodies = Bodies {
            verdict: &verdict,
            is_confidential,
            annotations,
        };
        let request = bodies.request(write);
        let response = outcome.ok().flatten().and_then(|object| bodies.response(object));
        let id = uuid::Uuid::new_v4().to_string();
        let uri = uri(write, group, version, resource);
        audit
            .record(&Event {
                kind: "Event",
                api_version: "audit.k8s.io/v1",
                level: verdict.level,
                audit_id: &id,
                stage: Stage::ResponseComplete,
                request_uri: &uri,
                verb: write.verb.as_str(),
                user: author.user.into(),
                impersonated_user: None,
                source_ips: &[],
                user_agent: author.manager,
                object_ref: Some(ObjectReference {
                    resource,
                    namespace: &key.namespace,
                    name: &key.name,
                    api_group: group,
                    api_version: version,
                    subresource: write.subresource,
                }),
                response_status: Some(status(write.verb, outcome, is_confidential)),
                request_received_timestamp: since,
                stage_timestamp: self.clock().now(),
                annotations: annotations.all(),
                request_object: request.as_deref(),
                response_object: response.as_deref(),
            })
            .await;
    }
}

/// Bodies in the audit event of one write.
struct Bodies<'a> {
    verdict: &'a Verdict,
    is_confidential: bool,
    /// Annotations of the event, which receive the reason why a body is omitted.
    annotations: &'a Annotations,
}

impl Bodies<'_> {
    /// Returns the object in the request, if the audit policy requires it.
    fn request(&self, write: &Write) -> Option<Vec<u8>> {
        if write.verb == Verb::Delete {
            return None;
        }
        self.body(Level::Request, "request-object", || {
            write.object.to_string().into_bytes()
        })
    }

    /// Returns the stored object, if the audit policy requires it.
    fn response(&self, object: &Object) -> Option<Vec<u8>> {
        self.body(Level::RequestResponse, "response-object", || {
            let mut bytes = Vec::with_capacity(object.len());
            object.write(&mut bytes);
            bytes
        })
    }

    fn body(&self, level: Level, name: &str, bytes: impl FnOnce() -> Vec<u8>) -> Option<Vec<u8>> {
        if self.verdict.level < level {
            return None;
        }
        let result = match self.is_confidential {
            true => Err(audit::CONFIDENTIAL),
            false => audit::json_line("application/json", &bytes(), self.verdict.omit_managed_fields),
        };
        match result {
            Ok(line) => Some(line),
            Err(why) => {
                self.annotations.add_own("audit", &format!("omitted-{name}"), why);
                None
            }
        }
    }
}

/// Returns the path of a request for `write`.
fn uri(write: &Write, group: &str, version: &str, resource: &str) -> String {
    let mut uri = match group {
        "" => format!("/api/{version}"),
        group => format!("/apis/{group}/{version}"),
    };
    let key = &write.key;
    if !key.namespace.is_empty() {
        uri.push_str(&format!("/namespaces/{}", key.namespace));
    }
    uri.push_str(&format!("/{resource}"));
    if write.verb != Verb::Create {
        uri.push_str(&format!("/{}", key.name));
    }
    if !write.subresource.is_empty() {
        uri.push_str(&format!("/{}", write.subresource));
    }
    uri
}

/// Returns the status of a write. Messages about `confidential` objects are omitted, since they may quote the
/// object.
fn status<'a>(
    verb: Verb,
    outcome: Result<Option<&Object>, &'a Status>,
    confidential: bool,
) -> ResponseStatus<'a> {
    let (message, reason, code) = match outcome {
        Ok(_) => ("", "", if verb == Verb::Create { 201 } else { 200 }),
        Err(failure) if confidential => ("", failure.reason.as_str(), failure.code),
        Err(failure) => (failure.message.as_str(), failure.reason.as_str(), failure.code),
    };
    ResponseStatus {
        metadata: BTreeMap::new(),
        status: if code < 400 { "" } else { "Failure" },
        message,
        reason,
        code: Some(code),
    }
}
