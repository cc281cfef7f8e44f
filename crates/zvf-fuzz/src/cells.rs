//! Decoding of cells in `zvf-store`: codecs, shards, and the documents that determine how cells are read.

use std::sync::Arc;

use zvf_codec::{Chain, Data, StoredBytes};
use zvf_store::meta::ArrayDoc;
use zvf_store::{CellWant, ChunkCoord, Level, Limits, Need, Store, undo_codecs};

use crate::split::parameters;
use crate::store::{open, wait};

/// Largest decoded cell in bytes; small, so that a decompression bomb is detected early.
const CELL_BYTES: u64 = 1 << 20;

/// Root document of a store of 2 x 2 x 2 chunks.
const ROOT: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{"zarr_vectors":{"zv_version":"0.9.2",
"chunk_shape":[10.0,10.0,10.0],"bounds":[[0,0,0],[19,19,19]],"geometry_types":["point_cloud"],"format_capabilities":[]},
"multiscales":[{"version":"0.4","name":"default","axes":[{"name":"x","type":"space"},{"name":"y","type":"space"},
{"name":"z","type":"space"}],"datasets":[{"path":"0","coordinateTransformations":[{"type":"scale","scale":[1,1,1]}]}]}]}}"#;

/// Document of its level.
const LEVEL: &str = r#"{"zarr_format":3,"node_type":"group","attributes":{"zarr_vectors_level":{"level":0,"vertex_count":8,
"arrays_present":["vertices"],"object_sparsity":1.0,"coarsening_method":"none","parent_level":null}}}"#;

/// Document of its array, with the placeholders `CODECS` and `CHUNKS` for the codecs and the chunk shape.
const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[2,2,2],"data_type":"variable_length_bytes",
"chunk_grid":{"name":"regular","configuration":{"chunk_shape":CHUNKS}},"chunk_key_encoding":{"name":"default",
"configuration":{"separator":"/"}},"fill_value":"","codecs":CODECS,"attributes":{"nonempty_chunks":["0.0.0","0.0.1","0.1.0",
"0.1.1","1.0.0","1.0.1","1.1.0","1.1.1"],"zv_array":"vertices","dtype":"float32","encoding":"raw"},"storage_transformers":[]}"#;

/// Chains of bytes-to-bytes codecs.
const CHAINS: &[&str] = &[
    r#"{"name":"zstd","configuration":{"level":0,"checksum":false}}"#,
    r#"{"name":"gzip","configuration":{"level":5}}"#,
    r#"{"name":"blosc","configuration":{"typesize":4,"cname":"zstd","clevel":5,"shuffle":"bitshuffle","blocksize":0}}"#,
    r#"{"name":"crc32c"}"#,
    r#"{"name":"gzip","configuration":{"level":5}},{"name":"crc32c"}"#,
];

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.cell_bytes = CELL_BYTES;
    limits
}

