//! A console that reads a hub, in its own process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::raw;

const GROUP: &str = "/cluster/apis/scheduling.berth.dev/v1alpha1";

/// A running `berth console --from=hub`, which ends when it is dropped.
pub struct Looking {
    child: Child,
    address: String,
    token: String,
}

impl Looking {
    /// Starts a console as the user of `kubeconfig`, with further `arguments`.
    ///
    /// # Panics
    /// When it does not start.
    #[must_use]
    pub fn start(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(crate::berth())
            .args(["console", "--from=hub", "--no-open"])
            .args(arguments)
            .env("KUBECONFIG", kubeconfig)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("berth runs");
        let mut lines = BufReader::new(child.stdout.take().expect("the output is piped")).lines();
        let url = lines.next().expect("it tells its address").expect("it is text");
        let (address, token) = url.split_once("/#token=").expect("it has a token");
        Self {
            address: address.to_owned(),
            token: token.to_owned(),
            child,
        }
    }

    /// An object or a list of Berth's group, by its path below the group.
    ///
    /// # Panics
    /// When it is refused.
    #[must_use]
    pub fn get(&self, path: &str) -> Value {
        let token = [("x-berth-console-token", self.token.as_str())];
        let (code, answer) = raw::plain(&self.address, &format!("{GROUP}/{path}"), &token);
        assert_eq!(code, 200, "{path}: {answer}");
        answer
    }

    /// The items of a list.
    ///
    /// # Panics
    /// When it is refused.
    #[must_use]
    pub fn items(&self, path: &str) -> Vec<Value> {
        let list = self.get(path);
        list["items"].as_array().expect("a list has items").clone()
    }

    /// The process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        // Both calls fail only when the process has already ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
