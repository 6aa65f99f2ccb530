//! `berth manifests --detect`: the systems on a hub, and whether Berth stores their objects already.

use anyhow::{Result, bail};
use berth_apimachinery::Clock;
use berth_apiserver::SystemClock;
use berth_commands::args::ServerArgs;
use berth_commands::say_error;
use berth_deploy::OFF_ON_A_HUB;

use super::absent::groups;
use super::hub::{API_SERVICES, Groups};
use super::{CheckSubject, Read, items};
use crate::source::{Place, Source};

/// The systems on the hub of the kubeconfig. If the hub stores the objects of [`OFF_ON_A_HUB`], this system
/// is left out, since it has to be requested by name; a note mentions it.
///
/// # Errors
/// When no server answers, or its API groups or APIServices cannot be listed.
pub(crate) async fn detected(server: &ServerArgs) -> Result<Vec<Source>> {
    let client = server.client().await?;
    let subject = CheckSubject {
        client: &client,
        now: SystemClock.now(),
    };
    let served = match subject.read("/apis").await? {
        Read::Object(list) => groups(&list),
        Read::Absent => bail!("{} does not list its API groups", client.url()),
        Read::Refused(message) => bail!(message),
    };
    let services = match subject.read(API_SERVICES).await? {
        Read::Object(list) => list,
        // Without the APIServices, groups that Berth stores would be mistaken for groups of the hub.
        Read::Absent => bail!("{} has no aggregation layer", client.url()),
        Read::Refused(message) => bail!(message),
    };
    let service = subject.service().await?;
    let own = Groups::of(items(&services), &service).owned;
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
                "note: {name} is left out, since it takes the right to read Secrets: name it (--source={name}=hub)"
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
