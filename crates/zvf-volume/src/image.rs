//! Zarr arrays, single or as levels of an OME-Zarr image (0.4 and 0.5).

use std::ops::Range;

use futures::{StreamExt, TryStreamExt};
use serde_json::Value;
use zvf_grid::{Dims, Run, Selection, copy};
use zvf_store::{Class, IoOptions, RawStore};

use crate::{AxisInfo, Element, VolumeError, VolumeFormat, VolumeInfo, VolumePick};

/// Chunks that are read concurrently.
const AT_ONCE: usize = 8;

/// One array of a Zarr hierarchy.
#[derive(Debug, Clone)]
pub(crate) struct ZarrArray {
    raw: RawStore,
    path: String,
    document: Value,
    attributes: Value,
    /// Names of the attributes of the image that the array belongs to, except for `multiscales` and `version`.
    of_image: Vec<String>,
}

/// The arrays at an address, in order: the levels of an image, or else the arrays of a group by name. If `pick` is a name, only that array is opened,
/// so that other arrays may be missing or unreadable. If it is a number, it counts the arrays that can be read.
///
/// `None` if there is no Zarr node.
pub(crate) async fn arrays(
    address: &str,
    pick: Option<&VolumePick>,
    options: &IoOptions,
) -> Result<Option<Vec<(VolumeInfo, ZarrArray)>>, VolumeError> {
    let raw = RawStore::open(address, options)?;
    let Some(root) = ZarrNode::read(&raw, "").await? else {
        return Ok(None);
    };
    if root.is_array {
        let known = array(&raw, "", root, None)?;
        return Ok(Some(vec![known]));
    }
    let named = |name: &str| match pick {
        Some(VolumePick::Name(wanted)) => wanted == name,
        _ => true,
    };
    let levels = image(&root.attributes)?;
    let mut found = Vec::new();
    if levels.is_empty() {
        let mut refused = Vec::new();
        for name in raw.folders("").await?.unwrap_or_default() {
            if !named(&name) {
                continue;
            }
            let node = ZarrNode::read(&raw, &name).await;
            let opened = node.and_then(|node| match node.filter(|node| node.is_array) {
                Some(node) => array(&raw, &name, node, None).map(Some),
                None => Ok(None),
            });
            match opened {
                Ok(one) => found.extend(one),
                Err(error) if error.class() == Class::Malformed => refused.push(error),
                Err(error) => return Err(error),
            }
        }
        let Some((first, _)) = found.first_mut() else {
            return match refused.into_iter().next() {
                Some(error) => Err(error),
                None => Ok(Some(found)),
            };
        };
        let left_out = refused.iter().map(|error| format!("left out: {error}"));
        first.notes.extend(left_out);
        return Ok(Some(found));
    }
    let of_image = of_image(&root.attributes);
    for level in levels {
        if !named(&level.path) {
            continue;
        }
        let Some(node) = ZarrNode::read(&raw, &level.path)
            .await?
            .filter(|node| node.is_array)
        else {
            let place = format!("{address}/{}", level.path);
            return Err(VolumeError::malformed(
                place,
                "no array",
                format!("the level that the image names; {address}#NAME opens another level alone"),
            ));
        };
        let (info, mut array) = array(&raw, &level.path, node, Some(level.axes))?;
        array.of_image.clone_from(&of_image);
        found.push((info, array));
    }
    Ok(Some(found))
}

/// A Zarr array or group, of version 2 or 3.
struct ZarrNode {
    is_array: bool,
    version: u8,
    document: Value,
    attributes: Value,
}

impl ZarrNode {
    async fn read(raw: &RawStore, path: &str) -> Result<Option<Self>, VolumeError> {
        let key = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}/{name}"),
        };
        if let Some(bytes) = raw.read(&key("zarr.json")).await? {
            let document = json(&key("zarr.json"), &bytes)?;
            return Ok(Some(Self {
                is_array: document["node_type"] == "array",
                version: 3,
                attributes: document["attributes"].clone(),
                document,
            }));
        }
        let attributes = match raw.read(&key(".zattrs")).await? {
            Some(bytes) => json(&key(".zattrs"), &bytes)?,
            None => Value::Null,
        };
        if let Some(bytes) = raw.read(&key(".zarray")).await? {
            return Ok(Some(Self {
                is_array: true,
                version: 2,
                document: json(&key(".zarray"), &bytes)?,
                attributes,
            }));
        }
        let group = raw.read(&key(".zgroup")).await?;
        Ok(group.map(|_| Self {
            is_array: false,
            version: 2,
            document: Value::Null,
            attributes,
        }))
    }
}

fn json(key: &str, bytes: &[u8]) -> Result<Value, VolumeError> {
    serde_json::from_slice(bytes)
        .map_err(|error| VolumeError::malformed(key, error.to_string(), "a JSON document"))
}

/// A level of an image: the path of its array, and its axes with their transforms.
struct ImageLevel {
    path: String,
    axes: Vec<AxisInfo>,
}

