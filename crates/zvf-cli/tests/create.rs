//! `zvf create`: stores without vertices, which the other commands can read.

use anyhow::Result;
use serde_json::json;

use crate::run::Home;

#[test]
fn an_empty_store_of_every_kind_is_there_and_answers() -> Result<()> {
    let home = Home::made(&[])?;
    for kind in [
        "point_cloud",
        "line",
        "polyline",
        "streamline",
        "graph",
        "skeleton",
        "mesh",
    ] {
        let made = home.json(&[
            "create",
            kind,
            "--kind",
            kind,
            "--chunk-shape",
            "10,20",
            "--axes",
            "y,x",
            "--bounds",
            "-5,0:45,100",
            "--unit",
            "micrometer",
            "--dtype",
            "float64",
            "--attribute",
            "color:uint8:r,g,b",
            "--attribute",
            "label:category",
            "--codec",
            "blosc",
            "--shard-shape",
            "2,2",
            "--json",
        ])?;
        assert_eq!(made["kind"], json!(kind));
        assert_eq!(made["bounds"], json!([[-5.0, 0.0], [45.0, 100.0]]));
        let info = home.json(&["info", kind, "--json"])?;
        assert_eq!(info["kind"], json!(kind), "{info}");
        assert_eq!(info["axes"][0]["name"], json!("y"));
        assert_eq!(info["axes"][1]["unit"], json!("micrometer"));
        assert_eq!(
            info["bounds"],
            json!([[-5.0, 0.0], [45.0, 100.0]]),
            "{info}"
        );
        let found = home.json(&["query", kind, "--bbox", "-5,0:45,100", "--json"])?;
        assert_eq!(found["vertices"], json!(0), "{found}");
    }
    Ok(())
}

#[test]
fn an_empty_store_of_an_older_version() -> Result<()> {
    let home = Home::made(&[])?;
    let shape = [
        "--chunk-shape",
        "10,20",
        "--bounds",
        "-5,0:45,100",
        "--target",
        "0.8.1",
    ];
    for kind in ["point_cloud", "streamline", "mesh"] {
        let arguments = [&["create", kind, "--kind", kind, "--json"][..], &shape].concat();
        assert_eq!(home.json(&arguments)?["version"], json!("0.8.1"));
        let info = home.json(&["info", kind, "--json"])?;
        assert_eq!(
            (&info["version"], &info["kind"]),
            (&json!("0.8.1"), &json!(kind))
        );
        let found = home.json(&["query", kind, "--bbox", "-5,0:45,100", "--json"])?;
        assert_eq!(found["vertices"], json!(0), "{found}");
    }
    let arguments = ["create", "x", "--kind", "mesh", "--shard-shape", "2,2"];
    let ran = home.zvf(&[&arguments[..], &shape].concat())?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("bounds/0/0"), "{}", ran.stderr);
    Ok(())
}

#[test]
fn what_contradicts_itself_is_refused_and_leaves_nothing() -> Result<()> {
    let home = Home::made(&[])?;
    let before = home.names()?;
    // In each case, one flag has another value or is missing.
    let flags = |flag: &'static str, value: Option<&'static str>| {
        let good = [
            ("--kind", "mesh"),
            ("--chunk-shape", "1,1,1"),
            ("--bounds", "0,0,0:1,1,1"),
        ];
        let mut args = vec!["create", "x.zv"];
        let own = good.iter().filter(|(name, _)| *name != flag).copied();
        for (name, value) in own.chain(value.map(|value| (flag, value))) {
            args.extend([name, value]);
        }
        args
    };
    let cases = [
        ("--bounds", None, "--bounds"),
        (
            "--kind",
            Some("tree"),
            "found \"tree\", expected one of point_cloud",
        ),
        ("--bounds", Some("0,0:1,1"), "bounds/0"),
        ("--bounds", Some("0,0,0:1,1,inf"), "finite corners"),
        ("--bounds", Some("01"), "expected LO:HI"),
        ("--attribute", Some("a"), "NAME:TYPE"),
        ("--attribute", Some("a:float33"), "NAME:TYPE"),
        ("--dtype", Some("text"), "--dtype"),
    ];
    for (flag, value, said) in cases {
        let args = flags(flag, value);
        let ran = home.zvf(&args)?;
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(home.names()?, before);
    let good = flags("", None);
    home.text(&good)?;
    assert_eq!(home.zvf(&good)?.code, 2);
    Ok(())
}
