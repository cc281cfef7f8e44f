//! What a footer must be for every reader: texts and counts within the limits of the reference, no folders of this machine.

use std::string::String;

use crate::history::{Footer, HistoryRow};
use crate::layout::MAX_RANK;
use crate::trouble::Error;

/// Longest text that the reference takes, in bytes.
pub(crate) const TEXT: usize = 1024;

/// Checks the texts of a footer, and takes the folders of this machine out of it.
pub(crate) fn clean(footer: &mut Footer) -> Result<(), Error> {
    let check = |text: &str| {
        if text.is_empty() || text.len() > TEXT {
            Err(Error::misuse(
                "footer",
                "every text has 1 to 1024 bytes, as the reference asks",
            ))
        } else {
            Ok(())
        }
    };
    for row in &mut footer.history {
        let HistoryRow {
            op,
            source,
            at,
            parents,
            params,
            ..
        } = row;
        for name in core::iter::once(source).chain(&mut *parents) {
            *name = without_folders(name);
            check(name)?;
        }
        let params = params.iter().flat_map(|(key, value)| [key, value]);
        for text in [&*op, &*at].into_iter().chain(params) {
            check(text)?;
        }
    }
    if let Some(metadata) = &footer.metadata {
        // Limits of the reference, which does not read what is over them.
        let entries = metadata.datasets.values();
        let fits = metadata.datasets.len() <= 256
            && entries.clone().all(|entry| {
                entry.attrs.len() <= 64
                    && entry.dim_names.len() <= MAX_RANK
                    && entry.coords.len() <= MAX_RANK
                    && entry
                        .coords
                        .values()
                        .all(|coords| coords.labels.len() <= 64)
            });
        if !fits || footer.history.len() > 4096 {
            return Err(Error::misuse(
                "footer",
                "at most 4096 rows, 256 datasets with 64 attributes, 8 axes, 64 labels each, as the reference asks",
            ));
        }
    }
    let datasets = footer
        .metadata
        .iter()
        .flat_map(|metadata| &metadata.datasets);
    for (name, entry) in datasets {
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

/// The file name of an absolute path of this machine, and everything else as it is.
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
