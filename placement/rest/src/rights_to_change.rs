//! Advice for a caller: whether the caller may make each set of changes, and only the visible parts of
//! patches of objects that the caller may not read.

use std::collections::BTreeMap;

use berth_apimachinery::{Key, Status};
use berth_apiserver::{Attributes, Call};
use berth_dialect_contract::config;
use berth_engine::advice::{Form, Patch, Set, TargetAdvice};
use berth_engine::{Catalog, Engine};
use berth_scheduling_api::{GROUP, VERSION};

use super::{hidden, own_places};

/// Maximal number of checked rights, each of which may be one or two SubjectAccessReviews; further rights
/// count as missing.
const CHECK_LIMIT: usize = 60;

/// Records for each set of changes whether the user of `call` may make it, and reduces the patches of objects
/// that the user may not read to the changed paths. Sorts the sets of a target by size; among equal sizes,
/// the sets that the user may make come first. `demand` is the subject of the advice.
///
/// # Errors
/// When the user's rights cannot be checked.
pub(super) async fn judge(
    call: &Call,
    engine: &Engine,
    catalog: &Catalog,
    demand: &Key,
    targets: &mut [TargetAdvice],
) -> Result<(), Status> {
    let mut rights = Rights {
        call,
        engine,
        catalog,
        demand,
        known: BTreeMap::new(),
    };
    for set in targets.iter_mut().flat_map(|target| &mut target.advice) {
        rights.judge(set).await?;
    }
    for target in targets {
        target
            .advice
            .sort_by_key(|set| (set.changes.len(), set.allowed != Some(true)));
    }
    Ok(())
}

/// Rights of one user, each checked once.
struct Rights<'a> {
    call: &'a Call,
    engine: &'a Engine,
    catalog: &'a Catalog,
    demand: &'a Key,
    known: BTreeMap<(&'static str, Key), bool>,
}

impl Rights<'_> {
    async fn judge(&mut self, set: &mut Set) -> Result<(), Status> {
        let mut allowed = true;
        let mut unread = Vec::new();
        for patch in &mut set.patches {
            let verb = match patch.form {
                Form::Create(_) => "create",
                Form::Json(_) | Form::Hidden(_) => "patch",
            };
            let may = self.may(verb, &patch.key).await?;
            patch.allowed = Some(may);
            allowed &= may;
            if verb == "patch" && !self.may("get", &patch.key).await? {
                hide(patch);
                unread.push(patch.key.clone());
            }
        }
        set.allowed = Some(allowed);
        for change in &mut set.changes {
            let hidden = change.keys.iter().find(|key| unread.contains(key));
            if let Some(key) = hidden {
                change.message = hidden_change_message(&set.patches, key);
            }
        }
        Ok(())
    }

    async fn may(&mut self, verb: &'static str, key: &Key) -> Result<bool, Status> {
        let request = (verb, key.clone());
        if let Some(&known) = self.known.get(&request) {
            return Ok(known);
        }
        if self.known.len() >= CHECK_LIMIT {
            return Ok(false);
        }
        let mut may = self.check(self.right(verb, key)).await?;
        if may
            && key.resource.group == GROUP
            && let Some(right) = own_places::right_to_bind(self.engine, self.demand.resource)
        {
            may = self
                .check(Attributes {
                    namespace: self.demand.namespace.to_string(),
                    name: self.demand.name.to_string(),
                    ..right
                })
                .await?;
        }
        self.known.insert(request, may);
        Ok(may)
    }

    async fn check(&self, right: Attributes) -> Result<bool, Status> {
        match self.call.require(right).await {
            Ok(()) => Ok(true),
            Err(status) if status.code == 403 => Ok(false),
            Err(status) => Err(status),
        }
    }

    /// The right to use `verb` on the object at `key`. A Binding is authorized as a subresource of its
    /// decision.
    fn right(&self, verb: &str, key: &Key) -> Attributes {
        let (resource, subresource) = match key.resource.resource {
            "bindings" if key.resource.group == GROUP => ("decisions", "binding"),
            "clusterbindings" if key.resource.group == GROUP => ("clusterdecisions", "binding"),
            other => (other, ""),
        };
        let version = match key.resource.group {
            GROUP => VERSION,
            config::GROUP => config::VERSION,
            _ => self.catalog.version_of(key.resource).unwrap_or_default(),
        };
        Attributes {
            verb: verb.to_owned(),
            is_resource: true,
            group: key.resource.group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: hidden::authorized_in(key).to_owned(),
            name: key.name.to_string(),
            ..Attributes::default()
        }
    }
}

/// Message about the necessary change of an object that the caller may not read.
fn hidden_change_message(patches: &[Patch], key: &Key) -> String {
    let patch = patches.iter().find(|patch| patch.key == *key);
    let object = patch.map_or_else(
        || key.to_string(),
        |Patch {
             kind,
             namespace,
             name,
             ..
         }| match namespace.as_str() {
            "" => format!("{kind} {name}"),
            namespace => format!("{kind} {namespace}/{name}"),
        },
    );
    format!("{object} would have to change; you may not read it: ask its owner")
}

/// Reduces `patch` to the changed paths.
fn hide(patch: &mut Patch) {
    if let Form::Json(operations) = &patch.form {
        let paths = operations.iter().filter(|operation| operation["op"] != "test");
        let paths = paths.filter_map(|operation| operation["path"].as_str().map(str::to_owned));
        patch.form = Form::Hidden(paths.collect());
        patch.command.clear();
    }
}
