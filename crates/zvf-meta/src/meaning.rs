//! The meaning of document members, from the declarations of the structs that hold them.

use crate::document::{Declared, Member};
use crate::{
    ArrayAttributes, ArrayDoc, LevelDoc, LinkFamilyDoc, Multiscale, ObjectIndexDoc, RootDoc,
    ZarrVectors,
};

/// Members that have no field in any struct.
const OTHERS: &[Member] = &[
    ("zarr_format", &["Version of Zarr; always 3."]),
    ("node_type", &["Group or array."]),
    (
        "zarr_vectors_level",
        &["The level: what makes this group a resolution level."],
    ),
    (
        "zvf_deleted",
        &["Ids of deleted objects: their rows stay until a vacuum."],
    ),
    ("parametric_types", &["Registry of parametric objects."]),
];

/// Returns the meaning of the member at `path` of a `zarr.json`: the first sentence of its documentation, without the period. `None`
/// for members that this crate does not know.
///
/// # Examples
///
/// ```
/// let meaning = zvf_meta::meaning("attributes.zarr_vectors_level.level");
/// assert_eq!(meaning.as_deref(), Some("level number; 0 is the finest"));
/// ```
#[must_use]
pub fn meaning(path: &str) -> Option<String> {
    let (place, name) = path.rsplit_once('.').unwrap_or(("", path));
    let tables: &[&[Member]] = match place {
        "" if name != "attributes" => &[ArrayDoc::MEMBERS, OTHERS],
        "chunk_grid.configuration" => &[ArrayDoc::MEMBERS],
        "attributes" => &[
            ArrayAttributes::MEMBERS,
            ObjectIndexDoc::MEMBERS,
            LinkFamilyDoc::MEMBERS,
            RootDoc::MEMBERS,
            OTHERS,
        ],
        "attributes.zarr_vectors" => &[ZarrVectors::MEMBERS],
        "attributes.zarr_vectors_level" => &[LevelDoc::MEMBERS],
        "attributes.multiscales.0" => &[Multiscale::MEMBERS],
        _ => &[],
    };
    let mut members = tables.iter().copied().flatten();
    let (_, lines) = members.find(|(member, _)| *member == name)?;
    let text = lines.concat().replace('`', "");
    let sentence = text.split(". ").next()?.trim().trim_end_matches('.');
    let mut letters = sentence.chars();
    let first = letters.next()?;
    let rest = letters.as_str();
    if rest.starts_with(char::is_uppercase) {
        return Some(sentence.to_owned());
    }
    Some(first.to_lowercase().chain(rest.chars()).collect())
}
