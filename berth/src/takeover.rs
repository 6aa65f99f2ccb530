//! `berth takeover` and `berth handback`: change the scheduler of a system in such an order that a request
//! has one scheduler at a time, and is without a scheduler for the shortest possible time
//! (docs/take-over.md). Exceptions are `--beside`, and a running scheduler without a Lease, which Berth
//! cannot detect. Without `--yes`, both commands only print the steps.

mod args;
mod configuration;
mod system;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use berth_commands::terminal::{indented, width};
use berth_commands::{compare, say, say_error};
use berth_dialect_contract::OwnScheduler;
use tokio::time::Instant;

pub use args::{HandbackArgs, TakeoverArgs};

use crate::check::SchedulerState;
use berth_configuration::Mode;
use configuration::{Change, StoredConfiguration};
use system::SystemClient;

/// Interval between two checks of the awaited state.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Runs `berth takeover`.
///
/// # Errors
/// When the system is unknown, no server answers, or the server refuses a read. With `--yes`, also when
/// there are obstacles, which are printed, when the change is refused, or when the system's own scheduler
/// runs, is part of a program with other tasks, and `--beside` is not given.
pub async fn take_over(args: &TakeoverArgs) -> Result<ExitCode> {
    let system = SystemClient::of(&args.system, &args.server).await?;
    let change = Change {
        mode: Mode::Decide,
        requests: Some(args.requests()?),
        beside: args.beside,
    };
    let selector = args.selector()?;
    let different = compare::print_system(&system.client, system.name(), &selector, &args.config).await?;
    if different > 0 {
        say!();
        say!(
            "{}",
            fitted(&format!(
                "{different} would move; berth compare --only-different -o json lists them all."
            ))
        );
    }
    let (state, stored) = (system.scheduler_state().await?, system.configuration().await?);
    print_plan(&system, &state, &stored, &change, args.beside);
    if !confirm("takeover", &system, &change, &stored, args.yes).await? {
        return Ok(ExitCode::SUCCESS);
    }
    let own = system.scheduler();
    if let Some(consequence) = own.and_then(|own| needs_beside(&own, &state, args.beside)) {
        bail!(
            "{}: {consequence}; nothing was changed: pass --beside to let Berth decide beside it",
            system.name()
        );
    }
    Ok(match apply(&system, &change, args.timeout).await? {
        Ok(message) => {
            say!("{}", fitted(&message));
            ExitCode::SUCCESS
        }
        Err(message) => {
            say_error!(
                "error: Berth does not decide {} after {:?}: {message}\nBerth starts to decide as soon as this reason ends; \
                 berth handback {} --yes cancels the takeover",
                system.name(),
                args.timeout,
                system.name()
            );
            ExitCode::FAILURE
        }
    })
}

/// The reason why Berth can only decide beside the system's scheduler `own`, which runs and cannot be stopped
/// alone; `None` if nothing prevents the takeover, or `beside` is given.
fn needs_beside(own: &OwnScheduler, state: &SchedulerState, beside: bool) -> Option<&'static str> {
    let is_running = matches!(state, SchedulerState::Runs(..));
    own.stop_consequence.filter(|_| is_running && !beside)
}

