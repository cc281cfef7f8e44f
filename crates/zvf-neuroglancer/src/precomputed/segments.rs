//! Names, tags and numbers of segments, inline in one document.

use serde_json::{Value, json};

use super::PropertyType;

/// One number of every segment.
#[derive(Debug, Clone, PartialEq)]
pub struct NumericProperty {
    /// Identifier.
    pub id: String,
    /// Type: not a colour.
    pub kind: PropertyType,
    /// Description of the values.
    pub description: Option<String>,
    /// A value for each segment; values that are not finite are written as 0, since JSON cannot represent them.
    pub values: Vec<f64>,
}

/// Properties of segments.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SegmentProperties {
    /// Ids.
    pub ids: Vec<u64>,
    /// A name for each segment.
    pub labels: Option<Vec<String>>,
    /// Further texts: an identifier, and a text for each segment.
    pub strings: Vec<(String, Vec<String>)>,
    /// Tags, without blanks, and for each segment the numbers of its tags, ascending.
    pub tags: Option<(Vec<String>, Vec<Vec<u32>>)>,
    /// Numbers.
    pub numbers: Vec<NumericProperty>,
}

impl SegmentProperties {
    /// The document `info`.
    #[must_use]
    pub fn document(&self) -> Value {
        let mut properties = Vec::new();
        if let Some(labels) = &self.labels {
            properties.push(json!({"id": "label", "type": "label", "values": labels}));
        }
        for (id, values) in &self.strings {
            properties.push(json!({"id": id, "type": "string", "values": values}));
        }
        if let Some((tags, values)) = &self.tags {
            properties.push(json!({"id": "tags", "type": "tags", "tags": tags, "values": values}));
        }
        for number in &self.numbers {
            let finite = |value: &f64| if value.is_finite() { *value } else { 0.0 };
            let values = number.values.iter().map(finite);
            let values: Vec<Value> = match number.kind {
                PropertyType::Float32 => values.map(|value| json!(value)).collect(),
                _ => values.map(whole).collect(),
            };
            let mut property = json!({
                "id": number.id,
                "type": "number",
                "data_type": number.kind.name(),
                "values": values,
            });
            if let Some(description) = &number.description {
                property["description"] = json!(description);
            }
            properties.push(property);
        }
        let ids: Vec<String> = self.ids.iter().map(u64::to_string).collect();
        json!({
            "@type": "neuroglancer_segment_properties",
            "inline": {"ids": ids, "properties": properties},
        })
    }
}

/// A number for JSON: whole numbers without a fraction.
#[expect(
    clippy::cast_possible_truncation,
    reason = "values of 32-bit types; others are clamped by the cast"
)]
fn whole(value: f64) -> Value {
    json!(value as i64)
}
