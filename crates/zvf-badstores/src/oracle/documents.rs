//! Compares documents: which members differ, and whether the format has rules about them.

use serde_json::Value;

use super::arrays::array;
use super::parts::extent;
use super::{Both, Verdict};

use Verdict::{Broken, NoRule, Nothing};

impl Both<'_> {
    pub(super) fn document(&self, key: &str) -> Verdict {
        let parse =
            |bytes: Option<&Vec<u8>>| bytes.map(|bytes| serde_json::from_slice::<Value>(bytes));
        let (before, after) = match (parse(self.before.get(key)), parse(self.after.get(key))) {
            (Some(Ok(before)), Some(Ok(after))) => (plain(before), plain(after)),
            (_, Some(Err(_))) => return Broken("a document that is not JSON"),
            (Some(Ok(before)), None) => return self.gone(key, &before),
            (None, Some(Ok(_))) => return Nothing("a document where there was none"),
            _ => return Nothing("no document at all"),
        };
        if before == after {
            return Nothing("the same members");
        }
        let mut all = Vec::new();
        differences(&before, &after, "", &mut all);
        let verdicts = all
            .iter()
            .map(|at| self.member(key, at, before.pointer(at), after.pointer(at)));
        verdicts.max().unwrap_or(Nothing("the same members"))
    }

    fn gone(&self, key: &str, before: &Value) -> Verdict {
        let path = key.trim_end_matches("zarr.json").trim_end_matches('/');
        let array = before["node_type"] == "array";
        let has_attributes = before["attributes"]
            .as_object()
            .is_some_and(|members| !members.is_empty());
        let parts: Vec<&str> = path.split('/').collect();
        let optional = matches!(
            parts.get(1),
            Some(
                &("attributes"
                    | "vertex_attributes"
                    | "object_attributes"
                    | "group_attributes"
                    | "fragment_attributes"
                    | "link_attributes"
                    | "cross_chunk_link_attributes")
            )
        );
        match parts.as_slice() {
            [] | [""] | [_] => Broken("the document of the root, a level or a side is gone"),
            _ if array || has_attributes => {
                if optional
                    || parts.first() == Some(&"headers")
                    || parts.first() == Some(&"parametric")
                {
                    NoRule("a store is valid without this attribute, header or table")
                } else {
                    Broken("the document of a node is gone")
                }
            }
            _ => NoRule("a group without attributes"),
        }
    }

    /// One member that differs.
    fn member(
        &self,
        key: &str,
        at: &str,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Verdict {
        let parts: Vec<&str> = key.split('/').collect();
        let members: Vec<&str> = at.split('/').skip(1).collect();
        let inner: &[&str] = match members.as_slice() {
            ["attributes", rest @ ..] => rest,
            _ => &[],
        };
        match parts.as_slice() {
            [_, "cross_chunk_links", "zarr.json"]
                if before.is_some()
                    && self.before.contains_key(&key.replace("zarr.json", "c/0/0")) =>
            {
                NoRule("links by global numbers, whose encoding is not published")
            }
            ["zarr.json"] => self
                .root(inner, after)
                .unwrap_or(Broken("a member of the root")),
            [_, "zarr.json"] => {
                level(inner, before, after, self.ruled).unwrap_or(Broken("a member of a level"))
            }
            _ if !self.ruled && parts.len() > 2 && at == "/fill_value" => {
                NoRule("a fill value of an array whose cells are all stored")
            }
            ["headers", ..] => inner.first().map_or(Broken("a member of every node"), |_| {
                NoRule("the contents of a header")
            }),
            _ => array(self, &parts, &members, inner, before, after)
                .unwrap_or(Broken("a member of an array or family")),
        }
    }

    fn root(&self, members: &[&str], after: Option<&Value>) -> Option<Verdict> {
        let root = |objects: &super::Objects| -> Option<Value> {
            serde_json::from_slice(objects.get("zarr.json")?).ok()
        };
        Some(match members {
            ["zarr_vectors", name] => match *name {
                "links_convention"
                | "object_index_convention"
                | "cross_chunk_strategy"
                | "cross_level_depth"
                | "cross_level_storage"
                | "reduction_factor"
                | "attribute_specs"
                | "crs"
                | "format_capabilities"
                | "required_capabilities"
                    if after.is_none_or(Value::is_null)
                        && (*name != "format_capabilities" || !self.ruled) =>
                {
                    NoRule("an optional member of the root")
                }
                "format_capabilities"
                    if after.is_none()
                        && root(self.before).is_some_and(|root| {
                            root["attributes"]["zarr_vectors"]["format_capabilities"]
                                == serde_json::json!([])
                        }) =>
                {
                    Verdict::Nothing("no capabilities: an empty list means absent")
                }
                "crs" => NoRule("a coordinate reference system is opaque"),
                "reduction_factor" if after.and_then(Value::as_u64).is_some_and(|one| one >= 2) => {
                    NoRule("a number for information")
                }
                "cross_level_depth"
                    if after.and_then(Value::as_i64).is_some_and(|one| one >= -1) =>
                {
                    NoRule("a number for information")
                }
                "bounds" => return bounds(self, after?),
                "zv_version" => {
                    let before = root(self.before)?;
                    let before = before
                        .pointer("/attributes/zarr_vectors/zv_version")?
                        .as_str()?
                        .to_owned();
                    let minor =
                        |text: &str| text.rsplit_once('.').map(|(minor, _)| minor.to_owned());
                    let patch = after?.as_str()?.rsplit_once('.')?.1.parse::<u8>().ok()?;
                    if minor(&before) == minor(after?.as_str()?) && patch <= 2 {
                        NoRule("another patch of the same version")
                    } else {
                        return None;
                    }
                }
                known if KNOWN_ROOT.contains(&known) => return None,
                _ => NoRule("a member that the format does not define"),
            },
            ["multiscales", ..] => {
                let (before, after) = (root(self.before)?, root(self.after)?);
                return multiscales(
                    before.pointer("/attributes/multiscales")?,
                    after.pointer("/attributes/multiscales")?,
                    after.pointer("/attributes/ome").is_some(),
                    self.ruled,
                );
            }
            ["ome", ..] => {
                let (before, after) = (root(self.before)?, root(self.after)?);
                return ome(
                    before.pointer("/attributes/ome")?,
                    after.pointer("/attributes/ome")?,
                );
            }
            ["zarr_vectors"] => return None,
            ["user_metadata", _, _, ..] => NoRule("metadata of users"),
            [_, ..] => NoRule("a member that the format does not define"),
            [] => return None,
        })
    }
}

