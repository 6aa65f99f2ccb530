//! Flags of leader election, with the names of the flags of Kubernetes' own controllers.

use std::time::Duration;

use berth_apimachinery::duration::parse_unsigned;
use berth_engine::controller::LeaseDurations;
use clap::Args;

/// Arguments of `berth serve` for several servers that share a store, or are replicas behind one hub.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Leader election")]
pub struct LeaderElectionArgs {
    /// Time for which the Lease of a failed server keeps its controllers from running elsewhere, in whole
    /// seconds.
    #[arg(long, default_value = "5s", value_parser = parse_unsigned, value_name = "DURATION")]
    pub leader_elect_lease_duration: Duration,
    /// Time for which a leader continues while it cannot renew its Lease; shorter than the lease duration.
    #[arg(long, default_value = "4s", value_parser = parse_unsigned, value_name = "DURATION")]
    pub leader_elect_renew_deadline: Duration,
    /// Interval between attempts to renew or acquire the Lease; up to a fifth is added at random.
    #[arg(long, default_value = "1s", value_parser = parse_unsigned, value_name = "DURATION")]
    pub leader_elect_retry_period: Duration,
}

impl LeaderElectionArgs {
    /// Durations of leader election, by a record on etcd or by Leases on a hub.
    ///
    /// # Errors
    /// When the durations do not fit together, such as a renew deadline that is not shorter than the lease
    /// duration.
    pub fn durations(&self) -> anyhow::Result<LeaseDurations> {
        LeaseDurations::new(
            self.leader_elect_lease_duration,
            self.leader_elect_renew_deadline,
            self.leader_elect_retry_period,
        )
        .map_err(|problem| anyhow::anyhow!("--leader-elect-…: {problem}"))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn durations(flags: &[&str]) -> anyhow::Result<LeaseDurations> {
        let words = ["berth", "serve"].iter().chain(flags);
        match Cli::parse_from(words).command {
            Command::Serve(args) => args.leader_election.durations(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_flags_have_the_engines_defaults_and_are_checked() {
        assert_eq!(durations(&[]).unwrap(), LeaseDurations::default());
        let problem = durations(&["--leader-elect-lease-duration=3s"])
            .unwrap_err()
            .to_string();
        assert!(
            problem.contains("must be shorter than the lease duration"),
            "{problem}"
        );
        durations(&[
            "--leader-elect-lease-duration=15s",
            "--leader-elect-renew-deadline=10s",
        ])
        .unwrap();
    }
}
