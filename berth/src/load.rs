//! `berth load`: writes objects with their status, which `kubectl apply` cannot.

use std::path::PathBuf;

use anyhow::{Result, bail};
use berth_client::Client;

use crate::manifest::{self, Document};

/// Writes every object of `paths` (namespaces first), each with its status, and prints a line for each. What belongs to a
/// scheduler stays as it is stored; where a file says otherwise, a line on standard error says so.
///
/// # Errors
/// Every problem of the files, before anything is written; or the objects the server refused, after the others are
/// written.
pub async fn run(client: &mut Client, paths: &[PathBuf]) -> Result<()> {
    let documents = match manifest::read(paths) {
        Ok(documents) => documents,
        Err(problems) => bail!(lines(&problems)),
    };
    let mut refused = Vec::new();
    for document in namespaces_first(documents) {
        let mut notes = Vec::new();
        match client.put(&document.object, &mut notes).await {
            Ok((name, what)) => {
                println!("{name} {what}");
                for note in notes {
                    eprintln!("{name}: {note}");
                }
            }
            Err(error) => refused.push(format!(
                "{}: document {}: {error:#}",
                document.file, document.number
            )),
        }
    }
    if refused.is_empty() {
        Ok(())
    } else {
        bail!(lines(&refused))
    }
}

fn lines<T: ToString>(list: &[T]) -> String {
    list.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Namespaces before what lives in them; otherwise the order of the files.
#[must_use]
pub fn namespaces_first(mut documents: Vec<Document>) -> Vec<Document> {
    documents.sort_by_key(|document| !(document.api_version() == "v1" && document.kind() == "Namespace"));
    documents
}
