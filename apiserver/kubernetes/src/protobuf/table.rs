//! The messages of the served kinds, as `messages.txt` defines them.
//!
//! An unindented line begins a message: the name of the message, and after each `=` the apiVersion (`*`
//! matches every one) and the kind of objects that the message encodes. Each indented line below is a field
//! of the message: a number, a name in JSON, and a form. A form is a scalar (see [`Scalar`]) or the name of a
//! message, and may have a prefix: `[]` for a list, `{}` for a map with text keys, `*` for a pointer (so that
//! a zero differs from an absent value), `<` for a message whose fields are inlined in the surrounding JSON
//! object.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::scalar::Scalar;

/// Table of all messages in `messages.txt`.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(include_str!("messages.txt")));

/// Messages, and the kinds whose objects they encode.
pub(super) struct Table {
    messages: Vec<Message>,
    /// Index of the message by apiVersion and kind.
    roots: HashMap<(&'static str, &'static str), usize>,
}

/// The fields of a message, in the order of their numbers.
#[derive(Default)]
pub(super) struct Message {
    pub(super) fields: Vec<Field>,
}

/// A field of a message.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) number: u32,
    /// Name of the field in JSON.
    pub(super) name: &'static str,
    pub(super) cardinality: Cardinality,
    pub(super) form: Form,
}

/// Number of values that a field can have, and their place in JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cardinality {
    /// One value; a zero is the same as an absent value.
    One,
    /// One value or none; a zero is a value.
    Pointer,
    /// Any number of values, as a JSON array.
    List,
    /// Any number of values by text key, as a JSON object.
    Map,
    /// One message, whose fields are inlined in the surrounding JSON object.
    Inline,
}

/// Form of a value.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Scalar(Scalar),
    /// A message, by its index in the table.
    Message(usize),
}

impl Table {
    /// Returns the message of the objects of a kind; `None` for an unknown kind.
    pub(super) fn root(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let index = self.roots.get(&(api_version, kind));
        let index = index.or_else(|| self.roots.get(&("*", kind)));
        index.map(|&index| &self.messages[index])
    }

    /// Returns the message of a [`Form::Message`].
    pub(super) fn message(&self, index: usize) -> &Message {
        &self.messages[index]
    }

    /// Parses the table in `text`. A syntax error panics, since the text is part of this program.
    fn parse(text: &'static str) -> Self {
        let heads = || text.lines().filter(|line| !line.starts_with(' '));
        let name = |head: &'static str| head.split(" = ").next().unwrap_or_default();
        let indices: HashMap<_, _> = heads().map(name).zip(0..).collect();
        let mut roots = HashMap::new();
        for (index, head) in heads().enumerate() {
            let kinds = head.split(" = ").skip(1);
            roots.extend(kinds.filter_map(|kind| Some((kind.split_once(' ')?, index))));
        }
        let mut messages: Vec<Message> = Vec::new();
        for line in text.lines() {
            match line.strip_prefix(' ') {
                None => messages.push(Message::default()),
                Some(line) => {
                    let message = messages.last_mut().expect("a field stands below its message");
                    message.fields.push(Field::parse(line, &indices));
                }
            }
        }
        Self { messages, roots }
    }
}

impl Field {
    fn parse(line: &'static str, indices: &HashMap<&str, usize>) -> Self {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("a field has a number, a name and a form");
        let (number, name, form) = (word(), word(), word());
        let prefixes = [
            ("[]", Cardinality::List),
            ("{}", Cardinality::Map),
            ("*", Cardinality::Pointer),
            ("<", Cardinality::Inline),
        ];
        let prefixed = prefixes
            .into_iter()
            .find_map(|(prefix, cardinality)| Some((cardinality, form.strip_prefix(prefix)?)));
        let (cardinality, form) = prefixed.unwrap_or((Cardinality::One, form));
        let scalar = Scalar::named(form).map(Form::Scalar);
        let form = scalar.or_else(|| indices.get(form).map(|&index| Form::Message(index)));
        Self {
            number: number.parse().expect("a field number is a number"),
            name,
            cardinality,
            form: form.expect("a form is a scalar or a message of the table"),
        }
    }
}

impl Message {
    /// Returns the field with the JSON name `name`, which may be a field of an inlined message.
    pub(super) fn field_named(&self, name: &str) -> Option<&Field> {
        self.fields
            .iter()
            .find_map(|field| match (field.cardinality, field.form) {
                (Cardinality::Inline, Form::Message(index)) => TABLE.message(index).field_named(name),
                _ => (field.name == name).then_some(field),
            })
    }

    /// Returns the field with the number `number`.
    pub(super) fn field_numbered(&self, number: u32) -> Option<&Field> {
        let index = self.fields.binary_search_by_key(&number, |field| field.number);
        index.ok().map(|index| &self.fields[index])
    }
}
