//! Errors of questions about objects that do not exist or may not be read, with hints at similar objects or
//! at the missing right.

use anyhow::anyhow;
use berth_apimachinery::Status;
use berth_client::Client;
use berth_engine::spelling;
use berth_scheduling_api::API_VERSION;
use http::Method;
use serde_json::Value;

use super::places::{self, Place};
use crate::catalog::catalog;

/// The ClusterRole with the rights for `berth why`.
const ROLE: &str = "berth:explainer";
/// Highest number of other namespaces that an error names.
const NAMES_LIMIT: usize = 3;
/// Highest number of objects of one list whose names are compared with the requested name.
const COMPARED_LIMIT: usize = 500;

/// Question that has no answer, since none of the decisions exists.
pub struct Question<'a> {
    /// Client of the source that was asked.
    pub client: &'a Client,
    /// Namespace of objects in the question that do not name a namespace; `None` if all namespaces were
    /// searched.
    pub namespace: Option<&'a str>,
    /// The words of the question.
    pub words: &'a [String],
    /// The decisions that the words may mean.
    pub places: &'a [Place],
    /// Whether the source is this process, not a server.
    pub is_within: bool,
    /// Number of seconds for which the searched history has records, 0 without a limit; `None` if no history
    /// was searched.
    pub searched_seconds: Option<u64>,
}

impl Question<'_> {
    /// Returns the error that the object does not exist, with a hint: other namespaces that have it, or a
    /// similar name.
    pub async fn absent(&self) -> anyhow::Error {
        match is_installed(self.client).await {
            Err(error) => return error,
            Ok(false) => return not_installed(),
            Ok(true) => {}
        }
        let lists = match self.is_within {
            true => "`berth compare` lists all requests",
            false => "`kubectl get decisions,clusterdecisions -A` lists all decisions",
        };
        let hint = match self.elsewhere().await {
            Some(sentence) => sentence,
            None => match (self.similar_name().await, self.missing_namespace().await) {
                (Some(name), _) => format!("did you mean {name}?"),
                (None, Some(sentence)) => sentence,
                (None, None) if self.namespace.is_none() => lists.to_owned(),
                (None, None) => format!("pass -n for another namespace; {lists}"),
            },
        };
        let unseen = self.searched_seconds.map(unseen).unwrap_or_default();
        anyhow!(
            "there is no {}{}{unseen}: {hint}",
            subject(self.words),
            scope(self.places, self.searched_namespace())
        )
    }

    /// Returns the namespace that the words name, or else the namespace of the question.
    fn searched_namespace(&self) -> Option<&str> {
        self.namespace
            .map(|namespace| namespace_of(self.words).unwrap_or(namespace))
    }

    /// Returns a hint that the namespace does not exist, with the name of a similar namespace; `None` if all
    /// namespaces were searched.
    async fn missing_namespace(&self) -> Option<String> {
        self.namespace?;
        let namespace = &self.namespaced().next()?.namespace;
        let path = format!("/api/v1/namespaces/{namespace}");
        // This process knows only the namespaces that were read.
        let answer = self.client.send(Method::GET, &path, None).await.ok()?;
        if self.is_within || answer.err()?.code != 404 {
            return None;
        }
        let all = list(self.client, &format!("/api/v1/namespaces?limit={COMPARED_LIMIT}")).await;
        let near = all.into_iter().find(|(_, name)| spelling::near(namespace, name));
        Some(match near {
            Some((_, name)) => format!("there is no such namespace; did you mean {name}?"),
            None => "there is no such namespace; `kubectl get namespaces` lists them".to_owned(),
        })
    }

    /// Returns a hint at other namespaces that have a decision of the requested name; `None` if there are
    /// none, or the caller may not list the decisions of all namespaces.
    async fn elsewhere(&self) -> Option<String> {
        let mut namespaces = Vec::new();
        let mut names: Vec<&str> = self.namespaced().map(|place| place.name.as_str()).collect();
        names.dedup();
        for name in names {
            let path = format!("/apis/{API_VERSION}/decisions?fieldSelector=metadata.name%3D{name}");
            namespaces.extend(
                list(self.client, &path)
                    .await
                    .into_iter()
                    .map(|(namespace, _)| namespace),
            );
        }
        namespaces.sort();
        namespaces.dedup();
        let first = namespaces.first()?;
        let first_names = namespaces
            .iter()
            .take(NAMES_LIMIT)
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        let more = match namespaces.len().saturating_sub(NAMES_LIMIT) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let noun = if namespaces.len() == 1 {
            "namespace"
        } else {
            "namespaces"
        };
        Some(format!("it is in {noun} {first_names}{more}; pass -n {first}"))
    }

    /// Returns the name of an existing decision, in the searched namespaces or cluster-scoped, that is
    /// similar to a requested name.
    async fn similar_name(&self) -> Option<String> {
        let within = match self.searched_namespace() {
            Some(namespace) => format!("/namespaces/{namespace}"),
            None => String::new(),
        };
        let paths = [
            format!("/apis/{API_VERSION}{within}/decisions?limit={COMPARED_LIMIT}"),
            format!("/apis/{API_VERSION}/clusterdecisions?limit={COMPARED_LIMIT}"),
        ];
        for path in paths {
            for (_, name) in list(self.client, &path).await {
                if self.places.iter().any(|place| spelling::near(&place.name, &name)) {
                    return Some(name);
                }
            }
        }
        None
    }

    /// The requested decisions in a namespace.
    fn namespaced(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| !place.namespace.is_empty())
    }
}

