//! Archives under `testdata`: listing, unpacking to a folder, unpacking to memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};

/// Folder of the bundled stores, relative to `testdata`: one folder for each generation.
const STORES: &str = "zvf";

/// The generation of cases that are named without one.
const NEWEST: &str = "0.9";

/// The folder of stores that must be refused.
const REFUSED: &str = "refused";

/// Folder inside every archive that holds the store itself.
const STORE: &str = "store.zarrvectors";

/// Returns the workspace's `testdata` folder.
#[must_use]
pub fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// Names the bundled 0.9 stores, ascending.
///
/// # Errors
///
/// When the folder cannot be listed or is empty.
pub fn cases() -> Result<Vec<String>> {
    archives(NEWEST)
}

/// Names the readable bundled stores of every generation as `generation/case`, ascending: `0.7/graph`. Every function
/// that takes a case takes such a name; one without a generation is of 0.9.
///
/// # Errors
///
/// When a folder cannot be listed or is empty.
pub fn all_cases() -> Result<Vec<String>> {
    let folder = testdata().join(STORES);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let generation = entry?.file_name();
        let generation = generation.to_str().context("a name is not UTF-8")?;
        if generation != REFUSED {
            names.extend(of(generation)?);
        }
    }
    names.sort();
    Ok(names)
}

/// Names the bundled stores that must be refused, or that are refused in part, as `refused/case`, ascending. Their
/// [`Case::expect`](crate::Case) lists the strings that the message must contain.
///
/// # Errors
///
/// When the folder cannot be listed or is empty.
pub fn refused_cases() -> Result<Vec<String>> {
    of(REFUSED)
}

fn of(generation: &str) -> Result<Vec<String>> {
    let cases = archives(generation)?;
    Ok(cases
        .iter()
        .map(|case| format!("{generation}/{case}"))
        .collect())
}

fn archives(generation: &str) -> Result<Vec<String>> {
    let folder = testdata().join(STORES).join(generation);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let name = entry?.file_name();
        if let Some(case) = name.to_str().and_then(|name| name.strip_suffix(".tar.gz")) {
            names.push(case.to_owned());
        }
    }
    ensure!(!names.is_empty(), "no archives in {}", folder.display());
    names.sort();
    Ok(names)
}

/// A bundled store in a folder: a temporary one, which is removed when this value is dropped, or one that all tests share.
#[derive(Debug)]
pub struct TempStore {
    folder: Folder,
}

#[derive(Debug)]
enum Folder {
    Own(tempfile::TempDir),
    /// The folder, and its state when this value was made.
    Shared(PathBuf, FolderState),
}

/// State of a folder, to detect changes: a test that changes a shared store would make other tests fail, also in later runs.
#[derive(Debug, Default, PartialEq, Eq)]
struct FolderState {
    files: u64,
    bytes: u64,
    newest: Option<SystemTime>,
}

impl FolderState {
    fn of(folder: &Path) -> std::io::Result<Self> {
        let mut state = Self::default();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                let meta = entry.metadata()?;
                if meta.is_dir() {
                    folders.push(entry.path());
                } else {
                    state.files += 1;
                    state.bytes += meta.len();
                    state.newest = state.newest.max(Some(meta.modified()?));
                }
            }
        }
        Ok(state)
    }
}

impl Drop for TempStore {
    /// Panics if a shared store was changed.
    fn drop(&mut self) {
        if let Folder::Shared(folder, before) = &self.folder
            && !std::thread::panicking()
        {
            let now = FolderState::of(folder);
            assert!(
                now.as_ref().is_ok_and(|now| now == before),
                "{} is shared by all tests and was changed ({before:?}, {now:?}): remove it, and use `unpack` in tests that write",
                folder.display()
            );
        }
    }
}

impl TempStore {
    /// Path of the store's root group.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let folder = match &self.folder {
            Folder::Own(folder) => folder.path(),
            Folder::Shared(folder, _) => folder,
        };
        folder.join(STORE)
    }

    /// The same path as a string, for the `zvf` program and `Store::open`.
    ///
    /// # Errors
    ///
    /// When the temporary folder's name is not UTF-8.
    pub fn url(&self) -> Result<String> {
        match self.path().into_os_string().into_string() {
            Ok(text) => Ok(text),
            Err(path) => bail!("{} is not UTF-8", path.display()),
        }
    }
}

/// Unpacks the store of one case into a fresh temporary folder.
///
/// # Errors
///
/// For an unknown case, a damaged archive, or a failure to write.
pub fn unpack(case: &str) -> Result<TempStore> {
    let folder = tempfile::Builder::new().prefix("zvf-").tempdir()?;
    unpack_into(case, folder.path())?;
    Ok(TempStore {
        folder: Folder::Own(folder),
    })
}

