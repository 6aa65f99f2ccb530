//! openMCP: ClusterRequests want a Cluster.
