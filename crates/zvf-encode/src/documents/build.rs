//! The documents of a new store, with the members that the released writers use (0.9 §5 to §7).

use serde_json::{Value, json};
use zvf_format::dtype::DType;
use zvf_format::keys::{cmp_ascii, format_key};
use zvf_meta::capabilities::FRAGMENT_LINK_GROUPS;
use zvf_meta::rules::Severity;
use zvf_meta::space::Grid;
use zvf_meta::{
    ArrayAttributes, ArrayDoc, Axis, DataType, Dataset, GroupDoc, JsonObject, KeyList, Multiscale,
    Multiscales, Ome, OmeNode, RootDoc, Transform, ZarrVectors,
};

use crate::WriteError;
use crate::documents::array::{INDEX, array_doc};
use crate::level::cell::ChunkEncoder;
use crate::level::shard::LevelCells;
use crate::spec::store::{AttributeSpec, AttributeType, StoreSpec};
use crate::spec::target_version::DocumentMembers;
use zvf_format::int::wide;

/// Makes the document of the array of cells at `path`, once the cells are encoded. `present` lists the chunks that have a cell; `attributes` describes
/// the items.
pub fn grid_doc(
    cells: &LevelCells,
    path: &str,
    present: KeyList,
    attributes: ArrayAttributes,
) -> ArrayDoc {
    let (chunk_shape, codecs) = cells.of_items(items(&attributes)).document(path);
    let lengths = cells.shard_lengths(path);
    let attributes = ArrayAttributes {
        shard_lengths: (!lengths.is_empty()).then_some(lengths),
        nonempty_chunks: Some(present),
        chunk_grid_origin: cells
            .grid
            .origin
            .iter()
            .any(|&o| o != 0)
            .then(|| cells.grid.origin.clone()),
        ..attributes
    };
    let data_type = DataType::named("variable_length_bytes");
    array_doc(
        cells.grid.shape.clone(),
        data_type,
        chunk_shape,
        Value::from(""),
        codecs,
        attributes,
    )
}

/// Bytes of an item in an array of cells: of a number, or of a row of indices.
fn items(attributes: &ArrayAttributes) -> usize {
    let number = attributes
        .dtype
        .as_deref()
        .and_then(|one| one.parse::<DType>().ok());
    number.map_or(INDEX, |number| number.size())
}

/// Makes a presence list (0.9 §7.2): the chunk keys in ASCII order.
///
/// # Errors
/// Limit: more keys than one list can count.
pub fn presence<'c>(chunks: impl IntoIterator<Item = &'c [i64]>) -> Result<KeyList, WriteError> {
    let mut chunks: Vec<&[i64]> = chunks.into_iter().collect();
    chunks.sort_unstable_by(|a, b| cmp_ascii(a, b));
    let mut list = KeyList::new();
    for chunk in &chunks {
        list.push(&format_key(chunk).to_string()).map_err(|_| {
            WriteError::limit(
                "keys of one presence list",
                wide(chunks.len()),
                u64::from(u32::MAX),
            )
        })?;
    }
    Ok(list)
}

/// Makes the attributes of the array `vertices`.
pub fn vertices(spec: &StoreSpec) -> ArrayAttributes {
    ArrayAttributes {
        zv_array: Some("vertices".to_owned()),
        dtype: Some(spec.positions.to_string()),
        encoding: Some("raw".to_owned()),
        ..ArrayAttributes::default()
    }
}

/// Makes the attributes of `vertex_fragments` or `link_fragments`, depending on `name`.
pub fn fragments(name: &str) -> ArrayAttributes {
    ArrayAttributes {
        zv_array: Some(name.to_owned()),
        encoding: Some("fragment_index_v1".to_owned()),
        ..ArrayAttributes::default()
    }
}

/// Makes the attributes of the array of an attribute: name, width (trap T8), channel names (trap T9), unit and description.
pub fn channels(spec: &AttributeSpec) -> ArrayAttributes {
    ArrayAttributes {
        name: Some(spec.name.clone()),
        row_shape: Some(if spec.channels == 1 {
            Vec::new()
        } else {
            vec![wide(spec.channels)]
        }),
        channel_names: spec.shown_channels(),
        unit: spec.unit.clone(),
        description: spec.description.clone(),
        ..ArrayAttributes::default()
    }
}

/// Makes the attributes of `vertex_attributes/<name>`, the vertex attribute number `at` of the specification.
pub(crate) fn vertex_attribute(
    spec: &AttributeSpec,
    at: usize,
    encoder: &ChunkEncoder<'_>,
) -> Result<ArrayAttributes, WriteError> {
    let mut attributes = ArrayAttributes {
        zv_array: Some("attribute".to_owned()),
        dtype: Some(encoder.stored_type(at)?.to_string()),
        ..channels(spec)
    };
    if let Some(dictionary) = encoder.dictionary(at) {
        attributes.encoding = Some("dictionary".to_owned());
        // The categories are added when the document is written.
        attributes.categories = Some(Vec::new());
        attributes.ordered = Some(false);
        attributes.fill_code = dictionary.missing.then_some(-1);
    }
    Ok(attributes)
}