/// Names of the attributes of an image, except for `multiscales` and `version`.
fn of_image(attributes: &Value) -> Vec<String> {
    let members = attributes["ome"].as_object();
    let members = members.or_else(|| attributes.as_object());
    let names = members.into_iter().flat_map(serde_json::Map::keys);
    names
        .filter(|name| !matches!(name.as_str(), "multiscales" | "version"))
        .cloned()
        .collect()
}

/// The levels of the first multiscale image of a group.
fn image(attributes: &Value) -> Result<Vec<ImageLevel>, VolumeError> {
    let first = ["/ome/multiscales/0", "/multiscales/0"]
        .iter()
        .find_map(|at| attributes.pointer(at));
    let Some(first) = first else {
        return Ok(Vec::new());
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let axes: Vec<AxisInfo> = first["axes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|axis| AxisInfo {
            // Before 0.4, an axis was only a name.
            name: text(axis).or_else(|| text(&axis["name"])),
            kind: text(&axis["type"]),
            unit: text(&axis["unit"]),
            place: None,
        })
        .collect();
    let levels = first["datasets"].as_array().into_iter().flatten();
    levels
        .filter_map(|level| Some((level, text(&level["path"])?)))
        .enumerate()
        .map(|(number, (level, path))| {
            if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
                return Err(VolumeError::malformed(
                    "path of a level",
                    path,
                    "names of folders",
                ));
            }
            // A coarse level has another scale than level 0, so it must state it.
            for (owner, may_lack) in [(level, number == 0), (first, true)] {
                let list = &owner["coordinateTransformations"];
                if !(list.is_array() || (list.is_null() && may_lack)) {
                    let expected = "a list of coordinateTransformations";
                    let place = format!("level {path}");
                    return Err(VolumeError::malformed(place, list.to_string(), expected));
                }
            }
            let mut axes = axes.clone();
            let mut places = vec![(0.0, 1.0); axes.len()];
            // The transforms of the whole image are applied after the transforms of the level.
            for list in [level, first].map(|owner| &owner["coordinateTransformations"]) {
                for step in list.as_array().into_iter().flatten() {
                    transform(&mut places, step)?;
                }
            }
            for (axis, place) in axes.iter_mut().zip(places) {
                axis.place = Some(place);
            }
            Ok(ImageLevel { path, axes })
        })
        .collect()
}

/// Applies one more transformation to the `(offset, scale)` of every axis. An unknown transformation is an error, because
/// elements would otherwise have wrong positions.
fn transform(places: &mut [(f64, f64)], step: &Value) -> Result<(), VolumeError> {
    let kind = step["type"].as_str().unwrap_or_default();
    if kind == "identity" {
        return Ok(());
    }
    let numbers: Option<Vec<f64>> = match kind {
        "scale" | "translation" => step[kind]
            .as_array()
            .and_then(|list| list.iter().map(Value::as_f64).collect()),
        _ => None,
    };
    let numbers = numbers.filter(|numbers| numbers.len() == places.len());
    let Some(numbers) = numbers else {
        let expected = format!(
            "identity, or scale or translation with {} numbers",
            places.len()
        );
        let place = "coordinateTransformations of the image";
        return Err(VolumeError::malformed(place, step.to_string(), expected));
    };
    for ((offset, scale), number) in places.iter_mut().zip(numbers) {
        if kind == "scale" {
            *offset *= number;
            *scale *= number;
        } else {
            *offset += number;
        }
    }
    Ok(())
}

