//! The layout of binary STL: a header, then triangles. Numbers are little-endian.

use zerocopy::little_endian::{F32, U16, U32};

zvf_format::layout! {
    /// The header of a file.
    pub struct StlHead: 84 {
        /// any text; text files begin with `solid`, so writers avoid that word
        pub title: [u8; 80],
        /// triangles that follow, up to the end of the file
        pub triangles: U32,
    }

    /// A triangle.
    pub struct Triangle: 50 {
        /// unit normal that points outwards; zeros if unknown
        pub normal: [F32; 3],
        /// counter-clockwise, seen from outside
        pub corners: [[F32; 3]; 3],
        /// has no common meaning; 0
        pub attribute: U16,
    }
}
