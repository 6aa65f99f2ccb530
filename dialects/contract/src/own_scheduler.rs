//! The scheduler that is part of a system: the Leases that show that it runs, and the steps to stop and
//! start it.

/// Namespace and name of a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseName {
    /// The namespace.
    pub namespace: &'static str,
    /// The name.
    pub name: &'static str,
}

/// The scheduler that is part of a system. Two schedulers that decide the same requests undo each other's
/// work, so that Berth decides only once this one is stopped.
#[derive(Clone, Copy, Debug)]
pub struct OwnScheduler {
    /// Name of the scheduler within a sentence: `OCM's placement controller`.
    pub name: &'static str,
    /// The Leases of usual installations: one of them is renewed while the scheduler runs. Empty where no
    /// Lease is known, so that Berth cannot find out whether the scheduler runs.
    pub leases: &'static [LeaseName],
    /// Steps that stop the scheduler, each a sentence or a command.
    pub stop: &'static [&'static str],
    /// Steps that start the scheduler again.
    pub start: &'static [&'static str],
    /// A way to exclude single requests from the scheduler while it runs, where the system has one.
    pub leaves_out: Option<&'static str>,
    /// The consequence of stopping the scheduler, where it is part of a program with other tasks and cannot
    /// be stopped alone.
    pub is_part_of: Option<&'static str>,
}
