//! Servers of other people on free ports of this machine, which end with the process that started them.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Names the interpreter that has the servers; `cargo xtask test` sets it.
pub const PYTHON: &str = "ZVF_SERVERS_PYTHON";

/// How long a server may take to start.
const START: Duration = Duration::from_secs(60);

/// Which server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// moto: S3 in memory. The buckets `data`, `public` and `denied` hold what lies in the folder; see `servers.py`.
    S3,
    /// moto, which checks signatures and permissions. Its words: key and secret of one user who may read and list, and
    /// of one who may only read.
    Signed,
    /// Werkzeug's files: ranges, ETags, times. It has no listings: a folder is denied.
    Files,
    /// Python's own file server: it ignores ranges and lists folders as pages.
    Plain,
    /// S3's answer for a bucket of another region, to everything.
    Elsewhere,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Signed => "signed",
            Self::Files => "files",
            Self::Plain => "plain",
            Self::Elsewhere => "elsewhere",
        }
    }
}

/// A server that runs until this value goes away. It also ends when this process dies, whatever kills it: it waits for the
/// end of its input, which only this process holds open.
#[derive(Debug)]
pub struct Server {
    child: Child,
    _input: Option<ChildStdin>,
    url: String,
    words: Vec<String>,
}

impl Server {
    /// Starts a server over a folder and waits, but not for ever, until it answers.
    ///
    /// # Errors
    ///
    /// When there is no interpreter with servers, or the server does not start.
    pub fn start(kind: Kind, folder: &Path) -> Result<Self> {
        let python = std::env::var_os(PYTHON).with_context(|| {
            format!("{PYTHON} is not set: these tests are run by `cargo xtask test`")
        })?;
        let mut child = Command::new(python)
            .arg(script())
            .arg(kind.word())
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take();
        let mut server = Self {
            child,
            _input: input,
            url: String::new(),
            words: Vec::new(),
        };
        let (sender, receiver) = mpsc::channel();
        let mut lines = BufReader::new(output.context("no output")?).lines();
        std::thread::spawn(move || {
            let first = lines.next();
            // Nobody waits any more when the start took too long.
            let _ = sender.send(first);
        });
        match receiver.recv_timeout(START) {
            Ok(Some(line)) => {
                let line = line?;
                let mut words = line.split_whitespace().map(str::to_owned);
                server.url = words.next().context("no address")?;
                server.words = words.collect();
            }
            Ok(None) => bail!("the {} server ended at once", kind.word()),
            Err(_) => bail!("the {} server did not start in {START:?}", kind.word()),
        }
        Ok(server)
    }

    /// `http://127.0.0.1:PORT`
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What the server said beside its address.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing to say about it then.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/servers.py")
}
