//! The array of manifests: variable-length byte strings in chunks of a few hundred, or in shards of small chunks (0.9 §11.2).

use serde_json::Value;
use zvf_format::vlen::VlenBuilder;
use zvf_meta::{ArrayAttributes, ArrayDoc, DataType, KeyEncoding};

use crate::WriteError;
use crate::documents::array::{INDEX, array_doc, sample_of, vlen_codecs};
use crate::documents::build::Docs;
use crate::error::{OrBug, narrow};
use crate::level::shard;
use crate::spec::target_version::{IdsIn, MOST_ROWS};
use crate::tables::typed::Typed;
use crate::target::Below;
use zvf_codec::Compression;
use zvf_format::int::index;

/// The path of the array in its level.
const PATH: &str = "object_index/manifests";

/// Most manifests of a chunk that is a separate object. With 16384, as in the released writers, a query of a few objects would read nearly all manifests
/// of a store.
const CHUNK: u32 = 512;

/// Largest size of such a chunk in bytes; a chunk with larger manifests has fewer of them, but at least [`FEWEST`].
const CHUNK_BYTES: usize = 2 << 20;
const FEWEST: u32 = 64;

/// Most manifests of a chunk inside a shard, and its approximate bytes. A query of one object decodes the whole chunk.
const INNER: u32 = 128;
const INNER_BYTES: usize = 32 << 10;

/// Chunks of a shard; its index has 16 bytes for each.
const INNER_CHUNKS: u32 = 128;

/// The number of manifests that are stored together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ManifestChunking {
    /// Manifests of a chunk.
    chunk: u32,
    /// Chunks of a shard; `None`: each chunk is a separate object.
    chunks: Option<u32>,
}

impl ManifestChunking {
    /// Chooses the numbers from a sample: the `first` manifests of an array, with `bytes` bytes in total.
    fn of(first: usize, bytes: usize, sharded: bool) -> Result<Self, WriteError> {
        let rows = narrow("manifests of a chunk", first.max(1))?;
        let power = |rows: u32| 1 << rows.max(1).ilog2();
        // If all manifests fit one chunk, they are one object, not a shard.
        if !sharded || (rows < CHUNK && bytes < CHUNK_BYTES) {
            let chunk = match bytes >= CHUNK_BYTES {
                true => power(rows).max(FEWEST),
                false => CHUNK,
            };
            return Ok(Self {
                chunk,
                chunks: None,
            });
        }
        let fit = INNER_BYTES / (bytes / index(rows)).max(1);
        Ok(Self {
            chunk: power(narrow("manifests of a chunk", fit.min(index(INNER)))?),
            chunks: Some(INNER_CHUNKS),
        })
    }

    /// Manifests of a stored object.
    fn object(self) -> Result<u32, WriteError> {
        let rows = self.chunk.checked_mul(self.chunks.unwrap_or(1));
        rows.or_bug("more manifests in a shard than 32 bits count")
    }
}

/// How the manifests of an array are stored.
#[derive(Debug, Clone)]
pub struct ManifestLayout {
    rows: ManifestChunking,
    compression: Compression,
}

impl ManifestLayout {
    /// The layout of a stored array; `None` for layouts that this crate does not write.
    ///
    /// # Errors
    /// Malformed: an invalid configuration of shards.
    pub fn of(doc: &ArrayDoc) -> Result<Option<Self>, WriteError> {
        let sharding = doc.sharding()?;
        let plain = doc.key_encoding == KeyEncoding::default() && doc.data_type.is_vlen_bytes();
        let codecs = sharding.as_ref().map_or(&doc.codecs, |inner| &inner.codecs);
        let compression = Compression::behind("vlen-bytes", codecs).filter(|_| plain);
        let (&[object], Some(compression)) = (doc.chunk_shape.as_slice(), compression) else {
            return Ok(None);
        };
        let (chunk, chunks) = match &sharding {
            None => (object, None),
            Some(inner) => match inner.chunk_shape.as_slice() {
                &[chunk] if shard::is_written(inner) => (chunk, object.checked_div(chunk)),
                _ => return Ok(None),
            },
        };
        let number = |rows: u64| u32::try_from(rows).ok().filter(|rows| *rows > 0);
        let chunks = match chunks.map(number) {
            Some(None) => return Ok(None),
            chunks => chunks.flatten(),
        };
        let rows = number(object).and_then(|_| {
            Some(ManifestChunking {
                chunk: number(chunk)?,
                chunks,
            })
        });
        Ok(rows.map(|rows| Self { rows, compression }))
    }

