//! A PostgreSQL server of the tests' own: on a free port of the loopback address, with its data in a temporary folder.
//!
//! The server is started below a shell that waits for the end of its standard input. So it stops, and its data is
//! removed, however the test process ends.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that panics has failed")]

use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The programs of the newest PostgreSQL that Debian's packages have installed.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<PathBuf> = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect();
    found.retain(|bin| bin.join("initdb").is_file() && bin.join("postgres").is_file());
    found.sort();
    found.pop()
}

/// A running server, or the folder of one that was stopped.
pub(crate) struct Server {
    bin: PathBuf,
    folder: PathBuf,
    port: u16,
    running: Option<(Child, ChildStdin)>,
}

impl Server {
    /// A new server; `None`, with a notice, where PostgreSQL is not installed.
    pub(crate) fn start(name: &str) -> Option<Self> {
        let Some(bin) = programs() else {
            // written past the harness, which keeps what `println!` prints to itself
            writeln!(std::io::stdout().lock(), "notice: PostgreSQL is not installed; not tested (apt-get install postgresql)").unwrap();
            return None;
        };
        let folder = std::env::temp_dir().join(format!("tapster-pg-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        if root() {
            assert!(Command::new("chown").arg("postgres").arg(&folder).status().unwrap().success());
        }
        let data = folder.join("data");
        let mut initdb = as_other_user(&bin.join("initdb"));
        initdb.args(["--username=tapster", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "-D"]).arg(&data);
        let made = initdb.current_dir("/").output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut server = Self { bin, folder, port: 0, running: None };
        // another program may take a free port before the server does
        for _ in 0..5 {
            server.port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if server.run() {
                return Some(server);
            }
        }
        panic!("PostgreSQL does not start");
    }

    /// Starts the server again on its port. False if it ends before it takes connections.
    pub(crate) fn run(&mut self) -> bool {
        let data = self.folder.join("data");
        let program = as_other_user(&self.bin.join("postgres"));
        let mut line = vec![program.get_program().to_owned()];
        line.extend(program.get_args().map(ToOwned::to_owned));
        let settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=60", "shared_buffers=16MB"];
        // $0 is the folder; behind it the command of the server
        let script = "\"$@\" 2>&1 & pid=$!; cat >/dev/null; kill -INT $pid; wait $pid; rm -f \"$0/data/postmaster.pid\"; \
                      [ -e \"$0/keep\" ] || rm -rf \"$0\"";
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(script).arg(&self.folder).args(line).arg("-D").arg(&data).args(["-p", &self.port.to_string()]);
        for setting in settings {
            shell.args(["-c", setting]);
        }
        let mut child = shell.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        self.running = Some((child, stdin));
        let mut line = String::new();
        while out.read_line(&mut line).unwrap() > 0 {
            if line.contains("database system is ready") {
                // somebody must go on reading, or the server waits
                std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
                return true;
            }
            line.clear();
        }
        self.stop();
        false
    }

    /// Stops the server and keeps its data.
    pub(crate) fn stop(&mut self) {
        std::fs::write(self.folder.join("keep"), "").unwrap();
        self.end();
        let _ = std::fs::remove_file(self.folder.join("keep"));
    }

    fn end(&mut self) {
        if let Some((mut child, stdin)) = self.running.take() {
            drop(stdin);
            child.wait().unwrap();
        }
    }

    /// The address of a new, empty database.
    pub(crate) fn database(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.tool("createdb", &[&name]);
        self.address(&name)
    }

    pub(crate) fn address(&self, database: &str) -> String {
        format!("postgres://tapster:hush-hush@127.0.0.1:{}/{database}", self.port)
    }

    /// Runs statements as the owner of the server.
    pub(crate) fn sql(&self, database: &str, statements: &str) {
        self.tool("psql", &["-v", "ON_ERROR_STOP=1", "-q", "-d", database, "-c", statements]);
    }

    fn tool(&self, tool: &str, args: &[&str]) {
        let port = self.port.to_string();
        let ran = Command::new(self.bin.join(tool)).args(["-h", "127.0.0.1", "-p", &port, "-U", "tapster"]).args(args).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The server that most tests share. It stops with this process.
pub(crate) fn shared() -> Option<&'static Server> {
    static SHARED: OnceLock<Option<Server>> = OnceLock::new();
    SHARED.get_or_init(|| Server::start("shared")).as_ref()
}

fn root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    String::from_utf8_lossy(&id.stdout).trim() == "0"
}

/// A command that `root` runs as the user `postgres`, because the server refuses to run as `root`.
pub(crate) fn as_other_user(program: &Path) -> Command {
    if !root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command
}
