//! Bytes written by hand, and by Python's `struct` (the hexadecimal texts).

use super::*;

fn values(row: usize, bytes: &[u8]) -> PropertyValues {
    PropertyValues::new(row, bytes.to_vec()).unwrap()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// `struct.pack('<Q3ffHB5x3ffHB5xQQ', …)`: two points, float32, uint16, rgb, three bytes of padding.
#[test]
fn points_are_packed_as_struct_packs_them() {
    let types = vec![
        PropertyType::Float32,
        PropertyType::Uint16,
        PropertyType::Rgb,
    ];
    let properties = [
        values(4, &[0.5f32, -2.0].map(f32::to_le_bytes).concat()),
        values(2, &[0x34, 0x12, 0xFF, 0xFF]),
        values(3, &[1, 2, 3, 255, 128, 0]),
    ];
    let mut list = AnnotationList::new(AnnotationKind::Point, 3, types);
    list.push(7, &[1.0, 2.0, 3.0], &properties, 0).unwrap();
    list.push(u64::MAX, &[-1.5, 0.25, 1e9], &properties, 1)
        .unwrap();
    // struct.pack('<Q', 2)
    // + struct.pack('<3ffH3B3x', 1, 2, 3, .5, 0x1234, 1, 2, 3)
    // + struct.pack('<3ffH3B3x', -1.5, .25, 1e9, -2, 0xffff, 255, 128, 0) + struct.pack('<QQ', 7, 2**64-1)
    let expected = hex(
        "0200000000000000 0000803f0000004000004040 0000003f 3412 010203 000000 \
         0000c0bf0000803e286b6e4e 000000c0 ffff ff8000 000000 0700000000000000 ffffffffffffffff",
    );
    assert_eq!(list.bytes(), expected.len());
    let row = (expected.len() - 24) / 2;
    let singles: Vec<_> = list.each().map(|(id, row)| (id, row.to_vec())).collect();
    let rows = expected[8..8 + 2 * row].chunks(row).map(<[u8]>::to_vec);
    assert_eq!(
        singles,
        [7, u64::MAX].into_iter().zip(rows).collect::<Vec<_>>()
    );
    assert_eq!(list.finish(), expected);
}

#[test]
fn polylines_have_a_count_and_lines_have_none() {
    let mut list = AnnotationList::new(AnnotationKind::Polyline, 2, Vec::new());
    list.push(1, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[], 0)
        .unwrap();
    for (id, encoded) in list.each() {
        assert_eq!(AnnotationList::of_one(id, encoded), list.clone().finish());
    }
    let single = list.clone().single(&[vec![9, 10]]).unwrap();
    // struct.pack('<I6fI2Q', 3, 1, 2, 3, 4, 5, 6, 2, 9, 10)
    let geometry = "03000000 0000803f 00000040 00004040 00008040 0000a040 0000c040";
    let related = "02000000 0900000000000000 0a00000000000000";
    assert_eq!(single, hex(&format!("{geometry} {related}")));
    let file = format!("0100000000000000 {geometry} 0100000000000000");
    assert_eq!(list.finish(), hex(&file));

    let mut list = AnnotationList::new(AnnotationKind::Line, 2, Vec::new());
    list.push(1, &[1.0, 2.0, 3.0, 4.0], &[], 0).unwrap();
    let file = "0100000000000000 0000803f 00000040 00004040 00008040 0100000000000000";
    assert_eq!(list.finish(), hex(file));
}

#[test]
fn counts_that_do_not_fit_are_errors() {
    let mut list = AnnotationList::new(AnnotationKind::Point, 3, vec![PropertyType::Uint8]);
    let one = [values(1, &[1])];
    assert!(list.push(1, &[1.0, 2.0], &one, 0).is_err());
    assert!(list.push(1, &[1.0, 2.0, 3.0], &[], 0).is_err());
    assert!(list.push(1, &[1.0, 2.0, 3.0], &one, 1).is_err());
    assert!(
        list.push(1, &[1.0, 2.0, 3.0], &[values(2, &[1, 2])], 0)
            .is_err()
    );
    assert!(PropertyValues::new(4, vec![0; 6]).is_err());
    assert!(
        AnnotationList::new(AnnotationKind::Point, 3, Vec::new())
            .single(&[])
            .is_err()
    );
}

#[test]
fn properties_are_sorted_by_size_and_stay_in_order() {
    let property = |id: &str, kind| Property {
        id: id.to_owned(),
        kind,
        description: None,
        labels: Vec::new(),
    };
    let properties = [
        property("a", PropertyType::Rgba),
        property("b", PropertyType::Int16),
        property("c", PropertyType::Uint8),
        property("d", PropertyType::Float32),
        property("e", PropertyType::Uint32),
    ];
    assert_eq!(
        AnnotationInfo::sort_properties(&properties),
        [3, 4, 1, 0, 2]
    );
}

/// The expected document is that of the format page, written by hand.
#[test]
fn the_info_of_annotations() {
    let info = AnnotationInfo {
        dimensions: vec![
            Dimension {
                name: "x".into(),
                scale: 1e-6,
                unit: "m",
            },
            Dimension {
                name: "t".into(),
                scale: 1.0,
                unit: "",
            },
        ],
        lower_bound: vec![0.0, -1.0],
        upper_bound: vec![10.0, 1.0],
        geometry: AnnotationKind::Polyline,
        properties: vec![Property {
            id: "kind".into(),
            kind: PropertyType::Uint32,
            description: Some("what it is".into()),
            labels: vec![(0, "axon".into()), (1, "dendrite".into())],
        }],
        relationships: vec!["object".into()],
        spatial: vec![SpatialLevel {
            key: "s0".into(),
            grid_shape: vec![2, 1],
            chunk_size: vec![5.0, 2.0],
            limit: 100,
        }],
    };
    let expected: serde_json::Value = serde_json::from_str(
        r#"{
          "@type": "neuroglancer_annotations_v1",
          "dimensions": {"x": [1e-6, "m"], "t": [1.0, ""]},
          "lower_bound": [0.0, -1.0],
          "upper_bound": [10.0, 1.0],
          "annotation_type": "POLYLINE",
          "properties": [{"id": "kind", "type": "uint32", "description": "what it is",
                          "enum_values": [0, 1], "enum_labels": ["axon", "dendrite"]}],
          "relationships": [{"id": "object", "key": "by_object"}],
          "by_id": {"key": "by_id"},
          "spatial": [{"key": "s0", "grid_shape": [2, 1], "chunk_size": [5.0, 2.0], "limit": 100}]
        }"#,
    )
    .unwrap();
    assert_eq!(annotation_info(&info), expected);
}