/// Returns the part of the sentence about the search in a history that has records of the last `seconds`, or
/// of all times if that is 0.
fn unseen(seconds: u64) -> String {
    match (seconds, seconds / 3600) {
        (0, _) => ", and none was seen before".to_owned(),
        (3600, _) => ", and none was seen in the last hour".to_owned(),
        (_, hours) if seconds.is_multiple_of(3600) => {
            format!(", and none was seen in the last {hours} hours")
        }
        _ => format!(", and none was seen in the last {seconds} seconds"),
    }
}

/// Returns namespace and name of each object in the list at `path`; empty if the caller may not read the
/// list.
async fn list(client: &Client, path: &str) -> Vec<(String, String)> {
    let Ok(Ok(list)) = client.send(Method::GET, path, None).await else {
        return Vec::new();
    };
    let items = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |item: &Value, field: &str| item["metadata"][field].as_str().unwrap_or_default().to_owned();
    let names = items
        .iter()
        .map(|item| (text(item, "namespace"), text(item, "name")));
    names.collect()
}

/// Whether the server serves Berth's API.
///
/// # Errors
/// When the server does not answer.
async fn is_installed(client: &Client) -> Result<bool, anyhow::Error> {
    let group = client
        .send(Method::GET, &format!("/apis/{API_VERSION}"), None)
        .await?;
    Ok(!matches!(group, Err(status) if status.code == 404))
}

fn not_installed() -> anyhow::Error {
    anyhow!(
        "the server does not serve {API_VERSION}: Berth is not installed, or the kubeconfig names another cluster; --from=hub \
         reads the hub and decides here"
    )
}

/// Returns the end of the sentence about the object that is at none of `places`: ` in namespace team-a`, or
/// nothing for a cluster-scoped object. `namespace` is the searched namespace; `None` means all namespaces.
fn scope(places: &[Place], namespace: Option<&str>) -> String {
    let mut namespaces: Vec<&str> = places.iter().map(|place| &*place.namespace).collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    match (namespaces.as_slice(), namespace) {
        ([""], _) => String::new(),
        (_, None) => " in any namespace".to_owned(),
        (["", namespace], _) => format!(" in namespace {namespace} or without one"),
        (&[namespace], _) | (_, Some(namespace)) => format!(" in namespace {namespace}"),
    }
}

/// Returns the namespace that `words` name, if they name one.
fn namespace_of(words: &[String]) -> Option<&str> {
    let dialects = berth_dialect_registry::all();
    places::within(words, &dialects, &catalog(&dialects))
}

/// Returns the object of a question for a sentence: `placement "web"`, or `request "web"` without a kind.
fn subject(words: &[String]) -> String {
    let dialects = berth_dialect_registry::all();
    let (words, _) = places::split(words, &dialects, &catalog(&dialects));
    match *words.as_slice() {
        [kind, .., name] => format!("{kind} \"{name}\""),
        [name] => format!("request \"{name}\""),
        [] => "request".to_owned(),
    }
}

