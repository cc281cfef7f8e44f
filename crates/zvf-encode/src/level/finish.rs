//! Writes a level from its buckets: cells of vertices, objects, links, and then the documents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use zvf_meta::{ArrayAttributes, Kind, LevelDoc, LinksConvention};
use zvf_store::ChunkCoord;
use zvf_store::owners::index_document;

use crate::batches::batch::Groups;
use crate::batches::categories::{Categories, Dictionary};
use crate::batches::chunk_by::{ChunkSplit, SplitKeys};
use crate::batches::prepare::Corners;
use crate::batches::route::Router;
use crate::documents::nodes::Nodes;
use crate::error::{OrBug, narrow};
use crate::level::cell::{ChunkEncoder, EncodedChunk};
use crate::level::objects;
use crate::level::objects::{ManifestSinks, PushedObjectTables};
use crate::level::owners::{self, OwnerCollector};
use crate::level::progress::{Step, StepProgress, Watch};
use crate::level::shard::LevelCells;
use crate::links::{
    CUT, ChunkFragments, FamilySpec, FragmentRows, LinkCellSink, LinkPlacer, WrittenFamily,
    queued_size, split,
};
use crate::parallel::{Turn, pack};
use crate::records::bucket::{Bucket, Buckets};
use crate::records::places::VertexPlaces;
use crate::records::record::records;
use crate::records::sorter::{PlacedRows, Sorter};
use crate::records::spill::{SpillFile, Spool};
use crate::spec::store::{AttributeType, StoreSpec};
use crate::spec::target_version::{DocumentMembers, IdsIn};
use crate::target::{Below, ObjectPut, Payloads};
use crate::values::number::NumberType;
use zvf_format::int::{index, wide};

use crate::level::{fragment_values, part_texts};
use crate::{WriteError, documents, parallel};

/// The contents of a level, and the resources that writing it may use.
#[derive(Debug)]
pub struct LevelInput {
    /// The specification.
    pub spec: Arc<StoreSpec>,
    /// Whether arrays of links have [shards of their own](LevelCells::with_link_shards).
    pub link_shards: bool,
    /// The vertices and links, by chunk.
    pub router: Router,
    /// The tables of objects.
    pub tables: PushedObjectTables,
    /// The groups.
    pub groups: Groups,
    /// The folder for temporary files.
    pub folder: PathBuf,
    /// Bytes that may be held in memory.
    pub budget: usize,
    /// Threads that encode chunks.
    pub threads: usize,
    /// Receives the progress.
    pub watch: Watch,
}

/// Where the vertices of a level were written.
#[derive(Debug)]
pub struct Trace {
    /// Chunks with vertices, in lexicographic order.
    pub chunks: Vec<ChunkCoord>,
    /// Slot of the chunk and row of each vertex, in the order in which vertices were pushed.
    pub places: Vec<(u32, u32)>,
}

