//! The server by itself, as its clients and its operators meet it: verbs, admission, bad input, restarts,
//! what it tells of itself.

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
