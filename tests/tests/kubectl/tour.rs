//! `docs/tour.md` as its readers follow it: each command in its `console` blocks is run, in order, with
//! a real server and the real `kubectl`, and must print the page's output.
//!
//! On the page, `$ ` starts a command and `> ` continues it; its output follows. `…` replaces omitted output:
//! the end of a line, or any number of lines. Every age equals every other, and any number of blanks equals
//! one. Commands that only read are repeated until they print the page's output, since controllers need a
//! moment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use berth_tests::{berth, eventually};

#[test]
fn every_command_of_the_tour_prints_what_the_page_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("tests is in the workspace");
    let page = std::fs::read_to_string(root.join("docs/tour.md")).expect("the page is there");
    let steps = steps(&page);
    assert!(steps.len() > 15, "the page has {} commands only", steps.len());
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::os::unix::fs::symlink(root.join("examples"), folder.path().join("examples"))
        .expect("a link can be made");
    let mut reader = Reader {
        folder: folder.path(),
        kubeconfig: None,
        servers: Vec::new(),
    };
    for step in &steps {
        reader.follow(step);
    }
    assert_eq!(reader.servers.len(), 1, "the tour starts one server");
}

/// A command, and its output.
#[derive(Debug)]
struct Step {
    command: String,
    shown: Vec<String>,
}

/// The commands of the page's `console` blocks.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if !inside {
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                shown: Vec::new(),
            });
        } else {
            let step = steps.last_mut().expect("a block begins with a command");
            match line.strip_prefix("> ") {
                Some(more) if step.shown.is_empty() => {
                    step.command.push('\n');
                    step.command.push_str(more);
                }
                _ => step.shown.push(line.to_owned()),
            }
        }
    }
    steps
}

/// A reader of the tour.
struct Reader<'a> {
    folder: &'a Path,
    kubeconfig: Option<String>,
    servers: Vec<Child>,
}

impl Reader<'_> {
    fn follow(&mut self, step: &Step) {
        if let Some(path) = step.command.strip_prefix("export KUBECONFIG=") {
            self.kubeconfig = Some(path.to_owned());
        } else if let Some(arguments) = step.command.strip_prefix("berth serve ") {
            self.serve(step, arguments);
        } else if is_read(&step.command) {
            let mut last = String::new();
            eventually(&step.command, || {
                let printed = self.run(&step.command);
                let fits = fits(&step.shown, &printed);
                if !fits && printed != last {
                    // The actual output, which is visible when the test fails.
                    eprintln!("$ {}\n{printed}", step.command);
                    last = printed;
                }
                fits.then_some(())
            });
        } else {
            let printed = self.run(&step.command);
            assert!(
                fits(&step.shown, &printed),
                "$ {}\nprints\n{printed}\nand the page shows\n{}",
                step.command,
                step.shown.join("\n")
            );
        }
    }

    /// Starts the server, on a unique port.
    fn serve(&mut self, step: &Step, arguments: &str) {
        let mut child = Command::new(berth())
            .arg("serve")
            .args(arguments.split_whitespace())
            .args(["--secure-port", "0"])
            .current_dir(self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("berth starts");
        let mut lines = BufReader::new(child.stdout.take().expect("the output is piped")).lines();
        self.servers.push(child);
        let first = lines
            .next()
            .expect("the server says that it serves")
            .expect("it is text");
        assert!(fits(&step.shown, &first), "the server says {first}");
        // Later output must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
    }

    /// Output of `command` on both streams.
    fn run(&self, command: &str) -> String {
        let programs = berth().parent().expect("the program is in a folder").display();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("timeout");
        shell
            .args(["60", "bash", "-c"])
            .arg(format!("exec 2>&1\n{command}"))
            .current_dir(self.folder)
            .env("HOME", self.folder)
            .env("PATH", format!("{programs}:{path}"))
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null());
        if let Some(path) = &self.kubeconfig {
            shell.env("KUBECONFIG", path);
        }
        let output = shell.output().expect("bash is installed");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // Both fail only when the server has already ended, which is the goal.
            drop(server.kill());
            drop(server.wait());
        }
    }
}

/// Whether a command only reads, so that it can be repeated.
fn is_read(command: &str) -> bool {
    let mut words = command.split_whitespace();
    words.next() == Some("kubectl") && words.any(|word| word == "get")
}

/// Whether `printed` matches the page's `shown`.
fn fits(shown: &[String], printed: &str) -> bool {
    let shown: Vec<&str> = shown
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty())
        .collect();
    let printed: Vec<&str> = printed
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines_fit(&shown, &printed)
}

fn lines_fit(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&"…", rest)) => (0..=printed.len()).any(|skipped| lines_fit(rest, &printed[skipped..])),
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| line_fits(first, line) && lines_fit(rest, others)),
    }
}

fn line_fits(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (spaced(shown), spaced(printed));
    match shown.strip_suffix('…') {
        Some(start) => printed.starts_with(start.trim_end()),
        None => printed == shown,
    }
}

/// The line with single blanks, without ages.
fn spaced(line: &str) -> String {
    let words = line.split_whitespace();
    let words = words.map(|word| if is_age(word) { "AGE" } else { word });
    words.collect::<Vec<&str>>().join(" ")
}

fn is_age(word: &str) -> bool {
    let number = word.strip_suffix(['s', 'm', 'h']);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[test]
fn what_is_left_out_on_the_page_fits_anything_and_the_rest_must_be_the_same() {
    let fits = |shown: &str, printed: &str| {
        let shown: Vec<String> = shown.lines().map(str::to_owned).collect();
        fits(&shown, printed)
    };
    assert!(fits("NAME   AGE\na      1s", "NAME AGE\na 25s\n"));
    assert!(!fits("NAME   AGE\na      1s", "NAME AGE\nb 1s\n"));
    assert!(!fits("a", "a\nb"));
    assert!(!fits("a\nb", "a"));
    assert!(fits("a\n…\nz", "a\nb\nc\nz"));
    assert!(!fits("a\n…\nz", "a\nb"));
    assert!(fits(
        "Warning: not bound …",
        "Warning: not bound (NoSuitableSeed)"
    ));
    assert!(!fits("Warning: not bound …", "Warning: bound"));
}
