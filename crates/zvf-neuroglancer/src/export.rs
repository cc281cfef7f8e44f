//! Exports the views of a store as files, for plain buckets and web servers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use zvf_meta::{Kind, LinksConvention};
use zvf_query::{Outputs, Query, query, stale_level};
use zvf_store::format::dtype::{DType, DTypeKind};
use zvf_store::{Class, Deltas, Names, Need, Store};

use crate::error::ViewError;
use crate::shards::{ShardError, ShardSize, ShardWriter, morton, morton_bits};
use crate::viewed_store::ViewedStore;
use crate::views::{View, ViewContent, content, lines, multilod, points, skeletons};

/// Largest number of files of an index for which [`Shards::Auto`] makes no shards.
const FEW_FILES: u64 = 10_000;

/// Bytes in memory of the lists of a cell of points.
const CELL_BYTES: u64 = 24 << 20;

/// Whether objects of an index are written as files or in shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shards {
    /// Shards if an index would have more than 10 000 files; their number depends on objects and bytes.
    #[default]
    Auto,
    /// One file for each object.
    None,
    /// Two to the power of this many shards for each index, at most 2^20.
    Bits(u32),
}

/// The result of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedFolder {
    /// Folders of views, in the folder of the export.
    pub views: Vec<&'static str>,
    /// Number of files.
    pub files: u64,
    /// Total bytes of the files.
    pub bytes: u64,
    /// Attributes that no view can show.
    pub left_out: Vec<String>,
    /// Attributes of numbers of 64 bits, which are written as float32: whole numbers above 2^24 and others are rounded.
    pub rounded: Vec<String>,
    /// Sentences about other data that the views lack or change.
    pub notes: Vec<String>,
}

/// Why the views were not written completely. Files that were written before the failure are not removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A view cannot be generated.
    #[error("{path}: {message}")]
    View {
        /// The file of the view.
        path: String,
        /// Description of the failure.
        message: String,
        /// The class of the failure.
        class: Class,
    },
    /// Shards of a folder cannot be written.
    #[error("{path}: {source}")]
    Shards {
        /// The folder.
        path: PathBuf,
        /// Description of the failure.
        source: ShardError,
    },
    /// A file cannot be written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

impl ExportError {
    /// The class of the failure.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::View { class, .. } => *class,
            Self::Shards { source, .. } => source.class(),
            Self::File { .. } => Class::Io,
        }
    }
}

/// Writes every view of a store below `folder`, which must exist: the files of [`content`](crate::content), or shards of them.
///
/// # Cost
/// Memory: the encoded form of one object, or of 24 MiB of a chunk of points, or of 3 MiB of lines, and up to 150 bytes for each object of
/// the largest shard. A chunk of points is read once for each 24 MiB of its lists, lines are read once, and other objects once for each of
/// their views. Shards need temporary files of the same size in `folder`.
///
/// # Errors
/// The errors of the store and its queries; an object of more than 64 MiB; two objects with the same id in shards; I/O.
pub fn export_precomputed<'a>(
    store: Store,
    folder: &'a Path,
    memory_budget: u64,
    shards: Shards,
) -> BoxFuture<'a, Result<ExportedFolder, ExportError>> {
    Box::pin(async move {
        let found = zvf_query::check_links_found(&store, 0).await;
        found.map_err(|error| failed("info", &error.into()))?;
        let opened = Arc::new(ViewedStore::new(store));
        let mut writer = PrecomputedWriter {
            opened,
            folder,
            budget: memory_budget,
            shards,
            links: 0,
            lines_lack: Vec::new(),
            done: ExportedFolder::default(),
        };
        let views = View::of(writer.opened.kind());
        for view in views {
            // Annotations of lines can have any number of axes, skeletons only two or three.
            let beside_lines = *view == View::Skeletons && views.contains(&View::Lines);
            if beside_lines && let Err(error) = skeletons::check_space(&writer.opened) {
                let note = format!("{} are left out: {error}", view.name());
                writer.done.notes.push(note);
                continue;
            }
            writer.done.views.push(view.name());
            writer.view(*view).await?;
        }
        writer.lines_lack();
        writer.done.notes.extend(writer.lost().await?);
        // Each query checks that the store did not change; this checks it for all other reads, such as those of properties and groups.
        let unchanged = writer.opened.store.verify(0).await;
        unchanged.map_err(|error| failed("info", &error.into()))?;
        for names in [&mut writer.done.left_out, &mut writer.done.rounded] {
            names.sort();
            names.dedup();
        }
        Ok(writer.done)
    })
}