/// Writes a level except for its document, which is returned with counts added. Also returns where the vertices were written, if the router traces them.
///
/// `bounds` are the bounds of the store: the grids of all arrays of all levels cover them (trap T6). Positions, attributes, objects and links are in
/// `input`.
pub fn write_arrays(
    input: LevelInput,
    bounds: &Corners,
    target: &Below<'_>,
    doc: LevelDoc,
) -> Result<(LevelDoc, Summary, Option<Trace>), WriteError> {
    let LevelInput {
        spec,
        link_shards,
        router,
        tables,
        groups,
        folder,
        budget,
        threads,
        watch,
    } = input;
    let spec = &*spec;
    let (coords, buckets, file, split) = by_chunk(spec, router.rows, router.keys)?;
    let dictionaries = dictionaries(spec, router.categories)?;
    let traced = router.trace.is_some();
    let encoder = ChunkEncoder::new(spec, router.layout, dictionaries)?.with_vertices(traced);
    let chunks: Vec<&[i64]> = coords.iter().map(ChunkCoord::as_slice).collect();
    let rules = spec.target.rules();
    let grid = ChunkSplit::grid(split.as_ref(), documents::grid(bounds, &spec.chunk_shape)?);
    let sizes = buckets.iter().map(Bucket::size);
    let sizes = chunks.iter().copied().zip(sizes);
    let arrays = 2 + spec.vertex_attributes.len() + spec.fragment_attributes.len();
    let links = match spec.kind {
        Kind::Graph | Kind::Skeleton | Kind::Mesh => router.link_count,
        // An upper bound: a link is stored only where a chain leaves a chunk.
        Kind::Polyline | Kind::Streamline => router.vertices,
        _ => 0,
    };
    let shards = rules.shards(&spec.shard_shape, &grid, spec.dims(), arrays, links, sizes);
    let cells = rules.cells(
        grid,
        shards,
        spec.compression.clone(),
        chunks.iter().copied(),
    )?;
    let cells = cells.with_link_shards(link_shards);
    let level = LevelWriter {
        spec,
        target,
        cells: &cells,
        chunks: &chunks,
        folder: &folder,
        budget,
        threads,
        watch: &watch,
        codes: false,
    };
    let RowsWritten {
        sorter,
        mut places,
        fragments,
    } = level.write_rows(&encoder, buckets, &file, router.vertices)?;
    let mut placer = level.placer();
    let mut documents = LevelDocuments::new(level.vertex_docs(&encoder)?);
    documents.summary.vertices = router.vertices;
    documents.summary.chunks = wide(chunks.len());
    // The index is written even without objects, because vertices that are appended later belong to objects.
    if spec.has_objects() {
        level.write_objects(&mut documents, sorter, &tables, &groups, &mut placer)?;
    }
    let queue = (router.links, router.link_count);
    let stored = level.write_queued(queue, places.as_mut(), placer, fragments.as_ref())?;
    documents.links(&stored, &cells)?;
    let found = router.trace.zip(places);
    let found = found.map(|(numbers, mut places)| trace(&numbers, &mut places));
    let found = found.transpose()?;
    let doc = ChunkSplit::describe(split, spec, doc);
    let (doc, summary) = documents.put(target, doc)?;
    let fragments_tile = doc.fragments_tile && rules.members == DocumentMembers::All;
    let doc = LevelDoc {
        fragments_tile,
        ..doc
    };
    let trace = found.map(|places| Trace {
        chunks: coords,
        places,
    });
    Ok((doc, summary, trace))
}

/// Returns the dictionary of each vertex attribute; `None` for numbers.
pub fn dictionaries(
    spec: &StoreSpec,
    categories: Vec<Categories>,
) -> Result<Vec<Option<Dictionary>>, WriteError> {
    let mut dictionaries = Vec::new();
    for (one, categories) in spec.vertex_attributes.iter().zip(categories) {
        let is_category = one.values == AttributeType::Category;
        dictionaries.push(if is_category {
            Some(categories.finish()?)
        } else {
            None
        });
    }
    Ok(dictionaries)
}

/// Chunk and row of each vertex, by their numbers.
fn trace(numbers: &[u64], places: &mut VertexPlaces) -> Result<Vec<(u32, u32)>, WriteError> {
    let place = |&number: &u64| {
        let lost = || WriteError::input("vertex", number.to_string(), "one that was written");
        places.get(number)?.ok_or_else(lost)
    };
    numbers.iter().map(place).collect()
}

/// The chunks with rows in lexicographic order, their buckets, the spill file of the buckets, and the values that split chunks.
type Chunked = (Vec<ChunkCoord>, Vec<Bucket>, SpillFile, Option<ChunkSplit>);

