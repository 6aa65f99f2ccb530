//! Signatures of functions, in the notation of CEL's documentation: `string.(string, int) list(string)`.

use crate::types::Type;

/// Types of the arguments and the result of one overload of a function.
#[derive(Clone, Debug)]
pub(crate) struct Overload {
    /// Whether the first argument is the receiver.
    pub(crate) member: bool,
    /// Types of the arguments, with the receiver first.
    pub(crate) args: Vec<Type>,
    /// Type of the result.
    pub(crate) result: Type,
    /// Number of type variables: 1 for `A`, 2 for `A` and `B`.
    pub(crate) variables: usize,
}

/// Parses a signature; `None` when the signature is malformed.
pub(crate) fn read(text: &str) -> Option<Overload> {
    let mut reader = Reader { rest: text };
    let mut args = Vec::new();
    let member = !reader.take("(");
    if member {
        args.push(reader.parse_type()?);
        reader.take(".(").then_some(())?;
    }
    if !reader.take(")") {
        loop {
            args.push(reader.parse_type()?);
            if reader.take(")") {
                break;
            }
            reader.take(",").then_some(())?;
        }
    }
    let result = reader.parse_type()?;
    let variables = args
        .iter()
        .chain([&result])
        .map(variable_count)
        .max()
        .unwrap_or_default();
    reader.rest.trim().is_empty().then_some(Overload {
        member,
        args,
        result,
        variables,
    })
}

/// Returns the number of type variables up to the highest in `ty`: 2 for `B`, 0 without variables.
fn variable_count(ty: &Type) -> usize {
    match ty {
        Type::Param(variable) => variable + 1,
        other => other
            .parameters()
            .into_iter()
            .map(variable_count)
            .max()
            .unwrap_or_default(),
    }
}

struct Reader<'s> {
    rest: &'s str,
}

impl Reader<'_> {
    /// Consumes `sign`, and returns whether it was next.
    fn take(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start();
        let found = rest.strip_prefix(sign);
        self.rest = found.unwrap_or(rest);
        found.is_some()
    }

    fn word(&mut self) -> &str {
        let rest = self.rest.trim_start();
        let length = rest
            .find(|letter: char| !letter.is_ascii_alphanumeric())
            .unwrap_or(rest.len());
        self.rest = &rest[length..];
        &rest[..length]
    }

    /// Parses a type in brackets.
    fn component(&mut self) -> Option<Type> {
        self.take("(").then_some(())?;
        let ty = self.parse_type()?;
        self.take(")").then_some(ty)
    }

    fn parse_type(&mut self) -> Option<Type> {
        Some(match self.word() {
            "dyn" => Type::Dyn,
            "null" => Type::Null,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "duration" => Type::Duration,
            "timestamp" => Type::Timestamp,
            "list" => Type::list(self.component()?),
            "optional" => Type::optional(self.component()?),
            "type" => Type::type_of(self.component()?),
            "map" => {
                self.take("(").then_some(())?;
                let key = self.parse_type()?;
                self.take(",").then_some(())?;
                let value = self.parse_type()?;
                self.take(")").then_some(Type::map(key, value))?
            }
            "A" => Type::Param(0),
            "B" => Type::Param(1),
            "IP" => Type::Named("net.IP"),
            "CIDR" => Type::Named("net.CIDR"),
            "URL" => Type::Named("kubernetes.URL"),
            "Quantity" => Type::Named("kubernetes.Quantity"),
            "Semver" => Type::Named("kubernetes.Semver"),
            "Format" => Type::Named("kubernetes.NamedFormat"),
            "Authorizer" => Type::Named("kubernetes.authorization.Authorizer"),
            "PathCheck" => Type::Named("kubernetes.authorization.PathCheck"),
            "GroupCheck" => Type::Named("kubernetes.authorization.GroupCheck"),
            "ResourceCheck" => Type::Named("kubernetes.authorization.ResourceCheck"),
            "Decision" => Type::Named("kubernetes.authorization.Decision"),
            _ => return None,
        })
    }
}
