//! The API as requests see it.
