//! The content of a folder: skeletons, meshes or annotations.

use std::path::Path;

use zvf_meta::Affine;
use zvf_write::{Axis, Kind};

use super::annotation::Annotations;
use super::collect::{CollectedColumn, CollectedObject};
use super::info::JsonFile;
use super::mesh::{self, Meshes};
use super::record::ObjectBytes;
use super::skeleton;
use super::source::{SegmentSource, number, sharding};
use crate::error::{ConvertError, shown};
use crate::options::FileLimits;

/// The content of a folder.
#[derive(Debug)]
pub(super) enum FolderContent {
    Skeletons {
        source: SegmentSource,
        fields: Vec<CollectedColumn>,
    },
    Meshes {
        source: SegmentSource,
        meshes: Meshes,
    },
    Annotations(Annotations),
}

/// The id of an object as int64.
pub(super) fn object_id(
    shape: &CollectedObject,
    record: &ObjectBytes,
) -> Result<i64, ConvertError> {
    i64::try_from(shape.key).map_err(|_| {
        let expected = "an id below 2^63, as in stores".to_owned();
        record.bad(0, format!("the id {}", shape.key), expected)
    })
}

impl FolderContent {
    pub(super) fn open(
        info: &JsonFile,
        folder: &Path,
        limits: &FileLimits,
    ) -> Result<Self, ConvertError> {
        let kind = info.value.get("@type").and_then(serde_json::Value::as_str);
        let sharding = sharding(info, &info.value)?;
        let open =
            |key: &dyn Fn(&str) -> Option<u64>| SegmentSource::open(folder, sharding, limits, key);
        Ok(match kind {
            Some("neuroglancer_skeletons") => Self::Skeletons {
                source: open(&number)?,
                fields: skeleton::fields(info)?,
            },
            Some("neuroglancer_legacy_mesh") => Self::Meshes {
                source: open(&|name| number(name.strip_suffix(":0")?))?,
                meshes: Meshes::Legacy,
            },
            Some("neuroglancer_multilod_draco") => Self::Meshes {
                source: open(&|name| number(name.strip_suffix(".index")?))?,
                meshes: mesh::multi_lod(info, folder)?,
            },
            Some("neuroglancer_annotations_v1") => {
                Self::Annotations(Annotations::open(info, limits)?)
            }
            other => {
                let volume = ["mesh", "skeletons"].into_iter().filter_map(|member| {
                    let folder = info.value.get(member)?.as_str()?;
                    Some(format!("its {member} are in {}", shown(folder)))
                });
                let volume: Vec<String> = volume.collect();
                let found = match (other, volume.is_empty()) {
                    (Some(other), _) => format!("@type {}", shown(other)),
                    (None, true) => "no @type".to_owned(),
                    (None, false) => format!("a volume: {}", volume.join(", ")),
                };
                let expected = "a folder of skeletons, meshes or annotations of Neuroglancer's precomputed format";
                return Err(info.bad(found, expected));
            }
        })
    }

    /// Passes on all objects, in the same order at each call.
    pub(super) fn visit(
        &self,
        limits: &FileLimits,
        take: &mut dyn FnMut(CollectedObject, &ObjectBytes) -> Result<(), ConvertError>,
    ) -> Result<(), ConvertError> {
        match self {
            Self::Skeletons { source, fields } => source.visit(limits, &mut |record| {
                take(skeleton::decode(&record, fields)?, &record)
            }),
            Self::Meshes { source, meshes } => source.visit(limits, &mut |record| {
                take(meshes.decode(&record, limits)?, &record)
            }),
            Self::Annotations(annotations) => annotations.visit(limits, take),
        }
    }

    /// The kinds that the objects can become, the usual one first.
    pub(super) fn kinds(&self) -> &'static [Kind] {
        match self {
            Self::Skeletons { .. } => &[Kind::Skeleton, Kind::Graph],
            Self::Meshes { .. } => &[Kind::Mesh],
            Self::Annotations(annotations) => match annotations.kind {
                Kind::Line => &[Kind::Line],
                Kind::Polyline => &[Kind::Polyline, Kind::Streamline],
                _ => &[Kind::PointCloud],
            },
        }
    }

    pub(super) fn is_points(&self) -> bool {
        matches!(self, Self::Annotations(one) if one.kind == Kind::PointCloud)
    }

    /// Names of the relationships that are read.
    pub(super) fn relationships(&self) -> &[String] {
        match self {
            Self::Annotations(annotations) => &annotations.relationships,
            _ => &[],
        }
    }

    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::Annotations(annotations) => annotations.notes.clone(),
            Self::Meshes {
                meshes: Meshes::MultiLod { .. },
                ..
            } => {
                vec!["of each mesh the finest level is read".to_owned()]
            }
            _ => Vec::new(),
        }
    }

    /// The map from stored coordinates to the axes; `None` for the identity.
    pub(super) fn map(&self, info: &JsonFile) -> Result<Option<Affine>, ConvertError> {
        match self {
            Self::Annotations(annotations) => Ok(annotations.map.clone()),
            Self::Meshes {
                meshes: Meshes::Legacy,
                ..
            } => Ok(None),
            _ => info.transform(),
        }
    }

    pub(super) fn axes(&self) -> Vec<Axis> {
        match self {
            Self::Annotations(annotations) => annotations.axes.clone(),
            _ => ["x", "y", "z"]
                .map(|name| {
                    let mut axis = Axis::new(name, "space");
                    axis.unit = Some("nanometer".to_owned());
                    axis
                })
                .to_vec(),
        }
    }
}
