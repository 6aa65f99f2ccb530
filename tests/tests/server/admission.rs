//! Admission for users: binding on create, refusals with their messages, and the webhooks.

mod binding;
mod fields;
mod guards;
mod loading;
mod refusals;
mod rights;
mod webhooks;

use std::path::{Path, PathBuf};

use berth_tests::Server;
use serde_json::{Value, json};

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples")
        .join(path)
}

fn shoot(name: &str, region: &str) -> Value {
    json!({
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {"name": name, "namespace": "garden-dev"},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "aws"},
            "region": region,
            "provider": {"type": "aws", "workers": [{"name": "w", "machine": {"type": "m5.large"}, "minimum": 1, "maximum": 2}]},
            "networking": {"nodes": "10.250.0.0/16"},
            "kubernetes": {"version": "1.34.1"},
        },
    })
}

fn placed(name: &str, seed: &str) -> Value {
    let mut shoot = shoot(name, "eu-west-1");
    shoot["spec"]["seedName"] = seed.into();
    shoot
}

fn gardener() -> Server {
    gardener_with(&[])
}

fn gardener_with(arguments: &[&str]) -> Server {
    let server = Server::start_with(arguments);
    server.load(&example("gardener/fleet.yaml"));
    server
}

fn phase(server: &Server, decision: &str) -> String {
    server
        .kubectl(&format!(
            "-n garden-dev get decision {decision} -o jsonpath={{.status.phase}}"
        ))
        .succeeds()
}
