//! The scheduler that a system brings along: how a hub shows that it runs, and how it is stopped and started.

/// Namespace and name of a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseName {
    /// The namespace.
    pub namespace: &'static str,
    /// The name.
    pub name: &'static str,
}

/// The scheduler that a system brings along. Two that decide the same requests undo each other's work, so
/// that Berth decides once this one is stopped.
#[derive(Clone, Copy, Debug)]
pub struct OwnScheduler {
    /// Name of it within a sentence: `OCM's placement controller`.
    pub name: &'static str,
    /// The Leases of its usual installations: one of them is renewed while it runs. Empty where it has
    /// no known one, so that Berth cannot see whether it runs.
    pub leases: &'static [LeaseName],
    /// Steps that stop it, each a sentence or a command.
    pub stop: &'static [&'static str],
    /// Steps that start it again.
    pub start: &'static [&'static str],
    /// Way to keep single requests from it while it runs, where the system has one.
    pub leaves_out: Option<&'static str>,
    /// Consequence of stopping it, where it is a part of a program that does other work and cannot be stopped
    /// alone.
    pub is_part_of: Option<&'static str>,
}
