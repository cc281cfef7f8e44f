//! Documents of a new level and a new root, made from the old ones. Unknown members are preserved.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zvf_meta::rules::Severity;
use zvf_meta::{
    ArrayAttributes, ArrayDoc, CrossChunkStrategy, CrossLevelStorage, Dataset, JsonObject, Kind,
    LevelDoc, LinksConvention, Multiscale, ObjectIndexConvention, RootDoc, Transform,
};
use zvf_store::owners::CHECKSUM;
use zvf_store::writing::Redo;
use zvf_store::{ChunkColumn, Level, Store};

use super::report::Notes;
use zvf_encode::batches::Corners;
use zvf_encode::spec::DocumentMembers;
use zvf_encode::{TargetVersion, WriteError, batches, documents};
use zvf_format::dtype::{DType, DTypeKind};
use zvf_format::int::wide;

/// Members about the storage of an old node, which do not apply to the new one.
const OF_CONTAINERS: &[&str] = &[
    "cell_keys",
    "directed",
    "has_offsets",
    "layout",
    "ndim",
    "num_channels",
    "num_links",
    "num_physical_records",
    "sid_ndim",
    "store",
    "vertex_count",
    CHECKSUM,
];

/// The attributes of an array that are also valid in the new store.
pub(super) fn carried(attributes: &ArrayAttributes) -> ArrayAttributes {
    let mut extra = attributes.extra.clone();
    OF_CONTAINERS.iter().for_each(|name| {
        extra.remove(*name);
    });
    ArrayAttributes {
        nonempty_chunks: None,
        chunk_grid_origin: None,
        offsets: None,
        has_perm: None,
        link_width: None,
        level_delta: None,
        links_without_values: None,
        shape: None,
        stored_chunks: None,
        has_present_mask: None,
        fill_sentinel_meaning: None,
        extra,
        ..attributes.clone()
    }
}

/// The array attributes of a vertex or fragment attribute. The width is taken from the data (trap T8).
pub(super) fn column(column: &ChunkColumn, word: &str, notes: &Notes) -> ArrayAttributes {
    let old = column.attribute().array.attributes();
    let width = column.width();
    let row_shape = if width == 1 {
        Vec::new()
    } else {
        vec![wide(width)]
    };
    let wrong = old
        .row_shape
        .as_ref()
        .is_some_and(|shape| *shape != row_shape);
    let path = column.attribute().array.path();
    notes.repaired(
        path,
        "the declared width of rows was corrected to that of the data",
        u64::from(wrong),
    );
    let names = old
        .channel_names
        .clone()
        .filter(|names| names.len() == width);
    if old.channel_names.is_some() && names.is_none() {
        notes.repaired(
            path,
            "channel names were left out, because their number is not that of the channels",
            1,
        );
    }
    let numbered = || (width > 1).then(|| (0..width).map(|at| format!("ch{at}")).collect());
    ArrayAttributes {
        zv_array: Some(word.to_owned()),
        name: Some(column.name().to_owned()),
        dtype: Some(column.dtype().to_string()),
        row_shape: Some(row_shape),
        channel_names: names.or_else(numbered),
        ..carried(old)
    }
}

/// The document of a level.
pub(super) fn level(old: &LevelDoc, number: u32) -> LevelDoc {
    LevelDoc {
        level: number,
        object_sparsity: if old.object_sparsity > 0.0 && old.object_sparsity <= 1.0 {
            old.object_sparsity
        } else {
            1.0
        },
        // These are in `multiscales`.
        bin_shape: None,
        bin_ratio: None,
        bin_size: None,
        ..old.clone()
    }
}

/// The links convention of the new store: the stated one, if it is a known name, else the usual one of the kind.
fn convention(root: &RootDoc, kind: Kind) -> LinksConvention {
    use LinksConvention::{Explicit, ImplicitSequential, ImplicitSequentialWithBranches};
    let stated = root.zarr_vectors.links_convention.as_ref();
    let stated = stated.and_then(|name| LinksConvention::from_name(name));
    match (kind, stated) {
        (_, Some(stated)) => stated,
        (Kind::Graph | Kind::Mesh, None) => Explicit,
        (Kind::Skeleton, None) => ImplicitSequentialWithBranches,
        _ => ImplicitSequential,
    }
}

