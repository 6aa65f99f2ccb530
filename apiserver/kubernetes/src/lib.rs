//! Kubernetes' own part of a standalone server: the work of kube-apiserver and kube-controller-manager
//! in every cluster, which a server without a hub must do itself.
//!
//! It has the kinds of [`core`], RBAC as the authorizer ([`rbac`]), access reviews ([`reviews`]), the garbage
//! collector ([`garbage`]), the namespace controller ([`namespaces`]), quotas ([`quota`]), type checking of
//! admission policies ([`type_checking`]) and protobuf bodies ([`protobuf`]). It depends on
//! `apiserver`, and is independent of scheduling. An aggregated server does not serve these kinds, since
//! kube-apiserver does. Start reading at [`core::groups`].
#![doc = include_str!("../README.md")]

pub mod core;
pub mod garbage;
pub mod namespaces;
pub mod protobuf;
pub mod quota;
pub mod rbac;
pub mod reviews;
pub mod type_checking;
