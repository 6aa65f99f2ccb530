//! Protection of objects in use from deletion (docs/admission.md, "Guards"). The refusal names the objects
//! that use the object, if the audience may know them.
//!
//! In Berth's own store, a write that begins to use the object passes the object's fence ([`fence`]). The
//! deletion passes the fence, too, but fails if another write has passed it since the snapshot in which
//! nothing used the object. Decisions that count capacity also pass the fence: a binding that was decided
//! before the deletion fails at the fence, and is decided again without the deleted target. Any other write
//! that was admitted before the deletion does not fail if it is stored afterwards. A hub has no fences, so
//! there the protection is only as current as the watch.

use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::{Denial, GARBAGE_COLLECTORS, Operation, Plugin, Ready, Request, UserInfo};
use berth_apimachinery::write::Guard;
use berth_apimachinery::{GroupResource, Key, Object, Status};
use berth_dialect_contract::guarded::fence;
use berth_dialect_contract::{Dialect, ProtectedResource};
use berth_kubernetes::garbage::Protection;
use serde_json::Value;

use super::knowledge::{self, Knowledge};

/// Highest number of using objects that a refusal names.
const MOST_USERS: usize = 10;

/// The admission plugin that refuses to delete objects in use.
pub(super) struct InUseProtection {
    knowledge: Knowledge,
    rules: Vec<(Arc<dyn Dialect>, ProtectedResource)>,
}

impl InUseProtection {
    /// Creates the plugin for the resources that the dialects of the engine protect.
    pub(super) fn new(knowledge: Knowledge) -> Self {
        let rules = knowledge
            .dialects()
            .flat_map(|dialect| {
                let protected = dialect.guarded().protects.iter();
                protected.map(move |rule| (Arc::clone(dialect), *rule))
            })
            .collect();
        Self { knowledge, rules }
    }

    /// Returns the rule that protects `resource`, with the dialect of the rule.
    fn rule(&self, resource: GroupResource) -> Option<&(Arc<dyn Dialect>, ProtectedResource)> {
        self.rules.iter().find(|(_, rule)| rule.resource == resource)
    }

    /// Returns the dialect in which objects of `resource` use protected objects.
    fn user_dialect(&self, resource: GroupResource) -> Option<&Arc<dyn Dialect>> {
        let found = self.rules.iter().find(|(_, rule)| rule.used_by == resource);
        found.map(|(dialect, _)| dialect)
    }

    fn deletion(&self, request: &Request<'_>) -> Option<(&Arc<dyn Dialect>, GroupResource, Key)> {
        let (dialect, rule) = self.rule(request.resource)?;
        let key = Key::new(request.resource, request.namespace, request.name);
        Some((dialect, rule.used_by, key))
    }
}

impl Plugin for InUseProtection {
    fn name(&self) -> &'static str {
        "InUseProtection"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        match request.operation {
            Operation::Delete => request.subresource.is_empty() && self.rule(request.resource).is_some(),
            Operation::Create | Operation::Update => self.user_dialect(request.resource).is_some(),
            Operation::Connect => false,
        }
    }

    fn ready<'a>(&'a self, request: &Request<'_>) -> Option<Ready<'a>> {
        (request.operation == Operation::Delete).then(|| self.knowledge.ready())
    }

    fn validate(&self, request: &Request<'_>, _: Option<&Value>, _: &mut Vec<String>) -> Result<(), Denial> {
        if request.operation != Operation::Delete {
            return Ok(());
        }
        let Some((dialect, by, key)) = self.deletion(request) else {
            return Ok(());
        };
        let snapshot = self.knowledge.snapshot(dialect.name())?;
        let (first, count) = snapshot.inventory.guarding().users(&key, MOST_USERS);
        if count == 0 {
            return Ok(());
        }
        if !self.knowledge.audience().is_known() {
            return Err(Denial::Forbidden(format!("it is used by {by}")));
        }
        Err(refusal(request, by, &first, count))
    }

    fn guards(&self, request: &Request<'_>, object: Option<&Value>) -> Vec<Guard> {
        if request.operation == Operation::Delete {
            return self.deletion_guard(request).into_iter().collect();
        }
        let (Some(dialect), Some(object)) = (self.user_dialect(request.resource), object) else {
            return Vec::new();
        };
        let before = request
            .old
            .map(|old| (dialect.guarded().uses)(request.resource, old))
            .unwrap_or_default();
        let uses = (dialect.guarded().uses)(request.resource, object).into_iter();
        uses.filter(|key| !before.contains(key))
            .map(|key| Guard::pass(fence(dialect.name(), &key)))
            .collect()
    }
}

impl InUseProtection {
    /// Returns the guard of a deletion. The snapshot may be newer than in the validation: if the object is in
    /// use by now, or the snapshot is not complete, the guard always fails.
    fn deletion_guard(&self, request: &Request<'_>) -> Option<Guard> {
        let (dialect, _, key) = self.deletion(request)?;
        let name = fence(dialect.name(), &key);
        let Ok(snapshot) = self.knowledge.snapshot(dialect.name()) else {
            return Some(knowledge::failing_guard(key));
        };
        if snapshot.inventory.guarding().users(&key, 0).1 > 0 {
            return Some(knowledge::failing_guard(key));
        }
        Some(Guard::Fence {
            name,
            not_after: snapshot.revision,
        })
    }
}

/// Protects objects in use from the garbage collector and the namespace controller, which bypass admission.
#[async_trait]
impl Protection for InUseProtection {
    async fn permits(&self, key: &Key, object: &Object) -> Result<Vec<Guard>, String> {
        if self.rule(key.resource).is_none() {
            return Ok(Vec::new());
        }
        self.knowledge.ready().await.map_err(|status| status.message)?;
        let user = UserInfo {
            name: GARBAGE_COLLECTORS[0].to_owned(),
            ..UserInfo::default()
        };
        let request = Request {
            operation: Operation::Delete,
            resource: key.resource,
            kind: "",
            subresource: "",
            namespace: &key.namespace,
            name: &key.name,
            user: &user,
            old: Some(object.value()),
            dry_run: false,
        };
        let refused = |denial: Denial| denial.into_status(&request).message;
        self.validate(&request, None, &mut Vec::new()).map_err(refused)?;
        Ok(self.deletion_guard(&request).into_iter().collect())
    }
}

fn refusal(request: &Request<'_>, by: GroupResource, first: &[Key], count: usize) -> Denial {
    let shown: Vec<String> = first.iter().map(short).collect();
    let more = count - first.len();
    let mut text = format!("it is used by {count} {by}: {}", shown.join(", "));
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    let status = Status::forbidden(request.resource, request.name, &text);
    let status = shown.iter().fold(status, |status, user| {
        status.with_cause("InUse", format!("used by {} {user}", by.resource), "")
    });
    Denial::Status(Box::new(status))
}

fn short(key: &Key) -> String {
    if key.namespace.is_empty() {
        key.name.to_string()
    } else {
        format!("{}/{}", key.namespace, key.name)
    }
}
