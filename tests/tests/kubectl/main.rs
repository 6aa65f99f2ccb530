//! Work on a terminal: kubectl, the plugin `kubectl berth` and the commands of `berth`, each as a process.

mod advice;
mod apply;
mod basics;
mod check;
mod console_files;
mod export;
mod help;
mod krew;
mod load;
mod look;
mod plugin;
mod scheduling;
mod tour;
mod width;
