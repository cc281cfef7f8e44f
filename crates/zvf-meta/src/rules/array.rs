//! Rules about the type and role that an array declares.

use super::{ArrayAt, LevelAt, Problem, Problems, Rule, list};
use crate::error::quote;
use crate::role::Role;

/// Compares `zv_array` of a document with the expected word.
pub(super) fn compare(problems: &mut Problems, found: Option<&str>, wanted: &str) {
    match found {
        None => problems.add(
            Rule::DiscriminatorThere,
            "/attributes/zv_array",
            "absent",
            format_args!("{wanted:?}"),
        ),
        Some(found) if found != wanted => {
            problems.add(
                Rule::Discriminator,
                "/attributes/zv_array",
                quote(found),
                format_args!("{wanted:?}"),
            );
        }
        Some(_) => {}
    }
}

fn discriminators(array: ArrayAt<'_>, rule: Rule) -> Vec<Problem> {
    let mut problems = array.problems();
    if let Some(wanted) = array.role.discriminator() {
        compare(
            &mut problems,
            array.doc.attributes.zv_array.as_deref(),
            wanted,
        );
    }
    let mut list = problems.done();
    list.retain(|problem| problem.rule == rule);
    list
}

/// Returns the problems against [`Rule::DiscriminatorThere`].
#[must_use]
pub fn discriminator_there(array: ArrayAt<'_>) -> Vec<Problem> {
    discriminators(array, Rule::DiscriminatorThere)
}

/// Returns the problems against [`Rule::Discriminator`].
#[must_use]
pub fn discriminator(array: ArrayAt<'_>) -> Vec<Problem> {
    discriminators(array, Rule::Discriminator)
}

/// Returns the problems against [`Rule::DtypeThere`]: without one, `float32` is assumed.
#[must_use]
pub fn dtype_there(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let typed = array.role.attribute_name().is_some()
        || matches!(array.role, Role::Vertices | Role::Links { .. });
    if typed && array.doc.attributes.dtype.is_none() {
        problems.add(
            Rule::DtypeThere,
            "/attributes/dtype",
            "absent",
            "the type of the payload",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::DtypeObject`] (trap T14).
#[must_use]
pub fn dtype_object(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if array
        .doc
        .attributes
        .dtype
        .as_deref()
        .is_some_and(|dtype| matches!(dtype, "object" | "O" | "|O" | "|O8"))
    {
        problems.add(
            Rule::DtypeObject,
            "/attributes/dtype",
            "\"object\"",
            "a type with bytes of its own",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::Encoding`].
#[must_use]
pub fn encoding(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let allowed: &[&str] = match array.role {
        Role::Vertices | Role::CompositeVertices { .. } => &["raw", "draco"],
        Role::VertexFragments | Role::LinkFragments => &["fragment_index_v1"],
        Role::VertexAttribute { .. } | Role::FragmentAttribute { .. } => &["raw", "dictionary"],
        _ => return problems.done(),
    };
    if let Some(found) = array
        .doc
        .attributes
        .encoding
        .as_deref()
        .filter(|found| !allowed.contains(found))
    {
        problems.add(
            Rule::Encoding,
            "/attributes/encoding",
            quote(found),
            allowed.join(" or "),
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::EncodingReadable`].
#[must_use]
pub fn encoding_readable(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    if array.doc.attributes.encoding.as_deref() == Some("draco") {
        problems.add(
            Rule::EncodingReadable,
            "/attributes/encoding",
            "\"draco\"",
            "\"raw\"",
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::AttributeName`].
#[must_use]
pub fn attribute_name(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let stored = array.doc.attributes.name.as_deref();
    if let Some(wanted) = array.role.attribute_name()
        && stored != Some(wanted)
    {
        let found = stored.map_or("absent".to_owned(), quote);
        problems.add(
            Rule::AttributeName,
            "/attributes/name",
            found,
            quote(wanted),
        );
    }
    problems.done()
}

/// Returns the problems against [`Rule::RowShape`].
#[must_use]
pub fn row_shape(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let attributes = &array.doc.attributes;
    let Some(shape) = &attributes.row_shape else {
        return problems.done();
    };
    if shape.len() > 1 || shape.contains(&0) {
        problems.add(
            Rule::RowShape,
            "/attributes/row_shape",
            list(shape),
            "[] or [width]",
        );
    } else if let Some(names) = &attributes.channel_names
        && attributes.declared_width() != u64::try_from(names.len()).ok()
    {
        let expected = format!("[{}], as there are names of channels", names.len());
        problems.add(
            Rule::RowShape,
            "/attributes/row_shape",
            list(shape),
            expected,
        );
    }
    problems.done()
}

/// Returns whether a dtype text names an integer type, in any of numpy's spellings.
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

/// Returns the problems against [`Rule::Categories`].
#[must_use]
pub fn categories(array: ArrayAt<'_>) -> Vec<Problem> {
    let mut problems = array.problems();
    let attributes = &array.doc.attributes;
    if attributes.is_categorical() {
        if attributes.categories.is_none() {
            problems.add(
                Rule::Categories,
                "/attributes/categories",
                "absent",
                "one value a code",
            );
        }
        if let Some(dtype) = attributes
            .dtype
            .as_deref()
            .filter(|dtype| !is_integer(dtype))
        {
            problems.add(
                Rule::Categories,
                "/attributes/dtype",
                quote(dtype),
                "an integer type for codes",
            );
        }
    }
    problems.done()
}

/// A group's document, for the rules that groups share with arrays.
pub(super) fn group_problems(level: LevelAt<'_>, path: &str) -> Problems {
    level.problems_at(path)
}