    /// Manifests of a stored object.
    ///
    /// # Errors
    /// Bug: more manifests in an object than 32 bits count, which [`of`](Self::of) rules out.
    pub fn rows(&self) -> Result<usize, WriteError> {
        self.rows.object().map(index)
    }

    /// Encodes the manifests of one stored object. If the array lists the lengths of chunks, its document must be updated, too:
    /// [`EncodedManifests::list`].
    ///
    /// # Errors
    /// Limit: more than 4 GiB. Bug: more manifests than belong in the object, or none.
    pub fn encode<M: AsRef<[u8]>>(
        &self,
        manifests: impl IntoIterator<Item = Result<M, WriteError>>,
    ) -> Result<EncodedManifests, WriteError> {
        let mut object = ManifestObject::default();
        for manifest in manifests {
            object.push(manifest?.as_ref(), self)?;
        }
        object.finish(self)
    }
}

/// The bytes of a stored object of manifests.
#[derive(Debug)]
pub struct EncodedManifests {
    /// The bytes of the object.
    pub bytes: Vec<u8>,
    /// The lengths of the chunks of a large shard, for `zvf_shard_lengths`.
    pub lengths: Option<String>,
}

impl EncodedManifests {
    /// Lists the lengths of the chunks of object `number` in the attributes of the array; removes an old list if this object needs none.
    pub fn list(&self, number: u64, attributes: &mut ArrayAttributes) {
        let key = KeyEncoding::default().object_key(&[number]);
        match &self.lengths {
            Some(lengths) => {
                let listed = attributes.shard_lengths.get_or_insert_default();
                listed.insert(key, lengths.as_str().into());
            }
            None => {
                if let Some(listed) = &mut attributes.shard_lengths {
                    listed.shift_remove(&key);
                }
                attributes.shard_lengths = attributes
                    .shard_lengths
                    .take()
                    .filter(|listed| !listed.is_empty());
            }
        }
    }
}

/// Collects the manifests of one stored object.
#[derive(Debug, Default)]
struct ManifestObject {
    /// The manifests of the last chunk.
    chunk: VlenBuilder,
    /// The encoded previous chunks.
    done: Vec<Vec<u8>>,
}

fn failed(source: zvf_format::EncodeError) -> WriteError {
    WriteError::encode(PATH, source)
}

impl ManifestObject {
    fn is_empty(&self) -> bool {
        self.done.is_empty() && self.chunk.is_empty()
    }

    fn push(&mut self, manifest: &[u8], layout: &ManifestLayout) -> Result<(), WriteError> {
        if self.chunk.len() == layout.rows.chunk {
            self.close(layout)?;
        }
        self.chunk.push(manifest).map_err(failed)
    }

    fn close(&mut self, layout: &ManifestLayout) -> Result<(), WriteError> {
        let chunk = std::mem::take(&mut self.chunk);
        let bytes = chunk.finish_padded(layout.rows.chunk).map_err(failed)?;
        self.done.push(layout.compression.encode(bytes)?);
        Ok(())
    }

    fn finish(mut self, layout: &ManifestLayout) -> Result<EncodedManifests, WriteError> {
        if !self.chunk.is_empty() {
            self.close(layout)?;
        }
        let Some(chunks) = layout.rows.chunks else {
            let [bytes] = <[Vec<u8>; 1]>::try_from(self.done)
                .ok()
                .or_bug("several chunks in one object")?;
            return Ok(EncodedManifests {
                bytes,
                lengths: None,
            });
        };
        let (bytes, lengths) = shard::of_rows(chunks, self.done)?;
        Ok(EncodedManifests { bytes, lengths })
    }
}

/// The object index of a level: manifests and ids, written in chunks as rows are pushed.
#[derive(Debug)]
pub struct ManifestArray<'t> {
    compression: Compression,
    sharded: bool,
    target: &'t Below<'t>,
    /// The first manifests, until the layout is chosen.
    first: Vec<Vec<u8>>,
    first_bytes: usize,
    /// The layout, once it is chosen.
    layout: Option<ManifestLayout>,
    object: ManifestObject,
    /// Manifests of the object.
    rows: u32,
    stored: u64,
    count: u64,
    attributes: ArrayAttributes,
}

impl<'t> ManifestArray<'t> {
    /// An index without rows, in the level at `target`. With `sharded`, manifests are in shards if there are many.
    pub fn new(compression: &Compression, sharded: bool, target: &'t Below<'t>) -> Self {
        Self {
            compression: compression.clone(),
            sharded,
            target,
            first: Vec::new(),
            first_bytes: 0,
            layout: None,
            object: ManifestObject::default(),
            rows: 0,
            stored: 0,
            count: 0,
            attributes: ArrayAttributes::default(),
        }
    }

