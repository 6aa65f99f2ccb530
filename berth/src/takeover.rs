//! `berth takeover` and `berth handback`: they change the scheduler of a system in such an order that a
//! request has one scheduler at a time, and is without a scheduler for the shortest possible time
//! (docs/take-over.md). Exceptions are `--beside`, and a scheduler without a Lease that still runs: Berth does
//! not see it. Without `--yes`, they only print the steps.

mod args;
mod configuration;
mod hub;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use berth_commands::terminal::{indented, width};
use berth_commands::{compare, say, say_error};
use berth_dialect_contract::OwnScheduler;
use tokio::time::Instant;

pub use args::{HandbackArgs, TakeoverArgs};

use crate::check::SchedulerKnowledge;
use berth_configuration::Mode;
use configuration::{Change, StoredConfiguration};
use hub::Hub;

/// Interval between two checks of the awaited state.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs `berth takeover`.
///
/// # Errors
/// When no server answers, the system is unknown, Berth does not run for it, or rights are missing.
pub async fn take_over(args: &TakeoverArgs) -> Result<ExitCode> {
    let hub = Hub::of(&args.system, &args.server).await?;
    let change = Change {
        mode: Mode::Decide,
        requests: Some(args.requests()?),
        beside: args.beside,
    };
    let selector = args.selector()?;
    let different = compare::print_system(&hub.client, hub.name(), &selector, &args.config).await?;
    if different > 0 {
        say!();
        say!(
            "{}",
            fitted(&format!(
                "{different} would move; berth compare --only-different -o json lists them all."
            ))
        );
    }
    let (state, stored) = (hub.scheduler_state().await?, hub.configuration().await?);
    print_plan(&hub, &state, &stored, &change, args.beside);
    if !confirm("takeover", &hub, &change, &stored, args.yes).await? {
        return Ok(ExitCode::SUCCESS);
    }
    if let (SchedulerKnowledge::Runs(..), Some(consequence), false) = (
        &state,
        hub.scheduler().and_then(|own| own.is_part_of),
        args.beside,
    ) {
        bail!(
            "{}: {consequence}; --beside decides beside it; nothing was changed",
            hub.name()
        );
    }
    Ok(match apply(&hub, &change, args.timeout).await? {
        Ok(message) => {
            say!("{}", fitted(&message));
            ExitCode::SUCCESS
        }
        Err(message) => {
            say_error!(
                "error: Berth does not decide {} after {:?}: {message}\nBerth starts on its own once that ends; berth handback {} --yes \
                 cancels the takeover",
                hub.name(),
                args.timeout,
                hub.name()
            );
            ExitCode::FAILURE
        }
    })
}

/// Prints the obstacles to `change`. Returns whether to apply the change, which only `yes` permits.
///
/// # Errors
/// When the change is to be applied, and there are obstacles.
async fn confirm(
    command: &str,
    hub: &Hub,
    change: &Change,
    stored: &StoredConfiguration,
    yes: bool,
) -> Result<bool> {
    let (name, problems) = (hub.name(), hub.obstacles(change, stored).await?);
    for problem in &problems {
        print_item(problem);
    }
    if !yes {
        say!("\nNothing was changed. Run the same command with --yes to do it");
        return Ok(false);
    }
    if !problems.is_empty() {
        bail!("berth {command} {name}: nothing was changed; see the problems above");
    }
    Ok(true)
}

/// Applies `change`, and waits until it has taken effect. Returns the message of Berth's condition, or after
/// `timeout` the reason why the change has not taken effect yet.
async fn apply(hub: &Hub, change: &Change, timeout: Duration) -> Result<std::result::Result<String, String>> {
    let generation = hub.change(change).await?.generation;
    let (name, mode) = (hub.name(), change.mode);
    say!("\nschedulerconfiguration {name} says mode: {}", mode.as_str());
    let waiting = wait(timeout, async || {
        Ok(match hub.configuration().await?.deciding(generation) {
            Some((decides, message)) if decides == (mode == Mode::Decide) => Step::Done(message),
            Some((_, message)) => Step::Pending(message),
            None => Step::Pending("Berth has not processed it yet".to_owned()),
        })
    });
    Ok(waiting.await)
}

/// Prints the steps of `--yes`, and the steps of the user.
fn print_plan(
    hub: &Hub,
    state: &SchedulerKnowledge,
    stored: &StoredConfiguration,
    change: &Change,
    beside: bool,
) {
    say!("\nWhat --yes does, and what you do:");
    print_item(&change.describe(hub.name(), stored));
    let Some(own) = hub.scheduler() else {
        print_item(&format!(
            "{} has no scheduler of its own: Berth decides at once",
            hub.name()
        ));
        return;
    };
    let name = own.name;
    match state {
        SchedulerKnowledge::Stopped => print_item(&format!(
            "{name} does not renew its Lease: Berth decides at once. It must not be started again"
        )),
        SchedulerKnowledge::Runs(..) if beside => {
            print_item(&format!("{name} runs, and Berth decides beside it at once"))
        }
        SchedulerKnowledge::Runs(lease, holder) => print_item(&format!(
            "{name} runs: {holder} renews its Lease {}/{}. Berth observes until that ends, at most the duration of the Lease \
             after it is stopped",
            lease.namespace, lease.name
        )),
        SchedulerKnowledge::Invisible => print_item(&format!(
            "{name} holds no Lease, so that Berth cannot see whether it runs: stop it first, since Berth decides at once"
        )),
        SchedulerKnowledge::Unread(message) => {
            print_item(&format!("it is unknown whether {name} runs: {message}"))
        }
    }
    if !matches!(state, SchedulerKnowledge::Stopped) && !beside {
        print_steps("stop it", own.stop);
    }
    if let Some(consequence) = own.is_part_of {
        print_item(&format!("mind that {consequence}"));
    }
    if change.selects() {
        match own.leaves_out {
            Some(method) => print_item(&format!(
                "{name} keeps deciding the other requests, if it skips these: {method}"
            )),
            None => print_item(&format!(
                "{name} cannot skip single requests: once it is stopped, no scheduler decides the others; with --beside it \
                          keeps running, and its writes of Berth's decisions are refused"
            )),
        }
    }
}