/// Sorts the buckets by chunk, with the final keys if an attribute splits chunks.
pub fn by_chunk(
    spec: &StoreSpec,
    rows: Buckets<ChunkCoord>,
    keys: Option<SplitKeys>,
) -> Result<Chunked, WriteError> {
    let (mut buckets, file) = rows.finish();
    let split = keys
        .map(|keys| keys.finish(spec, &mut buckets))
        .transpose()?;
    buckets.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    narrow("chunks", buckets.len())?;
    let (coords, buckets) = buckets.into_iter().unzip();
    Ok((coords, buckets, file, split))
}

/// The documents of a level, which are written after all its cells.
#[derive(Debug)]
pub struct LevelDocuments {
    nodes: Nodes,
    /// The counts so far.
    pub summary: Summary,
    /// Whether the groups of links follow fragments.
    link_groups: bool,
}

impl LevelDocuments {
    /// The documents of the vertices.
    pub fn new(nodes: Nodes) -> Self {
        Self {
            nodes,
            summary: Summary::default(),
            link_groups: false,
        }
    }

    /// Adds the documents of links.
    pub fn links(&mut self, stored: &WrittenFamily, cells: &LevelCells) -> Result<(), WriteError> {
        self.summary.links = stored.links;
        self.link_groups = stored.follows_fragments();
        self.nodes.extend(stored.nodes(cells)?);
        Ok(())
    }

    /// Writes all documents except for the document of the level, which is returned with the arrays listed.
    pub fn put(self, target: &Below<'_>, doc: LevelDoc) -> Result<(LevelDoc, Summary), WriteError> {
        let families = self.nodes.families();
        self.nodes.put(target)?;
        let doc = LevelDoc {
            vertex_count: self.summary.vertices,
            arrays_present: families.iter().map(|&name| name.to_owned()).collect(),
            fragments_tile: self.summary.chunks > 0,
            fragment_link_groups: self.link_groups,
            ..doc
        };
        Ok((doc, self.summary))
    }
}

/// The steps of writing a level, for distributed writes; [`write_arrays`] runs all of them.
#[derive(Debug, Clone, Copy)]
pub struct LevelWriter<'s> {
    /// The specification.
    pub spec: &'s StoreSpec,
    /// The place of the level.
    pub target: &'s Below<'s>,
    /// Where the cells of all arrays are stored.
    pub cells: &'s LevelCells,
    /// Chunks with vertices, in lexicographic order: a slot is an index into them.
    pub chunks: &'s [&'s [i64]],
    /// The folder for temporary files.
    pub folder: &'s Path,
    /// Bytes that may be held in memory.
    pub budget: usize,
    /// Threads that encode chunks.
    pub threads: usize,
    /// Receives the progress.
    pub watch: &'s Watch,
    /// Whether texts are written with the codes of one part of a distributed write; the commit replaces these codes.
    pub codes: bool,
}

