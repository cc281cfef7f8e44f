//! Objects that are files: their ids and names.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use zvf_write::{ObjectTable, Values};

/// The file's name without its ending.
pub(crate) fn stem(path: &Path) -> String {
    let path = crate::format::unpacked(path).unwrap_or(path);
    path.file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The object that a file is, with its name.
pub(crate) fn object(id: i64, file: &Path) -> ObjectTable<'static> {
    ObjectTable::new(vec![id]).with_attribute("name", Values::texts([stem(file)]))
}

/// An id for every file: the numbers that the files are named by, if all are and all differ; else 0, 1, …
pub(crate) fn ids(files: &[PathBuf]) -> (Vec<i64>, bool) {
    let named: Option<Vec<i64>> = files.iter().map(|file| number(&stem(file))).collect();
    if let Some(ids) = named {
        let different: HashSet<i64> = ids.iter().copied().collect();
        if different.len() == ids.len() {
            return (ids, true);
        }
    }
    ((0..).take(files.len()).collect(), false)
}

/// A number as a program writes it: `007` and `+7` are names.
fn number(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Says where ids come from, for people.
pub(crate) fn note(ids: &[i64], by_name: bool) -> String {
    match (ids, by_name) {
        ([id], true) => format!("the file is object {id}, by its name"),
        ([id], false) => format!("the file is object {id}"),
        (_, true) => "every file is an object, its id is the file's name".to_owned(),
        (_, false) => "every file is an object, numbered from 0 in the order given".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_named_by_different_numbers_keep_them() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(ids(&paths(&["a/17.swc", "b/-4.swc"])), (vec![17, -4], true));
        assert_eq!(ids(&paths(&["a/17.swc", "b/17.swc"])), (vec![0, 1], false));
        assert_eq!(ids(&paths(&["007.swc"])), (vec![0], false));
        assert_eq!(ids(&paths(&["x.swc", "3.swc"])), (vec![0, 1], false));
    }
}
