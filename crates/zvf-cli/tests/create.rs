//! `zvf create`: stores without vertices that the other commands answer from.

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
    let good = [
        "create",
        "x.zv",
        "--kind",
        "mesh",
        "--chunk-shape",
        "1,1,1",
        "--bounds",
        "0,0,0:1,1,1",
    ];
    let cases: [(&[&str], &str); 8] = [
        (
            &["create", "x.zv", "--kind", "mesh", "--chunk-shape", "1,1,1"],
            "--bounds",
        ),
        (
            &[
                "create",
                "x.zv",
                "--kind",
                "tree",
                "--chunk-shape",
                "1",
                "--bounds",
                "0:1",
            ],
            "--kind: found \"tree\"",
        ),
        (
            &[
                "create",
                "x.zv",
                "--kind",
                "mesh",
                "--chunk-shape",
                "1,1,1",
                "--bounds",
                "0,0:1,1",
            ],
            "bounds/0",
        ),
        (
            &[
                "create",
                "x.zv",
                "--kind",
                "mesh",
                "--chunk-shape",
                "1",
                "--bounds",
                "0:inf",
            ],
            "finite corners",
        ),
        (
            &[
                "create",
                "x.zv",
                "--kind",
                "mesh",
                "--chunk-shape",
                "1",
                "--bounds",
                "01",
            ],
            "expected LO:HI",
        ),
        (
            &[
                "create",
                "x.zv",
                "--kind",
                "mesh",
                "--chunk-shape",
                "1",
                "--bounds",
                "0:1",
                "--attribute",
                "a",
            ],
            "NAME:TYPE",
        ),
        (
            &[
                "create",
                "x.zv",
                "--kind",
                "mesh",
                "--chunk-shape",
                "1",
                "--bounds",
                "0:1",
                "--attribute",
                "a:float33",
            ],
            "NAME:TYPE",
        ),
        (
            &[
                "create",
                "x.zv",
                "--kind",
                "mesh",
                "--chunk-shape",
                "1",
                "--bounds",
                "0:1",
                "--dtype",
                "text",
            ],
            "--dtype",
        ),
    ];
    for (args, said) in cases {
        let ran = home.zvf(args)?;
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(home.names()?, before);
    home.text(&good)?;
    assert_eq!(home.zvf(&good)?.code, 2);
    Ok(())
}
