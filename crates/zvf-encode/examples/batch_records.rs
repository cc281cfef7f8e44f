//! A batch of lines as the Arrow record batch that a query of its store would return. The description of the store names the columns and
//! gives their types.
#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use zvf_encode::{AttributeSpec, Batch, Kind, NumberType, StoreSpec, WriteError};

fn main() -> Result<(), WriteError> {
    let spec = StoreSpec::new(Kind::Streamline, [10.0; 3])
        .with_unit("millimeter")
        .with_vertex_attribute(AttributeSpec::number("fa", NumberType::F32));
    spec.check()?;
    let positions = [1.0_f32, 1.0, 1.0, 9.0, 2.0, 1.0, 12.0, 2.0, 1.0];
    let batch = Batch::new(&positions[..])
        .with_object_runs(&[(7, 2), (9, 1)][..])
        .with_attribute("fa", &[0.5_f32, 0.6, 0.7][..]);
    let (vertices, _) = batch.to_records(&spec, 0)?;
    for (field, column) in vertices.schema().fields().iter().zip(vertices.columns()) {
        println!(
            "{}: {} of {}",
            field.name(),
            column.len(),
            column.data_type()
        );
    }
    Ok(())
}
