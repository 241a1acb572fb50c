//! What the command line asks for; arguments of the usual test harness are understood and ignored.

/// The arguments.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Run cases that are named on standard input (the harness calls itself so).
    pub(crate) worker: bool,
    /// Only name the test.
    pub(crate) list: bool,
    /// Write better results into the floors.
    pub(crate) raise: bool,
    /// Show expected and actual of failing cases whose name contains this.
    pub(crate) diff: Option<String>,
    /// Suites whose name contains one of these; empty is all.
    words: Vec<String>,
}

impl Options {
    /// Reads the arguments and the environment.
    pub(crate) fn read() -> Self {
        let mut options = Self { diff: std::env::var("TAPSTER_DIFF").ok().filter(|d| !d.is_empty()), ..Self::default() };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--worker" => options.worker = true,
                "--list" => options.list = true,
                "--raise" => options.raise = true,
                "--diff" => options.diff = args.next(),
                "--skip" | "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => {
                    args.next();
                }
                flag if flag.starts_with('-') => {}
                // `cargo test conformance` filters by the name of the one test that this is
                "conformance" => {}
                word => options.words.push(word.to_owned()),
            }
        }
        options
    }

    /// Whether a suite is asked for.
    pub(crate) fn selects(&self, suite: &str) -> bool {
        self.words.is_empty() || self.words.iter().any(|w| suite.contains(w.as_str()))
    }

    /// Whether all suites are asked for.
    pub(crate) fn is_whole(&self) -> bool {
        self.words.is_empty()
    }
}
