//! `berth console`: a page that answers "which cluster, and why?", served on loopback.
//!
//! Start reading at [`server::Console`]: a request that passes [`verifier`] is for an asset of the page, for
//! facts about the process, or for the API. If [`paths`] allows a request to the API, [`forward`] sends it
//! with the user's own kubeconfig. [`docs/console-security.md`](../../../docs/console-security.md) lists the
//! rules and their tests.
//!
//! ```
//! // All assets of the page are in the program.
//! let page = berth_console::assets::ASSETS.iter().find(|(path, ..)| *path == "/");
//! assert!(page.is_some_and(|(_, media_type, _)| media_type.starts_with("text/html")));
//! ```

pub mod args;
pub mod assets;
mod forward;
mod idle;
mod opener;
mod paths;
mod refusal;
pub mod server;
mod verifier;

pub use args::{ConsoleArgs, PageArgs};
pub use server::{Console, run};