const KNOWN_ROOT: &[&str] = &[
    "chunk_shape",
    "geometry_types",
    "links_convention",
    "object_index_convention",
    "cross_chunk_strategy",
    "base_bin_shape",
    "cross_level_depth",
    "cross_level_storage",
    "reduction_factor",
    "attribute_specs",
    "coordinate_offset",
    "format_capabilities",
    "required_capabilities",
];

/// New bounds that contain every vertex break no rule.
fn bounds(store: &Both<'_>, after: &Value) -> Option<Verdict> {
    let corner = |at: usize| -> Option<Vec<f64>> {
        after
            .get(at)?
            .as_array()?
            .iter()
            .map(Value::as_f64)
            .collect()
    };
    let (low, high) = (corner(0)?, corner(1)?);
    let (from, to) = extent(store.before)?;
    let holds = low.len() == from.len()
        && high.len() == to.len()
        && low.iter().zip(&from).all(|(low, from)| low <= from)
        && high.iter().zip(&to).all(|(high, to)| high >= to);
    holds.then_some(NoRule("bounds that contain every vertex"))
}

/// Accepts differences without a rule: names, units, and members that the format does not define.
fn multiscales(before: &Value, after: &Value, ome: bool, ruled: bool) -> Option<Verdict> {
    let strip = |value: &Value| {
        let mut value = value.clone();
        for entry in value.as_array_mut().into_iter().flatten() {
            let members = entry.as_object_mut()?;
            members.retain(|name, _| {
                matches!(name.as_str(), "axes" | "datasets" | "version" | "metadata")
            });
            if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.retain(|name, _| name == "format");
            }
            // That every level has a dataset is a rule of 0.9.
            if !ruled
                && let Some(datasets) = members.get_mut("datasets").and_then(Value::as_array_mut)
            {
                datasets.truncate(
                    before
                        .pointer("/0/datasets")?
                        .as_array()?
                        .len()
                        .min(after.pointer("/0/datasets")?.as_array()?.len()),
                );
            }
            for axis in members.get_mut("axes").and_then(Value::as_array_mut)? {
                let axis = axis.as_object_mut()?;
                axis.retain(|name, _| {
                    (ome && name == "name") || name == "type" || (ome && name == "unit")
                });
                axis.entry("type").or_insert_with(|| "space".into());
            }
        }
        Some(value)
    };
    // Any type of an axis is allowed; the rules only require two axes of space, and an order of the types.
    let types: Vec<&str> = after
        .pointer("/0/axes")?
        .as_array()?
        .iter()
        .map(|axis| axis["type"].as_str().unwrap_or("space"))
        .collect();
    let rank = |kind: &&str| match *kind {
        "time" => 0,
        "channel" => 1,
        "space" => 3,
        _ => 2,
    };
    let kinds_fit = types.iter().filter(|one| **one == "space").count() >= 2
        && types.is_sorted_by_key(rank)
        && !ome;
    let strip = |value: &Value| {
        let mut value = strip(value)?;
        for entry in value
            .as_array_mut()
            .into_iter()
            .flatten()
            .filter(|_| kinds_fit)
        {
            for axis in entry["axes"].as_array_mut().into_iter().flatten() {
                axis.as_object_mut()?.shift_remove("type");
            }
        }
        Some(value)
    };
    let first_name = |value: &Value| value.pointer("/0/name").is_none_or(Value::is_string);
    let axes: Vec<&str> = after
        .pointer("/0/axes")?
        .as_array()?
        .iter()
        .map(|axis| axis["name"].as_str())
        .collect::<Option<_>>()?;
    let unique: std::collections::BTreeSet<&&str> = axes.iter().collect();
    (unique.len() == axes.len() && first_name(after) && strip(before)? == strip(after)?)
        .then_some(NoRule("names and units"))
}

