//! Audit events of in-process writes, with their user and cause.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::write::{CommitError, Verb, Write};
use berth_apimachinery::{Object, Status, Timestamp};

use super::transaction::{Author, Origin};
use super::{InstallError, Registry};
use crate::annotations::Annotations;
use crate::audit::{self, Audit, Event, Level, ObjectReference, PolicyAttributes, ResponseStatus, Stage};

impl Registry {
    /// Records in-process writes in `audit`, which can be set once.
    ///
    /// # Errors
    /// When an audit log is set already.
    pub fn audit(&self, audit: Audit) -> Result<(), InstallError> {
        self.audit
            .set(audit)
            .map_err(|_| InstallError::Already("an audit log"))
    }

    /// Creates the annotations of an in-process write that comes from `origin`.
    pub(super) fn annotations(&self, origin: &Origin) -> Annotations {
        match &origin.annotations {
            Some(request) => request.another(),
            None => self.audit.get().map(Audit::annotations).unwrap_or_default(),
        }
    }

    /// Records a list of writes that was committed or refused, with the annotations `notes` for each. Writes
    /// without a cause are part of a request, which has an event of its own.
    pub(super) async fn record(
        &self,
        author: Author<'_>,
        writes: &[Write],
        notes: &[Annotations],
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
            let annotations = notes.get(index).cloned();
            let annotations = annotations.unwrap_or_else(|| audit.annotations());
            annotations.add_own("audit", "cause", cause);
            self.record_one(audit, author, &annotations, write, since, outcome)
                .await;
        }
    }

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
        let body = |level: Level, name: &str, bytes: &dyn Fn() -> Vec<u8>| {
            if verdict.level < level {
                return None;
            }
            let result = match audit::are_confidential(attributes) {
                true => Err(audit::CONFIDENTIAL),
                false => audit::line("application/json", &bytes(), verdict.omit_managed_fields),
            };
            match result {
                Ok(line) => Some(line),
                Err(why) => {
                    annotations.add_own("audit", &format!("omitted-{name}"), why);
                    None
                }
            }
        };
        let request = match write.verb {
            Verb::Delete => None,
            _ => body(Level::Request, "request-object", &|| {
                write.object.to_string().into_bytes()
            }),
        };
        let stored = outcome.ok().flatten();
        let response = stored.and_then(|object| {
            body(Level::RequestResponse, "response-object", &|| {
                let mut bytes = Vec::with_capacity(object.len());
                object.write(&mut bytes);
                bytes
            })
        });
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
                response_status: Some(status(write.verb, outcome, audit::are_confidential(attributes))),
                request_received_timestamp: since,
                stage_timestamp: self.clock().now(),
                annotations: annotations.all(),
                request_object: request.as_deref(),
                response_object: response.as_deref(),
            })
            .await;
    }
}

/// Path of a request that would make the same write.
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

/// Outcome of a write. Messages about credentials are omitted: they may quote the object.
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
        code,
    }
}
