//! `berth repair`: lists damaged records of the embedded store, and removes records by name.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use berth_storage::embedded::rescue::Rescue;
use clap::Args;

use crate::backup::FILE;
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

/// Checks the file, and repairs it as requested. Returns exit code 1 if damage remains. Blocks.
///
/// # Errors
/// When the file cannot be read or written, or no record has a name that is to be removed.
pub fn run(args: &RepairArgs) -> Result<ExitCode> {
    let file = args.data_dir.join(FILE);
    let encryption = encryption::load(args.encryption_provider_config.as_deref())?;
    let rescue = Rescue::open(&file, &encryption)?;
    for damage in rescue.damaged() {
        berth_commands::say!("damaged: {}: {}", damage.record, damage.problem);
    }
    for problem in rescue.problems() {
        berth_commands::say!("damaged: {problem}");
    }
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
    let unnamed = rescue
        .damaged()
        .iter()
        .filter(|damage| !names.contains(&damage.record))
        .count();
    let is_unchanged = !args.remove_damaged && (unnamed > 0 || loses_more(&rescue, &names));
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
    for damage in rescue
        .damaged()
        .iter()
        .filter(|damage| !names.contains(&damage.record))
    {
        berth_commands::say!("removed {}", damage.record);
    }
    berth_commands::say!(
        "{} has the remaining records; {} is the original file",
        file.display(),
        original.display()
    );
    Ok(ExitCode::SUCCESS)
}

/// Whether there is more damage than the records `names` and the pages that contain them.
fn loses_more(rescue: &Rescue, names: &BTreeSet<String>) -> bool {
    let named = rescue
        .damaged()
        .iter()
        .any(|damage| names.contains(&damage.record));
    !rescue.is_complete() || !(rescue.problems().is_empty() || named)
}
