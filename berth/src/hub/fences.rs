//! Capacity counted by several replicas at once, on a hub that has no transactions.
//!
//! Each counted capacity (such as the shoots of one seed) has a Lease in Berth's own namespace, its *fence*. Whoever
//! writes a decision that counts on it first notes there which objects it is about to write, and on which version of
//! each. The fence changes hands by the hub's own comparison of resourceVersions, so of two replicas one comes first.
//! The second passes only if the snapshot it decided on shows every noted object past the noted version: then what the
//! first wrote has been counted (and, since the hub's events of a resource come in order, whatever was written before
//! it). An object that stays at the noted version is one whose writer has died or stands still; the second *touches* it,
//! so that the first, should it come back, finds its version gone. So no capacity is ever counted twice, whoever stops
//! where, and no clock is asked.

use std::time::Duration;

use dialect_contract::{Write, WriteVerb};
use http::Method;
use kube::Client;
use meta::{GroupResource, Key, Revision, Status};
use serde_json::{Value, json};
use uuid::Uuid;

use super::lease::LeaseKeeper;
use super::mirror::{Copies, Shadow};
use super::wire::{self, Ask, Wire};

/// The annotation with the fence's name, for people.
const NAME: &str = "scheduling.berth.dev/fence";
/// The annotation with the noted writes.
const NOTED: &str = "scheduling.berth.dev/noted";
/// The annotation a touched object gets.
const TOUCHED: &str = "scheduling.berth.dev/touched";
/// How long a noted write may take to be seen before its object is touched.
const PATIENCE: Duration = Duration::from_secs(3);

/// The fences of one hub.
pub(super) struct Fences {
    client: Client,
    namespace: String,
    copies: Copies,
}

/// A write somebody noted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Noted {
    api_version: String,
    group: String,
    resource: String,
    namespace: String,
    name: String,
    version: String,
}

impl Noted {
    fn read(value: &Value) -> Option<Self> {
        let text = |field: &str| value[field].as_str().map(str::to_owned);
        Some(Self {
            api_version: text("apiVersion")?,
            group: text("group")?,
            resource: text("resource")?,
            namespace: text("namespace")?,
            name: text("name")?,
            version: text("resourceVersion")?,
        })
    }

    fn value(&self) -> Value {
        json!({
            "apiVersion": self.api_version, "group": self.group, "resource": self.resource,
            "namespace": self.namespace, "name": self.name, "resourceVersion": self.version,
        })
    }
}

/// The names of groups and resources that live as long as the program: those of the objects at hand.
fn known(noted: &Noted, own: &[Key]) -> Option<Key> {
    let same =
        |resource: &GroupResource| resource.group == noted.group && resource.resource == noted.resource;
    let resource = own.iter().map(|key| key.resource).find(same)?;
    Some(Key::new(resource, &noted.namespace, &noted.name))
}

impl Fences {
    pub(super) fn new(client: Client, namespace: String, copies: Copies) -> Self {
        Self {
            client,
            namespace,
            copies,
        }
    }

    /// Passes the fence `name` for `writes`, each with the hub's version it is made on, decided on a snapshot at
    /// `not_after`.
    ///
    /// # Errors
    /// 409 when the decision must be made again, else the hub's refusal.
    pub(super) async fn pass(
        &self,
        name: &str,
        writes: &[(&Write, String)],
        not_after: Revision,
        actor: &str,
    ) -> Result<(), Status> {
        let object = format!("fence-{}", Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()));
        let keeper = LeaseKeeper::new(self.client.clone(), &self.namespace, &object);
        let record = keeper.get().await?;
        if let Some(record) = &record {
            let noted = record.value["metadata"]["annotations"][NOTED]
                .as_str()
                .unwrap_or("[]");
            let noted: Vec<Value> = serde_json::from_str(noted).unwrap_or_default();
            let own: Vec<Key> = writes.iter().map(|(write, _)| write.key.clone()).collect();
            for noted in noted.iter().filter_map(Noted::read) {
                self.resolve(&noted, &own, not_after, actor).await?;
            }
        }
        let noted: Vec<Value> = writes
            .iter()
            .filter(|(write, _)| write.verb != WriteVerb::Create)
            .map(|(write, version)| note(write, version).value())
            .collect();
        let mut value = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": object, "namespace": self.namespace, "annotations": {NAME: name}},
            "spec": {},
        });
        value["metadata"]["annotations"][NOTED] = Value::Array(noted).to_string().into();
        if keeper.put(record.as_ref(), &value).await? {
            return Ok(());
        }
        Err(moved(name))
    }

    /// Lets the write that was `noted` come to an end: it is seen, or it cannot be made any more.
    async fn resolve(
        &self,
        noted: &Noted,
        own: &[Key],
        not_after: Revision,
        actor: &str,
    ) -> Result<(), Status> {
        // What a fence counts is of one resource; another's is none of its business.
        let Some(key) = known(noted, own) else {
            return Ok(());
        };
        // What is gone counts no more.
        let Some(copy) = self.copies.get(&key) else {
            return Ok(());
        };
        let version = self.copies.version(&key, &copy);
        if version.is_some_and(|version| version != noted.version) && copy.revision() <= not_after {
            return Ok(());
        }
        let is_past = |shadow: Option<&Shadow>| shadow.is_none_or(|shadow| shadow.version != noted.version);
        if !self.copies.until(&key, PATIENCE, is_past).await {
            self.touch(noted, &key, actor).await?;
        }
        Err(moved(&key.to_string()))
    }

    /// Changes the object at `key` if it is at the noted version, so that nothing can be written on that any more.
    async fn touch(&self, noted: &Noted, key: &Key, actor: &str) -> Result<(), Status> {
        tracing::info!(%key, "a noted write did not come; its object is touched");
        let patch = json!({"metadata": {
            "resourceVersion": noted.version, "annotations": {TOUCHED: noted.version},
        }});
        let ask = Ask {
            method: Method::PATCH,
            path: &wire::object(&noted.api_version, key),
            actor,
            body: Some(&patch),
        };
        match Wire(self.client.clone()).send(ask).await {
            Ok(_) => Ok(()),
            // It has moved on, or is gone, by itself.
            Err(status) if status.code == 409 || status.code == 404 => Ok(()),
            Err(status) => Err(status),
        }
    }
}

fn note(write: &Write, version: &str) -> Noted {
    Noted {
        api_version: write.object["apiVersion"].as_str().unwrap_or_default().to_owned(),
        group: write.key.resource.group.to_owned(),
        resource: write.key.resource.resource.to_owned(),
        namespace: write.key.namespace.to_string(),
        name: write.key.name.to_string(),
        version: version.to_owned(),
    }
}

fn moved(what: &str) -> Status {
    Status::failure(
        409,
        "Conflict",
        format!("{what} has changed since it was decided on"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_back() {
        let noted = Noted {
            api_version: "core.gardener.cloud/v1beta1".to_owned(),
            group: "core.gardener.cloud".to_owned(),
            resource: "shoots".to_owned(),
            namespace: "garden-dev".to_owned(),
            name: "one".to_owned(),
            version: "17".to_owned(),
        };
        assert_eq!(Noted::read(&noted.value()), Some(noted.clone()));
        assert_eq!(Noted::read(&json!({"name": "one"})), None);
        let shoots = GroupResource::new("core.gardener.cloud", "shoots");
        let own = [Key::new(shoots, "garden-dev", "two")];
        assert_eq!(known(&noted, &own), Some(Key::new(shoots, "garden-dev", "one")));
        assert_eq!(known(&noted, &[]), None);
    }
}
