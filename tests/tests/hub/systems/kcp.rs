//! kcp on a real hub, installed as `berth manifests` says, with no right beyond what it prints: namespaces
//! and what is in them are the hub's own, and everything that happens to them is somebody's whom Berth may
//! be.

mod real_cluster;
mod reconcilers;
mod synced;
mod view;
mod world;
