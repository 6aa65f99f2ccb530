//! Everything that makes an API server an aggregated one: everything between `apiserver` and a kube-apiserver
//! in front of it (a hub).
//!
//! - [`Delegation`]: users are who the hub says they are (client CAs and front proxy from the ConfigMap
//!   kube-system/extension-apiserver-authentication, TokenReviews) and may do what it says
//!   (SubjectAccessReviews).
//! - [`Registration`]: the caBundles of APIServices and webhook configurations follow the serving
//!   certificate's CA, which replicas may share.
//! - [`Policies`] and [`HubPolicies`]: the hub's admission webhooks are called, and its admission policies
//!   known, for the kinds that this server stores, because kube-apiserver passes requests for them on before
//!   its own admission.
//!
//! It stands on `apiserver` (and `client`) alone and knows no kind, so any server made with that library can
//! use it. `examples/aggregated_flunders.rs` is a whole one; what makes it ask the hub is this:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use berth_aggregation::{Clients, Delegation, Kubeconfigs};
//! use berth_apiserver::{ChainConfig, Group, SystemClock};
//!
//! # async fn chain(groups: Vec<Group>) -> anyhow::Result<()> {
//! let hub = Delegation::to(Clients::connect(&Kubeconfigs::one("hub.kubeconfig".into())).await?).await?;
//! let clock: Arc<dyn berth_apimachinery::Clock> = Arc::new(SystemClock);
//! let chain = ChainConfig::of(groups)
//!     .authentication(hub.authentication(false, &clock))
//!     .authorizer(hub.authorizer(&clock))
//!     .build()?;
//! # Ok(())
//! # }
//! ```

pub mod client;
pub mod delegation;
pub mod policies;
mod published;
pub mod registration;
pub mod reviewer;

pub use client::{Clients, Kubeconfigs};
pub use delegation::{CacheTimes, Delegation};
pub use policies::{HubPolicies, Policies};
pub use published::StaticTrust;
pub use registration::{NotRegistered, Registration};
