//! Answers where no object is found or readable: another place of the object, and the missing right.

use anyhow::anyhow;
use berth_apimachinery::Status;
use berth_client::Client;
use berth_engine::spelling;
use berth_scheduling_api::API_VERSION;
use http::Method;
use serde_json::Value;

use super::places::Place;

/// The ClusterRole with the rights for `berth why`.
const ROLE: &str = "berth:explainer";
/// Highest number of other places that an answer names.
const NAMES_LIMIT: usize = 3;
/// Highest number of objects of one list that are compared for similar names.
const COMPARED_LIMIT: usize = 500;

/// A question without an answer.
pub struct Question<'a> {
    /// The client that was asked.
    pub client: &'a Client,
    /// The namespace of objects that name none.
    pub namespace: &'a str,
    /// The words of the question.
    pub words: &'a [String],
    /// The decisions that the words may mean.
    pub places: &'a [Place],
    /// Whether this process answered.
    pub is_within: bool,
    /// The hours of a history that has no trace of the object either; `None` if no history was searched.
    pub unseen_for: Option<u64>,
}

impl Question<'_> {
    /// Reason why there is no object, and the place of an object with this or a similar name.
    pub async fn absent(&self) -> anyhow::Error {
        match is_installed(self.client).await {
            Err(error) => return error,
            Ok(false) => return not_installed(),
            Ok(true) => {}
        }
        let lists = match self.is_within {
            true => "`berth compare` lists what there is",
            false => "`kubectl get decisions,clusterdecisions -A` lists what there is",
        };
        let hint = match self.elsewhere().await {
            Some(namespaces) => namespaces,
            None => match (self.similar_name().await, self.other_namespace().await) {
                (Some(name), _) => format!("did you mean {name}?"),
                (None, Some(other)) => other,
                (None, None) => format!("pass -n for another namespace; {lists}"),
            },
        };
        let unseen = match self.unseen_for {
            None => String::new(),
            Some(0) => ", and none was seen before".to_owned(),
            Some(hours) => format!(", and none was seen in the last {hours} hours"),
        };
        anyhow!(
            "there is no {}{}{unseen}: {hint}",
            subject(self.words),
            self.place()
        )
    }

    /// ` in namespace team-a`, if the words can mean an object there.
    fn place(&self) -> String {
        let mut namespaces: Vec<&str> = self.places.iter().map(|place| &*place.namespace).collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        match namespaces.as_slice() {
            [""] => String::new(),
            ["", namespace] => format!(" in namespace {namespace} or without one"),
            [namespace] => format!(" in namespace {namespace}"),
            _ => format!(" in namespace {}", self.namespace),
        }
    }

    /// Sentence about a missing namespace, with the name of a similar namespace.
    async fn other_namespace(&self) -> Option<String> {
        let namespace = &self.namespaced().next()?.namespace;
        let path = format!("/api/v1/namespaces/{namespace}");
        // Within this process, only the namespaces that were read are known.
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

    /// Sentence about the other namespaces that have a decision of that name. Without the right to read
    /// decisions there, none are listed.
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

    /// Similar name of a decision that exists, in the namespace or cluster-scoped.
    async fn similar_name(&self) -> Option<String> {
        let paths = [
            format!(
                "/apis/{API_VERSION}/namespaces/{}/decisions?limit={COMPARED_LIMIT}",
                self.namespace
            ),
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

    fn namespaced(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| !place.namespace.is_empty())
    }
}

/// Namespace and name of the objects in the list at `path`; empty if the caller may not read it.
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

/// Whether the server has Berth's group.
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

/// `placement "web"` or `request "web"`: the words of a question, for a sentence.
fn subject(words: &[String]) -> String {
    let words: Vec<&str> = match words {
        [word] => word.split('/').collect(),
        words => words.iter().map(String::as_str).collect(),
    };
    match *words.as_slice() {
        [kind, .., name] => format!("{kind} \"{name}\""),
        [name] => format!("request \"{name}\""),
        [] => "request".to_owned(),
    }
}

/// Returns the error about `refusals`, which the server answered for the places that `words` may mean, with
/// the missing right. Of several refusals, only one is reported: the first about a place in a namespace, or
/// else the first.
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
        to_ask_for(client, &place.namespace).await
    )
}

/// Sentence with the command that binds the missing right, for all namespaces if `namespace` is empty.
pub async fn to_ask_for(client: &Client, namespace: &str) -> String {
    let user = client.user().await.ok().flatten();
    let user = user.unwrap_or_else(|| "USER".to_owned());
    match namespace {
        "" => format!(
            "ask for a ClusterRoleBinding to {ROLE}: kubectl create clusterrolebinding {ROLE}-{} --clusterrole={ROLE} --user='{user}'",
            plain(&user)
        ),
        namespace => format!(
            "ask for a RoleBinding to {ROLE} there: kubectl create rolebinding {ROLE}-{} -n {namespace} --clusterrole={ROLE} \
             --user='{user}'",
            plain(&user)
        ),
    }
}

/// `user` as a part of a name.
fn plain(user: &str) -> String {
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
    fn a_question_is_named_by_the_object_that_it_asks_about() {
        let of = |words: &[&str]| subject(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["placement/web"]), "placement \"web\"");
        assert_eq!(of(&["shoot", "web"]), "shoot \"web\"");
        assert_eq!(of(&["shoot/garden-dev/web"]), "shoot \"web\"");
        assert_eq!(of(&["cache-071"]), "request \"cache-071\"");
    }
}
