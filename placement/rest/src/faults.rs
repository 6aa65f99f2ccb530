//! Fault points: the places at which tests of crash safety end the process.
//!
//! Fault points exist only in builds with debug assertions; no other build reads `BERTH_TEST_FAULT`.
//! `BERTH_TEST_FAULT=before=3` ends the process, as `kill -9` would, before the third commit is made. The
//! list of a decision's writes is one commit, unless it is a dry run, and so is each write at a [`point`].
//! `BERTH_TEST_FAULT=before=3,stepwise` commits each write of a list on its own, as etcd and a hub do, and
//! counts writes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use berth_apimachinery::write::{CommitError, Guard, Write};
use berth_apimachinery::{Key, Object};
use berth_apiserver::{Author, Registry, share_guards};

/// Faults that the environment requests.
static IN_FORCE: LazyLock<Option<Faults>> = LazyLock::new(|| {
    if !cfg!(debug_assertions) {
        return None;
    }
    let setting = std::env::var("BERTH_TEST_FAULT").ok()?;
    Some(
        setting
            .parse()
            .unwrap_or_else(|problem| panic!("BERTH_TEST_FAULT={setting}: {problem}")),
    )
});

/// The requested faults, if any.
pub(super) fn in_force() -> Option<&'static Faults> {
    IN_FORCE.as_ref()
}

/// Counts a write that is not part of a decision (a write of a Publication, for example, to the own store or
/// to a hub), and ends the process if this is the chosen write.
pub fn point() {
    if let Some(faults) = in_force() {
        faults.point();
    }
}

/// Point of the crash, and the way in which lists are committed until then.
#[derive(Debug, Default)]
pub(super) struct Faults {
    /// The commit before which the process ends, counted from 1.
    before: Option<u64>,
    /// Whether each write is a commit of its own.
    stepwise: bool,
    count: AtomicU64,
}

impl std::str::FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut faults = Self::default();
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("before", number)) => {
                    faults.before = Some(
                        number
                            .parse()
                            .map_err(|_| format!("{number:?} is not a number"))?,
                    );
                }
                None if part == "stepwise" => faults.stepwise = true,
                _ => return Err(format!("{part:?} is neither before=<number> nor stepwise")),
            }
        }
        Ok(faults)
    }
}

impl Faults {
    /// Counts a write, and ends the process if this is the chosen one.
    fn point(&self) {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if self.before == Some(count) {
            std::process::abort();
        }
    }

    /// Commits `writes` as [`Registry::commit`] does, or each on its own if the faults are `stepwise`.
    pub(super) async fn commit(
        &self,
        registry: &Registry,
        author: Author<'_>,
        writes: Vec<Write>,
        guards: Vec<Guard>,
    ) -> Result<Vec<Arc<Object>>, CommitError> {
        if !self.stepwise {
            self.point();
            return registry.commit(author, writes, guards, false).await;
        }
        let guards = share_guards(&writes, guards);
        let mut written: HashMap<Key, Arc<Object>> = HashMap::new();
        let mut results = Vec::new();
        for (mut write, guards) in writes.into_iter().zip(guards) {
            self.point();
            // A later write to the same object was decided on the result of the earlier one.
            if let Some(before) = written.get(&write.key) {
                write.base = Some(before.revision());
            }
            let key = write.key.clone();
            for object in registry.commit(author, vec![write], guards, false).await? {
                written.insert(key.clone(), Arc::clone(&object));
                results.push(object);
            }
        }
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read_whole_or_refused() {
        let faults: Faults = "before=3,stepwise".parse().unwrap();
        assert_eq!((faults.before, faults.stepwise), (Some(3), true));
        assert!(!"before=1".parse::<Faults>().unwrap().stepwise);
        assert!("before=x".parse::<Faults>().unwrap_err().contains("not a number"));
        assert!("after=3".parse::<Faults>().unwrap_err().contains("\"after=3\""));
    }
}
