//! Folders of Neuroglancer's precomputed formats: skeletons, meshes, and annotations.
//!
//! | document | becomes |
//! |---|---|
//! | `neuroglancer_skeletons` | skeletons, or graphs where edges make rings |
//! | `neuroglancer_legacy_mesh` | meshes; fragments share the vertices at the same place |
//! | `neuroglancer_multilod_draco` | meshes of the finest level |
//! | `neuroglancer_annotations_v1` | points, lines or polylines |
//!
//! Source: `src/datasource/precomputed/*.md` of google/neuroglancer, release 2.41.2.

mod annotation;
mod axes;
mod census;
mod collect;
mod info;
mod mesh;
mod record;
mod segments;
mod skeleton;
mod source;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use zvf_meta::Affine;
use zvf_write::{Axis, Kind};

use crate::error::{ConvertError, Place, shown};
use crate::ids::ObjectIds;
use crate::options::{Limits, Options};
use crate::{Found, Sink};
use annotation::Annotations;
use census::{Census, relations};
use collect::{Collector, Field, Plan, Shape};
use info::Document;
use mesh::Meshes;
use record::Record;
use segments::Segments;
use source::{Source, number, sharding};

/// A folder to be read again.
#[derive(Debug)]
pub(crate) struct Precomputed {
    content: Content,
    kind: Kind,
    plan: Plan,
    options: Options,
}

/// What a folder holds.
#[derive(Debug)]
enum Content {
    Skeletons { source: Source, fields: Vec<Field> },
    Meshes { source: Source, meshes: Meshes },
    Annotations(Annotations),
}

/// The number of an object, as stores have it.
fn object_id(shape: &Shape, record: &Record) -> Result<i64, ConvertError> {
    i64::try_from(shape.key).map_err(|_| {
        let expected = "an id below 2^63, which a store holds".to_owned();
        record.bad(0, format!("the id {}", shape.key), expected)
    })
}

