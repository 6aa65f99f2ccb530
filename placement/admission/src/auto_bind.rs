//! `autoBind: OnCreate`: a client's new object is decided and bound before the create is answered
//! (docs/concepts.md, "Configuration"). If the store can, it stores the binding and the object in one
//! transaction; otherwise the binding is written after the object. A dry run is answered with a forecast.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::{GroupResource, Key, LabelSet, Object};
use berth_apiserver::{CommittedTransaction, CreateHook, CreatedObject, Extension, Registry, Warnings};
use berth_configuration::AutoBindMode;
use berth_engine::{BindError, BindOutcome, Commit, Committer, Engine, ForeseenDecision};

use super::forecast::{self, forecast};

/// The create hook that binds new objects.
pub struct AutoBind {
    engine: Arc<Engine>,
    committer: Arc<dyn Committer>,
    registry: Arc<Registry>,
    dialects: HashMap<GroupResource, &'static str>,
}

/// Whether new objects of `dialect` with `labels` in `namespace` are bound before their create is answered.
pub(super) fn binds_on_create(
    engine: &Engine,
    dialect: &str,
    namespace: &str,
    labels: &impl LabelSet,
) -> bool {
    engine.decides(dialect)
        && AutoBindMode::in_force(engine, dialect) == AutoBindMode::OnCreate
        && engine.includes(dialect, namespace, labels)
}

impl AutoBind {
    /// Creates the hook that binds new objects in `registry`, and writes through `committer`.
    #[must_use]
    pub fn new(engine: Arc<Engine>, committer: Arc<dyn Committer>, registry: Arc<Registry>) -> Self {
        let dialects = engine
            .dialects()
            .flat_map(|dialect| {
                let demands = dialect.demands().iter();
                demands.map(|demand| (demand.resource, dialect.name()))
            })
            .collect();
        Self {
            engine,
            committer,
            registry,
            dialects,
        }
    }

    /// Returns the dialect that binds the `created` object before the create is answered, and the key of the
    /// object; `None` if no dialect does.
    fn binding_dialect(&self, created: &CreatedObject) -> Option<(&'static str, Key)> {
        let &dialect = self.dialects.get(&created.resource)?;
        let meta = created.object.meta();
        binds_on_create(&self.engine, dialect, meta.namespace(), meta.labels())
            .then(|| (dialect, Key::new(created.resource, meta.namespace(), meta.name())))
    }

    async fn bind(&self, dialect: &'static str, created: &CreatedObject, key: Key) -> Arc<Object> {
        let (engine, committer) = (Arc::clone(&self.engine), Arc::clone(&self.committer));
        let (demand, since) = (key.clone(), created.object.revision());
        // The binding runs in a task of its own, so that no partial binding is left when the client
        // disconnects.
        let binding = tokio::spawn(async move { engine.settle(&*committer, dialect, &demand, since).await });
        let result = match binding.await {
            Ok(result) => result,
            Err(panic) => {
                tracing::error!(%key, %panic, "binding a new object panicked; it stays unbound until it is changed or bound by hand; report it as a bug, with this line");
                created
                    .warnings
                    .add("not bound: the log of the server has the error".to_owned());
                return Arc::clone(&created.object);
            }
        };
        match &*result {
            Ok(bound) => {
                warn(&created.warnings, bound);
                self.object_after_binding(created, &key, bound).await
            }
            Err(error) => {
                if let Some(text) = self.problem(dialect, &key, error) {
                    created.warnings.add(format!("not bound: {text}"));
                }
                Arc::clone(&created.object)
            }
        }
    }

    /// Returns the object as it is after the binding.
    async fn object_after_binding(
        &self,
        created: &CreatedObject,
        key: &Key,
        bound: &BindOutcome,
    ) -> Arc<Object> {
        // A controller may have bound the object first: then nothing was written here, but the object
        // has changed.
        if bound.written.is_empty() && bound.decision.demand_revision == created.object.revision() {
            return Arc::clone(&created.object);
        }
        match self.registry.get(key).await {
            Ok(object) if object.meta().uid() == created.object.meta().uid() => object,
            // The object is already deleted or replaced, or cannot be read, so the client gets the object
            // that it created.
            Ok(_) | Err(_) => Arc::clone(&created.object),
        }
    }

