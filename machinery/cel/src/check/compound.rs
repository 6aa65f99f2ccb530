//! Type checking of lists, maps and macros.

use std::sync::Arc;

use super::{Checker, TypedNode};
use crate::ast::{Comprehension, Expr, Fold, Item};
use crate::program::{FoldMacro, Node};
use crate::types::Type;

impl Checker<'_> {
    /// Checks an element, and returns its contribution to the type of its list or map.
    fn item(&mut self, item: Item) -> (Node, Type, bool) {
        let at = item.value.at;
        let (node, of) = self.expression(item.value);
        if !item.optional {
            return (node, of, false);
        }
        let inside = self.types.fresh();
        self.expect(at, &of, &Type::optional(inside.clone()));
        let inside = self.types.resolve(&inside, false);
        (node, inside, true)
    }

    /// Joins the type of earlier elements, `known`, with the type of the next element.
    fn join_types(&mut self, at: usize, known: Option<Type>, next: Type) -> Type {
        let Some(known) = known else {
            return next;
        };
        if self.environment.admission() && self.mixed == 0 {
            let (known, next) = (
                self.types.resolve(&known, false),
                self.types.resolve(&next, false),
            );
            if known.is_dyn() != next.is_dyn() || !self.types.assign(&known, &next) {
                let known = self.types.resolve(&known, true);
                let next = self.types.resolve(&next, true);
                self.issue(at, format!("expected type '{known}' but found '{next}'"));
                return Type::Dyn;
            }
            return known;
        }
        self.types.join(known, &next)
    }

    pub(super) fn list(&mut self, items: Vec<Item>) -> TypedNode {
        let mut of = None;
        let mut nodes = Vec::with_capacity(items.len());
        for item in items {
            let at = item.value.at;
            let (node, next, optional) = self.item(item);
            of = Some(self.join_types(at, of, next));
            nodes.push((node, optional));
        }
        let of = of.unwrap_or_else(|| self.types.fresh());
        (Node::List(nodes.into()), Type::list(of))
    }

    pub(super) fn map(&mut self, entries: Vec<(Expr, Item)>) -> TypedNode {
        let (mut keys, mut values) = (None, None);
        let mut nodes = Vec::with_capacity(entries.len());
        for (key, item) in entries {
            let (at, value_at) = (key.at, item.value.at);
            let (key, key_type) = self.expression(key);
            keys = Some(self.join_types(at, keys, key_type));
            let (value, value_type, optional) = self.item(item);
            values = Some(self.join_types(value_at, values, value_type));
            nodes.push((key, value, optional));
        }
        let keys = keys.unwrap_or_else(|| self.types.fresh());
        let values = values.unwrap_or_else(|| self.types.fresh());
        (Node::Map(nodes.into()), Type::map(keys, values))
    }

    pub(super) fn message(&mut self, name: &str, fields: Vec<(String, Item)>) -> TypedNode {
        let patch = name == "JSONPatch";
        let mut nodes = Vec::with_capacity(fields.len());
        for (field, item) in fields {
            let at = item.value.at;
            let (node, of, optional) = self.item(item);
            match (patch, field.as_str()) {
                (true, "op" | "path" | "from") => drop(self.expect(at, &of, &Type::String)),
                (true, "value") | (false, _) => {}
                (true, _) => drop(self.issue(at, format!("undefined field '{field}'"))),
            }
            nodes.push((field.into_boxed_str(), node, optional));
        }
        let name: Arc<str> = name.into();
        let fields = nodes.into();
        let of = Type::Message(Arc::clone(&name));
        (Node::Message { name, fields }, of)
    }

    pub(super) fn fold(&mut self, at: usize, fold: Fold) -> TypedNode {
        let range_at = fold.range.at;
        let (range, of) = self.expression(fold.range);
        let (key, value) = self.elements(range_at, &of);
        let pairs = fold.variables.len() == 2;
        let known = self.locals.len();
        // In a fold over a map, the only variable is the key.
        let single = if matches!(self.types.resolve(&of, false), Type::Map(_)) {
            key.clone()
        } else {
            value.clone()
        };
        let types = if pairs {
            vec![key.clone(), value]
        } else {
            vec![single.clone()]
        };
        self.locals.extend(fold.variables.into_iter().zip(types));
        let condition = fold.condition.map(|condition| self.condition(condition));
        let body_at = fold.body.at;
        let (body, body_type) = self.expression(fold.body);
        self.locals.truncate(known);
        let result = match fold.comprehension {
            Comprehension::All | Comprehension::Exists | Comprehension::ExistsOne => {
                self.expect(body_at, &body_type, &Type::Bool);
                Type::Bool
            }
            Comprehension::Filter => {
                self.expect(body_at, &body_type, &Type::Bool);
                Type::list(single)
            }
            Comprehension::Map => Type::list(body_type),
            Comprehension::MapValues => Type::map(key, body_type),
            Comprehension::MapEntries => {
                let entries = Type::map(self.types.fresh(), self.types.fresh());
                self.expect(body_at, &body_type, &entries);
                self.types.resolve(&entries, false)
            }
            Comprehension::SortBy => {
                self.sortable(at, &of, &body_type);
                of
            }
        };
        let folding = FoldMacro {
            comprehension: fold.comprehension,
            range,
            pairs,
            condition,
            body,
        };
        (Node::Fold(Box::new(folding)), result)
    }

    /// Returns the types of the variables of a fold over `of`: key (or index) and value.
    fn elements(&mut self, at: usize, of: &Type) -> (Type, Type) {
        match self.types.resolve(of, false) {
            Type::List(element) => (Type::Int, (*element).clone()),
            Type::Map(pair) => (pair.0.clone(), pair.1.clone()),
            Type::Dyn | Type::Error => (Type::Dyn, Type::Dyn),
            variable @ Type::Param(_) => {
                self.types.assign(&variable, &Type::Dyn);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                self.issue(
                    at,
                    format!(
                        "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                    ),
                );
                (Type::Error, Type::Error)
            }
        }
    }

    fn sortable(&mut self, at: usize, of: &Type, key: &Type) {
        let list = Type::list(self.types.fresh());
        self.expect(at, of, &list);
        let key = self.types.resolve(key, true);
        let sorts = matches!(
            key,
            Type::Dyn
                | Type::Error
                | Type::Int
                | Type::Uint
                | Type::Double
                | Type::Bool
                | Type::String
                | Type::Bytes
                | Type::Duration
                | Type::Timestamp
        );
        if !sorts {
            self.issue(
                at,
                format!(
                    "found no matching overload for '@sortByAssociatedKeys' applied to keys of type '{key}'"
                ),
            );
        }
    }

    pub(super) fn opt_map(
        &mut self,
        at: usize,
        flat: bool,
        variable: String,
        target: Expr,
        body: Expr,
    ) -> TypedNode {
        let (target, of) = self.expression(target);
        let inside = self.types.fresh();
        self.expect(at, &of, &Type::optional(inside.clone()));
        let inside = self.types.resolve(&inside, false);
        self.locals.push((variable, inside));
        let body_at = body.at;
        let (body, body_type) = self.expression(body);
        self.locals.pop();
        let result = if flat {
            let optional = Type::optional(self.types.fresh());
            self.expect(body_at, &body_type, &optional);
            self.types.resolve(&optional, false)
        } else {
            Type::optional(body_type)
        };
        let node = Node::OptMap {
            flat,
            target: Box::new(target),
            body: Box::new(body),
        };
        (node, result)
    }
}
