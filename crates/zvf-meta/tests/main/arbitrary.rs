//! Arbitrary input: never a panic; documents that parse are written back completely, and unknown members
//! survive at any place.

use proptest::collection::{hash_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use zvf_meta::rules::check_documents;
use zvf_meta::{
    ArrayDoc, GroupDoc, KeyList, LevelDoc, LinkAttributeFamilyDoc, LinkFamilyDoc, MetaError,
    ObjectIndexDoc, RootDoc, node_kind,
};

use crate::base::{Documents, documents};

/// Parses, writes, parses again; both values must be equal. Returns the written document.
fn round_trip(path: &str, text: &str) -> Result<Value, MetaError> {
    fn both<T: std::fmt::Debug>(
        text: &str,
        parse: fn(&[u8]) -> Result<T, MetaError>,
        write: fn(&T) -> String,
    ) -> Result<Value, MetaError> {
        let first = parse(text.as_bytes())?;
        let written = write(&first);
        let second = parse(written.as_bytes());
        // Compared as text, so that NaN equals itself.
        assert_eq!(
            format!("{second:?}"),
            format!("{:?}", Ok::<_, MetaError>(first)),
            "{text}\n{written}"
        );
        Ok(serde_json::from_str(&written).expect("what is written is JSON"))
    }
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [""] => both(text, RootDoc::parse, RootDoc::to_json),
        [_] => both(text, LevelDoc::parse, LevelDoc::to_json),
        [_, "object_index"] => both(text, ObjectIndexDoc::parse, ObjectIndexDoc::to_json),
        [_, "links", _] => both(text, LinkFamilyDoc::parse, LinkFamilyDoc::to_json),
        [_, "link_attributes", _, _] => both(
            text,
            LinkAttributeFamilyDoc::parse,
            LinkAttributeFamilyDoc::to_json,
        ),
        [_, "vertex_attributes"] => both(text, GroupDoc::parse, GroupDoc::to_json),
        _ => both(text, ArrayDoc::parse, ArrayDoc::to_json),
    }
}

fn path(key: &str) -> &str {
    key.strip_suffix("zarr.json")
        .unwrap_or(key)
        .trim_end_matches('/')
}

/// Words of the format, so that arbitrary documents get past the first member.
fn word() -> impl Strategy<Value = String> {
    let words = [
        "zarr_format",
        "node_type",
        "group",
        "array",
        "attributes",
        "zarr_vectors",
        "zv_version",
        "0.9.2",
        "chunk_shape",
        "bounds",
        "geometry_types",
        "mesh",
        "multiscales",
        "axes",
        "name",
        "type",
        "space",
        "datasets",
        "path",
        "0",
        "coordinateTransformations",
        "scale",
        "translation",
        "zarr_vectors_level",
        "level",
        "vertex_count",
        "arrays_present",
        "shape",
        "data_type",
        "chunk_grid",
        "regular",
        "configuration",
        "codecs",
        "fill_value",
        "nonempty_chunks",
        "0.0",
        "group_ranges",
        "links_family",
        "canonical",
        "store",
        "NaN",
        "separator",
        "/",
    ];
    prop_oneof![8 => select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,8}"]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-4i64..10).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 64, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            hash_map(word(), inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Pointers to all values inside a value, and to the value itself.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    out.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, &format!("{at}/{index}"), out);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                pointers(
                    member,
                    &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")),
                    out,
                );
            }
        }
        _ => {}
    }
}

