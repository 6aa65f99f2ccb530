//! Berth installed on a real kube-apiserver as `berth manifests` says: applied, registered, trusted, asked by
//! webhooks, given a new CA, and taken off again. These tests build and run a kube-apiserver, so they are
//! `make e2e`, and ignored elsewhere.

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