impl Content {
    fn open(info: &Document, folder: &Path, limits: &Limits) -> Result<Self, ConvertError> {
        let kind = info.value.get("@type").and_then(serde_json::Value::as_str);
        let sharding = sharding(info, &info.value)?;
        let open = |key: &dyn Fn(&str) -> Option<u64>| Source::open(folder, sharding, limits, key);
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

    /// Hands over all objects in the same order at each call.
    fn visit(
        &self,
        limits: &Limits,
        take: &mut dyn FnMut(Shape, &Record) -> Result<(), ConvertError>,
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
    fn kinds(&self) -> &'static [Kind] {
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

    /// The kind that was asked for, or the usual one.
    fn kind(
        &self,
        census: &Census,
        wanted: Option<Kind>,
        folder: &Path,
    ) -> Result<Kind, ConvertError> {
        let kinds = self.kinds();
        match wanted {
            None => {
                let usual = if census.ringed == 0 {
                    kinds.first()
                } else {
                    kinds.last()
                };
                Ok(usual.copied().unwrap_or(Kind::PointCloud))
            }
            Some(Kind::Skeleton) if census.ringed > 0 => {
                let found = format!("{} skeletons with rings of edges", census.ringed);
                Err(ConvertError::malformed(
                    folder,
                    Place::Whole,
                    found,
                    "trees",
                ))
            }
            Some(kind) if kinds.contains(&kind) => Ok(kind),
            Some(kind) => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                let expected = format!("{} for this folder", names.join(" or "));
                Err(ConvertError::usage("kind", kind.name(), expected))
            }
        }
    }

    fn is_points(&self) -> bool {
        matches!(self, Self::Annotations(one) if one.kind == Kind::PointCloud)
    }

    /// Names of the relationships that are read.
    fn relationships(&self) -> &[String] {
        match self {
            Self::Annotations(annotations) => &annotations.relationships,
            _ => &[],
        }
    }

    fn notes(&self) -> Vec<String> {
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

    /// From stored coordinates to the axes, where that changes them.
    fn map(&self, info: &Document) -> Result<Option<Affine>, ConvertError> {
        match self {
            Self::Annotations(annotations) => Ok(annotations.map.clone()),
            Self::Meshes {
                meshes: Meshes::Legacy,
                ..
            } => Ok(None),
            _ => info.transform(),
        }
    }

    fn axes(&self) -> Vec<Axis> {
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

impl Precomputed {
    /// Reads everything below a folder once. The map is from its coordinates to those of the axes.
    ///
    /// # Errors
    /// Malformed files, by byte; kinds that the folder cannot become; I/O; limits.
    pub(crate) fn survey(
        files: &[PathBuf],
        options: &Options,
    ) -> Result<(Self, Found, Option<Affine>), ConvertError> {
        let [folder] = files else {
            let found = format!("{} folders", files.len());
            return Err(ConvertError::usage(
                "files",
                found,
                "one folder with `info`",
            ));
        };
        if !matches!(options.ids, ObjectIds::Kept | ObjectIds::New) {
            let expected = "none: the folder names its objects";
            return Err(ConvertError::usage(
                "ids",
                "a rule for ids of files",
                expected,
            ));
        }
        let info = Document::read(&folder.join("info"))?;
        let limits = &options.limits;
        let content = Content::open(&info, folder, limits)?;
        let segments = match &content {
            Content::Annotations(_) => None,
            _ => Segments::of(&info)?,
        };
        let map = content.map(&info)?;
        let mut plan = Plan {
            dims: content.axes().len(),
            segments,
            ..Plan::default()
        };
        let census = Census::of(&content, &plan, limits)?;
        let kind = content.kind(&census, options.kind, folder)?;
        let mut notes = census.notes(&plan);
        notes.extend(content.notes());
        if census.ringed > 0 && options.kind.is_none() {
            notes.push(format!(
                "{} skeletons have rings of edges: the store is a graph",
                census.ringed
            ));
        }
        match &content {
            Content::Skeletons { fields, .. } => plan.vertex.clone_from(fields),
            Content::Meshes { .. } => {}
            Content::Annotations(one) => {
                plan.relations = relations(one, &census, options, &mut notes)?;
                match content.is_points() {
                    true => plan.vertex = one.columns(),
                    false => plan.object.clone_from(&one.properties),
                }
            }
        }
        plan.objects = !content.is_points();
        plan.links = !matches!(content, Content::Annotations(_));
        let has_objects = plan.objects || plan.by_relation();
        let found = Found {
            extent: census.extent,
            objects: if has_objects { census.objects } else { 0 },
            links: census.links,
            spec: plan.spec(kind, content.axes()),
            frame: None,
            stated: true,
            notes,
        };
        let reader = Self {
            content,
            kind,
            plan,
            options: options.clone(),
        };
        Ok((reader, found, map))
    }

    /// Whether the store has the ids of the folder.
    pub(crate) fn names_objects(&self) -> bool {
        self.plan.objects || self.plan.by_relation()
    }

    pub(crate) fn read(&self, sink: &mut dyn Sink) -> Result<(), ConvertError> {
        let mut described = HashSet::new();
        let mut batches = Collector::new(&self.plan, &self.options, &mut *sink);
        self.content
            .visit(&self.options.limits, &mut |mut shape, record| {
                if self.kind == Kind::Skeleton {
                    let vertices = shape.positions.len() / 3;
                    let links = skeleton::rooted(vertices, &shape.links);
                    let changed = || record.bad(0, "a ring of edges", "a tree, as before");
                    shape.links = links.ok_or_else(changed)?;
                }
                let id = match self.plan.objects {
                    true => object_id(&shape, record)?,
                    false => 0,
                };
                if self.plan.describes(shape.key) {
                    described.insert(shape.key);
                }
                batches.push(&shape, id, record)
            })?;
        batches.flush()?;
        let groups = self.plan.segments.as_ref();
        if let Some(groups) = groups.and_then(|list| list.groups(|key| described.contains(&key))) {
            sink.groups(&groups)?;
        }
        Ok(())
    }
}
