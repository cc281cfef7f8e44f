//! Object attributes and groups as properties of segments.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use serde_json::json;
use zvf_store::Need;

use super::content::ViewContent;
use crate::columns::ShownAttributes;
use crate::error::Result;
use crate::plan::need;
use crate::plan::objects::{ObjectSegments, WHOLE};
use crate::precomputed::{NumericProperty, SegmentProperties};
use crate::units::identifier;
use crate::viewed_store::ViewedStore;

/// Largest number of segments of the document, which the viewer reads as a whole.
const MOST: usize = 100_000;

/// Largest number of groups that become tags.
const MOST_GROUPS: u64 = 256;

/// Columns of the list of objects that are no attributes.
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
    let mut infinite = Vec::new();
    if let Some(first) = objects.batches.first() {
        attributes = ShownAttributes::of(&first.schema(), Some(first), &PLACES);
        texts(&objects.batches, first, &mut found);
        infinite = numbers(&objects.batches, first, &attributes, &mut found)?;
    }
    // Texts are shown as properties of their own.
    let is_number = |name: &String| {
        let first = objects.batches.first();
        let column = first.and_then(|first| first.column_by_name(name));
        column.is_some_and(|column| *column.data_type() != DataType::Utf8)
    };
    attributes.left_out.retain(is_number);
    tags(opened, &objects, &mut found).await?;
    let left_out = u64::from(objects.len()).saturating_sub(MOST as u64);
    let mut document = found.document();
    document["zvf"] = json!({
        "segments_left_out": left_out,
        "left_out": attributes.left_out,
        "rounded": attributes.rounded,
    });
    if !infinite.is_empty() {
        document["zvf"]["infinite"] = json!(infinite);
    }
    Ok(ViewContent::Document(document))
}

/// Columns of texts: the first one called `name` or `label` has the names of segments.
fn texts(batches: &[RecordBatch], first: &RecordBatch, found: &mut SegmentProperties) {
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
        let mut values: Vec<String> = Vec::new();
        for column in columns.flatten() {
            values.extend((0..column.len()).map(|row| text(column.as_ref(), row)));
        }
        values.truncate(MOST);
        if values.len() != found.ids.len() {
            continue;
        }
        let is_label = ["name", "label"].contains(&field.name().as_str());
        if is_label && found.labels.is_none() {
            found.labels = Some(values);
        } else {
            let names: Vec<&str> = taken.iter().map(String::as_str).collect();
            let id = identifier(field.name(), &names);
            taken.push(id.clone());
            found.strings.push((id, values));
        }
    }
}

/// The text of one row; empty if it is missing.
fn text(column: &dyn Array, row: usize) -> String {
    if column.is_null(row) {
        return String::new();
    }
    if let Some(texts) = column.as_string_opt::<i32>() {
        return texts.value(row).to_owned();
    }
    let text = column.as_any_dictionary_opt().and_then(|dictionary| {
        let key = *dictionary.normalized_keys().get(row)?;
        let names = dictionary.values().as_string_opt::<i32>()?;
        (key < names.len()).then(|| names.value(key).to_owned())
    });
    text.unwrap_or_default()
}

/// Adds attributes of numbers; returns the names of those with infinite values, which the document has as 0.
fn numbers(
    batches: &[RecordBatch],
    first: &RecordBatch,
    attributes: &ShownAttributes,
    found: &mut SegmentProperties,
) -> Result<Vec<String>> {
    let mut infinite = Vec::new();
    let mut taken: Vec<String> = vec!["label".to_owned(), "tags".to_owned()];
    taken.extend(found.strings.iter().map(|(id, _)| id.clone()));
    for attribute in &attributes.shown {
        let is_text = first
            .schema()
            .field_with_name(attribute.column())
            .is_ok_and(|field| matches!(field.data_type(), DataType::Dictionary(..)));
        if is_text {
            continue;
        }
        let mut values = Vec::new();
        for batch in batches {
            values.extend(attribute.numbers(batch)?);
        }
        let width = attribute.width();
        let written = values.iter().take(MOST.saturating_mul(width));
        if written.copied().any(f64::is_infinite) {
            infinite.push(attribute.column().to_owned());
        }
        for part in 0..width {
            let column = values.chunks(width.max(1)).take(MOST);
            let column = column.filter_map(|row| row.get(part).copied());
            let name = match width {
                1 => attribute.id().to_owned(),
                _ => format!("{}_{part}", attribute.id()),
            };
            let names: Vec<&str> = taken.iter().map(String::as_str).collect();
            let id = identifier(&name, &names);
            taken.push(id.clone());
            found.numbers.push(NumericProperty {
                id,
                kind: attribute.kind(),
                description: attribute.description().map(str::to_owned),
                values: column.collect(),
            });
        }
    }
    Ok(infinite)
}

/// Groups as tags.
async fn tags(
    opened: &ViewedStore,
    objects: &ObjectSegments,
    found: &mut SegmentProperties,
) -> Result<()> {
    let need = Need {
        groups: true,
        ..need()
    };
    let level = opened.store.level(0, &need).await?;
    let Some(groups) = level.groups().filter(|groups| !groups.is_empty()) else {
        return Ok(());
    };
    let rows: HashMap<u64, usize> = found.ids.iter().copied().zip(0..).collect();
    let mut tags: Vec<String> = Vec::new();
    let mut values = vec![Vec::new(); found.ids.len()];
    for (group, tag) in (0..groups.len().min(MOST_GROUPS)).zip(0u32..) {
        let name: String = groups.name(group);
        let mut name: String = name
            .chars()
            .map(|c| {
                if c.is_whitespace() || c == '#' {
                    '_'
                } else {
                    c
                }
            })
            .collect();
        if name.is_empty() || tags.contains(&name) {
            name = format!("group_{group}");
        }
        tags.push(name);
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
    found.tags = Some((tags, values));
    Ok(())
}
