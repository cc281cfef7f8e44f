//! What is known already: a file that grows by a line with each result, so that a run that was stopped goes on.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::Outcome;

/// Texts by name.
#[derive(Debug)]
pub(super) struct Record {
    file: File,
    known: BTreeMap<String, String>,
}

impl Record {
    /// Reads the file, or begins one.
    pub(super) fn open(path: &Path) -> Outcome<Self> {
        let text = match path.exists() {
            true => std::fs::read_to_string(path)?,
            false => String::new(),
        };
        // The last line of a run that was killed may be cut.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let pairs = whole.lines().filter_map(|line| line.split_once('\t'));
        let known: BTreeMap<String, String> = pairs
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .collect();
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        if text.len() > whole.len() + 1 {
            file.write_all(b"\n")?;
        }
        Ok(Self { file, known })
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.known.get(name).map(String::as_str)
    }

    pub(super) fn add(&mut self, name: &str, text: &str) -> Outcome {
        self.file
            .write_all(format!("{name}\t{}\n", text.replace('\n', " ")).as_bytes())?;
        self.known.insert(name.to_owned(), text.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_killed_goes_on() -> Outcome {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("record.tsv");
        Record::open(&path)?.add("a", "found")?;
        std::fs::write(&path, [std::fs::read(&path)?.as_slice(), b"b\tno"].concat())?;
        let mut record = Record::open(&path)?;
        assert_eq!((record.get("a"), record.get("b")), (Some("found"), None));
        record.add("c", "two\nlines")?;
        assert_eq!(Record::open(&path)?.get("c"), Some("two lines"));
        Ok(())
    }
}
