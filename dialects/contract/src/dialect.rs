//! The trait [`Dialect`]: the implementation of one multi-cluster system.

use std::sync::Arc;

use berth_admission::Plugin;
use berth_apimachinery::{GroupResource, Key, Kind};
use serde_json::Value;

use crate::configuration::{Configuration, NoSettings};
use crate::extra_views::ExtraViews;
use crate::guarded::GuardedResources;
use crate::inventory::Inventory;
use crate::on_hub::OnHub;
use crate::own_place::OwnPlace;
use crate::reach::Reach;
use crate::reconciler::{Controllers, NoReconcilers};

/// A kind of object that wants a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemandKind {
    /// The resource of the placeable object.
    pub resource: GroupResource,
    /// Its kind.
    pub kind: &'static str,
    /// The version it is written in.
    pub version: &'static str,
    /// Whether it is namespaced (`decisions`) or cluster-scoped (`clusterdecisions`).
    pub namespaced: bool,
    /// The field with the object's place, where the system has its own `binding` subresource to write
    /// it.
    pub own_place: Option<&'static OwnPlace>,
}

/// One multi-cluster system: its kinds, its rules, its way to decide.
///
/// Six methods define the system. The others have defaults for systems without the feature.
pub trait Dialect: Send + Sync + 'static {
    /// `ocm`, `gardener`, …: the last part of every virtual name.
    fn name(&self) -> &'static str;

    /// The kinds served when the dialect is owned.
    fn kinds(&self) -> Vec<Arc<dyn Kind>>;

    /// Kinds of the system that decisions do not read. They are kept unchanged where Berth stores the
    /// system's objects, so that its files can be applied whole; a hub has them itself.
    fn further_kinds(&self) -> Vec<Arc<dyn Kind>> {
        Vec::new()
    }

    /// Clause that names the objects that decide in place of objects of `resource`, one of
    /// [`Dialect::further_kinds`], where people may expect these to count.
    fn counterpart(&self, _resource: GroupResource) -> Option<&'static str> {
        None
    }

    /// All kinds that Berth stores where it stores the system's objects.
    fn stored_kinds(&self) -> Vec<Arc<dyn Kind>> {
        let mut kinds = self.kinds();
        kinds.extend(self.further_kinds());
        kinds
    }

    /// Every resource [`Inventory::fold`] wants to see, those of [`Dialect::kinds`] included where it reads
    /// them, and [`crate::config::RESOURCE`] for its configuration.
    fn reads(&self) -> Vec<GroupResource>;

    /// Returns the reach of decisions among the objects of `resource`, one of [`Dialect::reads`].
    fn reach(&self, _resource: GroupResource) -> Reach {
        Reach::default()
    }

    /// The kinds that want a place, first the one that every release of the system has.
    fn demands(&self) -> &'static [DemandKind];

    /// The key of the demand that the system makes of the object at `template`, where it makes any of such
    /// objects.
    fn made_of(&self, _template: &Key) -> Option<Key> {
        None
    }

    /// The resource of the cluster-like objects.
    fn target(&self) -> GroupResource;

    /// An empty inventory, with default configuration.
    fn inventory(&self) -> Arc<dyn Inventory>;

    /// The user name bindings are written as (docs/concepts.md, "Actors").
    fn actor(&self) -> &'static str {
        "berth:scheduler"
    }

    /// The admission rules beyond the kinds' own validation.
    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        Vec::new()
    }

    /// Its part of a SchedulerConfiguration, where it has settings.
    fn configuration(&self) -> &dyn Configuration {
        &NoSettings
    }

    /// Its controllers, where the one that decides is not the only one.
    fn controllers(&self) -> &dyn Controllers {
        &NoReconcilers
    }

    /// The resources that are guarded in the light of other objects ([`Inventory::guarding`]).
    fn guarded(&self) -> GuardedResources {
        GuardedResources::default()
    }

    /// The objects that the system makes by itself wherever it runs, in their initial form. A server
    /// that stores the system's objects makes those that are missing when it starts.
    fn built_in(&self) -> Vec<(Key, Value)> {
        Vec::new()
    }

    /// Whether its kinds come behind those of other systems in discovery, so that kubectl takes theirs for a
    /// bare name that both have.
    fn comes_last(&self) -> bool {
        false
    }

    /// Returns further facts to show.
    fn shown(&self) -> ExtraViews {
        ExtraViews::default()
    }

    /// Returns the needs of a hub that stores the objects.
    fn on_hub(&self) -> OnHub {
        OnHub::default()
    }
}
