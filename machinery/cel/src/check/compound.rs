//! Type checking of lists, maps, messages and macros.

use std::sync::Arc;

use super::{Checker, TypedNode};
use crate::ast::{Comprehension, Expr, Fold, Item};
use crate::program::{FoldMacro, Node};
use crate::types::Type;

impl Checker<'_> {
    /// Checks an item. Returns its node, its contribution to the type of its list or map, and whether it is
    /// optional.
    fn item(&mut self, item: Item) -> (Node, Type, bool) {
        let at = item.value.at;
        let (node, ty) = self.expression(item.value);
        if !item.optional {
            return (node, ty, false);
        }
        let inside = self.types.fresh();
        self.expect(at, &ty, &Type::optional(inside.clone()));
        let inside = self.types.resolve(&inside, false);
        (node, inside, true)
    }

    /// Returns the common type of the elements of a list, or of the keys or values of a map. `known` is the
    /// type of the earlier elements (`None` for the first element), `next` the type of the next element. By
    /// the rules of Kubernetes' own environment, different types are an issue, except in the arguments of
    /// `format`.
    fn join_types(&mut self, at: usize, known: Option<Type>, next: Type) -> Type {
        let Some(known) = known else {
            return next;
        };
        if self.environment.has_admission_rules() && self.mixed == 0 {
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
        let mut ty = None;
        let mut nodes = Vec::with_capacity(items.len());
        for item in items {
            let at = item.value.at;
            let (node, next, optional) = self.item(item);
            ty = Some(self.join_types(at, ty, next));
            nodes.push((node, optional));
        }
        let ty = ty.unwrap_or_else(|| self.types.fresh());
        (Node::List(nodes.into()), Type::list(ty))
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
            let (node, ty, optional) = self.item(item);
            match (patch, field.as_str()) {
                (true, "op" | "path" | "from") => drop(self.expect(at, &ty, &Type::String)),
                (true, "value") | (false, _) => {}
                (true, _) => drop(self.issue(at, format!("undefined field '{field}'"))),
            }
            nodes.push((field.into_boxed_str(), node, optional));
        }
        let name: Arc<str> = name.into();
        let fields = nodes.into();
        let ty = Type::Message(Arc::clone(&name));
        (Node::Message { name, fields }, ty)
    }

    pub(super) fn fold(&mut self, at: usize, fold: Fold) -> TypedNode {
        let range_at = fold.range.at;
        let (range, ty) = self.expression(fold.range);
        let (key, value) = self.element_types(range_at, &ty);
        let pairs = fold.variables.len() == 2;
        let known = self.locals.len();
        // The variable of a fold with one variable is the key if the range is a map.
        let single = if matches!(self.types.resolve(&ty, false), Type::Map(_)) {
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
                self.expect_sortable(at, &ty, &body_type);
                ty
            }
        };
        let fold_macro = FoldMacro {
            comprehension: fold.comprehension,
            range,
            pairs,
            condition,
            body,
        };
        (Node::Fold(Box::new(fold_macro)), result)
    }

    /// Returns the types of the variables of a fold over a range of type `ty`: key (or index) and value.
    fn element_types(&mut self, at: usize, ty: &Type) -> (Type, Type) {
        match self.types.resolve(ty, false) {
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

    /// Checks that `ty` is a list, and that elements can be sorted by keys of the type `key`.
    fn expect_sortable(&mut self, at: usize, ty: &Type, key: &Type) {
        let list = Type::list(self.types.fresh());
        self.expect(at, ty, &list);
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
        let (target, ty) = self.expression(target);
        let inside = self.types.fresh();
        self.expect(at, &ty, &Type::optional(inside.clone()));
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