/// Returns the error about `refusals`, the server's answers for the places that `words` may mean, with the
/// missing right. Of several refusals, only one is reported: the first about a place in a namespace, or else
/// the first.
pub async fn refused(
    client: &Client,
    words: &[String],
    mut refusals: Vec<(Place, Box<Status>)>,
) -> anyhow::Error {
    refusals.sort_by_key(|(place, _)| place.namespace.is_empty());
    let Some((place, status)) = refusals.into_iter().next() else {
        return anyhow!("no system of this server schedules that kind");
    };
    if status.code != 403 {
        return anyhow!("{}", status.message);
    }
    // RBAC answers before the server checks whether there is such an API.
    if let Ok(false) = is_installed(client).await {
        return not_installed();
    }
    let place_of = match place.namespace.as_str() {
        "" => String::new(),
        namespace => format!(" in namespace {namespace}"),
    };
    anyhow!(
        "you may not read the explanation of {}{place_of}: {}",
        subject(words),
        role_hint(client, &place.namespace).await
    )
}

/// Returns a sentence with the command that binds the missing role to the user: in `namespace`, or in all
/// namespaces if it is empty.
pub async fn role_hint(client: &Client, namespace: &str) -> String {
    let user = client.user().await.ok().flatten();
    let user = user.unwrap_or_else(|| "USER".to_owned());
    match namespace {
        "" => format!(
            "ask for a ClusterRoleBinding to {ROLE}: {}",
            cluster_role_binding_command(ROLE, &user)
        ),
        namespace => format!(
            "ask for a RoleBinding to {ROLE} there: kubectl create rolebinding {ROLE}-{} -n {namespace} --clusterrole={ROLE} \
             --user='{user}'",
            as_name_part(&user)
        ),
    }
}

/// Returns the command that binds the ClusterRole `role` to `user` in all namespaces.
#[must_use]
pub fn cluster_role_binding_command(role: &str, user: &str) -> String {
    let name = as_name_part(user);
    format!("kubectl create clusterrolebinding {role}-{name} --clusterrole={role} --user='{user}'")
}

/// Converts `user` to a part of an object's name.
fn as_name_part(user: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_lowercase(),
        false => '-',
    };
    user.chars()
        .map(letter)
        .collect::<String>()
        .trim_matches('-')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_hour_is_no_plural_and_part_of_an_hour_is_not_none() {
        assert_eq!(unseen(0), ", and none was seen before");
        assert_eq!(unseen(1800), ", and none was seen in the last 1800 seconds");
        assert_eq!(unseen(3600), ", and none was seen in the last hour");
        assert_eq!(unseen(7200), ", and none was seen in the last 2 hours");
    }

    #[test]
    fn a_question_is_named_by_the_object_that_it_asks_about() {
        let of = |words: &[&str]| subject(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["placement/web"]), "placement \"web\"");
        assert_eq!(of(&["shoot", "web"]), "shoot \"web\"");
        assert_eq!(of(&["shoot/garden-dev/web"]), "shoot \"web\"");
        assert_eq!(of(&["garden-dev/web"]), "request \"web\"");
        assert_eq!(of(&["cache-071"]), "request \"cache-071\"");
    }

    #[test]
    fn the_searched_namespace_is_that_of_the_words_and_with_all_namespaces_none() {
        let words = |word: &str| [word.to_owned()];
        assert_eq!(namespace_of(&words("garden-dev/web")), Some("garden-dev"));
        assert_eq!(namespace_of(&words("shoot/garden-dev/web")), Some("garden-dev"));
        assert_eq!(namespace_of(&words("shoot/web")), None);
        let at = |namespaces: &[&str], searched: Option<&str>| {
            let place = |namespace: &&str| Place {
                namespace: (*namespace).to_owned(),
                name: "web.gardener".to_owned(),
            };
            scope(&namespaces.iter().map(place).collect::<Vec<_>>(), searched)
        };
        assert_eq!(at(&[""], None), "");
        assert_eq!(at(&["team"], None), " in any namespace");
        assert_eq!(at(&["team"], Some("team")), " in namespace team");
        assert_eq!(
            at(&["", "team"], Some("team")),
            " in namespace team or without one"
        );
        // The decision about a namespace is in that namespace.
        assert_eq!(at(&["", "team", "web"], Some("team")), " in namespace team");
    }
}
