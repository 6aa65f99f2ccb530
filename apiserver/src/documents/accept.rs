//! Clauses of the `Accept` header of a request for a document: a media type, and the parameters that select a
//! form of the document.

use http::HeaderValue;
use http::header::GetAll;

/// One clause: `application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;q=0.9`. Parameters other
/// than `as`, `g`, `v` and `q` (`profile=nopeer`) do not affect the form and are omitted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Clause {
    media_type: String,
    /// Values of the parameters `as`, `g` and `v`. A clause accepts only forms with the same values.
    parameters: [String; 3],
    quality: f32,
}

impl Clause {
    /// Whether a client with this clause accepts the `offered` form. A clause of quality 0 accepts no form.
    pub(super) fn accepts(&self, offered: &Self) -> bool {
        let media_type = self.media_type == offered.media_type
            || self.media_type == "*/*"
            || self
                .media_type
                .strip_suffix('*')
                .is_some_and(|prefix| prefix.ends_with('/') && offered.media_type.starts_with(prefix));
        media_type && self.parameters == offered.parameters && self.quality > 0.0
    }
}

/// Returns the clauses of a request by quality, highest first. Clauses of equal quality keep their order.
pub(super) fn clauses(values: GetAll<'_, HeaderValue>) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = values
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(parse)
        .collect();
    clauses.sort_by(|one, other| other.quality.total_cmp(&one.quality));
    clauses
}

/// Returns the clauses of one header value.
pub(super) fn parse(text: &str) -> Vec<Clause> {
    text.split(',')
        .map(str::trim)
        .filter(|clause| !clause.is_empty())
        .map(clause)
        .collect()
}

fn clause(text: &str) -> Clause {
    let mut parts = text.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
    let mut clause = Clause {
        media_type,
        parameters: Default::default(),
        quality: 1.0,
    };
    for part in parts {
        let Some((key, value)) = part.split_once('=') else {
            continue;
        };
        let value = value.trim().trim_matches('"');
        match key.trim() {
            "as" => value.clone_into(&mut clause.parameters[0]),
            "g" => value.clone_into(&mut clause.parameters[1]),
            "v" => value.clone_into(&mut clause.parameters[2]),
            "q" => clause.quality = value.parse().unwrap_or(1.0),
            _ => {}
        }
    }
    clause
}
