use super::*;
use serde_json::json;

/// The uncompressed, unsharded document of 0.9 §4.2.
fn document() -> Value {
    json!({
        "shape": [2, 2, 1],
        "data_type": "variable_length_bytes",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1, 1]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "",
        "codecs": [{"name": "vlen-bytes", "configuration": {}}],
        "attributes": {"nonempty_chunks": ["0.0.0", "0.1.0", "1.0.0"],
            "zv_array": "vertices", "dtype": "float32", "encoding": "raw"},
        "zarr_format": 3, "node_type": "array", "storage_transformers": []
    })
}

fn parse(value: &Value) -> Result<ArrayDoc, MetaError> {
    ArrayDoc::parse(value.to_string().as_bytes())
}

fn with(pointer: &str, value: Value) -> Value {
    let mut document = document();
    *document.pointer_mut(pointer).expect("a member") = value;
    document
}

#[test]
fn the_document_of_the_format_page_comes_back_byte_for_byte() -> Result<(), MetaError> {
    let text = format!("{:#}", document());
    let array = ArrayDoc::parse(text.as_bytes())?;
    assert_eq!(array.shape, [2, 2, 1]);
    assert!(array.data_type.is_vlen_bytes());
    assert_eq!(
        array.attributes.nonempty_chunks.as_ref().map(KeyList::len),
        Some(3)
    );
    assert!(array.sharding()?.is_none());
    assert_eq!(array.to_json(), text);
    assert_eq!(array.to_value(), document());
    Ok(())
}

#[test]
fn long_presence_lists_are_one_line() -> Result<(), MetaError> {
    for (keys, lines) in [(LINES, LINES + 2), (LINES + 1, 1)] {
        let list: Vec<String> = (0..keys).map(|key| format!("{key}.0.0")).collect();
        let value = with("/attributes/nonempty_chunks", json!(list));
        let array = parse(&value)?;
        let text = array.to_json();
        assert_eq!(array.to_value(), value);
        assert_eq!(ArrayDoc::parse(text.as_bytes())?, array);
        let without = with("/attributes/nonempty_chunks", json!(0));
        let expected = format!("{without:#}").lines().count() + lines - 1;
        assert_eq!(text.lines().count(), expected, "{keys} keys");
        // With other categories, the presence list is written in the same way.
        let texts = array
            .to_json_of(["a"].into_iter())
            .map_err(|error| error.to_string());
        let one_line = text.contains(r#""nonempty_chunks": ["0.0.0","1.0.0","#);
        assert_eq!(one_line, lines == 1);
        let list = |text: &str| {
            let from = text.find("\"nonempty_chunks\"")?;
            let length = text.get(from..)?.find(']')?;
            text.get(from..from + length).map(str::to_owned)
        };
        assert!(list(&text).is_some());
        assert_eq!(texts.map(|texts| list(&texts)), Ok(list(&text)));
    }
    Ok(())
}

#[test]
fn data_types_are_texts_or_objects() -> Result<(), MetaError> {
    assert!(
        parse(&with("/data_type", json!("bytes")))?
            .data_type
            .is_vlen_bytes()
    );
    let text = json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 20}, "x": 1});
    let array = parse(&with("/data_type", text.clone()))?;
    assert_eq!(array.data_type.length_bytes(), Some(20));
    assert_eq!(array.to_value().get("data_type"), Some(&text));
    assert!(parse(&with("/data_type", json!(3))).is_err());
    Ok(())
}

#[test]
fn codecs_are_texts_or_objects() -> Result<(), MetaError> {
    let array = parse(&with(
        "/codecs",
        json!(["vlen-bytes", {"name": "zstd", "configuration": {"level": 0}, "q": []}]),
    ))?;
    assert_eq!(
        array
            .codecs
            .iter()
            .map(|codec| codec.name.as_str())
            .collect::<Vec<_>>(),
        ["vlen-bytes", "zstd"]
    );
    assert_eq!(parse(&array.to_value())?, array);
    Ok(())
}

