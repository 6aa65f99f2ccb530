//! The messages of the served kinds, as `messages.txt` defines them.
//!
//! An unindented line begins a message: its name, and after each `=` an apiVersion (`*` matches every one)
//! and a kind whose objects it encodes. Each line below is a field: its number, its name in JSON, and its
//! form. A form is a scalar (see [`Scalar`]) or a message, with a prefix: `[]` for a list, `{}` for a map
//! with text keys, `*` for a pointer (so that a zero differs from an absent value), `<` for a message whose
//! fields are inlined in the surrounding JSON object.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::scalar::Scalar;

/// Table of all messages in `messages.txt`.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("messages.txt")));

/// Messages, and the kinds that they encode.
pub(super) struct Table {
    messages: Vec<Message>,
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
    pub(super) count: Count,
    pub(super) form: Form,
}

/// Number of values that a field has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    /// One value; zero is the same as absent.
    One,
    /// One value or none.
    Pointer,
    List,
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
    /// The message of the objects of a kind; `None` for an unknown kind.
    pub(super) fn root(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let place = self.roots.get(&(api_version, kind));
        let place = place.or_else(|| self.roots.get(&("*", kind)));
        place.map(|&place| &self.messages[place])
    }

    /// The message at the index that a [`Form`] names.
    pub(super) fn message(&self, place: usize) -> &Message {
        &self.messages[place]
    }

    /// Parses the table in `text`, which is part of this program: an error in it ends the program at its
    /// first use.
    fn read(text: &'static str) -> Self {
        let heads = || text.lines().filter(|line| !line.starts_with(' '));
        let name = |head: &'static str| head.split(" = ").next().unwrap_or_default();
        let places: HashMap<_, _> = heads().map(name).zip(0..).collect();
        let mut roots = HashMap::new();
        for (place, head) in heads().enumerate() {
            let kinds = head.split(" = ").skip(1);
            roots.extend(kinds.filter_map(|kind| Some((kind.split_once(' ')?, place))));
        }
        let mut messages: Vec<Message> = Vec::new();
        for line in text.lines() {
            match line.strip_prefix(' ') {
                None => messages.push(Message::default()),
                Some(line) => {
                    let message = messages.last_mut().expect("a field stands below its message");
                    message.fields.push(Field::read(line, &places));
                }
            }
        }
        Self { messages, roots }
    }
}

impl Field {
    fn read(line: &'static str, places: &HashMap<&str, usize>) -> Self {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("a field has a number, a name and a form");
        let (number, name, form) = (word(), word(), word());
        let counts = [
            ("[]", Count::List),
            ("{}", Count::Map),
            ("*", Count::Pointer),
            ("<", Count::Inline),
        ];
        let prefixed = counts
            .into_iter()
            .find_map(|(sign, count)| Some((count, form.strip_prefix(sign)?)));
        let (count, form) = prefixed.unwrap_or((Count::One, form));
        let scalar = Scalar::named(form).map(Form::Scalar);
        let form = scalar.or_else(|| places.get(form).map(|&place| Form::Message(place)));
        Self {
            number: number.parse().expect("a field number is a number"),
            name,
            count,
            form: form.expect("a form is a scalar or a message of the table"),
        }
    }
}

impl Message {
    /// The field with a name in JSON; also a field of an inlined message.
    pub(super) fn named(&self, name: &str) -> Option<&Field> {
        self.fields
            .iter()
            .find_map(|field| match (field.count, field.form) {
                (Count::Inline, Form::Message(place)) => TABLE.message(place).named(name),
                _ => (field.name == name).then_some(field),
            })
    }

    /// The field with a number.
    pub(super) fn field(&self, number: u32) -> Option<&Field> {
        let place = self.fields.binary_search_by_key(&number, |field| field.number);
        place.ok().map(|place| &self.fields[place])
    }
}
