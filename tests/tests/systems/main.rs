//! The systems side by side on a standalone server: stories, controllers, kcp's syncer, history and
//! observing.

mod controllers;
mod five_systems;
mod history;
mod observed;
mod ocm_stories;
mod syncer;
