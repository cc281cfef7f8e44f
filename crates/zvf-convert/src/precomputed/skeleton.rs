//! Skeletons: `u32` vertices, `u32` edges, three `f32` for each vertex, two `u32` for each edge, then each attribute.

use serde_json::Value;
use zvf_write::AttributeSpec;

use super::collect::{CollectedColumn, CollectedObject};
use super::info::{JsonFile, number_type};
use super::record::ObjectBytes;
use crate::error::{ConvertError, shown};

/// Most components of an attribute.
const MOST_COMPONENTS: u64 = 1024;

/// The vertex attributes that `info` names.
///
/// # Errors
/// Malformed: an unknown type, an invalid number of components, a repeated name.
pub(super) fn fields(info: &JsonFile) -> Result<Vec<CollectedColumn>, ConvertError> {
    let mut fields: Vec<CollectedColumn> = Vec::new();
    for one in info.list(&info.value, "vertex_attributes")? {
        let name = info.text(one, "id")?;
        let kind = info.text(one, "data_type")?;
        let number = number_type(kind).ok_or_else(|| {
            let found = format!("attribute {} of the type {}", shown(name), shown(kind));
            info.bad(found, "float32, or a whole number of at most 32 bits")
        })?;
        let components = one.get("num_components").map_or(Some(1), Value::as_u64);
        let components = components.filter(|count| (1..=MOST_COMPONENTS).contains(count));
        let components = components.and_then(|count| usize::try_from(count).ok());
        let components = components.ok_or_else(|| {
            let found = format!("attribute {} without a number of components", shown(name));
            info.bad(found, format!("1 to {MOST_COMPONENTS}"))
        })?;
        if fields.iter().any(|field| field.spec.name == name) {
            return Err(info.bad(
                format!("a second attribute {}", shown(name)),
                "different names",
            ));
        }
        let spec = AttributeSpec::number(name, number).with_channels(components);
        fields.push(CollectedColumn::number(spec, number));
    }
    Ok(fields)
}

/// Decodes one skeleton.
///
/// # Errors
/// Malformed, by byte.
pub(super) fn decode(
    record: &ObjectBytes,
    fields: &[CollectedColumn],
) -> Result<CollectedObject, ConvertError> {
    let mut cursor = record.cursor();
    let vertices = cursor.count("a number of vertices")?;
    let edges = cursor.count("a number of edges")?;
    let numbers = vertices.saturating_mul(3);
    let positions = cursor.floats(numbers, "positions of vertices")?;
    let ends = edges.saturating_mul(2);
    let links = cursor.vertices(ends, vertices, "ends of edges")?;
    let mut columns = Vec::with_capacity(fields.len());
    for field in fields {
        let bytes = cursor.take(vertices, field.row_bytes(), &field.spec.name)?;
        columns.push(bytes.to_vec());
    }
    cursor.end()?;
    Ok(CollectedObject {
        key: record.key,
        positions,
        links,
        columns,
        ..CollectedObject::default()
    })
}

/// Edges as pairs of a child and its parent; `None` if they do not form trees. Pairs that already have this form are unchanged; otherwise the
/// first vertex of each tree becomes its root.
pub(super) fn rooted(vertices: usize, links: &[u64]) -> Option<Vec<u64>> {
    let (pairs, _) = links.as_chunks::<2>();
    let mut ends: Vec<[usize; 2]> = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let [a, b] = pair.map(|end| usize::try_from(end).unwrap_or(usize::MAX));
        ends.push([a, b]);
    }
    let mut groups = ConnectedVertices::new(vertices);
    let mut parents = vec![0_u32; vertices];
    for [a, b] in &ends {
        if !groups.join(*a, *b) {
            return None;
        }
        let count = parents.get_mut(*a)?;
        *count = count.saturating_add(1);
    }
    if parents.iter().all(|count| *count <= 1) {
        return Some(links.to_vec());
    }
    // Neighbours of each vertex as one list per vertex, concatenated.
    let mut starts = vec![0_usize; vertices.saturating_add(1)];
    for end in ends.iter().flatten() {
        let count = starts.get_mut(end.saturating_add(1))?;
        *count = count.saturating_add(1);
    }
    let mut sum = 0_usize;
    for start in &mut starts {
        sum = sum.saturating_add(*start);
        *start = sum;
    }
    let mut next = starts.clone();
    let mut neighbours = vec![0_usize; ends.len().saturating_mul(2)];
    for [a, b] in &ends {
        for (from, to) in [(a, b), (b, a)] {
            let place = next.get_mut(*from)?;
            *neighbours.get_mut(*place)? = *to;
            *place = place.saturating_add(1);
        }
    }
    let mut found = Vec::with_capacity(links.len());
    let mut seen = vec![false; vertices];
    let mut waiting = Vec::new();
    for root in 0..vertices {
        if std::mem::replace(seen.get_mut(root)?, true) {
            continue;
        }
        waiting.push(root);
        while let Some(parent) = waiting.pop() {
            let (start, end) = (*starts.get(parent)?, *starts.get(parent.saturating_add(1))?);
            for child in neighbours.get(start..end)? {
                if !std::mem::replace(seen.get_mut(*child)?, true) {
                    found.extend([*child as u64, parent as u64]);
                    waiting.push(*child);
                }
            }
        }
    }
    Some(found)
}

/// Disjoint sets of connected vertices: the parent of each vertex in its set. The smallest vertex represents the set.
struct ConnectedVertices(Vec<usize>);

impl ConnectedVertices {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The representative of the set of a vertex; compresses the path to it.
    fn find(&mut self, mut at: usize) -> Option<usize> {
        loop {
            let up = *self.0.get(at)?;
            if up == at {
                return Some(at);
            }
            let above = *self.0.get(up)?;
            *self.0.get_mut(at)? = above;
            at = above;
        }
    }

    /// Connects two vertices; false if they are already connected or do not exist.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (Some(a), Some(b)) = (self.find(a), self.find(b)) else {
            return false;
        };
        match (a == b, self.0.get_mut(a.max(b))) {
            (false, Some(slot)) => {
                *slot = a.min(b);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_hang_from_their_first_vertex_unless_every_vertex_has_one_parent_already() {
        // Pairs of a child and its parent are unchanged.
        assert_eq!(rooted(3, &[1, 0, 2, 1]), Some(vec![1, 0, 2, 1]));
        // As pairs of a child and its parent, vertex 3 would have three parents.
        assert_eq!(rooted(4, &[3, 0, 3, 1, 3, 2]), Some(vec![3, 0, 1, 3, 2, 3]));
        assert_eq!(rooted(3, &[0, 1, 1, 2, 2, 0]), None);
        assert_eq!(rooted(2, &[0, 1, 1, 0]), None);
        assert_eq!(rooted(1, &[0, 0]), None);
        assert_eq!(rooted(2, &[]), Some(vec![]));
    }
}
