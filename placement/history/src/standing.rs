//! Where a decision stands: as much of it as is worth remembering, read from the Decision as it is shown.

use std::sync::Arc;

use berth_apimachinery::Object;
use berth_dialect_contract::Phase;
use berth_dialect_contract::amounts::Held;
use berth_scheduling_rest::kinds::decision::AGREES;
use berth_scheduling_rest::observed::NOT_COMPARED;
use serde::{Deserialize, Serialize};

use super::reasons::Reasons;

/// How many clusters a record names on each side. The counts are of all.
pub const SHOWN: usize = 50;

/// One cluster an object is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Place {
    /// The system's own name of the cluster.
    pub cluster_name: String,
    /// The score it was chosen with, where the system records that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// The amount it has, where the system divides one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<i64>,
    /// The state, as the system names it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// Whether it is on its way out: no place any more, though still occupied.
    #[serde(skip_serializing_if = "is_false")]
    pub leaving: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde gives fields by reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Where a decision stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Standing {
    /// The phase of the Decision.
    pub phase: String,
    /// Why it is not bound; empty once it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The summary.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How many clusters it is bound to, those on their way out left out.
    pub cluster_count: usize,
    /// The clusters, by name; of a record the first [`SHOWN`].
    pub clusters: Vec<Place>,
    /// How many targets each reason refuses, where that is known. A record has the counts of both sides in one list.
    #[serde(skip)]
    pub reasons: Option<Reasons>,
    /// Whether Berth agreed, where it observed. A record says it of the side after the change.
    #[serde(skip)]
    pub agreement: Option<Agreement>,
}

/// Whether Berth would have decided the same as another scheduler did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// `True`, `False` or `Unknown`, at once and without any grace.
    pub status: String,
    /// Changes that Berth would make, or why that cannot be said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Whether it is only not compared yet.
    #[serde(skip)]
    pub awaited: bool,
}

impl Standing {
    /// The names of its clusters, in order, without those on their way out.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let stays = self.clusters.iter().filter(|place| !place.leaving);
        stays.map(|place| place.cluster_name.as_str())
    }

    /// Its clusters with their amounts, in order, without those on their way out.
    fn places(&self) -> impl Iterator<Item = (&str, Option<i64>)> {
        let stays = self.clusters.iter().filter(|place| !place.leaving);
        stays.map(|place| (place.cluster_name.as_str(), place.amount))
    }

    /// [`Standing::names`] with the amounts.
    #[must_use]
    pub fn held(&self) -> Held {
        self.places()
            .map(|(name, amount)| (name.to_owned(), amount))
            .collect()
    }

    /// Whether `other` says something else that is worth a record: the phase, the reason, the clusters or their amounts. Either may
    /// have been cut to what a record names.
    #[must_use]
    pub fn differs(&self, other: &Self) -> bool {
        self.phase != other.phase
            || self.reason != other.reason
            || self.cluster_count != other.cluster_count
            || self.places().take(SHOWN).ne(other.places().take(SHOWN))
    }

    /// Whether more is about to be known of it: mostly it is about to be decided or compared.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        let awaited = self.agreement.as_ref().is_some_and(|agreement| agreement.awaited);
        awaited || self.phase == Phase::Pending.as_str()
    }

    /// As a record shows it.
    #[must_use]
    pub fn cut(&self) -> Self {
        let mut cut = Self {
            phase: self.phase.clone(),
            reason: self.reason.clone(),
            message: self.message.clone(),
            cluster_count: self.cluster_count,
            clusters: Vec::new(),
            reasons: None,
            agreement: None,
        };
        let (stay, leave): (Vec<&Place>, Vec<&Place>) =
            self.clusters.iter().partition(|place| !place.leaving);
        let shown = stay.into_iter().take(SHOWN).chain(leave.into_iter().take(SHOWN));
        cut.clusters = shown.cloned().collect();
        cut.clusters.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
        cut
    }
}

/// `standing`, in the room of `known` where that says the same: what is seen and what is recorded are mostly one.
///
/// A record says of agreement what was so at its time: what it does not say takes no room of its own.
#[must_use]
pub(crate) fn shared(mut standing: Standing, known: Option<&Arc<Standing>>) -> Arc<Standing> {
    let Some(known) = known else {
        return standing.into();
    };
    let says_nothing = standing.agreement.is_none();
    if says_nothing {
        standing.agreement.clone_from(&known.agreement);
    }
    if **known == standing {
        return Arc::clone(known);
    }
    if says_nothing {
        standing.agreement = None;
    }
    standing.into()
}

