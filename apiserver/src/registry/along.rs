//! Creates that clients ask for: what the program has to write about a new object goes into the store in one step with it.

use std::sync::Arc;

use async_trait::async_trait;
use berth_admission::UserInfo;
use berth_apimachinery::{CommitError, Draft, Guard, Key, Object, Revision, Status, Timestamp, Write};
use berth_storage::{Applied, Step, Store, StoreError};

use super::commit::{Author, Origin, Plan};
use super::write::{Insert, making};
use super::{Created, OnCreate, Registry, Wish};
use crate::actor::Actor;
use crate::annotations::Annotations;
use crate::served::Served;

/// Writes that go along with a new object.
pub struct Along {
    /// As whom they are admitted.
    pub user: UserInfo,
    /// The name under which the fields they set are owned.
    pub manager: String,
    /// What made them: for the audit log.
    pub cause: String,
    /// The writes, in order.
    pub writes: Vec<Write>,
    /// What must be true besides.
    pub guards: Vec<Guard>,
    /// Who hears of it. Dropped where the object is stored without them.
    pub when_made: Box<dyn WhenMade>,
}

/// Hears that writes went along with a new object.
#[async_trait]
pub trait WhenMade: Send {
    /// `made` is the object as it was made, `written` what went along, as it is now.
    async fn made(self: Box<Self>, made: &Object, written: Vec<Arc<Object>>);
}

/// What a create came to.
enum Made {
    /// All is done; this is the object afterwards.
    Whole(Arc<Object>),
    /// The object alone is stored, or would be.
    Alone(Arc<Object>),
}

/// Stores what clients make with what `hook` has to write about it.
struct Joined<'a> {
    registry: &'a Arc<Registry>,
    hook: &'a dyn OnCreate,
    served: &'a Served,
    actor: Actor<'a>,
}

/// One step with all that goes along, and what is to be said about it.
struct Joint {
    store: Arc<dyn Store>,
    steps: Vec<Step>,
    along: Along,
    noted: Vec<Annotations>,
    since: Timestamp,
}

impl Registry {
    /// Stores a new object as [`Registry::create`] does, and does about it what the program does.
    pub(crate) async fn create_asked(
        self: &Arc<Self>,
        served: &Served,
        actor: Actor<'_>,
        namespace: &str,
        body: impl FnMut() -> Result<Wish, Status>,
    ) -> Result<Arc<Object>, CommitError> {
        let Some(hook) = self.on_create.get().filter(|hook| hook.concerns(served.name)) else {
            return self.create(served, actor, namespace, body).await;
        };
        let insert = Joined {
            registry: self,
            hook: &**hook,
            served,
            actor,
        };
        match self.create_by(&insert, served, actor, namespace, body).await? {
            Made::Whole(object) => Ok(object),
            Made::Alone(object) => {
                let after = hook.created(insert.created(object)).await;
                // What would be written about it comes from a world where it is stored.
                let stored = actor.dry_run && after.revision() != Revision(0);
                Ok(match stored {
                    true => Arc::new(after.draft().unstored()),
                    false => after,
                })
            }
        }
    }

    /// Takes what goes along through admission and validation, as a list in which `first` was made already.
    async fn join(&self, store: Arc<dyn Store>, first: Step, along: Along) -> Result<Joint, CommitError> {
        let Along {
            user,
            manager,
            cause,
            writes,
            guards,
            ..
        } = &along;
        let (origin, since) = (Origin::default(), self.clock().now());
        let noted: Vec<_> = writes.iter().map(|_| self.annotations(&origin)).collect();
        let mut plan = Plan::on(&store);
        plan.add(first, store.revision());
        let author = Author {
            user,
            manager,
            cause: Some(cause),
        };
        self.plan(&mut plan, &origin, author, writes, false, &noted)
            .await?;
        plan.guard(writes, guards.clone());
        Ok(Joint {
            store,
            steps: plan.steps,
            along,
            noted,
            since,
        })
    }

