//! Facts beyond scheduling that a cluster-like object reports about its cluster, for inventories that other
//! tools read.

use std::collections::BTreeMap;

/// Facts about a cluster, which never include a credential.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The version of Kubernetes on the cluster; empty where the system does not know the version.
    pub version: String,
    /// The properties of the cluster, by the system's own names.
    pub properties: BTreeMap<String, String>,
    /// Access to the API server of the cluster, where the system knows the URL.
    pub access: Option<Access>,
}

/// Access to an API server. Clients bring their own credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Name of the access provider, as in the system's own ClusterProfiles.
    pub provider: &'static str,
    /// The URL of the API server.
    pub server: String,
    /// The PEM bundle of the server's CA in base64; empty for publicly trusted CAs.
    pub ca: String,
}

/// A producer of ClusterProfiles that belongs to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// The name of the cluster manager in the ClusterProfiles of this producer.
    pub manager: &'static str,
    /// Whether this producer deletes or overwrites all other objects in its namespace, so that no other
    /// producer can publish there.
    pub is_exclusive: bool,
}
