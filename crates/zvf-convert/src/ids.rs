//! Ids of the objects of several files.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::{ConvertError, shown};
use crate::format::stem;

/// How the objects of files get their ids. Files never share an object: an id that occurs in two files is an error, unless the rule makes
/// the two ids different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ObjectIds {
    /// Ids from the files: a column, or object names that are numbers. Without them, objects are numbered from 0 through all files.
    #[default]
    Kept,
    /// Numbers from 0, through all files, in the order in which objects occur.
    New,
    /// Each file is one object; its id is the only number in the name of the file, such as 17 of `sub-017.csv`.
    FromFile,
    /// Ids from the files (objects without ids are numbered from 0 in each file), plus `step * (first + k)` for file
    /// k, counted from 0.
    Offset {
        /// The difference between the offsets of two consecutive files.
        step: i64,
        /// The factor for the first file: 0 for a new store, 1 if the store already has objects.
        first: i64,
    },
}

/// The advice if two files contain the same id.
pub(crate) const WAYS_OUT: &str = "different ids in all files: --id-offset N adds N to the ids of one file, 2 N to those of the next and so on, \
     --id-from-file makes each file one object by the number in its name, --new-ids gives all objects new numbers";

/// Assigns ids to the objects of files, and detects ids that two files would share.
#[derive(Debug)]
pub struct IdMap {
    rule: ObjectIds,
    files: Vec<PathBuf>,
    /// For [`ObjectIds::FromFile`]: the ids of the files.
    of_files: Vec<i64>,
    /// The file and the id in it, by assigned id.
    given: HashMap<i64, (usize, i64)>,
    /// For [`ObjectIds::New`]: the assigned id, by file and id in it.
    new: HashMap<(usize, i64), i64>,
}

impl IdMap {
    /// A map to which no ids are assigned yet.
    ///
    /// # Errors
    /// Misuse: names of files that cannot be ids of objects.
    pub fn new(rule: ObjectIds, files: &[PathBuf]) -> Result<Self, ConvertError> {
        Ok(Self {
            rule,
            files: files.to_vec(),
            of_files: match rule {
                ObjectIds::FromFile => numbers(files)?,
                _ => Vec::new(),
            },
            given: HashMap::new(),
            new: HashMap::new(),
        })
    }

    /// The id that object `id` of file number `file` gets.
    ///
    /// # Cost
    /// About 50 bytes for each object; nothing for a single file with [`ObjectIds::Kept`], whose ids are unchanged.
    ///
    /// # Errors
    /// The found and expected texts, if two objects would get the same id, an id exceeds 64 bits, or there is no file `file`.
    pub fn id(&mut self, file: usize, id: i64) -> Result<i64, (String, String)> {
        let place = i64::try_from(file).unwrap_or(i64::MAX);
        let number = match self.rule {
            ObjectIds::Kept if self.files.len() < 2 => return Ok(id),
            ObjectIds::Kept => id,
            ObjectIds::New => {
                let next = i64::try_from(self.new.len()).unwrap_or(i64::MAX);
                return Ok(*self.new.entry((file, id)).or_insert(next));
            }
            ObjectIds::FromFile => self.of_files.get(file).copied().ok_or_else(|| {
                let expected = format!("one of {} files", self.of_files.len());
                (format!("file number {file}"), expected)
            })?,
            ObjectIds::Offset { step, first } => {
                let times = first.checked_add(place);
                let shift = times.and_then(|times| step.checked_mul(times));
                shift
                    .and_then(|shift| shift.checked_add(id))
                    .ok_or_else(|| {
                        let expected = "ids of 64 bits, also with --id-offset".to_owned();
                        (format!("object {id}"), expected)
                    })?
            }
        };
        match self.given.entry(number) {
            Entry::Vacant(free) => {
                free.insert((file, id));
                Ok(number)
            }
            Entry::Occupied(one) if *one.get() == (file, id) => Ok(number),
            Entry::Occupied(one) => {
                let (other, own) = *one.get();
                if other == file {
                    let found = format!("objects {own} and {id}");
                    let expected = "one object a file, with --id-from-file".to_owned();
                    return Err((found, expected));
                }
                let other = self
                    .files
                    .get(other)
                    .map_or(Path::new(""), PathBuf::as_path);
                let found = match self.rule {
                    ObjectIds::Kept => {
                        format!("object {id}, which {} also has", other.display())
                    }
                    _ => format!(
                        "object {id}, which would get the id {number} of object {own} of {}",
                        other.display()
                    ),
                };
                Err((found, WAYS_OUT.to_owned()))
            }
        }
    }
}

