//! The structures of LAS 1.0 to 1.4, declared.

use zerocopy::little_endian::{F64, I32, U16, U32, U64};

zvf_format::layout! {
    /// The first 227 bytes of a file, of all versions.
    pub struct PublicHeader: 227 {
        /// LASF
        pub signature: [u8; 4],
        /// number of the file, kept
        pub source: U16,
        /// bit 0: times are GPS standard times; bit 4: the CRS is WKT
        pub encoding as "global_encoding": U16,
        /// identifier of the project, kept
        pub guid: [u8; 16],
        /// major and minor version
        pub version: [u8; 2],
        /// name of the system, kept; else written as OTHER
        pub system as "system_identifier": [u8; 32],
        /// name of the program, kept; else written as zvf
        pub software as "generating_software": [u8; 32],
        /// day of the year and year of creation, kept; else written as 0
        pub created: [U16; 2],
        /// bytes of the header
        pub header_size: U16,
        /// offset of the points in the file
        pub first as "offset_to_point_data": U32,
        /// number of records between header and points
        pub records as "number_of_vlrs": U32,
        /// point format; plus 128 if points are compressed
        pub format as "point_data_record_format": u8,
        /// bytes of a point
        pub length as "point_data_record_length": U16,
        /// points, if fewer than 2^32; written as 0 for point formats 6 to 10
        pub legacy_points: U32,
        /// points by return, from the first; not used, written as 0 where `legacy_points` is
        pub legacy_returns: [U32; 5],
        /// coordinates of x, y and z are whole numbers times this, plus the offset
        pub scale: [F64; 3],
        /// offset of x, y and z
        pub offset: [F64; 3],
        /// highest and lowest x, highest and lowest y, highest and lowest z; not used
        pub bounds as "max_min": [F64; 6],
    }

    /// The fields that version 1.4 adds to the header.
    pub struct HeaderExtension14: 148 {
        /// offset of the waveforms in the file, from version 1.3
        pub waveforms: U64,
        /// offset of the extended records in the file
        pub first_extended as "start_of_first_evlr": U64,
        /// number of extended records, after the points
        pub extended as "number_of_evlrs": U32,
        /// points
        pub points: U64,
        /// points by return, from the first; not used
        pub returns: [U64; 15],
    }

    /// Head of a variable length record.
    pub struct VlrHead: 54 {
        /// not used
        pub reserved: [u8; 2],
        /// name of who defined the record
        pub user: [u8; 16],
        /// number of the record's kind
        pub id: U16,
        /// bytes that follow
        pub length: U16,
        /// description, not used
        pub description: [u8; 32],
    }

    /// Head of an extended record.
    pub struct Extended: 60 {
        /// not used
        pub reserved: [u8; 2],
        /// name of who defined the record
        pub user: [u8; 16],
        /// number of the record's kind
        pub id: U16,
        /// bytes that follow
        pub length: U64,
        /// description, not used
        pub description: [u8; 32],
    }

    /// Describes extra bytes of a point, which follow the fields of its format.
    pub struct ExtraBytes: 192 {
        /// not used
        pub reserved: [u8; 2],
        /// 1 to 10: type of a number, 11 to 30: of two or three numbers; 0: opaque bytes
        pub data_type: u8,
        /// bit 0: has a no-data value, bits 1 and 2: lowest and highest value, bit 3: scale, bit 4: offset; for opaque bytes their number
        pub options: u8,
        /// name, padded with zeros
        pub name: [u8; 32],
        /// not used
        pub unused: [u8; 4],
        /// values that mark missing data: whole numbers or float64, eight bytes each
        pub no_data: [U64; 3],
        /// lowest and highest numbers, as no_data
        pub range as "min, max": [U64; 6],
        /// scale
        pub scale: [F64; 3],
        /// offset
        pub offset: [F64; 3],
        /// description, kept
        pub description: [u8; 32],
    }

    /// Record of COPC: an octree of chunks, see <https://copc.io>.
    pub struct CopcInfo: 160 {
        /// centre of the cube of the whole file
        pub centre as "center": [F64; 3],
        /// half the length of the cube's edges
        pub half as "halfsize": F64,
        /// distance of points in the root node; half of it at each further level
        pub spacing: F64,
        /// offset of the first page of the hierarchy in the file
        pub root as "root_hier_offset": U64,
        /// bytes of that page
        pub root_size as "root_hier_size": U64,
        /// lowest and highest time, not used
        pub times as "gpstime_range": [F64; 2],
        /// 0
        pub reserved: [U64; 11],
    }

    /// Entry of a page of the hierarchy of COPC: a node of the octree.
    pub struct CopcEntry: 32 {
        /// 0 for the root
        pub level: I32,
        /// index of the node along x, y and z
        pub node as "x, y, z": [I32; 3],
        /// offset of the node's chunk, or of a further page, in the file
        pub at as "offset": U64,
        /// bytes of the chunk or page
        pub size as "byteSize": I32,
        /// points in the chunk; -1: a further page describes this node and those below it
        pub points as "pointCount": I32,
    }

    /// One key of a GeoTIFF directory; the header of the directory has the same size.
    pub struct GeoKey: 8 {
        /// number of the key
        pub id: U16,
        /// 0: the value is in this entry; else the record that contains it
        pub location: U16,
        /// number of values
        pub count: U16,
        /// the value, or its index in the other record
        pub value: U16,
    }
}

/// The text before the first zero byte.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0);
    let bytes = end.and_then(|end| bytes.get(..end)).unwrap_or(bytes);
    String::from_utf8_lossy(bytes).into_owned()
}
