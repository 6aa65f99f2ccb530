//! Negotiation of the form of an answer: the `Accept` header, `pretty`, and the forms that can be served.
//!
//! A clause that cannot be served is skipped, and is no error while another clause can be served: Kubernetes'
//! own controllers prefer protobuf, which only Kubernetes' own kinds have (docs/reference.md, "Negotiation").
//! However, a watch is refused if the first clause that can be served is YAML, as by kube-apiserver.

use berth_apimachinery::Status;
use http::HeaderMap;
use http::header::{ACCEPT, ACCEPT_ENCODING, USER_AGENT};

use crate::request_info::Query;
use crate::yaml;

/// Encoding of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Encoding {
    Json,
    Pretty,
    Yaml,
    Protobuf,
}

impl Encoding {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::Pretty => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => PROTOBUF,
        }
    }

    /// Media type of a watch.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            Self::Json | Self::Pretty | Self::Yaml => self.content_type(),
        }
    }
}

/// Version of the `meta.k8s.io` group that a client requests. Both versions have the same form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum MetaVersion {
    V1,
    V1Beta1,
}

impl MetaVersion {
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// Form of the objects in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// Whole objects.
    Full,
    /// Table rows.
    Table(MetaVersion),
    /// Metadata only.
    Partial(MetaVersion),
}

/// Kind of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Object,
    List,
    Watch,
}

/// Forms that a resource has in addition to the JSON of its objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forms {
    /// Whether objects have table rows. Objects that are only returned and have no metadata, such as reviews,
    /// have none.
    pub(crate) tables: bool,
    /// Whether objects have protobuf messages.
    pub(crate) messages: bool,
}

/// Negotiated encoding and shape of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MediaType {
    pub(crate) encoding: Encoding,
    pub(crate) shape: Shape,
}

const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Returns the media types that a 406 lists.
fn offered(answer: Answer, forms: Forms) -> Vec<&'static str> {
    let types: &[_] = match answer {
        Answer::Watch => &[
            (JSON, true),
            ("application/json;stream=watch", true),
            ("application/vnd.kubernetes.protobuf;stream=watch", forms.messages),
        ],
        Answer::Object | Answer::List => &[
            (JSON, true),
            ("application/yaml", yaml::SUPPORTED),
            (PROTOBUF, forms.messages),
        ],
    };
    let served = types.iter().filter(|(_, is_served)| *is_served);
    served.map(|&(name, _)| name).collect()
}

/// Selects the first clause, by quality, that can be served.
///
/// # Errors
/// 406 when no clause can be served, and for a watch whose selected clause is YAML.
pub(crate) fn negotiate(
    headers: &HeaderMap,
    query: &Query,
    answer: Answer,
    forms: Forms,
) -> Result<MediaType, Status> {
    let pretty = wants_pretty(headers, query);
    let text = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect::<Vec<_>>()
        .join(",");
    if text.trim().is_empty() {
        return Ok(MediaType {
            encoding: json(pretty, answer),
            shape: Shape::Full,
        });
    }
    let clauses = in_order(text.split(',').filter_map(Clause::parse).collect());
    let accepted = clauses
        .iter()
        .find_map(|clause| clause.accept(answer, forms, pretty));
    // Watches cannot be encoded as YAML: a watch is refused if the client prefers YAML.
    let served = accepted.filter(|accepted| answer != Answer::Watch || accepted.encoding != Encoding::Yaml);
    served.ok_or_else(|| Status::not_acceptable(&offered(answer, forms)))
}

/// Highest number of clauses that are sorted exactly as in kube-apiserver.
const EXACTLY_SORTED: usize = 12;

