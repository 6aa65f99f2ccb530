//! Berth behind a real kube-apiserver. These tests build and run one, so they are part of `make e2e`, and
//! otherwise ignored.

mod control_plane;
mod examples;
mod kubectl;
mod life;
mod probes;
mod releases;
mod trust;
mod users;
