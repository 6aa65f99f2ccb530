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

/// A kind whose objects the scheduler places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemandKind {
    /// The resource of the objects.
    pub resource: GroupResource,
    /// The name of the kind.
    pub kind: &'static str,
    /// The version in which the objects are written.
    pub version: &'static str,
    /// Whether the kind is namespaced, so that its Decisions are `decisions`, and not `clusterdecisions`.
    pub namespaced: bool,
    /// The field with the place of an object, where the system writes this field through a `binding`
    /// subresource of its own.
    pub own_place: Option<&'static OwnPlace>,
}

/// One multi-cluster system: its kinds, its rules, and its decisions.
///
/// Six methods define the system. The others have defaults for systems without the feature.
pub trait Dialect: Send + Sync + 'static {
    /// The name of the dialect (`ocm`, `gardener`, …), which is the last part of the name of every virtual
    /// object.
    fn name(&self) -> &'static str;

    /// The kinds that are served when Berth stores the system's objects.
    fn kinds(&self) -> Vec<Arc<dyn Kind>>;

    /// Kinds of the system that decisions do not read. Their objects are stored unchanged where Berth stores
    /// the system's objects, so that manifests of the system can be applied whole; a hub has these kinds
    /// itself.
    fn further_kinds(&self) -> Vec<Arc<dyn Kind>> {
        Vec::new()
    }

    /// A clause that names the objects that affect decisions in place of objects of `resource`, for users who
    /// may expect that `resource`, which is of [`Dialect::further_kinds`], affects them.
    fn counterpart(&self, _resource: GroupResource) -> Option<&'static str> {
        None
    }

    /// All kinds that Berth stores where it stores the system's objects.
    fn stored_kinds(&self) -> Vec<Arc<dyn Kind>> {
        let mut kinds = self.kinds();
        kinds.extend(self.further_kinds());
        kinds
    }

    /// Every resource that [`Inventory::fold`] reads: resources of [`Dialect::kinds`] and others, and
    /// [`crate::config::RESOURCE`] for the configuration.
    fn reads(&self) -> Vec<GroupResource>;

    /// Returns the objects of `resource`, one of [`Dialect::reads`], on which decisions about one namespace
    /// depend.
    fn reach(&self, _resource: GroupResource) -> Reach {
        Reach::default()
    }

    /// The kinds that the scheduler places. The first is one that every release of the system has.
    fn demands(&self) -> &'static [DemandKind];

    /// The key of the demand that the system creates for the object at `template`; `None` where the system
    /// creates no demands for objects of this kind.
    fn demand_of_template(&self, _template: &Key) -> Option<Key> {
        None
    }

    /// The resource of the cluster-like objects.
    fn target(&self) -> GroupResource;

    /// An empty inventory, with default configuration.
    fn inventory(&self) -> Arc<dyn Inventory>;

    /// The user name with which bindings are written (docs/concepts.md, "Actors").
    fn actor(&self) -> &'static str {
        "berth:scheduler"
    }

    /// The admission rules beyond the kinds' own validation.
    fn admission(&self) -> Vec<Arc<dyn Plugin>> {
        Vec::new()
    }

    /// The settings of the dialect: the dialect's part of a SchedulerConfiguration.
    fn configuration(&self) -> &dyn Configuration {
        &NoSettings
    }

    /// The controllers of the dialect, in addition to the controller that decides.
    fn controllers(&self) -> &dyn Controllers {
        &NoReconcilers
    }

    /// The resources that are guarded by rules about other objects ([`Inventory::guarding`]).
    fn guarded(&self) -> GuardedResources {
        GuardedResources::default()
    }

    /// The objects that every installation of the system creates by itself, in their initial form. A server
    /// that stores the system's objects creates the missing ones when it starts.
    fn built_in(&self) -> Vec<(Key, Value)> {
        Vec::new()
    }

    /// Whether the dialect's kinds come after the kinds of other systems in discovery: kubectl takes the
    /// first kind for a name that several systems have.
    fn comes_last(&self) -> bool {
        false
    }

    /// Returns the views that the system offers beyond scheduling.
    fn shown(&self) -> ExtraViews {
        ExtraViews::default()
    }

    /// Returns the needs of the dialect on a hub that stores the system's objects.
    fn on_hub(&self) -> OnHub {
        OnHub::default()
    }
}
