//! The audit log of kube-apiserver: users, requests and answers since an instant.

use berth_apimachinery::Clock as _;
use berth_apiserver::SystemClock;
use serde_json::Value;

use super::Hub;

/// Berth's own user on a hub.
pub const BERTH_USER: &str = "system:serviceaccount:berth-system:berth";

/// Resource, namespace and name of the writes of an observing Berth: its Lease, its CA, the caBundle of its
/// APIService, and reviews of the callers' tokens and rights (docs/security.md, "Rights by mode").
const OBSERVERS: [&str; 8] = [
    "leases.coordination.k8s.io berth-system/berth-controllers",
    "secrets berth-system/berth-ca",
    "configmaps berth-system/berth-ca",
    "apiservices.apiregistration.k8s.io /v1alpha1.scheduling.berth.dev",
    "tokenreviews.authentication.k8s.io /",
    "subjectaccessreviews.authorization.k8s.io /",
    "selfsubjectaccessreviews.authorization.k8s.io /",
    "selfsubjectreviews.authentication.k8s.io /",
];

/// One answered request.
#[derive(Clone, Debug)]
pub struct Entry(Value);

impl Entry {
    /// The user of the credentials, even when another user is impersonated.
    #[must_use]
    pub fn user(&self) -> &str {
        text(&self.0["user"]["username"])
    }

    /// The verb: `get`, `list`, `create`, `patch`.
    #[must_use]
    pub fn verb(&self) -> &str {
        text(&self.0["verb"])
    }

    /// Whether the request may have changed objects.
    #[must_use]
    pub fn is_write(&self) -> bool {
        !["get", "list", "watch"].contains(&self.verb())
    }

    /// The HTTP code of the answer.
    #[must_use]
    pub fn code(&self) -> u64 {
        self.0["responseStatus"]["code"].as_u64().unwrap_or_default()
    }

    /// The resource with its subresource and group: `placements/status.cluster.open-cluster-management.io`,
    /// `secrets`; the path where there is no resource.
    #[must_use]
    pub fn resource(&self) -> String {
        let object = &self.0["objectRef"];
        let joined = |separator: &str, field: &str| match text(&object[field]) {
            "" => String::new(),
            some => format!("{separator}{some}"),
        };
        match text(&object["resource"]) {
            "" => text(&self.0["requestURI"]).to_owned(),
            resource => format!(
                "{resource}{}{}",
                joined("/", "subresource"),
                joined(".", "apiGroup")
            ),
        }
    }

    /// The namespace of the object, or empty.
    #[must_use]
    pub fn namespace(&self) -> &str {
        text(&self.0["objectRef"]["namespace"])
    }

    /// The name of the object; empty for a collection and for most creates.
    #[must_use]
    pub fn name(&self) -> &str {
        text(&self.0["objectRef"]["name"])
    }

    /// Message of the refusal, or empty.
    #[must_use]
    pub fn message(&self) -> &str {
        text(&self.0["responseStatus"]["message"])
    }

    /// Whether one of Berth's webhooks or policies refused the request, or the call of such a webhook
    /// failed.
    #[must_use]
    pub fn is_refused_by_berth(&self) -> bool {
        let says = |text: &str| self.message().contains(text);
        let denied = says("denied the request") || says("denied request");
        self.code() >= 400 && (denied && says("berth") || says("calling webhook"))
    }

    /// A line with the request, for messages of tests.
    #[must_use]
    pub fn summary(&self) -> String {
        let place = [self.namespace(), self.name()];
        let (user, verb, resource, code) = (self.user(), self.verb(), self.resource(), self.code());
        format!(
            "{user}: {verb} {resource} {}: {code} {}",
            place.join("/"),
            self.message()
        )
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The requests to a hub since an instant.
pub struct Witness<'a> {
    hub: &'a Hub,
    since: String,
}

impl<'a> Witness<'a> {
    pub(super) fn new(hub: &'a Hub) -> Self {
        Self {
            hub,
            since: format!("{:.6}", SystemClock.now()),
        }
    }

    /// The requests since the instant, in the order of their answers.
    ///
    /// # Panics
    /// On a hub without an audit log.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let folder = std::fs::read_dir(self.hub.folder()).expect("the hub has a folder");
        let mut files: Vec<_> = folder
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path
                    .file_name()
                    .and_then(|name| name.to_str())
                    .unwrap_or_default();
                name.starts_with("audit") && name.ends_with(".log")
            })
            .collect();
        // A large log is rotated: the older files have the time in their names.
        files.sort();
        assert!(!files.is_empty(), "the hub keeps an audit log");
        let mut entries = Vec::new();
        for file in files {
            let log = std::fs::read_to_string(&file).expect("the audit log can be read");
            // The last line may be incomplete.
            let events = log
                .lines()
                .filter_map(|line| serde_json::from_str::<Value>(line).ok());
            entries.extend(
                events
                    .filter(|event| text(&event["requestReceivedTimestamp"]) >= self.since.as_str())
                    .map(Entry),
            );
        }
        entries
    }

    /// Writes of `user` since the instant, with or without impersonation.
    #[must_use]
    pub fn writes_of(&self, user: &str) -> Vec<Entry> {
        let mut entries = self.entries();
        entries.retain(|entry| entry.is_write() && entry.user() == user);
        entries
    }

    /// Requires that Berth has written since the instant, but only the writes of an observer and those
    /// that are `further` allowed.
    ///
    /// # Panics
    /// Without writes, or after another write.
    pub fn requires_observing(&self, further: &[&str]) {
        let writes = self.writes_of(BERTH_USER);
        assert!(!writes.is_empty(), "it renews its Lease at least");
        let is_own = |entry: &&Entry| {
            let target = format!("{} {}/{}", entry.resource(), entry.namespace(), entry.name());
            // A create has no name before it is stored.
            let unnamed = entry.verb() == "create" && entry.name().is_empty();
            let mut own = OBSERVERS.iter().chain(further);
            own.any(|own| *own == target || unnamed && own.starts_with(&target))
        };
        let others: Vec<String> = writes
            .iter()
            .filter(|entry| !is_own(entry))
            .map(Entry::summary)
            .collect();
        assert!(others.is_empty(), "{others:#?}");
    }

    /// Lines with all requests that Berth refused since the instant.
    #[must_use]
    pub fn refused_by_berth(&self) -> Vec<String> {
        let entries = self.entries();
        let refused = entries.iter().filter(|entry| entry.is_refused_by_berth());
        refused.map(Entry::summary).collect()
    }
}