/// Accepts differences in the node `ome` for other tools, except in its version, its type, the axes and the names of levels.
fn ome(before: &Value, after: &Value) -> Option<Verdict> {
    let keep = |value: &Value| {
        let axes = value
            .pointer("/attributes/scene/coordinateSystems/0/axes")
            .cloned();
        let names: Option<Vec<Value>> = value["nodes"]
            .as_array()
            .map(|list| list.iter().map(|one| one["name"].clone()).collect());
        (value["version"].clone(), value["type"].clone(), axes, names)
    };
    let named = after["name"].as_str().is_some_and(|name| !name.is_empty());
    (named && keep(before) == keep(after)).then_some(NoRule("names for other tools"))
}

fn level(
    members: &[&str],
    before: Option<&Value>,
    after: Option<&Value>,
    ruled: bool,
) -> Option<Verdict> {
    let absent = after.is_none_or(Value::is_null);
    Some(match members {
        ["zarr_vectors_level", name, rest @ ..] => match *name {
            "coarsening_method" if absent || after.is_some_and(Value::is_string) => {
                NoRule("how a level was made")
            }
            "arrays_present"
                if !absent && after.is_some_and(Value::is_array) || !rest.is_empty() =>
            {
                NoRule("a list that is not trusted")
            }
            "vertex_count" if after.and_then(Value::as_u64) == Some(0) => {
                NoRule("a vertex count of 0, which means unknown")
            }
            "object_sparsity" if absent => NoRule("an absent share, which means 1"),
            "object_sparsity"
                if after
                    .and_then(Value::as_f64)
                    .is_some_and(|one| one > 0.0 && one <= 1.0) =>
            {
                NoRule("a share")
            }
            "fragments_tile"
            | "fragment_link_groups"
            | "shared_fragments"
            | "preserves_object_ids"
            | "refinement"
                if absent || after == Some(&Value::Bool(false)) =>
            {
                NoRule("a claim that is not made")
            }
            "inherited_num_objects" if absent => NoRule("a number that is not stated"),
            "parent_level" if absent && before.is_none_or(Value::is_null) => {
                Verdict::Nothing("no parent: null means absent")
            }
            "object_sparsity"
            | "parent_level"
            | "coarsening_method"
            | "arrays_present"
            | "preserves_object_ids"
            | "shared_fragments"
            | "bin_shape"
            | "bin_ratio"
                if !ruled =>
            {
                NoRule("only 0.9 has rules about such members of a level")
            }
            "level"
            | "vertex_count"
            | "object_sparsity"
            | "parent_level"
            | "chunk_shape"
            | "chunk_dims"
            | "chunk_attribute_name"
            | "chunk_attribute_values"
            | "preserves_object_ids"
            | "inherited_num_objects"
            | "shared_fragments"
            | "fragments_tile"
            | "fragment_link_groups"
            | "bin_shape"
            | "bin_ratio"
            | "bin_size"
            | "arrays_present"
            | "coarsening_method"
            | "refinement" => return None,
            _ => NoRule("a member that the format does not define"),
        },
        ["zarr_vectors_level"] | [] => return None,
        ["user_metadata", _, _, ..] => NoRule("metadata of users"),
        _ => NoRule("a member that the format does not define"),
    })
}