/// A document of the test store, and a place in it with a value of the wanted kind.
fn place(wanted: fn(&Value) -> bool) -> impl Strategy<Value = (Documents, String, String)> {
    let store = documents();
    let mut places = Vec::new();
    for (key, document) in &store.0 {
        let mut all = Vec::new();
        pointers(document, "", &mut all);
        all.retain(|pointer| document.pointer(pointer).is_some_and(wanted));
        places.extend(all.into_iter().map(|pointer| (key.clone(), pointer)));
    }
    select(places).prop_map(move |(key, pointer)| (store.clone(), key, pointer))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_json_never_panics(value in value()) {
        let text = value.to_string();
        let _ = node_kind(text.as_bytes());
        for path in ["", "0", "0/object_index", "0/links/0", "0/link_attributes/w/0", "0/vertex_attributes", "0/vertices"] {
            let _ = round_trip(path, &text);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = node_kind(&bytes);
        let _ = (RootDoc::parse(&bytes).is_ok(), LevelDoc::parse(&bytes).is_ok(), ArrayDoc::parse(&bytes).is_ok());
        let _ = (GroupDoc::parse(&bytes).is_ok(), LinkFamilyDoc::parse(&bytes).is_ok());
    }

    #[test]
    fn any_value_in_any_place_is_an_error_or_comes_back((mut store, key, pointer) in place(|_| true), value in value()) {
        let document = store.0.get_mut(&key).expect("a document");
        *document.pointer_mut(&pointer).expect("a place") = value;
        let text = document.to_string();
        let _ = round_trip(path(&key), &text);
        let _ = check_documents(&store.bytes());
    }

    #[test]
    fn unknown_members_survive_anywhere(
        (store, key, pointer) in place(Value::is_object),
        name in "zz[a-z/~ ]{0,6}",
        value in value(),
    ) {
        let document = &store.0[&key];
        // A group range is a map of numbers and cannot have unknown members.
        prop_assume!(!pointer.ends_with("/group_ranges"));
        let inject = |mut document: Value| {
            let object = document.pointer_mut(&pointer).expect("a place");
            object.as_object_mut().expect("an object").insert(name.clone(), value.clone());
            document
        };
        let plain = round_trip(path(&key), &document.to_string()).expect("a good document");
        // The writer leaves out empty objects. If the place is left out, the member alone must bring it
        // back.
        let injected = round_trip(path(&key), &inject(document.clone()).to_string()).expect("one more member");
        prop_assert_eq!(injected.pointer(&pointer).and_then(|object| object.get(&name)), Some(&value));
        if plain.pointer(&pointer).is_some() {
            prop_assert_eq!(injected, inject(plain));
        }
    }

    #[test]
    fn unknown_members_keep_their_order(names in vec("zz[a-z]{1,5}", 1..8)) {
        let mut document = documents().0["0/zarr.json"].clone();
        let mut wanted = Vec::new();
        for name in names {
            document["attributes"]["zarr_vectors_level"][&name] = json!(1);
            if !wanted.contains(&name) {
                wanted.push(name);
            }
        }
        let written = round_trip("0", &document.to_string()).expect("a level");
        let block = written["attributes"]["zarr_vectors_level"].as_object().expect("a block");
        let found: Vec<_> = block.keys().filter(|name| name.starts_with("zz")).cloned().collect();
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn key_lists_hold_any_text(keys in vec(".{0,12}", 0..40)) {
        let list = KeyList::try_from(keys.as_slice()).expect("a short list");
        prop_assert_eq!(list.iter().collect::<Vec<_>>(), keys.clone());
        prop_assert_eq!((list.len(), list.is_empty()), (keys.len(), keys.is_empty()));
        for (index, key) in keys.iter().enumerate() {
            prop_assert_eq!(list.get(index), Some(key.as_str()));
        }
        let text = serde_json::to_string(&keys).expect("JSON");
        prop_assert_eq!(serde_json::to_string(&list).expect("JSON"), text.clone());
        prop_assert_eq!(serde_json::from_str::<KeyList>(&text).expect("a list"), list);
    }
}

#[test]
fn every_truncation_and_bit_flip_is_a_value_or_an_error() {
    let store = documents();
    for key in [
        "zarr.json",
        "1/zarr.json",
        "0/groups/zarr.json",
        "0/links/0/zarr.json",
        "0/links/0/+1.0/zarr.json",
    ] {
        let text = store.0[key].to_string();
        for cut in 0..text.len() {
            assert!(
                round_trip(path(key), &text[..cut]).is_err(),
                "{key} cut at {cut}"
            );
        }
        let mut bytes = text.into_bytes();
        for index in 0..bytes.len() {
            for bit in 0..8 {
                bytes[index] ^= 1 << bit;
                match std::str::from_utf8(&bytes) {
                    Ok(text) => drop(round_trip(path(key), text)),
                    Err(_) => {
                        assert!(ArrayDoc::parse(&bytes).is_err() && RootDoc::parse(&bytes).is_err())
                    }
                }
                bytes[index] ^= 1 << bit;
            }
        }
    }
}