    /// Returns the reason why the object is not bound; `None` if the dialect does not place the object.
    fn problem(&self, dialect: &str, key: &Key, error: &BindError) -> Option<String> {
        if !matches!(error, BindError::NotFound(_)) {
            return Some(error.to_string());
        }
        let unusable = self.engine.snapshot(dialect)?.inventory.unusable();
        let found = unusable.into_iter().find(|unusable| unusable.key == *key);
        found.map(|unusable| unusable.problem)
    }

    async fn forecast(&self, dialect: &'static str, created: &CreatedObject, key: &Key) -> Arc<Object> {
        let unknown = |problem: String| {
            created
                .warnings
                .add(format!("the binding cannot be forecast: {problem}"));
            Arc::clone(&created.object)
        };
        let snapshot = match self.engine.fresh(dialect).await {
            Ok(Some(snapshot)) => snapshot,
            Ok(None) => return Arc::clone(&created.object),
            Err(behind) => return unknown(behind.to_string()),
        };
        match forecast(
            snapshot,
            &**self.engine.source(),
            key,
            &created.object,
            created.now,
        ) {
            Ok(None) => Arc::clone(&created.object),
            Ok(Some(forecast)) => {
                if let Some(text) = forecast.warning {
                    created.warnings.add(format!("would be {text}"));
                }
                forecast
                    .further_warnings
                    .into_iter()
                    .for_each(|text| created.warnings.add(text));
                forecast.object
            }
            Err(problem) => unknown(problem),
        }
    }
}

#[async_trait]
impl CreateHook for AutoBind {
    fn concerns(&self, resource: GroupResource) -> bool {
        self.dialects.contains_key(&resource)
    }

    async fn extend(&self, creating: &CreatedObject) -> Option<Extension> {
        let (dialect, key) = self.binding_dialect(creating)?;
        let (engine, committer) = (Arc::clone(&self.engine), Arc::clone(&self.committer));
        let (demand, object) = (key.clone(), Arc::clone(&creating.object));
        // The forecast runs in a task of its own: a panic does not end the create, and the object is then
        // bound after the create.
        let task = tokio::spawn(async move { engine.foresee(&*committer, dialect, &demand, &object).await });
        let foreseen = task.await.unwrap_or_else(|problem| {
            tracing::error!(%key, %problem, "the decision on a new object panicked; the object is bound after its create; report it as a bug, with this line");
            None
        });
        let (foreseen, commit) = foreseen?;
        let Commit {
            actor,
            manager,
            cause,
            writes,
            guards,
            ..
        } = commit;
        let warnings = creating.warnings.clone();
        Some(Extension {
            user: berth_scheduling_rest::actor_user(actor),
            manager,
            cause,
            writes,
            guards,
            on_commit: Box::new(move |committed| Box::pin(report_binding(foreseen, warnings, committed))),
        })
    }

    async fn created(&self, created: CreatedObject) -> Arc<Object> {
        let Some((dialect, key)) = self.binding_dialect(&created) else {
            return created.object;
        };
        if created.dry_run {
            self.forecast(dialect, &created, &key).await
        } else {
            self.bind(dialect, &created, key).await
        }
    }
}

/// Adds the warnings about the binding for the client that created the object.
fn warn(warnings: &Warnings, bound: &BindOutcome) {
    let (snapshot, decision) = (&bound.snapshot, &bound.decision);
    let unplaced = forecast::warning(snapshot, decision);
    let more = snapshot.inventory.warnings(decision);
    unplaced
        .into_iter()
        .chain(more)
        .for_each(|text| warnings.add(text));
}

/// Reports to the engine that the binding was committed with the object, and adds the warnings for the
/// client.
async fn report_binding(
    foreseen: ForeseenDecision,
    warnings: Warnings,
    CommittedTransaction { created, written }: CommittedTransaction,
) {
    match foreseen.confirm(&created, written).await {
        Ok(bound) => warn(&warnings, &bound),
        // The decision is stored with the object, but the client may read an older state.
        Err(error) => {
            tracing::warn!(%error, "a new object is stored with its decision, but the scheduler has not seen it yet");
        }
    }
}
