//! Readers of Berth's decisions and publications: Argo CD, the SIG's libraries, Kueue, and the programs of
//! both in Go.

mod argocd;
mod conformance;
mod integrations;
mod programs;
mod publication_crashes;
mod publication_events;
mod publications;
