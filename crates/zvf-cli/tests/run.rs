//! Runs the program and captures its output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The name of every bundled store in its folder.
pub(crate) const STORE: &str = "store.zarrvectors";

/// A folder with a bundled store, removed when it is dropped.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    /// The shared store; it detects changes by this test.
    _shared: Option<zvf_testkit::TempStore>,
}

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Home {
    /// A folder with a bundled store that is only read: all tests and runs share its files.
    pub(crate) fn new(case: &str) -> Result<Self> {
        #[cfg(unix)]
        {
            let folder = tempfile::tempdir()?;
            let shared = zvf_testkit::unpacked(case)?;
            std::os::unix::fs::symlink(shared.path(), folder.path().join(STORE))?;
            Ok(Self {
                folder,
                _shared: Some(shared),
            })
        }
        #[cfg(not(unix))]
        Self::to_damage(case)
    }

    /// A folder with its own copy of a bundled store.
    pub(crate) fn to_damage(case: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        zvf_testkit::unpack_into(case, folder.path())?;
        Ok(Self {
            folder,
            _shared: None,
        })
    }

    /// A folder with a store of these files.
    pub(crate) fn made(files: &[(&str, Vec<u8>)]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        for (key, bytes) in files {
            let path = folder.path().join(STORE).join(key);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, bytes)?;
        }
        Ok(Self {
            folder,
            _shared: None,
        })
    }

    /// The folder of the store, in which the program runs.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// A file beside the store.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Runs the program in the folder.
    pub(crate) fn zvf(&self, args: &[&str]) -> Result<Ran> {
        zvf_in(&self.path(), args)
    }

    /// Runs the program, which must succeed; returns its stdout as text.
    pub(crate) fn text(&self, args: &[&str]) -> Result<String> {
        let ran = self.zvf(args)?;
        if ran.code != 0 {
            bail!(
                "zvf {}: exit code {}: {}",
                args.join(" "),
                ran.code,
                ran.stderr
            );
        }
        String::from_utf8(ran.stdout).context("stdout is not text")
    }

    /// Validates a store, which must have no errors.
    pub(crate) fn validates(&self, store: &str) -> Result<()> {
        let ran = self.zvf(&["validate", store])?;
        if ran.code != 0 {
            bail!("{store}: {}", String::from_utf8_lossy(&ran.stdout));
        }
        Ok(())
    }

    /// Runs the program, which must succeed; returns its stdout as one JSON document.
    pub(crate) fn json(&self, args: &[&str]) -> Result<Value> {
        let text = self.text(args)?;
        serde_json::from_str(&text).with_context(|| text)
    }

    /// Names in the folder, sorted.
    pub(crate) fn names(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.path())? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }
}

/// Runs the program in a folder.
pub(crate) fn zvf_in(folder: &Path, args: &[&str]) -> Result<Ran> {
    let output = command(folder, args).output()?;
    let code = output.status.code().context("the program was killed")?;
    Ok(Ran {
        code,
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr)?,
    })
}

/// The program with its arguments, not started.
pub(crate) fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zvf"));
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command
}

/// Compares a text with the blessed one, or rewrites it if `ZVF_BLESS` is set.
pub(crate) fn blessed(name: &str, text: &str) -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/blessed")
        .join(name);
    if std::env::var_os("ZVF_BLESS").is_some() {
        return Ok(std::fs::write(&path, text)?);
    }
    let want = std::fs::read_to_string(&path)
        .with_context(|| format!("{}: run with ZVF_BLESS=1", path.display()))?;
    if want == text {
        return Ok(());
    }
    let differs = want
        .lines()
        .zip(text.lines())
        .position(|(want, got)| want != got);
    let line = differs.unwrap_or_else(|| want.lines().count().min(text.lines().count()));
    let (want, got) = (
        want.lines().nth(line).unwrap_or("<end>"),
        text.lines().nth(line).unwrap_or("<end>"),
    );
    bail!(
        "{name}, line {}:\nblessed: {want}\nfound:   {got}",
        line + 1
    );
}

/// All files below a folder with their bytes, by relative path; an entry that is neither a file nor a folder has no bytes.
pub(crate) fn files(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at)? {
            let path = entry?.path();
            let meta = std::fs::metadata(&path)?;
            if meta.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = match meta.is_file() {
                true => std::fs::read(&path)?,
                false => Vec::new(),
            };
            let key = path.strip_prefix(folder)?.to_string_lossy().into_owned();
            all.insert(key, bytes);
        }
    }
    Ok(all)
}
