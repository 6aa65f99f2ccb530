//! Roles of users: the actors of the state machines and their user names (docs/concepts.md, "Actors").

use crate::machine::Actor;

/// The role of a user, as an actor of the state machines.
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

/// Prefix of the user names of syncers.
pub(super) const SYNCER: &str = "berth:syncer:";

/// The user name under which Berth acts as `actor`; for a syncer, with `<identifier>` in place of the
/// identifier of the syncer's cluster.
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
    /// The role of `user`, if `user` is one of Berth's own users.
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

    /// The actor of the state machines that has this role.
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

/// An actor in words, such as `the placement controller (user berth:placement-controller)`.
pub(super) fn actor_text(actor: Actor) -> String {
    format!("{actor} (user {})", user_of(actor))
}

/// An actor in words, as by [`actor_text`]; for a syncer, with the user name of the syncer of `identifier`.
pub(super) fn actor_text_for(actor: Actor, identifier: &str) -> String {
    match actor {
        Actor::Syncer => format!("{actor} (user {SYNCER}{identifier})"),
        actor => actor_text(actor),
    }
}

/// Actors in words, separated by `or`; for a syncer, with the user name of the syncer of `identifier`.
pub(super) fn actors_text(actors: impl IntoIterator<Item = Actor>, identifier: &str) -> String {
    let names: Vec<String> = actors
        .into_iter()
        .map(|actor| actor_text_for(actor, identifier))
        .collect();
    names.join(" or ")
}
