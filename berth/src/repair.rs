//! `berth repair`: lists damaged records of the embedded store, and removes records by name.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use berth_storage::embedded::rescue::Rescue;
use clap::Args;

use crate::backup::DATABASE_FILE;
use crate::encryption;

/// Arguments of `berth repair`.
#[derive(Args, Clone, Debug)]
pub struct RepairArgs {
    /// The data folder, which no running server may use.
    #[arg(long, env = "BERTH_DATA_DIR", default_value = "berth-data")]
    pub data_dir: PathBuf,
    /// Remove this record, damaged or not; repeatable.
    #[arg(long, value_name = "RESOURCE[.GROUP]/[NAMESPACE/]NAME")]
    pub remove: Vec<String>,
    /// Remove all damaged records, and discard those that cannot be read at all.
    #[arg(long)]
    pub remove_damaged: bool,
    /// kube-apiserver's EncryptionConfiguration, to verify encrypted values.
    #[arg(long, value_name = "FILE")]
    pub encryption_provider_config: Option<PathBuf>,
}

/// Checks the database, and repairs it as requested. Returns exit code 1 if damaged records remain. Blocks
/// the thread.
///
/// # Errors
/// When the database cannot be read or written, or a record to remove does not exist.
pub fn run(args: &RepairArgs) -> Result<ExitCode> {
    let file = args.data_dir.join(DATABASE_FILE);
    let encryption = encryption::load(args.encryption_provider_config.as_deref())?;
    let rescue = Rescue::open(&file, &encryption)?;
    print_damage(&rescue);
    // Names are accepted in the form of error messages, too.
    let names = args
        .remove
        .iter()
        .map(|name| name.strip_prefix("record ").unwrap_or(name));
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    let unknown = rescue.unknown(&names);
    ensure!(
        unknown.is_empty(),
        "no such record: {}; nothing was changed",
        unknown.join(", ")
    );
    let is_unchanged = !args.remove_damaged
        && (unnamed_damage(&rescue, &names).next().is_some() || has_further_damage(&rescue, &names));
    if is_unchanged {
        berth_commands::say!(
            "nothing was changed: --remove NAME removes a record, --remove-damaged all damaged ones; {} are intact",
            rescue.objects()
        );
        return Ok(ExitCode::FAILURE);
    }
    if names.is_empty() && rescue.damaged().is_empty() && rescue.problems().is_empty() {
        berth_commands::say!("{} objects, all of them intact", rescue.objects());
        return Ok(ExitCode::SUCCESS);
    }
    let original = rescue.write(&names)?;
    for name in &names {
        berth_commands::say!("removed {name}");
    }
    for record in unnamed_damage(&rescue, &names) {
        berth_commands::say!("removed {record}");
    }
    berth_commands::say!(
        "{} has the remaining records; {} is the original file",
        file.display(),
        original.display()
    );
    Ok(ExitCode::SUCCESS)
}

/// Prints the damaged records and the other problems of the database.
fn print_damage(rescue: &Rescue) {
    for damage in rescue.damaged() {
        berth_commands::say!("damaged: {}: {}", damage.record, damage.problem);
    }
    for problem in rescue.problems() {
        berth_commands::say!("damaged: {problem}");
    }
}

/// The damaged records that are not in `names`.
fn unnamed_damage<'a>(rescue: &'a Rescue, names: &'a BTreeSet<String>) -> impl Iterator<Item = &'a String> {
    let records = rescue.damaged().iter().map(|damage| &damage.record);
    records.filter(move |record| !names.contains(*record))
}

/// Whether the database has damage apart from damaged records: lost records, or unreadable pages that none of
/// the damaged records in `names` explains.
fn has_further_damage(rescue: &Rescue, names: &BTreeSet<String>) -> bool {
    let is_any_named = rescue
        .damaged()
        .iter()
        .any(|damage| names.contains(&damage.record));
    !rescue.is_complete() || !(rescue.problems().is_empty() || is_any_named)
}