    /// Stores a joint step, and tells of it. Gives the first object as the last of them leaves it.
    async fn make(&self, joint: Joint) -> Result<Arc<Object>, StoreError> {
        let Joint {
            store,
            steps,
            along,
            noted,
            since,
        } = joint;
        let last = steps
            .iter()
            .rposition(|step| step.key == steps[0].key)
            .unwrap_or_default();
        let applied = store.apply(steps).await?;
        let mut objects = applied.into_iter().map(|Applied { object, .. }| object);
        let unanswered = || StoreError::Unavailable("the storage answered for no step".to_owned());
        let made = objects.next().ok_or_else(unanswered)?;
        let written: Vec<_> = objects.collect();
        let object = match last.checked_sub(1) {
            Some(index) => written.get(index).cloned().ok_or_else(unanswered)?,
            None => Arc::clone(&made),
        };
        let author = Author {
            user: &along.user,
            manager: &along.manager,
            cause: Some(&along.cause),
        };
        let result = Ok(written.as_slice());
        // Told at once: what else is heard of the object from now on comes after it.
        along.when_made.made(&made, written.clone()).await;
        self.record(author, &along.writes, &noted, since, result).await;
        Ok(object)
    }
}

impl Insert for Joined<'_> {
    type Made = Made;

    async fn insert(&self, draft: Draft, guards: Vec<Guard>) -> Result<Made, StoreError> {
        let Self {
            registry,
            served,
            actor,
            ..
        } = *self;
        if !actor.dry_run
            && let Some(store) = served.store().filter(|store| !store.is_shared())
            && let Some(object) = self.whole(store, &draft, &guards).await?
        {
            return Ok(Made::Whole(object));
        }
        let object = registry.insert(served, actor, draft, guards).await?;
        Ok(Made::Alone(object))
    }
}

impl Joined<'_> {
    fn created(&self, object: Arc<Object>) -> Created {
        let Actor {
            user,
            now,
            dry_run,
            warnings,
            ..
        } = self.actor;
        Created {
            resource: self.served.name,
            object,
            user: user.clone(),
            now,
            dry_run,
            warnings: warnings.clone(),
        }
    }

    /// Stores `draft` and all that goes along; nothing where there is nothing of it, or it is refused.
    ///
    /// # Errors
    /// Why `draft` itself is not stored.
    async fn whole(
        &self,
        store: &Arc<dyn Store>,
        draft: &Draft,
        guards: &[Guard],
    ) -> Result<Option<Arc<Object>>, StoreError> {
        let meta = draft.meta();
        let key = Key::new(self.served.stored, meta.namespace(), meta.name());
        let there = store.cached(self.served.stored);
        if there.get(&key.namespace, &key.name).is_some() {
            // It will be refused, whatever would go along.
            return Ok(None);
        }
        let creating = self.created(Arc::new(draft.unstored()));
        let Some(along) = self.hook.along(&creating).await else {
            return Ok(None);
        };
        let first = making(key.clone(), draft.clone(), guards.to_vec());
        let (registry, store) = (Arc::clone(self.registry), Arc::clone(store));
        // In a task of its own: a client that goes away leaves nobody untold, and a panic is not one of the create.
        let making = tokio::spawn(async move {
            let joint = registry.join(store, first, along).await?;
            Ok::<_, Apart>(registry.make(joint).await?)
        });
        match making.await {
            Ok(Ok(object)) => Ok(Some(object)),
            Ok(Err(Apart::Unstored(error))) if is_about(&error, &key, guards) => Err(error),
            Ok(Err(error)) => {
                tracing::debug!(%key, %error, "a new object is stored alone");
                Ok(None)
            }
            Err(problem) => {
                tracing::error!(%key, %problem, "what goes along with a new object did not end; report it as a bug, with this line");
                let stored = self.registry.get(&key).await.ok();
                Ok(stored.filter(|object| object.meta().uid() == meta.uid()))
            }
        }
    }
}

/// Why nothing goes along.
#[derive(Debug, thiserror::Error)]
enum Apart {
    /// It is against the rules.
    #[error(transparent)]
    Refused(#[from] CommitError),
    /// The store did not take the step.
    #[error(transparent)]
    Unstored(#[from] StoreError),
}

/// Whether `error` is about the new object at `key`, stored under `guards`, whatever goes along with it.
fn is_about(error: &StoreError, key: &Key, guards: &[Guard]) -> bool {
    match error {
        StoreError::AlreadyExists { key: there } => there == key,
        StoreError::Conflict { key: moved, .. } => guards
            .iter()
            .any(|guard| matches!(guard, Guard::Unchanged { key, .. } if key == moved)),
        StoreError::Fenced { name: passed, .. } => guards
            .iter()
            .any(|guard| matches!(guard, Guard::Fence { name, .. } if **name == **passed)),
        _ => false,
    }
}
