//! Roles of users: users and the actors of the state machines (docs/concepts.md, "Actors").

use crate::machine::Actor;

/// The part a user plays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The placement controller.
    Placement,
    /// The namespace controller.
    Namespace,
    /// The resource controller.
    Resource,
    /// A coordination controller.
    Coordination,
    /// The syncer of the workload cluster with this identifier.
    Syncer(String),
}

/// Prefix of the users of syncers.
pub(super) const SYNCER: &str = "berth:syncer:";

/// The user Berth's own actor is; that of a syncer ends in its identifier.
#[must_use]
pub const fn user_of(actor: Actor) -> &'static str {
    match actor {
        Actor::PlacementController => "berth:placement-controller",
        Actor::NamespaceController => "berth:namespace-controller",
        Actor::ResourceController => "berth:resource-controller",
        Actor::CoordinationController => "berth:coordination-controller",
        Actor::Syncer => "berth:syncer:<identifier>",
    }
}

impl Role {
    /// The role of one of Berth's own users.
    #[must_use]
    pub fn of(user: &str) -> Option<Self> {
        if let Some(identifier) = user
            .strip_prefix(SYNCER)
            .filter(|identifier| !identifier.is_empty())
        {
            return Some(Self::Syncer(identifier.to_owned()));
        }
        [
            Self::Placement,
            Self::Namespace,
            Self::Resource,
            Self::Coordination,
        ]
        .into_iter()
        .find(|role| user_of(role.actor()) == user)
    }

    /// The actor of the state machines.
    #[must_use]
    pub const fn actor(&self) -> Actor {
        match self {
            Self::Placement => Actor::PlacementController,
            Self::Namespace => Actor::NamespaceController,
            Self::Resource => Actor::ResourceController,
            Self::Coordination => Actor::CoordinationController,
            Self::Syncer(_) => Actor::Syncer,
        }
    }
}

/// `the placement controller (user berth:placement-controller)`.
pub(super) fn named(actor: Actor) -> String {
    format!("{actor} (user {})", user_of(actor))
}

/// As [`named`], the syncer being that of `identifier`.
pub(super) fn named_for(actor: Actor, identifier: &str) -> String {
    match actor {
        Actor::Syncer => format!("{actor} (user {SYNCER}{identifier})"),
        actor => named(actor),
    }
}

/// The actors as words: `a`, `a or b`; the syncer is that of `identifier`.
pub(super) fn any_of(actors: impl IntoIterator<Item = Actor>, identifier: &str) -> String {
    let names: Vec<String> = actors
        .into_iter()
        .map(|actor| named_for(actor, identifier))
        .collect();
    names.join(" or ")
}
