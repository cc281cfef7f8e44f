//! Rules about the type and role that an array declares.

use super::problem::{ArrayAt, ProblemList, list};
use super::table::Rule;
use crate::error::quote;
use crate::role::Role;

/// Compares the `zv_array` of a document with the expected value.
pub(super) fn says_that_it_is(wanted: &str, found: Option<&str>, problems: &mut ProblemList) {
    let (at, expected) = ("/attributes/zv_array", format_args!("{wanted:?}"));
    match found {
        None => problems
            .of(Rule::DiscriminatorThere)
            .add(at, "absent", expected),
        Some(found) if found != wanted => {
            problems
                .of(Rule::Discriminator)
                .add(at, quote(found), expected);
        }
        Some(_) => {}
    }
}

pub(super) fn discriminator(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if let Some(wanted) = array.role.discriminator() {
        says_that_it_is(wanted, array.doc.attributes.zv_array.as_deref(), problems);
    }
}

/// Readers assume `float32` if the dtype is absent.
pub(super) fn dtype_there(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let typed = array.role.attribute_name().is_some()
        || matches!(array.role, Role::Vertices | Role::Links { .. });
    if typed && array.doc.attributes.dtype.is_none() {
        problems.add("/attributes/dtype", "absent", "the type of the payload");
    }
}

/// Trap T14.
pub(super) fn dtype_object(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let dtype = array.doc.attributes.dtype.as_deref();
    if let Some("object" | "O" | "|O" | "|O8") = dtype {
        let expected = "a type whose bytes are values, not addresses";
        problems.add("/attributes/dtype", "\"object\"", expected);
    }
}

pub(super) fn encoding(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let allowed: &[&str] = match array.role {
        Role::Vertices | Role::CompositeVertices { .. } => &["raw", "draco"],
        Role::VertexFragments | Role::LinkFragments => &["fragment_index_v1"],
        Role::VertexAttribute { .. } | Role::FragmentAttribute { .. } => &["raw", "dictionary"],
        _ => return,
    };
    let found = array.doc.attributes.encoding.as_deref();
    if let Some(found) = found.filter(|found| !allowed.contains(found)) {
        problems.add("/attributes/encoding", quote(found), allowed.join(" or "));
    }
}

pub(super) fn encoding_readable(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if array.doc.attributes.encoding.as_deref() == Some("draco") {
        problems.add("/attributes/encoding", "\"draco\"", "\"raw\"");
    }
}

/// Compares the name in a document with the name in its path.
pub(super) fn has_name(wanted: &str, stored: Option<&str>, problems: &mut ProblemList) {
    if stored != Some(wanted) {
        let found = stored.map_or("absent".to_owned(), quote);
        problems.add("/attributes/name", found, quote(wanted));
    }
}

pub(super) fn attribute_name(array: ArrayAt<'_>, problems: &mut ProblemList) {
    if let Some(wanted) = array.role.attribute_name() {
        has_name(wanted, array.doc.attributes.name.as_deref(), problems);
    }
}

pub(super) fn row_shape(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let attributes = &array.doc.attributes;
    let Some(shape) = &attributes.row_shape else {
        return;
    };
    if shape.len() > 1 || shape.contains(&0) {
        problems.add("/attributes/row_shape", list(shape), "[] or [width]");
    } else if let Some(names) = &attributes.channel_names
        && attributes.declared_width() != u64::try_from(names.len()).ok()
    {
        let expected = format!("[{}], the number of channel names", names.len());
        problems.add("/attributes/row_shape", list(shape), expected);
    }
}

/// Returns whether a dtype text names an integer type, in any of NumPy's spellings.
fn is_integer(dtype: &str) -> bool {
    let dtype = dtype.trim_start_matches(['<', '>', '|', '=']);
    let digits = dtype
        .strip_prefix("uint")
        .or_else(|| dtype.strip_prefix("int"));
    let digits = digits
        .or_else(|| dtype.strip_prefix('i'))
        .or_else(|| dtype.strip_prefix('u'));
    digits.is_some_and(|digits| matches!(digits, "1" | "2" | "4" | "8" | "16" | "32" | "64"))
}

pub(super) fn categories(array: ArrayAt<'_>, problems: &mut ProblemList) {
    let attributes = &array.doc.attributes;
    if attributes.is_categorical() {
        if attributes.categories.is_none() {
            problems.add("/attributes/categories", "absent", "one value per code");
        }
        if let Some((at, odd)) = attributes.odd_category() {
            let expected = "categories that are all texts, all booleans or all numbers";
            problems.add(
                format!("/attributes/categories/{at}"),
                odd.to_string(),
                expected,
            );
        }
        if let Some((at, repeated)) = attributes.repeated_category() {
            problems.add(
                format!("/attributes/categories/{at}"),
                repeated.to_string(),
                "a value that differs from those of all other categories",
            );
        }
        if let Some(code) = attributes.fill_of_category() {
            let expected = "-1, or another number that is not the code of a category";
            problems.add("/attributes/_FillValue", code, expected);
        }
        let dtype = attributes.dtype.as_deref();
        if let Some(dtype) = dtype.filter(|dtype| !is_integer(dtype)) {
            let expected = "an integer type for codes";
            problems.add("/attributes/dtype", quote(dtype), expected);
        }
    }
}
