//! Structures that only stores before 0.9 and padded stores have: each target builds a small store around the bytes.

use serde_json::{Value, json};
use zvf_format::links::legacy::FlatRecords;

use crate::split::parameters;
use crate::store::{Files, blob_document, one_fragment, words};

/// Splits off the first `count` bytes, or all if there are fewer.
fn head(bytes: &[u8], count: usize) -> (&[u8], &[u8]) {
    bytes.split_at(count.min(bytes.len()))
}

/// A group of blobs: a child that holds one chunk, or a pack of several chunks.
///
/// Parameters: options (bit 0 zstd, bit 1 packed, bit 2 the bytes are the document of the child or pack, bit 3 the second chunk
/// is also a child beside the pack, bit 4 the pack lists a third chunk, at the range in the last 16 bytes), stated length
/// (255: the true one), where the second chunk of the pack begins.
///
/// # Panics
///
/// When a cell that is read alone differs from the same cell read with others.
pub fn blobs(data: &[u8]) {
    let ([options, length, at], bytes) = parameters(data);
    let mut files = Files::bare("0.7.0", "point_cloud");
    files.group(
        "0/vertices",
        json!({"zv_array": "vertices", "dtype": "float32", "encoding": "raw"}),
    );
    files.group("0/vertex_fragments", json!({}));
    for chunk in ["0.0", "1.0", "-1.2"] {
        files.blob(&format!("0/vertex_fragments/{chunk}"), &one_fragment(1));
    }
    let length = match length {
        255 => bytes.len() as u64,
        claimed => u64::from(claimed),
    };
    let (zstd, packed) = (options & 1 != 0, options & 2 != 0);
    let child = if packed { "__shard_0000001" } else { "0.0" };
    let attributes = if packed {
        let mut index = json!({"0.0": [0, at], "1.0": [at, length.saturating_sub(u64::from(at))]});
        if options & 16 != 0 {
            // The range of the third chunk may be any two numbers.
            let number = |field: Option<&[u8]>| {
                let bytes = field.unwrap_or_default().iter();
                bytes.fold(0_i64, |n, byte| n << 8 | i64::from(*byte))
            };
            let mut fields = bytes.rchunks(8);
            index["-1.2"] = json!([number(fields.next()), number(fields.next())]);
        }
        json!({"shard_index": index})
    } else {
        json!({})
    };
    let path = format!("0/vertices/{child}");
    if options & 4 == 0 {
        let document = blob_document(length, zstd, attributes).to_string();
        files.put(&format!("{path}/zarr.json"), document.into());
        files.put(&format!("{path}/c/0"), bytes.to_vec());
    } else {
        files.put(&format!("{path}/zarr.json"), bytes.to_vec());
        files.put(&format!("{path}/c/0"), vec![1; usize::from(at)]);
    }
    if options & 8 != 0 {
        files.blob("0/vertices/1.0", &[7; 8]);
    }
    files.walk();
}

/// Padded arrays: positions, an attribute and links of two chunks with room for a few rows.
///
/// Parameters: options (bit 0 stored chunks are cut or filled up to their size, bit 1 a fragment index beside them, bit 2
/// the attribute, bit 3 the links, bit 4 the bytes are the document of `vertices`), rows of a chunk, columns of the attribute.
///
/// # Panics
///
/// When a cell that is read alone differs from the same cell read with others.
pub fn padded(data: &[u8]) {
    let ([options, room, columns], bytes) = parameters(data);
    let (room, columns) = (u64::from(room % 32), u64::from(columns % 4));
    let mut files = Files::bare("0.9.2", "graph");
    let mut rest = bytes;
    let mut array = |path: &str, dtype: &str, fill: Value, tail: &[u64], size: u64| {
        let shape = [&[2, 1, room], tail].concat();
        let chunk = [&[1, 1, room], tail].concat();
        files.array(path, dtype, fill, &shape, &chunk);
        let size = tail.iter().product::<u64>() * room * size;
        for index in 0..2 {
            let count = usize::try_from(size).expect("small");
            let (cell, after) = head(rest, count);
            rest = after;
            if cell.is_empty() {
                break;
            }
            let mut cell = cell.to_vec();
            if options & 1 != 0 {
                cell.resize(count, 0);
            }
            let zeros = "/0".repeat(1 + tail.len());
            files.put(&format!("{path}/c/{index}/0{zeros}"), cell);
        }
    };
    array("0/vertices", "float32", json!(0.0), &[2], 4);
    if options & 4 != 0 {
        let tail = if columns == 0 { vec![] } else { vec![columns] };
        array("0/attributes/a", "int16", json!(0), &tail, 2);
    }
    if options & 8 != 0 {
        array("0/links/0", "int32", json!(-1), &[2], 4);
    }
    if options & 2 != 0 {
        files.group("0/vertex_fragments", json!({}));
        files.blob("0/vertex_fragments/0.0", rest);
        files.blob("0/vertex_fragments/1.0", &one_fragment(2));
    }
    if options & 16 != 0 {
        files.put("0/vertices/zarr.json", bytes.to_vec());
    }
    files.walk();
}

