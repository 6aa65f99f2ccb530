//! Eligibility of a cluster by the reports of its member agent (docs/systems/fleet.md, "Eligibility").

use berth_apimachinery::Timestamp;
use berth_apimachinery::types::{Condition, Time, condition};
use jiff::SignedDuration;

use crate::kind::MemberCluster;

/// Limits on the age of the last heartbeat and on the duration of bad health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The greatest age of the last heartbeat of an eligible cluster.
    pub(crate) heartbeat: SignedDuration,
    /// The longest time for which an eligible cluster may be unhealthy.
    pub(crate) health: SignedDuration,
}

impl Default for Limits {
    fn default() -> Self {
        let five_minutes = SignedDuration::from_mins(5);
        Self {
            heartbeat: five_minutes,
            health: five_minutes,
        }
    }
}

/// Health of a cluster, as its agent reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// The agent has not reported the health.
    Unknown,
    /// The cluster is healthy.
    Good,
    /// The cluster has been unhealthy since this instant.
    Bad(Timestamp),
}

/// The reports about a cluster that determine its eligibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EligibilityReports {
    /// Whether the MemberCluster is being deleted.
    pub(crate) leaving: bool,
    /// Whether the MemberCluster could be parsed. If not, nothing is known that its agent reports.
    pub(crate) readable: bool,
    /// Whether there is a member agent.
    pub(crate) agent: bool,
    /// The time of the agent's last heartbeat; [`Timestamp::MIN`] if there is none.
    pub(crate) heartbeat: Timestamp,
    /// Whether the agent has joined.
    pub(crate) joined: bool,
    /// Health of the cluster, as its agent reports it.
    pub(crate) health: Health,
}

berth_scheduling::names! {
    /// The reason why a cluster is not eligible. If several reasons apply, the first variant counts.
    pub(crate) enum IneligibilityReason {
        /// The cluster is leaving the fleet.
        Leaving = "Leaving",
        /// The MemberCluster cannot be parsed.
        Unreadable = "Unreadable",
        /// The member agent has never reported.
        AgentNotOnline = "AgentNotOnline",
        /// The last heartbeat is too old.
        HeartbeatStale = "HeartbeatStale",
        /// The cluster has not joined.
        NotJoined = "NotJoined",
        /// The health was never reported.
        HealthUnknown = "HealthUnknown",
        /// The cluster has been unhealthy for too long.
        Unhealthy = "Unhealthy",
    }
}

impl IneligibilityReason {
    /// The sentence about the reason. The sentence contains instants instead of ages, so that it does not
    /// change while the reason applies.
    pub(crate) fn sentence(self, reports: &EligibilityReports, limits: Limits) -> String {
        let since = |instant: Timestamp| {
            if instant == Timestamp::MIN {
                "an unknown time".to_owned()
            } else {
                berth_apimachinery::time::rfc3339(instant)
            }
        };
        match self {
            Self::Leaving => "the cluster is leaving the fleet".to_owned(),
            Self::Unreadable => "the MemberCluster cannot be read".to_owned(),
            Self::AgentNotOnline => "the member agent has not reported yet".to_owned(),
            Self::HeartbeatStale if reports.heartbeat == Timestamp::MIN => {
                "the member agent has sent no heartbeat".to_owned()
            }
            Self::HeartbeatStale => format!(
                "the last heartbeat was received at {}, more than {:#} ago",
                since(reports.heartbeat),
                limits.heartbeat
            ),
            Self::NotJoined => "the member agent has not joined".to_owned(),
            Self::HealthUnknown => "the member agent has not reported the health of the cluster".to_owned(),
            Self::Unhealthy => {
                let start = match reports.health {
                    Health::Bad(start) => since(start),
                    Health::Unknown | Health::Good => since(Timestamp::MIN),
                };
                format!(
                    "the cluster has been unhealthy since {start}, more than {:#} ago",
                    limits.health
                )
            }
        }
    }
}

impl EligibilityReports {
    /// Reads the reports in a MemberCluster.
    pub(crate) fn of(view: &MemberCluster, leaving: bool) -> Self {
        let agent = view.status.member_agent();
        let instant = |time: Option<Time>| time.map_or(Timestamp::MIN, |Time(instant)| instant);
        let conditions = agent.map(|agent| agent.conditions.as_slice()).unwrap_or_default();
        let health = match condition(conditions, "Healthy") {
            None => Health::Unknown,
            Some(healthy) if healthy.is_true() => Health::Good,
            Some(healthy) => Health::Bad(instant(healthy.last_transition_time)),
        };
        Self {
            leaving,
            readable: true,
            agent: agent.is_some(),
            heartbeat: instant(agent.and_then(|agent| agent.last_received_heartbeat)),
            joined: condition(conditions, "Joined").is_some_and(Condition::is_true),
            health,
        }
    }