struct PrecomputedWriter<'a> {
    opened: Arc<ViewedStore>,
    folder: &'a Path,
    budget: u64,
    shards: Shards,
    /// Number of links or faces of level 0 in the files of all segments.
    links: u64,
    /// Attributes of objects that the view of lines lacks.
    lines_lack: Vec<String>,
    done: ExportedFolder,
}

/// Objects of a folder by their keys: files, or shards that are written at the end.
struct ObjectFiles<'p> {
    path: Vec<&'p str>,
    shards: Option<ShardWriter>,
}

/// The kind of keys of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    /// Ids of objects of some hundred bytes or more.
    Ids,
    /// Ids of objects that are too small to be compressed.
    SmallIds,
    /// Morton codes with this number of bits; `None`: they do not fit into 64 bits.
    Cells(Option<u32>),
}

/// The number of links of an answer.
async fn links_of(store: &Store, asked: Query) -> Result<u64, ViewError> {
    let mut answer = query(store, asked).await?;
    let mut all = 0_u64;
    while let Some((_, batch)) = answer.next().await? {
        all += batch.num_rows() as u64;
    }
    Ok(all)
}

/// Converts the failure of a view.
fn failed(path: &str, error: &ViewError) -> ExportError {
    ExportError::View {
        path: path.to_owned(),
        message: error.to_string(),
        class: error.class(),
    }
}