/// The flat records of 0.7.
///
/// Parameters: endpoints per record, rank of chunk coordinates, stated number of records (255: not stated), bytes that are values.
///
/// # Panics
///
/// When the records do not cover the bytes.
pub fn flat_records(data: &[u8]) {
    let ([width, rank, stated, values], bytes) = parameters(data);
    let (width, rank) = (usize::from(width % 10), usize::from(rank % 6));
    if let Ok(records) = FlatRecords::parse(bytes, width, rank) {
        assert_eq!(records.len() * width * (rank + 1) * 8, bytes.len());
        for i in 0..records.len() {
            for e in 0..width {
                let (chunk, _) = records.endpoint(i, e).expect("inside");
                assert_eq!(chunk.len(), rank);
            }
            assert!(records.endpoint(i, width).is_none());
        }
        assert!(records.endpoint(records.len(), 0).is_none());
    }
    let mut files = Files::blobs("0.7.0", "graph");
    let mut family = json!({"zv_array": "cross_chunk_links", "level_delta": 0, "link_width": width, "sid_ndim": 2});
    if stated != 255 {
        family["num_links"] = json!(stated);
    }
    let (values, records) = head(bytes, usize::from(values));
    files.group("0/cross_chunk_links/0", family);
    files.blob("0/cross_chunk_links/0/data", records);
    files.group(
        "0/cross_chunk_link_attributes/w/0",
        json!({"zv_array": "cross_chunk_link_attribute", "name": "w", "dtype": "int16"}),
    );
    files.blob("0/cross_chunk_link_attributes/w/0/data", values);
    files.walk();
}

/// The cells of 0.8: a key of all endpoints, and records with a permutation.
///
/// Parameters: endpoints per record, options (bit 0 directed, bit 1 duplicate, bit 2 a list of cells with their keys, bit 3
/// the name of the cell is any text, bit 4 an attribute, bit 5 an attribute in one array); then the numbers of the key, one byte
/// each.
///
/// # Panics
///
/// When a record that passed the check cannot be restored.
pub fn cross_cells(data: &[u8]) {
    let ([width, options], bytes) = parameters(data);
    let width = usize::from(width % 6);
    let (numbers, body) = head(bytes, 2 * width);
    let key = if options & 8 == 0 {
        let numbers = numbers.iter().map(|byte| byte.cast_signed().to_string());
        numbers.collect::<Vec<_>>().join(".")
    } else {
        String::from_utf8_lossy(numbers).replace(['/', '\\', '\0'], "_")
    };
    let mut family = json!({"zv_array": "cross_chunk_links", "sid_ndim": 2, "level_delta": 0, "link_width": width,
        "directed": options & 1 != 0, "store": if options & 2 == 0 { "canonical" } else { "duplicate" }});
    let mut files = Files::blobs("0.8.1", "graph");
    let path = "0/cross_chunk_links/0";
    if options & 4 == 0 {
        files.group(path, family);
        files.blob(&format!("{path}/{key}"), body);
    } else {
        family["layout"] = json!("packed_sharded");
        family["cell_keys"] = json!([key]);
        let mut document = blob_document(1, false, family);
        document["data_type"] = json!("variable_length_bytes");
        document["fill_value"] = json!("");
        document["codecs"] = json!([{"name": "vlen-bytes"}]);
        files.put(&format!("{path}/zarr.json"), document.to_string().into());
        let length = u32::try_from(body.len()).expect("small");
        let chunk = [&1_u32.to_le_bytes(), &length.to_le_bytes(), body].concat();
        files.put(&format!("{path}/c/0"), chunk);
    }
    if options & 48 != 0 {
        let path = "0/cross_chunk_link_attributes/w/0";
        let (mut group, mut child) = (
            json!({"zv_array": "cross_chunk_link_attribute", "name": "w", "dtype": "float32", "row_shape": []}),
            key.as_str(),
        );
        let mut values = head(body, 4).0.to_vec();
        if options & 32 != 0 {
            // A cell begins with the number of its records.
            let records = body.first().copied().unwrap_or_default();
            group["shape"] = json!([records]);
            values.resize(4 * usize::from(records), 1);
            child = "data";
        }
        files.group(path, group);
        files.blob(&format!("{path}/{child}"), &values);
    }
    files.walk();
}

