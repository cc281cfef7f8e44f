//! The header of a TRK file, declared. Streamlines follow it: each one is the number of its points, the points with their scalars, and
//! its properties, all of them numbers of four bytes.

use zerocopy::little_endian::{F32, I16, I32};

/// The magic bytes at the beginning of a file; readers ignore the byte after them, which is 0.
pub(super) const MAGIC: &[u8; 5] = b"TRACK";
/// Names of scalars, or of properties, that a header has room for, and bytes of one.
pub(super) const NAMES: usize = 10;
pub(super) const NAME: usize = 20;

zvf_format::layout! {
    /// The first 1000 bytes of a file. All numbers of a file, also of its streamlines, have the same byte order, which may be either one.
    pub struct TrkHead: 1000 {
        /// TRACK and a zero
        pub magic as "id_string": [u8; 6],
        /// voxels along each axis of the image
        pub dimensions as "dim": [I16; 3],
        /// size of a voxel along each axis, in millimetres
        pub voxel_sizes as "voxel_size": [F32; 3],
        /// not used by TrackVis
        pub origin: [F32; 3],
        /// number of scalars of each point; 0 or more
        pub scalars as "n_scalars": I16,
        /// names of scalars, padded with zeros; a byte after the zero counts the scalars of the name, if it is not 1
        pub scalar_names as "scalar_name": [[u8; NAME]; NAMES],
        /// number of properties of each streamline; 0 or more
        pub properties as "n_properties": I16,
        /// names of properties, encoded like names of scalars
        pub property_names as "property_name": [[u8; NAME]; NAMES],
        /// affine from voxels to scanner coordinates in millimetres, since version 2; not set if the last number is 0
        pub voxel_to_rasmm as "vox_to_ras": [[F32; 4]; 4],
        /// zeros
        pub reserved: [u8; 444],
        /// three of the letters RLAPSI and a zero byte; empty if unknown
        pub voxel_order: [u8; 4],
        /// voxel order of the image from which the file was made
        pub original_voxel_order as "pad2": [u8; 4],
        /// directions of the axes of the image in DICOM coordinates
        pub image_orientation_patient: [F32; 6],
        /// zeros
        pub pad1: [u8; 2],
        /// not used
        pub inversions as "invert_x": [u8; 6],
        /// number of streamlines; 0 if unknown
        pub count as "n_count": I32,
        /// 1, 2 or 3
        pub version: I32,
        /// 1000; in a file of the other byte order the bytes of this and all other numbers are reversed
        pub header_size as "hdr_size": I32,
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use zerocopy::{FromBytes, IntoBytes};
    use zvf_format::layout::Layout;

    use super::*;

    #[test]
    fn fields_are_where_trackvis_has_them() {
        let places = [
            (offset_of!(TrkHead, scalars), 36),
            (offset_of!(TrkHead, properties), 238),
            (offset_of!(TrkHead, voxel_to_rasmm), 440),
            (offset_of!(TrkHead, voxel_order), 948),
            (offset_of!(TrkHead, image_orientation_patient), 956),
            (offset_of!(TrkHead, count), 988),
            (offset_of!(TrkHead, header_size), 996),
        ];
        for (place, wanted) in places {
            assert_eq!(place, wanted);
        }
    }

    #[test]
    fn numbers_turn_and_texts_do_not() {
        let mut head = TrkHead::read_from_bytes(&[0; 1000]).unwrap();
        head.magic = *b"TRACK\0";
        head.dimensions = [I16::new(1), I16::new(2), I16::new(-3)];
        head.voxel_to_rasmm[1][2] = F32::new(0.5);
        head.header_size = I32::new(1000);
        let turned = head.byte_swapped();
        assert_eq!(turned.magic, head.magic);
        assert_eq!(turned.dimensions[2].as_bytes(), [0xff, 0xfd]);
        assert_eq!(turned.voxel_to_rasmm[1][2].as_bytes(), [0x3f, 0, 0, 0]);
        assert_eq!(turned.header_size.get(), 0xe803_0000_u32.cast_signed());
        assert_eq!(turned.byte_swapped(), head);
    }
}
