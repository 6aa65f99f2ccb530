//! Compiled expressions of policies, with kube-apiserver's error messages.

use berth_cel::{Environment, Program, Type};

/// An expression: its text, and the compiled program or the reason why the text does not compile.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) source: String,
    pub(crate) program: Result<Program, String>,
}

impl Expression {
    /// Compiles `source`. The value must have one of `types`; an empty list allows every type.
    pub(crate) fn new(environment: &Environment, source: &str, types: &[Type]) -> Self {
        let program = match environment.compile(source) {
            Ok(program) if types.is_empty() || types.contains(program.result()) => Ok(program),
            Ok(program) => Err(type_error(types, program.result())),
            Err(error) => Err(format!("compilation failed: {error}")),
        };
        Self {
            source: source.to_owned(),
            program,
        }
    }
}

fn type_error(types: &[Type], actual: &Type) -> String {
    match types {
        [one] => format!("must evaluate to {one} but got {actual}"),
        several => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            format!("must evaluate to one of [{}] but got {actual}", names.join(" "))
        }
    }
}