/// Whether a decision that stood at `from` and stands at `to` (`None`: it was not there) is worth a record.
#[must_use]
pub fn differ(from: Option<&Standing>, to: Option<&Standing>) -> bool {
    match (from, to) {
        (None, None) => false,
        (Some(from), Some(to)) => from.differs(to),
        (Some(_), None) | (None, Some(_)) => true,
    }
}

/// The object that a Decision is about, as `spec.sourceRef` has it. Texts that are empty are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceRef {
    /// The version of its API.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub api_version: Box<str>,
    /// Its kind.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub kind: Box<str>,
    /// Its namespace.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub namespace: Box<str>,
    /// Its name.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub name: Box<str>,
    /// Its uid.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub uid: Box<str>,
}

/// What a Decision is about. Kept for every decision, and so shared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct About {
    /// The system.
    pub dialect: Arc<str>,
    /// The object.
    pub source_ref: Arc<SourceRef>,
}

impl About {
    /// Whether `other` is about another object, if of the same name.
    #[must_use]
    pub fn is_of_another(&self, other: &Self) -> bool {
        let (uid, others) = (&self.source_ref.uid, &other.source_ref.uid);
        !uid.is_empty() && !others.is_empty() && uid != others
    }
}

#[derive(Deserialize)]
struct Shown {
    #[serde(default)]
    spec: About,
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: String,
    reason: String,
    message: String,
    decisions: Vec<Place>,
    rejections: Vec<Counted>,
    conditions: Vec<Condition>,
    would_change: Option<WouldChange>,
}

#[derive(Deserialize)]
struct Condition {
    r#type: String,
    status: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct WouldChange {
    message: String,
}

impl Status {
    /// Whether Berth agrees: what it would change counts at once, though the condition leaves the other scheduler time.
    fn agreement(&mut self) -> Option<Agreement> {
        let conditions = std::mem::take(&mut self.conditions).into_iter();
        let mut agrees = conditions.filter(|condition| condition.r#type == AGREES);
        let Condition {
            status,
            reason,
            message,
            ..
        } = agrees.next()?;
        // Nobody has done anything yet that Berth could disagree with.
        let is_settled = status == "False" || !self.decisions.is_empty();
        Some(match self.would_change.take().filter(|_| is_settled) {
            Some(change) => Agreement {
                status: "False".to_owned(),
                message: change.message,
                awaited: false,
            },
            None => Agreement {
                message: if status == "True" { String::new() } else { message },
                awaited: reason == NOT_COMPARED,
                status,
            },
        })
    }
}

/// How many targets one reason refuses.
#[derive(Clone, Debug, Deserialize)]
struct Counted {
    plugin: String,
    reason: String,
    targets: i64,
}

/// What the Decision `object` is about, and where it stands.
///
/// # Errors
/// When it is no Decision.
pub fn read(object: &Object) -> Result<(About, Standing), serde_json::Error> {
    let Shown { spec, mut status } = object.view()?;
    let agreement = status.agreement();
    let mut clusters = status.decisions;
    clusters.sort_by(|a, b| a.cluster_name.cmp(&b.cluster_name));
    let counts = status.rejections.into_iter();
    let reasons: Reasons = counts
        .map(|counted| ((counted.plugin, counted.reason), counted.targets))
        .collect();
    let standing = Standing {
        phase: status.phase,
        reason: status.reason,
        message: status.message,
        cluster_count: clusters.iter().filter(|place| !place.leaving).count(),
        clusters,
        reasons: Some(reasons).filter(|reasons| !reasons.is_empty()),
        agreement,
    };
    Ok((spec, standing))
}

#[cfg(test)]
pub(super) fn standing(phase: &str, clusters: &[&str]) -> Standing {
    let place = |name: &&str| Place {
        cluster_name: (*name).to_owned(),
        ..Place::default()
    };
    Standing {
        phase: phase.to_owned(),
        cluster_count: clusters.len(),
        clusters: clusters.iter().map(place).collect(),
        ..Standing::default()
    }
}

#[cfg(test)]
mod tests {
    use berth_apimachinery::Draft;
    use serde_json::json;

    use super::*;

    fn amounts(standing: &Standing, amount: i64) -> Standing {
        let mut sized = standing.clone();
        for place in &mut sized.clusters {
            place.amount = Some(amount);
        }
        sized
    }

