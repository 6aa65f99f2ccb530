//! Copying of kcp's workloads to the chosen clusters, separate from deciding. This is the only crate outside
//! `dialects/` for a single system, kcp; it executes steps that [`berth_dialect_kcp::syncer_view`] computes.
//!
//! - [`view`] serves `targets/NAME.kcp/proxy`, the API that one syncer sees; [`OnHub`] passes a syncer's
//!   writes on to a hub.
//! - [`process`] is `berth syncer` at the workload cluster: it copies the objects of the view to the
//!   cluster, and their status back.
//! - [`rights`] has the RBAC objects for both.
//!
//! Start reading at [`view`] (the hub's side) or [`process`] (the cluster's).
//!
//! ```
//! use berth_syncer::rights::{SyncerRightsArgs, syncer_rights};
//!
//! let args = SyncerRightsArgs {
//!     target: "east.kcp".to_owned(),
//!     user: "system:serviceaccount:kcp:syncer".to_owned(),
//!     identifier: None,
//!     namespace: "berth-system".to_owned(),
//!     service: "berth".to_owned(),
//! };
//! let role = &syncer_rights(&args)[0];
//! assert_eq!(role["rules"][0]["resourceNames"][0], "east.kcp");
//! ```

mod on_hub;
pub mod process;
pub mod rights;
pub mod view;

pub use berth_dialect_kcp::names::DIALECT;
pub use on_hub::OnHub;
pub use process::SyncerArgs;
pub use view::{ConfigurationReader, HubOrigin, SyncerObjects, SyncerViews, attach};
