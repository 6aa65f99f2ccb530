//! Objects whose deletion waits for Berth: they have finalizers that no other program removes.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Result, anyhow, bail};
use berth_client::root_cause;
use berth_dialect_contract::ResourceFinalizer;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, ObjectMeta, PartialObjectMeta};
use kube::{Api, Client};
use serde_json::json;

/// Number of objects in a page of a list.
const PAGE: u32 = 500;
/// Highest number of attempts to change an object that other clients change at the same time.
const MAX_ATTEMPTS: usize = 8;
/// Highest number of objects that a line of output names.
const MAX_NAMED: usize = 5;

/// Objects of one resource with a finalizer that only Berth's controllers remove.
pub(super) struct HeldObjects {
    hold: ResourceFinalizer,
    objects: Vec<ObjectMeta>,
}

/// Finds every object on the hub with a finalizer of `holds`. Objects of the groups `own` are left out: Berth
/// itself serves them, so that they disappear with Berth.
///
/// # Errors
/// When a resource cannot be listed.
pub(super) async fn find(
    client: &Client,
    holds: &[ResourceFinalizer],
    own: &BTreeSet<String>,
) -> Result<Vec<HeldObjects>> {
    let mut found = Vec::new();
    for hold in holds.iter().filter(|hold| !own.contains(hold.resource.group)) {
        let objects = held_objects(client, hold).await?;
        if !objects.is_empty() {
            found.push(HeldObjects { hold: *hold, objects });
        }
    }
    Ok(found)
}

async fn held_objects(client: &Client, hold: &ResourceFinalizer) -> Result<Vec<ObjectMeta>> {
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource(hold));
    let mut page = ListParams::default().limit(PAGE);
    let mut found = Vec::new();
    loop {
        let list = match all.list_metadata(&page).await {
            Ok(list) => list,
            // The hub does not serve the resource in this version.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(found),
            Err(problem) => bail!(
                "listing {}: {}; pass --keep-finalizers to skip this check",
                hold.resource,
                root_cause(&problem)
            ),
        };
        let metadata = list
            .items
            .into_iter()
            .map(|object: PartialObjectMeta<DynamicObject>| object.metadata);
        found.extend(metadata.filter(|metadata| is_held(metadata, hold)));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page.continue_token = Some(token),
            None => return Ok(found),
        }
    }
}

fn is_held(metadata: &ObjectMeta, hold: &ResourceFinalizer) -> bool {
    let mut finalizers = metadata.finalizers.iter().flatten();
    finalizers.any(|finalizer| hold.finalizer.covers(finalizer))
}

/// The resource of `hold` for requests. The name of the resource stands in for the kind, which requests do
/// not need.
fn resource(hold: &ResourceFinalizer) -> ApiResource {
    let (group, version) = (hold.resource.group, hold.version);
    let api_version = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version,
        kind: hold.resource.resource.to_owned(),
        plural: hold.resource.resource.to_owned(),
    }
}

impl HeldObjects {
    /// Removes the finalizers from all objects, and returns the number of objects.
    ///
    /// # Errors
    /// When the hub refuses a write.
    pub(super) async fn release(&self, client: &Client) -> Result<usize> {
        for object in &self.objects {
            let release = self.release_one(client, object.clone()).await;
            release.map_err(|problem| {
                anyhow!(
                    "removing the finalizers of {} {}: {}; run the command again",
                    self.hold.resource,
                    object_name(object),
                    root_cause(&problem)
                )
            })?;
        }
        Ok(self.objects.len())
    }

    async fn release_one(&self, client: &Client, mut object: ObjectMeta) -> Result<(), kube::Error> {
        let resource = resource(&self.hold);
        let objects: Api<DynamicObject> = match &object.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let name = object.name.clone().unwrap_or_default();
        for attempt in 1.. {
            let finalizers = object.finalizers.iter().flatten();
            let other_finalizers: Vec<&String> = finalizers
                .filter(|finalizer| !self.hold.finalizer.covers(finalizer))
                .collect();
            let patch = json!({"metadata": {"resourceVersion": object.resource_version, "finalizers": other_finalizers}});
            let result = objects
                .patch_metadata(&name, &PatchParams::default(), &Patch::Merge(patch))
                .await;
            match result {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
                Err(kube::Error::Api(status)) if status.code == 409 && attempt < MAX_ATTEMPTS => {}
                Err(problem) => return Err(problem),
            }
            match objects.get_metadata_opt(&name).await? {
                Some(newer) => object = newer.metadata,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// The resource and the finalizer in words, for a line of output.
    pub(super) fn description(&self) -> String {
        format!("{} from {}", self.hold.resource, self.hold.finalizer)
    }
}

impl fmt::Display for HeldObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.objects.len();
        write!(
            f,
            "{count} {} with the finalizer {}",
            self.hold.resource, self.hold.finalizer
        )?;
        let deleting = self
            .objects
            .iter()
            .filter(|object| object.deletion_timestamp.is_some());
        match deleting.count() {
            0 => {}
            deleting => write!(f, ", {deleting} of them being deleted")?,
        }
        let names: Vec<String> = self.objects.iter().take(MAX_NAMED).map(object_name).collect();
        write!(f, ": {}", names.join(", "))?;
        match count.saturating_sub(MAX_NAMED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

fn object_name(object: &ObjectMeta) -> String {
    let name = object.name.as_deref().unwrap_or_default();
    match &object.namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::GroupResource;
    use berth_dialect_contract::Finalizer;

    use super::*;

    fn object(name: &str, finalizers: &[&str]) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some("ns".to_owned()),
            finalizers: Some(finalizers.iter().map(|&name| name.to_owned()).collect()),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn all_held_objects_are_counted_and_the_first_are_named() {
        let hold = ResourceFinalizer {
            resource: GroupResource::new("example.dev", "things"),
            version: "v1",
            finalizer: Finalizer::Prefix("use.example.dev/"),
        };
        assert!(is_held(&object("a", &["other", "use.example.dev/1"]), &hold));
        assert!(!is_held(&object("a", &["other"]), &hold));
        let objects = (1..=7).map(|number| object(&format!("t{number}"), &["use.example.dev/1"]));
        let waiting = HeldObjects {
            hold,
            objects: objects.collect(),
        };
        assert_eq!(
            waiting.to_string(),
            "7 things.example.dev with the finalizer use.example.dev/…: ns/t1, ns/t2, ns/t3, ns/t4, ns/t5 and 2 more"
        );
    }

    #[test]
    fn every_system_lists_the_finalizers_that_only_its_controllers_remove() {
        let holds: Vec<String> = berth_dialect_registry::all()
            .iter()
            .flat_map(|dialect| dialect.on_hub().finalizers)
            .map(|hold| format!("{} {}", hold.resource, hold.finalizer))
            .collect();
        for hold in [
            "clusterrequests.clusters.openmcp.cloud clusters.openmcp.cloud/request",
            "clusters.clusters.openmcp.cloud request.clusters.openmcp.cloud/…",
            "secrets workloads.kcp.dev/syncer-…",
        ] {
            assert!(holds.iter().any(|have| have == hold), "{hold} in {holds:?}");
        }
        // KubeFleet's hub agent adds and removes its finalizers itself.
        let fleets = holds.iter().find(|hold| hold.contains("kubernetes-fleet.io"));
        assert_eq!(fleets, None);
    }
}
