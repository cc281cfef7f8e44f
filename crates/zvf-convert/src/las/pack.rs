//! Compresses points into a LAZ file: chunks of laszip, several at a time.

use std::fs::File;
use std::io::{BufWriter, Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use laz::laszip::{ChunkTable, ChunkTableEntry};
use laz::record::{
    LayeredPointRecordCompressor, RecordCompressor, SequentialPointRecordCompressor,
};
use laz::{LazItem, LazItemRecordBuilder, LazVlr, LazVlrBuilder};
use zvf_codec::isolate::isolate;
use zvf_encode::error::OrBug;

use super::fields::LATE;
use crate::error::ConvertError;

/// Points of a chunk, the default of laszip.
const POINTS: usize = 50_000;
/// Most bytes of a chunk; chunks of long points have fewer points.
const MOST: usize = 64 << 20;
/// Most chunks that are compressed at the same time.
const AT_ONCE: usize = 8;

/// The compressor of a file.
pub(super) struct LazCompressor {
    vlr: LazVlr,
    /// Bytes of a point, and of the points of a chunk.
    length: usize,
    chunk: usize,
    threads: usize,
    is_layered: bool,
    waiting: Vec<u8>,
    table: ChunkTable,
}

impl LazCompressor {
    /// # Errors
    /// Bug: a point format that does not exist.
    pub(super) fn new(format: u8, length: usize, extra: u16) -> Result<Self, ConvertError> {
        let items = LazItemRecordBuilder::default_for_point_format_id(format, extra);
        let items = items.ok().or_bug(format!("point format {format}"))?;
        let points = (MOST / length.max(1)).clamp(1, POINTS);
        let count = u32::try_from(points).ok().or_bug("points of a chunk")?;
        let builder = LazVlrBuilder::new(items).with_fixed_chunk_size(count);
        let threads =
            std::thread::available_parallelism().map_or(1, |count| count.get().min(AT_ONCE));
        Ok(Self {
            vlr: builder.build(),
            length,
            chunk: points.saturating_mul(length),
            threads,
            is_layered: format >= LATE,
            waiting: Vec::new(),
            table: ChunkTable::default(),
        })
    }

    /// The record about the compression.
    pub(super) fn record(&self, path: &Path) -> Result<Vec<u8>, ConvertError> {
        let mut bytes = Vec::new();
        let done = self.vlr.write_to(&mut bytes);
        done.map_err(|error| ConvertError::io(path, error))?;
        Ok(bytes)
    }

    /// Buffers points, and writes them when there is a chunk for each thread.
    pub(super) fn push(
        &mut self,
        points: &[u8],
        file: &mut BufWriter<File>,
        path: &Path,
    ) -> Result<(), ConvertError> {
        let mut rest = points;
        let most = self.chunk.saturating_mul(self.threads);
        while !rest.is_empty() {
            let room = most.saturating_sub(self.waiting.len());
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.waiting.extend_from_slice(now);
            rest = later;
            if self.waiting.len() >= most {
                self.flush(file, path)?;
            }
        }
        Ok(())
    }

    /// Compresses the buffered points.
    fn flush(&mut self, file: &mut BufWriter<File>, path: &Path) -> Result<(), ConvertError> {
        let chunks: Vec<&[u8]> = self.waiting.chunks(self.chunk).collect();
        let packed: Vec<Result<Vec<u8>, String>> = std::thread::scope(|scope| {
            let (items, length, is_layered) = (self.vlr.items(), self.length, self.is_layered);
            let work = chunks.iter().map(|points| {
                let points = *points;
                scope.spawn(move || isolate(|| encode(items, points, length, is_layered))?)
            });
            let work: Vec<_> = work.collect();
            let failed = |_| Err("a thread that failed".to_owned());
            work.into_iter()
                .map(|thread| thread.join().unwrap_or_else(failed))
                .collect()
        });
        for (points, bytes) in chunks.iter().zip(packed) {
            let bytes = bytes.map_err(|error| {
                ConvertError::io(path, std::io::Error::other(format!("laszip: {error}")))
            })?;
            file.write_all(&bytes)
                .map_err(|error| ConvertError::io(path, error))?;
            self.table.push(ChunkTableEntry {
                point_count: (points.len() / self.length.max(1)) as u64,
                byte_count: bytes.len() as u64,
            });
        }
        self.waiting.clear();
        Ok(())
    }

    /// Writes the chunk table, and its position at `first`, the first byte of the points.
    pub(super) fn finish(
        mut self,
        first: u64,
        file: &mut BufWriter<File>,
        path: &Path,
    ) -> Result<(), ConvertError> {
        self.flush(file, path)?;
        let written = file.stream_position().and_then(|at| {
            self.table.write_to(&mut *file, &self.vlr)?;
            file.seek(SeekFrom::Start(first))?;
            file.write_all(&at.to_le_bytes())
        });
        written.map_err(|error| ConvertError::io(path, error))
    }
}

/// Compresses the points of a chunk.
fn encode(
    items: &Vec<LazItem>,
    points: &[u8],
    length: usize,
    is_layered: bool,
) -> Result<Vec<u8>, String> {
    let out = Cursor::new(Vec::new());
    let mut encoder: Box<dyn RecordCompressor<Cursor<Vec<u8>>>> = match is_layered {
        true => Box::new(LayeredPointRecordCompressor::new(out)),
        false => Box::new(SequentialPointRecordCompressor::new(out)),
    };
    encoder
        .set_fields_from(items)
        .map_err(|error| error.to_string())?;
    for point in points.chunks_exact(length) {
        encoder
            .compress_next(point)
            .map_err(|error| error.to_string())?;
    }
    encoder.done().map_err(|error| error.to_string())?;
    Ok(encoder.box_into_inner().into_inner())
}