/// Decodes arbitrary bytes with a chain of codecs. Parameter: the chain.
///
/// # Panics
///
/// If more bytes are decoded than the limit allows.
pub fn codecs(data: &[u8]) {
    let ([chain], bytes) = parameters(data);
    let chain = CHAINS[usize::from(chain) % CHAINS.len()];
    let document = ARRAY
        .replace("CODECS", &format!(r#"[{{"name":"vlen-bytes"}},{chain}]"#))
        .replace("CHUNKS", "[1,1,1]");
    let array = ArrayDoc::parse(document.as_bytes()).expect("our own document");
    let codecs = array.codecs.get(1..).unwrap_or_default();
    if let Ok(plain) = undo_codecs("cell", codecs, bytes.to_vec().into(), &limits()) {
        assert!(plain.len() as u64 <= CELL_BYTES, "{} bytes", plain.len());
    }
}

/// Reads all cells of a store whose only object, a shard or a cell, has arbitrary bytes.
///
/// Parameters: bit 0 sharded, bit 1 zstd as inner codec, bit 2 appends a correct checksum of the shard index.
///
/// # Panics
///
/// Only if there is a bug in the tested code.
pub fn shard(data: &[u8]) {
    let ([options], bytes) = parameters(data);
    if let Ok(text) = std::str::from_utf8(bytes) {
        // Lengths of cells, as the document of an array has them.
        drop(zvf_store::format::shard_lengths::ranges(text, &[2, 2, 2]));
    }
    let inner = if options & 2 == 0 {
        String::new()
    } else {
        format!(",{}", CHAINS[0])
    };
    let inner = format!(r#"[{{"name":"vlen-bytes","configuration":{{}}}}{inner}]"#);
    let (chunks, codecs) = if options & 1 == 0 {
        ("[1,1,1]", inner)
    } else {
        let index = r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]"#;
        let inside = format!(
            r#""chunk_shape":[1,1,1],"codecs":{inner},"index_codecs":{index},"index_location":"end""#
        );
        (
            "[2,2,2]",
            format!(r#"[{{"name":"sharding_indexed","configuration":{{{inside}}}}}]"#),
        )
    };
    let mut object = bytes.to_vec();
    if options & 4 != 0 {
        let index = object.len().saturating_sub(8 * 16);
        object.extend_from_slice(&crc32c::crc32c(&object[index..]).to_le_bytes());
    }
    read(
        &ARRAY.replace("CODECS", &codecs).replace("CHUNKS", chunks),
        object,
    );
}

/// Opens a store whose array document has arbitrary text, and reads the cells that it lists.
///
/// # Panics
///
/// Only if there is a bug in the tested code.
pub fn array_document(data: &[u8]) {
    if let Ok(document) = std::str::from_utf8(data) {
        read(
            document,
            b"\x01\0\0\0\x0c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(),
        );
    }
}

/// Puts a store of one object into memory and reads every cell that it lists.
fn read(array: &str, object: Vec<u8>) {
    wait(async {
        let files = [
            ("zarr.json", ROOT.as_bytes().to_vec()),
            ("0/zarr.json", LEVEL.as_bytes().to_vec()),
            ("0/vertices/zarr.json", array.as_bytes().to_vec()),
            ("0/vertices/c/0/0/0", object),
        ];
        let files = files.map(|(key, bytes)| (key.to_owned(), bytes));
        let Some(store) = open(files, limits()).await else {
            return;
        };
        let Ok(level) = store.level(0, &Need::nothing()).await else {
            return;
        };
        cells(&store, &level).await;
    });
}

/// Reads the listed cells one by one, then all at once.
async fn cells(store: &Store, level: &Level) {
    let array = level.vertices();
    let want = |chunk: &[i64]| CellWant {
        array: Arc::clone(array),
        chunk: ChunkCoord::from(chunk),
    };
    let wants: Vec<CellWant> = array.presence().iter().take(64).map(want).collect();
    for one in &wants {
        let _ = store.fetch(3, vec![one.clone()]).await;
    }
    let _ = store.fetch(3, wants).await;
}

/// Reads a range of the decoded bytes of one chunk. Parameters: the chain; the start of the range, as a fraction of all bytes; and its length, as a
/// fraction of the rest.
///
/// # Panics
///
/// If a range of a chunk that decodes as a whole differs or cannot be read, or more bytes are decoded than the limit allows.
pub fn codec_ranges(data: &[u8]) {
    let ([chain, start, length], bytes) = parameters(data);
    let codec = CHAINS[usize::from(chain) % CHAINS.len()];
    let codecs: serde_json::Value =
        serde_json::from_str(&format!("[{codec}]")).expect("our own document");
    let codecs = zvf_meta::Codec::list(codecs).expect("our own document");
    let chain = Chain::new(&codecs).expect("codecs of this build");
    let whole = chain.decode(Data::Borrowed(bytes), CELL_BYTES);
    let memory = StoredBytes::Memory(bytes.to_vec().into());
    let Ok(mut decoder) = chain.ranges(memory, CELL_BYTES) else {
        assert!(whole.is_err(), "only the whole decodes");
        return;
    };
    assert!(decoder.len() <= CELL_BYTES);
    let count = usize::try_from(decoder.len()).expect("within the limit");
    let start = count * usize::from(start) / 255;
    let end = start + (count - start) * usize::from(length) / 255;
    let mut found = Vec::new();
    let read = decoder.read(start..end, &mut found);
    if let Ok(whole) = whole {
        read.expect("a range of a chunk that decodes");
        assert_eq!(found, whole.as_slice()[start..end]);
    }
}
