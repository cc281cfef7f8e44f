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
        /// first byte of the points
        pub first as "offset_to_point_data": U32,
        /// records between header and points
        pub records as "number_of_vlrs": U32,
        /// point format; 128 is added where points are compressed
        pub format as "point_data_record_format": u8,
        /// bytes of a point
        pub length as "point_data_record_length": U16,
        /// points, if fewer than 2^32; written as 0 for point formats 6 to 10
        pub legacy_points: U32,
        /// points by return, from the first; not used, written as 0 where `legacy_points` is
        pub legacy_returns: [U32; 5],
        /// distance of neighbouring coordinates of x, y and z
        pub scale: [F64; 3],
        /// coordinate of the number 0 of x, y and z
        pub offset: [F64; 3],
        /// highest and lowest x, highest and lowest y, highest and lowest z; not used
        pub bounds as "max_min": [F64; 6],
    }

    /// The fields that version 1.4 adds to the header.
    pub struct HeaderExtension14: 148 {
        /// first byte of the waveforms, of version 1.3 and later
        pub waveforms: U64,
        /// first byte of the extended records
        pub first_extended as "start_of_first_evlr": U64,
        /// extended records, after the points
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
        /// who defined the record
        pub user: [u8; 16],
        /// what it is
        pub id: U16,
        /// bytes that follow
        pub length: U16,
        /// a text, not used
        pub description: [u8; 32],
    }

    /// Head of an extended record.
    pub struct Extended: 60 {
        /// not used
        pub reserved: [u8; 2],
        /// who defined the record
        pub user: [u8; 16],
        /// what it is
        pub id: U16,
        /// bytes that follow
        pub length: U64,
        /// a text, not used
        pub description: [u8; 32],
    }

    /// Describes extra bytes of a point, which follow the fields of its format.
    pub struct ExtraBytes: 192 {
        /// not used
        pub reserved: [u8; 2],
        /// 1 to 10: type of a number, 11 to 30: of two or three numbers; 0: opaque bytes
        pub data_type: u8,
        /// bit 0: no data value, bits 1 and 2: lowest and highest, bit 3: scaled, bit 4: offset; for opaque bytes their number
        pub options: u8,
        /// its name, padded with zeros
        pub name: [u8; 32],
        /// not used
        pub unused: [u8; 4],
        /// values that mark missing data: whole numbers or float64, eight bytes each
        pub no_data: [U64; 3],
        /// lowest and highest numbers, as no_data
        pub range as "min, max": [U64; 6],
        /// factors
        pub scale: [F64; 3],
        /// summands
        pub offset: [F64; 3],
        /// a text, kept
        pub description: [u8; 32],
    }

    /// Record of COPC: an octree of chunks, see <https://copc.io>.
    pub struct CopcInfo: 160 {
        /// centre of the cube of the whole file
        pub centre as "center": [F64; 3],
        /// half the length of its edges
        pub half as "halfsize": F64,
        /// distance of the points of the root; half of it at each further level
        pub spacing: F64,
        /// first byte of the first page of the hierarchy
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
        /// number of the node along x, y and z
        pub node as "x, y, z": [I32; 3],
        /// first byte of its chunk, or of a further page
        pub at as "offset": U64,
        /// bytes of the chunk or page
        pub size as "byteSize": I32,
        /// points of the chunk; -1: a further page has this node and those below it
        pub points as "pointCount": I32,
    }

    /// One key of a GeoTIFF directory; the header of the directory has the same size.
    pub struct GeoKey: 8 {
        /// which one
        pub id: U16,
        /// 0: the value is here
        pub location: U16,
        /// numbers of the value
        pub count: U16,
        /// the value, or its index in another record
        pub value: U16,
    }
}

/// A text that ends before the first zero.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0);
    let bytes = end.and_then(|end| bytes.get(..end)).unwrap_or(bytes);
    String::from_utf8_lossy(bytes).into_owned()
}
