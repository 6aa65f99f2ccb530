//! Create, update and delete of stored objects, for requests and for in-process writers alike.

use std::sync::Arc;

use berth_apimachinery::kind::Via;
use berth_apimachinery::{CommitError, Draft, FieldError, Key, Object, Revision, Status, Why};
use berth_storage::{Applied, At, Expect, Guard, Step, Store, StoreError, Verb};
use serde_json::Value;

use crate::actor::Actor;
use crate::registry::create_hook::{Hooked, Stored};
use crate::registry::prepare::{self, Writing};
use crate::registry::retries::Retries;
use crate::registry::{CONFLICT_ATTEMPTS, Registry, Wish, system};
use crate::served::Served;
use crate::{errors, names};

/// How often a generated name is drawn before giving up (docs/reference.md, "Writes and patches").
const NAME_ATTEMPTS: usize = 8;

/// One object of a stored resource.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) served: &'a Served,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl Target<'_> {
    pub(crate) fn key(&self) -> Key {
        Key::new(self.served.stored, self.namespace, self.name)
    }

    pub(crate) fn store(&self) -> Result<&Arc<dyn Store>, Status> {
        self.served.store().ok_or_else(Status::method_not_allowed)
    }

    /// The object as of `at`.
    pub(crate) async fn read(&self, at: At) -> Result<Arc<Object>, CommitError> {
        let list = self.store()?.list(self.served.stored, at).await;
        let list = list.map_err(|error| errors::of_commit(error, self.served))?;
        list.get(self.namespace, self.name)
            .cloned()
            .ok_or_else(|| CommitError::gone(self.served.name, self.name))
    }
}

/// An object as an update leaves it.
pub(crate) enum Next {
    /// It stays, as this.
    Stays(Draft),
    /// Its last finalizer went, so it goes; this is what it was in the end.
    Goes(Draft),
}

impl Registry {
    /// Stores a new object: `body` gives it as decoded, in the served version, again for each attempt.
    pub(crate) async fn create(
        &self,
        served: &Served,
        actor: Actor<'_>,
        namespace: &str,
        body: impl FnMut() -> Result<Wish, Status>,
    ) -> Result<Arc<Object>, CommitError> {
        let stored = self.create_hooked(None, served, actor, namespace, body).await?;
        Ok(stored.object)
    }

    /// Stores a new object, whose transaction `hooked` may extend.
    pub(super) async fn create_hooked(
        &self,
        hooked: Option<&Hooked<'_>>,
        served: &Served,
        actor: Actor<'_>,
        namespace: &str,
        mut body: impl FnMut() -> Result<Wish, Status>,
    ) -> Result<Stored, CommitError> {
        let mut wish = body()?;
        let mut draw = NameDraw::of(wish.value())?;
        let requested = draw.requested.clone();
        let writing = Writing {
            served,
            index: self.index(),
            chain: self.chain(),
            actor,
            via: Via::Create,
            namespace,
            name: &requested,
        };
        let mut attempt = 1;
        loop {
            draw.name(wish.value_mut());
            let settled = writing.create(wish).await?;
            let draft = prepare::draft(served, &settled)?;
            let stored = match hooked {
                Some(hooked) => hooked.insert(draft, settled.guards).await,
                None => {
                    let object = self.insert(served, actor, draft, settled.guards).await;
                    object.map(|object| Stored {
                        object,
                        is_extended: false,
                    })
                }
            };
            match stored {
                Err(StoreError::AlreadyExists { .. }) if draw.may_go_on() => draw.attempt += 1,
                Err(StoreError::AlreadyExists { key }) if draw.generated() => {
                    return Err(CommitError::new(Why::Exists, draw.gave_up(served, &key)));
                }
                Err(error) if prepare::is_moved(&error) && attempt < CONFLICT_ATTEMPTS => attempt += 1,
                result => return result.map_err(|error| errors::of_commit(error, served)),
            }
            wish = body()?;
        }
    }

    pub(super) async fn insert(
        &self,
        served: &Served,
        actor: Actor<'_>,
        draft: Draft,
        guards: Vec<Guard>,
    ) -> Result<Arc<Object>, StoreError> {
        let Some(store) = served.store() else {
            return Err(StoreError::Unavailable(format!("{} is not stored", served.name)));
        };
        let key = Key::new(served.stored, draft.meta().namespace(), draft.meta().name());
        if actor.dry_run {
            let list = store.list(served.stored, At::Latest).await?;
            return match list.get(&key.namespace, &key.name) {
                Some(_) => Err(StoreError::AlreadyExists { key }),
                None => Ok(Arc::new(draft.unstored())),
            };
        }
        apply_one(store, making(key, draft, guards)).await
    }

    /// Stores the next state of an object. `edit` makes it of the current one, in the served version; a resource
    /// version in what it makes must be the current one. `unconditional` says whether it may be missing.
    pub(crate) async fn update<E: Into<CommitError>>(
        &self,
        target: Target<'_>,
        actor: Actor<'_>,
        via: Via,
        unconditional: bool,
        mut edit: impl FnMut(&Object) -> Result<Wish, E>,
    ) -> Result<Arc<Object>, CommitError> {
        let mut retries = Retries::of(target, actor.dry_run)?;
        loop {
            let tried = async {
                let current = retries.current(target).await?;
                let wish = edit(&current).map_err(Into::into)?;
                check_base(target.served, wish.value(), &current, unconditional)?;
                let (next, guards) = self.next_state(target, actor, via, wish, &current).await?;
                if actor.dry_run {
                    let (Next::Stays(draft) | Next::Goes(draft)) = next;
                    return Ok(Arc::new(draft.at(current.revision())));
                }
                let expect = Expect::At(current.revision());
                Ok(store_next(target, via, next, expect, guards).await?)
            };
            match tried.await {
                Ok(object) => return Ok(object),
                // A resource version the client gave is found stale at the next turn; all else is decided afresh.
                Err(refused) if retries.again(&refused) => {}
                Err(refused) => return Err(refused.into_error(target.served)),
            }
        }
    }

