//! Attempts at a hub that fails, or that does not serve the kind.

use std::time::Duration;

use berth_client::{ObjectWatches, Pauses, root_cause};
use kube::Api;
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher;

use super::{PAUSES, Reflector};

/// First and longest pause between attempts at a kind that the hub does not serve.
const ABSENT_PAUSES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30));
/// Pause between attempts at a kind while the hub has no APIService for its group version, which is watched.
const ABSENT_GROUP_PAUSE: Duration = Duration::from_mins(5);

/// State of the attempts at a hub that fails.
pub(super) struct Retries {
    pause: Duration,
    absent_pause: Duration,
    /// Watch of the APIService of the kind's group version, since the hub did not serve the kind.
    group_watch: Option<ObjectWatches>,
    last_problem: Option<String>,
    /// Whether the hub lately refused to watch the kind.
    pub(super) is_unwatched: bool,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            pause: PAUSES.0,
            absent_pause: ABSENT_PAUSES.0,
            group_watch: None,
            last_problem: None,
            is_unwatched: false,
        }
    }
}

impl Reflector {
    /// Records `problem`, and waits before the next attempt.
    pub(super) async fn retry_later(&mut self, problem: &watcher::Error, retries: &mut Retries) {
        retries.is_unwatched = is_watch_refused(problem);
        if is_absent(problem) {
            let (mut leading, was_leading) = (self.context.leading.clone(), self.is_leader());
            self.set_absent().await;
            tokio::select! {
                () = self.wait_for_kind(retries) => {}
                // A new leader removes the copies that an earlier one has left. The sender lives as long as
                // the server.
                Ok(_) = leading.wait_for(|leads| *leads && !was_leading) => {}
            }
            return;
        }
        let problem = root_cause(problem);
        // A problem may last: it is logged only when it changes.
        if retries.last_problem.as_ref() != Some(&problem) {
            tracing::warn!(resource = %self.resource, problem, "cannot list or watch on the hub; retrying");
        }
        self.set_problem(&problem);
        retries.last_problem = Some(problem);
        tokio::time::sleep(retries.pause).await;
        retries.pause = (retries.pause * 2).min(PAUSES.1);
    }

    /// Waits before the next attempt at a kind that the hub does not serve: until the group version of the
    /// kind appears, or a pause is over.
    async fn wait_for_kind(&self, retries: &mut Retries) {
        let group = retries.group_watch.get_or_insert_with(|| {
            let kind = GroupVersionKind::gvk("apiregistration.k8s.io", "v1", "APIService");
            let services = Api::all_with(self.context.client.clone(), &ApiResource::from_gvk(&kind));
            let name = format!("{}.{}", self.api_resource.version, self.api_resource.group);
            ObjectWatches::start([(services, name)])
        });
        let was_absent = group.are_absent();
        let pauses = Pauses {
            least: ABSENT_PAUSES.0,
            unwatched: retries.absent_pause,
            watched: if was_absent {
                ABSENT_GROUP_PAUSE
            } else {
                retries.absent_pause
            },
        };
        group.wait(pauses).await;
        retries.absent_pause = match was_absent && !group.are_absent() {
            // The hub serves a new kind shortly after its group.
            true => ABSENT_PAUSES.0,
            false => (retries.absent_pause * 2).min(ABSENT_PAUSES.1),
        };
    }
}

/// Whether the hub answers a list with 404: it does not serve the kind.
fn is_absent(problem: &watcher::Error) -> bool {
    matches!(problem, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404)
}

/// Whether the hub refuses to watch the kind, which it has listed. After a 404, the next list tells whether
/// the hub still serves the kind. A later watch from the same version would miss changes.
fn is_watch_refused(problem: &watcher::Error) -> bool {
    let watcher::Error::WatchStartFailed(kube::Error::Api(status)) = problem else {
        return false;
    };
    matches!(status.code, 403..=405)
}