impl<'s> LevelWriter<'s> {
    fn chunk(&self, slot: u32) -> Result<&'s [i64], WriteError> {
        let chunk = self.chunks.get(index(slot)).copied();
        chunk.or_bug(format_args!("no chunk {slot}"))
    }

    /// Returns a sorter of the fragments of objects.
    pub fn sorter(&self) -> Sorter<PlacedRows> {
        Sorter::new(self.budget / 8, self.folder)
    }

    /// Returns a placer of the links of the store.
    pub fn placer(&self) -> LinkPlacer {
        LinkPlacer::new(FamilySpec::of(self.spec), self.budget / 8, self.folder)
    }

    /// Returns a collector of the fragments of chunks, if groups of links may follow them.
    fn fragment_rows(&self) -> Option<FragmentRows> {
        let spec = self.spec;
        let explicit = spec.takes_links() && spec.convention() == LinksConvention::Explicit;
        // Readers of older versions do not support such groups.
        let known = spec.target.rules().members == DocumentMembers::All;
        (explicit && known).then(|| FragmentRows::new(self.budget / 16, self.folder))
    }

    /// Encodes and writes the cells of all chunks, which have `vertices` vertices in total.
    pub fn write_rows(
        &self,
        encoder: &ChunkEncoder<'_>,
        buckets: Vec<Bucket>,
        file: &SpillFile,
        vertices: u64,
    ) -> Result<RowsWritten, WriteError> {
        let mut sorter = self.sorter();
        let mut places = match encoder.vertices {
            true => Some(VertexPlaces::new(vertices, self.budget / 8, self.folder)?),
            false => None,
        };
        let mut fragments = self.fragment_rows();
        let mut items = Vec::new();
        let width = encoder.record_size();
        let bytes: u64 = buckets.iter().map(Bucket::size).sum();
        let mut steps = self.watch.step(Step::Vertices, bytes / width);
        for (slot, bucket) in (0_u32..).zip(buckets) {
            items.push((
                self.cells.object_index(self.chunk(slot)?)?,
                bucket.size(),
                (slot, bucket),
            ));
        }
        // Memory for the payloads and the encoded cells.
        let weigh = |job: Vec<(u32, Bucket)>| {
            let bytes = job.iter().map(|(_, bucket)| bucket.size());
            (bytes.sum::<u64>().saturating_mul(2), job)
        };
        let jobs = pack(items).into_iter().map(weigh);
        let work =
            |job: Vec<(u32, Bucket)>, turn: Turn<'_>| self.write_job(encoder, job, file, turn);
        let take = |done: Vec<Noted>| {
            for noted in done {
                steps.add(noted.rows);
                if let Some(fragments) = &mut fragments {
                    let rows = noted.placed.iter().map(|placed| placed.rows);
                    fragments.note(self.chunk(noted.slot)?, rows)?;
                }
                noted
                    .placed
                    .into_iter()
                    .try_for_each(|placed| sorter.push(placed))?;
                if let Some(places) = &mut places {
                    places.note(noted.slot, &noted.vertices)?;
                }
            }
            Ok(())
        };
        parallel::each_within(self.threads, wide(self.budget), jobs, work, take)?;
        Ok(RowsWritten {
            sorter,
            places,
            fragments: fragments.map(FragmentRows::seal),
        })
    }

    fn write_job(
        &self,
        encoder: &ChunkEncoder<'_>,
        job: Vec<(u32, Bucket)>,
        file: &SpillFile,
        turn: Turn<'_>,
    ) -> Result<Vec<Noted>, WriteError> {
        let mut paths = vec![
            ("vertices".to_owned(), self.spec.positions.size()),
            ("vertex_fragments".to_owned(), documents::INDEX),
        ];
        let mut codes = vec![false; paths.len()];
        for (at, one) in self.spec.vertex_attributes.iter().enumerate() {
            let coded = self.codes && one.values == AttributeType::Category;
            let family = if coded {
                part_texts::CODES
            } else {
                "vertex_attributes"
            };
            codes.push(coded);
            paths.push((
                format!("{family}/{}", one.name),
                encoder.stored_type(at)?.size(),
            ));
        }
        for one in &self.spec.fragment_attributes {
            let number = one.values.number();
            let items = number.map_or(documents::INDEX, NumberType::size);
            paths.push((format!("fragment_attributes/{}", one.name), items));
            codes.push(false);
        }
        let mut columns: Vec<Payloads<'_>> = paths.iter().map(|_| Vec::new()).collect();
        let mut noted = Vec::new();
        for (slot, bucket) in job {
            let chunk = self.chunk(slot)?;
            let rows = bucket.size() / encoder.record_size();
            let EncodedChunk {
                positions,
                fragments,
                attributes,
                fragment_attributes,
                placed,
                vertices,
            } = encoder.encode(chunk, slot, &bucket.read(file)?)?;
            let payloads = [positions, fragments]
                .into_iter()
                .chain(attributes)
                .chain(fragment_attributes);
            columns
                .iter_mut()
                .zip(payloads)
                .for_each(|(column, payload)| column.push((chunk, payload)));
            noted.push(Noted {
                rows,
                slot,
                placed,
                vertices,
            });
        }
        turn.take(|| {
            let mut written = paths.iter().zip(&columns).zip(&codes);
            written.try_for_each(|(((path, items), column), coded)| match coded {
                true => Ok(()),
                false => self.cells.of_items(*items).choose(path, column),
            })
        })?;
        let mut objects: Vec<ObjectPut> = Vec::new();
        for (((path, items), column), coded) in paths.iter().zip(columns).zip(codes) {
            objects.extend(if coded {
                part_texts::objects(self.cells, path, column)?
            } else {
                self.cells.of_items(*items).objects(path, column)?
            });
        }
        self.target.put(objects)?;
        Ok(noted)
    }

    /// Documents of the arrays of vertices.
    pub fn vertex_docs(&self, encoder: &ChunkEncoder<'_>) -> Result<Nodes, WriteError> {
        let present = documents::presence(self.chunks.iter().copied())?;
        let mut nodes = Nodes::default();
        let add = |nodes: &mut Nodes, path: String, attributes: ArrayAttributes| {
            nodes.cells(self.cells, path, present.clone(), attributes);
        };
        let vertices = documents::vertices(self.spec);
        add(&mut nodes, "vertices".to_owned(), vertices);
        let fragments = "vertex_fragments";
        let attributes = documents::fragments(fragments);
        add(&mut nodes, fragments.to_owned(), attributes);
        for (at, one) in self.spec.vertex_attributes.iter().enumerate() {
            let attributes = documents::vertex_attribute(one, at, encoder)?;
            let path = format!("vertex_attributes/{}", one.name);
            match encoder.dictionary(at) {
                Some(dictionary) => {
                    let (present, texts) = (present.clone(), &dictionary.texts);
                    nodes.coded_cells(self.cells, path, present, attributes, texts);
                }
                None => add(&mut nodes, path, attributes),
            }
        }
        for one in &self.spec.fragment_attributes {
            let attributes = fragment_values::document(one);
            let path = format!("fragment_attributes/{}", one.name);
            add(&mut nodes, path, attributes);
        }
        Ok(nodes)
    }

    /// Writes the object index, the owners of fragments, the attributes of objects, and the groups.
    pub fn write_objects(
        &self,
        documents: &mut LevelDocuments,
        sorter: Sorter<PlacedRows>,
        tables: &PushedObjectTables,
        groups: &Groups,
        placer: &mut LinkPlacer,
    ) -> Result<(), WriteError> {
        let (spec, target) = (self.spec, self.target);
        let steps = self.watch.step(Step::Objects, sorter.len());
        let sorted = sorter.finish()?;
        let owners = || OwnerCollector::new(self.budget / 8, self.folder);
        let mut owners = spec.stores_owners().then(owners);
        let sinks = ManifestSinks {
            placer,
            owners: owners.as_mut(),
            target,
            sharded: self.cells.shards.is_some(),
        };
        let written = objects::write_manifests(spec, self.chunks, sorted, steps, tables, sinks)?;
        let rows = &written.rows;
        let nodes = &mut documents.nodes;
        nodes
            .arrays
            .extend(objects::write_attributes(spec, tables, rows, target)?);
        nodes
            .arrays
            .extend(objects::write_groups(spec, groups, &written.ids, target)?);
        let doc = match spec.target.rules().ids {
            IdsIn::Table => objects::index_doc(spec.key_rank(), rows, written.present),
            IdsIn::Rows => objects::index_of_rows(spec.key_rank(), wide(rows.len())),
        };
        let document = match owners {
            Some(owners) => {
                let (document, cells) = (index_document(&doc), owners::cells_of(self.cells));
                nodes.extend(owners.write(self.chunks, &cells, &document, target)?);
                document
            }
            None => doc.to_json(),
        };
        nodes.groups.insert("object_index".to_owned(), document);
        nodes.arrays.extend(written.arrays);
        documents.summary.objects = wide(written.rows.len());
        Ok(())
    }

    /// Encodes and writes the cells of `count` queued links, and of the links that are already placed.
    pub fn write_queued(
        &self,
        (queue, count): (Spool, u64),
        places: Option<&mut VertexPlaces>,
        mut placer: LinkPlacer,
        fragments: Option<&ChunkFragments>,
    ) -> Result<WrittenFamily, WriteError> {
        // A queued link is counted when it is placed, and again when it is written.
        let total = count.saturating_mul(2).saturating_add(placer.links());
        let mut steps = self.watch.step(Step::Links, total);
        if let Some(places) = places {
            places.seal()?;
            self.place_links(queue, places, &mut placer, &mut steps)?;
        }
        self.write_links(placer, fragments, steps)
    }

    /// Converts links between vertices to links between rows. Links that the order of rows implies are left out.
    fn place_links(
        &self,
        queue: Spool,
        places: &mut VertexPlaces,
        placer: &mut LinkPlacer,
        steps: &mut StepProgress<'_>,
    ) -> Result<(), WriteError> {
        let spec = self.spec;
        let size = queued_size(spec);
        let mut ends = Vec::new();
        for piece in queue.pieces() {
            let piece = piece?;
            steps.add(wide(piece.len() / size));
            for record in records(&piece, size)? {
                let (vertices, attributes) = split(record, spec.links.width)?;
                ends.clear();
                let cut = spec.kind == Kind::Skeleton
                    && vertices.first().is_some_and(|child| child & CUT != 0);
                for vertex in vertices {
                    let vertex = vertex & !CUT;
                    let lost = || {
                        WriteError::input(
                            "link",
                            format!("vertex {vertex}"),
                            "a vertex that was pushed",
                        )
                    };
                    ends.push(places.get(vertex)?.ok_or_else(lost)?);
                }
                // Only a child directly after its parent is in the same tree, and so in the same fragment.
                let implied = spec.kind == Kind::Skeleton
                    && !cut
                    && !spec.links.explicit
                    && matches!(&*ends, [child, parent] if child.0 == parent.0 && parent.1.checked_add(1) == Some(child.1));
                if !implied {
                    placer.push_rows(self.chunks, &ends, attributes)?;
                }
            }
        }
        Ok(())
    }

    /// Encodes and writes the cells of all links. Groups follow the `fragments` of chunks, if possible.
    pub fn write_links(
        &self,
        placer: LinkPlacer,
        fragments: Option<&ChunkFragments>,
        mut steps: StepProgress<'_>,
    ) -> Result<WrittenFamily, WriteError> {
        let sink = LinkCellSink {
            cells: self.cells,
            target: self.target,
            threads: self.threads,
        };
        // Every pushed link has its values.
        placer.write(sink, fragments, &|_, _, _| {}, |records| steps.add(records))
    }
}

/// What later steps of writing a level need to know about the written rows.
#[derive(Debug)]
pub struct RowsWritten {
    /// The fragments of objects.
    pub sorter: Sorter<PlacedRows>,
    /// The place of each vertex, if links or the caller need it.
    pub places: Option<VertexPlaces>,
    /// The fragments of chunks, if groups of links may follow them.
    pub fragments: Option<ChunkFragments>,
}

/// The recorded facts about an encoded chunk.
#[derive(Debug)]
struct Noted {
    rows: u64,
    slot: u32,
    placed: Vec<PlacedRows>,
    vertices: Vec<u64>,
}

/// Counts of the written data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// Vertices.
    pub vertices: u64,
    /// Chunks with vertices.
    pub chunks: u64,
    /// Rows of the object index.
    pub objects: u64,
    /// Links that are stored, each counted once; implied ones are not.
    pub links: u64,
}
