//! All systems on a standalone server: stories, controllers, kcp's syncer, history and observing.

mod controllers;
mod every_system;
mod history;
mod karmada;
mod observed;
mod ocm_stories;
mod syncer;