/// Prints the obstacles to `change`. Returns whether the change is to be applied, which only the flag `yes`
/// permits.
///
/// # Errors
/// When the change is to be applied, and there are obstacles.
async fn confirm(
    command: &str,
    system: &SystemClient,
    change: &Change,
    stored: &StoredConfiguration,
    yes: bool,
) -> Result<bool> {
    let (name, problems) = (system.name(), system.obstacles(change, stored).await?);
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
async fn apply(
    system: &SystemClient,
    change: &Change,
    timeout: Duration,
) -> Result<std::result::Result<String, String>> {
    let generation = system.change(change).await?.generation;
    let (name, mode) = (system.name(), change.mode);
    say!("\nschedulerconfiguration {name} says mode: {}", mode.as_str());
    let waiting = wait(timeout, async || {
        Ok(match system.configuration().await?.deciding(generation) {
            Some((decides, message)) if decides == (mode == Mode::Decide) => Progress::Done(message),
            Some((_, message)) => Progress::Pending(message),
            None => Progress::Pending("Berth has not processed it yet".to_owned()),
        })
    });
    Ok(waiting.await)
}

/// Prints the steps that `--yes` takes, and the steps that the user has to take.
fn print_plan(
    system: &SystemClient,
    state: &SchedulerState,
    stored: &StoredConfiguration,
    change: &Change,
    beside: bool,
) {
    say!("\nWhat --yes does, and what you do:");
    print_item(&change.describe(system.name(), stored));
    let Some(own) = system.scheduler() else {
        print_item(&format!(
            "{} has no scheduler of its own: Berth decides at once",
            system.name()
        ));
        return;
    };
    let name = own.name;
    match state {
        SchedulerState::Stopped => print_item(&format!(
            "{name} does not renew its Lease: Berth decides at once. It must not be started again"
        )),
        SchedulerState::Runs(..) if beside => {
            print_item(&format!("{name} runs, and Berth decides beside it at once"))
        }
        SchedulerState::Runs(lease, holder) => print_item(&format!(
            "{name} runs: {holder} renews its Lease {}/{}. Berth observes until that ends, at most the duration of the Lease \
             after it is stopped",
            lease.namespace, lease.name
        )),
        SchedulerState::WithoutLease => print_item(&format!(
            "{name} holds no Lease, so that Berth cannot see whether it runs: stop it first, since Berth decides at once"
        )),
        SchedulerState::Unreadable(message) => {
            print_item(&format!("it is unknown whether {name} runs: {message}"))
        }
    }
    if !matches!(state, SchedulerState::Stopped) && !beside {
        print_steps("stop it", own.stop);
    }
    if let Some(consequence) = needs_beside(&own, state, beside) {
        print_item(&format!("--yes changes nothing without --beside: {consequence}"));
    } else if let Some(consequence) = own.stop_consequence {
        print_item(&format!("note: {consequence}"));
    }
    if change.selects_some_requests() {
        match own.exclusion {
            Some(method) => print_item(&format!(
                "{name} can keep deciding the other requests, if it skips the selected ones: {method}"
            )),
            None => print_item(&format!(
                "{name} cannot skip single requests: once it is stopped, no scheduler decides the other requests; with \
                 --beside it keeps running, and its writes of Berth's decisions are refused"
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

/// Prints `steps` under the item `heading`.
fn print_steps(heading: &str, steps: &[&str]) {
    print_item(&format!("{heading}:"));
    for step in steps {
        say!("    {step}");
    }
}

/// Runs `berth handback`.
///
/// # Errors
/// When the system is unknown, no server answers, or the server refuses a read. With `--yes`, also when
/// there are obstacles, which are printed, or when the change is refused.
pub async fn hand_back(args: &HandbackArgs) -> Result<ExitCode> {
    let system = SystemClient::of(&args.system, &args.server).await?;
    let (state, stored) = (system.scheduler_state().await?, system.configuration().await?);
    let change = Change {
        mode: Mode::Observe,
        requests: None,
        beside: false,
    };
    say!("What --yes does, and what you do:");
    print_item(&change.describe(system.name(), &stored));
    print_item("current placements stay unchanged: the system's own scheduler finds them");
    let own = system.scheduler();
    if let Some(own) = own {
        print_scheduler_start(&own, &state);
    }
    if !confirm("handback", &system, &change, &stored, args.yes).await? {
        return Ok(ExitCode::SUCCESS);
    }
    match apply(&system, &change, args.timeout).await? {
        Ok(message) => say!("{}", fitted(&message)),
        Err(message) => {
            say_error!(
                "error: Berth still decides {} after {:?}: {message}",
                system.name(),
                args.timeout
            );
            return Ok(ExitCode::FAILURE);
        }
    }
    match own {
        Some(own) if !own.leases.is_empty() => wait_for_scheduler(&system, &own, &state, args.timeout).await,
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Prints how to start or restart the system's own scheduler.
fn print_scheduler_start(own: &OwnScheduler, state: &SchedulerState) {
    match state {
        SchedulerState::Runs(..) => {
            print_item(&format!(
                "{} runs already, but may not retry writes that Berth refused: restart it",
                own.name
            ));
        }
        _ => print_steps(&format!("then start {}", own.name), own.start),
    }
}

/// Prints how to start the system's own scheduler, and waits until it runs. If the scheduler was running
/// `before`, this only prints that it has to be restarted.
async fn wait_for_scheduler(
    system: &SystemClient,
    own: &OwnScheduler,
    before: &SchedulerState,
    timeout: Duration,
) -> Result<ExitCode> {
    if matches!(before, SchedulerState::Runs(..)) {
        say!(
            "{} runs; restart it, so that it reads all objects again",
            own.name
        );
        return Ok(ExitCode::SUCCESS);
    }
    print_steps(&format!("now start {}", own.name), own.start);
    let waiting = wait(timeout, async || {
        Ok(match system.scheduler_state().await? {
            SchedulerState::Runs(lease, holder) => Progress::Done(format!(
                "{} runs: {holder} renews its Lease {}/{}",
                own.name, lease.namespace, lease.name
            )),
            SchedulerState::Unreadable(message) => Progress::Pending(message),
            SchedulerState::Stopped | SchedulerState::WithoutLease => {
                Progress::Pending("its Lease is not renewed".to_owned())
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
                system.name()
            );
            ExitCode::FAILURE
        }
    })
}

/// Progress towards the awaited state.
enum Progress {
    /// The state is reached; the message describes it.
    Done(String),
    /// The state is not reached yet; the message is the reason.
    Pending(String),
}

/// Repeats `check` until the awaited state is reached, and returns the message of the state. Meanwhile,
/// prints each new reason for the delay; after `timeout`, returns the last reason as the error. An error of
/// `check` counts as a reason, since a part of the change is already made.
async fn wait(
    timeout: Duration,
    check: impl AsyncFn() -> Result<Progress>,
) -> std::result::Result<String, String> {
    let (start, mut last) = (Instant::now(), String::new());
    loop {
        let message = match check().await {
            Ok(Progress::Done(message)) => return Ok(message),
            Ok(Progress::Pending(message)) => message,
            Err(problem) => crate::causes::one_line(&problem),
        };
        if message != last {
            say!("{}", fitted(&format!("waiting: {message}")));
            last = message;
        }
        if start.elapsed() >= timeout {
            return Err(last);
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::anyhow;
    use berth_dialect_contract::LeaseName;

    use super::*;

    #[test]
    fn only_a_running_scheduler_that_cannot_be_stopped_alone_needs_beside() {
        let own = |system: &str| {
            let dialects = berth_dialect_registry::all();
            let mut dialects = dialects.iter();
            let dialect = dialects.find(|dialect| dialect.name() == system).unwrap();
            dialect.on_hub().scheduler.unwrap()
        };
        let lease = LeaseName {
            namespace: "n",
            name: "l",
        };
        let runs = SchedulerState::Runs(lease, "pod-1".to_owned());
        assert!(needs_beside(&own("fleet"), &runs, false).is_some());
        assert!(needs_beside(&own("fleet"), &runs, true).is_none());
        assert!(needs_beside(&own("fleet"), &SchedulerState::Stopped, false).is_none());
        assert!(needs_beside(&own("gardener"), &runs, false).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_check_is_repeated_when_the_hub_does_not_answer() {
        let times = AtomicUsize::new(0);
        let check = async || match times.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(Progress::Pending("it waits".to_owned())),
            1 => Err(anyhow!("connection refused")),
            _ => Ok(Progress::Done("it decides".to_owned())),
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
