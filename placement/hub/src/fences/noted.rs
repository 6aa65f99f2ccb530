//! Notes in a fence about the writes that replicas are about to make, or have made.

use std::collections::BTreeSet;

use berth_apimachinery::write::{Verb, Write};
use berth_apimachinery::{GroupResource, Key};
use serde_json::{Map, Value, json};

/// The annotation with the noted writes.
const NOTED: &str = "scheduling.berth.dev/noted";
/// The annotation with the last noted writes that a snapshot has counted.
const COUNTED: &str = "scheduling.berth.dev/counted";
/// The annotation with noted creates that did not happen.
const ABANDONED: &str = "scheduling.berth.dev/abandoned";

/// The notes in a fence.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Writes that the last replica to pass was about to make.
    pub(super) noted: Vec<NotedWrite>,
    /// The last noted writes of each resource that a snapshot has counted. A snapshot with them has all
    /// earlier writes.
    pub(super) counted: Vec<NotedWrite>,
    /// Creates that did not happen.
    pub(super) abandoned: Vec<NotedWrite>,
}

impl Notes {
    pub(super) fn read(fence: &Value) -> Self {
        Self {
            noted: read(fence, NOTED),
            counted: read(fence, COUNTED),
            abandoned: read(fence, ABANDONED),
        }
    }

    /// Adds the notes to the `annotations` of a fence.
    pub(super) fn write(&self, annotations: &mut Map<String, Value>) {
        for (name, notes) in [
            (NOTED, &self.noted),
            (COUNTED, &self.counted),
            (ABANDONED, &self.abandoned),
        ] {
            annotations.insert(name.to_owned(), text(notes).into());
        }
    }
}

/// A note about one write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotedWrite {
    pub(super) api_version: String,
    group: String,
    resource: String,
    namespace: String,
    name: String,
    /// The resourceVersion of the object before the write; empty for an object that is about to be created.
    pub(super) version: String,
    /// Identity of the process that noted the write; empty where other processes have noted it before.
    pub(super) holder: String,
    /// Identity of the commit, the same at all its fences; empty in a note of an older server.
    pub(super) commit: String,
}

impl NotedWrite {
    /// The note about `write` to the object with the resourceVersion `version`, by the process `holder` in
    /// its commit `commit`.
    pub(super) fn of(write: &Write, version: &str, holder: &str, commit: &str) -> Self {
        let is_create = write.verb == Verb::Create;
        Self {
            api_version: write.object["apiVersion"].as_str().unwrap_or_default().to_owned(),
            group: write.key.resource.group.to_owned(),
            resource: write.key.resource.resource.to_owned(),
            namespace: write.key.namespace.to_string(),
            name: write.key.name.to_string(),
            version: if is_create {
                String::new()
            } else {
                version.to_owned()
            },
            holder: holder.to_owned(),
            commit: commit.to_owned(),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |field: &str| value[field].as_str().map(str::to_owned);
        Some(Self {
            api_version: text("apiVersion")?,
            group: text("group")?,
            resource: text("resource")?,
            namespace: text("namespace")?,
            name: text("name")?,
            version: text("resourceVersion")?,
            // Older fences lack these fields.
            holder: text("holder").unwrap_or_default(),
            commit: text("commit").unwrap_or_default(),
        })
    }

    fn value(&self) -> Value {
        json!({
            "apiVersion": self.api_version, "group": self.group, "resource": self.resource,
            "namespace": self.namespace, "name": self.name, "resourceVersion": self.version, "holder": self.holder,
            "commit": self.commit,
        })
    }

    /// Whether the note is about the making of an object.
    pub(super) fn is_create(&self) -> bool {
        self.version.is_empty()
    }

    /// Whether both notes are about objects of one resource.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        (&self.group, &self.resource) == (&other.group, &other.resource)
    }

    /// Whether the note is about the object at `key`.
    pub(super) fn is_about(&self, key: &Key) -> bool {
        let resource = key.resource;
        (self.group.as_str(), self.resource.as_str()) == (resource.group, resource.resource)
            && *self.namespace == *key.namespace
            && *self.name == *key.name
    }

    /// The key of the noted object; `None` if its resource is not in `resources`, which have the static names
    /// that a key needs.
    pub(super) fn key(&self, resources: &BTreeSet<GroupResource>) -> Option<Key> {
        let is_noted =
            |resource: &&GroupResource| resource.group == self.group && resource.resource == self.resource;
        let resource = resources.iter().find(is_noted)?;
        Some(Key::new(*resource, &self.namespace, &self.name))
    }
}

/// The notes in the annotation `name` of a fence. Only Berth writes the annotation; notes that cannot be read
/// are logged and left out.
fn read(fence: &Value, name: &str) -> Vec<NotedWrite> {
    let text = fence["metadata"]["annotations"][name].as_str().unwrap_or("[]");
    let noted: Vec<Value> = serde_json::from_str(text).unwrap_or_else(|error| {
        tracing::warn!(annotation = name, %error, "the notes of a fence cannot be read: writes of other servers that they name do not count");
        Vec::new()
    });
    noted.iter().filter_map(NotedWrite::read).collect()
}

/// The annotation value for `notes`.
fn text(notes: &[NotedWrite]) -> String {
    Value::Array(notes.iter().map(NotedWrite::value).collect()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_back() {
        let noted = NotedWrite {
            api_version: "core.gardener.cloud/v1beta1".to_owned(),
            group: "core.gardener.cloud".to_owned(),
            resource: "shoots".to_owned(),
            namespace: "garden-dev".to_owned(),
            name: "one".to_owned(),
            version: "17".to_owned(),
            holder: "me".to_owned(),
            commit: "first".to_owned(),
        };
        let fence =
            json!({"metadata": {"annotations": {"noted": text(std::slice::from_ref(&noted)), "bad": "no"}}});
        assert_eq!(read(&fence, "noted"), std::slice::from_ref(&noted));
        assert_eq!((read(&fence, "bad"), read(&fence, "none")), (vec![], vec![]));
        assert_eq!(NotedWrite::read(&json!({"name": "one"})), None);
        let mut older = noted.value();
        older.as_object_mut().unwrap().remove("commit");
        let read_older = NotedWrite::read(&older).unwrap();
        assert_eq!((&*read_older.name, &*read_older.commit), ("one", ""));
        let shoots = GroupResource::new("core.gardener.cloud", "shoots");
        let (one, two) = (
            Key::new(shoots, "garden-dev", "one"),
            Key::new(shoots, "garden-dev", "two"),
        );
        let seeds = GroupResource::new("core.gardener.cloud", "seeds");
        assert_eq!(noted.key(&[seeds, shoots].into()), Some(one.clone()));
        assert_eq!(noted.key(&[seeds].into()), None);
        assert!(noted.is_about(&one) && !noted.is_about(&two));
    }
}
