//! Creates that clients ask for: what the program has to write about a new object goes into the store in one step with it.

use std::sync::Arc;

use admission::UserInfo;
use async_trait::async_trait;
use meta::{CommitError, Draft, Guard, Key, Object, Revision, Status, Timestamp, Write};
use storage::{Applied, Step, Store, StoreError};

use super::commit::{Author, Origin, Plan, share_guards};
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
    /// Who hears of it. Dropped where the object was stored without them.
    pub told: Box<dyn Told>,
}

/// Hears that writes went along with a new object.
#[async_trait]
pub trait Told: Send {
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
            Made::Alone(object) => Ok(hook.created(insert.created(object)).await),
        }
    }

    /// Takes what goes along through admission and validation, as a list in which `first` was made already.
    async fn join(&self, store: &Arc<dyn Store>, first: Step, along: Along) -> Result<Joint, CommitError> {
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
        let mut plan = Plan::on(store);
        plan.add(first, Revision::default());
        let author = Author {
            user,
            manager,
            cause: Some(cause),
        };
        self.plan(&mut plan, &origin, author, writes, false, &noted)
            .await?;
        let shared = share_guards(writes, guards.clone());
        for (step, guards) in plan.steps.iter_mut().skip(1).zip(shared) {
            step.guards.extend(guards);
        }
        Ok(Joint {
            store: Arc::clone(store),
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
        self.record(author, &along.writes, &noted, since, Ok(&written))
            .await;
        along.told.made(&made, written).await;
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
            && let Some(object) = self.whole(store, &draft, &guards).await
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
    async fn whole(&self, store: &Arc<dyn Store>, draft: &Draft, guards: &[Guard]) -> Option<Arc<Object>> {
        let creating = self.created(Arc::new(draft.unstored()));
        let along = self.hook.along(&creating).await?;
        let meta = draft.meta();
        let key = Key::new(self.served.stored, meta.namespace(), meta.name());
        let first = making(key.clone(), draft.clone(), guards.to_vec());
        let joint = match self.registry.join(store, first, along).await {
            Ok(joint) => joint,
            Err(refused) => {
                tracing::debug!(%key, error = %refused.status.message, "a new object is stored alone");
                return None;
            }
        };
        // In a task of its own: a client that goes away leaves nobody untold.
        let registry = Arc::clone(self.registry);
        match tokio::spawn(async move { registry.make(joint).await }).await {
            Ok(Ok(object)) => Some(object),
            Ok(Err(error)) => {
                tracing::debug!(%key, %error, "a new object is stored alone");
                None
            }
            Err(panic) => {
                tracing::error!(%key, %panic, "storing a new object panicked; report it as a bug, with this line");
                let stored = self.registry.get(&key).await.ok();
                stored.filter(|object| object.meta().uid() == meta.uid())
            }
        }
    }
}
