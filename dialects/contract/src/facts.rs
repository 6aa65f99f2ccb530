//! Facts beyond scheduling that a cluster-like object reports about its cluster, for inventories that other
//! tools read.

use std::collections::BTreeMap;

/// Facts about a cluster, which never include a credential.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The cluster's version of Kubernetes; empty where the system does not know it.
    pub version: String,
    /// The properties of the cluster by name, as the system has them.
    pub properties: BTreeMap<String, String>,
    /// Access to the cluster's API server, where the system knows it.
    pub access: Option<Access>,
}

/// Access to an API server. Clients bring their own credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Name of the access provider, as in the system's own ClusterProfiles.
    pub provider: &'static str,
    /// The URL.
    pub server: String,
    /// The PEM bundle of the CA in base64; empty for publicly trusted CAs.
    pub ca: String,
}

/// The system's own producer of ClusterProfiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// The name of the cluster manager in its profiles.
    pub manager: &'static str,
    /// Whether this producer deletes or overwrites all other objects in its namespace, so that no other
    /// producer can publish there.
    pub is_alone: bool,
}