/// Makes the root document of a store with one level. `bounds` are the lowest and the highest corner, `name` is the name in the OME metadata.
pub fn root(spec: &StoreSpec, bounds: (Vec<f64>, Vec<f64>), name: &str) -> RootDoc {
    let bins = spec.bin_shape.as_ref().unwrap_or(&spec.chunk_shape);
    let zarr_vectors = ZarrVectors {
        zv_version: spec.target.version().to_owned(),
        chunk_shape: spec.chunk_shape.clone(),
        bounds,
        geometry_types: vec![spec.kind.name().to_owned()],
        base_bin_shape: spec.bin_shape.clone(),
        links_convention: Some(spec.convention().name().to_owned()),
        object_index_convention: Some("standard".to_owned()),
        cross_chunk_strategy: Some("explicit_links".to_owned()),
        crs: spec.crs.clone(),
        coordinate_offset: spec.coordinate_offset.clone(),
        attribute_specs: attribute_specs(spec),
        ..ZarrVectors::default()
    };
    let transforms = vec![
        Transform::Scale {
            scale: vec![1.0; spec.dims()],
            extra: JsonObject::new(),
        },
        Transform::Translation {
            translation: bins.iter().map(|bin| bin / 2.0).collect(),
            extra: JsonObject::new(),
        },
    ];
    let dataset = Dataset {
        path: "0".to_owned(),
        transforms,
        extra: JsonObject::new(),
    };
    let multiscale = Multiscale {
        version: Some("0.4".to_owned()),
        name: Some("default".to_owned()),
        axes: spec.axes.clone(),
        datasets: vec![dataset],
        metadata: Some(json!({"format": "zarr_vectors"})),
        extra: JsonObject::new(),
    };
    RootDoc {
        zarr_vectors,
        multiscales: Multiscales {
            entries: vec![multiscale],
        },
        ome: (spec.target.rules().members == DocumentMembers::All).then(|| ome(&spec.axes, name)),
        user_metadata: (!spec.user_metadata.is_empty()).then(|| json!(spec.user_metadata)),
        extra: JsonObject::new(),
        node_extra: JsonObject::new(),
    }
}

/// Adds the capability `fragment_link_groups` if a level claims such groups, and removes it otherwise.
pub fn claim_link_groups(root: &mut RootDoc, claimed: bool) {
    let tokens = &mut root.zarr_vectors.format_capabilities;
    let listed = tokens.iter().any(|token| token == FRAGMENT_LINK_GROUPS);
    if claimed && !listed {
        tokens.push(FRAGMENT_LINK_GROUPS.to_owned());
    } else if !claimed {
        tokens.retain(|token| token != FRAGMENT_LINK_GROUPS);
    }
}

/// Rebuilds the OME metadata of the root (0.9 §5.3) for these levels, and keeps unknown members. `name` is used if they have no name.
pub fn renew_ome(root: &mut RootDoc, levels: impl IntoIterator<Item = u32>, name: &str) {
    // An `ome` node that cannot be parsed is in `extra`, and is replaced.
    root.extra.remove("ome");
    let made = ome(root.axes(), name);
    let levels = levels.into_iter();
    let nodes: Vec<OmeNode> = levels.map(|level| level_node(level.to_string())).collect();
    let old = root.ome.take();
    root.ome = Some(match old {
        Some(old) => {
            let mut attributes = old.attributes.unwrap_or_default();
            for (key, value) in made.attributes.unwrap_or_default() {
                attributes.insert(key, value);
            }
            let others = old
                .nodes
                .into_iter()
                .filter(|node| node.type_.as_deref() != Some("zv:level"));
            Ome {
                version: made.version,
                type_: made.type_,
                name: old.name.filter(|name| !name.is_empty()).or(made.name),
                attributes: Some(attributes),
                nodes: nodes.into_iter().chain(others).collect(),
                extra: old.extra,
            }
        }
        None => Ome { nodes, ..made },
    });
}

/// The node of a level in the OME metadata.
pub fn level_node(name: String) -> OmeNode {
    OmeNode {
        type_: Some("zv:level".to_owned()),
        name: Some(name),
        extra: JsonObject::new(),
    }
}

/// The OME metadata of a store with level 0 (0.9 §5.3).
pub(crate) fn ome(axes: &[Axis], name: &str) -> Ome {
    let axes: Vec<Value> = axes
        .iter()
        .map(|axis| {
            let mut shown = json!({"name": axis.name, "type": axis.kind()});
            if let Some(unit) = axis.unit.as_ref().filter(|unit| !unit.is_empty()) {
                shown["unit"] = json!(unit);
            }
            shown
        })
        .collect();
    let scene = json!({"coordinateSystems": [{"name": "world", "axes": axes}], "coordinateTransformations": []});
    let mut attributes = JsonObject::new();
    attributes.insert("scene".to_owned(), scene);
    Ome {
        version: Some("0.6".to_owned()),
        type_: Some("collection".to_owned()),
        name: Some(name.to_owned()),
        attributes: Some(attributes),
        nodes: vec![level_node("0".to_owned())],
        extra: JsonObject::new(),
    }
}

