//! Builder of a JSON value from the events of the parser: nesting, keys, anchors and merges.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use berth_apimachinery::FieldPath;
use berth_apimachinery::json::{Document, MAX_DUPLICATES};
use berth_apimachinery::nesting::DEPTH_LIMIT;
use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};
use serde_json::{Map, Value};

use crate::Problem;
use crate::scalar::Scalar;
use crate::tabs::TabCheck;

/// Limit of the values and bytes that aliases add to a document. Without aliases, the length of the text
/// limits the size.
const MAX_ALIASED: Size = Size {
    values: 100_000,
    bytes: 4 << 20,
};

/// Parses a text with one document; `before` is the number of preceding lines.
pub(crate) fn document(text: &str, before: usize) -> Result<Document, Problem> {
    read(text).map_err(|problem| Problem {
        line: problem.line + before,
        ..problem
    })
}

fn read(text: &str) -> Result<Document, Problem> {
    let mut builder = Builder::new(text);
    let mut tabs = TabCheck::new(text);
    for event in Parser::new_from_str_with_options(text, options()) {
        let (event, span) = event.map_err(|error| scan_problem(&error))?;
        tabs.record(&event, &span);
        builder.process(event, span)?;
    }
    tabs.check()?;
    Ok(builder.document)
}

fn options() -> granit_parser::Options {
    let mut options = granit_parser::options! {
        // As in the parser of Kubernetes, which is derived from libyaml.
        bom_inside_document_as_content: true,
        flow_nesting_limit: 2 * DEPTH_LIMIT,
        block_nesting_limit: 2 * DEPTH_LIMIT,
    };
    // Comments are not used, and there may be any number of them.
    options.set_emit_comments(false);
    options
}

fn scan_problem(error: &ScanError) -> Problem {
    problem(error.marker(), error.info())
}

fn problem(at: &Marker, text: impl Into<String>) -> Problem {
    Problem {
        line: at.line(),
        column: at.col() + 1,
        text: text.into(),
    }
}

/// Size of a document or of a part of a document: values, and bytes of their text.
#[derive(Clone, Copy, Default)]
struct Size {
    values: usize,
    bytes: usize,
}

impl Size {
    fn add(&mut self, other: Self) {
        self.values += other.values;
        self.bytes += other.bytes;
    }

    /// Returns the size without `before`, the size of an earlier part.
    fn since(self, before: Self) -> Self {
        Self {
            values: self.values - before.values,
            bytes: self.bytes - before.bytes,
        }
    }

    /// Whether the values or the bytes are above `most`.
    fn exceeds(self, most: Self) -> bool {
        self.values > most.values || self.bytes > most.bytes
    }
}

/// A complete value. A scalar is not converted yet, since its form as a key differs.
#[derive(Clone)]
enum Node {
    Scalar(Scalar),
    Value(Value),
}

/// Value of an anchor, which replaces its aliases.
struct Anchor {
    node: Node,
    depth: usize,
    size: Size,
}

/// A list or map that is not complete yet.
struct Frame {
    content: Content,
    anchor: usize,
    /// Depth of the content.
    depth: usize,
    /// Size of the document before this list or map.
    before: Size,
}

enum Content {
    List(Vec<Value>),
    Map {
        fields: Map<String, Value>,
        /// Fields from a merge, which other fields may replace.
        merged: BTreeSet<String>,
        slot: Slot,
    },
}

/// Next part of a map: a key, the value of a field, or the value of a merge (`<<`).
enum Slot {
    Key,
    Field(String),
    Merge,
}

struct Builder {
    document: Document,
    /// Whether a document has begun.
    has_document: bool,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Anchor>,
    total: Size,
    aliased: Size,
    /// Size of the stored copies of all values with an anchor.
    anchor_size: Size,
    /// Limit of `anchor_size`.
    max_anchor_size: Size,
    duplicate_count: usize,
}