    #[test]
    fn what_is_worth_a_record_is_the_phase_the_reason_the_clusters_and_their_amounts() {
        let bound = standing("Bound", &["a", "b"]);
        for (what, other, worth) in [
            ("the same", bound.clone(), false),
            ("another cluster", standing("Bound", &["a", "c"]), true),
            ("fewer", standing("Bound", &["a"]), true),
            ("another phase", standing("Releasing", &["a", "b"]), true),
            (
                "another reason",
                Standing {
                    reason: "R".to_owned(),
                    ..bound.clone()
                },
                true,
            ),
            ("another amount", amounts(&bound, 3), true),
            (
                "another message",
                Standing {
                    message: "m".to_owned(),
                    ..bound.clone()
                },
                false,
            ),
        ] {
            assert_eq!(bound.differs(&other), worth, "{what}");
        }
        assert!(differ(None, Some(&bound)) && differ(Some(&bound), None) && !differ(None, None));
    }

    #[test]
    fn a_cluster_on_its_way_out_is_no_place_any_more() {
        let mut leaving = standing("Bound", &["a", "b"]);
        leaving.clusters[0].leaving = true;
        leaving.cluster_count = 1;
        assert!(!leaving.differs(&standing("Bound", &["b"])));
    }

    #[test]
    fn of_many_clusters_a_record_names_the_first_and_is_still_known_again() {
        let names: Vec<String> = (0..80).map(|number| format!("c{number:02}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let whole = standing("Bound", &names);
        let cut = whole.cut();
        assert_eq!((cut.clusters.len(), cut.cluster_count), (SHOWN, 80));
        assert!(!cut.differs(&whole));
        assert!(cut.differs(&standing("Bound", &names[1..])));
    }

    #[test]
    fn a_decision_is_read_as_it_is_shown() {
        let value = json!({
            "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Decision", "metadata": {"name": "p.ocm"},
            "spec": {"dialect": "ocm", "sourceRef": {"kind": "Placement", "name": "p"}},
            "status": {
                "phase": "Partial", "message": "m",
                "decisions": [{"clusterName": "b", "reason": "", "score": 7}, {"clusterName": "a", "reason": ""}],
                "rejections": [{"plugin": "P", "reason": "R", "targets": 3}],
            },
        });
        let object = Draft::new(&value).unwrap().unstored();
        let (about, standing) = read(&object).unwrap();
        assert_eq!(standing.agreement, None, "it is decided here");
        assert_eq!(&*about.dialect, "ocm");
        assert_eq!(standing.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(standing.clusters[1].score, Some(7));
        assert_eq!(standing.reasons.unwrap().get(("P", "R")), Some(3));
    }

    #[test]
    fn what_berth_would_change_is_disagreement_at_once_and_what_is_not_compared_is_awaited() {
        let change = json!({"verdict": "Moved", "message": "Berth would take b"});
        let (none, a) = (json!([]), json!([{"clusterName": "a", "reason": ""}]));
        let early = "not yet: Berth would take b";
        for (status, reason, message, places, change, expected) in [
            ("True", "Same", "m", &a, json!(null), ("True", "", false)),
            (
                "Unknown",
                "GracePeriod",
                early,
                &a,
                change.clone(),
                ("False", "Berth would take b", false),
            ),
            (
                "Unknown",
                "GracePeriod",
                early,
                &none,
                change.clone(),
                ("Unknown", early, false),
            ),
            (
                "False",
                "Fits",
                "m",
                &none,
                change,
                ("False", "Berth would take b", false),
            ),
            (
                "Unknown",
                "Deleting",
                "m",
                &a,
                json!(null),
                ("Unknown", "m", false),
            ),
            (
                "Unknown",
                "NotCompared",
                "m",
                &a,
                json!(null),
                ("Unknown", "m", true),
            ),
        ] {
            let condition = json!({"type": "Agrees", "status": status, "reason": reason, "message": message});
            let value = json!({
                "apiVersion": "scheduling.berth.dev/v1alpha1", "kind": "Decision", "metadata": {"name": "p.ocm"},
                "status": {"phase": "Bound", "decisions": places, "conditions": [condition], "wouldChange": change},
            });
            let (_, standing) = read(&Draft::new(&value).unwrap().unstored()).unwrap();
            let agreement = standing.agreement.clone().unwrap();
            let told = (
                agreement.status.as_str(),
                agreement.message.as_str(),
                standing.is_passing(),
            );
            assert_eq!(told, expected);
        }
    }
}