    /// The reason why the cluster is not eligible at `now`; `None` if it is eligible.
    pub(crate) fn judge(&self, now: Timestamp, limits: Limits) -> Option<IneligibilityReason> {
        let older = |instant: Timestamp, limit| now.duration_since(instant) > limit;
        if self.leaving {
            return Some(IneligibilityReason::Leaving);
        }
        if !self.readable {
            return Some(IneligibilityReason::Unreadable);
        }
        if !self.agent {
            return Some(IneligibilityReason::AgentNotOnline);
        }
        if older(self.heartbeat, limits.heartbeat) {
            return Some(IneligibilityReason::HeartbeatStale);
        }
        if !self.joined {
            return Some(IneligibilityReason::NotJoined);
        }
        match self.health {
            Health::Good => None,
            Health::Unknown => Some(IneligibilityReason::HealthUnknown),
            Health::Bad(since) => older(since, limits.health).then_some(IneligibilityReason::Unhealthy),
        }
    }

    /// The first instant at which a cluster that is eligible now becomes ineligible by the passage of time
    /// alone.
    pub(crate) fn eligible_until(&self, limits: Limits) -> Option<Timestamp> {
        let just_after = |instant: Timestamp, limit: SignedDuration| {
            let limit = limit.checked_add(SignedDuration::from_nanos(1))?;
            instant.checked_add(limit).ok()
        };
        let heartbeat_end = just_after(self.heartbeat, limits.heartbeat);
        let health_end = match self.health {
            Health::Bad(since) => just_after(since, limits.health),
            Health::Unknown | Health::Good => None,
        };
        [heartbeat_end, health_end].into_iter().flatten().min()
    }

    /// Whether the change from `old` to these reports may have made the cluster eligible. A new heartbeat may
    /// do so only if the pause before it was longer than the limit.
    pub(crate) fn improves_on(&self, old: &Self, limits: Limits) -> bool {
        let has_resumed =
            self.heartbeat > old.heartbeat && self.heartbeat.duration_since(old.heartbeat) > limits.heartbeat;
        !self.leaving
            && (old.leaving
                || (self.agent && !old.agent)
                || (self.joined && !old.joined)
                || has_resumed
                || (self.health != old.health && self.health != Health::Unknown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn well() -> EligibilityReports {
        EligibilityReports {
            leaving: false,
            readable: true,
            agent: true,
            heartbeat: at("2021-10-28T08:55:00Z"),
            joined: true,
            health: Health::Good,
        }
    }

    #[test]
    fn the_first_reason_in_order_counts() {
        let now = at("2021-10-28T09:00:00Z");
        let judge = |change: fn(&mut EligibilityReports)| {
            let mut reports = well();
            change(&mut reports);
            reports
                .judge(now, Limits::default())
                .map(IneligibilityReason::name)
        };
        // A heartbeat that is exactly five minutes old counts.
        assert_eq!(judge(|_| {}), None);
        assert_eq!(
            judge(|s| s.heartbeat = at("2021-10-28T08:54:59.999Z")),
            Some("HeartbeatStale")
        );
        assert_eq!(judge(|s| s.heartbeat = Timestamp::MIN), Some("HeartbeatStale"));
        assert_eq!(judge(|s| (s.leaving, s.agent) = (true, false)), Some("Leaving"));
        assert_eq!(
            judge(|s| (s.readable, s.agent) = (false, false)),
            Some("Unreadable")
        );
        assert_eq!(
            judge(|s| (s.agent, s.joined) = (false, false)),
            Some("AgentNotOnline")
        );
        assert_eq!(
            judge(|s| (s.joined, s.health) = (false, Health::Unknown)),
            Some("NotJoined")
        );
        assert_eq!(judge(|s| s.health = Health::Unknown), Some("HealthUnknown"));
        assert_eq!(
            judge(|s| s.health = Health::Bad(at("2021-10-28T08:55:00Z"))),
            None
        );
        assert_eq!(
            judge(|s| s.health = Health::Bad(at("2021-10-28T08:54:00Z"))),
            Some("Unhealthy")
        );
    }

    #[test]
    fn eligibility_ends_right_after_the_limit() {
        let limits = Limits::default();
        let end = well().eligible_until(limits).unwrap();
        assert_eq!(
            well().judge(end, limits),
            Some(IneligibilityReason::HeartbeatStale)
        );
        let before = end.checked_sub(SignedDuration::from_nanos(1)).unwrap();
        assert_eq!(well().judge(before, limits), None);
    }

    #[test]
    fn only_a_heartbeat_after_a_silence_improves() {
        let old = well();
        let mut new = old;
        new.heartbeat = at("2021-10-28T08:56:00Z");
        assert!(!new.improves_on(&old, Limits::default()));
        new.heartbeat = at("2021-10-28T09:56:00Z");
        assert!(new.improves_on(&old, Limits::default()));
    }
}
