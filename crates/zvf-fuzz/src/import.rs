//! Files of other formats, as an import reads them.

use std::io::Write;

use zvf_convert::{AttributeFile, ConvertError, Import, Options};

/// Endings, by the first byte of an input.
const ENDINGS: [&str; 14] = [
    "swc", "csv", "obj", "stl", "trk", "tck", "ply", "npy", "npz", "arrow", "tsv", "trx",
    "parquet", "laz",
];

/// One file of any format that is imported, or that has the values of one attribute alone.
///
/// Parameters: the format. The rest is the file.
///
/// # Panics
///
/// Without a place for temporary files.
pub fn import_file(data: &[u8]) {
    let (format, bytes) = data.split_at(data.len().min(1));
    let format = usize::from(format.first().copied().unwrap_or(0)) % ENDINGS.len();
    let ending = match bytes.starts_with(b"mrtrix track scalars") {
        true => ".tsf".to_owned(),
        false => format!(".{}", ENDINGS.get(format).copied().unwrap_or("swc")),
    };
    let mut file = tempfile::Builder::new()
        .suffix(&ending)
        .tempfile()
        .expect("a temporary file");
    file.write_all(bytes).expect("a temporary file is written");
    let mut options = Options::default();
    options.batch = 7;
    options.limits.held = 1 << 16;
    for by_object in [false, true] {
        // Every length is of rows that are there.
        if let Ok(Some(alone)) = AttributeFile::read(file.path(), "v", by_object, &options) {
            let stated: Option<u64> = alone.lengths.map(|lengths| lengths.iter().sum());
            let rows = u64::try_from(alone.values.num_rows()).unwrap_or(u64::MAX);
            assert!(stated.is_none_or(|stated| stated == rows));
        }
    }
    if let Ok(import) = Import::open(&[file.path().to_owned()], &options) {
        assert!(import.vertices() > 0);
        // Columns that the first reading only counts may be damaged: the second one says so.
        let _ = import.record_batches(|_| Ok::<_, ConvertError>(()));
    }
}
