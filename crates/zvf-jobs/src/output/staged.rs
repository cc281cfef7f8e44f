//! A file or directory that appears under its name only when it is complete.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use crate::JobError;
use crate::checks::check_outside;
use crate::error::Result;

/// Files and folders under temporary names.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The files and folders that have temporary names now. The handler of a signal that ends the program must remove them, since destructors do not run
/// then. While the guard is held, no file is begun or renamed.
pub fn unfinished_files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes a file or directory if it exists.
pub fn remove_path(path: &Path) {
    // Errors are ignored: destructors and the interrupt handler, which call this, cannot report them.
    let _ = match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
}

/// A folder inside the system's folder for temporary files. It is removed when the value is dropped or the program is interrupted.
#[derive(Debug)]
pub struct TemporaryFolder(TempDir);

impl TemporaryFolder {
    /// A new, empty folder.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn new() -> io::Result<Self> {
        // Held until the folder is on the list, so that no interrupt misses it.
        let mut unfinished = unfinished_files();
        let folder = tempfile::tempdir()?;
        unfinished.insert(folder.path().to_owned());
        Ok(Self(folder))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        remove_path(self.path());
        unfinished_files().remove(self.path());
    }
}

/// Fails if a folder, which is or was at `target`, has other entries than those of an earlier result with these names.
fn only_ours(folder: &Path, target: &Path, ours: &[String]) -> Result<()> {
    let failed = || JobError::file("list the files of", target);
    for entry in fs::read_dir(folder).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let name = entry.file_name();
        let is_known = ours.iter().any(|our| name == **our);
        if !is_known || !is_result(&entry).map_err(failed())? {
            return Err(JobError::usage(format!(
                "{}: found {:?} in the directory, expected nothing or an earlier result of this command: remove it, or give another directory",
                target.display(),
                name.to_string_lossy()
            )));
        }
    }
    Ok(())
}

/// Whether an entry of a folder can be of an earlier result: a file, or a view for Neuroglancer. A store may have the name of a view.
fn is_result(entry: &fs::DirEntry) -> io::Result<bool> {
    let kind = entry.file_type()?;
    if !kind.is_dir() {
        return Ok(kind.is_file());
    }
    let path = entry.path();
    let info = fs::read(path.join("info")).unwrap_or_default();
    let name = b"\"neuroglancer_";
    let is_view = info.windows(name.len()).any(|part| part == name);
    Ok(is_view && !path.join("zarr.json").exists())
}

/// A file or folder with a temporary name beside its target. [`commit`](Self::commit) renames it; it is removed if the value is dropped before, or the
/// program is interrupted.
#[derive(Debug)]
pub struct Staged {
    target: PathBuf,
    temporary: PathBuf,
    /// The names in an earlier result, which a new folder replaces.
    ours: Vec<String>,
    committed: bool,
}

impl Staged {
    /// Reserves a temporary name for the file `target`; nothing is created yet.
    ///
    /// # Errors
    ///
    /// Usage, when `target` has no name, or is a directory, a URL or a path inside a store; I/O, when its parent does not exist.
    pub fn file(target: &Path) -> Result<Self> {
        if target.is_dir() {
            return Err(JobError::usage(format!(
                "{}: found a directory, expected a file or nothing there",
                target.display()
            )));
        }
        Self::beside(target)
    }

    /// A new, empty directory that will be `target`.
    ///
    /// # Errors
    ///
    /// Usage, when `target` has no name, or is a file, a directory with entries other than `ours`, a URL or a path inside a store; I/O.
    pub fn directory(target: &Path, ours: &[&str]) -> Result<Self> {
        if target.exists() && !target.is_dir() {
            let found = if is_special(target) {
                "a device or a pipe"
            } else {
                "a file"
            };
            return Err(JobError::usage(format!(
                "{}: found {found}, expected a directory or nothing there; --format writes one table to it",
                target.display()
            )));
        }
        let ours: Vec<String> = ours.iter().map(|name| (*name).to_owned()).collect();
        if target.is_dir() {
            only_ours(target, target, &ours)?;
        }
        let mut staged = Self::beside(target)?;
        staged.ours = ours;
        fs::create_dir(&staged.temporary).map_err(JobError::file("create", target))?;
        Ok(staged)
    }

    fn beside(target: &Path) -> Result<Self> {
        check_outside(target)?;
        if target.to_str().is_some_and(|text| text.contains("://")) {
            return Err(JobError::usage(format!(
                "{}: found a URL, expected a path: this result is written to a local disk",
                target.display()
            )));
        }
        let Some(name) = target.file_name() else {
            return Err(JobError::usage(format!(
                "{}: found no name of a file, expected a path that ends in one",
                target.display()
            )));
        };
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if !parent.is_dir() {
            let error = io::Error::new(io::ErrorKind::NotFound, "its directory does not exist");
            return Err(JobError::file("write", target)(error));
        }
        // Two writers may have the same number, in one process or in two containers.
        let (own, unique) = (std::process::id(), zvf_encode::target::unique());
        let name = format!(".{}.{own}-{unique:x}.partial", name.to_string_lossy());
        let temporary = target.with_file_name(name);
        remove_path(&temporary);
        unfinished_files().insert(temporary.clone());
        Ok(Self {
            target: target.to_owned(),
            temporary,
            ours: Vec::new(),
            committed: false,
        })
    }