impl Builder {
    fn new(text: &str) -> Self {
        Self {
            document: Document::default(),
            has_document: false,
            frames: Vec::new(),
            anchors: HashMap::new(),
            total: Size::default(),
            aliased: Size::default(),
            anchor_size: Size::default(),
            max_anchor_size: Size {
                values: MAX_ALIASED.values + text.len(),
                bytes: MAX_ALIASED.bytes + text.len(),
            },
            duplicate_count: 0,
        }
    }

    fn process(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let at = span.start;
        match event {
            Event::DocumentStart(..) if self.has_document => Err(problem(
                &at,
                "another document begins here, but one is expected: lines of --- separate documents",
            )),
            Event::DocumentStart(..) => {
                self.has_document = true;
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => self.scalar(&text, style, anchor, tag, &at),
            Event::SequenceStart(_, anchor, _) => self.begin(Content::List(Vec::new()), anchor, &at),
            Event::MappingStart(_, anchor, _) => {
                let content = Content::Map {
                    fields: Map::new(),
                    merged: BTreeSet::new(),
                    slot: Slot::Key,
                };
                self.begin(content, anchor, &at)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(&at),
            Event::Alias(anchor) => self.alias(anchor, &at),
            _ => Ok(()),
        }
    }

    /// Adds a scalar to the value around it.
    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<Cow<'_, Tag>>,
        at: &Marker,
    ) -> Result<(), Problem> {
        let size = Size {
            values: 1,
            bytes: text.len(),
        };
        self.total.add(size);
        let plain = style == ScalarStyle::Plain;
        let tag = tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix()));
        let is_merge = text == "<<"
            && match tag.as_deref() {
                None => plain,
                Some(tag) => tag == "tag:yaml.org,2002:merge",
            };
        if let Some(Content::Map { slot, .. }) = self.frames.last_mut().map(|frame| &mut frame.content)
            && matches!(slot, Slot::Key)
            && is_merge
        {
            *slot = Slot::Merge;
            return Ok(());
        }
        let scalar = Scalar::read(text, plain, tag.as_deref()).map_err(|text| problem(at, text))?;
        let node = Node::Scalar(scalar);
        self.anchor(anchor, &node, 0, size, at)?;
        self.put(node, 0, false, at)
    }

    /// Begins a list or a map.
    fn begin(&mut self, content: Content, anchor: usize, at: &Marker) -> Result<(), Problem> {
        if self.expects_key() {
            return Err(problem(at, "a list or a map cannot be a key"));
        }
        if self.frames.len() >= DEPTH_LIMIT {
            return Err(too_deep(at));
        }
        let before = self.total;
        self.total.values += 1;
        self.frames.push(Frame {
            content,
            anchor,
            depth: 0,
            before,
        });
        Ok(())
    }

    /// Ends the innermost list or map.
    fn end(&mut self, at: &Marker) -> Result<(), Problem> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        let value = match frame.content {
            Content::List(items) => Value::Array(items),
            Content::Map { fields, .. } => Value::Object(fields),
        };
        let node = Node::Value(value);
        let depth = frame.depth + 1;
        self.anchor(frame.anchor, &node, depth, self.total.since(frame.before), at)?;
        self.put(node, depth, false, at)
    }

    /// Stores `node` for aliases, if it has an anchor.
    fn anchor(
        &mut self,
        anchor: usize,
        node: &Node,
        depth: usize,
        size: Size,
        at: &Marker,
    ) -> Result<(), Problem> {
        if anchor == 0 {
            return Ok(());
        }
        self.anchor_size.add(size);
        if self.anchor_size.exceeds(self.max_anchor_size) {
            return Err(problem(at, "the values of nested anchors are too large together"));
        }
        let node = node.clone();
        self.anchors.insert(anchor, Anchor { node, depth, size });
        Ok(())
    }

    /// Adds the value of the anchor to which an alias refers.
    fn alias(&mut self, anchor: usize, at: &Marker) -> Result<(), Problem> {
        let Some(target) = self.anchors.get(&anchor) else {
            return Err(problem(at, "the value of an anchor contains itself"));
        };
        if self.frames.len() + target.depth > DEPTH_LIMIT {
            return Err(too_deep(at));
        }
        self.aliased.add(target.size);
        self.total.add(target.size);
        if self.aliased.exceeds(MAX_ALIASED) {
            return Err(problem(at, "document contains excessive aliasing"));
        }
        let (node, depth) = (target.node.clone(), target.depth);
        self.put(node, depth, true, at)
    }

    /// Whether the next node is a key.
    fn expects_key(&self) -> bool {
        let content = self.frames.last().map(|frame| &frame.content);
        matches!(content, Some(Content::Map { slot: Slot::Key, .. }))
    }

    /// Adds a complete value to the list, map or document around it.
    fn put(&mut self, node: Node, depth: usize, alias: bool, at: &Marker) -> Result<(), Problem> {
        let at_marker = |text: String| problem(at, text);
        if self.expects_key() {
            let key = match node {
                Node::Scalar(scalar) => scalar.into_key().map_err(at_marker)?,
                Node::Value(_) => return Err(problem(at, "a list or a map cannot be a key")),
            };
            return self.key(key);
        }
        let value = match node {
            Node::Scalar(scalar) => scalar.into_value().map_err(at_marker)?,
            Node::Value(value) => value,
        };
        let Some(frame) = self.frames.last_mut() else {
            self.document.value = value;
            return Ok(());
        };
        frame.depth = frame.depth.max(depth);
        match &mut frame.content {
            Content::List(items) => items.push(value),
            Content::Map { fields, merged, slot } => match std::mem::replace(slot, Slot::Key) {
                Slot::Field(name) => {
                    fields.insert(name, value);
                }
                Slot::Merge => merge(fields, merged, value, alias).map_err(at_marker)?,
                Slot::Key => {}
            },
        }
        Ok(())
    }

    /// Begins the field `key` of the innermost map, and records a duplicate field.
    fn key(&mut self, key: String) -> Result<(), Problem> {
        let Some(Frame {
            content: Content::Map { fields, merged, slot },
            ..
        }) = self.frames.last_mut()
        else {
            return Ok(());
        };
        let is_duplicate = !merged.remove(&key) && fields.contains_key(&key);
        *slot = Slot::Field(key);
        if is_duplicate {
            self.duplicate_count += 1;
            if self.duplicate_count <= MAX_DUPLICATES {
                let path = self.path();
                if !self.document.duplicates.contains(&path) {
                    self.document.duplicates.push(path);
                }
            }
        }
        Ok(())
    }

    /// Returns the path of the current node, as in `spec.taints[0].key`.
    fn path(&self) -> String {
        let mut path = FieldPath::default();
        for frame in &self.frames {
            match &frame.content {
                Content::List(items) => path.index(items.len()),
                Content::Map { slot, .. } => path.field(match slot {
                    Slot::Field(name) => name,
                    Slot::Merge => "<<",
                    Slot::Key => "",
                }),
            }
        }
        path.into_text()
    }
}

fn too_deep(at: &Marker) -> Problem {
    problem(
        at,
        format!("the object is nested deeper than {DEPTH_LIMIT} levels"),
    )
}

/// Merges the value of `<<` into the fields. The value is a map, or a list of maps, of which the first takes
/// precedence; an alias of a list is an error.
fn merge(
    fields: &mut Map<String, Value>,
    merged: &mut BTreeSet<String>,
    value: Value,
    alias: bool,
) -> Result<(), String> {
    let maps = match value {
        Value::Object(map) => vec![map],
        Value::Array(items) if !alias => {
            let maps = items.into_iter().rev().map(|item| match item {
                Value::Object(map) => Ok(map),
                _ => Err(()),
            });
            maps.collect::<Result<_, _>>().map_err(|()| NO_MAP.to_owned())?
        }
        _ => return Err(NO_MAP.to_owned()),
    };
    for (name, value) in maps.into_iter().flatten() {
        merged.insert(name.clone());
        fields.insert(name, value);
    }
    Ok(())
}

const NO_MAP: &str = "map merge requires map or sequence of maps as the value";
