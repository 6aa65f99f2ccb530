//! kcp on a real hub, installed with `berth manifests`, with exactly its rights: namespaces and their objects
//! are the hub's own, and Berth writes them only as users whom it may impersonate.

mod real_cluster;
mod reconcilers;
mod synced;
mod view;
mod world;
