//! The scheduler that is part of a system, as data: the Leases that it renews while it runs, and the steps to
//! stop and to start it.

/// Namespace and name of a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseName {
    /// The namespace.
    pub namespace: &'static str,
    /// The name.
    pub name: &'static str,
}

/// The scheduler that is part of a system. Two schedulers that decide the same requests undo each other's
/// work, so that Berth decides only once the system's scheduler is stopped.
#[derive(Clone, Copy, Debug)]
pub struct OwnScheduler {
    /// The name of the scheduler within a sentence, such as `OCM's placement controller`.
    pub name: &'static str,
    /// The Leases of the scheduler in usual installations. While the scheduler runs, it renews at least one
    /// of these Leases. Empty for a scheduler without a Lease: Berth cannot find out whether it runs.
    pub leases: &'static [LeaseName],
    /// Steps that stop the scheduler, each a sentence or a command.
    pub stop: &'static [&'static str],
    /// Steps that start the scheduler again.
    pub start: &'static [&'static str],
    /// A way to exclude single requests from the scheduler while it runs, where the system has one.
    pub exclusion: Option<&'static str>,
    /// The consequence of stopping the scheduler, where it is part of a program with other tasks.
    pub stop_consequence: Option<&'static str>,
}