    /// The temporary path to write to.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.temporary
    }

    /// Renames it to its target, which is replaced if it exists.
    ///
    /// # Errors
    ///
    /// I/O; the target is unchanged then.
    pub fn commit(mut self) -> Result<PathBuf> {
        let failed = |error| JobError::file("write", &self.target)(error);
        // Held during all renames: an interrupt between two of them would leave neither the old nor the new folder.
        let mut unfinished = unfinished_files();
        if self.temporary.is_dir() && self.target.is_dir() {
            // A rename cannot replace a directory: the old one is renamed first, and renamed back if the second rename fails.
            let mut aside = self.temporary.clone().into_os_string();
            aside.push(".old");
            let aside = PathBuf::from(aside);
            fs::rename(&self.target, &aside).map_err(failed)?;
            // Files of others may have come there since the beginning.
            if let Err(error) = only_ours(&aside, &self.target, &self.ours) {
                let _ = fs::rename(&aside, &self.target);
                return Err(error);
            }
            if let Err(error) = fs::rename(&self.temporary, &self.target) {
                let _ = fs::rename(&aside, &self.target);
                return Err(failed(error));
            }
            remove_path(&aside);
        } else {
            fs::rename(&self.temporary, &self.target).map_err(failed)?;
        }
        unfinished.remove(&self.temporary);
        drop(unfinished);
        self.committed = true;
        Ok(self.target.clone())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.committed {
            remove_path(&self.temporary);
            unfinished_files().remove(&self.temporary);
        }
    }
}

/// Whether the path is neither a file nor a directory: a device, a pipe, a socket. Follows symbolic links.
#[must_use]
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_folder_is_on_the_list_until_it_is_dropped() -> io::Result<()> {
        let folder = TemporaryFolder::new()?;
        let path = folder.path().to_owned();
        fs::write(path.join("a"), "x")?;
        assert!(unfinished_files().contains(&path));
        drop(folder);
        assert!(!unfinished_files().contains(&path));
        assert!(!path.exists());
        Ok(())
    }

    #[test]
    fn dropped_leaves_nothing_and_committed_replaces() -> io::Result<()> {
        let home = tempfile::tempdir()?;
        let target = home.path().join("out.csv");
        let staged = Staged::file(&target).unwrap();
        fs::write(staged.path(), "half")?;
        drop(staged);
        assert_eq!(fs::read_dir(home.path())?.count(), 0);
        fs::write(&target, "old")?;
        let staged = Staged::file(&target).unwrap();
        fs::write(staged.path(), "new")?;
        staged.commit().unwrap();
        assert_eq!(fs::read_to_string(&target)?, "new");
        assert_eq!(fs::read_dir(home.path())?.count(), 1);
        Ok(())
    }

    #[test]
    fn only_our_directories_are_replaced() -> io::Result<()> {
        let home = tempfile::tempdir()?;
        let target = home.path().join("out");
        for round in 0..2 {
            let staged = Staged::directory(&target, &["a"]).unwrap();
            fs::write(staged.path().join("a"), round.to_string())?;
            staged.commit().unwrap();
        }
        assert_eq!(fs::read_to_string(target.join("a"))?, "1");
        fs::write(target.join("thesis.txt"), "years of work")?;
        assert!(Staged::directory(&target, &["a"]).is_err());
        assert!(target.join("thesis.txt").exists());
        fs::remove_file(target.join("thesis.txt"))?;
        // A view that was exported before, and a store with the name of a view.
        let view = target.join("skeletons");
        fs::create_dir(&view)?;
        fs::write(view.join("info"), "{\"@type\": \"neuroglancer_skeletons\"}")?;
        drop(Staged::directory(&target, &["a", "skeletons"]).unwrap());
        fs::write(view.join("zarr.json"), "{}")?;
        assert!(Staged::directory(&target, &["a", "skeletons"]).is_err());
        fs::remove_file(view.join("info"))?;
        fs::remove_file(view.join("zarr.json"))?;
        assert!(Staged::directory(&target, &["a", "skeletons"]).is_err());
        assert!(view.is_dir());
        assert!(Staged::file(&target).is_err());
        assert!(Staged::directory(&target.join("a"), &["a"]).is_err());
        assert!(Staged::file(&home.path().join("no/where.csv")).is_err());
        Ok(())
    }
}
