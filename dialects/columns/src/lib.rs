//! Storage for a dialect's clusters: columns of small integers and bits instead of maps of texts, so that a
//! filter is a pass over a few kilobytes.
//!
//! All types here can be cloned cheaply or shared: an inventory is copied on write, and older snapshots stay
//! valid.
//!
//! ```
//! use berth_dialect_columns::Bits;
//!
//! let mut cordoned = Bits::none(3);
//! cordoned.set(1, true);
//! let mut open = Bits::all(3);
//! open.subtract(&cordoned);
//! assert_eq!(open.iter().collect::<Vec<_>>(), [0, 2]);
//! ```

pub mod bits;
pub mod chunks;
pub mod intern;
pub mod label_test;
pub mod labels;
pub mod renumber;
pub mod unusable;

pub use bits::Bits;
pub use chunks::Chunks;
pub use intern::Interner;
pub use label_test::LabelTest;
pub use labels::{Domains, Labels, NO_DOMAIN};
pub use renumber::{NumberedEntry, Renumbering};
pub use unusable::UnusableObjects;