/// Prints `text` as an item of a list, with line breaks to fit the terminal.
fn print_item(text: &str) {
    let lines = indented(text, 2, width());
    say!("- {}", lines.trim_start());
}

/// Returns `text` with line breaks to fit the terminal.
fn fitted(text: &str) -> String {
    indented(text, 0, width())
}

fn print_steps(what: &str, steps: &[&str]) {
    print_item(&format!("{what}:"));
    for step in steps {
        say!("    {step}");
    }
}

/// Runs `berth handback`.
///
/// # Errors
/// When no server answers, the system is unknown, or rights are missing.
pub async fn hand_back(args: &HandbackArgs) -> Result<ExitCode> {
    let hub = Hub::of(&args.system, &args.server).await?;
    let (state, stored) = (hub.scheduler_state().await?, hub.configuration().await?);
    let change = Change {
        mode: Mode::Observe,
        requests: None,
        beside: false,
    };
    say!("What --yes does, and what you do:");
    print_item(&change.describe(hub.name(), &stored));
    print_item("current placements stay unchanged: the system's own scheduler finds them");
    let own = hub.scheduler();
    if let Some(own) = own {
        print_return(&own, &state);
    }
    if !confirm("handback", &hub, &change, &stored, args.yes).await? {
        return Ok(ExitCode::SUCCESS);
    }
    match apply(&hub, &change, args.timeout).await? {
        Ok(message) => say!("{}", fitted(&message)),
        Err(message) => {
            say_error!(
                "error: Berth still decides {} after {:?}: {message}",
                hub.name(),
                args.timeout
            );
            return Ok(ExitCode::FAILURE);
        }
    }
    match own {
        Some(own) if !own.leases.is_empty() => wait_for_scheduler(&hub, &own, &state, args.timeout).await,
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Prints how to start or restart the system's own scheduler.
fn print_return(own: &OwnScheduler, state: &SchedulerKnowledge) {
    match state {
        SchedulerKnowledge::Runs(..) => {
            print_item(&format!(
                "{} runs already, but may not retry writes that Berth refused: restart it",
                own.name
            ));
        }
        _ => print_steps(&format!("then start {}", own.name), own.start),
    }
}

/// Prints how to start the system's own scheduler, and waits until it runs. If the scheduler ran `before`,
/// there is no wait.
async fn wait_for_scheduler(
    hub: &Hub,
    own: &OwnScheduler,
    before: &SchedulerKnowledge,
    timeout: Duration,
) -> Result<ExitCode> {
    if matches!(before, SchedulerKnowledge::Runs(..)) {
        say!(
            "{} runs; restart it, so that it reads all objects again",
            own.name
        );
        return Ok(ExitCode::SUCCESS);
    }
    print_steps(&format!("now start {}", own.name), own.start);
    let waiting = wait(timeout, async || {
        Ok(match hub.scheduler_state().await? {
            SchedulerKnowledge::Runs(lease, holder) => Step::Done(format!(
                "{} runs: {holder} renews its Lease {}/{}",
                own.name, lease.namespace, lease.name
            )),
            SchedulerKnowledge::Unread(message) => Step::Pending(message),
            SchedulerKnowledge::Stopped | SchedulerKnowledge::Invisible => {
                Step::Pending("its Lease is not renewed".to_owned())
            }
        })
    });
    Ok(match waiting.await {
        Ok(message) => {
            say!("{}", fitted(&message));
            ExitCode::SUCCESS
        }
        Err(message) => {
            say_error!(
                "error: {} does not run after {timeout:?} ({message}): no scheduler decides new requests of {} until it does",
                own.name,
                hub.name()
            );
            ExitCode::FAILURE
        }
    })
}

/// Whether the awaited state is reached, with a message.
enum Step {
    Done(String),
    Pending(String),
}

/// Repeats `check` until the awaited state is reached, and returns its message. After `timeout`, returns the
/// last message about the obstacle as the error. Prints new messages meanwhile. If the hub does not answer,
/// `check` is repeated, too, since the hub has some of the changes already.
async fn wait(
    timeout: Duration,
    check: impl AsyncFn() -> Result<Step>,
) -> std::result::Result<String, String> {
    let (start, mut last) = (Instant::now(), String::new());
    loop {
        let message = match check().await {
            Ok(Step::Done(message)) => return Ok(message),
            Ok(Step::Pending(message)) => message,
            Err(problem) => crate::causes::one_line(&problem),
        };
        if message != last {
            say!("{}", fitted(&format!("waiting: {message}")));
            last = message;
        }
        if start.elapsed() >= timeout {
            return Err(last);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::anyhow;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_hub_that_does_not_answer_for_a_moment_is_asked_again() {
        let times = AtomicUsize::new(0);
        let check = async || match times.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(Step::Pending("it waits".to_owned())),
            1 => Err(anyhow!("connection refused")),
            _ => Ok(Step::Done("it decides".to_owned())),
        };
        assert_eq!(
            wait(Duration::from_secs(10), check).await,
            Ok("it decides".to_owned())
        );
        let never = async || Err(anyhow!("connection refused"));
        let last = wait(Duration::from_secs(3), never).await;
        assert_eq!(last, Err("connection refused".to_owned()));
    }
}
