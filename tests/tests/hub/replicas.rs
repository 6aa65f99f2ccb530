//! Several Berths behind one hub. These tests build and run a real kube-apiserver, so they are part of `make
//! e2e`, and otherwise ignored; those on etcd need a program with that feature (`cargo build -p berth
//! --features etcd`).

mod capacity;
mod crowd;
mod failover;
mod load;
mod long_watch;
mod replica;
mod stores;
mod storm;