fn array(
    raw: &RawStore,
    path: &str,
    node: ZarrNode,
    axes: Option<Vec<AxisInfo>>,
) -> Result<(VolumeInfo, ZarrArray), VolumeError> {
    let ZarrNode {
        version, document, ..
    } = &node;
    let place = || {
        if path.is_empty() {
            "the array".to_owned()
        } else {
            format!("array {path}")
        }
    };
    let shape = extents(&document["shape"])
        .ok_or_else(|| VolumeError::malformed(place(), document["shape"].to_string(), "a shape"))?;
    let (chunk, block, codecs, filters, text) = match version {
        2 => version_2(document),
        _ => version_3(document),
    };
    let chunk = chunk.filter(|chunk| {
        let mut axes = chunk.iter().zip(shape.iter());
        chunk.len() == shape.len() && axes.all(|(chunk, extent)| *chunk > 0 || *extent == 0)
    });
    let chunk =
        chunk.ok_or_else(|| VolumeError::malformed(place(), "another grid", "regular chunks"))?;
    let element = Element::parse(
        &text,
        zvf_format::dtype::DType::parse(&text).map_or(0, |one| one.size()),
    );
    // `zarrs` returns elements in the byte order of this machine.
    let element = match element.number {
        Some(mut dtype) => {
            dtype.order = Element::NATIVE;
            Element::number(dtype)
        }
        None => return Err(VolumeError::malformed(place(), text, "a type of numbers")),
    };
    let names = document["dimension_names"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let axes = axes.filter(|axes| !axes.is_empty());
    if let Some(axes) = axes.as_ref().filter(|axes| axes.len() != shape.len()) {
        let found = format!("{} axes", axes.len());
        let expected = format!("one for each of the {} dimensions", shape.len());
        return Err(VolumeError::malformed(place(), found, expected));
    }
    let axes = axes.unwrap_or_else(|| {
        (0..shape.len())
            .map(|axis| AxisInfo {
                name: names.get(axis).and_then(Value::as_str).map(str::to_owned),
                ..AxisInfo::default()
            })
            .collect()
    });
    let info = VolumeInfo {
        name: path.to_owned(),
        form: VolumeFormat::Zarr,
        layout: format!("zarr v{version}"),
        element,
        shape,
        chunk,
        block: block.filter(|block| block.len() == shape.len()),
        codecs,
        filters,
        axes,
        affine: None,
        notes: Vec::new(),
    };
    let mut attributes = node.attributes;
    if let Some(attributes) = attributes.as_object_mut() {
        // `zarrs` records its own version in this member whenever it writes an array.
        attributes.shift_remove("_zarrs");
    }
    let array = ZarrArray {
        raw: raw.clone(),
        path: path.to_owned(),
        document: node.document,
        attributes,
        of_image: Vec::new(),
    };
    Ok((info, array))
}

fn extents(list: &Value) -> Option<Dims> {
    let all: Option<Vec<u64>> = list.as_array()?.iter().map(Value::as_u64).collect();
    Dims::new(&all?).ok()
}

type ArrayMembers = (Option<Dims>, Option<Dims>, Vec<String>, Vec<String>, String);

fn version_2(document: &Value) -> ArrayMembers {
    let name = |codec: &Value| codec["id"].as_str().map(str::to_owned);
    let filters = document["filters"].as_array().into_iter().flatten();
    (
        extents(&document["chunks"]),
        None,
        name(&document["compressor"]).into_iter().collect(),
        filters.filter_map(name).collect(),
        document["dtype"].as_str().unwrap_or_default().to_owned(),
    )
}

fn version_3(document: &Value) -> ArrayMembers {
    let chunk = extents(&document["chunk_grid"]["configuration"]["chunk_shape"]);
    let names = |list: &Value| -> Vec<String> {
        list.as_array()
            .into_iter()
            .flatten()
            .filter_map(|codec| codec["name"].as_str().or(codec.as_str()))
            .map(str::to_owned)
            .collect()
    };
    let shard = document["codecs"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|codec| codec["name"] == "sharding_indexed");
    let (block, codecs) = match shard {
        Some(shard) => {
            let configuration = &shard["configuration"];
            let inner = names(&configuration["codecs"]);
            (
                extents(&configuration["chunk_shape"]),
                [names(&document["codecs"]), inner].concat(),
            )
        }
        None => (None, names(&document["codecs"])),
    };
    let dtype = document["data_type"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (chunk, block, codecs, Vec::new(), dtype)
}

impl ZarrArray {
    /// The attributes, as an object or null.
    pub(crate) const fn attributes(&self) -> &Value {
        &self.attributes
    }

    /// The fill value, as the document states it.
    pub(crate) fn fill(&self) -> &Value {
        &self.document["fill_value"]
    }

    /// Names of the attributes of the image that the array belongs to, except for `multiscales` and `version`.
    pub(crate) fn of_image(&self) -> &[String] {
        &self.of_image
    }

    /// Reads a selection: one box from each chunk that it intersects. Returns the number of chunks.
    pub(crate) async fn read(
        &self,
        info: &VolumeInfo,
        selection: &Selection,
        out: &mut [u8],
    ) -> Result<u64, VolumeError> {
        let item = info.element.size;
        let mut chunks = 0_u64;
        let parts = selection.cells(&info.chunk)?.map(|cell| async move {
            let (mut ranges, mut extents): (Vec<Range<u64>>, Vec<u64>) = (Vec::new(), Vec::new());
            for ((run, at), extent) in cell
                .runs()
                .iter()
                .zip(cell.coord().iter())
                .zip(info.chunk.iter())
            {
                let start = at.saturating_mul(*extent).saturating_add(run.src);
                let length = run
                    .count
                    .saturating_sub(1)
                    .saturating_mul(run.step)
                    .saturating_add(1);
                ranges.push(start..start.saturating_add(length));
                extents.push(length);
            }
            let bytes = self
                .raw
                .read_box(&self.path, self.document.clone(), &ranges)
                .await?;
            Ok::<_, VolumeError>((cell, extents, bytes))
        });
        let mut parts = futures::stream::iter(parts).buffered(AT_ONCE);
        while let Some((cell, extents, bytes)) = parts.try_next().await? {
            // The box begins at the first element of the part.
            let runs: Vec<Run> = cell
                .runs()
                .iter()
                .map(|run| Run { src: 0, ..*run })
                .collect();
            copy(item, &bytes, &extents, out, &selection.shape(), &runs)?;
            chunks = chunks.saturating_add(1);
        }
        Ok(chunks)
    }
}
