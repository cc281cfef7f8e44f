//! Files of other formats, as an import reads them.

use std::io::Write;

use zvf_convert::{AttributeFile, ConvertError, Import, Options};

/// Endings, by the first byte of an input.
const ENDINGS: [&str; 14] = [
    "swc", "csv", "obj", "stl", "trk", "tck", "ply", "npy", "npz", "arrow", "tsv", "trx",
    "parquet", "laz",
];

/// Reads one file of any format, as the values of one attribute and as an import.
///
/// Parameters: the format. The rest is the file.
///
/// # Panics
///
/// When no temporary file can be created, or the lengths of an attribute's lists do not add up to its rows.
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
        // The lengths must add up to the number of rows.
        if let Ok(Some(alone)) = AttributeFile::read(file.path(), "v", by_object, &options) {
            let stated: Option<u64> = alone.lengths.map(|lengths| lengths.iter().sum());
            let rows = u64::try_from(alone.values.num_rows()).unwrap_or(u64::MAX);
            assert!(stated.is_none_or(|stated| stated == rows));
        }
    }
    if let Ok(import) = Import::open(&[file.path().to_owned()], &options) {
        assert!(import.vertices() > 0);
        // The first pass only counts the rows of some columns; damage in them is an error of the second pass.
        let _ = import.record_batches(|_| Ok::<_, ConvertError>(()));
    }
}
