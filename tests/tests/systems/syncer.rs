//! kcp's syncing from end to end: a hub, workload clusters (each another `berth serve`), and `berth syncer`
//! between them.

mod again;
mod crashes;
mod eviction;
mod mend;
mod problems;
mod story;
mod view;
mod workloads;
mod world;
