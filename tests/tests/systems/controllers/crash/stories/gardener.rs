//! Gardener: two seeds with one place each, three shoots, and the place that becomes free.

use super::*;

const BASE: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: garden-dev}\n---\n\
    apiVersion: core.gardener.cloud/v1beta1\nkind: CloudProfile\nmetadata: {name: aws}\nspec: {type: aws}\n";

const SHOOTS_OF: &str = "core.gardener.cloud/v1beta1/namespaces/garden-dev/shoots";

fn garden(victim: &Victim) -> Result<(), Died> {
    let mut text = BASE.to_owned();
    for number in [1, 2] {
        text.push_str(&format!(
            "---\napiVersion: core.gardener.cloud/v1beta1\nkind: Seed\nmetadata: {{name: seed-{number}}}\n\
             spec: {{provider: {{type: aws, region: eu-west-1}}, networks: {{nodes: 10.{number}.0.0/18, pods: 10.{number}.64.0/18, services: 10.{number}.128.0/18}}}}\n\
             status:\n  conditions: [{{type: GardenletReady, status: \"True\", reason: Ready, message: ready, lastTransitionTime: \"2021-10-28T08:00:00Z\", lastUpdateTime: \"2021-10-28T08:00:00Z\"}}]\n  allocatable: {{shoots: \"1\"}}\n"
        ));
    }
    victim.load(&text)
}

fn shoot(victim: &Victim, name: &str) -> Result<(), Died> {
    victim.apply(&format!(
        "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nmetadata: {{name: {name}, namespace: garden-dev}}\n\
         spec: {{cloudProfile: {{name: aws}}, region: eu-west-1, provider: {{type: aws}}, networking: {{nodes: 172.16.0.0/16, pods: 172.17.0.0/16, services: 172.18.0.0/16}}}}\n"
    ))
}

fn seed_of(victim: &Victim, name: &str) -> Result<Option<String>, Died> {
    let shoot = victim.get(&format!("{SHOOTS_OF}/{name}"))?;
    Ok(shoot.and_then(|shoot| shoot["spec"]["seedName"].as_str().map(str::to_owned)))
}

pub(in super::super) const STORY: Story = Story {
    dialect: "gardener",
    phases: &[
        Phase {
            act: garden,
            is_done: |_| Ok(true),
        },
        apply!(
            "apiVersion: config.berth.dev/v1alpha1\nkind: SchedulerConfiguration\nmetadata: {name: gardener}\nspec: {autoBind: Controller}\n",
            |_| Ok(true)
        ),
        Phase {
            act: |victim| shoot(victim, "a"),
            is_done: |victim| Ok(seed_of(victim, "a")?.is_some()),
        },
        Phase {
            act: |victim| shoot(victim, "b"),
            is_done: |victim| Ok(seed_of(victim, "b")?.is_some()),
        },
        Phase {
            act: |victim| shoot(victim, "c"),
            is_done: |victim| Ok(victim.get(&format!("{SHOOTS_OF}/c"))?.is_some()),
        },
        Phase {
            act: |victim| {
                let delete = "-n garden-dev delete shoot a --wait=false --ignore-not-found";
                victim.kubectl(delete, "").map(drop)
            },
            is_done: |victim| Ok(seed_of(victim, "c")?.as_deref() == Some("seed-1")),
        },
    ],
    state: |victim| Ok(settle(victim.list("core.gardener.cloud/v1beta1/shoots")?)),
};