/// Removes members that do not change how a document is read: settings of compressors, names of axes, empty lists, explicit defaults.
fn plain(mut document: Value) -> Value {
    let Some(members) = document.as_object_mut() else {
        return document;
    };
    members.shift_remove("dimension_names");
    let empty = |one: &Value| {
        one.is_null()
            || one.as_array().is_some_and(Vec::is_empty)
            || one.as_object().is_some_and(serde_json::Map::is_empty)
    };
    for name in ["storage_transformers", "attributes"] {
        if members.get(name).is_some_and(empty) {
            members.shift_remove(name);
        }
    }
    if let Some(encoding) = members
        .get_mut("chunk_key_encoding")
        .and_then(Value::as_object_mut)
        && encoding.get("name").is_some_and(|name| name == "default")
    {
        let separator = encoding
            .get("configuration")
            .and_then(|one| one.get("separator"))
            .cloned();
        if encoding
            .get("configuration")
            .is_none_or(|one| one.is_null() || one.is_object())
        {
            encoding.insert(
                "configuration".to_owned(),
                serde_json::json!({"separator": separator.unwrap_or_else(|| "/".into())}),
            );
        }
    }
    if let Some(codecs) = members.get_mut("codecs") {
        plain_codecs(codecs);
    }
    document
}

/// Removes the settings of compressors, also inside shards.
fn plain_codecs(codecs: &mut Value) {
    for codec in codecs.as_array_mut().into_iter().flatten() {
        let name = codec["name"].as_str().unwrap_or_default().to_owned();
        let Some(codec) = codec.as_object_mut() else {
            continue;
        };
        let order = codec.get("configuration").map(|one| one["endian"].clone());
        match name.as_str() {
            "zstd" | "gzip" | "blosc" | "vlen-bytes" | "crc32c" => {
                codec.retain(|name, _| name == "name")
            }
            // The default is little-endian; elements of one byte have no order.
            "bytes" if order.is_none_or(|one| one.is_null() || one == "little") => {
                codec.retain(|name, _| name == "name");
            }
            "sharding_indexed" => {
                for list in ["codecs", "index_codecs"] {
                    let inner = codec
                        .get_mut("configuration")
                        .and_then(|one| one.get_mut(list));
                    inner.into_iter().for_each(plain_codecs);
                }
            }
            _ => {}
        }
    }
}

/// Appends the JSON pointers of the members that differ; a list counts as one member.
pub(super) fn differences(before: &Value, after: &Value, at: &str, into: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let place = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                match (a.get(name), b.get(name)) {
                    (Some(one), Some(other)) => differences(one, other, &place, into),
                    _ => into.push(place),
                }
            }
        }
        _ if before == after => {}
        _ => into.push(at.to_owned()),
    }
}
