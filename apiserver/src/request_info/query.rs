//! The query of a request, decoded once.

/// Query parameters in their original order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Decodes `a=b&c=d`; `+` is a space, as in HTML forms.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// Returns the first value of `key`.
    #[must_use]
    pub fn first(&self, key: &str) -> Option<&str> {
        self.all(key).next()
    }

    /// Returns every value of `key`, in order.
    pub fn all<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// Whether the switch `key` is on, as Kubernetes interprets it: a missing switch, `false` and `0` are
    /// off; any other value is on, also the empty value.
    #[must_use]
    pub fn flag(&self, key: &str) -> bool {
        self.first(key)
            .is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Returns every pair, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_as_kubernetes_reads_them() {
        for (text, on) in [
            ("watch=true", true),
            ("watch=1", true),
            ("watch", true),
            ("watch=", true),
            ("watch=0", false),
            ("watch=False", false),
            ("other=1", false),
            ("watch=false&watch=true", false),
        ] {
            assert_eq!(Query::parse(text).flag("watch"), on, "{text}");
        }
    }

    #[test]
    fn values_are_decoded_and_repeated_keys_kept() {
        let query = Query::parse("exclude=a&labelSelector=a%3Db%2Cc+d&exclude=b&bad=%zz");
        assert_eq!(query.first("labelSelector"), Some("a=b,c d"));
        assert_eq!(query.all("exclude").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(query.first("bad"), Some("%zz"));
    }
}
