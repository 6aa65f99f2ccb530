//! Texts as small numbers, so that columns compare integers.

use std::sync::Arc;

use imbl::HashMap;

/// A growing table of texts, each with a number. A clone shares the content.
#[derive(Clone, Default)]
pub struct Interner {
    numbers: HashMap<Arc<str>, u32>,
}

impl Interner {
    /// The number of `text`, which is assigned when the text is seen for the first time.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        let number = self.count();
        self.numbers.insert(text.into(), number);
        number
    }

    /// The number of `text`; `None` if none was assigned, so that no column contains the text.
    pub fn find(&self, text: &str) -> Option<u32> {
        self.numbers.get(text).copied()
    }

    /// Number of texts, which is greater than all assigned numbers.
    pub fn count(&self) -> u32 {
        u32::try_from(self.numbers.len()).unwrap_or(u32::MAX)
    }
}
