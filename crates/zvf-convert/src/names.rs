//! Ids and names of objects, if each file is one.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use zvf_write::{ObjectTable, Values};

use crate::error::ConvertError;
use crate::format::stem;
use crate::ids::{IdMap, ObjectIds};

/// An object table with the object of a file, whose name is the file's.
pub(crate) fn object(id: i64, file: &Path) -> ObjectTable {
    ObjectTable::new(vec![id]).with_attribute("name", Values::texts([stem(file)]))
}

/// The ids of files that are objects, and whether file names or an offset determine them. With [`ObjectIds::Kept`], the names are the ids if they
/// are different numbers; otherwise the ids are 0, 1, …
///
/// # Errors
/// Misuse: two files would get the same id, or a file no id.
pub(crate) fn ids(files: &[PathBuf], rule: ObjectIds) -> Result<(Vec<i64>, bool), ConvertError> {
    let named: Option<Vec<i64>> = files.iter().map(|file| number(&stem(file))).collect();
    let differ = |ids: &Vec<i64>| {
        let different: HashSet<i64> = ids.iter().copied().collect();
        different.len() == ids.len()
    };
    match (rule, named) {
        (ObjectIds::FromFile, _) => Ok((crate::ids::numbers(files)?, true)),
        (ObjectIds::Kept, Some(ids)) if differ(&ids) => Ok((ids, true)),
        (ObjectIds::Offset { .. }, named) => {
            let own = named.unwrap_or_else(|| vec![0; files.len()]);
            let mut map = IdMap::new(rule, files)?;
            let ids = own.into_iter().enumerate();
            let ids = ids.map(|(file, id)| {
                let wrong = |(found, expected): (String, String)| {
                    let what = files
                        .get(file)
                        .map_or_else(String::new, |file| file.display().to_string());
                    ConvertError::usage(what, found, expected)
                };
                map.id(file, id).map_err(wrong)
            });
            Ok((ids.collect::<Result<_, _>>()?, true))
        }
        _ => Ok(((0..).take(files.len()).collect(), false)),
    }
}

/// Parses a number in its usual form; `None` for `007` and `+7`, which are names.
fn number(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// The note about the source of ids.
pub(crate) fn note(ids: &[i64], by_name: bool, rule: ObjectIds) -> String {
    match (ids, rule) {
        ([id], ObjectIds::Offset { .. }) => {
            format!("the file is object {id}, by the offset of ids")
        }
        (_, ObjectIds::Offset { .. }) => {
            "every file is an object, its id is given by the offset of ids".to_owned()
        }
        ([id], _) if by_name => format!("the file is object {id}, by its name"),
        ([id], _) => format!("the file is object {id}"),
        _ if by_name => "every file is an object, its id is the file's name".to_owned(),
        _ => "every file is an object, numbered from 0 in the order given".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_named_by_different_numbers_keep_them() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let ids = |names: &[&str], rule| ids(&paths(names), rule).unwrap();
        let kept = ObjectIds::Kept;
        assert_eq!(ids(&["a/17.swc", "b/-4.swc"], kept), (vec![17, -4], true));
        assert_eq!(ids(&["a/17.swc", "b/17.swc"], kept), (vec![0, 1], false));
        assert_eq!(ids(&["007.swc"], kept), (vec![0], false));
        assert_eq!(ids(&["x.swc", "3.swc"], kept), (vec![0, 1], false));
        assert_eq!(
            ids(&["17.swc", "3.swc"], ObjectIds::New),
            (vec![0, 1], false)
        );
        let from_file = ObjectIds::FromFile;
        assert_eq!(ids(&["x-7.swc", "003.swc"], from_file), (vec![7, 3], true));
        let offset = ObjectIds::Offset {
            step: 100,
            first: 0,
        };
        assert_eq!(ids(&["17.swc", "b/17.swc"], offset), (vec![17, 117], true));
        assert_eq!(ids(&["x.swc", "y.swc"], offset), (vec![0, 100], true));
    }
}
