//! Declarations of the fixed structures of a frame: the header and the end of the trailer (`spec/caterva-b2nd.md`
//! 3.1 and 3.5).
//!
//! ```text
//! 0        FrameHead     87 bytes, then metalayers; ends at header_len
//! then     chunks        cbytes of them, elsewhere in a sparse frame
//! then     index         a chunk of 64-bit entries, see Entry
//! then     trailer       variable-length metalayers
//! end−23   TrailerEnd    23 bytes
//! ```

use zerocopy::byteorder::big_endian::{I32, I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};
use zvf_format::layout::{Numbers, Value};

/// A value after the N bytes of MessagePack that give its type.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct Marked<const N: usize, T> {
    /// The type bytes.
    pub markers: [u8; N],
    /// The value; numbers are big-endian.
    pub value: T,
}

impl<const N: usize, T: Value> Value for Marked<N, T> {
    const NUMBERS: Numbers = T::NUMBERS;
    const MARKER: usize = N;
}

zvf_format::layout! {
    /// The fixed part of a frame header: 87 bytes at byte 0; metalayers follow.
    pub struct FrameHead: 87 {
        /// always b2frame
        pub magic: Marked<2, [u8; 8]>,
        /// bytes of the header, metalayers included
        pub header_len: Marked<1, I32>,
        /// bytes of the whole frame
        pub frame_len: Marked<1, I64>,
        /// bits 0-3: version, 4-5: width of index entries, 6: chunks differ in size, 7: blocks differ in size
        pub general_flags: Marked<1, u8>,
        /// 0: contiguous, 1: sparse (one file for each chunk)
        pub frame_type: u8,
        /// bits 0-3: codec, 4-7: compression level; each chunk states its own
        pub codec: u8,
        /// bits 0-1: split mode minus 1; each chunk states its own
        pub other_flags: u8,
        /// uncompressed bytes of all chunks, padding included
        pub nbytes: Marked<1, I64>,
        /// bytes of the chunk area, or of all chunk files
        pub cbytes: Marked<1, I64>,
        /// bytes of an element
        pub typesize: Marked<1, I32>,
        /// bytes of a block
        pub blocksize: Marked<1, I32>,
        /// uncompressed bytes of a chunk
        pub chunksize: Marked<1, I32>,
        /// threads of the writer
        pub compression_threads as "threads": Marked<1, U16>,
        /// threads recommended for readers
        pub decompression_threads as "threads": Marked<1, U16>,
        /// c3 (msgpack true): the trailer contains variable-length metalayers
        pub has_vlmeta: u8,
        /// filters in slots 0 to 5; each chunk states its own
        pub filters: Marked<2, [u8; 6]>,
        /// codec, as in bits 0-3 of `codec`
        pub compressor: u8,
        /// parameter of the codec; each chunk states its own
        pub compressor_meta: u8,
        /// parameters of the filters; each chunk states its own
        pub filter_metas: [u8; 6],
        /// bit 0: compressed with dictionaries; each chunk states its own
        pub other_flags2: u8,
        /// always 0
        pub reserved: u8,
    }

    /// The fixed end of a trailer: the last 23 bytes of a frame.
    pub struct TrailerEnd: 23 {
        /// bytes of the whole trailer
        pub trailer_len: Marked<1, U32>,
        /// kind of the fingerprint; 0: none
        pub fingerprint: Marked<1, u8>,
        /// the fingerprint
        pub digest: [u8; 16],
    }
}
