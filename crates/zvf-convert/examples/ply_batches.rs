//! Reads the vertices of a file of another format as Arrow record batches, for a program that needs no store. Every format that `zvf import`
//! reads is read the same way.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_convert::{ConvertError, Import, Imported, Options};

/// A triangle.
const PLY: &str = "ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
property uchar red
element face 1
property list uchar int vertex_indices
end_header
0 0 0 255
1 0 0 128
0 1 0 64
3 0 1 2
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("triangle.ply");
    std::fs::write(&file, PLY)?;

    let import = Import::open(&[file], &Options::default())?;
    println!("{}: {} vertices", import.spec().kind, import.vertices());
    import.record_batches(|batch| {
        let (table, rows) = match &batch {
            Imported::Vertices(rows, _) => ("vertices", rows),
            Imported::Objects(rows) => ("objects", rows),
            Imported::Groups(rows) => ("groups", rows),
        };
        for (field, column) in rows.schema().fields().iter().zip(rows.columns()) {
            let (name, kind) = (field.name(), column.data_type());
            println!("{table}, {} rows: {name}, {kind}", rows.num_rows());
        }
        Ok::<_, ConvertError>(())
    })?;
    Ok(())
}