    /// Chooses the layout of manifests.
    fn divide(&mut self) -> Result<(), WriteError> {
        let first = std::mem::take(&mut self.first);
        let rows = ManifestChunking::of(first.len(), self.first_bytes, self.sharded)?;
        let mut sample = VlenBuilder::new();
        for manifest in first.iter().take(index(rows.chunk)) {
            sample.push(manifest).map_err(failed)?;
        }
        let sample = match first.len() < index(rows.chunk) {
            true => sample.finish(),
            false => sample.finish_padded(rows.chunk).map_err(failed)?,
        };
        let compression = match first.is_empty() {
            true => self.compression.of_items(INDEX),
            false => self.compression.chosen(INDEX, &sample_of(&sample)?)?,
        };
        self.layout = Some(ManifestLayout { rows, compression });
        first.iter().try_for_each(|manifest| self.append(manifest))
    }

    fn append(&mut self, manifest: &[u8]) -> Result<(), WriteError> {
        let layout = self.layout.as_ref().or_bug("manifests without a layout")?;
        if self.rows == layout.rows.object()? {
            self.put()?;
        }
        let layout = self.layout.as_ref().or_bug("manifests without a layout")?;
        self.rows += 1;
        self.object.push(manifest, layout)
    }

    /// Writes the collected object.
    fn put(&mut self) -> Result<(), WriteError> {
        let layout = self.layout.as_ref().or_bug("manifests without a layout")?;
        self.rows = 0;
        let encoded = std::mem::take(&mut self.object).finish(layout)?;
        encoded.list(self.stored, &mut self.attributes);
        let key = format!("{PATH}/c/{}", self.stored);
        self.target.put(vec![(key, encoded.bytes)])?;
        self.stored += 1;
        Ok(())
    }

    /// Appends the manifest of the next row.
    ///
    /// # Errors
    /// Limit: 2^32 rows, or a chunk of more than 4 GiB. I/O.
    pub fn push(&mut self, manifest: &[u8]) -> Result<(), WriteError> {
        self.count += 1;
        if self.count > MOST_ROWS {
            return Err(WriteError::limit("objects", self.count, MOST_ROWS));
        }
        if self.layout.is_some() {
            return self.append(manifest);
        }
        self.first.push(manifest.to_vec());
        self.first_bytes += manifest.len();
        if self.first_bytes >= CHUNK_BYTES || self.first.len() == index(CHUNK) {
            self.divide()?;
        }
        Ok(())
    }

    /// Writes the last object and the ids of all rows; returns the documents.
    ///
    /// # Errors
    /// I/O.
    pub fn finish(self, ids: &[i64]) -> Result<Docs, WriteError> {
        self.finish_in(IdsIn::Table, ids)
    }

    /// Like [`finish`](Self::finish), with or without a table of ids.
    ///
    /// # Errors
    /// I/O.
    pub fn finish_in(mut self, form: IdsIn, ids: &[i64]) -> Result<Docs, WriteError> {
        if self.layout.is_none() {
            self.divide()?;
        }
        let layout = self.layout.as_mut().or_bug("manifests without a layout")?;
        if self.stored == 0 && layout.rows.chunks.is_none() {
            // An array of one chunk is not padded.
            let only = u32::try_from(self.count.max(1)).unwrap_or(u32::MAX);
            layout.rows.chunk = layout.rows.chunk.min(only);
        }
        if !self.object.is_empty() {
            self.put()?;
        }
        if form == IdsIn::Rows && self.count == 0 {
            // 0.8 §10.1.
            return Ok(Vec::new());
        }
        let layout = self.layout.as_ref().or_bug("manifests without a layout")?;
        let inner = vlen_codecs(&layout.compression);
        let manifests = array_doc(
            vec![self.count],
            DataType::named("variable_length_bytes"),
            vec![u64::from(layout.rows.object()?)],
            Value::from(""),
            match layout.rows.chunks {
                Some(_) => vec![shard::codec(&[u64::from(layout.rows.chunk)], &inner)],
                None => inner,
            },
            ArrayAttributes {
                stored_chunks: Some(self.stored),
                ..self.attributes
            },
        );
        let mut docs = vec![(PATH.to_owned(), manifests)];
        if form == IdsIn::Table {
            let path = "object_index/object_ids";
            let attributes = ArrayAttributes::default();
            let (doc, objects) = Typed::ids(ids, 0, path, &self.compression, attributes)?;
            self.target.put(objects)?;
            docs.push((path.to_owned(), doc));
        }
        Ok(docs)
    }
}
