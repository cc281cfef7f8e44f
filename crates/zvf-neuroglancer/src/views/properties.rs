//! Object attributes and groups as properties of segments.

use std::collections::{HashMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use serde_json::{Value, json};
use zvf_store::{Names, Need};

use super::content::ViewContent;
use crate::columns::{ShownAttributes, valid_names};
use crate::error::Result;
use crate::plan::need;
use crate::plan::objects::{ObjectSegments, WHOLE};
use crate::precomputed::{NumericProperty, PropertyType, SegmentProperties};
use crate::units::identifier;
use crate::viewed_store::ViewedStore;

/// Largest number of segments of the document, which the viewer reads as a whole.
const MOST: usize = 100_000;

/// Largest number of groups that become tags.
const MOST_GROUPS: u64 = 256;

/// Columns of the list of objects that are not attributes.
const PLACES: [&str; 4] = ["object_id", "vertices", "chunks", "fragments"];

/// The document `info` of the first 100 000 segments.
///
/// # Errors
/// The errors of the list of objects and of the groups.
pub(crate) async fn info(opened: &ViewedStore) -> Result<ViewContent> {
    let objects = opened.objects().await?;
    let mut found = SegmentProperties {
        ids: (0..objects.len())
            .take(MOST)
            .filter_map(|number| objects.segment(number))
            .collect(),
        ..SegmentProperties::default()
    };
    if !objects.exist {
        found.ids = vec![WHOLE];
    }
    let mut attributes = ShownAttributes::default();
    let (mut lost, mut missing_texts) = (LostValues::default(), Vec::new());
    if let Some(first) = objects.batches.first() {
        attributes = ShownAttributes::of(&first.schema(), Some(first), &PLACES);
        // Replaces the identifiers in annotations: this document also has columns of texts, so it has other identifiers.
        let texts = texts(&objects.batches, first, &mut found);
        attributes.renamed = texts.renamed;
        lost = numbers(&objects.batches, first, &mut attributes, &mut found)?;
        missing_texts = texts.missing;
    }
    // Texts are shown as separate properties.
    let is_number = |name: &String| {
        let first = objects.batches.first();
        let column = first.and_then(|first| first.column_by_name(name));
        column.is_some_and(|column| *column.data_type() != DataType::Utf8)
    };
    attributes.left_out.retain(is_number);
    let groups = tags(opened, &objects, &mut found).await?;
    let left_out = u64::from(objects.len()).saturating_sub(MOST as u64);
    let mut document = found.document();
    document["zvf"] = attributes.remarks(true);
    document["zvf"]["segments_left_out"] = json!(left_out);
    if !groups.renamed.is_empty() {
        document["zvf"]["renamed_groups"] = json!(groups.renamed);
    }
    if !groups.attributes.is_empty() {
        document["zvf"]["group_attributes"] = json!(groups.attributes);
    }
    if groups.left_out > 0 {
        document["zvf"]["groups_left_out"] = json!(groups.left_out);
    }
    for (member, names) in [("infinite", lost.infinite), ("missing", lost.missing)] {
        if !names.is_empty() {
            document["zvf"][member] = json!(names);
        }
    }
    if !missing_texts.is_empty() {
        document["zvf"]["missing_texts"] = json!(missing_texts);
    }
    Ok(ViewContent::Document(document))
}

/// Names of columns of texts that the document changes.
#[derive(Debug, Default)]
struct ChangedTexts {
    /// Names that are not identifiers, each with its identifier in the document.
    renamed: Vec<[String; 2]>,
    /// Columns with missing texts, which are empty in the document: identifier, name, and the segments by their place in `ids`. `zvf import` reads them.
    missing: Vec<Value>,
}

/// Adds the columns of texts. The first one called `name` or `label` becomes the labels of the segments.
fn texts(
    batches: &[RecordBatch],
    first: &RecordBatch,
    found: &mut SegmentProperties,
) -> ChangedTexts {
    let mut changed = ChangedTexts::default();
    let schema = first.schema();
    let valid = valid_names(&schema);
    let mut taken = vec!["label".to_owned(), "tags".to_owned()];
    for field in first.schema().fields() {
        let is_text = match field.data_type() {
            DataType::Utf8 => true,
            DataType::Dictionary(_, values) => **values == DataType::Utf8,
            _ => false,
        };
        if !is_text {
            continue;
        }
        let columns = batches
            .iter()
            .map(|batch| batch.column_by_name(field.name()));
        let mut values: Vec<Option<String>> = Vec::new();
        for column in columns.flatten() {
            values.extend(texts_of(column));
        }
        values.truncate(MOST);
        if values.len() != found.ids.len() {
            continue;
        }
        let missing = values.iter().enumerate().filter(|(_, text)| text.is_none());
        let missing: Vec<usize> = missing.map(|(row, _)| row).collect();
        let values: Vec<String> = values.into_iter().map(Option::unwrap_or_default).collect();
        let is_label = ["name", "label"].contains(&field.name().as_str());
        let id = if is_label && found.labels.is_none() {
            found.labels = Some(values);
            "label".to_owned()
        } else {
            let mut names: Vec<&str> = taken.iter().map(String::as_str).collect();
            names.extend(valid.iter().filter(|name| *name != field.name()).copied());
            let id = identifier(field.name(), &names);
            if id != *field.name() {
                changed.renamed.push([field.name(), &id].map(String::clone));
            }
            taken.push(id.clone());
            found.strings.push((id.clone(), values));
            id
        };
        if !missing.is_empty() {
            let one = json!({"id": id, "attribute": field.name(), "segments": missing});
            changed.missing.push(one);
        }
    }
    changed
}

/// The text of each row of a column of texts; `None` where it is missing.
fn texts_of(column: &ArrayRef) -> Vec<Option<String>> {
    if let Some(texts) = column.as_string_opt::<i32>() {
        return texts.iter().map(|text| text.map(str::to_owned)).collect();
    }
    let coded = column.as_any_dictionary_opt();
    let coded = coded.and_then(|coded| Some((coded, coded.values().as_string_opt::<i32>()?)));
    let Some((coded, names)) = coded.filter(|(_, names)| !names.is_empty()) else {
        return vec![None; column.len()];
    };
    let text = |(row, key): (usize, usize)| {
        let has_text = !column.is_null(row) && key < names.len() && !names.is_null(key);
        has_text.then(|| names.value(key).to_owned())
    };
    let keys = coded.normalized_keys().into_iter().enumerate();
    keys.map(text).collect()
}

/// Names of attributes with values that the document represents as 0.
#[derive(Debug, Default)]
struct LostValues {
    infinite: Vec<String>,
    /// Attributes with missing values or NaN.
    missing: Vec<String>,
}

/// Adds attributes of numbers, and their new names to `renamed`; returns the names of attributes with values that the document cannot
/// represent.
fn numbers(
    batches: &[RecordBatch],
    first: &RecordBatch,
    attributes: &mut ShownAttributes,
    found: &mut SegmentProperties,
) -> Result<LostValues> {
    let mut lost = LostValues::default();
    let mut taken: Vec<String> = vec!["label".to_owned(), "tags".to_owned()];
    taken.extend(found.strings.iter().map(|(id, _)| id.clone()));
    for attribute in &attributes.shown {
        let column = attribute.column(first);
        if column.is_some_and(|(field, _)| matches!(field.data_type(), DataType::Dictionary(..))) {
            continue;
        }
        let mut values = Vec::new();
        for batch in batches {
            values.extend(attribute.numbers(batch)?);
        }
        if attribute.kind() == PropertyType::Float32 {
            let far = values
                .iter_mut()
                .filter(|value| value.abs() > f64::from(f32::MAX));
            far.for_each(|value| *value = f64::INFINITY.copysign(*value));
        }
        let width = attribute.width();
        let written = values.iter().take(MOST.saturating_mul(width)).copied();
        if written.clone().any(f64::is_infinite) {
            lost.infinite.push(attribute.name().to_owned());
        }
        if written.clone().any(f64::is_nan) {
            lost.missing.push(attribute.name().to_owned());
        }
        for part in 0..width {
            let column = values.chunks(width.max(1)).take(MOST);
            let column = column.filter_map(|row| row.get(part).copied());
            let part_of = |name: &str| match width {
                1 => name.to_owned(),
                _ => format!("{name}_{part}"),
            };
            let names: Vec<&str> = taken.iter().map(String::as_str).collect();
            let id = identifier(&part_of(attribute.id()), &names);
            let stored = part_of(attribute.name());
            if id != stored {
                attributes.renamed.push([stored, id.clone()]);
            }
            taken.push(id.clone());
            found.numbers.push(NumericProperty {
                id,
                kind: attribute.kind(),
                description: attribute.description().map(str::to_owned),
                values: column.collect(),
            });
        }
    }
    Ok(lost)
}

/// What tags change or lack in comparison with groups.
#[derive(Debug, Default)]
struct ChangedGroups {
    /// Names that cannot be tags, each with its tag.
    renamed: Vec<[String; 2]>,
    /// The number of groups without a tag.
    left_out: u64,
    /// Names of attributes of groups, which tags cannot represent.
    attributes: Vec<String>,
}

/// The tags of groups: their names, unless a name has a space or `#`, is empty, or is the name of an earlier group. Such a group gets a tag
/// that is not the name of another group.
fn tag_names(names: &[String]) -> Vec<String> {
    let illegal = |c: char| c.is_whitespace() || c == '#';
    let is_valid = |name: &str| !name.is_empty() && !name.contains(illegal);
    let mut free: HashSet<&str> = names.iter().map(String::as_str).collect();
    free.retain(|name| is_valid(name));
    let mut taken: HashSet<String> = free.iter().map(|name| (*name).to_owned()).collect();
    let tags = names.iter().enumerate().map(|(group, name)| {
        if free.remove(name.as_str()) {
            return name.clone();
        }
        let plain = match name.is_empty() {
            true => format!("group_{group}"),
            false => name.replace(illegal, "_"),
        };
        let mut tag = plain.clone();
        let mut number = 1;
        while !taken.insert(tag.clone()) {
            number += 1;
            tag = format!("{plain}_{number}");
        }
        tag
    });
    tags.collect()
}

/// Adds the groups as tags.
async fn tags(
    opened: &ViewedStore,
    objects: &ObjectSegments,
    found: &mut SegmentProperties,
) -> Result<ChangedGroups> {
    let need = Need {
        groups: true,
        group_attributes: Names::All,
        ..need()
    };
    let level = opened.store.level(0, &need).await?;
    let Some(groups) = level.groups().filter(|groups| !groups.is_empty()) else {
        return Ok(ChangedGroups::default());
    };
    let rows: HashMap<u64, usize> = found.ids.iter().copied().zip(0..).collect();
    let many = groups.len().min(MOST_GROUPS);
    let names: Vec<String> = (0..many).map(|group| groups.name(group)).collect();
    let tags = tag_names(&names);
    let mut values = vec![Vec::new(); found.ids.len()];
    for (group, tag) in (0..many).zip(0u32..) {
        for id in groups.members(group).await? {
            let row = objects
                .segment_of(id)
                .and_then(|segment| rows.get(&segment));
            let tags: Option<&mut Vec<u32>> = row.and_then(|row| values.get_mut(*row));
            if let Some(tags) = tags.filter(|tags| tags.last() != Some(&tag)) {
                tags.push(tag);
            }
        }
    }
    let renamed = names.into_iter().zip(&tags);
    let renamed = renamed.filter(|(name, tag)| name != *tag);
    let changed = ChangedGroups {
        renamed: renamed.map(|(name, tag)| [name, tag.clone()]).collect(),
        left_out: groups.len() - many,
        attributes: level
            .group_attributes()
            .iter()
            .map(|attribute| attribute.name().to_owned())
            .collect(),
    };
    found.tags = Some((tags, values));
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::tag_names;

    #[test]
    fn names_that_are_tags_stay_whatever_the_others_become() {
        let names = ["a b", "a_b", "a_b_2", "", "B,\t\"q\"", "#x", "a_b", "é"].map(str::to_owned);
        let tags = tag_names(&names);
        assert_eq!(
            tags,
            [
                "a_b_3", "a_b", "a_b_2", "group_3", "B,_\"q\"", "_x", "a_b_4", "é"
            ]
        );
        // The tag of a group without a name may be the name of another group.
        let names = ["", "group_0"].map(str::to_owned);
        assert_eq!(tag_names(&names), ["group_0_2", "group_0"]);
    }
}
