use super::*;
use serde_json::json;

fn document() -> Value {
    json!({
        "attributes": {
            "zarr_vectors": {
                "zv_version": "0.9.2", "format_capabilities": [], "chunk_shape": [10, 10.0],
                "bounds": [[-15, -10], [19.9, 7]], "geometry_types": ["point_cloud"],
                "links_convention": "implicit_sequential", "crs": null, "later": {"a": [1]}
            },
            "multiscales": [{"version": "0.4", "name": "default",
                "axes": [{"name": "x", "type": "space"}, {"name": "y", "type": "space", "unit": "micrometer"}],
                "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}],
                "metadata": {"format": "zarr_vectors"}}],
            "user_metadata": {"lab": {"key": 1}},
            "other": true
        },
        "zarr_format": 3, "node_type": "group", "consolidated_metadata": null
    })
}

fn parse(value: &Value) -> Result<RootDoc, MetaError> {
    RootDoc::parse(value.to_string().as_bytes())
}

fn with(pointer: &str, value: Value) -> Value {
    let mut document = document();
    *document.pointer_mut(pointer).expect("a member") = value;
    document
}

#[test]
fn members_are_typed() -> Result<(), MetaError> {
    let root = parse(&document())?;
    assert_eq!(root.dims(), 2);
    assert_eq!(
        root.zarr_vectors.bounds,
        (vec![-15.0, -10.0], vec![19.9, 7.0])
    );
    assert_eq!(root.kind()?, Kind::PointCloud);
    assert_eq!(
        root.links_convention()?,
        LinksConvention::ImplicitSequential
    );
    assert_eq!(
        root.axes().last().and_then(|axis| axis.unit.as_deref()),
        Some("micrometer")
    );
    assert!(root.zarr_vectors.crs.is_none());
    Ok(())
}

#[test]
fn unknown_members_survive() -> Result<(), MetaError> {
    let root = parse(&document())?;
    let value = root.to_value();
    assert_eq!(
        value.pointer("/attributes/zarr_vectors/later"),
        Some(&json!({"a": [1]}))
    );
    assert_eq!(value.pointer("/attributes/other"), Some(&json!(true)));
    assert!(value.get("consolidated_metadata").is_some());
    assert_eq!(RootDoc::parse(root.to_json().as_bytes())?, root);
    Ok(())
}

#[test]
fn failures_name_the_member() {
    let block = "/attributes/zarr_vectors";
    let error = parse(&with(&format!("{block}/bounds"), json!([[0, 0]]))).expect_err("one corner");
    assert_eq!(
        error.to_string(),
        "/attributes/zarr_vectors/bounds is an array of 1, expected two arrays of numbers"
    );
    let error = parse(&with(&format!("{block}/zv_version"), Value::Null)).expect_err("no version");
    assert_eq!(
        error.to_string(),
        "/attributes/zarr_vectors/zv_version is missing, expected a string"
    );
    let error =
        parse(&with("/attributes/multiscales/0/axes/1/name", json!(4))).expect_err("a number");
    assert_eq!(error.path(), Some("/attributes/multiscales/0/axes/1/name"));
}

#[test]
fn t4_the_version_gate_is_run() -> Result<(), MetaError> {
    let at = "/attributes/zarr_vectors/zv_version";
    assert_eq!(parse(&document())?.admit()?, None);
    assert_eq!(
        parse(&with(at, json!("0.10.1")))?.admit()?,
        Some(Version::new(0, 10, 1))
    );
    for refused in ["0.5.3", "abc", ""] {
        let error = parse(&with(at, json!(refused)))?
            .admit()
            .expect_err("refused");
        assert!(error.is_unsupported());
        assert_eq!(
            error.to_string(),
            format!("format version {refused:?} is not supported, expected 0.6.0 to 0.9.4")
        );
    }
    Ok(())
}

#[test]
fn an_old_store_of_another_shape_is_refused_by_its_version() {
    let mut old = with("/attributes/zarr_vectors/zv_version", json!("0.5.0"));
    old["attributes"]
        .as_object_mut()
        .expect("attributes")
        .remove("multiscales");
    assert!(matches!(parse(&old), Err(MetaError::Version { found, .. }) if found == "0.5.0"));
    let block = old["attributes"]["zarr_vectors"]
        .as_object_mut()
        .expect("block");
    block.remove("zv_version");
    block.insert("format_version".to_owned(), json!("0.4.1"));
    assert!(matches!(parse(&old), Err(MetaError::Version { found, .. }) if found == "0.4.1"));
    old["attributes"]["zarr_vectors"]["zv_version"] = json!("0.9.0");
    assert!(matches!(parse(&old), Err(MetaError::Missing { .. })));
}

#[test]
fn a_foreign_ome_node_is_kept_and_does_not_matter() -> Result<(), MetaError> {
    let mut document = document();
    document["attributes"]["ome"] = json!({"nodes": {"not": "a list"}});
    let root = parse(&document)?;
    assert!(root.ome.is_none());
    assert_eq!(
        root.to_value().pointer("/attributes/ome"),
        document.pointer("/attributes/ome")
    );
    Ok(())
}

#[test]
fn unknown_required_capabilities_are_refused() -> Result<(), MetaError> {
    let mut root = parse(&document())?;
    root.zarr_vectors.required_capabilities = vec!["telepathy".to_owned()];
    let root = RootDoc::parse(root.to_json().as_bytes())?;
    assert!(
        matches!(root.admit(), Err(MetaError::Capability { token, .. }) if token == "telepathy")
    );
    Ok(())
}

#[test]
fn a_store_without_a_known_kind_says_so() -> Result<(), MetaError> {
    let at = "/attributes/zarr_vectors/geometry_types";
    assert!(matches!(
        parse(&with(at, json!([])))?.kind(),
        Err(MetaError::Missing { .. })
    ));
    let error = parse(&with(at, json!(["blob"])))?
        .kind()
        .expect_err("unknown");
    assert!(
        error
            .to_string()
            .contains("\"blob\", expected one of point_cloud line")
    );
    Ok(())
}
