//! Files of other formats, as an import reads them.

use std::io::Write;

use zvf_convert::{ConvertError, Import, Options};

/// Endings, by the first byte of an input.
const ENDINGS: [&str; 14] = [
    "swc", "csv", "obj", "stl", "trk", "tck", "ply", "npy", "npz", "arrow", "tsv", "trx",
    "parquet", "laz",
];

/// One file of any format that is imported.
///
/// Parameters: the format. The rest is the file.
///
/// # Panics
///
/// Without a place for temporary files.
pub fn import_file(data: &[u8]) {
    let (format, bytes) = data.split_at(data.len().min(1));
    let format = usize::from(format.first().copied().unwrap_or(0)) % ENDINGS.len();
    let ending = format!(".{}", ENDINGS.get(format).copied().unwrap_or("swc"));
    let mut file = tempfile::Builder::new()
        .suffix(&ending)
        .tempfile()
        .expect("a temporary file");
    file.write_all(bytes).expect("a temporary file is written");
    let mut options = Options::default();
    options.batch = 7;
    options.limits.held = 1 << 16;
    if let Ok(import) = Import::open(&[file.path().to_owned()], &options) {
        assert!(import.vertices() > 0);
        // Columns that the first reading only counts may be damaged: the second one says so.
        let _ = import.record_batches(|_| Ok::<_, ConvertError>(()));
    }
}
