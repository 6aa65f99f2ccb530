//! One resource of a registry in a view: a source with the visible objects, and with the revisions of the
//! stored resource.

use std::sync::Arc;

use async_trait::async_trait;
use berth_apimachinery::{Change, GroupResource, Object, Revision};
use berth_storage::{At, Collection, Event, Name, Scope, Source, StoreError, Watch};
use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use parking_lot::Mutex;

use super::ViewRules;
use crate::registry::Registry;
use crate::served::ServedVersion;

type Items = OrdMap<Name, Arc<Object>>;

/// One resource of a registry, limited to the objects and forms of a view.
pub struct ViewSource {
    pub(super) registry: Arc<Registry>,
    pub(super) rules: Arc<dyn ViewRules>,
    /// The resource as the registry serves it.
    pub(super) served: Arc<ServedVersion>,
    /// The stored objects of the last list, and their visible forms. The next list computes only the forms of
    /// objects that have changed since.
    last_list: Mutex<(Items, Items)>,
}

impl ViewSource {
    pub(crate) fn new(
        registry: &Arc<Registry>,
        rules: &Arc<dyn ViewRules>,
        served: &Arc<ServedVersion>,
    ) -> Self {
        Self {
            registry: Arc::clone(registry),
            rules: Arc::clone(rules),
            served: Arc::clone(served),
            last_list: Mutex::default(),
        }
    }

    fn source(&self) -> Result<&dyn Source, StoreError> {
        self.served
            .source()
            .ok_or_else(|| StoreError::Unavailable(format!("{} is not stored", self.served.name)))
    }

    /// The form of `object` in the view, if the object is visible.
    pub(super) fn visible_form(&self, object: &Arc<Object>) -> Option<Arc<Object>> {
        self.rules.is_visible(object).then(|| self.rules.show(object))
    }

    /// The visible objects of `stored`, in their visible forms.
    fn visible_objects(&self, stored: Collection) -> Collection {
        let mut last_list = self.last_list.lock();
        let (before, mut visible) = last_list.clone();
        for difference in before.diff(&stored.items) {
            let (name, object) = match difference {
                DiffItem::Add(name, object)
                | DiffItem::Update {
                    new: (name, object), ..
                } => (name, self.visible_form(object)),
                DiffItem::Remove(name, _) => (name, None),
            };
            match object {
                Some(object) => visible.insert(name.clone(), object),
                None => visible.remove(name),
            };
        }
        *last_list = (stored.items, visible.clone());
        Collection {
            revision: stored.revision,
            items: visible,
        }
    }
}

#[async_trait]
impl Source for ViewSource {
    async fn list(&self, resource: GroupResource, at: At) -> Result<Collection, StoreError> {
        let stored = self.source()?.list(resource, at).await?;
        Ok(self.visible_objects(stored))
    }

    fn cached(&self, resource: GroupResource) -> Collection {
        match self.source() {
            Ok(source) => self.visible_objects(source.cached(resource)),
            Err(_) => Collection {
                revision: Revision(0),
                items: Items::new(),
            },
        }
    }

    fn watch(&self, scope: Scope, after: Revision) -> Result<Box<dyn Watch>, StoreError> {
        let oldest = self.rules.valid_from();
        if after < oldest {
            return Err(StoreError::Expired { asked: after, oldest });
        }
        let watch = self.source()?.watch(scope, after)?;
        Ok(Box::new(ViewWatch {
            watch,
            rules: Arc::clone(&self.rules),
        }))
    }

    fn revision(&self) -> Revision {
        self.source().map_or(Revision(0), Source::revision)
    }
}

struct ViewWatch {
    watch: Box<dyn Watch>,
    rules: Arc<dyn ViewRules>,
}

#[async_trait]
impl Watch for ViewWatch {
    async fn next(&mut self, max: usize) -> Result<Vec<Arc<Event>>, StoreError> {
        let events = tokio::select! {
            events = self.watch.next(max) => events?,
            () = self.rules.wait_until_invalid() => return Err(self.expired()),
        };
        // These events may be writes after the rules ceased to be valid, so the rules must not show them.
        if !self.rules.are_valid() {
            return Err(self.expired());
        }
        Ok(events
            .iter()
            .filter_map(|event| self.visible_event(event))
            .collect())
    }

    fn revision(&self) -> Revision {
        self.watch.revision()
    }
}

impl ViewWatch {
    /// Error of a watch by rules that are no longer valid: the form of objects may have changed without a
    /// write, so the watcher has to list again.
    fn expired(&self) -> StoreError {
        let revision = self.watch.revision();
        StoreError::Expired {
            asked: revision,
            oldest: Revision(revision.0 + 1),
        }
    }

    /// Returns the event as the view shows it; `None` if the object was and is invisible. An event whose
    /// objects have their stored forms is returned itself, so that its frame stays shared.
    fn visible_event(&self, event: &Arc<Event>) -> Option<Arc<Event>> {
        let change = &event.change;
        let visible_form = |object: &Option<Arc<Object>>| {
            let object = object.as_ref().filter(|object| self.rules.is_visible(object))?;
            Some(self.rules.show(object))
        };
        let (old, new) = (visible_form(&change.old), visible_form(&change.new));
        if old.is_none() && new.is_none() {
            return None;
        }
        if is_same_object(&old, &change.old) && is_same_object(&new, &change.new) {
            return Some(Arc::clone(event));
        }
        let visible = Change {
            key: change.key.clone(),
            old,
            new,
            revision: change.revision,
        };
        Some(Arc::new(Event::new(visible)))
    }
}

fn is_same_object(visible: &Option<Arc<Object>>, stored: &Option<Arc<Object>>) -> bool {
    match (visible, stored) {
        (None, None) => true,
        (Some(visible), Some(stored)) => Arc::ptr_eq(visible, stored),
        _ => false,
    }
}
