//! Rules for footers: texts and counts within the limits of the reference, and no local folders.

use std::string::String;

use super::error::Error;
use super::history::{Footer, HistoryRow};
use crate::layout::MAX_RANK;

/// Longest text that the reference accepts, in bytes.
pub(crate) const TEXT: usize = 1024;
/// Longest metadata beside a footer that the reference accepts, in bytes.
pub(crate) const METADATA: usize = 16 << 20;

impl Footer {
    /// Checks that a writer takes the footer: texts of 1 to 1024 bytes, and counts within the limits of the reference implementation.
    ///
    /// # Errors
    /// [`Error::Misuse`] for a text or a count out of these limits.
    pub fn check(&self) -> Result<(), Error> {
        clean(&mut self.clone())
    }
}

/// Checks the texts of a footer, and removes local folders from it.
pub(crate) fn clean(footer: &mut Footer) -> Result<(), Error> {
    let check = |text: &str| {
        if text.is_empty() || text.len() > TEXT {
            Err(Error::misuse(
                "footer",
                "every text has 1 to 1024 bytes, as the reference implementation requires",
            ))
        } else {
            Ok(())
        }
    };
    let few = |fits: bool| {
        if fits {
            return Ok(());
        }
        Err(Error::misuse(
            "footer",
            "at most 4096 rows of 16 parents and 32 params, 256 datasets with 64 attributes, 8 axes, 64 labels each, as the reference implementation requires",
        ))
    };
    few(footer.history.len() <= 4096)?;
    for row in &mut footer.history {
        let HistoryRow {
            op,
            source,
            at,
            parents,
            params,
            ..
        } = row;
        few(parents.len() <= 16 && params.len() <= 32)?;
        for name in core::iter::once(source).chain(&mut *parents) {
            *name = without_folders(name);
            check(name)?;
        }
        let params = params.iter().flat_map(|(key, value)| [key, value]);
        for text in [&*op, &*at].into_iter().chain(params) {
            check(text)?;
        }
    }
    let Some(metadata) = &footer.metadata else {
        return Ok(());
    };
    few(metadata.datasets.len() <= 256)?;
    for text in metadata
        .file
        .iter()
        .flat_map(|file| [&file.tool, &file.library_version, &file.created_at])
        .flatten()
    {
        check(text)?;
    }
    for (name, entry) in &metadata.datasets {
        few(entry.attrs.len() <= 64
            && entry.dim_names.len() <= MAX_RANK
            && entry.coords.len() <= MAX_RANK)?;
        few(entry
            .coords
            .values()
            .all(|coords| coords.labels.len() <= 64))?;
        let attrs = entry.attrs.iter().flat_map(|(key, value)| [key, value]);
        let labels = entry.coords.values().flat_map(|coords| &coords.labels);
        for text in attrs
            .chain(&entry.dim_names)
            .chain(entry.coords.keys())
            .chain(labels)
            .chain([name])
        {
            check(text)?;
        }
    }
    Ok(())
}

/// The file name of an absolute local path; any other text unchanged.
fn without_folders(text: &str) -> String {
    let drive =
        matches!(text.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let absolute = text.starts_with(['/', '\\', '~']) || text.starts_with("file:") || drive;
    if !absolute {
        return text.into();
    }
    let name = text
        .rsplit(['/', '\\'])
        .find(|part| !part.is_empty())
        .unwrap_or("file");
    name.into()
}
