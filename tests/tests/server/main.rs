//! The standalone server, from the view of its clients and operators: verbs, admission, bad input, restarts,
//! observability.

mod admission;
mod admission_policies;
mod audit;
mod backup;
mod bad_input;
mod client;
mod conformance;
mod crash;
mod examples;
mod full_disk;
mod guide;
mod observability;
mod probes;
mod quota;
mod schemas;
mod upgrade;
