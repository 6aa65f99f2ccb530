//! Copies of the hub's objects on which decisions depend, kept current in Berth's store.
//!
//! A copy has the hub's bytes, without managedFields, and with a revision of Berth's store. So a copy
//! is folded, guarded and decided on like any object that is stored here. A kind that the hub does not
//! serve counts as a kind without objects, and is tried again regularly. Berth serves before the
//! copies are complete: [`Progress`] tells which copies are missing.

mod concerned;
mod copies;
mod follow;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_apimachinery::{GroupResource, Kind};
use berth_dialect_contract::{Concerns, config};
use berth_storage::Store;
pub use copies::Copies;
use follow::{Reflector, ReflectorContext};
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;
pub use versions::{HubVersion, HubVersions};

/// Resources that are always copied: group and resource.
pub const ALWAYS: [(&str, &str); 2] = [
    ("", "namespaces"),
    (config::RESOURCE.group, config::RESOURCE.resource),
];

/// Group and resource of quotas, which are copied only where Berth writes.
pub const QUOTAS: (&str, &str) = ("", "resourcequotas");

/// The annotation of a default: an object that is stored among the copies while the hub has no object of the
/// same name. The value is the source of the default.
pub const FROM_FILE: &str = "config.berth.dev/from-file";

/// Progress of the copies of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyProgress {
    /// The objects are not copied yet. The text is the problem that delays the copies, if any.
    Waiting(Option<String>),
    /// All objects are copied, and watched for changes.
    Complete,
    /// The hub does not serve the kind.
    Absent,
}

/// Progress of all copies.
pub type Progress = BTreeMap<GroupResource, CopyProgress>;

/// The running tasks that copy objects.
pub struct Mirror {
    /// Progress of the copies.
    pub progress: watch::Receiver<Progress>,
    /// The tasks, one for each kind.
    pub tasks: Vec<JoinHandle<()>>,
}

impl Mirror {
    /// Begins to copy the objects of `kinds` from the hub into `store`, while `leading` is true: only
    /// the leader may write the copies. Of a kind with [`Concerns`], only the objects that concern
    /// Berth are copied. `versions` gets the hub's versions even while `leading` is false.
    pub fn start(
        client: &Client,
        store: &Arc<dyn Store>,
        kinds: &[(Arc<dyn Kind>, Option<Concerns>)],
        versions: &Arc<HubVersions>,
        leading: watch::Receiver<bool>,
    ) -> Self {
        let initial = kinds
            .iter()
            .map(|(kind, _)| (kind.info().resource(), CopyProgress::Waiting(None)));
        let (sender, progress) = watch::channel(initial.collect());
        let context = ReflectorContext {
            client: client.clone(),
            store: Arc::clone(store),
            versions: Arc::clone(versions),
            leading,
            progress: Arc::new(sender),
        };
        let tasks = kinds
            .iter()
            .map(|(kind, concern)| tokio::spawn(Reflector::new(context.clone(), kind, concern.clone()).run()))
            .collect();
        Self { progress, tasks }
    }
}
