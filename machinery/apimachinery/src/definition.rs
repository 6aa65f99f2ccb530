//! [`Definition`]: everything about a kind that is data, in one statement.

use std::sync::OnceLock;

use crate::kind::{Column, Kind, KindInfo};
use crate::schema::Schema;
use crate::selectable::SelectableField;

/// Names and switches of a kind, its schema, the columns of its tables and the fields that its objects are
/// selected by. [`described_by`](crate::described_by) makes the methods of [`Kind`](crate::Kind) of it.
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
    /// Maker of the structural schema, which is the same in every version.
    pub schema: fn() -> Schema,
    /// The printer columns, NAME first.
    pub columns: &'static [Column],
    /// The selectable fields beside `metadata.name` and `metadata.namespace`.
    pub selectable: &'static [SelectableField],
}

impl Definition {
    /// A kind that shows name and age, and is selected by its name. Change the fields that differ:
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

    /// The kind of this definition, which has no rules beside those of its schema.
    #[must_use]
    pub const fn kind(&'static self) -> DefinedKind {
        DefinedKind {
            definition: self,
            schema: OnceLock::new(),
        }
    }
}

/// A kind that is a [`Definition`] and nothing else.
#[derive(Debug)]
pub struct DefinedKind {
    definition: &'static Definition,
    /// Built at the first call.
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

/// The methods of [`Kind`](crate::Kind) that a [`Definition`], a static, answers. The schema is built at the
/// first call.
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