/// The root of the new store.
pub(super) fn root(
    store: &Store,
    version: TargetVersion,
    levels: &[(Level, Vec<f64>)],
    extent: Option<Corners>,
    bins: Option<Vec<f64>>,
    name: &str,
    notes: &Notes,
) -> Result<RootDoc, WriteError> {
    let mut root = store.root().clone();
    // The copy contains the result of an edit that is committed but not applied yet, so it needs no redo files.
    root.extra.remove(Redo::ATTRIBUTE);
    root.extra.remove(Redo::LAST);
    let block = &mut root.zarr_vectors;
    block.zv_version = version.version().to_owned();
    if block.geometry_types.is_empty() {
        block.geometry_types = vec![store.kind().name().to_owned()];
    }
    let drop = [
        zvf_meta::capabilities::DENSE_MANIFESTS,
        zvf_meta::capabilities::FRAGMENT_LINK_GROUPS,
        zvf_meta::capabilities::PARTITIONED_CROSS_CHUNK_LINKS,
    ];
    for list in [
        &mut block.format_capabilities,
        &mut block.required_capabilities,
    ] {
        list.retain(|token| !drop.contains(&token.as_str()));
    }
    // Derived from the levels, whether or not the old root stated it.
    let shares = |(level, _): &(Level, Vec<f64>)| level.doc().shared_fragments;
    let between = |(level, _): &(Level, Vec<f64>)| {
        let mut families = level.link_families().iter();
        families.any(|family| family.delta() != 0)
    };
    for (has, token) in [
        (
            levels.iter().any(shares),
            zvf_meta::capabilities::SHARED_FRAGMENTS,
        ),
        (
            levels.iter().any(between),
            zvf_meta::capabilities::MULTISCALE_LINKS,
        ),
    ] {
        let tokens = &mut block.format_capabilities;
        if has && !tokens.iter().any(|one| one == token) {
            tokens.push(token.to_owned());
        }
    }
    if !block.required_capabilities.is_empty() {
        notes.note(format!(
            "the store still requires {}: readers of {} that do not know it read only a part of the store",
            block.required_capabilities.join(", "),
            version.version()
        ));
    }
    let early = version.rules().members == DocumentMembers::Early;
    if early && store.root().world_offset().is_some() {
        // Readers that know the member, such as this workspace, still use it.
        let what = "coordinate_offset is not known to readers of 0.8.1: they interpret stored positions as world coordinates";
        notes.lost("zarr.json", what);
    }
    block.manifest_layout = None;
    block.links_convention = Some(convention(store.root(), store.kind()).name().to_owned());
    words(block, notes);
    if let Some((low, high)) = extent {
        grow(&mut block.bounds, &low, &high, notes);
    }
    block.base_bin_shape = bins;
    // The chunk shape of the root is the shape of level 0, also after rechunking.
    if let Some((_, shape)) = levels.iter().find(|(level, _)| level.number() == 0) {
        block.chunk_shape.clone_from(shape);
    }
    multiscales(&mut root, store, levels);
    if !early || root.ome.is_some() {
        documents::renew_ome(&mut root, store.levels().iter().copied(), name);
    }
    let problems = zvf_meta::rules::check_root(&root);
    for problem in problems
        .iter()
        .filter(|one| one.severity == Severity::Error)
    {
        notes.lost(
            "zarr.json",
            format!("the old store breaks a rule, and so does the new one: {problem}"),
        );
    }
    Ok(root)
}

/// The attributes of the levels of a copy, for `attribute_specs` of its root.
#[derive(Debug, Default)]
pub(super) struct Declarations {
    /// Members of `attribute_specs`, by scope and name.
    found: BTreeMap<(&'static str, String), Value>,
    /// Whether the levels differ, or an attribute has a type that a declaration cannot state. Then no attributes are declared: readers that
    /// cannot list would take an incomplete declaration for a complete one.
    partly: bool,
}

impl Declarations {
    /// Adds the arrays of a level. Declarations are those of the first level, which must be added first; other levels are compared with it.
    pub(super) fn add(&mut self, arrays: &[(String, ArrayDoc)], is_first: bool) {
        for (path, doc) in arrays {
            let mut parts = path.split('/');
            let scope = match parts.next() {
                Some("vertex_attributes") => "vertex",
                Some("object_attributes") => "object",
                Some("link_attributes") => "link",
                _ => continue,
            };
            let Some(name) = parts.next() else { continue };
            let Some(member) = declaration(&doc.attributes) else {
                self.partly = true;
                continue;
            };
            let key = (scope, name.to_owned());
            match self.found.get(&key) {
                Some(first) => self.partly |= first.get("dtype") != member.get("dtype"),
                None if is_first => {
                    self.found.insert(key, member);
                }
                None => self.partly = true,
            }
        }
    }