/// Makes the member of `attribute_specs` for an attribute (0.9 §5.1).
pub fn declared(one: &AttributeSpec) -> Value {
    let mut member = json!({"dtype": match one.values {
        AttributeType::Number(number) => number.to_string(),
        AttributeType::Category | AttributeType::Text => "str".to_owned(),
    }});
    if one.channels != 1 {
        member["channels"] = json!(one.channels);
    }
    if one.values == AttributeType::Category {
        member["categorical"] = json!(true);
    }
    if let Some(unit) = &one.unit {
        member["unit"] = json!(unit);
    }
    if let Some(description) = &one.description {
        member["description"] = json!(description);
    }
    member
}

/// The member `attribute_specs`, in which readers of backends that cannot list find the names of attributes.
fn attribute_specs(spec: &StoreSpec) -> Option<JsonObject> {
    let mut scopes = JsonObject::new();
    let vertex: Vec<AttributeSpec> = spec.batch_attributes().cloned().collect();
    let lists = [
        ("vertex", &vertex),
        ("object", &spec.object_attributes),
        ("link", &spec.links.attributes),
    ];
    for (scope, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        let mut names = JsonObject::new();
        for one in list {
            names.insert(one.name.clone(), declared(one));
        }
        scopes.insert(scope.to_owned(), Value::Object(names));
    }
    (!scopes.is_empty()).then_some(scopes)
}

/// Makes the document of a group without attributes, such as the groups between a family and its arrays.
pub fn plain_group() -> String {
    GroupDoc::default().to_json()
}

/// The name of a store from its address: the last path segment without its extension, or `zarr_vectors` if that is empty (0.9 §5.3).
#[must_use]
pub fn name_of(address: &str) -> String {
    // Only URLs have queries; in a path `#` and `?` are characters of names.
    let path = match address.split_once("://") {
        Some((_, path)) => path.split(['?', '#']).next().unwrap_or(path),
        None => address,
    };
    let last = path
        .trim_end_matches(['/', '\\'])
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default();
    let lower = last.to_lowercase();
    let ending = [".zarrvectors", ".zv", ".zarr"]
        .into_iter()
        .find(|ending| lower.ends_with(ending));
    let stem = ending
        .and_then(|ending| last.get(..last.len().checked_sub(ending.len())?))
        .unwrap_or(last);
    if stem.is_empty() {
        "zarr_vectors".to_owned()
    } else {
        stem.to_owned()
    }
}

/// Returns the grid of the chunks that cover the bounds.
///
/// # Errors
/// Misuse: corners or sizes that no grid can have.
pub fn grid(bounds: &(Vec<f64>, Vec<f64>), chunk_shape: &[f64]) -> Result<Grid, WriteError> {
    Ok(zvf_meta::space::grid_for(
        (&bounds.0, &bounds.1),
        chunk_shape,
    )?)
}

impl StoreSpec {
    /// Checks the rules of the format about root documents, such as the order of axis types.
    pub(crate) fn check_document(&self) -> Result<(), WriteError> {
        let zeros = vec![0.0; self.dims()];
        let bounds = self.bounds.clone().unwrap_or((zeros.clone(), zeros));
        let root = root(self, bounds, "store");
        let problems = zvf_meta::rules::check_root(&root);
        match problems
            .into_iter()
            .find(|problem| problem.severity == Severity::Error)
        {
            Some(problem) => Err(WriteError::spec(
                problem.path,
                problem.found,
                problem.expected,
            )),
            None => Ok(()),
        }
    }
}

/// Documents of arrays with their paths in the level.
pub type Docs = Vec<(String, ArrayDoc)>;

#[cfg(test)]
mod tests {
    use super::{name_of, presence};

    #[test]
    fn names_of_stores() {
        assert_eq!(name_of("/data/brain.zarrvectors"), "brain");
        assert_eq!(name_of("s3://bucket/a/b.ZV/"), "b");
        assert_eq!(name_of("größe.zarr"), "größe");
        assert_eq!(name_of("memory:///"), "zarr_vectors");
        assert_eq!(name_of(".zv"), "zarr_vectors");
        assert_eq!(name_of("/data/brain#2.zv"), "brain#2");
        assert_eq!(name_of("https://host/a.zv?version=2#x"), "a");
    }

    #[test]
    fn presence_is_in_the_order_of_the_text() {
        // The worked example of 0.9 §7.2.
        let chunks: [&[i64]; 5] = [&[-2, -1], &[-1, 0], &[0, 0], &[1, -1], &[1, 0]];
        let list = presence(chunks).unwrap();
        assert_eq!(
            list.iter().collect::<Vec<_>>(),
            ["-1.0", "-2.-1", "0.0", "1.-1", "1.0"]
        );
    }
}
