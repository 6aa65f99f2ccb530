//! The objects that systems make by themselves wherever they run, made where Berth stores their objects.

use dialect_contract::Dialect;
use meta::{Clock, Draft, time};
use serde_json::Value;
use std::sync::Arc;
use storage::{Expect, Step, Store, StoreError, Verb};

/// Makes those of `dialects` that are missing.
///
/// # Errors
/// When the store refuses.
pub(super) async fn ensure(
    store: &Arc<dyn Store>,
    dialects: &[Arc<dyn Dialect>],
    clock: &dyn Clock,
) -> Result<(), StoreError> {
    for (key, mut object) in dialects.iter().flat_map(|dialect| dialect.built_in()) {
        // On a full disk a start must do without a write.
        if store
            .cached(key.resource)
            .get(&key.namespace, &key.name)
            .is_some()
        {
            continue;
        }
        stamp(&mut object, clock);
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
            // Of two servers that start on one store, one is first.
            Ok(_) | Err(StoreError::AlreadyExists { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Puts in what a server fills in.
fn stamp(object: &mut Value, clock: &dyn Clock) {
    let metadata = &mut object["metadata"];
    metadata["uid"] = uuid::Uuid::new_v4().to_string().into();
    metadata["generation"] = 1.into();
    metadata["creationTimestamp"] = time::rfc3339(clock.now()).into();
}
