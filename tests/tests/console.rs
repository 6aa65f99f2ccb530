//! The console in a real browser: headless Chromium, driven over WebDriver (`make console`).

#[path = "console/elsewhere.rs"]
mod elsewhere;
#[path = "console/harness.rs"]
mod harness;
#[path = "console/many.rs"]
mod many;
#[path = "console/people.rs"]
mod people;
#[path = "console/views.rs"]
mod views;
#[path = "console/webdriver.rs"]
mod webdriver;
