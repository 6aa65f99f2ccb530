//! Installation of Berth on a real kube-apiserver with `berth manifests`: apply, registration, trust,
//! webhooks, rotation of the CA, and uninstallation. These tests build and run a kube-apiserver, so they are
//! part of `make e2e`, and otherwise ignored.

mod apply;
mod chart;
mod check;
mod columns;
mod observe;
mod registration;
mod rotation;
mod takeover;
mod uninstall;
mod webhooks;

use berth_tests::hub::installation;
