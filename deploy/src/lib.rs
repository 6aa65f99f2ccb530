//! The objects of an installation of Berth on a hub, rendered from the code, so that they always match
//! the program. `berth manifests` prints them.
//!
//! [`Installation`] describes an installation, [`Set`] selects a part of it, and [`objects`] returns
//! its objects. The files of this folder have these objects for common installations ([`manifests`],
//! checked by `tests/manifests.rs`):
//!
//! - `manifests/`: every part in its own file, and with `kustomization.yaml` the base of the overlays;
//! - `overlays/`: whole installations for kustomize, `observe`, `hub`, `owned-etcd` and `cert-manager`;
//! - `components/`: additions to any overlay;
//! - `helm/berth/`: a Helm chart of these objects. Its templates are written by hand, and [`chart()`]
//!   renders their input. The chart has the CustomResourceDefinitions: Berth's own in `crds/`, which the
//!   overlays use, too, and the systems' in `files/definitions/`.
//!
//! `README.md` describes the purpose of each file.
//!
//! ```
//! use berth_deploy::{Installation, Set, objects};
//!
//! let rights = objects(&Installation::on_hub(), Set::Rbac);
//! assert!(rights.iter().any(|object| object["kind"] == "ClusterRole"));
//! ```

mod api_services;
mod cert_manager;
mod chart;
mod definitions;
mod files;
mod hub_sources;
mod installation;
mod own_changes;
mod parts;
mod registration_rights;
mod server_rights;
mod stores;
mod text;
mod users;
mod webhooks;
mod workload;

pub use api_services::{api_service, owned_api_services};
pub use berth_aggregation::registration::Service;
pub use cert_manager::{ANNOTATION, certificates};
pub use chart::{chart, systems};
pub use definitions::{publications, published_definitions, scheduler_configurations, system_definitions};
pub use files::{Manifest, all_objects, cert_manager, hub, manifests, observe, owned_etcd};
pub use hub_sources::hub_sources;
pub use installation::{Certificates, IMAGE, Installation, OFF_ON_A_HUB, REPLICAS, default_service};
pub use own_changes::own_changes;
pub use parts::{Set, objects, with_ca_annotation};
pub use registration_rights::{ca_secret_name, registration_rights, self_registration_rights};
pub use server_rights::server_rights;
pub use stores::Storage;
pub use text::yaml;
pub use users::{cluster_roles, owned_roles, role_resources};
pub use webhooks::{configuration_name, webhooks};
pub use workload::{LABEL, deployment, namespace, service_monitor, workload};
