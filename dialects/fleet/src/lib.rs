//! KubeFleet: ClusterResourcePlacements want MemberClusters.