/// Manifests as `data` and `offsets`. Parameters: objects, bytes that are offsets.
///
/// # Panics
///
/// When a manifest that is read alone differs from the same manifest read with others.
pub fn split_manifests(data: &[u8]) {
    let ([objects, split], bytes) = parameters(data);
    let (offsets, manifests) = head(bytes, usize::from(split));
    let mut files = Files::blobs("0.7.0", "polyline");
    files.group(
        "0/object_index",
        json!({"zv_array": "object_index", "num_objects": objects, "sid_ndim": 2}),
    );
    files.blob("0/object_index/offsets", offsets);
    files.blob("0/object_index/data", manifests);
    files.walk();
}

/// Dense manifests: an array of spans and an array of blocks. Parameters: objects, rows of spans, rows of blocks, rows of a stored chunk.
///
/// # Panics
///
/// When a manifest that is read alone differs from the same manifest read with others.
pub fn dense_manifests(data: &[u8]) {
    let ([objects, spans, blocks, chunk], bytes) = parameters(data);
    let mut files = Files::blobs("0.9.4", "polyline");
    files.group(
        "0/object_index",
        json!({"zv_array": "object_index", "num_objects": objects, "sid_ndim": 2, "layout": "dense_manifests_v1"}),
    );
    let chunk = u64::from(chunk % 8);
    let mut rest = bytes;
    for (name, rows, columns) in [("manifest_spans", spans, 2), ("manifest_blocks", blocks, 3)] {
        let path = format!("0/object_index/{name}");
        let rows = u64::from(rows);
        files.array(
            &path,
            "int64",
            json!(0),
            &[rows, columns],
            &[chunk, columns],
        );
        let size = usize::try_from(chunk * columns * 8).expect("small");
        for index in 0..rows.div_ceil(chunk.max(1)).min(8) {
            let (cell, after) = head(rest, size);
            rest = after;
            if !cell.is_empty() {
                files.put(&format!("{path}/c/{index}/0"), cell.to_vec());
            }
        }
    }
    files.walk();
}

/// A table of blobs with a mask.
///
/// Parameters: rows and columns of the shape, element type, options (bit 0 a mask, bit 1 the document states a mask, bit 2 one axis),
/// bytes that are the mask.
///
/// # Panics
///
/// When rows that are read alone differ from the same rows read with others.
pub fn masked_table(data: &[u8]) {
    const TYPES: [&str; 6] = ["float32", "float64", "int8", "uint16", "bool", "<U3"];
    let ([rows, columns, kind, options, mask], bytes) = parameters(data);
    let (mask, values) = head(bytes, usize::from(mask));
    let shape = if options & 4 == 0 {
        json!([rows, columns])
    } else {
        json!([rows])
    };
    let mut files = Files::blobs("0.7.0", "point_cloud");
    let path = "0/object_attributes/a";
    let dtype = TYPES.get(usize::from(kind) % TYPES.len());
    files.group(
        path,
        json!({"zv_array": "object_attribute", "name": "a", "dtype": dtype, "num_channels": 1, "shape": shape,
            "has_present_mask": options & 2 != 0}),
    );
    files.blob(&format!("{path}/data"), values);
    if options & 1 != 0 {
        files.blob(&format!("{path}/present_mask"), mask);
    }
    files.walk();
}

/// Groups as `data` and `offsets`. Parameters: groups, bytes that are offsets (255: offsets of equal parts).
///
/// # Panics
///
/// When two ways to read the groups disagree.
pub fn split_groups(data: &[u8]) {
    let ([count, split], bytes) = parameters(data);
    let (mut offsets, mut members) = (Vec::new(), bytes);
    if split == 255 {
        let each = bytes.len().checked_div(usize::from(count)).unwrap_or(0) / 8 * 8;
        let starts: Vec<i64> = (0..i64::from(count)).map(|at| at * each as i64).collect();
        offsets = words(&starts);
    } else {
        let (first, rest) = head(bytes, usize::from(split));
        offsets.extend_from_slice(first);
        members = rest;
    }
    let mut files = Files::blobs("0.7.0", "point_cloud");
    files.group(
        "0/groups",
        json!({"zv_array": "groups", "num_groups": count}),
    );
    files.blob("0/groups/offsets", &offsets);
    files.blob("0/groups/data", members);
    files.walk();
}
