//! Berth behind a real kube-apiserver, which these tests build and run: they are `make e2e`, and ignored
//! elsewhere. A test that needs a hub as nobody left it starts its own; modules share one where that is said.

mod admission;
mod basics;
mod brownfield;
mod differential;
mod install;
mod policies;
mod publications;
mod replicas;
mod systems;