    /// What `wish` makes of `current`, after admission and validation, and what must still be true when it is stored.
    pub(crate) async fn next_state(
        &self,
        target: Target<'_>,
        actor: Actor<'_>,
        via: Via,
        wish: Wish,
        current: &Object,
    ) -> Result<(Next, Vec<Guard>), Status> {
        let Target {
            served,
            namespace,
            name,
        } = target;
        let writing = Writing {
            served,
            index: self.index(),
            chain: self.chain(),
            actor,
            via,
            namespace,
            name,
        };
        let mut settled = writing.update(wish, current).await?;
        let guards = std::mem::take(&mut settled.guards);
        let deleting = current.meta().deletion_timestamp().is_some();
        let free = deleting
            && prepare::draft(served, &settled)?.meta().finalizers().is_empty()
            && !served.kind().holds_deletion(&mut settled.value, actor.now);
        let draft = prepare::draft_over(served, &settled, current)?;
        let next = if free {
            Next::Goes(draft)
        } else {
            Next::Stays(draft)
        };
        Ok((next, guards))
    }
}

/// The step that makes `draft`.
pub(super) fn making(key: Key, draft: Draft, guards: Vec<Guard>) -> Step {
    Step {
        verb: Verb::Create,
        key,
        subresource: "",
        object: Some(draft),
        expect: Expect::Absent,
        guards,
    }
}

/// Checks uid and resource version of an update against the current object.
pub(crate) fn check_base(
    served: &Served,
    value: &Value,
    current: &Object,
    unconditional: bool,
) -> Result<(), CommitError> {
    let name = current.meta().name();
    let uid = system::text(value, "uid");
    if !uid.is_empty() && uid != current.meta().uid() {
        let text = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            current.meta().uid()
        );
        let conflict = Status::conflict(served.name, name, &text);
        return Err(CommitError::new(Why::Changed, conflict));
    }
    let invalid = |value: &str, detail: &str| {
        let error = FieldError::invalid("metadata.resourceVersion", value, detail);
        let (group, kind) = (served.info().group, served.info().kind);
        CommitError::from(Status::invalid(group, kind, name, &[error]))
    };
    match system::text(value, "resourceVersion") {
        "" | "0" if unconditional => Ok(()),
        missing @ ("" | "0") => Err(invalid(missing, "must be specified for an update")),
        text => match text.parse::<u64>() {
            Ok(revision) if Revision(revision) == current.revision() => Ok(()),
            Ok(_) => Err(CommitError::modified(served.name, name)),
            Err(_) => Err(errors::no_version(served.info(), name, text).into()),
        },
    }
}

async fn store_next(
    target: Target<'_>,
    via: Via,
    next: Next,
    expect: Expect,
    guards: Vec<Guard>,
) -> Result<Arc<Object>, StoreError> {
    let Some(store) = target.served.store() else {
        return Err(StoreError::Unavailable(format!(
            "{} is not stored",
            target.served.name
        )));
    };
    let (verb, object, last) = match next {
        Next::Stays(draft) => (Verb::Update, Some(draft), None),
        Next::Goes(draft) => (Verb::Delete, None, Some(draft)),
    };
    let subresource = match via {
        Via::Subresource(name) => name,
        Via::Create | Via::Update => "",
    };
    let step = Step {
        verb,
        key: target.key(),
        subresource,
        object,
        expect,
        guards,
    };
    let object = apply_one(store, step).await?;
    // The store keeps what was there before; the client sees what it wrote, at the revision of the removal.
    Ok(last.map_or(object.clone(), |draft| Arc::new(draft.at(object.revision()))))
}

/// Applies one step and gives its object.
pub(crate) async fn apply_one(store: &Arc<dyn Store>, step: Step) -> Result<Arc<Object>, StoreError> {
    let applied = store.apply(vec![step]).await?;
    match applied.into_iter().next() {
        Some(Applied { object, .. }) => Ok(object),
        None => Err(StoreError::Unavailable(
            "the storage answered for no step".to_owned(),
        )),
    }
}

/// The name of a new object: given, or drawn until one is free.
struct NameDraw {
    /// The name in the request; empty when it is generated.
    requested: String,
    prefix: String,
    /// From 1; counts names, not writes.
    attempt: usize,
}

impl NameDraw {
    fn of(value: &Value) -> Result<Self, Status> {
        if !matches!(system::text(value, "resourceVersion"), "" | "0") {
            return Err(Status::bad_request(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        let requested = system::text(value, "name").to_owned();
        let prefix = if requested.is_empty() {
            system::text(value, "generateName")
        } else {
            ""
        };
        Ok(Self {
            prefix: prefix.to_owned(),
            requested,
            attempt: 1,
        })
    }

    fn generated(&self) -> bool {
        !self.prefix.is_empty()
    }

    fn name(&self, value: &mut Value) {
        if self.generated() {
            system::metadata(value).insert("name".to_owned(), names::generate(&self.prefix).into());
        }
    }

    fn may_go_on(&self) -> bool {
        self.generated() && self.attempt < NAME_ATTEMPTS
    }

    fn gave_up(&self, served: &Served, key: &Key) -> Status {
        let mut status = Status::already_exists(served.name, &key.name).retry_after(1);
        status.message = format!(
            "{} \"{}\" already exists, the server was not able to generate a unique name for the object",
            served.name, key.name
        );
        status
    }
}
