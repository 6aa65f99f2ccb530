//! `berth takeover` and `berth handback`: who decides a system, changed in an order in which no request has two schedulers, and
//! none for as short as may be (docs/take-over.md). Without `--yes` nothing is changed.

mod args;
mod asked;
mod configuration;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use berth_commands::{say, say_error};
use berth_dialect_contract::OwnScheduler;
use tokio::time::Instant;

pub use args::{HandbackArgs, TakeoverArgs};

use crate::check::Seen;
use asked::Hub;
use berth_configuration::Mode;
use configuration::{Change, Stored};

/// How often it is looked whether what was asked for holds.
const PAUSE: Duration = Duration::from_secs(1);

/// `berth takeover`.
///
/// # Errors
/// When no server answers, there is no such system, Berth is not there to decide it, or rights are missing.
pub async fn take_over(args: &TakeoverArgs) -> Result<ExitCode> {
    let hub = Hub::of(&args.system, &args.server).await?;
    let selector = args.selector()?;
    let differ = berth_commands::compare::print_system(&hub.client, hub.name(), &selector).await?;
    if differ > 0 {
        say!("\n{differ} would move; berth compare --only-different -o json tells all of it.");
    }
    let seen = hub.seen().await?;
    let change = Change {
        mode: Mode::Decide,
        requests: Some(args.requests()?),
        beside: args.beside,
    };
    let stored = hub.stored().await?;
    tell_plan(&hub, &seen, &stored, &change, args.beside);
    let problems = hub.obstacles(&change).await?;
    for problem in &problems {
        say!("- {problem}");
    }
    if !args.yes {
        say!(
            "\nNothing was changed. To do it: berth takeover {} --yes",
            hub.name()
        );
        return Ok(ExitCode::SUCCESS);
    }
    if !problems.is_empty() {
        bail!(
            "berth takeover {}: nothing was changed; see above what is missing",
            hub.name()
        );
    }
    if let (Seen::Runs(..), Some(consequence), false) =
        (&seen, hub.scheduler().and_then(|own| own.is_part_of), args.beside)
    {
        bail!(
            "{}: {consequence}; --beside decides beside it; nothing was changed",
            hub.name()
        );
    }
    hub.change(&change).await?;
    say!("\nschedulerconfiguration {} says mode: Decide", hub.name());
    let generation = hub.stored().await?.generation;
    let held = wait(args.timeout, async || {
        let stored = hub.stored().await?;
        Ok(match stored.deciding(generation) {
            Some((true, message)) => Step::Done(message),
            Some((false, message)) => Step::Not(message),
            None => Step::Not("Berth has not looked at it yet".to_owned()),
        })
    });
    match held.await? {
        Ok(message) => {
            say!("{message}");
            Ok(ExitCode::SUCCESS)
        }
        Err(message) => {
            say_error!(
                "error: Berth does not decide {} after {:?}: {message}\nIt begins by itself once that ends; berth handback {} --yes \
                 takes it back",
                hub.name(),
                args.timeout,
                hub.name()
            );
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Steps that `--yes` takes.
fn tell_plan(hub: &Hub, seen: &Seen, stored: &Stored, change: &Change, beside: bool) {
    say!("\nWhat --yes does, and what you do:");
    say!("- {}", change.told(hub.name(), stored));
    let Some(own) = hub.scheduler() else {
        say!(
            "- {} brings no scheduler along: Berth decides at once",
            hub.name()
        );
        return;
    };
    let name = own.name;
    match seen {
        Seen::Stopped => {
            say!("- {name} does not renew its Lease: Berth decides at once. It must not be started again")
        }
        Seen::Runs(..) if beside => say!("- {name} runs, and Berth decides beside it at once"),
        Seen::Runs(lease, holder) => say!(
            "- {name} runs: {holder} renews its Lease {}/{}. Berth observes until that ends, at most the duration of the Lease \
             after it is stopped",
            lease.namespace,
            lease.name
        ),
        Seen::Invisible => say!(
            "- {name} holds no Lease by which it could be seen: stop it before, since Berth decides at once"
        ),
        Seen::Unread(message) => say!("- whether {name} runs cannot be told: {message}"),
    }
    if !matches!(seen, Seen::Stopped) && !beside {
        tell_steps("stop it", own.stop);
    }
    if let Some(consequence) = own.is_part_of {
        say!("- mind that {consequence}");
    }
    if change.selects() {
        match own.leaves_out {
            Some(way) => say!("- of the others {name} goes on to decide, if it leaves these alone: {way}"),
            None => say!(
                "- {name} has no way to leave single requests to others: stopped, nobody decides the others; beside it \
                          (--beside) its writes to Berth's are refused"
            ),
        }
    }
}

fn tell_steps(what: &str, steps: &[&str]) {
    say!("- {what}:");
    for step in steps {
        say!("    {step}");
    }
}

/// `berth handback`.
///
/// # Errors
/// When no server answers, there is no such system, or rights are missing.
pub async fn hand_back(args: &HandbackArgs) -> Result<ExitCode> {
    let hub = Hub::of(&args.system, &args.server).await?;
    let (seen, stored) = (hub.seen().await?, hub.stored().await?);
    let change = Change {
        mode: Mode::Observe,
        requests: None,
        beside: false,
    };
    say!("What --yes does, and what you do:");
    say!("- {}", change.told(hub.name(), &stored));
    say!("- what is placed stays as it is: the system's own scheduler finds it so");
    let own = hub.scheduler();
    if let Some(own) = own {
        tell_return(&own, &seen);
    }
    let problems = hub.obstacles(&change).await?;
    for problem in &problems {
        say!("- {problem}");
    }
    if !args.yes {
        say!(
            "\nNothing was changed. To do it: berth handback {} --yes",
            hub.name()
        );
        return Ok(ExitCode::SUCCESS);
    }
    if !problems.is_empty() {
        bail!(
            "berth handback {}: nothing was changed; see above what is missing",
            hub.name()
        );
    }
    hub.change(&change).await?;
    say!("\nschedulerconfiguration {} says mode: Observe", hub.name());
    let generation = hub.stored().await?.generation;
    let observes = wait(args.timeout, async || {
        let stored = hub.stored().await?;
        Ok(match stored.deciding(generation) {
            Some((false, message)) => Step::Done(message),
            Some((true, message)) => Step::Not(message),
            None => Step::Not("Berth has not looked at it yet".to_owned()),
        })
    });
    match observes.await? {
        Ok(message) => say!("{message}"),
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
        Some(own) if !own.leases.is_empty() => returned(&hub, &own, &seen, args.timeout).await,
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Steps about the system's own scheduler.
fn tell_return(own: &OwnScheduler, seen: &Seen) {
    match seen {
        Seen::Runs(..) => {
            say!(
                "- {} runs already; what Berth refused it, it may not try again by itself: restart it",
                own.name
            );
        }
        _ => tell_steps(&format!("then start {}", own.name), own.start),
    }
}

/// Waits until the system's own scheduler runs.
async fn returned(hub: &Hub, own: &OwnScheduler, before: &Seen, timeout: Duration) -> Result<ExitCode> {
    if matches!(before, Seen::Runs(..)) {
        say!(
            "{} runs; restart it, so that it looks at everything again",
            own.name
        );
        return Ok(ExitCode::SUCCESS);
    }
    tell_steps(&format!("now start {}", own.name), own.start);
    let lives = wait(timeout, async || {
        Ok(match hub.seen().await? {
            Seen::Runs(lease, holder) => Step::Done(format!(
                "{} runs: {holder} renews its Lease {}/{}",
                own.name, lease.namespace, lease.name
            )),
            Seen::Unread(message) => Step::Not(message),
            Seen::Stopped | Seen::Invisible => Step::Not("nobody renews its Lease".to_owned()),
        })
    });
    Ok(match lives.await? {
        Ok(message) => {
            say!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            say_error!(
                "error: {} is not seen to run after {timeout:?} ({message}): new requests of {} are decided by nobody until it does",
                own.name,
                hub.name()
            );
            ExitCode::FAILURE
        }
    })
}

/// Whether what is waited for holds, with what is to be said of it.
enum Step {
    Done(String),
    Not(String),
}

/// Looks until `look` says that it is done, and gives its words; after `timeout` the last words of why it is not. What is
/// news is told meanwhile.
async fn wait(
    timeout: Duration,
    look: impl AsyncFn() -> Result<Step>,
) -> Result<std::result::Result<String, String>> {
    let (start, mut last) = (Instant::now(), String::new());
    loop {
        match look().await? {
            Step::Done(message) => return Ok(Ok(message)),
            Step::Not(message) => {
                if message != last {
                    say!("waiting: {message}");
                    last = message;
                }
            }
        }
        if start.elapsed() >= timeout {
            return Ok(Err(last));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
