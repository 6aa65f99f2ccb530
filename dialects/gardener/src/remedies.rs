//! Remedies for refusals (docs/adding-a-system.md, "Advice"): edits of the seed, of the shoot, of the shoot's
//! cloud profile and project, or of the configuration.

use berth_apimachinery::{Key, selector::Selector};
use berth_dialect_contract::remedy::{labels, push};
use berth_dialect_contract::rules::Rules;
use berth_dialect_contract::{ChangeOwner, Decision, Edit, Remedy, Taint, config, taints};
use berth_scheduling::{Ix, Rejection};
use serde_json::{Value, json};

use crate::cidr::Range;
use crate::code::Code;
use crate::domain;
use crate::filters::TOO_FEW_TOLERATIONS;
use crate::filters::networks::{STATUS_PAIR_SHIFT, STATUS_SHIFT};
use crate::fleet::Fleet;
use crate::fleet::profile::Profile;
use crate::fleet::seed::Row;
use crate::fleet::shoot::ShootRecord;
use crate::kind::shoot::spec::Toleration;
use crate::names::{
    CLOUD_PROFILES, DIALECT, EMERGENCY_STOP, PROJECTS, PROVIDER_LABEL, REGION_LABEL, SEED_NAME_LABEL, SEEDS,
    needs_no_toleration,
};
use crate::request::provider_types;

/// Remedies that lift `refusal` of a seed, or that get a feasible seed picked.
pub(crate) fn remedies(
    fleet: &Fleet,
    decision: &Decision,
    candidate: Ix,
    refusal: Option<&Rejection>,
) -> Vec<Remedy> {
    let Some(shoot) = fleet.shoot(&decision.demand) else {
        return Vec::new();
    };
    let pair = ShootAndSeed {
        fleet,
        decision,
        shoot,
        row: fleet.row(candidate),
    };
    match refusal {
        None => pair.not_picked(),
        Some(refusal) => pair.lift(Code::of_reason(refusal.reason), refusal.reason.detail),
    }
}

/// Removes `field` from `parent`.
fn remove(parent: &mut Value, field: &str) {
    if let Some(parent) = parent.as_object_mut() {
        parent.remove(field);
    }
}

/// The names of a shoot's ranges, by their index.
const RANGES: [&str; 3] = ["nodes", "pods", "services"];

/// The clause for a shoot to which no range can be proposed.
const NO_FREE_RANGE: &str =
    "every range that could be proposed overlaps with a range of the seed or of the shoot";

/// A shoot and a seed for which remedies are found.
struct ShootAndSeed<'a> {
    fleet: &'a Fleet,
    decision: &'a Decision,
    shoot: &'a ShootRecord,
    row: &'a Row,
}

