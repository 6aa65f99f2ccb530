//! Facts that a cluster-like object reports of its cluster beyond scheduling: for inventories that other
//! tools read.

use std::collections::BTreeMap;

/// Facts about a cluster. Never a credential.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The version of Kubernetes it runs; empty where the system does not know it.
    pub version: String,
    /// Its properties, by name, as the system has them.
    pub properties: BTreeMap<String, String>,
    /// Access to its API server, where the system knows it.
    pub access: Option<Access>,
}

/// Access to an API server. Clients bring their own credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Provider of this way to authenticate, as the system's own producer of ClusterProfiles names it.
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
    /// Whether it deletes and overwrites by name all objects in its namespace, so that no other
    /// producer can publish there.
    pub is_alone: bool,
}