#[test]
fn keys_are_encoded_as_the_document_says() -> Result<(), MetaError> {
    for (encoding, key) in [
        (
            json!({"name": "default", "configuration": {"separator": "/"}}),
            "c/0/12/3",
        ),
        (json!({"name": "default"}), "c/0/12/3"),
        (json!("default"), "c/0/12/3"),
        (
            json!({"name": "default", "configuration": {"separator": "."}}),
            "c.0.12.3",
        ),
        (json!({"name": "v2"}), "0.12.3"),
        (
            json!({"name": "v2", "configuration": {"separator": "/", "later": 1}}),
            "0/12/3",
        ),
    ] {
        let array = parse(&with("/chunk_key_encoding", encoding))?;
        assert_eq!(array.key_encoding.object_key(&[0, 12, 3]), key);
        assert_eq!(parse(&array.to_value())?, array);
    }
    assert_eq!(KeyEncoding::default().object_key(&[]), "c");
    assert!(parse(&with("/chunk_key_encoding", json!({"name": "v4"}))).is_err());
    assert!(
        parse(&with(
            "/chunk_key_encoding/configuration/separator",
            json!("-")
        ))
        .is_err()
    );
    Ok(())
}

#[test]
fn fill_values_may_be_texts() -> Result<(), MetaError> {
    assert!(
        parse(&with("/fill_value", json!("NaN")))?
            .fill_number()
            .is_some_and(f64::is_nan)
    );
    assert_eq!(
        parse(&with("/fill_value", json!("-Infinity")))?.fill_number(),
        Some(f64::NEG_INFINITY)
    );
    assert_eq!(
        parse(&with("/fill_value", json!(-5)))?.fill_number(),
        Some(-5.0)
    );
    assert_eq!(
        parse(&with("/fill_value", json!(true)))?.fill_number(),
        Some(1.0)
    );
    assert_eq!(parse(&with("/fill_value", json!("")))?.fill_number(), None);
    Ok(())
}

#[test]
fn shards_are_read() -> Result<(), MetaError> {
    let mut document = with("/chunk_grid/configuration/chunk_shape", json!([2, 2, 1]));
    document["codecs"] = json!([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1, 1, 1],
        "codecs": [{"name": "vlen-bytes", "configuration": {}},
                   {"name": "zstd", "configuration": {"level": 0, "checksum": false}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
        "index_location": "end"}}]);
    let array = parse(&document)?;
    let sharding = array.sharding()?.expect("sharded");
    assert_eq!(sharding.chunk_shape, [1, 1, 1]);
    assert_eq!(sharding.codecs.len(), 2);
    assert!(sharding.index_at_end);
    assert_eq!(array.to_value(), document);
    document["codecs"][0]["configuration"]["index_location"] = json!("middle");
    assert!(parse(&document)?.sharding().is_err());
    Ok(())
}

#[test]
fn the_wrong_grid_is_refused_by_name() {
    let error = parse(&with("/chunk_grid/name", json!("rectilinear"))).expect_err("not regular");
    assert_eq!(
        error.to_string(),
        "/chunk_grid/name is string \"rectilinear\", expected \"regular\""
    );
    assert!(
        parse(&with(
            "/chunk_grid/configuration/chunk_shape",
            json!([1, 1])
        ))
        .is_err()
    );
    assert!(
        parse(&with(
            "/chunk_grid/configuration/chunk_shape",
            json!([1, 0, 1])
        ))
        .is_err()
    );
    assert!(parse(&with("/shape", json!([-1, 1, 1]))).is_err());
    assert!(parse(&with("/node_type", json!("group"))).is_err());
}

#[test]
fn unknown_members_survive_and_the_old_discriminator_is_read() -> Result<(), MetaError> {
    let mut document = document();
    document["later"] = json!({"must_understand": false});
    document["chunk_grid"]["note"] = json!([1]);
    document["attributes"]["mine"] = json!({"x": null});
    let array = parse(&document)?;
    assert_eq!(array.to_value(), document);
    let text = document.to_string().replace("zv_array", "zvf_array");
    assert_eq!(ArrayDoc::parse(text.as_bytes())?, array);
    Ok(())
}

#[test]
fn a_list_of_anything_else_is_no_presence() {
    let error = parse(&with("/attributes/nonempty_chunks", json!([1, 2]))).expect_err("numbers");
    assert!(
        error
            .to_string()
            .starts_with("the array document cannot be read at line 1"),
        "{error}"
    );
    assert!(parse(&with("/attributes/nonempty_chunks", json!({}))).is_err());
    assert!(
        parse(&with("/attributes/nonempty_chunks", json!(null)))
            .is_ok_and(|array| { array.attributes.nonempty_chunks.is_none() })
    );
    assert!(ArrayDoc::parse(b"\xff\xfe").is_err());
    assert!(ArrayDoc::parse(b"[]").is_err());
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let deep = "[".repeat(100_000);
    assert!(ArrayDoc::parse(deep.as_bytes()).is_err());
    let deep = format!("{{\"attributes\":{{\"a\":{}", "{\"a\":".repeat(100_000));
    assert!(ArrayDoc::parse(deep.as_bytes()).is_err());
}
