//! Berth behind a real kube-apiserver, which these tests build and run: they are part of `make e2e`, and
//! otherwise ignored. A test that needs a fresh hub starts its own; some modules share one, as documented
//! there.

mod admission;
mod basics;
mod brownfield;
mod differential;
mod install;
mod policies;
mod publications;
mod replicas;
mod systems;
