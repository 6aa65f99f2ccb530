//! `berth manifests --detect`: the systems on a hub, and whether Berth stores their objects already.

use anyhow::{Result, bail};
use berth_apimachinery::Clock;
use berth_apiserver::SystemClock;
use berth_commands::args::ServerArgs;
use berth_commands::say_error;
use berth_deploy::OFF_ON_A_HUB;

use super::absent::groups;
use super::hub::{API_SERVICES, AggregatedGroups};
use super::{Checker, ReadResult, items};
use crate::source::{Place, Source};

/// Detects the systems on the hub of the kubeconfig, and prints each on standard error. If the hub stores the
/// objects of [`OFF_ON_A_HUB`], that system is left out, since it has to be requested by name.
///
/// # Errors
/// When no server answers, or its API groups or APIServices cannot be listed.
pub(crate) async fn detect_sources(server: &ServerArgs) -> Result<Vec<Source>> {
    let client = server.client().await?;
    let checker = Checker {
        client: &client,
        now: SystemClock.now(),
    };
    let served = match checker.read("/apis").await? {
        ReadResult::Object(list) => groups(&list),
        ReadResult::Absent => bail!(
            "--detect: {} does not list its API groups; name the systems with --source",
            client.url()
        ),
        ReadResult::Refused(message) => bail!(message),
    };
    let services = match checker.read(API_SERVICES).await? {
        ReadResult::Object(list) => list,
        // Without the APIServices, groups that Berth stores would be mistaken for groups of the hub.
        ReadResult::Absent => bail!(
            "--detect: {} has no aggregation layer, which Berth needs on a hub; use the kubeconfig of a kube-apiserver with aggregation",
            client.url()
        ),
        ReadResult::Refused(message) => bail!(message),
    };
    let service = checker.service().await?;
    let own = AggregatedGroups::new(items(&services), &service).owned;
    let present = berth_dialect_registry::all()
        .into_iter()
        .filter(|dialect| served.contains(dialect.target().group));
    let mut sources = Vec::new();
    for dialect in present {
        let name = dialect.name();
        let place = match own.contains(dialect.target().group) {
            true => Place::Owned,
            false => Place::Hub,
        };
        if name == OFF_ON_A_HUB && place == Place::Hub {
            say_error!(
                "note: {name} is left out, since it needs the right to read Secrets: add --source={name}=hub to include it"
            );
            continue;
        }
        say_error!("note: found {name}: --source={name}={}", place.as_str());
        sources.push(Source {
            dialect: name.to_owned(),
            place,
        });
    }
    Ok(sources)
}
