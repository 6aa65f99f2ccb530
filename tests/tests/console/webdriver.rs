//! A minimal WebDriver client with one session of headless Chromium.
//!
//! Every wait has a deadline, and fails with its condition and the end of chromedriver's log.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use berth_house::program;
use berth_tests::{DEADLINE, ports};
use serde_json::{Value, json};

/// Time limit of one request to the driver: longer than its own limits for scripts and for page loads.
const REQUEST: Duration = Duration::from_secs(40);

/// A browser that ends with the test.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// The browser's own profile, and the driver's log.
    folder: tempfile::TempDir,
}

impl Browser {
    /// Starts a driver, and a browser with an empty profile.
    pub(crate) fn start() -> Self {
        let port = ports::free();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = File::create(folder.path().join("driver.log")).expect("the folder is writable");
        // Neither inherits an unread pipe, nor the test's own output, which would stay open until the last
        // process of the browser ends. All end with the process group.
        drop(program("chromium"));
        let driver = program("chromedriver")
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .process_group(0)
            .spawn()
            .expect("chromedriver starts");
        let mut browser = Self {
            driver,
            port,
            session: String::new(),
            folder,
        };
        browser.await_driver();
        let session = browser.send("POST", "/session", &browser.wanted());
        browser.session = session["sessionId"].as_str().expect("a session").to_owned();
        browser
    }

    fn wanted(&self) -> Value {
        let arguments = [
            "--headless=new",
            // Tests may run as root in a container, where the sandbox does not work and /dev/shm is small.
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--no-first-run",
            // The browser must not connect to other machines.
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-default-apps",
            "--disable-sync",
            "--window-size=1280,860",
            &format!("--user-data-dir={}", self.folder.path().join("profile").display()),
        ];
        json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "timeouts": {"script": 20_000, "pageLoad": 30_000},
            "goog:chromeOptions": {"args": arguments},
        }}})
    }

    fn await_driver(&mut self) {
        let deadline = Instant::now() + DEADLINE;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            let ended = self.driver.try_wait().expect("the driver is ours");
            assert!(
                ended.is_none() && Instant::now() < deadline,
                "chromedriver does not listen ({ended:?}): {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Opens a URL.
    pub(crate) fn go(&self, url: &str) {
        self.command("POST", "url", &json!({"url": url}));
    }

    /// Runs a script and returns its result, of a promise as well.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.command("POST", "execute/sync", &json!({"script": script, "args": []}))
    }

    /// Waits until an expression is true on the page.
    pub(crate) fn eventually(&self, expression: &str) {
        let deadline = Instant::now() + DEADLINE;
        while self.run(&format!("return !!({expression})")) != json!(true) {
            assert!(
                Instant::now() < deadline,
                "never: {expression}; the page at {} says: {}",
                self.run("return location.href"),
                self.run("return document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses keys as a user does; WebDriver encodes keys without a letter as private code points.
    pub(crate) fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|what| json!({"type": what, "value": key.to_string()})))
            .collect();
        self.command(
            "POST",
            "actions",
            &json!({"actions": [{"type": "key", "id": "keys", "actions": actions}]}),
        );
    }

    /// Runs `work` in the other of two tabs, and switches back.
    pub(crate) fn in_the_other_tab(&self, work: impl FnOnce()) {
        let own = self.command("GET", "window", &Value::Null);
        let other = || {
            let handles = self.command("GET", "window/handles", &Value::Null);
            let mut handles = handles.as_array().into_iter().flatten();
            handles.find(|handle| **handle != own).cloned()
        };
        let deadline = Instant::now() + DEADLINE;
        let other = loop {
            if let Some(other) = other() {
                break other;
            }
            assert!(Instant::now() < deadline, "no other tab was opened");
            std::thread::sleep(Duration::from_millis(50));
        };
        self.command("POST", "window", &json!({"handle": other}));
        work();
        self.command("POST", "window", &json!({"handle": own}));
    }

    /// Sets the size of the window.
    pub(crate) fn size(&self, width: u32, height: u32) {
        self.development(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
    }

    /// Sets the system's colour scheme, light or dark.
    pub(crate) fn scheme(&self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.development("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    fn development(&self, command: &str, parameters: &Value) {
        self.command(
            "POST",
            "goog/cdp/execute",
            &json!({"cmd": command, "params": parameters}),
        );
    }

    /// Writes a screenshot to a file.
    pub(crate) fn picture(&self, path: &Path) {
        let answer = self.command("GET", "screenshot", &Value::Null);
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(answer.as_str().expect("base64"))
            .expect("base64");
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is writable");
        std::fs::write(path, bytes).expect("the folder is writable");
    }

    fn command(&self, method: &str, command: &str, body: &Value) -> Value {
        self.send(method, &format!("/session/{}/{command}", self.session), body)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "GET" {
            String::new()
        } else {
            body.to_string()
        };
        let excerpt: String = body.chars().take(300).collect();
        let (head, answer) = request(self.port, method, path, &body, REQUEST).unwrap_or_else(|problem| {
            panic!(
                "{method} {path} {excerpt}: {problem}; chromedriver's log ends: {}",
                self.log()
            )
        });
        let value: Value = serde_json::from_slice(&answer).expect("JSON");
        assert!(
            head.starts_with("HTTP/1.1 200"),
            "{method} {path} {excerpt}: {value}"
        );
        value["value"].clone()
    }

    /// The end of the log of the driver and the browser.
    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.folder.path().join("driver.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }
}

/// Sends a request and reads its answer by its length: chromedriver announces that it closes the
/// connection, but leaves it open.
fn request(
    port: u16,
    method: &str,
    path: &str,
    body: &str,
    limit: Duration,
) -> std::io::Result<(String, Vec<u8>)> {
    let deadline = Instant::now() + limit;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_write_timeout(Some(limit))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut stream = BufReader::new(Until { stream, deadline });
    let ended = |what: String| std::io::Error::new(std::io::ErrorKind::UnexpectedEof, what);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Err(ended(format!("the connection ended within {head:?}")));
        }
    }
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .ok_or_else(|| ended(format!("no length in {head:?}")))?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok((head, body))
}

/// A reader with a deadline for all reads together.
struct Until {
    stream: TcpStream,
    deadline: Instant,
}

impl Read for Until {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(std::io::Error::new(
                std::io::ErrorKind::TimedOut,
                "no whole answer in time",
            ));
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The end of the session ends the browser orderly; remaining processes end with the group.
        if !self.session.is_empty() {
            let path = format!("/session/{}", self.session);
            drop(request(self.port, "DELETE", &path, "", Duration::from_secs(5)));
        }
        drop(
            Command::new("kill")
                .args(["-KILL", "--", &format!("-{}", self.driver.id())])
                .stderr(Stdio::null())
                .status(),
        );
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}
