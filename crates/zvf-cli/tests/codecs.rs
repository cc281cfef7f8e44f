//! Codecs of a new store: by name, by level, and as documents state them.

use anyhow::Result;
use serde_json::{Value, json};

use crate::run::Home;

const FILE: &str = "../points.csv";

fn home() -> Result<Home> {
    let rows = (0..200).map(|n| format!("{},{},{},{n}\n", n % 10, n / 10 % 10, n / 100));
    let rows: String = rows.collect();
    Home::made(&[(FILE, format!("x,y,z,n\n{rows}").into())])
}

/// The codecs after the first one, for the positions of a level.
fn codecs(info: &Value, level: usize) -> Vec<&str> {
    let arrays = info["levels"][level]["arrays"].as_array();
    let vertices = arrays.into_iter().flatten().find(|array| {
        let path = array["path"].as_str().unwrap_or_default();
        path.ends_with("/vertices")
    });
    let names = vertices.and_then(|array| array["codecs"].as_array());
    let names = names.into_iter().flatten().skip(1);
    names.filter_map(Value::as_str).collect()
}

#[test]
fn any_codecs_are_written_and_kept_by_whatever_changes_the_store() -> Result<()> {
    let asked =
        r#"[{"name": "numcodecs.zlib", "configuration": {"level": 5}}, "numcodecs.fletcher32"]"#;
    let names = ["numcodecs.zlib", "numcodecs.fletcher32"];
    for shards in [&[][..], &["--shard-shape", "2,2,2"]] {
        let home = home()?;
        let import = ["import", "points.csv", "made", "--chunk-shape", "4,4,4"];
        let arguments = [&import[..], &["--codec", asked, "--json"], shards].concat();
        home.json(&arguments)?;
        home.text(&["pyramid", "made", "--factors", "2"])?;
        let more = "x,y,z,n\n20,20,20,7\n";
        std::fs::write(home.path().join("more.csv"), more)?;
        home.text(&["edit", "made", "append", "more.csv"])?;
        home.text(&["pyramid", "made", "--refresh"])?;
        home.text(&["rechunk", "made", "other", "--chunk-shape", "8,8,8"])?;
        home.text(&["migrate", "made", "older", "--to", "0.8.1"])?;
        for store in ["made", "other", "older"] {
            home.text(&["validate", store])?;
            let box_ = ["--bbox", "0,0,0:30,30,30", "--json"];
            let found = home.json(&[&["query", store][..], &box_].concat())?;
            assert_eq!(found["vertices"], json!(201), "{store} {shards:?}");
            let info = home.json(&["info", store, "--json"])?;
            for level in 0..2 {
                // Arrays whose cells are arrays themselves have no codecs of their own.
                let found = codecs(&info, level);
                let blobs = store == "older" && shards.is_empty();
                assert!(blobs || found == names, "{store} {level} {found:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn levels_and_names_are_taken_and_others_refused_before_anything_is_there() -> Result<()> {
    let home = home()?;
    for (codec, name) in [("zstd:19", "zstd"), ("gzip:1", "gzip"), ("gzip", "gzip")] {
        let store = codec.replace(':', "-");
        home.text(&["import", "points.csv", &store, "--codec", codec])?;
        let info = home.json(&["info", &store, "--json"])?;
        assert_eq!(codecs(&info, 0), [name]);
        home.text(&["validate", &store])?;
    }
    for (codec, word) in [
        ("zstd:99", "99"),
        ("lzma", "lzma"),
        (
            r#"[{"name": "numcodecs.lz77", "configuration": {}}]"#,
            "lz77",
        ),
        (
            r#"[{"name": "numcodecs.zlib", "configuration": {"level": 70}}]"#,
            "zlib",
        ),
        ("[", "JSON"),
    ] {
        let ran = home.zvf(&["import", "points.csv", "refused", "--codec", codec])?;
        assert_eq!(ran.code, 2, "{codec}: {}", ran.stderr);
        assert!(ran.stderr.contains(word), "{codec}: {}", ran.stderr);
    }
    assert!(!home.names()?.iter().any(|name| name == "refused"));
    Ok(())
}

/// The codec of the array at a path of level 0, from `info --sizes`.
fn codec_of(info: &Value, level: usize, path: &str) -> String {
    let sizes = info["levels"][level]["sizes"].as_array();
    let found = sizes.into_iter().flatten().find(|one| {
        let name = one["path"].as_str().unwrap_or_default();
        name.ends_with(path)
    });
    let codec = found.and_then(|one| one["codec"].as_str());
    codec.unwrap_or_default().to_owned()
}

#[test]
fn the_default_follows_the_data_and_is_shown_by_array() -> Result<()> {
    let rows = (0..20_000).map(|n| {
        let at = f64::from(n) / 200.0;
        format!("{at},{},{},{}\n", at.sin(), at.cos(), n % 3)
    });
    let rows: String = rows.collect();
    let home = Home::made(&[(FILE, format!("x,y,z,n\n{rows}").into())])?;
    for (store, codec) in [("chosen", "auto"), ("zstd", "zstd")] {
        let chunk = ["--chunk-shape", "50,50,50", "--codec", codec];
        home.text(&[&["import", "points.csv", store][..], &chunk].concat())?;
        home.text(&["pyramid", store, "--factors", "2"])?;
        home.text(&["validate", store])?;
    }
    let info = home.json(&["info", "chosen", "--sizes", "--json"])?;
    for level in 0..2 {
        let codec = codec_of(&info, level, "/vertices");
        assert!(codec.starts_with("blosc "), "{level}: {codec}");
    }
    let ratio = &info["levels"][0]["sizes"];
    let ratio = ratio
        .as_array()
        .and_then(|all| all.last())
        .map(|one| &one["ratio"]);
    assert!(ratio.is_some(), "{info}");
    let text = home.text(&["info", "chosen", "--sizes"])?;
    assert!(text.contains("sizes of level 0"), "{text}");
    // Copies and coarse levels keep a codec from the command line; a codec chosen from the data is chosen again.
    home.text(&["rechunk", "zstd", "copy", "--chunk-shape", "100,100,100"])?;
    home.text(&["rechunk", "chosen", "other", "--chunk-shape", "100,100,100"])?;
    home.text(&["rechunk", "zstd", "anew", "--codec", "auto"])?;
    for (store, begin) in [
        ("zstd", "zstd"),
        ("copy", "zstd"),
        ("other", "blosc"),
        ("anew", "blosc"),
    ] {
        let info = home.json(&["info", store, "--sizes", "--json"])?;
        for level in 0..2 {
            let codec = codec_of(&info, level, "/vertices");
            assert!(codec.starts_with(begin), "{store} {level}: {codec}");
        }
        home.text(&["validate", store])?;
    }
    Ok(())
}