/// Sorts the clauses by quality, highest first. In addition, as in kube-apiserver, a clause without `*` moves
/// before a preceding clause with `*`, even if it has a lower quality. More clauses than [`EXACTLY_SORTED`]
/// are sorted by quality and specificity instead.
fn in_order(mut clauses: Vec<Clause<'_>>) -> Vec<Clause<'_>> {
    if clauses.len() > EXACTLY_SORTED {
        clauses.sort_by_key(|clause| std::cmp::Reverse((clause.quality, clause.specificity())));
        return clauses;
    }
    for index in 1..clauses.len() {
        let mut place = index;
        while place > 0 && clauses[place].precedes(&clauses[place - 1]) {
            clauses.swap(place, place - 1);
            place -= 1;
        }
    }
    clauses
}

/// Whether the client prefers a `Status` in YAML. A `Status` is sent even if the client accepts none of the
/// encodings.
pub(crate) fn wants_yaml(headers: &HeaderMap) -> bool {
    // Few requests name YAML: the search for the word spares the others the negotiation.
    let is_named = headers
        .get_all(ACCEPT)
        .iter()
        .any(|value| value.to_str().is_ok_and(|text| text.contains("yaml")));
    is_named && encoding_of_status(headers, false) == Some(Encoding::Yaml)
}

/// Whether the client prefers a `Status` in protobuf. Call it only for a resource with protobuf messages.
pub(crate) fn wants_protobuf(headers: &HeaderMap) -> bool {
    let is_named = headers
        .get_all(ACCEPT)
        .iter()
        .any(|value| value.to_str().is_ok_and(|text| text.contains(PROTOBUF)));
    is_named && encoding_of_status(headers, true) == Some(Encoding::Protobuf)
}

fn encoding_of_status(headers: &HeaderMap, messages: bool) -> Option<Encoding> {
    let forms = Forms {
        tables: true,
        messages,
    };
    let accepted = negotiate(headers, &Query::default(), Answer::Object, forms);
    accepted.ok().map(|accepted| accepted.encoding)
}

/// Whether the client accepts a gzip body. A clause for gzip overrides the clause `*`.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let (mut gzip, mut any) = (None, None);
    for clause in values.flat_map(|text| text.split(',')) {
        let mut parts = clause.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let accepted = !parts.any(|parameter| matches!(parameter, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        match name.as_str() {
            "gzip" | "x-gzip" => gzip = Some(accepted || gzip == Some(true)),
            "*" => any = Some(accepted),
            _ => {}
        }
    }
    gzip.or(any).unwrap_or(false)
}

fn json(pretty: bool, answer: Answer) -> Encoding {
    if pretty && answer != Answer::Watch {
        Encoding::Pretty
    } else {
        Encoding::Json
    }
}

/// Whether the client wants indented JSON: it sets `pretty`, or it is interactive (curl, Wget, a browser).
fn wants_pretty(headers: &HeaderMap, query: &Query) -> bool {
    if query.first("pretty").is_some() {
        return query.flag("pretty");
    }
    let agent = headers
        .get(USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    ["curl", "Wget", "Mozilla/5.0"]
        .iter()
        .any(|name| agent.starts_with(name))
}

/// Clause of an `Accept` header.
#[derive(Debug, Default)]
struct Clause<'a> {
    main_type: &'a str,
    subtype: &'a str,
    /// Quality in thousandths.
    quality: u32,
    /// Kind to which the objects are converted (`as`).
    convert: &'a str,
    group: &'a str,
    version: &'a str,
    stream: &'a str,
    pretty: Option<bool>,
}

impl<'a> Clause<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (main_type, subtype) = parts.next()?.split_once('/')?;
        let mut clause = Self {
            main_type: main_type.trim(),
            subtype: subtype.trim(),
            quality: 1000,
            ..Self::default()
        };
        for parameter in parts {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = value.trim().trim_matches('"');
            match name.trim() {
                "q" => clause.quality = quality(value)?,
                "as" => clause.convert = value,
                "g" => clause.group = value,
                "v" => clause.version = value,
                "stream" => clause.stream = value,
                "pretty" => clause.pretty = Some(value != "0"),
                _ => {}
            }
        }
        (clause.quality > 0).then_some(clause)
    }

    /// Number of parts of the media type that are not `*`, from the left.
    fn specificity(&self) -> u8 {
        match (self.main_type, self.subtype) {
            ("*", _) => 0,
            (_, "*") => 1,
            _ => 2,
        }
    }

    /// Whether the clause moves before `other`, the clause directly before it. The relation is not an order:
    /// of two clauses, each may precede the other.
    fn precedes(&self, other: &Self) -> bool {
        self.quality > other.quality
            || (self.main_type != "*" && other.main_type == "*")
            || (self.subtype != "*" && other.subtype == "*")
    }

    /// Returns the form that the clause accepts; `None` if it cannot be served.
    fn accept(&self, answer: Answer, forms: Forms, pretty: bool) -> Option<MediaType> {
        let encoding = match (self.main_type, self.subtype) {
            ("*", "*") | ("application", "*" | "json") => json(self.pretty.unwrap_or(pretty), answer),
            ("application", "yaml") if yaml::SUPPORTED => Encoding::Yaml,
            ("application", "vnd.kubernetes.protobuf") if forms.messages => Encoding::Protobuf,
            _ => return None,
        };
        let streams = match self.stream {
            "" => true,
            "watch" => answer == Answer::Watch && encoding != Encoding::Yaml,
            _ => false,
        };
        streams.then_some(())?;
        let shape = self.shape(answer)?;
        // Table rows have values of any type, which protobuf messages cannot have.
        let is_supported =
            !matches!(shape, Shape::Table(_)) || (forms.tables && encoding != Encoding::Protobuf);
        is_supported.then_some(MediaType { encoding, shape })
    }

    fn shape(&self, answer: Answer) -> Option<Shape> {
        if self.convert.is_empty() {
            return Some(Shape::Full);
        }
        let version = match (self.group, self.version) {
            ("meta.k8s.io", "v1") => MetaVersion::V1,
            ("meta.k8s.io", "v1beta1") => MetaVersion::V1Beta1,
            _ => return None,
        };
        match (self.convert, answer) {
            ("Table", _) => Some(Shape::Table(version)),
            ("PartialObjectMetadataList", Answer::List)
            | ("PartialObjectMetadata", Answer::Object | Answer::Watch) => Some(Shape::Partial(version)),
            _ => None,
        }
    }
}

