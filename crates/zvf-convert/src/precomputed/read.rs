//! Imports a folder.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use zvf_meta::Affine;
use zvf_write::Kind;

use super::census::{FolderCensus, relations};
use super::collect::{BatchLayout, Collector};
use super::content::{FolderContent, object_id};
use super::info::JsonFile;
use super::segments::SegmentTable;
use super::skeleton;
use crate::error::{ConvertError, InFile};
use crate::found::{FirstPass, Stated};
use crate::ids::ObjectIds;
use crate::options::Options;
use crate::sink::Sink;

/// A folder after the first pass, to be read again.
#[derive(Debug)]
pub(crate) struct Precomputed {
    content: FolderContent,
    kind: Kind,
    plan: BatchLayout,
    options: Options,
}

/// The requested kind, or the default kind of the content.
fn kind(
    content: &FolderContent,
    census: &FolderCensus,
    wanted: Option<Kind>,
    folder: &Path,
) -> Result<Kind, ConvertError> {
    let kinds = content.kinds();
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
                InFile::Whole,
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

impl Precomputed {
    /// Reads everything in a folder once. `map` transforms stored coordinates to the axes.
    ///
    /// # Errors
    /// Misuse: not exactly one folder, a rule for ids, a kind that the folder cannot become. Malformed files, by byte; I/O; limits.
    pub(crate) fn survey(
        files: &[PathBuf],
        options: &Options,
    ) -> Result<(Self, FirstPass, Option<Affine>), ConvertError> {
        let [folder] = files else {
            let found = format!("{} folders", files.len());
            return Err(ConvertError::usage(
                "files",
                found,
                "one folder with `info`",
            ));
        };
        // Jobs that append renumber the objects afterwards.
        let is_new = options.ids == ObjectIds::New && options.into.is_some();
        if options.ids != ObjectIds::Kept && !is_new {
            let expected = "none: the folder states the ids of its objects";
            return Err(ConvertError::usage(
                "ids",
                "a rule for ids of files",
                expected,
            ));
        }
        let info = JsonFile::read(&folder.join("info"))?;
        let limits = &options.limits;
        let content = FolderContent::open(&info, folder, limits)?;
        let segments = match &content {
            FolderContent::Annotations(_) => None,
            _ => SegmentTable::of(&info)?,
        };
        let map = content.map(&info)?;
        let mut plan = BatchLayout {
            dims: content.axes().len(),
            segments,
            ..BatchLayout::default()
        };
        let census = FolderCensus::of(&content, &plan, limits)?;
        let kind = kind(&content, &census, options.kind, folder)?;
        let mut notes = census.notes(&plan);
        notes.extend(content.notes());
        if census.ringed > 0 && options.kind.is_none() {
            notes.push(format!(
                "{} skeletons have rings of edges: the store is a graph",
                census.ringed
            ));
        }
        match &content {
            FolderContent::Skeletons { fields, .. } => plan.vertex.clone_from(fields),
            FolderContent::Meshes { .. } => {}
            FolderContent::Annotations(one) => {
                plan.relations = relations(one, &census, options, &mut notes)?;
                match content.is_points() {
                    true => plan.vertex = one.columns(),
                    false => plan.object.clone_from(&one.properties),
                }
            }
        }
        plan.objects = !content.is_points();
        plan.links = !matches!(content, FolderContent::Annotations(_));
        let has_objects = plan.objects || plan.by_relation();
        let found = FirstPass {
            extent: census.extent,
            objects: if has_objects { census.objects } else { 0 },
            links: census.links,
            spec: plan.spec(kind, content.axes()),
            frame: None,
            stated: Stated::Units,
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

    /// Whether objects have ids from the folder.
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
                    let changed =
                        || record.bad(0, "a ring of edges", "a tree, as in the first pass");
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
