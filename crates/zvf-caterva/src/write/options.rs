//! The options of a writer.

use zvf_blosc::{Codec, FirstFilter, LastFilter, Settings};
use zvf_grid::Dims;

use crate::{Error, Geometry, NdKind, dtype};

/// Shapes, item type, codec and filters of a new array.
///
/// # Examples
///
/// ```
/// use zvf_caterva::{Codec, WriteOptions};
///
/// let options = WriteOptions::new(4, &[128, 128, 128], &[32, 32, 32])
///     .with_dtype("<f4")
///     .with_codec(Some(Codec::Lz4), 0)
///     .with_vlmetalayer("unit", b"\xa6kelvin");
/// ```
#[derive(Debug, Clone)]
pub struct WriteOptions {
    pub(crate) item: usize,
    pub(crate) chunk: Vec<u64>,
    pub(crate) block: Vec<u64>,
    pub(crate) kind: NdKind,
    pub(crate) dtype: Option<String>,
    pub(crate) codec: Option<Option<(Codec, i32)>>,
    pub(crate) first: FirstFilter,
    pub(crate) last: LastFilter,
    pub(crate) metalayers: Vec<(String, Vec<u8>)>,
    pub(crate) vlmetalayers: Vec<(String, Vec<u8>)>,
    pub(crate) threads: usize,
}

impl WriteOptions {
    /// Items of `item` bytes in these chunks and blocks; a `b2nd` metalayer, Zstandard and byte shuffle.
    #[must_use]
    pub fn new(item: usize, chunk: &[u64], block: &[u64]) -> Self {
        Self {
            item,
            chunk: chunk.to_vec(),
            block: block.to_vec(),
            kind: NdKind::B2nd,
            dtype: None,
            codec: None,
            first: FirstFilter::None,
            last: LastFilter::Shuffle,
            metalayers: Vec::new(),
            vlmetalayers: Vec::new(),
            threads: 0,
        }
    }

    /// The item type in NumPy's short form, such as `<f4`. Without it items are opaque (`|S<size>`).
    #[must_use]
    pub fn with_dtype(mut self, text: &str) -> Self {
        self.dtype = Some(text.to_owned());
        self
    }

    /// The n-d metalayer. `caterva` has no item type; only readers from before 2023 need it.
    #[must_use]
    pub fn with_kind(mut self, kind: NdKind) -> Self {
        self.kind = kind;
        self
    }

    /// The codec, with a level on the codec's own scale; `None` stores chunks without compression.
    #[must_use]
    pub fn with_codec(mut self, codec: Option<Codec>, level: i32) -> Self {
        self.codec = Some(codec.map(|codec| (codec, level)));
        self
    }

    /// The filters.
    #[must_use]
    pub fn with_filters(mut self, first: FirstFilter, last: LastFilter) -> Self {
        self.first = first;
        self.last = last;
        self
    }

    /// Adds a fixed metalayer; its content is stored without compression.
    #[must_use]
    pub fn with_metalayer(mut self, name: &str, content: &[u8]) -> Self {
        self.metalayers.push((name.to_owned(), content.to_vec()));
        self
    }

    /// Adds a variable-length metalayer; Python readers expect MessagePack in it.
    #[must_use]
    pub fn with_vlmetalayer(mut self, name: &str, content: &[u8]) -> Self {
        self.vlmetalayers.push((name.to_owned(), content.to_vec()));
        self
    }

    /// Number of threads, 0 for as many as the rayon pool has: twice this many chunks are compressed together on the rayon
    /// pool, or one after another on the calling thread if it is 1.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    pub(crate) fn geometry(&self, shape: &[u64]) -> Result<Geometry, Error> {
        let dims = [
            Dims::new(shape)?,
            Dims::new(&self.chunk)?,
            Dims::new(&self.block)?,
        ];
        let [shape, chunk, block] = dims;
        if let Some(text) = &self.dtype
            && let Some(found) = dtype::size_of(text)
            && found != self.item
        {
            let (found, expected) = (zvf_grid::int::wide(found), zvf_grid::int::wide(self.item));
            return Err(Error::Usage {
                what: "bytes of the item type",
                found,
                expected,
            });
        }
        Geometry::new(shape, chunk, block, self.item).map_err(Error::Frame)
    }

    pub(crate) fn settings(&self, geometry: &Geometry) -> Settings {
        let mut settings = Settings::new(self.item, geometry.block_bytes.max(1));
        match self.codec {
            None => {}
            Some(None) => settings.codec = None,
            Some(Some((codec, level))) => {
                settings.codec = Some(codec);
                settings.level = level;
            }
        }
        settings.first = self.first;
        settings.last = self.last;
        settings
    }
}
