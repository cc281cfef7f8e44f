//! Checks of options that several jobs share.

use std::path::Path;

use zvf_store::writing::store_at_or_around;

use crate::JobError;

/// Checks sizes along axes: at least one, each finite and above 0.
pub(crate) fn sizes(member: &str, sizes: Option<&[f64]>) -> Result<(), JobError> {
    let Some(sizes) = sizes else { return Ok(()) };
    if sizes.is_empty() {
        return Err(JobError::option(
            member,
            "an empty list",
            "a size for each axis",
        ));
    }
    numbers(member, sizes, "a finite size above 0", |size| size > 0.0)
}

/// Checks that all numbers are finite and `legal`.
pub(crate) fn numbers(
    member: &str,
    numbers: &[f64],
    expected: &str,
    legal: impl Fn(f64) -> bool,
) -> Result<(), JobError> {
    match numbers
        .iter()
        .position(|one| !(one.is_finite() && legal(*one)))
    {
        Some(at) => {
            let found = numbers.get(at).map_or_else(String::new, f64::to_string);
            Err(JobError::option(
                &format!("{member}[{at}]"),
                found,
                expected,
            ))
        }
        None => Ok(()),
    }
}

/// Refuses more than one of these options. Each is its member's name, and whether it is given.
pub(crate) fn at_most_one(options: &[(&str, bool)]) -> Result<(), JobError> {
    let mut given = options.iter().filter(|(_, given)| *given);
    match (given.next(), given.next()) {
        (Some((member, _)), Some((other, _))) => {
            let found = format!("`{other}` as well");
            Err(JobError::option(member, found, "one of the two"))
        }
        _ => Ok(()),
    }
}

/// Refuses an option that is given while one of `others` is not.
pub(crate) fn needs(
    (member, given): (&str, bool),
    others: &[(&str, bool)],
) -> Result<(), JobError> {
    match others.iter().find(|(_, there)| given && !there) {
        Some((other, _)) => {
            let found = format!("no `{other}`");
            Err(JobError::option(member, found, "it as well"))
        }
        None => Ok(()),
    }
}

/// Refuses a path to write to that is a store or is inside one.
///
/// # Errors
///
/// Misuse.
pub fn check_outside(path: &Path) -> Result<(), JobError> {
    match store_at_or_around(path) {
        None => Ok(()),
        Some(store) => Err(JobError::usage(format!(
            "{}: is in the folder of the store {}, expected a place outside of every store",
            path.display(),
            store.display()
        ))),
    }
}

/// Refuses an output file inside a store, which could replace a cell or a document.
pub(crate) fn outside(member: &str, path: Option<&Path>) -> Result<(), JobError> {
    match path.and_then(|path| Some((path, store_at_or_around(path)?))) {
        Some((path, store)) => {
            let found = format!(
                "{} in the folder of the store {}",
                path.display(),
                store.display()
            );
            Err(JobError::option(
                member,
                found,
                "a place outside of every store",
            ))
        }
        None => Ok(()),
    }
}
