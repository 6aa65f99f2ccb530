//! Text for Helm: YAML, with actions around what depends on choices.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::choices::{Condition, When};
use super::tree::Node;

/// YAML documents for the objects in `list`, which is part of something that is there at `whole`.
///
/// # Errors
/// When something has no form in a template.
pub(super) fn documents(list: &Node, whole: &When) -> Result<String> {
    let Node::List(objects) = list else {
        bail!("objects are a list");
    };
    let mut text = Template::default();
    for (when, object) in objects {
        text.within(&Condition::between(whole, when)?);
        text.line(0, "---");
        let Node::Map(entries) = object else {
            bail!("an object is a map");
        };
        text.map(entries, when, 0, false)?;
    }
    text.within(&Condition::default());
    Ok(text.text)
}

#[derive(Default)]
struct Template {
    text: String,
    /// On what the next line depends, beside what the blocks around say.
    open: Condition,
}

impl Template {
    fn line(&mut self, indent: usize, text: &str) {
        self.text.push_str(&" ".repeat(indent));
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Closes and opens blocks, so that what follows depends on `condition`.
    fn within(&mut self, condition: &Condition) {
        if self.open == *condition {
            return;
        }
        if !self.open.is_empty() {
            self.line(0, "{{- end }}");
        }
        if !condition.is_empty() {
            self.line(0, &format!("{{{{- if {} }}}}", condition.text()));
        }
        self.open = condition.clone();
    }

    /// Writes what is inside a block of its own: blocks in it end before it does.
    fn inside(&mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let around = std::mem::take(&mut self.open);
        write(self)?;
        self.within(&Condition::default());
        self.open = around;
        Ok(())
    }

    /// The entries of an object; the first stands behind the dash of a list where there is one.
    fn map(
        &mut self,
        entries: &[(String, When, Node)],
        whole: &When,
        indent: usize,
        dash: bool,
    ) -> Result<()> {
        let mut all = Vec::new();
        for entry in entries {
            all.push((Condition::between(whole, &entry.1)?, entry));
        }
        let first = all.iter().position(|(condition, _)| condition.is_empty());
        let first = first.context("an object that may be empty has no form here")?;
        if dash {
            // A dash cannot stand before what may not be there.
            let entry = all.remove(first);
            all.insert(0, entry);
        }
        self.inside(|text| {
            for (number, (condition, (key, when, node))) in all.iter().enumerate() {
                text.within(condition);
                let lead = if dash && number == 0 { "- " } else { "" };
                text.entry(key, node, when, indent, lead)
                    .with_context(|| key.clone())?;
            }
            Ok(())
        })
    }

    fn entry(&mut self, key: &str, node: &Node, when: &When, indent: usize, lead: &str) -> Result<()> {
        let begin = format!("{lead}{}:", scalar(&Value::from(key))?);
        let lead_indent = indent - lead.len();
        match node {
            Node::Scalar(alternatives) => {
                let value = alternative(alternatives, when)?;
                self.line(lead_indent, &format!("{begin} {value}"));
            }
            Node::Map(entries) if entries.is_empty() => self.line(lead_indent, &format!("{begin} {{}}")),
            Node::Map(entries) => {
                self.line(lead_indent, &begin);
                self.map(entries, when, indent + 2, false)?;
            }
            Node::List(items) => {
                let some: When = items.iter().flat_map(|(when, _)| when.iter().copied()).collect();
                let some = match items.is_empty() {
                    true => None,
                    false => Some(Condition::between(when, &some)?),
                };
                let none = match some {
                    None => " []".to_owned(),
                    Some(some) if some.is_empty() => String::new(),
                    Some(some) => format!("{{{{ if not ({}) }}}} []{{{{ end }}}}", some.text()),
                };
                self.line(lead_indent, &format!("{begin}{none}"));
                self.list(items, when, indent)?;
            }
        }
        Ok(())
    }

    fn list(&mut self, items: &[(When, Node)], whole: &When, indent: usize) -> Result<()> {
        self.inside(|text| {
            for (when, node) in items {
                text.within(&Condition::between(whole, when)?);
                match node {
                    Node::Scalar(alternatives) => {
                        let value = alternative(alternatives, when)?;
                        text.line(indent, &format!("- {value}"));
                    }
                    Node::Map(entries) => text.map(entries, when, indent + 2, true)?,
                    Node::List(_) => bail!("a list in a list has no form here"),
                }
            }
            Ok(())
        })
    }
}

/// One value, or one of several.
fn alternative(alternatives: &[(When, Value)], whole: &When) -> Result<String> {
    let mut text = String::new();
    for (number, (when, value)) in alternatives.iter().enumerate() {
        let value = scalar(value)?;
        if alternatives.len() == 1 {
            return Ok(value);
        }
        let condition = Condition::between(whole, when)?.text();
        match number {
            0 => text.push_str(&format!("{{{{ if {condition} }}}}{value}")),
            last if last + 1 == alternatives.len() => {
                text.push_str(&format!("{{{{ else }}}}{value}{{{{ end }}}}"));
            }
            _ => text.push_str(&format!("{{{{ else if {condition} }}}}{value}")),
        }
    }
    Ok(text)
}

/// A scalar on one line. JSON is YAML, for what is folded otherwise.
fn scalar(value: &Value) -> Result<String> {
    let text = serde_saphyr::to_string(value)?;
    Ok(match text.trim_end() {
        text if text.contains('\n') => value.to_string(),
        text => text.to_owned(),
    })
}
