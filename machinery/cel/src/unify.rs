//! Unification: whether a type is assignable to another, and the resulting substitution of type variables in
//! both.

use crate::types::Type;

/// Substitution of the type variables of one expression.
#[derive(Default)]
pub(crate) struct Unifier {
    bindings: Vec<Option<Type>>,
    /// Replaced bindings, newest last.
    trail: Vec<(usize, Option<Type>)>,
    /// Number of visited types so far.
    steps: usize,
}

/// Highest number of visited types for one expression.
const MAX_STEPS: usize = 200_000;

impl Unifier {
    /// Returns a new type variable.
    pub(crate) fn fresh(&mut self) -> Type {
        self.bindings.push(None);
        Type::Param(self.bindings.len() - 1)
    }

    /// Whether the expression is too complex to be checked.
    pub(crate) fn exhausted(&self) -> bool {
        self.steps > MAX_STEPS
    }

    /// Whether each type of `given` is assignable to the type at its place in `wanted`. Variables are bound
    /// only if all types are assignable.
    pub(crate) fn assign_all(&mut self, given: &[Type], wanted: &[Type]) -> bool {
        if given.len() != wanted.len() {
            return false;
        }
        let mark = self.trail.len();
        let fits = given
            .iter()
            .zip(wanted)
            .all(|(given, wanted)| self.fits(given, wanted));
        if !fits {
            for (variable, before) in self.trail.drain(mark..).rev() {
                self.bindings[variable] = before;
            }
        }
        fits
    }

    /// Whether `given` is assignable to `wanted`.
    pub(crate) fn assign(&mut self, given: &Type, wanted: &Type) -> bool {
        self.assign_all(std::slice::from_ref(given), std::slice::from_ref(wanted))
    }

    /// Returns the common type of elements of the types `one` and `other`: the more general type, or `dyn`.
    pub(crate) fn join(&mut self, one: Type, other: &Type) -> Type {
        if self.assign(&one, other) {
            more_general(one, other)
        } else {
            Type::Dyn
        }
    }

    /// Returns `ty` with its bound variables substituted. Unbound variables become `dyn` if `open_is_dyn`.
    pub(crate) fn resolve(&mut self, ty: &Type, open_is_dyn: bool) -> Type {
        self.steps += 1;
        if self.exhausted() {
            return Type::Dyn;
        }
        match ty {
            Type::Param(variable) => match self.bindings[*variable].clone() {
                Some(known) => self.resolve(&known, open_is_dyn),
                None if open_is_dyn => Type::Dyn,
                None => ty.clone(),
            },
            other => other.rebuilt(|part| self.resolve(part, open_is_dyn)),
        }
    }

    fn bind(&mut self, variable: usize, binding: Type) {
        let before = self.bindings[variable].replace(binding);
        self.trail.push((variable, before));
    }

    /// Whether `given` is assignable to `wanted`. Variables stay bound even if it is not.
    fn fits(&mut self, given: &Type, wanted: &Type) -> bool {
        self.steps += 1;
        if self.exhausted() {
            return false;
        }
        if let Type::Param(variable) = wanted {
            match self.try_bind(given, *variable) {
                Some(true) => return true,
                Some(false) => return false,
                None => {}
            }
        }
        if let Type::Param(variable) = given {
            return self.try_bind(wanted, *variable) == Some(true);
        }
        if given.is_dyn() || wanted.is_dyn() {
            return true;
        }
        match (given, wanted) {
            (Type::Null, other) | (other, Type::Null) => other.nullable(),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(one), Type::List(other)) | (Type::Optional(one), Type::Optional(other)) => {
                self.fits(one, other)
            }
            (Type::Map(one), Type::Map(other)) => self.fits(&one.0, &other.0) && self.fits(&one.1, &other.1),
            (one, other) => one == other,
        }
    }

    /// Binds `variable` to `binding`, and returns whether its earlier binding allows this; `None` when the
    /// variable is unbound and occurs in `binding`.
    fn try_bind(&mut self, binding: &Type, variable: usize) -> Option<bool> {
        if *binding == Type::Param(variable) {
            return Some(true);
        }
        if let Some(known) = self.bindings[variable].clone() {
            if *binding == known {
                return Some(true);
            }
            if !self.fits(binding, &known) {
                return Some(false);
            }
            let general = more_general(binding.clone(), &known);
            if !self.mentions(&general, variable) {
                self.bind(variable, general);
            }
            return Some(true);
        }
        if self.mentions(binding, variable) {
            return None;
        }
        self.bind(variable, binding.clone());
        Some(true)
    }

    /// Whether `variable` occurs in `ty`.
    fn mentions(&mut self, ty: &Type, variable: usize) -> bool {
        self.steps += 1;
        if self.exhausted() {
            return true;
        }
        match ty {
            Type::Param(other) if *other == variable => true,
            Type::Param(other) => match self.bindings[*other].clone() {
                Some(known) => self.mentions(&known, variable),
                None => false,
            },
            other => other
                .parameters()
                .into_iter()
                .any(|part| self.mentions(part, variable)),
        }
    }
}

/// Returns the more general of two types that fit each other.
fn more_general(one: Type, other: &Type) -> Type {
    if is_more_general(&one, other) {
        one
    } else {
        other.clone()
    }
}

fn is_more_general(one: &Type, other: &Type) -> bool {
    if one.is_dyn() || matches!(one, Type::Param(_)) {
        return true;
    }
    if other.is_dyn() || matches!(other, Type::Param(_)) {
        return false;
    }
    match (one, other) {
        (_, Type::Null) => true,
        (Type::Null, _) => false,
        (Type::List(one), Type::List(other)) | (Type::Optional(one), Type::Optional(other)) => {
            is_more_general(one, other)
        }
        (Type::Map(one), Type::Map(other)) => {
            is_more_general(&one.0, &other.0) && is_more_general(&one.1, &other.1)
        }
        (one, other) => one == other,
    }
}
