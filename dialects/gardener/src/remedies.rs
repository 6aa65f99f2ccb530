//! Remedies for refusals (docs/adding-a-system.md, "Advice"): edits of the seed, the shoot, its profile, its
//! project or the configuration.

use berth_apimachinery::{Key, selector::Selector};
use berth_dialect_contract::remedy::{labels, push};
use berth_dialect_contract::rules::Rules;
use berth_dialect_contract::{Decision, Edit, Remedy, Taint, Whose, config, taints};
use berth_scheduling::{Ix, Rejection};
use serde_json::{Value, json};

use crate::cidr::Range;
use crate::code::Code;
use crate::domain;
use crate::filters::TOO_FEW_TOLERATIONS;
use crate::filters::networks::{HELD, HELD_PAIRS};
use crate::fleet::Fleet;
use crate::fleet::profile::Profile;
use crate::fleet::seed::Row;
use crate::fleet::shoot::Record;
use crate::kind::shoot::spec::Toleration;
use crate::names::{
    CLOUD_PROFILES, DIALECT, EMERGENCY_STOP, PROJECTS, PROVIDER_LABEL, REGION_LABEL, SEEDS, is_special_taint,
};
use crate::request::provider_types;

/// Remedies that lift `refusal`, or that get a feasible seed picked.
pub(crate) fn remedies(
    fleet: &Fleet,
    decision: &Decision,
    candidate: Ix,
    refusal: Option<&Rejection>,
) -> Vec<Remedy> {
    let Some(shoot) = fleet.shoot(&decision.demand) else {
        return Vec::new();
    };
    let pair = SeedPair {
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

/// Removes a field.
fn remove(parent: &mut Value, field: &str) {
    if let Some(parent) = parent.as_object_mut() {
        parent.remove(field);
    }
}

/// The names of a shoot's ranges, in the order of its networks.
const RANGES: [&str; 3] = ["nodes", "pods", "services"];

/// One shoot and one seed, for which remedies are found.
struct SeedPair<'a> {
    fleet: &'a Fleet,
    decision: &'a Decision,
    shoot: &'a Record,
    row: &'a Row,
}

impl SeedPair<'_> {
    fn lift(&self, code: Code, detail: u32) -> Vec<Remedy> {
        let none = |text: &str| vec![Remedy::none(text)];
        let seed = format!("Seed {}", self.row.name);
        match code {
            Code::Deleting => none("a seed that is being deleted takes nothing new"),
            Code::NeverReconciled => {
                none("the seed's own agent reports this, once it has reconciled the seed")
            }
            Code::NotReady => none("the seed's own agents report this: the seed must be mended"),
            Code::Invisible => vec![
                self.of_seed(format!("make {seed} visible to the scheduler"), |seed| {
                    seed["spec"]["settings"]["scheduling"]["visible"] = true.into();
                }),
            ],
            Code::ProviderMismatch => self.provider(),
            Code::ProfileMismatch => self.profile_labels(),
            Code::ShootMismatch => self.shoot_labels(),
            Code::TooFewZones => vec![self.of_shoot(
                "let the control plane survive the loss of a node, not of a zone".to_owned(),
                |shoot| {
                    shoot["spec"]["controlPlane"]["highAvailability"]["failureTolerance"]["type"] =
                        "node".into();
                },
            )],
            Code::ZonesMissing => {
                vec![
                    self.of_shoot("take spec.controlPlane.zones away".to_owned(), |shoot| {
                        remove(&mut shoot["spec"]["controlPlane"], "zones");
                    }),
                ]
            }
            Code::ZoneMismatch | Code::ZoneNotPreferred => {
                vec![
                    self.of_seed(format!("take spec.settings.zoneSelection off {seed}"), |seed| {
                        remove(&mut seed["spec"]["settings"], "zoneSelection");
                    }),
                ]
            }
            Code::AccessRestricted => vec![self.offer()],
            Code::DomainUnsupported => self.domain(),
            Code::ReconciliationsStopped => {
                vec![self.of_seed(
                    format!("take the annotation {EMERGENCY_STOP} off {seed}"),
                    |seed| {
                        remove(&mut seed["metadata"]["annotations"], EMERGENCY_STOP);
                    },
                )]
            }
            Code::Untolerated => self.taint(detail),
            Code::DnsDisabled => vec![self.of_seed(format!("enable DNS for shoots of {seed}"), |seed| {
                seed["spec"]["settings"]["shootDNS"]["enabled"] = true.into();
            })],
            Code::NetworksOverlap => self.overlap(detail),
            Code::RangeMissing => self.ranges(detail),
            Code::RangeReserved => self.other_ranges(detail),
            Code::Full => none(
                "the gardenlet reports how many shoots its seed takes (resources.capacity.shoots of its configuration)",
            ),
            Code::NotSameRegion => vec![self.by_distance()],
            Code::NotSameProvider if self.shoot.wants.testing => {
                none("a shoot of purpose testing goes to seeds of its own provider type only")
            }
            Code::NotSameProvider => vec![self.by_distance()],
            Code::NotMinimalDistance => none(
                "nearer seeds are feasible: this seed is the nearest only if the seedSelector excludes them",
            ),
        }
    }

    /// A remedy that edits the shoot.
    fn of_shoot(&self, text: String, change: impl FnOnce(&mut Value)) -> Remedy {
        let edit = Edit::of(self.decision.demand.clone(), &self.shoot.object, change);
        Remedy::new(Whose::Request, text, edit)
    }

    fn seed_key(&self) -> Key {
        Key::new(SEEDS, "", &self.row.name)
    }

    /// A remedy that edits the seed.
    fn of_seed(&self, text: String, change: impl FnOnce(&mut Value)) -> Remedy {
        let edit = Edit::of(self.seed_key(), &self.row.record.object, change);
        Remedy::new(Whose::Target, text, edit)
    }

    fn profile(&self) -> Option<&Profile> {
        self.fleet.profile_of(&self.shoot.wants).map(|profile| &**profile)
    }

    /// The name of the CloudProfile of the shoot's profile: of the profile itself or of its parent.
    fn root(&self) -> Option<&str> {
        let wants = &self.shoot.wants;
        self.fleet.root_of(&wants.namespace, &wants.profile)
    }

    /// The remedy that makes the seed offer the access restrictions of the shoot.
    fn offer(&self) -> Remedy {
        let required = self.shoot.wants.restrictions.iter();
        let missing: Vec<&String> = required
            .filter(|name| !self.row.facts.restrictions.contains(name))
            .collect();
        let words: Vec<&str> = missing.iter().map(|name| name.as_str()).collect();
        self.of_seed(
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

    /// The remedy that adds a default domain to the seed: the shoot's domain cannot be changed.
    fn domain(&self) -> Vec<Remedy> {
        let wants = &self.shoot.wants;
        let project = self.fleet.project_name(&wants.namespace);
        let prefix = domain::of(wants, project, "");
        match wants.domain.as_deref().and_then(|own| own.strip_prefix(&prefix)) {
            Some(default) => vec![self.of_seed(
                format!("add {default} to spec.dns.defaults of Seed {}", self.row.name),
                |seed| push(&mut seed["spec"]["dns"]["defaults"], json!({"domain": default})),
            )],
            None => vec![Remedy::none(format!(
                "the shoot's domain cannot be changed any more: a shoot made anew with {prefix}<default domain>, or with \
                 none, would fit"
            ))],
        }
    }

    /// Remedies that make the selectors of the shoot and of its profile admit the seed's provider type.
    fn provider(&self) -> Vec<Remedy> {
        let r#type = self.row.record.seed.spec.provider.r#type.as_str();
        let admits =
            |types: &[String]| types.is_empty() || types.iter().any(|known| known == "*" || known == r#type);
        let wants = &self.shoot.wants;
        let shoot_types = provider_types(wants, self.fleet.rules());
        let profile_types = self.profile().map_or(&[][..], |profile| &profile.provider_types);
        let is_current = self.fleet.rules() == Rules::Current;
        if is_current || !admits(profile_types) {
            let Some(name) = self.root() else {
                return Vec::new();
            };
            // Once the list is not empty, the shoot's own type is no longer included by default.
            let own = Some(wants.provider.as_str()).filter(|_| is_current && profile_types.is_empty());
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
            let profile = Remedy::new(Whose::Fleet, text, edit);
            if admits(shoot_types) {
                return vec![profile];
            }
            let mut both = self.add_type(r#type);
            both.text = format!("{} and {}", profile.text, both.text);
            both.whose = Whose::Fleet;
            both.edits.extend(profile.edits);
            return vec![both];
        }
        vec![self.add_type(r#type)]
    }

    /// The remedy that makes the shoot's selector also admit seeds of this provider type.
    fn add_type(&self, r#type: &str) -> Remedy {
        self.of_shoot(
            format!("add {} to spec.seedSelector.providerTypes", r#type),
            |shoot| {
                push(&mut shoot["spec"]["seedSelector"]["providerTypes"], json!(r#type));
            },
        )
    }

    /// The remedy that sets labels on the seed so that `selector` matches. `None` if no change of labels does
    /// this, or if the label for the provider type or the region would change, which cannot be set.
    fn set_labels(&self, selector: &Selector) -> Option<Remedy> {
        let changes = labels::to_match(selector, &self.row.record.labels)?;
        if [PROVIDER_LABEL, REGION_LABEL]
            .iter()
            .any(|key| changes.contains_key(*key))
        {
            return None;
        }
        let text = labels::words(&format!("Seed {}", self.row.name), &changes);
        let edit = Edit::Merge {
            key: self.seed_key(),
            patch: labels::patch(&changes),
        };
        Some(Remedy::new(Whose::Target, text, edit))
    }

    fn shoot_labels(&self) -> Vec<Remedy> {
        let mut removed = Vec::new();
        let mut remedy = self.of_shoot(String::new(), |shoot| {
            removed = labels::relax(&mut shoot["spec"]["seedSelector"], &self.row.record.labels);
        });
        remedy.text = format!("take {} out of spec.seedSelector", removed.join(" and "));
        let remedy = Some(remedy).filter(|_| !removed.is_empty());
        remedy
            .into_iter()
            .chain(self.set_labels(&self.shoot.wants.selector))
            .collect()
    }

    fn profile_labels(&self) -> Vec<Remedy> {
        let selector = self.profile().map(|profile| &profile.selector);
        let remedy = selector.and_then(|selector| self.set_labels(selector));
        match remedy {
            Some(remedy) => vec![remedy],
            None => vec![Remedy::none(format!(
                "the seedSelector of CloudProfile {} cannot be matched by setting labels on the seed",
                self.shoot.wants.profile.1
            ))],
        }
    }

    fn taint(&self, detail: u32) -> Vec<Remedy> {
        if detail == TOO_FEW_TOLERATIONS {
            return vec![Remedy::none(
                "Gardener counts: the shoot needs as many tolerations as the seed has taints",
            )];
        }
        let place = detail as usize;
        let rules = self.fleet.rules();
        let Some(taint) = self.row.facts.taints.under(rules).get(place).map(Taint::from) else {
            return Vec::new();
        };
        // By the documented rules, the row's taints do not include the special taints.
        let counts = |taint: &Value| {
            rules == Rules::Current || !is_special_taint(taint["key"].as_str().unwrap_or_default())
        };
        let target = ("Seed", self.seed_key(), &*self.row.record.object);
        let untaint = taints::removal(&taint, target, place, counts);
        vec![self.tolerate(&taint), untaint]
    }

    /// The remedy that adds a toleration to the shoot and, if necessary, to the tolerations that its project
    /// allows.
    fn tolerate(&self, taint: &Taint) -> Remedy {
        let wants = &self.shoot.wants;
        let toleration = &Toleration {
            key: taint.key.clone(),
            value: Some(taint.value.clone()).filter(|value| !value.is_empty()),
        };
        let tolerate = self.of_shoot(taints::tolerate(taint), |shoot| {
            let list = &mut shoot["spec"]["tolerations"];
            // The last toleration of a key counts, and no toleration may follow a toleration of its key
            // without a value. So the tolerations of this key are replaced.
            if let Some(known) = list.as_array_mut() {
                known.retain(|known| known["key"] != toleration.key.as_str());
            }
            push(list, json!(toleration));
        });
        if self.fleet.may_tolerate(&wants.namespace, toleration) {
            return tolerate;
        }
        let Some(project) = self.fleet.project_of(&wants.namespace) else {
            return Remedy::none(format!(
                "namespace {} has no Project that could allow the toleration {toleration}",
                wants.namespace
            ));
        };
        let name = &project.name;
        if !project.is_readable {
            return Remedy::none(format!("Project {name} cannot be read: mend it first"));
        }
        let allow = Edit::of(Key::new(PROJECTS, "", name), &project.object, |project| {
            let list = &mut project["spec"]["tolerations"]["whitelist"];
            push(list, json!(toleration));
        });
        let mut both = Remedy::new(
            Whose::Fleet,
            format!("add {toleration} to spec.tolerations.whitelist of Project {name}"),
            allow,
        );
        if !wants.tolerations.contains(toleration) {
            both.text = format!("{} and {}", both.text, tolerate.text);
            both.edits.extend(tolerate.edits);
        }
        both
    }

    /// Remedies that replace the shoot's ranges in `pairs`, which overlap with ranges of the seed.
    fn overlap(&self, pairs: u32) -> Vec<Remedy> {
        if pairs >> HELD_PAIRS != 0 {
            return self.held();
        }
        let meets = |shoot: usize| pairs >> (3 * shoot) & 0b111 != 0;
        self.other_ranges((0..3).filter(|&range| meets(range)).map(|range| 1 << range).sum())
    }

    /// Remedies that replace the shoot's ranges in `bits`. Of the ranges that are set in the shoot, only the
    /// range for nodes may change.
    fn other_ranges(&self, bits: u32) -> Vec<Remedy> {
        if bits >> HELD != 0 {
            return self.held();
        }
        let fixed: Vec<&str> = (1..3)
            .filter(|&range| bits >> range & 1 == 1 && self.shoot.wants.ranges[range].is_some())
            .map(|range| RANGES[range])
            .collect();
        if fixed.is_empty() {
            return self.ranges(bits);
        }
        let free = self.free(&[]).unwrap_or_default();
        vec![Remedy::none(format!(
            "the shoot's range for {} cannot be changed any more: a shoot made anew with, say, {free} would fit",
            fixed.join(" and ")
        ))]
    }

    /// Remedies that set free ranges in place of the ranges in `bits`.
    fn ranges(&self, bits: u32) -> Vec<Remedy> {
        if bits >> HELD != 0 {
            return self.held();
        }
        let mut used = Vec::new();
        let mut free_ranges = Vec::new();
        for range in (0..3).filter(|range| bits >> range & 1 == 1) {
            let Some(free) = self.free(&used) else {
                return vec![Remedy::none(
                    "every range that could be proposed overlaps with a range of the seed or of the shoot",
                )];
            };
            used.push(Range::of(Some(&free)));
            free_ranges.push((RANGES[range], free));
        }
        let words: Vec<String> = free_ranges
            .iter()
            .map(|(name, free)| format!("{name} {free}"))
            .collect();
        let text = format!("give the shoot a range of its own: {}", words.join(", "));
        vec![self.of_shoot(text, |shoot| {
            for (name, free) in free_ranges {
                shoot["spec"]["networking"][name] = free.into();
            }
        })]
    }

    /// A remedy without an edit: the networks in a shoot's status cannot be changed.
    fn held(&self) -> Vec<Remedy> {
        vec![Remedy::none(format!(
            "the ranges in status.networking of shoot {} cannot be changed",
            self.shoot.wants.name
        ))]
    }

    /// A range of the shoot's families that does not overlap with a range of the seed or of the shoot, nor
    /// with `used`.
    fn free(&self, used: &[Range]) -> Option<String> {
        let facts = &self.row.facts;
        let others = facts.networks.iter().chain(&facts.defaults);
        let others: Vec<Range> = others
            .chain(&self.shoot.wants.networks)
            .chain(used)
            .copied()
            .collect();
        let private_ranges = (0..256).map(|second| format!("10.{second}.0.0/16"));
        let shared_ranges = (64..128).map(|second| format!("100.{second}.0.0/16"));
        let ipv6_ranges = (0..256).map(|third| format!("fd00:{third:x}::/48"));
        let families = self.shoot.wants.families;
        private_ranges
            .chain(shared_ranges)
            .chain(ipv6_ranges)
            .find(|text| {
                let range = Range::of(Some(text));
                families.admit(range) && !others.iter().any(|other| range.overlaps(*other))
            })
    }

    /// The remedy that sets the strategy MinimalDistance.
    fn by_distance(&self) -> Remedy {
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
        Remedy::new(Whose::Fleet, text, edit)
    }

    fn not_picked(&self) -> Vec<Remedy> {
        if self.shoot.seed.is_none() {
            return Vec::new();
        }
        vec![Remedy::none(
            "the shoot has its seed: another one is a control plane migration, through shoots/binding",
        )]
    }
}
