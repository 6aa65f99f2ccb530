//! Compilation of a source to a [`Program`].

use crate::check;
use crate::environment::Environment;
use crate::parser::parse;
use crate::program::Program;
use crate::text::CompileError;

/// Highest length of a source, in bytes.
pub const MAX_SOURCE_BYTES: usize = 16 << 10;

impl Environment {
    /// Compiles `source`.
    ///
    /// # Errors
    /// When `source` is longer than [`MAX_SOURCE_BYTES`], or has a syntax error or type errors. Of many type
    /// errors, the first are shown and the others counted.
    pub fn compile(&self, source: &str) -> Result<Program, CompileError> {
        if source.len() > MAX_SOURCE_BYTES {
            return Err(CompileError::without_position(format!(
                "ERROR: the expression is {} bytes long, at most {MAX_SOURCE_BYTES} are compiled",
                source.len()
            )));
        }
        let tree = parse(source, self.syntax).map_err(|issue| CompileError::new(source, vec![issue]))?;
        check::check(self, tree).map_err(|issues| CompileError::new(source, issues))
    }
}
