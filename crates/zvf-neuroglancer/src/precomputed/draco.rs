//! Fragments of multi-resolution meshes, by Draco.

use std::panic::resume_unwind;
use std::thread;

use draco_core::{
    DataType, EncoderBuffer, EncoderOptions, GeometryAttributeType, Mesh, MeshEncoder,
    PointAttribute,
};

use zvf_codec::isolate::isolate;

/// Bytes of the stack of the encoder's thread.
const STACK: usize = 16 << 20;

/// Bits of the coordinates of a fragment: `vertex_quantization_bits`, for which the format allows 10 and 16.
pub const DRACO_BITS: u32 = 16;

/// Connectivity as EdgeBreaker, by Draco's number.
const EDGEBREAKER: i32 = 1;

/// Why a fragment was not encoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DracoError {
    /// A corner of a triangle that refers to no vertex, or a coordinate of more than [`DRACO_BITS`] bits.
    #[error("found {found}, expected {expected}")]
    Input {
        /// The value found.
        found: String,
        /// The value expected.
        expected: String,
    },
    /// Another error of the encoder.
    #[error("a bug of the Draco encoder: {0}; please report it")]
    Encoder(String),
}

/// Encodes triangles between vertices with integer coordinates, without Draco's own quantization, which Neuroglancer does not support. A decoder
/// may return vertices and triangles in another order, and the corners of a triangle rotated. Triangles with a repeated corner are left out.
///
/// # Errors
/// Input that is out of range; a failure of the encoder.
pub fn encode_draco(positions: &[[u32; 3]], triangles: &[[u32; 3]]) -> Result<Vec<u8>, DracoError> {
    let wrong = |found: String, expected: String| DracoError::Input { found, expected };
    let largest = positions.iter().flatten().max();
    if let Some(largest) = largest.filter(|largest| **largest >> DRACO_BITS != 0) {
        let expected = format!("coordinates of {DRACO_BITS} bits");
        return Err(wrong(largest.to_string(), expected));
    }
    let corner = triangles.iter().flatten().max().copied();
    let corner = corner.map(|corner| usize::try_from(corner).unwrap_or(usize::MAX));
    if let Some(corner) = corner.filter(|corner| *corner >= positions.len()) {
        let expected = format!("a corner below {}", positions.len());
        return Err(wrong(corner.to_string(), expected));
    }
    match attempt(|| encode(positions, triangles)) {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(message)) | Err(message) => Err(DracoError::Encoder(message)),
    }
}

fn encode(positions: &[[u32; 3]], triangles: &[[u32; 3]]) -> Result<Vec<u8>, String> {
    let failed = |error: draco_core::DracoError| error.to_string();
    let mut attribute = PointAttribute::new();
    // Signed, as Neuroglancer expects: 16 bits fit.
    let made = attribute.try_init(
        GeometryAttributeType::Position,
        3,
        DataType::Int32,
        false,
        positions.len(),
    );
    made.map_err(failed)?;
    let bytes: Vec<u8> = positions
        .iter()
        .flatten()
        .flat_map(|coordinate| coordinate.to_le_bytes())
        .collect();
    if !attribute.buffer_mut().try_write(0, &bytes) {
        return Err("positions that do not fit into their attribute".to_owned());
    }
    let mut mesh = Mesh::new();
    mesh.add_attribute(attribute);
    mesh.try_set_num_faces(triangles.len()).map_err(failed)?;
    mesh.set_faces_from_flat_indices(triangles.as_flattened());
    let mut options = EncoderOptions::new();
    options.set_encoding_method(EDGEBREAKER);
    // Encodes on the calling thread; the default is a thread for each core.
    options.set_threads(1);
    let mut encoder = MeshEncoder::new();
    encoder.set_mesh(mesh);
    let mut out = EncoderBuffer::new();
    encoder.encode(&options, &mut out).map_err(failed)?;
    Ok(out.data().to_vec())
}

/// Runs an encoder in a thread with a large stack. The error is the message of a panic, or of the failure to start the thread.
fn attempt<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name("zvf-encoder".to_owned())
            .stack_size(STACK)
            .spawn_scoped(scope, move || isolate(work))
            .map_err(|error| error.to_string())?;
        worker.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