impl PrecomputedWriter<'_> {
    async fn view(&mut self, view: View) -> Result<(), ExportError> {
        let name = view.name();
        let mut info = match self.content(&[name, "info"]).await? {
            ViewContent::Document(info) => info,
            ViewContent::File(_) => {
                let error = ViewError::malformed("a bug in zvf: no document; please report it");
                return Err(failed(name, &error));
            }
        };
        self.remark(name, &info);
        match view {
            View::Points => self.points(name, &mut info).await?,
            View::Lines => self.lines(name, &mut info).await?,
            View::Skeletons => {
                self.properties(name).await?;
                let segments = self.segments(name).await?;
                let mut index = self.index(vec![name], KeyKind::Ids, segments.len() as u64)?;
                for segment in segments {
                    let key = segment.to_string();
                    let file = skeletons::encoded(&self.opened, self.budget, segment).await;
                    let (file, links) =
                        file.map_err(|error| failed(&format!("{name}/{key}"), &error))?;
                    self.links += links;
                    self.add(&mut index, segment, &key, &[], &file)?;
                }
                self.finish(index, &mut info)?;
            }
            View::Multilod => {
                self.properties(name).await?;
                let segments = self.segments(name).await?;
                let mut index = self.index(vec![name], KeyKind::Ids, segments.len() as u64)?;
                for segment in segments {
                    let files = multilod::files(&self.opened, self.budget, segment).await;
                    let key = segment.to_string();
                    let files = files.map_err(|error| failed(&format!("{name}/{key}"), &error))?;
                    self.links += files.faces;
                    if index.shards.is_none() {
                        self.put(&[name, &key], &files.fragments)?;
                    }
                    let manifest = format!("{key}.index");
                    self.add(
                        &mut index,
                        segment,
                        &manifest,
                        &files.fragments,
                        &files.manifest,
                    )?;
                }
                self.finish(index, &mut info)?;
            }
            View::Meshes => {
                self.properties(name).await?;
                for segment in self.segments(name).await? {
                    let manifest = self.file(&[name, &format!("{segment}:0")]).await?;
                    let fragments = manifest.as_ref().map(|manifest| &manifest["fragments"]);
                    let fragments = fragments.and_then(Value::as_array).into_iter().flatten();
                    for fragment in fragments.filter_map(Value::as_str) {
                        self.file(&[name, fragment]).await?;
                    }
                }
            }
        }
        // Written last, so that a view with this file is complete.
        self.put(&[name, "info"], info.to_string().as_bytes())
    }

    /// Adds the names of attributes that the document of a view lacks, shows inexactly, or has under another name.
    fn remark(&mut self, view: &str, document: &Value) {
        for (member, what, change, why) in [
            (
                "renamed",
                "attribute",
                "is named",
                "names must be unique, also among label and tags, begin with a lower-case letter, and have only letters, digits and _",
            ),
            (
                "renamed_groups",
                "group",
                "is the tag",
                "tags must be unique, without spaces and #",
            ),
            (
                "moments",
                "dates and times of attribute",
                "are plain numbers, in",
                "the formats have no types for them",
            ),
        ] {
            let pairs = document["zvf"][member].as_array().into_iter().flatten();
            let pairs = pairs.filter_map(|one| Some((one[0].as_str()?, one[1].as_str()?)));
            self.done.notes.extend(
                pairs.map(|(name, other)| format!("{view}: {what} {name} {change} {other}: {why}")),
            );
        }
        let unnamed = document["zvf"]["unnamed"].as_array().into_iter().flatten();
        let unnamed = unnamed.filter_map(|one| Some((one[0].as_str()?, one[1].as_u64()?)));
        self.done.notes.extend(unnamed.map(|(name, count)| {
            format!("{view}: names of categories of attribute {name} are left out ({count}): their codes are written")
        }));
        let left_out = match view == View::Lines.name() {
            true => &mut self.lines_lack,
            false => &mut self.done.left_out,
        };
        for (member, into) in [("left_out", left_out), ("rounded", &mut self.done.rounded)] {
            let names = document["zvf"][member].as_array().into_iter().flatten();
            into.extend(names.filter_map(|one| one.as_str().map(str::to_owned)));
        }
    }

    /// Reports the attributes that the view of lines lacks: texts of objects are properties of skeletons, if there are skeletons.
    fn lines_lack(&mut self) {
        let names = std::mem::take(&mut self.lines_lack);
        if !self.done.views.contains(&View::Skeletons.name()) {
            self.done.left_out.extend(names);
            return;
        }
        let left_out = &self.done.left_out;
        let elsewhere = names.iter().filter(|name| !left_out.contains(name));
        self.done.notes.extend(elsewhere.map(|name| {
            format!("lines: attribute {name} is left out: annotations have no values of its type; the properties of skeletons have it")
        }));
    }

    /// A sentence about links that no segment has, because their vertices are not all in one object. `None` if there are none.
    ///
    /// # Cost
    /// Reads the links of level 0 once.
    async fn lost_links(&self) -> Result<Option<String>, ExportError> {
        let wrong = |error: ViewError| failed("info", &error);
        let store = &self.opened.store;
        let stored = matches!(
            self.opened.kind(),
            Kind::Graph | Kind::Skeleton | Kind::Mesh
        ) || store.root().links_convention().ok()
            != Some(LinksConvention::ImplicitSequential);
        let views = &self.done.views;
        let shown =
            views.contains(&View::Skeletons.name()) || views.contains(&View::Multilod.name());
        // Without an object index the only segment has all links.
        let objects = self.opened.objects().await.map_err(wrong)?;
        if !shown || !stored || !objects.exist {
            return Ok(None);
        }
        let asked = Query {
            columns: Vec::new(),
            outputs: Outputs {
                vertices: false,
                links: true,
                objects: false,
            },
            memory_budget: self.budget,
            ..Query::default()
        };
        let noun = match self.opened.kind() {
            Kind::Mesh => "faces",
            _ => "links",
        };
        let all = match links_of(store, asked).await {
            Ok(all) => all,
            Err(error) if error.class() == Class::Limit => {
                return Ok(Some(format!(
                    "{noun} whose vertices are not all in one object are left out, and are not counted: {error}"
                )));
            }
            Err(error) => return Err(wrong(error)),
        };
        // Links in fragments of several objects are counted once for each object.
        let lost = all.saturating_sub(self.links);
        Ok((lost > 0).then(|| {
            format!("{noun} whose vertices are not all in one object are left out: {lost}; a segment is one object")
        }))
    }

    /// Writes the properties of the segments of a view, and notes what they lack or change.
    async fn properties(&mut self, name: &str) -> Result<(), ExportError> {
        if let Some(document) = self.file(&[name, "properties", "info"]).await? {
            self.remark(name, &document);
            let more = document["zvf"]["segments_left_out"].as_u64();
            self.done
                .notes
                .extend(more.filter(|more| *more > 0).map(|more| {
                format!(
                    "{name}: {more} objects have no properties: the document has the first 100000"
                )
            }));
            let more = document["zvf"]["groups_left_out"].as_u64();
            self.done.notes.extend(more.map(|more| {
                format!("{name}: {more} groups are not tags: the document has the first 256")
            }));
            let attributes = document["zvf"]["group_attributes"].as_array();
            let attributes = attributes.into_iter().flatten().filter_map(Value::as_str);
            self.done.notes.extend(attributes.map(|attribute| {
                format!("{name}: attribute {attribute} of groups is left out: tags have none")
            }));
            for lost in ["infinite", "missing"] {
                let names = document["zvf"][lost].as_array().into_iter().flatten();
                let names = names.filter_map(Value::as_str);
                self.done.notes.extend(names.map(|attribute| {
                    format!("{name}: {lost} values of attribute {attribute} are 0 in the properties: JSON numbers cannot represent them")
                }));
            }
            let lists = document["zvf"]["missing_texts"]
                .as_array()
                .into_iter()
                .flatten();
            let names = lists.filter_map(|list| list["attribute"].as_str());
            self.done.notes.extend(names.map(|attribute| {
                format!("{name}: missing texts of attribute {attribute} are empty in the properties; only `zvf import` reads them as missing")
            }));
        }
        Ok(())
    }

    /// A warning with the largest error of positions in the views, which have float32. `None` if float32 holds all positions of this type exactly.
    fn rounding(&self, dtype: DType) -> Option<String> {
        let wide = !matches!(
            dtype.kind,
            DTypeKind::F32
                | DTypeKind::F16
                | DTypeKind::I8
                | DTypeKind::I16
                | DTypeKind::U8
                | DTypeKind::U16
        );
        let block = &self.opened.store.root().zarr_vectors;
        let (low, high) = &block.bounds;
        // Bounds are those of stored positions.
        let offset = block.coordinate_offset.as_deref().unwrap_or_default();
        let world = |list: &[f64]| {
            let offsets = offset.iter().copied().chain(std::iter::repeat(0.0));
            let sums = list.iter().zip(offsets).map(|(one, offset)| one + offset);
            sums.collect::<Vec<f64>>()
        };
        let largest = world(low).into_iter().chain(world(high)).map(f64::abs);
        let largest = largest.filter(|one| one.is_finite()).fold(0.0, f64::max);
        // Half the distance between neighbouring float32 numbers of this size.
        let far = 2_f64.powi(-25) * 2_f64.powf(largest.log2().ceil());
        let whole = !matches!(dtype.kind, DTypeKind::F64) && far < 1.0;
        (wide && !whole && largest > 0.0).then(|| {
            format!("positions are written as float32, the type in these formats: they differ by at most {far:.1e} (largest coordinate {largest})")
        })
    }

    /// Sentences about data that none of the written views has.
    async fn lost(&self) -> Result<Vec<String>, ExportError> {
        let has = |view: View| self.done.views.contains(&view.name());
        let wrong = |error: ViewError| failed("info", &error);
        let need = Need {
            vertex_attributes: Names::All,
            object_attributes: Names::All,
            groups: true,
            link_attributes: Names::All,
            link_deltas: Deltas::List(vec![0]),
            ..Need::nothing()
        };
        let level = self.opened.store.level(0, &need).await;
        let level = level.map_err(|error| wrong(error.into()))?;
        let refused = level.refused().iter().filter(|one| one.delta == Some(0));
        let refused = refused.map(|one| format!("links are left out: {one}"));
        let mut notes: Vec<String> = refused.collect();
        let mut lost = |what: &str, names: Vec<String>, why: &str| {
            if !names.is_empty() {
                notes.push(format!("{what} {} are left out: {why}", names.join(", ")));
            }
        };
        if has(View::Meshes) {
            let names = level.vertex_attributes().iter();
            let names = names.map(|one| one.name.clone()).collect();
            lost(
                "vertex attributes",
                names,
                "the formats of meshes have none",
            );
        }
        if !has(View::Meshes) && !has(View::Skeletons) {
            let names = level.object_attributes().iter();
            let names = names.map(|one| one.name().to_owned()).collect();
            lost(
                "object attributes",
                names,
                "annotations have the attributes of vertices",
            );
            if level.groups().is_some_and(|groups| !groups.is_empty()) {
                lost(
                    "groups",
                    Vec::from(["of objects".to_owned()]),
                    "annotations have none",
                );
            }
        }
        let links = level.links(0).into_iter();
        let names = links.flat_map(|family| family.attributes().iter());
        let names = names.map(|one| one.name.clone()).collect();
        lost("link attributes", names, "the views have none");
        notes.extend(self.lost_links().await?);
        let objects = self.opened.objects().await.map_err(wrong)?;
        if objects.numbered {
            notes.push(
                "ids of objects are replaced: some are negative, so segments are numbered from 1 in the order of the objects"
                    .to_owned(),
            );
        }
        if has(View::Multilod) {
            let levels = self.opened.store.levels().iter();
            notes.extend(levels.filter_map(|number| stale_level(&self.opened.store, *number)));
        }
        notes.extend(self.rounding(level.vertices().dtype()));
        Ok(notes)
    }

    async fn points(&mut self, name: &str, info: &mut Value) -> Result<(), ExportError> {
        let wrong = |error: ViewError| failed(name, &error);
        let runs = points::runs(&self.opened, CELL_BYTES)
            .await
            .map_err(wrong)?;
        let count = points::count(&self.opened).await.map_err(wrong)?;
        let mut by_id = self.index(vec![name, "by_id"], KeyKind::SmallIds, count)?;
        let shapes = points::shapes(&self.opened).await.map_err(wrong)?;
        let mut levels = Vec::with_capacity(shapes.len());
        let names: Vec<String> = (0..shapes.len()).map(|level| format!("s{level}")).collect();
        for ((shape, cells), level) in shapes.iter().zip(&names) {
            let keys = KeyKind::Cells(morton_bits(shape));
            levels.push(self.index(vec![name, level], keys, *cells)?);
        }
        for run in runs {
            let files = points::run_files(&self.opened, self.budget, &run).await;
            let files = files.map_err(wrong)?;
            let code = morton(&run.cell, &run.shape);
            let key: Vec<String> = run.cell.iter().map(u64::to_string).collect();
            let key = key.join("_");
            for (level, file) in levels.iter_mut().skip(run.spatial).zip(&files.bands) {
                self.add(level, code, &key, &[], file)?;
            }
            for (id, file) in files.by_id {
                self.add(&mut by_id, id, &id.to_string(), &[], &file)?;
            }
        }
        for (number, level) in levels.into_iter().enumerate() {
            self.finish(level, &mut info["spatial"][number])?;
        }
        self.finish(by_id, &mut info["by_id"])?;
        if !info["relationships"][0].is_null() {
            let segments = self.segments(name).await?;
            let path = vec![name, "by_object"];
            let mut by_object = self.index(path, KeyKind::Ids, segments.len() as u64)?;
            for segment in segments {
                let key = segment.to_string();
                let content = self.content(&[name, "by_object", &key]).await?;
                self.add(&mut by_object, segment, &key, &[], &bytes(&content))?;
            }
            self.finish(by_object, &mut info["relationships"][0])?;
        }
        Ok(())
    }

    async fn lines(&mut self, name: &str, info: &mut Value) -> Result<(), ExportError> {
        let wrong = |error: ViewError| failed(name, &error);
        let levels = lines::levels(&self.opened).await.map_err(wrong)?;
        let count = self.segments(name).await?.len() as u64;
        let cell = vec!["0"; self.opened.dims()].join("_");
        let mut by_id = self.index(vec![name, "by_id"], KeyKind::Ids, count)?;
        let mut by_object = self.index(vec![name, "by_object"], KeyKind::Ids, count)?;
        let mut written = 0_u64;
        for level in 0..levels {
            let files = lines::level_files(&self.opened, self.budget, level).await;
            let files = files.map_err(wrong)?;
            // A level is a single cell, so there is nothing to merge.
            let folder = format!("s{level}");
            let mut spatial = self.index(vec![name, &folder], KeyKind::Cells(Some(0)), 1)?;
            self.add(&mut spatial, 0, &cell, &[], &files.cell)?;
            self.finish(spatial, &mut info["spatial"][level])?;
            for (segment, single, related) in files.objects {
                let key = segment.to_string();
                written = written.saturating_add(1);
                self.add(&mut by_id, segment, &key, &[], &single)?;
                self.add(&mut by_object, segment, &key, &[], &related)?;
            }
        }
        if let Some(more) = count.checked_sub(written).filter(|more| *more > 0) {
            self.done.notes.push(format!(
                "objects of one vertex are left out: {more}; a line has at least two"
            ));
        }
        self.finish(by_id, &mut info["by_id"])?;
        self.finish(by_object, &mut info["relationships"][0])
    }

    /// The segments of all objects with vertices.
    async fn segments(&self, name: &str) -> Result<Vec<u64>, ExportError> {
        let objects = self.opened.objects().await;
        let objects = objects.map_err(|error| failed(name, &error))?;
        Ok(objects.first(usize::MAX))
    }

    /// Creates the folder of an index of about `count` objects, and the writer of its shards if it has shards.
    fn index<'p>(
        &self,
        path: Vec<&'p str>,
        keys: KeyKind,
        count: u64,
    ) -> Result<ObjectFiles<'p>, ExportError> {
        let wanted = match self.shards {
            Shards::Auto => count > FEW_FILES,
            Shards::None => false,
            Shards::Bits(_) => true,
        };
        let folder = self.path(&path);
        let failed = |source| ExportError::File {
            path: folder.clone(),
            source,
        };
        fs::create_dir_all(&folder).map_err(failed)?;
        let shards = match (wanted, keys) {
            (true, KeyKind::Ids) => Some(ShardWriter::by_id(&folder, true).map_err(failed)?),
            (true, KeyKind::SmallIds) => Some(ShardWriter::by_id(&folder, false).map_err(failed)?),
            (true, KeyKind::Cells(Some(bits))) => {
                Some(ShardWriter::by_cell(&folder, bits).map_err(failed)?)
            }
            (true, KeyKind::Cells(None)) | (false, _) => None,
        };
        Ok(ObjectFiles { path, shards })
    }

    /// Adds an object to the shards, with the bytes `before` it, or as a file without them.
    fn add(
        &mut self,
        index: &mut ObjectFiles<'_>,
        key: u64,
        file: &str,
        before: &[u8],
        object: &[u8],
    ) -> Result<(), ExportError> {
        let Some(shards) = &mut index.shards else {
            let mut path = index.path.clone();
            path.push(file);
            return self.put(&path, object);
        };
        let added = shards.put(key, before, object);
        added.map_err(|source| ExportError::File {
            path: self.path(&index.path),
            source,
        })
    }

    /// Writes the shards of an index, and their layout into its description.
    fn finish(&mut self, index: ObjectFiles<'_>, owner: &mut Value) -> Result<(), ExportError> {
        let Some(shards) = index.shards else {
            return Ok(());
        };
        let size = match self.shards {
            Shards::Bits(bits) => ShardSize::Bits(bits),
            Shards::Auto | Shards::None => ShardSize::Auto,
        };
        let done = shards.finish(size).map_err(|source| ExportError::Shards {
            path: self.path(&index.path),
            source,
        })?;
        owner["sharding"] = done.sharding.document();
        self.done.files = self.done.files.saturating_add(done.files);
        self.done.bytes = self.done.bytes.saturating_add(done.bytes);
        Ok(())
    }

    async fn content(&self, path: &[&str]) -> Result<ViewContent, ExportError> {
        let content = content(&self.opened, self.budget, path).await;
        content.map_err(|error| failed(&path.join("/"), &error))
    }

    /// Writes one file; returns it if it is a document.
    async fn file(&mut self, path: &[&str]) -> Result<Option<Value>, ExportError> {
        match self.content(path).await? {
            ViewContent::File(bytes) => self.put(path, &bytes).map(|()| None),
            ViewContent::Document(document) => {
                self.put(path, document.to_string().as_bytes())?;
                Ok(Some(document))
            }
        }
    }

    fn path(&self, path: &[&str]) -> PathBuf {
        let mut file = self.folder.to_owned();
        file.extend(path);
        file
    }

    fn put(&mut self, path: &[&str], bytes: &[u8]) -> Result<(), ExportError> {
        let file = self.path(path);
        let failed = |source| ExportError::File {
            path: file.clone(),
            source,
        };
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::write(&file, bytes).map_err(failed)?;
        self.done.files = self.done.files.saturating_add(1);
        self.done.bytes = self.done.bytes.saturating_add(bytes.len() as u64);
        Ok(())
    }
}

/// The bytes of a file.
fn bytes(content: &ViewContent) -> Vec<u8> {
    match content {
        ViewContent::File(bytes) => bytes.to_vec(),
        ViewContent::Document(document) => document.to_string().into_bytes(),
    }
}