    /// The member `attribute_specs`; `None` without attributes, or if not all of them can be declared.
    pub(super) fn finish(self) -> Option<JsonObject> {
        let mut scopes = JsonObject::new();
        for ((scope, name), member) in self.found {
            let names = scopes.entry(scope).or_insert_with(|| json!({}));
            if let Value::Object(names) = names {
                names.insert(name, member);
            }
        }
        (!self.partly && !scopes.is_empty()).then_some(scopes)
    }
}

/// The declaration of an attribute from the document of its array, as [`documents::declared`] makes it from a specification.
fn declaration(attributes: &ArrayAttributes) -> Option<Value> {
    let dtype = attributes.dtype.as_deref()?;
    let texts = match &attributes.categories {
        Some(categories) if categories.iter().all(Value::is_string) => true,
        Some(_) => return None,
        None => matches!(DType::parse(dtype).ok()?.kind, DTypeKind::Utf32 { .. }),
    };
    let mut member = JsonObject::new();
    let dtype = if texts { "str" } else { dtype };
    member.insert("dtype".to_owned(), dtype.into());
    let row = attributes.row_shape.iter().flatten();
    let channels: u64 = row.product();
    if channels != 1 {
        member.insert("channels".to_owned(), channels.into());
    }
    if attributes.categories.is_some() {
        member.insert("categorical".to_owned(), true.into());
    }
    let texts = [
        ("unit", &attributes.unit),
        ("description", &attributes.description),
    ];
    for (word, text) in texts {
        if let Some(text) = text {
            member.insert(word.to_owned(), text.as_str().into());
        }
    }
    Some(Value::Object(member))
}

/// Removes unknown values of enumerations.
fn words(block: &mut zvf_meta::ZarrVectors, notes: &Notes) {
    let known = |word: &Option<String>, is: fn(&str) -> bool| word.as_deref().is_none_or(is);
    let lost = |member: &str, word: &mut Option<String>| {
        if let Some(word) = word.take() {
            notes.lost(
                "zarr.json",
                format!("{member} is {word:?}, which no version defines: left out"),
            );
        }
    };
    if !known(&block.object_index_convention, |w| {
        ObjectIndexConvention::from_name(w).is_some()
    }) {
        lost(
            "object_index_convention",
            &mut block.object_index_convention,
        );
    }
    if !known(&block.cross_chunk_strategy, |w| {
        CrossChunkStrategy::from_name(w).is_some()
    }) {
        lost("cross_chunk_strategy", &mut block.cross_chunk_strategy);
    }
    if !known(&block.cross_level_storage, |w| {
        CrossLevelStorage::from_name(w).is_some()
    }) {
        lost("cross_level_storage", &mut block.cross_level_storage);
    }
}

/// Extends the bounds to contain the data.
fn grow(bounds: &mut Corners, low: &[f64], high: &[f64], notes: &Notes) {
    let before = bounds.clone();
    batches::grow((&mut bounds.0, &mut bounds.1), (low, high));
    let what = "bounds that do not hold the data were widened";
    notes.repaired("zarr.json", what, u64::from(*bounds != before));
}

/// Writes one entry for each level, in order. Scale and translation are computed from the bins of the level; if these are unknown, the old entry is
/// kept.
fn multiscales(root: &mut RootDoc, store: &Store, levels: &[(Level, Vec<f64>)]) {
    let base = root
        .zarr_vectors
        .base_bin_shape
        .clone()
        .unwrap_or_else(|| root.zarr_vectors.chunk_shape.clone());
    let mut datasets = Vec::new();
    for (level, _) in levels {
        let number = level.number();
        let old = store.root().multiscales.dataset(number);
        let mut dataset = old.cloned().unwrap_or_else(|| Dataset {
            path: number.to_string(),
            ..Dataset::default()
        });
        let bins = if number == 0 {
            Some(base.clone())
        } else {
            level.bin_shape().map(<[f64]>::to_vec)
        };
        if let Some(bins) = bins.filter(|bins| bins.len() == base.len()) {
            let others = |one: &Transform| {
                !matches!(one, Transform::Scale { .. } | Transform::Translation { .. })
            };
            let kept: Vec<Transform> = dataset
                .transforms
                .iter()
                .filter(|t| others(t))
                .cloned()
                .collect();
            let scale = bins
                .iter()
                .zip(&base)
                .map(|(bin, base)| bin / base)
                .collect();
            // With a `coordinate_offset`, the translation of level 0 is that offset (trap T35).
            let offset = store.root().world_offset().filter(|_| number == 0);
            let translation = match offset.filter(|_| old.is_some()) {
                Some(offset) => offset.to_vec(),
                None => bins.iter().map(|bin| bin / 2.0).collect(),
            };
            dataset.transforms = vec![
                Transform::Scale {
                    scale,
                    extra: JsonObject::new(),
                },
                Transform::Translation {
                    translation,
                    extra: JsonObject::new(),
                },
            ];
            dataset.transforms.extend(kept);
        }
        datasets.push(dataset);
    }
    if root.multiscales.entries.is_empty() {
        root.multiscales.entries.push(Multiscale::default());
    }
    root.multiscales.entries.truncate(1);
    if let Some(entry) = root.multiscales.entries.first_mut() {
        entry.version = Some("0.4".to_owned());
        entry.name.get_or_insert_with(|| "default".to_owned());
        entry
            .metadata
            .get_or_insert_with(|| json!({"format": "zarr_vectors"}));
        entry.datasets = datasets;
    }
}
