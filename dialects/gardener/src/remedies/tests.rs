//! Remedies that leave a valid shoot, and those that nothing can lift.

use super::*;
use crate::testing::{decide, fleet, seed, shoot, with};

/// The remedies for the first refusal of `seed`, the only seed, for `shoot`.
fn remedies_for(shoot: &Value, seed: &Value) -> Vec<Remedy> {
    let fleet = fleet(&[shoot.clone(), seed.clone()]);
    let decision = decide(&fleet, shoot);
    let refusal = decision.solved.rejections_of(0).first();
    remedies(&fleet, &decision, 0, Some(refusal.expect("the seed is refused")))
}

/// The merge patch of the first edit of `remedy`.
fn patch(remedy: &Remedy) -> &Value {
    match remedy.edits.first() {
        Some(Edit::Merge { patch, .. }) => patch,
        other => panic!("{other:?}"),
    }
}

fn plain() -> Value {
    shoot("foo", "eu-west-1")
}

fn aws() -> Value {
    seed("s", "aws", "eu-west-1")
}

#[test]
fn a_control_plane_that_no_longer_survives_a_zone_keeps_no_three_zones() {
    let tolerant = json!({"highAvailability": {"failureTolerance": {"type": "zone"}}});
    let free = with(plain(), "/spec/controlPlane", tolerant);
    let pinned = with(free.clone(), "/spec/controlPlane/zones", json!(["a", "b", "c"]));
    let tolerance = json!({"failureTolerance": {"type": "node"}});
    let text = "let the control plane survive the loss of a node, not of a zone";
    let told = remedies_for(&free, &aws());
    assert_eq!(told[0].text, text);
    assert_eq!(
        patch(&told[0]),
        &json!({"spec": {"controlPlane": {"highAvailability": tolerance}}})
    );
    let told = remedies_for(&pinned, &aws());
    assert_eq!(
        told[0].text,
        format!("{text}, and remove spec.controlPlane.zones")
    );
    assert_eq!(
        patch(&told[0]),
        &json!({"spec": {"controlPlane": {"highAvailability": tolerance, "zones": null}}})
    );
}

#[test]
fn a_shoot_that_admits_another_provider_type_still_admits_its_own() {
    let foreign = seed("s", "gcp", "eu-west-1");
    let listed = with(plain(), "/spec/seedSelector", json!({"providerTypes": ["metal"]}));
    for (shoot, types) in [(plain(), ["aws", "gcp"]), (listed, ["metal", "gcp"])] {
        let told = remedies_for(&shoot, &foreign);
        assert_eq!(told[0].text, "add gcp to spec.seedSelector.providerTypes");
        assert_eq!(
            patch(&told[0]),
            &json!({"spec": {"seedSelector": {"providerTypes": types}}})
        );
    }
}

#[test]
fn labels_that_are_computed_from_names_are_not_to_be_set() {
    let labels = |labels: Value| with(plain(), "/spec/seedSelector", json!({"matchLabels": labels}));
    let own =
        json!({"matchExpressions": [{"key": "name.seed.gardener.cloud/s", "operator": "DoesNotExist"}]});
    for (shoot, owners) in [
        (
            labels(json!({"gpu": "true"})),
            vec![ChangeOwner::Request, ChangeOwner::Target],
        ),
        (
            labels(json!({"name.seed.gardener.cloud/other": "true"})),
            vec![ChangeOwner::Request],
        ),
        (
            with(plain(), "/spec/seedSelector", own),
            vec![ChangeOwner::Request],
        ),
    ] {
        let told = remedies_for(&shoot, &aws());
        let found: Vec<ChangeOwner> = told.iter().map(|remedy| remedy.owner).collect();
        assert_eq!(found, owners, "{told:?}");
    }
}

#[test]
fn where_every_range_is_taken_none_is_proposed() {
    let named = with(plain(), "/spec/networking/pods", json!("10.9.0.0/16"));
    let everywhere = with(aws(), "/spec/networks/pods", json!("0.0.0.0/0"));
    let told = remedies_for(&named, &everywhere);
    assert_eq!(
        told[0].text,
        "the shoot's range for pods cannot be changed any more, and every range that could be proposed overlaps with a range of \
         the seed or of the shoot"
    );
}