/// The store of one case in a folder below the target folder that all tests and runs share, for tests that only read it.
/// Tests of all stores would otherwise spend most of their time creating and removing tens of thousands of files.
///
/// # Errors
///
/// As [`unpack`].
pub fn unpacked(case: &str) -> Result<TempStore> {
    let archive = archive_path(case);
    let bytes = std::fs::read(&archive).with_context(|| format!("no bundled store {case}"))?;
    // Each version of an archive has its own folder.
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    let all = shared_folder();
    let name = format!("{}-{:016x}", case.replace('/', "-"), hasher.finish());
    let folder = all.join(name);
    if !folder.is_dir() {
        std::fs::create_dir_all(&all).with_context(|| all.display().to_string())?;
        let fresh = tempfile::Builder::new().prefix("new-").tempdir_in(&all)?;
        unpack_into(case, fresh.path())?;
        // The folder appears only when it is complete. If another test was faster, its folder has the same files.
        let renamed = std::fs::rename(fresh.path(), &folder);
        ensure!(
            renamed.is_ok() || folder.is_dir(),
            "{}: {renamed:?}",
            folder.display()
        );
    }
    let state = FolderState::of(&folder)?;
    Ok(TempStore {
        folder: Folder::Shared(folder, state),
    })
}

/// The folder of shared stores: below the target folder that the running program was built into, else below the system's temporary folder.
fn shared_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let target = program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file());
    target
        .map_or_else(std::env::temp_dir, |target| target.join("tmp"))
        .join("zvf-bundled")
}

/// Unpacks the store of one case into an existing folder.
///
/// # Errors
///
/// As [`unpack`].
pub fn unpack_into(case: &str, folder: &Path) -> Result<()> {
    let mut made = PathBuf::new();
    for (key, bytes) in files(case)? {
        let path = folder.join(STORE).join(key);
        if let Some(parent) = path.parent().filter(|parent| **parent != made) {
            std::fs::create_dir_all(parent)?;
            parent.clone_into(&mut made);
        }
        std::fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Returns every file of one case's store: key relative to the store's root (`0/vertices/c/0/0/0`) and content.
///
/// # Errors
///
/// For an unknown case or a damaged archive.
pub fn files(case: &str) -> Result<BTreeMap<String, Vec<u8>>> {
    let prefix = format!("{}/{STORE}/", split(case).1);
    let mut found = BTreeMap::new();
    read_archive(case, |name, bytes| {
        if let Some(key) = name.strip_prefix(&prefix) {
            found.insert(key.to_owned(), bytes);
        }
    })?;
    ensure!(!found.is_empty(), "archive {case} holds no store");
    Ok(found)
}

/// Returns one file that is beside the store in the archive: `case.json` or `truth.npz`.
pub(crate) fn side_file(case: &str, file: &str) -> Result<Vec<u8>> {
    let wanted = format!("{}/{file}", split(case).1);
    let mut found = None;
    read_archive(case, |name, bytes| {
        if name == wanted {
            found = Some(bytes);
        }
    })?;
    found.with_context(|| format!("archive {case} holds no {file}"))
}

/// The generation and the name of a case.
fn split(case: &str) -> (&str, &str) {
    case.split_once('/').unwrap_or((NEWEST, case))
}

fn archive_path(case: &str) -> PathBuf {
    let (generation, name) = split(case);
    testdata()
        .join(STORES)
        .join(generation)
        .join(format!("{name}.tar.gz"))
}

/// Calls `each` with the name and content of every regular file of an archive.
fn read_archive(case: &str, mut each: impl FnMut(&str, Vec<u8>)) -> Result<()> {
    let file =
        File::open(archive_path(case)).with_context(|| format!("no bundled store {case}"))?;
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path()?.into_owned();
        ensure!(
            path.components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir)),
            "{} leaves the archive",
            path.display()
        );
        let name = path.to_str().context("a name is not UTF-8")?;
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        each(name.strip_prefix("./").unwrap_or(name), bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_store_with_a_root_and_a_level() {
        for case in cases().unwrap() {
            let files = files(&case).unwrap();
            for key in ["zarr.json", "0/zarr.json", "0/vertices/zarr.json"] {
                assert!(files.contains_key(key), "{case} lacks {key}");
            }
        }
    }

    #[test]
    fn folder_and_memory_hold_the_same() {
        for store in [unpack("lines"), unpacked("lines"), unpacked("lines")] {
            let store = store.unwrap();
            for (key, bytes) in files("lines").unwrap() {
                assert_eq!(
                    std::fs::read(store.path().join(&key)).unwrap(),
                    bytes,
                    "{key}"
                );
            }
        }
    }

    #[test]
    fn refused_stores_are_separate_and_have_an_expected_message() {
        let all = all_cases().unwrap();
        for case in refused_cases().unwrap() {
            assert!(!all.contains(&case));
            assert!(!crate::case(&case).unwrap().expect.is_empty(), "{case}");
        }
    }

    #[test]
    fn an_unknown_case_is_named() {
        assert_eq!(
            unpack("nothing").unwrap_err().to_string(),
            "no bundled store nothing"
        );
    }
}
