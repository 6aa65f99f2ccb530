//! The rules of the house, each a test that reads the tree and builds nothing: `make rules`.

mod circles;
mod comments;
mod dependencies;
mod documentation;
mod floor_plan;
mod layers;
mod names;
mod one_path;
mod published;
mod release;
mod rooms;