/// The number in the name of each file.
///
/// # Errors
/// Misuse: a name without a number or with several, a number that two names have.
pub(crate) fn numbers(files: &[PathBuf]) -> Result<Vec<i64>, ConvertError> {
    let mut numbers: Vec<i64> = Vec::with_capacity(files.len());
    let mut known: HashMap<i64, &Path> = HashMap::new();
    for file in files {
        let name = stem(file);
        // Digits of an escape such as %20 are not part of the name.
        let is_escaped =
            name.contains('%') && file.to_str().is_some_and(|text| text.contains("://"));
        let number = number_in(&name).filter(|_| !is_escaped).ok_or_else(|| {
            let expected = match is_escaped {
                true => "one whole number in the name, and in a URL no escapes",
                false => "one whole number in the name, such as sub-017",
            };
            ConvertError::usage(
                format!("--id-from-file: {}", file.display()),
                shown(&name),
                expected,
            )
        })?;
        if let Some(other) = known.insert(number, file) {
            return Err(ConvertError::usage(
                format!("--id-from-file: {}", file.display()),
                format!("{number}, as in the name of {}", other.display()),
                "a different number in each name",
            ));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

/// A name that is a number, or the only run of digits in it.
fn number_in(name: &str) -> Option<i64> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    let mut runs = name
        .split(|c: char| !c.is_ascii_digit())
        .filter(|run| !run.is_empty());
    let run = runs.next()?;
    runs.next().is_none().then(|| run.parse().ok())?
}

/// The ids of the objects of each file, for formats without ids. `counts` are the numbers of objects of the files.
///
/// # Errors
/// Misuse: two files would share ids; ids exceed 64 bits; ids from file names, but a file with several objects.
pub(crate) fn ranges(
    rule: ObjectIds,
    files: &[PathBuf],
    counts: &[u64],
) -> Result<Vec<Range<i64>>, ConvertError> {
    let name = |at: usize| files.get(at).map(|file| file.display().to_string());
    let name = |at: usize| name(at).unwrap_or_default();
    let mut next = 0_i64;
    let named = match rule {
        ObjectIds::FromFile => {
            if let Some((at, count)) = counts.iter().enumerate().find(|(_, count)| **count != 1) {
                let what = format!("--id-from-file: {}", name(at));
                let found = format!("{count} objects");
                return Err(ConvertError::usage(what, found, "one object a file"));
            }
            numbers(files)?
        }
        _ => Vec::new(),
    };
    let mut ranges: Vec<Range<i64>> = Vec::with_capacity(counts.len());
    for (at, count) in counts.iter().enumerate() {
        let start = match rule {
            ObjectIds::Kept | ObjectIds::New => Some(next),
            ObjectIds::FromFile => named.get(at).copied(),
            ObjectIds::Offset { step, first } => {
                let times = i64::try_from(at).ok().and_then(|at| first.checked_add(at));
                times.and_then(|times| step.checked_mul(times))
            }
        };
        let end = start.and_then(|start| start.checked_add_unsigned(*count));
        let Some((start, end)) = start.zip(end) else {
            let found = format!("no ids for {}", name(at));
            return Err(ConvertError::usage("object ids", found, "ids of 64 bits"));
        };
        // All steps are equal, so a range can only overlap the previous one that is not empty.
        let mut before = ranges.iter().enumerate();
        let before = before.rfind(|(_, before)| !before.is_empty());
        let overlaps =
            |before: &Range<i64>| start < end && before.start < end && start < before.end;
        if let Some((other, before)) = before.filter(|(_, before)| overlaps(before)) {
            let found = format!("{} and {} with the same ids", name(other), name(at));
            let most = count.max(&before.start.abs_diff(before.end)).to_owned();
            let expected =
                format!("--id-offset {most} or more, so that each file has ids of its own");
            return Err(ConvertError::usage("object ids", found, expected));
        }
        next = end;
        ranges.push(start..end);
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn two_files_never_share_an_object() {
        let names = files(&["a/o3.csv", "b/o4.csv"]);
        let mut kept = IdMap::new(ObjectIds::Kept, &names).unwrap();
        assert_eq!(
            (kept.id(0, 7), kept.id(0, 7), kept.id(1, 8)),
            (Ok(7), Ok(7), Ok(8))
        );
        let (found, expected) = kept.id(1, 7).unwrap_err();
        assert_eq!(found, "object 7, which a/o3.csv also has");
        for way in ["--id-offset", "--id-from-file", "--new-ids"] {
            assert!(expected.contains(way), "{expected}");
        }
        let mut new = IdMap::new(ObjectIds::New, &names).unwrap();
        assert_eq!(
            (new.id(0, 7), new.id(1, 7), new.id(0, 7)),
            (Ok(0), Ok(1), Ok(0))
        );
        let rule = ObjectIds::Offset {
            step: 100,
            first: 0,
        };
        let mut moved = IdMap::new(rule, &names).unwrap();
        assert_eq!((moved.id(0, 7), moved.id(1, 7)), (Ok(7), Ok(107)));
        assert!(moved.id(0, 107).is_err());
        let rule = ObjectIds::Offset {
            step: i64::MAX,
            first: 1,
        };
        assert!(IdMap::new(rule, &names).unwrap().id(1, 7).is_err());
        let mut by_name = IdMap::new(ObjectIds::FromFile, &names).unwrap();
        assert_eq!((by_name.id(0, 7), by_name.id(1, 7)), (Ok(3), Ok(4)));
        assert!(by_name.id(0, 8).is_err());
    }

    #[test]
    fn one_number_in_a_name_is_an_id() {
        let ids = |names: &[&str]| numbers(&files(names));
        assert_eq!(
            ids(&["sub-017.csv", "x/-4.csv", "42.csv.gz", "s3://b/s-7.zv"]).unwrap(),
            [17, -4, 42, 7]
        );
        for wrong in [
            &["a.csv"][..],
            &["a1b2.csv"],
            &["a1.csv", "b01.csv"],
            &["s3://b/sub%207.zv"],
        ] {
            assert!(ids(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn files_that_only_number_objects_get_ranges() {
        let names = files(&["a1.trk", "a2.trk", "a5.trk"]);
        let starts = |rule, counts: &[u64]| {
            let ranges = ranges(rule, &names, counts).map_err(|error| error.to_string())?;
            let lengths = ranges.iter().map(|one| one.start.abs_diff(one.end));
            assert!(lengths.eq(counts.iter().copied()));
            Ok::<_, String>(ranges.into_iter().map(|one| one.start).collect::<Vec<_>>())
        };
        assert_eq!(starts(ObjectIds::Kept, &[3, 0, 2]).unwrap(), [0, 3, 3]);
        assert_eq!(starts(ObjectIds::FromFile, &[1, 1, 1]).unwrap(), [1, 2, 5]);
        assert!(starts(ObjectIds::FromFile, &[1, 2, 1]).is_err());
        let rule = ObjectIds::Offset { step: 10, first: 1 };
        assert_eq!(starts(rule, &[10, 3, 99]).unwrap(), [10, 20, 30]);
        let error = starts(rule, &[11, 3, 99]).unwrap_err();
        assert!(
            error.contains("a1.trk and a2.trk") && error.contains("--id-offset 11"),
            "{error}"
        );
        let rule = ObjectIds::Offset {
            step: -10,
            first: 0,
        };
        assert_eq!(starts(rule, &[11, 10, 1]).unwrap(), [0, -10, -20]);
        assert!(starts(rule, &[1, 11, 1]).is_err());
        // Files without objects have no ids.
        let rule = ObjectIds::Offset { step: 0, first: 0 };
        assert!(
            starts(rule, &[3, 0, 3])
                .unwrap_err()
                .contains("a1.trk and a5.trk")
        );
        let rule = ObjectIds::Offset { step: 3, first: 0 };
        assert_eq!(starts(rule, &[5, 0, 1]).unwrap(), [0, 3, 6]);
    }
}
