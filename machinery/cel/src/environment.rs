//! Environments: the variables and functions that an expression may use.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::library::{Function, Library, OverloadFunction, STANDARD};
use crate::parser::Syntax;
use crate::signature::{self, Overload};
use crate::types::Type;

/// An overload with its implementation.
#[derive(Clone)]
pub(crate) struct OverloadEntry {
    pub(crate) overload: Overload,
    pub(crate) run: OverloadFunction,
}

/// Variables and functions that an expression may use.
#[derive(Clone)]
pub struct Environment {
    functions: HashMap<&'static str, Vec<OverloadEntry>>,
    variables: Vec<(Cow<'static, str>, Type)>,
    pub(crate) syntax: Syntax,
    /// Whether the rules of Kubernetes' own environment apply: homogeneous lists and maps, validation of
    /// literals at compile time, UTC.
    admission: bool,
}

impl Environment {
    /// Creates an environment with the standard functions and the functions of `libraries`.
    #[must_use]
    pub fn new(libraries: &[Library]) -> Self {
        let mut environment = Self {
            functions: HashMap::new(),
            variables: Vec::new(),
            syntax: Syntax::default(),
            admission: false,
        };
        for functions in STANDARD {
            environment.declare(functions);
        }
        for library in libraries {
            environment.declare(library.functions());
            match library {
                Library::Optional | Library::OptionalLists => environment.syntax.optional = true,
                Library::TwoVariables => environment.syntax.two_variables = true,
                Library::ListsExtended => environment.syntax.sort_by = true,
                _ => {}
            }
        }
        environment
    }

    /// Creates an environment with the functions of Open Cluster Management's placement selectors, except
    /// functions that read OCM's own objects.
    #[must_use]
    pub fn open_cluster_management() -> Self {
        Self::new(&[
            Library::Optional,
            Library::Strings,
            Library::StringsReverse,
            Library::Lists,
            Library::Regex,
            Library::Urls,
            Library::Quantity,
            Library::Ip,
            Library::Cidr,
            Library::Format,
            Library::Semver,
            Library::Json,
        ])
    }

    /// Creates an environment with the functions of Kubernetes 1.36 for admission.
    #[must_use]
    pub fn kubernetes() -> Self {
        let mut environment = Self::new(&[
            Library::Optional,
            Library::OptionalLists,
            Library::Strings,
            Library::Lists,
            Library::ListsExtended,
            Library::Regex,
            Library::Urls,
            Library::Quantity,
            Library::Ip,
            Library::Cidr,
            Library::Format,
            Library::Semver,
            Library::SemverNormalized,
            Library::Sets,
            Library::TwoVariables,
            Library::CrossTypeNumbers,
            Library::Authorizer,
        ]);
        environment.admission = true;
        environment
    }

    /// Adds a variable. Evaluations take the values in the order of the declarations.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<Cow<'static, str>>, ty: Type) -> Self {
        self.variables.push((name.into(), ty));
        self
    }

    /// Adds the literals of mutations, `Object{...}` with any fields and nested fields (`Object.spec{...}`)
    /// and `JSONPatch{...}`, and the function `jsonpatch.escapeKey`.
    #[must_use]
    pub fn with_mutations(mut self) -> Self {
        self.declare(Library::JsonPatch.functions());
        self.syntax.messages = true;
        self
    }

    /// Adds a function of the caller.
    #[must_use]
    pub fn with_function(mut self, function: Function) -> Self {
        self.declare(&[function]);
        self
    }

    fn declare(&mut self, functions: &[Function]) {
        for function in functions {
            let known = self.functions.entry(function.name).or_default();
            known.extend(function.overloads.iter().filter_map(|text| {
                let overload = signature::read(text);
                debug_assert!(overload.is_some(), "{text} is not a signature");
                let overload = overload?;
                Some(OverloadEntry {
                    overload,
                    run: function.run,
                })
            }));
        }
    }

    /// Returns the overloads of the function `name`.
    pub(crate) fn function(&self, name: &str) -> Option<&[OverloadEntry]> {
        self.functions.get(name).map(Vec::as_slice)
    }

    /// Returns the index and the type of the variable `name`.
    pub(crate) fn variable(&self, name: &str) -> Option<(usize, &Type)> {
        let index = self.variables.iter().position(|(known, _)| *known == name)?;
        Some((index, &self.variables[index].1))
    }

    /// Whether the rules of Kubernetes' own environment apply.
    pub(crate) fn has_admission_rules(&self) -> bool {
        self.admission
    }
}
