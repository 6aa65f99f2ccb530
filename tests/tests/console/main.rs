//! The console in a real browser: headless Chromium, driven over WebDriver (`make console`).

mod divided;
mod elsewhere;
mod harness;
mod many;
mod people;
mod reading;
mod views;
mod webdriver;