/// Parses a quality from 0 to 1, in thousandths; any other value makes the clause invalid.
fn quality(text: &str) -> Option<u32> {
    let number: f64 = text.parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 1000"
    )]
    (0.0..=1.0).contains(&number).then_some((number * 1000.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forms of a resource without messages.
    const JSON_ONLY: Forms = Forms {
        tables: true,
        messages: false,
    };

    fn accept(text: &str, answer: Answer) -> Option<MediaType> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, text.parse().unwrap());
        negotiate(&headers, &Query::default(), answer, JSON_ONLY).ok()
    }

    const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

    #[test]
    fn the_first_clause_that_can_be_served_wins() {
        let shape = |text, answer| accept(text, answer).map(|accepted| accepted.shape);
        assert_eq!(shape(TABLE, Answer::List), Some(Shape::Table(MetaVersion::V1)));
        assert_eq!(shape("application/json", Answer::List), Some(Shape::Full));
        assert_eq!(shape("*/*", Answer::Object), Some(Shape::Full));
        let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
            application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
        assert_eq!(
            shape(metadata, Answer::List),
            Some(Shape::Partial(MetaVersion::V1))
        );
        assert_eq!(shape(metadata, Answer::Object), Some(Shape::Full));
        let swapped = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        assert_eq!(shape(swapped, Answer::List), None);
        assert_eq!(shape("text/csv", Answer::List), None);
        assert_eq!(
            shape("application/cbor,application/json;q=0.1", Answer::List),
            Some(Shape::Full)
        );
        assert_eq!(shape("application/json;q=0", Answer::List), None);
    }

    #[test]
    fn messages_are_answered_where_there_are_any_and_rows_only_where_there_are_some() {
        let accept = |text: &str, answer, forms| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, text.parse().unwrap());
            let accepted = negotiate(&headers, &Query::default(), answer, forms);
            accepted
                .map(|accepted| accepted.encoding)
                .map_err(|status| status.code)
        };
        let both = Forms {
            messages: true,
            ..JSON_ONLY
        };
        let go = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(accept(go, Answer::Object, both), Ok(Encoding::Protobuf));
        assert_eq!(accept(go, Answer::Object, JSON_ONLY), Ok(Encoding::Json));
        let only = "application/vnd.kubernetes.protobuf";
        assert_eq!(accept(only, Answer::List, JSON_ONLY), Err(406));
        let watch = "application/vnd.kubernetes.protobuf;stream=watch";
        assert_eq!(accept(watch, Answer::Watch, both), Ok(Encoding::Protobuf));
        assert_eq!(accept(watch, Answer::List, both), Err(406));
        let rows = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io";
        assert_eq!(accept(rows, Answer::List, both), Err(406));
        assert_eq!(accept("*/*", Answer::List, both), Ok(Encoding::Json));
        let rowless = Forms {
            tables: false,
            ..both
        };
        assert_eq!(accept(TABLE, Answer::Object, rowless), Ok(Encoding::Json));
        let rows = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert_eq!(accept(rows, Answer::Object, rowless), Err(406));
        assert_eq!(accept(rows, Answer::Object, both), Ok(Encoding::Json));
    }

    #[test]
    fn quality_comes_before_order_and_order_before_nothing() {
        let text = "application/yaml;q=0.5, application/json;q=0.9";
        assert_eq!(accept(text, Answer::Object).unwrap().encoding, Encoding::Json);
        let text = "application/yaml, application/json";
        assert_eq!(accept(text, Answer::Object).unwrap().encoding, Encoding::Yaml);
    }

    #[test]
    fn an_exact_type_after_a_wildcard_steps_before_it_as_in_kube_apiserver() {
        let text = "*/*;q=0.8, application/yaml;q=0.5";
        assert_eq!(accept(text, Answer::Object).unwrap().encoding, Encoding::Yaml);
        let text = "application/yaml;q=0.5, */*;q=0.8";
        assert_eq!(accept(text, Answer::Object).unwrap().encoding, Encoding::Json);
        // Even the longest header is processed fast.
        let many = vec!["*/*;q=0.8, application/yaml;q=0.5"; 5_000].join(",");
        assert_eq!(accept(&many, Answer::Object).unwrap().encoding, Encoding::Json);
    }

    #[test]
    fn a_watch_is_refused_where_yaml_is_preferred() {
        for text in [
            "application/yaml",
            "application/yaml, application/json",
            "text/html, application/yaml, */*",
        ] {
            assert_eq!(accept(text, Answer::Watch), None, "{text}");
        }
        for text in [
            "application/json, application/yaml",
            "application/yaml;q=0.5, application/json",
            "application/yaml;stream=watch, application/json",
        ] {
            assert_eq!(
                accept(text, Answer::Watch).unwrap().encoding,
                Encoding::Json,
                "{text}"
            );
        }
    }

    #[test]
    fn a_status_is_yaml_where_yaml_is_what_would_be_answered() {
        for (text, yes) in [
            ("application/yaml", true),
            ("application/cbor, application/yaml;q=0.5", true),
            ("application/json, application/yaml", false),
            ("application/yaml;q=0", false),
            ("text/yaml", false),
            ("application/json", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, text.parse().unwrap());
            assert_eq!(wants_yaml(&headers), yes, "{text}");
        }
    }

    #[test]
    fn browsers_and_curl_get_indented_json() {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, "curl/8".parse().unwrap());
        let encoding = |headers: &HeaderMap, query| {
            negotiate(headers, &Query::parse(query), Answer::Object, JSON_ONLY)
                .unwrap()
                .encoding
        };
        assert_eq!(encoding(&headers, ""), Encoding::Pretty);
        assert_eq!(encoding(&headers, "pretty=false"), Encoding::Json);
        assert_eq!(encoding(&HeaderMap::new(), "pretty=true"), Encoding::Pretty);
        assert_eq!(encoding(&HeaderMap::new(), ""), Encoding::Json);
    }

    #[test]
    fn gzip_is_used_only_when_offered() {
        for (text, yes) in [
            ("gzip", true),
            ("deflate, gzip;q=0.5", true),
            ("gzip;q=0", false),
            ("GZIP", true),
            ("*", true),
            ("gzip;q=0, *", false),
            ("br", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, text.parse().unwrap());
            assert_eq!(accepts_gzip(&headers), yes, "{text}");
        }
    }
}
