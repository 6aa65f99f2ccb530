//! kcp: Namespaces want a WorkloadCluster.