/// `struct.pack('<II6f2I2f4H', 2, 1, 1, 2, 3, 4, 5, 6, 0, 1, .5, .25, 1, 2, 3, 4)`
#[test]
fn skeletons_are_packed_as_struct_packs_them() {
    let positions = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let attributes = [
        values(4, &[0.5f32, 0.25].map(f32::to_le_bytes).concat()),
        values(4, &[1, 0, 2, 0, 3, 0, 4, 0]),
    ];
    let expected = hex(
        "02000000 01000000 0000803f 00000040 00004040 00008040 0000a040 0000c040 \
         00000000 01000000 0000003f 0000803e 0100 0200 0300 0400",
    );
    assert_eq!(
        skeleton(&positions, &[[0, 1]], &attributes).unwrap(),
        expected
    );
    assert!(skeleton(&positions, &[[0, 2]], &[]).is_err());
    assert!(skeleton(&positions[..4], &[], &[]).is_err());
    assert!(skeleton(&positions, &[], &[values(4, &[0; 4])]).is_err());
}

/// `struct.pack('<I9f6I', 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 2, 2, 1, 0)`
#[test]
fn fragments_of_meshes_are_packed_as_struct_packs_them() {
    let positions = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let expected = hex(
        "03000000 00000000 00000000 00000000 0000803f 00000000 00000000 00000000 0000803f 00000000 \
         00000000 01000000 02000000 02000000 01000000 00000000",
    );
    let triangles = [[0, 1, 2], [2, 1, 0]];
    assert_eq!(mesh_fragment(&positions, &triangles).unwrap(), expected);
    assert!(mesh_fragment(&positions, &[[0, 1, 3]]).is_err());
}

#[test]
fn the_other_documents() {
    let transform = [8.0, 0.0, 0.0, 0.0, 0.0, 8.0, 0.0, 0.0, 0.0, 0.0, 8.0, 0.0];
    let attributes = [SkeletonAttribute {
        id: "radius".into(),
        kind: PropertyType::Float32,
        components: 1,
    }];
    let expected: serde_json::Value = serde_json::from_str(
        r#"{"@type": "neuroglancer_skeletons", "transform": [8.0,0.0,0.0,0.0,0.0,8.0,0.0,0.0,0.0,0.0,8.0,0.0],
            "vertex_attributes": [{"id": "radius", "data_type": "float32", "num_components": 1}],
            "segment_properties": "properties"}"#,
    )
    .unwrap();
    assert_eq!(
        skeleton_info(&transform, &attributes, Some("properties")),
        expected
    );
    assert_eq!(
        mesh_info(None).to_string(),
        r#"{"@type":"neuroglancer_legacy_mesh"}"#
    );
    assert_eq!(
        mesh_manifest(&["7.0.0.0".to_owned()]).to_string(),
        r#"{"fragments":["7.0.0.0"]}"#
    );
    let properties = SegmentProperties {
        ids: vec![1, u64::MAX],
        labels: Some(vec!["a".into(), "b".into()]),
        strings: Vec::new(),
        tags: Some((vec!["axon".into()], vec![vec![0], vec![]])),
        numbers: vec![
            NumericProperty {
                id: "length".into(),
                kind: PropertyType::Float32,
                description: None,
                values: vec![1.5, f64::NAN],
            },
            NumericProperty {
                id: "rank".into(),
                kind: PropertyType::Int8,
                description: Some("of all".into()),
                values: vec![-1.0, 2.0],
            },
        ],
    };
    let expected: serde_json::Value = serde_json::from_str(
        r#"{"@type": "neuroglancer_segment_properties", "inline": {
            "ids": ["1", "18446744073709551615"],
            "properties": [
              {"id": "label", "type": "label", "values": ["a", "b"]},
              {"id": "tags", "type": "tags", "tags": ["axon"], "values": [[0], []]},
              {"id": "length", "type": "number", "data_type": "float32", "values": [1.5, 0.0]},
              {"id": "rank", "type": "number", "data_type": "int8", "description": "of all", "values": [-1, 2]}
            ]}}"#,
    )
    .unwrap();
    assert_eq!(properties.document(), expected);
}
