//! Objects that a system normally creates by itself. Berth creates these objects if it stores the objects of
//! the system.

use berth_apimachinery::write::Verb;
use berth_apimachinery::{Clock, Draft, time};
use berth_dialect_contract::Dialect;
use berth_storage::{Expect, Step, Store, StoreError};
use serde_json::Value;
use std::sync::Arc;

/// Creates the missing built-in objects of `dialects`. Dialects whose objects are on the hub (`on_hub`) are
/// left out, since the system itself creates its objects there.
///
/// # Errors
/// When the store refuses a write.
pub(super) async fn create_missing(
    store: &Arc<dyn Store>,
    dialects: &[Arc<dyn Dialect>],
    on_hub: impl Fn(&str) -> bool,
    clock: &dyn Clock,
) -> Result<(), StoreError> {
    let owned = dialects.iter().filter(|dialect| !on_hub(dialect.name()));
    for (key, mut object) in owned.flat_map(|dialect| dialect.built_in()) {
        // An existing object is not written, so that a server whose disk is full can start.
        if store
            .cached(key.resource)
            .get(&key.namespace, &key.name)
            .is_some()
        {
            continue;
        }
        set_metadata(&mut object, clock);
        let draft = Draft::new(&object).map_err(|problem| StoreError::Unavailable(problem.to_string()))?;
        let step = Step {
            verb: Verb::Create,
            key,
            subresource: "",
            object: Some(draft),
            expect: Expect::Absent,
            guards: Vec::new(),
        };
        match store.apply(vec![step]).await {
            // Another server may have started on the same store at the same time.
            Ok(_) | Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sets the metadata that an API server sets when it creates an object.
fn set_metadata(object: &mut Value, clock: &dyn Clock) {
    let metadata = &mut object["metadata"];
    metadata["uid"] = uuid::Uuid::new_v4().to_string().into();
    metadata["generation"] = 1.into();
    metadata["creationTimestamp"] = time::rfc3339(clock.now()).into();
}

#[cfg(test)]
mod tests {
    use berth_apiserver::SystemClock;
    use berth_storage::MemoryStore;

    use super::*;

    async fn built_in(on_hub: &[&str]) -> Vec<String> {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let dialects = berth_dialect_registry::all();
        for _ in 0..2 {
            let is_on_hub = |name: &str| on_hub.contains(&name);
            create_missing(&store, &dialects, is_on_hub, &SystemClock)
                .await
                .unwrap();
        }
        let all = dialects.iter().flat_map(|dialect| dialect.built_in());
        let found = all.filter(|(key, _)| {
            let cached = store.cached(key.resource);
            cached.get(&key.namespace, &key.name).is_some()
        });
        found.map(|(key, _)| key.name.to_string()).collect()
    }

    #[tokio::test]
    async fn what_a_system_makes_by_itself_is_made_wherever_its_objects_are_stored_here() {
        assert_eq!(built_in(&[]).await, ["default", "global"]);
        assert_eq!(built_in(&["gardener"]).await, ["default", "global"]);
        assert!(built_in(&["ocm"]).await.is_empty());
    }
}
