//! Roles and bindings compiled into lookups by user and group.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use berth_admission::UserInfo;
use berth_apimachinery::selector::Selector;
use berth_apimachinery::{Labels, Object, Revision};
use berth_storage::{Collection, Source};
use serde::Deserialize;

use crate::core::rbac::{
    AggregationRule, BindingFields, CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, PolicyRule, ROLE_BINDINGS, ROLES,
    RoleRef, Subject,
};

/// The compiled lists: roles, cluster roles, role bindings, cluster role bindings.
pub(crate) type Lists = [Collection; 4];

/// Returns the present lists of `source`.
pub(crate) fn lists(source: &dyn Source) -> Lists {
    [ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS].map(|resource| source.cached(resource))
}

/// A role that a binding grants to one user, by one of the binding's subjects.
pub struct UserGrant<'a> {
    grant: &'a Grant,
    subject: &'a Subject,
    /// Rules of the granted role.
    pub rules: &'a [PolicyRule],
}

/// A role that a binding grants.
struct Grant {
    /// Kind and name of the binding, for reasons.
    binding: String,
    /// Namespace of the binding; `None` means cluster-wide.
    namespace: Option<String>,
    role: RoleRef,
    rules: Arc<[PolicyRule]>,
}

/// Grants by the name of a user or group, each with the subject of the binding.
type GrantsByName = HashMap<String, Vec<(Arc<Grant>, Subject)>>;

/// Compiled form of all roles and bindings.
pub(crate) struct CompiledRules {
    lists: Lists,
    /// Rules of Roles by namespace and name.
    roles: HashMap<(String, String), Arc<[PolicyRule]>>,
    cluster_roles: HashMap<String, Arc<[PolicyRule]>>,
    users: GrantsByName,
    groups: GrantsByName,
}

impl CompiledRules {
    pub(crate) fn of(lists: Lists) -> Self {
        let [roles, cluster_roles, role_bindings, cluster_role_bindings] = &lists;
        let mut compiled = Self {
            roles: namespaced_roles(roles),
            cluster_roles: cluster_roles_of(cluster_roles),
            users: HashMap::new(),
            groups: HashMap::new(),
            lists: Lists::default(),
        };
        for (_, object) in cluster_role_bindings.iter(None, None) {
            compiled.add_binding(object, None);
        }
        for (name, object) in role_bindings.iter(None, None) {
            compiled.add_binding(object, Some(&name.namespace));
        }
        compiled.lists = lists;
        compiled
    }

    /// Whether the rules were compiled from exactly these lists.
    pub(crate) fn is_compiled_from(&self, lists: &Lists) -> bool {
        let same = |one: &Collection, other: &Collection| {
            one.items.ptr_eq(&other.items) || (one.items.is_empty() && other.items.is_empty())
        };
        self.lists.iter().zip(lists).all(|(one, other)| same(one, other))
    }

    pub(crate) fn rules_of(&self, role: &RoleRef, namespace: &str) -> Option<Arc<[PolicyRule]>> {
        match role.kind.as_str() {
            "ClusterRole" => self.cluster_roles.get(&role.name).cloned(),
            "Role" => self
                .roles
                .get(&(namespace.to_owned(), role.name.clone()))
                .cloned(),
            _ => None,
        }
    }

    /// Returns the grants of `user`: the cluster-wide ones, and those in `namespace` unless it is empty.
    pub(crate) fn grants_of<'a>(
        &'a self,
        user: &UserInfo,
        namespace: &str,
    ) -> impl Iterator<Item = UserGrant<'a>> {
        let of_user = self.users.get(&user.name);
        let of_groups = user.groups.iter().filter_map(|group| self.groups.get(group));
        let grants: Vec<_> = of_user.into_iter().chain(of_groups).flatten().collect();
        let namespace = namespace.to_owned();
        grants.into_iter().filter_map(move |(grant, subject)| {
            let applies = grant
                .namespace
                .as_ref()
                .is_none_or(|granted| !namespace.is_empty() && *granted == namespace);
            applies.then(|| UserGrant {
                grant,
                subject,
                rules: &grant.rules,
            })
        })
    }

    /// Adds the grants of one binding. A binding whose role does not exist grants nothing.
    fn add_binding(&mut self, object: &Object, namespace: Option<&str>) {
        let Some(fields) = parse::<BindingFields>(object) else {
            return;
        };
        let binding_namespace = namespace.unwrap_or_default();
        let Some(rules) = self.rules_of(&fields.role_ref, binding_namespace) else {
            return;
        };
        let name = object.meta().name();
        let binding = match namespace {
            Some(namespace) => format!("RoleBinding \"{name}/{namespace}\""),
            None => format!("ClusterRoleBinding \"{name}\""),
        };
        let namespace = namespace.map(str::to_owned);
        let grant = Arc::new(Grant {
            binding,
            namespace,
            role: fields.role_ref,
            rules,
        });
        for subject in fields.subjects.unwrap_or_default() {
            let (map, key) = match subject.kind.as_str() {
                "User" => (&mut self.users, subject.name.clone()),
                "Group" => (&mut self.groups, subject.name.clone()),
                "ServiceAccount" => (&mut self.users, service_account_user(&subject, binding_namespace)),
                _ => continue,
            };
            map.entry(key).or_default().push((Arc::clone(&grant), subject));
        }
    }
}

/// Returns the namespace of a service account: that of the subject, or otherwise that of the binding.
fn service_account_namespace<'a>(subject: &'a Subject, binding_namespace: &'a str) -> &'a str {
    if subject.namespace.is_empty() {
        binding_namespace
    } else {
        &subject.namespace
    }
}

