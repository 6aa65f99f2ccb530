//! Progress of copying Publications and namespaces from a hub. PublishedDecisions, which are computed from
//! Publications at each read, are incomplete until the copies are complete.

use std::sync::OnceLock;

use berth_hub::mirror::{CopyProgress, Progress};
use berth_kubernetes::core::namespace;
use tokio::sync::watch;

use super::PUBLICATIONS;

/// Copies of the hub's Publications and namespaces. Until their progress is known, the copies count as
/// incomplete.
#[derive(Default)]
pub struct Copies(OnceLock<watch::Receiver<Progress>>);

impl Copies {
    /// Sets the source of the progress.
    pub(super) fn follow(&self, progress: watch::Receiver<Progress>) {
        // If the progress is set already, it is the same progress.
        drop(self.0.set(progress));
    }

    /// Checks that all Publications and namespaces are copied.
    ///
    /// # Errors
    /// Reason why some are not copied yet, as a sentence.
    pub(super) fn ready(&self) -> Result<(), String> {
        let progress = self.0.get().map(|progress| progress.borrow().clone());
        let progress = progress.unwrap_or_default();
        for resource in [PUBLICATIONS, namespace::RESOURCE] {
            match progress.get(&resource) {
                Some(CopyProgress::Complete | CopyProgress::Absent) => {}
                Some(CopyProgress::Waiting(Some(problem))) => {
                    return Err(format!("{resource} cannot be read from the hub: {problem}"));
                }
                Some(CopyProgress::Waiting(None)) | None => {
                    return Err(format!("{resource} have not been read from the hub yet"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_before_publications_and_namespaces_are_copied() {
        let copies = Copies::default();
        assert!(copies.ready().unwrap_err().contains("not been read"));
        let waiting = [
            (PUBLICATIONS, CopyProgress::Complete),
            (namespace::RESOURCE, CopyProgress::Waiting(Some("403".to_owned()))),
        ];
        let (sender, receiver) = watch::channel(waiting.into());
        copies.follow(receiver);
        assert!(copies.ready().unwrap_err().contains("403"));
        sender.send_modify(|progress| drop(progress.insert(namespace::RESOURCE, CopyProgress::Complete)));
        assert_eq!(copies.ready(), Ok(()));
    }
}
