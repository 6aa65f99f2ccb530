//! The static definition of a kind, [`Definition`]: all its data in one expression.

use std::sync::OnceLock;

use crate::column::Column;
use crate::kind::{Kind, KindInfo};
use crate::schema::Schema;
use crate::selectable::SelectableField;

/// Names and switches of a kind, its schema, the columns of its tables and its selectable fields.
/// [`described_by`](crate::described_by) implements methods of [`Kind`](crate::Kind) with it.
///
/// ```
/// use berth_apimachinery::{Column, Definition, Kind, KindInfo, Schema, described_by};
///
/// #[derive(schemars::JsonSchema)]
/// struct Toy {}
///
/// static TOY: Definition = Definition {
///     columns: &[Column::NAME, Column::text("Colour", "The colour of the toy").at(".spec.colour")],
///     ..Definition::new(KindInfo::new("toys.dev", &["v1"], "Toy", "toys"), Schema::of::<Toy>)
/// };
///
/// struct ToyKind;
///
/// impl Kind for ToyKind {
///     described_by!(TOY);
/// }
///
/// assert_eq!(ToyKind.columns()[1].name, "Colour");
/// assert_eq!(ToyKind.info().plural, "toys");
/// ```
#[derive(Clone, Debug)]
pub struct Definition {
    /// Names and switches.
    pub info: KindInfo,
    /// Function that builds the structural schema, which is the same in every version.
    pub schema: fn() -> Schema,
    /// Printer columns, with NAME first.
    pub columns: &'static [Column],
    /// Selectable fields in addition to `metadata.name` and `metadata.namespace`.
    pub selectable: &'static [SelectableField],
}

impl Definition {
    /// A definition with the columns name and age, and no further selectable fields. Set other fields as in
    /// `Definition { columns: &[…], ..Definition::new(…) }`.
    #[must_use]
    pub const fn new(info: KindInfo, schema: fn() -> Schema) -> Self {
        const NAME_AND_AGE: &[Column] = &[Column::NAME, Column::AGE];
        Self {
            info,
            schema,
            columns: NAME_AND_AGE,
            selectable: &[],
        }
    }

    /// The kind of this definition, which has no rules except its schema.
    #[must_use]
    pub const fn kind(&'static self) -> DefinedKind {
        DefinedKind {
            definition: self,
            schema: OnceLock::new(),
        }
    }
}

/// A kind that consists only of a [`Definition`].
#[derive(Debug)]
pub struct DefinedKind {
    definition: &'static Definition,
    /// Schema, built at the first call.
    schema: OnceLock<Schema>,
}

impl Kind for DefinedKind {
    fn info(&self) -> &KindInfo {
        &self.definition.info
    }

    fn schema(&self, _version: &str) -> &Schema {
        self.schema.get_or_init(self.definition.schema)
    }

    fn columns(&self) -> &[Column] {
        self.definition.columns
    }

    fn selectable(&self) -> &'static [SelectableField] {
        self.definition.selectable
    }
}

/// Implements the methods of [`Kind`](crate::Kind) that a static [`Definition`] determines. The schema is
/// built at the first call.
#[macro_export]
macro_rules! described_by {
    ($definition:expr) => {
        fn info(&self) -> &$crate::KindInfo {
            &$definition.info
        }

        fn schema(&self, _version: &str) -> &$crate::Schema {
            static SCHEMA: ::std::sync::LazyLock<$crate::Schema> =
                ::std::sync::LazyLock::new(|| ($definition.schema)());
            &SCHEMA
        }

        fn columns(&self) -> &[$crate::Column] {
            $definition.columns
        }

        fn selectable(&self) -> &'static [$crate::SelectableField] {
            $definition.selectable
        }
    };
}