/// Returns the user name of a service account.
fn service_account_user(subject: &Subject, binding_namespace: &str) -> String {
    let namespace = service_account_namespace(subject, binding_namespace);
    format!("system:serviceaccount:{namespace}:{}", subject.name)
}

impl fmt::Display for UserGrant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RoleRef { kind, name, .. } = &self.grant.role;
        let subject = &self.subject;
        let subject_name = match subject.kind.as_str() {
            "ServiceAccount" => {
                let binding_namespace = self.grant.namespace.as_deref().unwrap_or_default();
                let namespace = service_account_namespace(subject, binding_namespace);
                format!("{}/{namespace}", subject.name)
            }
            _ => subject.name.clone(),
        };
        write!(
            f,
            "{} of {kind} \"{name}\" to {} \"{subject_name}\"",
            self.grant.binding, subject.kind
        )
    }
}

/// Parses a stored object. Validation rejects objects that cannot be parsed; one that is stored nevertheless
/// grants nothing.
fn parse<'a, T: Deserialize<'a>>(object: &'a Object) -> Option<T> {
    match T::deserialize(&**object.value()) {
        Ok(parsed) => Some(parsed),
        Err(problem) => {
            let Revision(revision) = object.revision();
            tracing::error!(name = object.meta().name(), revision, %problem, "RBAC object cannot be read and grants nothing; replace it");
            None
        }
    }
}

/// The fields of a Role or ClusterRole that RBAC evaluates.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RoleRules {
    rules: Option<Vec<PolicyRule>>,
    aggregation_rule: Option<AggregationRule>,
}

fn namespaced_roles(roles: &Collection) -> HashMap<(String, String), Arc<[PolicyRule]>> {
    let rules = |object: &Object| parse::<RoleRules>(object)?.rules;
    roles
        .iter(None, None)
        .map(|(name, object)| {
            (
                (name.namespace.to_string(), name.name.to_string()),
                rules(object).unwrap_or_default().into(),
            )
        })
        .collect()
}

/// The fields of a cluster role that aggregation reads.
struct ClusterRoleRules<'a> {
    name: &'a str,
    labels: &'a Labels,
    rules: Vec<PolicyRule>,
    /// Selectors of an aggregated role.
    selectors: Option<Vec<Selector>>,
}

impl<'a> ClusterRoleRules<'a> {
    fn of(name: &'a str, object: &'a Object) -> Option<Self> {
        let role = parse::<RoleRules>(object)?;
        let selectors = role.aggregation_rule.map(|rule| {
            let selectors = rule.cluster_role_selectors.iter();
            selectors
                .filter_map(|selector| Selector::compile(selector, "").ok())
                .collect()
        });
        Some(Self {
            name,
            labels: object.meta().labels(),
            rules: role.rules.unwrap_or_default(),
            selectors,
        })
    }

    /// Returns the indices of the roles in `all` that this role selects; `None` if it is not aggregated.
    fn selected(&self, all: &[Self]) -> Option<Vec<usize>> {
        let selectors = self.selectors.as_ref()?;
        let indices = (0..all.len()).filter(|&index| {
            let labels = all[index].labels;
            selectors.iter().any(|selector| selector.matches(labels))
        });
        Some(indices.collect())
    }
}

/// Returns the rules of every cluster role by name; those of an aggregated role are from the selected roles.
pub(super) fn cluster_roles_of(roles: &Collection) -> HashMap<String, Arc<[PolicyRule]>> {
    let roles: Vec<ClusterRoleRules<'_>> = roles
        .iter(None, None)
        .filter_map(|(name, object)| ClusterRoleRules::of(&name.name, object))
        .collect();
    // Selectors are evaluated once here, and not again for every role that aggregates an aggregated role.
    let selected: Vec<Option<Vec<usize>>> = roles.iter().map(|role| role.selected(&roles)).collect();
    let rules = (0..roles.len()).map(|root| collect_rules(root, &roles, &selected));
    let names = roles.iter().map(|role| role.name.to_owned());
    names.zip(rules.map(Arc::from)).collect()
}

/// Rules without duplicates, in the order of their insertion.
#[derive(Default)]
struct RuleList<'a> {
    unique: HashSet<&'a PolicyRule>,
    in_order: Vec<PolicyRule>,
}

impl<'a> RuleList<'a> {
    fn add(&mut self, rules: &'a [PolicyRule]) {
        for rule in rules {
            if self.unique.insert(rule) {
                self.in_order.push(rule.clone());
            }
        }
    }
}

/// Returns the rules of the role at index `root`: the role's own rules, or the rules of all roles that it
/// aggregates, directly or through other aggregated roles. `selected` has the indices of the roles that each
/// aggregated role selects. Every role is visited once, in depth-first order.
fn collect_rules(
    root: usize,
    roles: &[ClusterRoleRules<'_>],
    selected: &[Option<Vec<usize>>],
) -> Vec<PolicyRule> {
    let mut list = RuleList::default();
    let mut visited = vec![false; roles.len()];
    let start = [root];
    // The roles that remain at each level. They are not on the call stack, since a chain of aggregated roles
    // may be of any length.
    let mut levels = vec![start.iter()];
    while let Some(level) = levels.last_mut() {
        let Some(&index) = level.next() else {
            levels.pop();
            continue;
        };
        if std::mem::replace(&mut visited[index], true) {
            continue;
        }
        match &selected[index] {
            Some(next) => levels.push(next.iter()),
            None => list.add(&roles[index].rules),
        }
    }
    list.in_order
}
