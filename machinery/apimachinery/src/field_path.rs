//! Paths of fields in an object, for messages.

/// Highest number of bytes of a field's name in a path, without the placeholder.
const NAME_LIMIT: usize = 100;
/// Highest number of bytes of a whole path, without the placeholder at its end.
const PATH_LIMIT: usize = 512;
/// Placeholder for omitted parts.
const ELLIPSIS: &str = "...";

/// Path from the root of an object, as in `spec.taints[0].key`. Its text truncates long names and long paths:
/// a name can be as long as a request, and be part of many paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath {
    text: String,
    is_cut: bool,
}

impl FieldPath {
    /// Appends the field `name`.
    pub fn field(&mut self, name: &str) {
        if self.is_full() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('.');
        }
        let end = name.floor_char_boundary(NAME_LIMIT);
        self.text.push_str(&name[..end]);
        if end < name.len() {
            self.text.push_str(ELLIPSIS);
        }
    }

    /// Appends the element `index` of a list.
    pub fn index(&mut self, index: usize) {
        if !self.is_full() {
            self.text.push_str(&format!("[{index}]"));
        }
    }

    /// Returns the path as text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.text
    }

    /// Whether further parts are omitted. The first omission adds a placeholder to the text.
    fn is_full(&mut self) -> bool {
        if !self.is_cut && self.text.len() >= PATH_LIMIT - NAME_LIMIT - ELLIPSIS.len() {
            self.is_cut = true;
            self.text.push_str(ELLIPSIS);
        }
        self.is_cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_fields_and_elements() {
        let mut path = FieldPath::default();
        path.field("spec");
        path.field("taints");
        path.index(0);
        path.field("key");
        assert_eq!(path.into_text(), "spec.taints[0].key");
    }

    #[test]
    fn long_names_and_paths_are_truncated_at_character_boundaries() {
        let mut path = FieldPath::default();
        path.field(&"é".repeat(1_000));
        path.field("a");
        assert_eq!(path.into_text(), format!("{}....a", "é".repeat(50)));
        let mut path = FieldPath::default();
        for index in 0..10_000 {
            path.field(&"n".repeat(1_000));
            path.index(index);
        }
        let text = path.into_text();
        assert!(text.len() <= PATH_LIMIT && text.ends_with(ELLIPSIS), "{text}");
    }
}
