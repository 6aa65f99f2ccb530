//! The width of commands' output: the terminal's, or `COLUMNS`.

use std::path::Path;
use std::process::Command;

use berth_tests::{Server, eventually};

const WIDTHS: [usize; 3] = [80, 120, 200];

fn server() -> Server {
    let server = Server::start();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    for file in [
        "gardener/fleet.yaml",
        "gardener/load.yaml",
        "gardener/same-region.yaml",
        "gardener/unschedulable.yaml",
        "ocm/fleet.yaml",
        "ocm/story-1.yaml",
        "fleet/fleet.yaml",
        "fleet/pick-n.yaml",
    ] {
        server.load(&examples.join(file));
    }
    server
}

/// Standard output and error of `berth` on a terminal with this width, with any exit code.
fn printed(server: &Server, arguments: &[&str], width: usize) -> (String, String) {
    let output = Command::new(berth_tests::berth())
        .args(arguments)
        .env("KUBECONFIG", server.kubeconfig())
        .env("COLUMNS", width.to_string())
        .env("NO_COLOR", "1")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// The lines of `text` that are too wide, except single words and shell commands, which are not
/// wrapped.
fn too_wide(text: &str, width: usize) -> Vec<&str> {
    let whole = |line: &str| {
        let line = line.trim_start_matches(|letter: char| !letter.is_alphanumeric());
        !line.contains(' ') || line.starts_with("kubectl ") || line.starts_with("Usage: ")
    };
    text.lines()
        .filter(|line| line.chars().count() > width && !whole(line))
        .collect()
}

#[test]
fn every_command_fits_the_terminal() {
    let server = server();
    eventually("a history", || {
        let (out, _) = printed(&server, &["history", "shoot/web", "-n", "garden-dev"], 80);
        out.contains("Bound").then_some(())
    });
    let files = [
        "-f",
        "examples/gardener/fleet.yaml",
        "examples/gardener/unschedulable.yaml",
    ];
    let commands: [&[&str]; 15] = [
        &["why", "shoot/web", "-n", "garden-dev"],
        &["why", "shoot/overlap", "-n", "garden-dev", "-o", "wide"],
        &["why", "seed/aws-eu1"],
        &["why", "web", "-A"],
        &["advice", "shoot/overlap", "-n", "garden-dev"],
        &["advice", "shoot/web", "-n", "garden-dev", "-o", "wide"],
        &["history", "shoot/web", "-n", "garden-dev"],
        &["plan", "--drain", "aws-eu1"],
        &["check"],
        &["compare"],
        &["takeover", "ocm"],
        &["handback", "ocm"],
        &["simulate", files[0], files[1], files[2]],
        &["simulate", files[0], files[1], files[2], "--advice"],
        &["simulate", files[0], files[1], files[2], "--drain", "aws-eu1"],
    ];
    for command in commands {
        for width in WIDTHS {
            let (out, error) = printed(&server, command, width);
            assert!(!out.is_empty() || !error.is_empty(), "{command:?}");
            let wide = too_wide(&out, width);
            assert!(wide.is_empty(), "{command:?} at {width}: {wide:#?}");
        }
    }
}

#[test]
fn the_help_of_every_command_fits_the_terminal() {
    let server = Server::start();
    let (help, _) = printed(&server, &["--help"], 80);
    let commands = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split(' ').next());
    let commands: Vec<&str> = commands.filter(|name| *name != "help").collect();
    assert!(commands.len() > 20, "{help}");
    for command in commands {
        for width in [80, 120] {
            let (out, error) = printed(&server, &[command, "--help"], width);
            assert!(error.is_empty(), "{command}: {error}");
            let wide = too_wide(&out, width);
            assert!(wide.is_empty(), "{command} at {width}: {wide:#?}");
        }
    }
}