impl ShootAndSeed<'_> {
    /// Remedies that lift a refusal with `code` and `detail`.
    fn lift(&self, code: Code, detail: u32) -> Vec<Remedy> {
        let none = |text: &str| vec![Remedy::none(text)];
        match code {
            Code::Deleting => none("a seed that is being deleted takes nothing new"),
            Code::NeverReconciled => {
                none("the gardenlet of the seed reports this, once it has reconciled the seed")
            }
            Code::NotReady => none("the agents of the seed report this: correct the cause on the seed"),
            Code::Invisible => self.set_visible(),
            Code::ProviderMismatch => self.admit_provider(),
            Code::ProfileMismatch => self.match_profile(),
            Code::ShootMismatch => self.match_shoot(),
            Code::TooFewZones => self.tolerate_node_loss(),
            Code::ZonesMissing => self.remove_zones(),
            Code::ZoneMismatch | Code::ZoneNotPreferred => self.remove_zone_selection(),
            Code::AccessRestricted => vec![self.offer_access_restrictions()],
            Code::DomainUnsupported => self.add_default_domain(),
            Code::ReconciliationsStopped => self.remove_emergency_stop(),
            Code::Untolerated => self.tolerate_or_remove_taint(detail),
            Code::DnsDisabled => self.enable_dns(),
            Code::NetworksOverlap => self.replace_overlapping_ranges(detail),
            Code::RangeMissing => self.set_free_ranges(detail),
            Code::RangeReserved => self.replace_ranges(detail),
            Code::Full => none(
                "the gardenlet reports how many shoots its seed takes (resources.capacity.shoots of its configuration)",
            ),
            Code::NotSameRegion => vec![self.set_minimal_distance()],
            Code::NotSameProvider if self.shoot.requirements.testing => {
                none("a shoot of purpose testing can only be on a seed of its own provider type")
            }
            Code::NotSameProvider => vec![self.set_minimal_distance()],
            Code::NotMinimalDistance => none(
                "nearer seeds are feasible: this seed is only the nearest if the seedSelector excludes them",
            ),
        }
    }

    fn set_visible(&self) -> Vec<Remedy> {
        let text = format!("make Seed {} visible to the scheduler", self.row.name);
        vec![self.seed_edit(text, |seed| {
            seed["spec"]["settings"]["scheduling"]["visible"] = true.into();
        })]
    }

    fn tolerate_node_loss(&self) -> Vec<Remedy> {
        let mut text = "let the control plane survive the loss of a node, not of a zone".to_owned();
        if !self.shoot.requirements.control_plane_zones.is_empty() {
            text += ", and remove spec.controlPlane.zones";
        }
        vec![self.shoot_edit(text, |shoot| {
            let control_plane = &mut shoot["spec"]["controlPlane"];
            control_plane["highAvailability"]["failureTolerance"]["type"] = "node".into();
            // Three zones are only allowed with the failure tolerance zone.
            remove(control_plane, "zones");
        })]
    }

    fn remove_zones(&self) -> Vec<Remedy> {
        vec![
            self.shoot_edit("remove spec.controlPlane.zones".to_owned(), |shoot| {
                remove(&mut shoot["spec"]["controlPlane"], "zones");
            }),
        ]
    }

    fn remove_zone_selection(&self) -> Vec<Remedy> {
        let text = format!("take spec.settings.zoneSelection off Seed {}", self.row.name);
        vec![self.seed_edit(text, |seed| {
            remove(&mut seed["spec"]["settings"], "zoneSelection");
        })]
    }

    fn remove_emergency_stop(&self) -> Vec<Remedy> {
        let text = format!("take the annotation {EMERGENCY_STOP} off Seed {}", self.row.name);
        vec![self.seed_edit(text, |seed| {
            remove(&mut seed["metadata"]["annotations"], EMERGENCY_STOP);
        })]
    }

    fn enable_dns(&self) -> Vec<Remedy> {
        let text = format!("enable DNS for shoots of Seed {}", self.row.name);
        vec![self.seed_edit(text, |seed| {
            seed["spec"]["settings"]["shootDNS"]["enabled"] = true.into();
        })]
    }

    /// A remedy that edits the shoot.
    fn shoot_edit(&self, text: String, change: impl FnOnce(&mut Value)) -> Remedy {
        let edit = Edit::of(self.decision.demand.clone(), &self.shoot.object, change);
        Remedy::new(ChangeOwner::Request, text, edit)
    }

    fn seed_key(&self) -> Key {
        Key::new(SEEDS, "", &self.row.name)
    }

    /// A remedy that edits the seed.
    fn seed_edit(&self, text: String, change: impl FnOnce(&mut Value)) -> Remedy {
        let edit = Edit::of(self.seed_key(), &self.row.record.object, change);
        Remedy::new(ChangeOwner::Target, text, edit)
    }

    /// The cloud profile of the shoot; `None` if it does not exist.
    fn profile(&self) -> Option<&Profile> {
        self.fleet
            .profile_of(&self.shoot.requirements)
            .map(|profile| &**profile)
    }

    /// The name of the CloudProfile that the shoot uses itself, or that the shoot's NamespacedCloudProfile
    /// extends.
    fn cloud_profile_name(&self) -> Option<&str> {
        let requirements = &self.shoot.requirements;
        self.fleet.root_of(&requirements.namespace, &requirements.profile)
    }

    /// The remedy that makes the seed offer all access restrictions of the shoot.
    fn offer_access_restrictions(&self) -> Remedy {
        let required = self.shoot.requirements.restrictions.iter();
        let missing: Vec<&String> = required
            .filter(|name| !self.row.facts.restrictions.contains(name))
            .collect();
        let words: Vec<&str> = missing.iter().map(|name| name.as_str()).collect();
        self.seed_edit(
            format!(
                "offer {} on Seed {} (spec.accessRestrictions)",
                words.join(" and "),
                self.row.name
            ),
            |seed| {
                for name in missing {
                    push(&mut seed["spec"]["accessRestrictions"], json!({"name": name}));
                }
            },
        )
    }

    /// The remedy that adds a default domain to the seed, since the shoot's domain cannot be changed.
    fn add_default_domain(&self) -> Vec<Remedy> {
        let requirements = &self.shoot.requirements;
        let project = self.fleet.project_name(&requirements.namespace);
        let prefix = domain::derived(requirements, project, "");
        match requirements
            .domain
            .as_deref()
            .and_then(|own| own.strip_prefix(&prefix))
        {
            Some(default) => vec![self.seed_edit(
                format!("add {default} to spec.dns.defaults of Seed {}", self.row.name),
                |seed| push(&mut seed["spec"]["dns"]["defaults"], json!({"domain": default})),
            )],
            None => vec![Remedy::none(format!(
                "the shoot's domain cannot be changed any more: a new shoot with the domain {prefix}<default domain>, or \
                 without a domain, would fit"
            ))],
        }
    }

    /// Remedies that make the selectors of the shoot and of its profile admit the provider type of the seed.
    fn admit_provider(&self) -> Vec<Remedy> {
        let r#type = self.row.record.seed.spec.provider.r#type.as_str();
        let admits =
            |types: &[String]| types.is_empty() || types.iter().any(|known| known == "*" || known == r#type);
        let requirements = &self.shoot.requirements;
        let shoot_types = provider_types(requirements, self.fleet.rules());
        let profile_types = self.profile().map_or(&[][..], |profile| &profile.provider_types);
        let is_current = self.fleet.rules() == Rules::Current;
        if is_current || !admits(profile_types) {
            let Some(name) = self.cloud_profile_name() else {
                return Vec::new();
            };
            // Once the list is not empty, the shoot's own type is no longer included by default.
            let own = Some(requirements.provider.as_str()).filter(|_| is_current && profile_types.is_empty());
            let types: Vec<&str> = profile_types
                .iter()
                .map(String::as_str)
                .chain(own)
                .chain([r#type])
                .collect();
            let edit = Edit::Merge {
                key: Key::new(CLOUD_PROFILES, "", name),
                patch: json!({"spec": {"seedSelector": {"providerTypes": types}}}),
            };
            let text = format!(
                "add {} to seedSelector.providerTypes of CloudProfile {name}",
                r#type
            );
            let profile = Remedy::new(ChangeOwner::Fleet, text, edit);
            if admits(shoot_types) {
                return vec![profile];
            }
            let mut both = self.add_provider_type(r#type);
            both.text = format!("{} and {}", profile.text, both.text);
            both.owner = ChangeOwner::Fleet;
            both.edits.extend(profile.edits);
            return vec![both];
        }
        vec![self.add_provider_type(r#type)]
    }

    /// The remedy that makes the seed selector of the shoot also admit seeds of the provider type `type`.
    fn add_provider_type(&self, r#type: &str) -> Remedy {
        let requirements = &self.shoot.requirements;
        // Once the list is not empty, the shoot's own type is no longer included by default.
        let own = Some(requirements.provider.as_str()).filter(|_| requirements.provider_types.is_empty());
        self.shoot_edit(
            format!("add {} to spec.seedSelector.providerTypes", r#type),
            |shoot| {
                let types = &mut shoot["spec"]["seedSelector"]["providerTypes"];
                for name in own.into_iter().chain([r#type]) {
                    push(types, json!(name));
                }
            },
        )
    }

    /// The remedy that changes the labels of the seed so that `selector` matches. `None` if no change of
    /// labels makes the selector match, or if a label for the provider type, the region or the name would
    /// have to change, which are computed.
    fn set_labels(&self, selector: &Selector) -> Option<Remedy> {
        let changes = labels::to_match(selector, &self.row.record.labels)?;
        let is_computed = |key: &String| {
            [PROVIDER_LABEL, REGION_LABEL].contains(&key.as_str()) || key.starts_with(SEED_NAME_LABEL)
        };
        if changes.keys().any(is_computed) {
            return None;
        }
        let text = labels::words(&format!("Seed {}", self.row.name), &changes);
        let edit = Edit::Merge {
            key: self.seed_key(),
            patch: labels::patch(&changes),
        };
        Some(Remedy::new(ChangeOwner::Target, text, edit))
    }

    /// Remedies that make the labels of the seed and the seed selector of the shoot match.
    fn match_shoot(&self) -> Vec<Remedy> {
        let mut removed = Vec::new();
        let mut remedy = self.shoot_edit(String::new(), |shoot| {
            removed = labels::relax(&mut shoot["spec"]["seedSelector"], &self.row.record.labels);
        });
        remedy.text = format!("take {} out of spec.seedSelector", removed.join(" and "));
        let remedy = Some(remedy).filter(|_| !removed.is_empty());
        remedy
            .into_iter()
            .chain(self.set_labels(&self.shoot.requirements.selector))
            .collect()
    }

    /// The remedy that makes the labels of the seed match the seed selector of the profile.
    fn match_profile(&self) -> Vec<Remedy> {
        let selector = self.profile().map(|profile| &profile.selector);
        let remedy = selector.and_then(|selector| self.set_labels(selector));
        match remedy {
            Some(remedy) => vec![remedy],
            None => vec![Remedy::none(format!(
                "the seedSelector of {} {} cannot be matched by setting labels on the seed",
                self.shoot.requirements.profile.0, self.shoot.requirements.profile.1
            ))],
        }
    }

    /// Remedies for a taint that the shoot does not tolerate. `detail` is the index of the taint, or
    /// [`TOO_FEW_TOLERATIONS`].
    fn tolerate_or_remove_taint(&self, detail: u32) -> Vec<Remedy> {
        if detail == TOO_FEW_TOLERATIONS {
            return vec![Remedy::none(
                "add tolerations: Gardener requires at least as many tolerations as the seed has taints",
            )];
        }
        let place = detail as usize;
        let rules = self.fleet.rules();
        let Some(taint) = self.row.facts.taints.under(rules).get(place).map(Taint::from) else {
            return Vec::new();
        };
        // By the documented rules, the row does not include the taints that need no toleration.
        let counts = |taint: &Value| {
            rules == Rules::Current || !needs_no_toleration(taint["key"].as_str().unwrap_or_default())
        };
        let target = ("Seed", self.seed_key(), &*self.row.record.object);
        let untaint = taints::removal(&taint, target, place, counts);
        vec![self.tolerate(&taint), untaint]
    }

    /// The remedy that adds a toleration to the shoot and, if necessary, to the allowed tolerations of the
    /// project.
    fn tolerate(&self, taint: &Taint) -> Remedy {
        let requirements = &self.shoot.requirements;
        let toleration = &Toleration {
            key: taint.key.clone(),
            value: Some(taint.value.clone()).filter(|value| !value.is_empty()),
        };
        let tolerate = self.shoot_edit(taints::tolerate(taint), |shoot| {
            let list = &mut shoot["spec"]["tolerations"];
            // Of several tolerations with equal keys, the last counts, and none may follow a toleration
            // without a value. So the tolerations with this key are replaced.
            if let Some(known) = list.as_array_mut() {
                known.retain(|known| known["key"] != toleration.key.as_str());
            }
            push(list, json!(toleration));
        });
        if self.fleet.may_tolerate(&requirements.namespace, toleration) {
            return tolerate;
        }
        let Some(project) = self.fleet.project_of(&requirements.namespace) else {
            return Remedy::none(format!(
                "namespace {} has no Project that could allow the toleration {toleration}",
                requirements.namespace
            ));
        };
        let name = &project.name;
        if !project.is_readable {
            return Remedy::none(format!("Project {name} cannot be read: correct it first"));
        }
        let allow = Edit::of(Key::new(PROJECTS, "", name), &project.object, |project| {
            let list = &mut project["spec"]["tolerations"]["whitelist"];
            push(list, json!(toleration));
        });
        let mut both = Remedy::new(
            ChangeOwner::Fleet,
            format!("add {toleration} to spec.tolerations.whitelist of Project {name}"),
            allow,
        );
        if !requirements.tolerations.contains(toleration) {
            both.text = format!("{} and {}", both.text, tolerate.text);
            both.edits.extend(tolerate.edits);
        }
        both
    }

    /// Remedies that replace the ranges of the shoot that overlap with ranges of the seed. `pairs` has a bit
    /// for each pair of ranges that overlap.
    fn replace_overlapping_ranges(&self, pairs: u32) -> Vec<Remedy> {
        if pairs >> STATUS_PAIR_SHIFT != 0 {
            return self.fixed_status();
        }
        let overlaps = |shoot: usize| pairs >> (3 * shoot) & 0b111 != 0;
        self.replace_ranges(
            (0..3)
                .filter(|&range| overlaps(range))
                .map(|range| 1 << range)
                .sum(),
        )
    }

    /// Remedies that replace the ranges of the shoot whose bits are set in `bits`. Of the ranges in the spec
    /// of the shoot, only the range for nodes can be changed.
    fn replace_ranges(&self, bits: u32) -> Vec<Remedy> {
        if bits >> STATUS_SHIFT != 0 {
            return self.fixed_status();
        }
        let fixed: Vec<&str> = (1..3)
            .filter(|&range| bits >> range & 1 == 1 && self.shoot.requirements.ranges[range].is_some())
            .map(|range| RANGES[range])
            .collect();
        if fixed.is_empty() {
            return self.set_free_ranges(bits);
        }
        let new_shoot = match self.free_range(&[]) {
            Some(free) => format!(": a new shoot with another range, such as {free}, would fit"),
            None => format!(", and {NO_FREE_RANGE}"),
        };
        vec![Remedy::none(format!(
            "the shoot's range for {} cannot be changed any more{new_shoot}",
            fixed.join(" and ")
        ))]
    }

    /// Remedies that set free ranges instead of the ranges whose bits are set in `bits`.
    fn set_free_ranges(&self, bits: u32) -> Vec<Remedy> {
        if bits >> STATUS_SHIFT != 0 {
            return self.fixed_status();
        }
        let mut used = Vec::new();
        let mut free_ranges = Vec::new();
        for range in (0..3).filter(|range| bits >> range & 1 == 1) {
            let Some(free) = self.free_range(&used) else {
                return vec![Remedy::none(NO_FREE_RANGE)];
            };
            used.push(Range::of(Some(&free)));
            free_ranges.push((RANGES[range], free));
        }
        let words: Vec<String> = free_ranges
            .iter()
            .map(|(name, free)| format!("{name} {free}"))
            .collect();
        let text = format!("give the shoot a range of its own: {}", words.join(", "));
        vec![self.shoot_edit(text, |shoot| {
            for (name, free) in free_ranges {
                shoot["spec"]["networking"][name] = free.into();
            }
        })]
    }

    /// The remedy without an edit for ranges in the status of the shoot, which cannot be changed.
    fn fixed_status(&self) -> Vec<Remedy> {
        vec![Remedy::none(format!(
            "the ranges in status.networking of shoot {} cannot be changed",
            self.shoot.requirements.name
        ))]
    }

    /// A range of the shoot's families that does not overlap with a range of the seed, a default range of the
    /// seed, a range in the shoot's spec or a range in `used`.
    fn free_range(&self, used: &[Range]) -> Option<String> {
        let facts = &self.row.facts;
        let others = facts.networks.iter().chain(&facts.defaults);
        let others: Vec<Range> = others
            .chain(&self.shoot.requirements.networks)
            .chain(used)
            .copied()
            .collect();
        let private_ranges = (0..256).map(|second| format!("10.{second}.0.0/16"));
        let shared_ranges = (64..128).map(|second| format!("100.{second}.0.0/16"));
        let ipv6_ranges = (0..256).map(|third| format!("fd00:{third:x}::/48"));
        let families = self.shoot.requirements.families;
        private_ranges
            .chain(shared_ranges)
            .chain(ipv6_ranges)
            .find(|text| {
                let range = Range::of(Some(text));
                families.admit(range) && !others.iter().any(|other| range.overlaps(*other))
            })
    }

    /// The remedy that sets the strategy MinimalDistance in the configuration.
    fn set_minimal_distance(&self) -> Remedy {
        let key = config::key(DIALECT);
        let part = json!({DIALECT: {"schedulers": {"shoot": {
            "candidateDeterminationStrategy": "MinimalDistance"
        }}}});
        let text = "set candidateDeterminationStrategy to MinimalDistance in the configuration of gardener";
        let edit = if self.fleet.configured {
            let patch = json!({"spec": part});
            Edit::Merge { key, patch }
        } else {
            Edit::Create {
                object: json!({
                    "apiVersion": format!("{}/{}", config::GROUP, config::VERSION),
                    "kind": config::KIND,
                    "metadata": {"name": DIALECT},
                    "spec": part,
                }),
                key,
            }
        };
        Remedy::new(ChangeOwner::Fleet, text, edit)
    }

    /// The remedy for a feasible seed that is not picked, since the shoot is bound to another seed.
    fn not_picked(&self) -> Vec<Remedy> {
        if self.shoot.seed.is_none() {
            return Vec::new();
        }
        vec![Remedy::none(
            "the shoot is bound to its seed: a control plane migration through shoots/binding moves it to another seed",
        )]
    }
}

#[cfg(test)]
mod tests;
