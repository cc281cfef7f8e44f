//! `zvf import`: stores that are made from files, and that the other commands can read.

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::run::{Home, STORE};

const SWC: &str = "# a tree\n1 1 0.5 0 0 2 -1\n2 3 4 0 0 1.5 1\n3 3 14 0 0 1 2\n4 3 4 12 -3 1 2\n";

#[test]
fn a_skeleton_is_made_and_found() -> Result<()> {
    let home = Home::made(&[
        ("../12.swc", SWC.into()),
        ("../-7.swc", "1 0 100 0 0 1 -1\n".into()),
    ])?;
    let import = |second: &str| {
        home.json(&[
            "import",
            "12.swc",
            second,
            "made.zv",
            "--chunk-shape",
            "10,10,10",
            "--unit",
            "micrometer",
            "--json",
            "--codec",
            "blosc",
            "--shard-shape",
            "2,2,2",
        ])
    };
    // A name that begins with a minus looks like a flag.
    assert!(import("-7.swc").is_err());
    let made = import("./-7.swc")?;
    for (name, want) in [
        ("kind", json!("skeleton")),
        ("format", json!("SWC")),
        ("version", json!("0.9.2")),
        ("vertices", json!(5)),
        ("objects", json!(2)),
        ("links", json!(3)),
        ("chunks", json!(4)),
        ("chunk_shape", json!([10.0, 10.0, 10.0])),
        ("chunk_shape_reason", json!(null)),
        ("position_type", json!("float32")),
        ("bounds", json!([[0.5, 0.0, -3.0], [100.0, 12.0, 0.0]])),
        ("frame", json!(null)),
    ] {
        assert_eq!(made[name], want, "{name}");
    }
    let info = home.json(&["info", "made.zv", "--json"])?;
    assert_eq!(info["axes"][2]["unit"], json!("micrometer"), "{info}");
    let rows = home.text(&[
        "get",
        "made.zv",
        "12",
        "--format",
        "csv",
        "--columns",
        "position,node_id,radius",
    ])?;
    let mut rows: Vec<&str> = rows.lines().skip(1).collect();
    rows.sort_unstable();
    assert_eq!(
        rows,
        [
            "0.5,0.0,0.0,1,2.0",
            "14.0,0.0,0.0,3,1.0",
            "4.0,0.0,0.0,2,1.5",
            "4.0,12.0,-3.0,4,1.0"
        ]
    );
    let found = home.json(&["query", "made.zv", "--bbox", "0,0,-1:10,1,1", "--json"])?;
    assert_eq!(found["vertices"], json!(2), "{found}");
    Ok(())
}

#[test]
fn chunk_and_bins_are_chosen_and_said() -> Result<()> {
    let mut table = "px,py,label\n".to_owned();
    for at in 0..30_000 {
        table.push_str(&format!(
            "{}.5,{}.25,{}\n",
            at % 200,
            at / 200,
            ["a", "b"][at % 2]
        ));
    }
    let home = Home::made(&[("../spots.csv", table.into())])?;
    let ran = home.zvf(&["import", "spots.csv", "made.zv", "--position", "px,py"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("zvf: chunks of "), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("30000 vertices over 199 along the longest axis"),
        "{}",
        ran.stderr
    );
    let said = String::from_utf8(ran.stdout)?;
    assert!(
        said.starts_with("made.zv: point_cloud from CSV, 30 000 vertices, "),
        "{said}"
    );
    assert!(said.contains("vertex attributes: label category"), "{said}");
    let found = home.json(&[
        "query",
        "made.zv",
        "--bbox",
        "10,10:19.75,19.75",
        "--where",
        "label == 'a'",
        "--json",
    ])?;
    assert_eq!(found["vertices"], json!(50), "{found}");
    Ok(())
}

#[test]
fn failures_have_their_exit_codes_and_leave_no_store() -> Result<()> {
    let home = Home::made(&[
        ("../a.swc", SWC.into()),
        ("../bad.swc", "1 0 0 0 0 1 9\n".into()),
    ])?;
    let cases: [(&[&str], i32, &str); 9] = [
        (
            &["import", "bad.swc", "x.zv"],
            4,
            "zvf: bad.swc, line 1: found parent 9, expected the id of a node of this file, or -1\n",
        ),
        (&["import", "none.swc", "x.zv"], 3, "none.swc: "),
        (
            &["import", "a.swc", "x.zv", "--kind", "mesh"],
            2,
            "zvf: kind: found mesh, expected skeleton or graph for SWC\n",
        ),
        (
            &["import", "a.swc", "x.zv", "--kind", "tree"],
            2,
            "found \"tree\", expected one of point_cloud, ",
        ),
        (&["import", "a.swc"], 2, "<FILE>"),
        (
            &["import", "a.swc", "x.zv", "--chunk-shape", "1,2"],
            2,
            "--chunk-shape: found 2 sizes, expected 3, for x, y, z",
        ),
        (&["import", "a.swc", "x.zv", "--target", "0.7"], 2, "0.9.2"),
        (
            &["import", "a.swc", "x.zv", "--delimiter", "xy"],
            2,
            "expected one character",
        ),
        (
            &["import", "a.swc", "http://127.0.0.1:1/x.zv"],
            2,
            "a web server",
        ),
    ];
    for (args, code, said) in cases {
        let ran = home.zvf(args)?;
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty(), "{args:?}");
    }
    // The failed imports left nothing. The store is the empty one that `made` makes.
    assert_eq!(home.names()?, ["a.swc", "bad.swc", STORE]);
    home.text(&["import", "a.swc", "x.zv", "-q"])?;
    let ran = home.zvf(&["import", "a.swc", "x.zv", "-q", "--clear-leftovers"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert_eq!(
        home.json(&["query", "x.zv", "--json"])?["vertices"],
        json!(4)
    );
    Ok(())
}

#[test]
fn tables_of_links_go_in_and_out() -> Result<()> {
    let home = Home::made(&[
        ("../nodes.csv", "x,y,z\n0,0,0\n4,0,0\n4,4,0\n".into()),
        ("../edges.csv", "one,two,w\n0,1,0.5\n2,1,7\n".into()),
    ])?;
    let made = home.json(&[
        "import",
        "nodes.csv",
        "made.zv",
        "--edges",
        "edges.csv",
        "--link-columns",
        "one,two",
        "--chunk-shape",
        "3,3,3",
        "--json",
    ])?;
    assert_eq!(
        (&made["kind"], &made["links"]),
        (&json!("graph"), &json!(2))
    );
    assert_eq!(made["link_attributes"][0]["name"], json!("w"));
    let said = home.json(&[
        "export",
        "made.zv",
        "n.parquet",
        "--edges",
        "e.parquet",
        "--json",
    ])?;
    assert_eq!((&said["vertices"], &said["links"]), (&json!(3), &json!(2)));
    assert_eq!(said["links_file"], json!("e.parquet"));
    home.text(&[
        "import",
        "n.parquet",
        "again.zv",
        "--edges",
        "e.parquet",
        "--object-column",
        "object_id",
        "-q",
    ])?;
    home.text(&["export", "again.zv", "n.csv", "--edges", "e.tsv", "-q"])?;
    let text = std::fs::read_to_string(home.file("e.tsv"))?;
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.remove(0), "vertices_0\tvertices_1\tw");
    assert_eq!(lines.len(), 2, "{text}");
    let cases: [(&[&str], &str); 4] = [
        (
            &[
                "import",
                "nodes.csv",
                "x.zv",
                "--edges",
                "edges.csv",
                "--faces",
                "f.csv",
            ],
            "--edges: found --faces as well, expected one of the two",
        ),
        (
            &["import", "nodes.csv", "x.zv", "--edges", "edges.csv"],
            "columns vertices_0 and vertices_1",
        ),
        (
            &["export", "made.zv", "a.csv", "--faces", "b.csv"],
            "faces: found a store of kind graph, expected mesh",
        ),
        (
            &["export", "made.zv", "a.csv", "--edges", "a.csv"],
            "the same file for vertices and links",
        ),
    ];
    for (args, said) in cases {
        let ran = home.zvf(args)?;
        assert!(
            ran.code != 0 && ran.stderr.contains(said),
            "{args:?}: {}",
            ran.stderr
        );
    }
    assert!(
        !home
            .names()?
            .iter()
            .any(|name| name == "a.csv" || name.contains("partial"))
    );
    Ok(())
}

#[test]
fn a_journal_is_of_one_import_and_goes_with_it() -> Result<()> {
    let home = Home::made(&[("../a.csv", "x,y\n1,2\n3,4\n".into())])?;
    home.text(&["import", "a.csv", "a.zv", "--journal", "j", "-q"])?;
    assert!(!home.file("j").exists());
    // The second one begins as the first record of a journal does.
    let labels: Vec<u8> = (0..1000_i32)
        .flat_map(|n| (n % 4 + 1).to_le_bytes())
        .collect();
    for other in [b"no journal".to_vec(), labels] {
        std::fs::write(home.file("j"), &other)?;
        let ran = home.zvf(&["import", "a.csv", "b.zv", "--journal", "j", "-q"])?;
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("a file that is not a journal"),
            "{}",
            ran.stderr
        );
        assert!(std::fs::read(home.file("j"))? == other);
    }
    Ok(())
}

/// A journal as an import leaves it that was stopped after its last batch.
fn stopped(home: &Home, file: &str, store: &str) -> Result<()> {
    let import = zvf_convert::Import::open(&[home.file(file)], &zvf_convert::Options::default())?;
    let options = zvf_write::WriteOptions::new().with_journal(home.file("j"));
    let store = home.file(store);
    let store = store.to_str().context("a path")?;
    let runtime = zvf_store::blocking::Runtime::new()?;
    let mut spec = import.spec().clone();
    spec.shard_shape = zvf_write::ShardShape::Auto;
    let writer = zvf_write::StoreWriter::create(store, spec, options);
    let mut writer = runtime.wait(writer)?;
    import.read(&mut writer)?;
    ensure!(writer.batches() > 0);
    Ok(())
}

#[test]
fn files_that_changed_under_a_journal_are_refused() -> Result<()> {
    let table = "x,y,size\n1,2,5\n3,4,6\n2,2,7\n";
    let home = Home::made(&[("../a.csv", table.into())])?;
    home.text(&["import", "a.csv", "whole.zv", "-q"])?;
    stopped(&home, "a.csv", "a.zv")?;
    let again = ["import", "a.csv", "a.zv", "--journal", "j"];
    // Files with as many rows and the same corners, but another value, other positions, or another order.
    for changed in [
        "x,y,size\n1,2,5\n3,4,6\n2,2,8\n",
        "x,y,size\n1,2,5\n3,4,6\n2,3,7\n",
        "x,y,size\n3,4,6\n1,2,5\n2,2,7\n",
    ] {
        std::fs::write(home.file("a.csv"), changed)?;
        let ran = home.zvf(&again)?;
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("the input changed"), "{}", ran.stderr);
        assert!(home.file("j").exists() && !home.file("a.zv").exists());
    }
    std::fs::write(home.file("a.csv"), table)?;
    let ran = home.zvf(&again)?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("continuing after 1 batch"),
        "{}",
        ran.stderr
    );
    let rows = |store: &str| home.text(&["query", store, "--format", "csv"]);
    assert_eq!(rows("a.zv")?, rows("whole.zv")?);
    Ok(())
}

#[test]
fn a_folder_with_info_is_imported() -> Result<()> {
    let info = r#"{"@type":"neuroglancer_skeletons","transform":[8,0,0,0,0,8,0,0,0,0,8,0]}"#;
    // Two vertices, and the edge from the second to the first.
    let mut skeleton: Vec<u8> = [2_u32, 1].into_iter().flat_map(u32::to_le_bytes).collect();
    let places = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    skeleton.extend(places.into_iter().flat_map(f32::to_le_bytes));
    skeleton.extend([1_u32, 0].into_iter().flat_map(u32::to_le_bytes));
    let home = Home::made(&[
        ("../neurons/info", info.into()),
        ("../neurons/17", skeleton),
        ("../volume/info", r#"{"skeletons":"s"}"#.into()),
    ])?;
    let made = home.json(&["import", "neurons", "made.zv", "--json"])?;
    assert_eq!(made["format"], json!("precomputed"), "{made}");
    assert_eq!(
        made["bounds"],
        json!([[8.0, 16.0, 24.0], [32.0, 40.0, 48.0]])
    );
    let found = home.json(&["info", "made.zv", "--json"])?;
    assert_eq!(found["axes"][0]["unit"], json!("nanometer"), "{found}");
    // A folder with `info` may contain something else.
    let ran = home.zvf(&["import", "volume", "x.zv"])?;
    let want = "volume/info: found a volume: its skeletons are in \"s\", expected a folder of";
    ensure!(ran.code == 4 && ran.stderr.contains(want), "{}", ran.stderr);
    Ok(())
}

#[test]
fn links_name_vertices_by_ids_or_rows() -> Result<()> {
    let home = Home::made(&[
        ("../n.csv", "id,x,y,z\n2,20,0,0\n0,0,0,0\n1,10,0,0\n".into()),
        ("../e.csv", "source,target\n0,1\n1,2\n".into()),
        (
            "../more.tsv",
            "node_id\tx\ty\tz\tid\nb\t5\t5\t0\t7\na\t6\t5\t0\t8\n".into(),
        ),
        ("../l.csv", "from,to\na,b\n".into()),
        ("../open.csv", "vertex,id\n0,\"1\n1,2\n2,3\n".into()),
        ("../na.csv", "x;y;z;id;w\n1,5;2;3;9;NA\n".into()),
    ])?;
    let ran = home.zvf(&["import", "n.csv", "g.zv", "--edges", "e.csv"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("--node-id id") && ran.stderr.contains("--links-by-row"),
        "{}",
        ran.stderr
    );
    let links = |store: &str| -> Result<Vec<[String; 2]>> {
        for name in ["rows.csv", "ends.csv"] {
            let _ = std::fs::remove_file(home.file(name));
        }
        home.text(&["export", store, "rows.csv", "--edges", "ends.csv"])?;
        let rows = std::fs::read_to_string(home.file("rows.csv"))?;
        let mut rows = rows.lines().map(|line| line.split(',').map(str::to_owned));
        let at = rows
            .next()
            .and_then(|mut names| names.position(|name| name == "id"));
        let ids: Vec<String> = rows.filter_map(|mut row| row.nth(at?)).collect();
        let out = std::fs::read_to_string(home.file("ends.csv"))?;
        let mut pairs = Vec::new();
        for line in out.lines().skip(1) {
            let ends: Vec<usize> = line
                .split(',')
                .take(2)
                .filter_map(|end| end.parse().ok())
                .collect();
            let mut pair = [ids[ends[0]].clone(), ids[ends[1]].clone()];
            pair.sort();
            pairs.push(pair);
        }
        pairs.sort();
        Ok(pairs)
    };
    home.text(&[
        "import",
        "n.csv",
        "g.zv",
        "--edges",
        "e.csv",
        "--node-id",
        "id",
    ])?;
    assert_eq!(links("g.zv")?, [["0", "1"], ["1", "2"]]);
    home.text(&[
        "import",
        "n.csv",
        "r.zv",
        "--edges",
        "e.csv",
        "--links-by-row",
    ])?;
    assert_eq!(links("r.zv")?, [["0", "1"], ["0", "2"]]);
    // The same check for links that are appended.
    let append = [
        "append",
        "g.zv",
        "more.tsv",
        "--links",
        "l.csv",
        "--new-ids",
    ];
    let ran = home.zvf(&append)?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("--node-id node_id"), "{}", ran.stderr);
    home.text(&[&append[..], &["--node-id", "node_id"]].concat())?;
    assert_eq!(links("g.zv")?, [["0", "1"], ["1", "2"], ["7", "8"]]);
    // The same check for values.
    let ran = home.zvf(&["edit", "g.zv", "set-attribute", "id", "--from", "open.csv"])?;
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("open.csv, line 2: found a quote"),
        "{}",
        ran.stderr
    );
    let ran = home.zvf(&["append", "g.zv", "na.csv", "--decimal", ",", "--new-ids"])?;
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let out = home.text(&[
        "query",
        "g.zv",
        "--format",
        "csv",
        "--columns",
        "position,id",
    ])?;
    assert!(out.contains("1.5,2.0,3.0,9"), "{out}");
    Ok(())
}

/// Pandas makes floats of whole numbers beside missing ones: ends of links, and ids of vertices and objects.
#[test]
fn floats_that_are_whole_numbers_are_ids() -> Result<()> {
    let home = Home::made(&[
        (
            "../n.csv",
            "node,x,y,z\n7,20,0,0\n5,0,0,0\n6,10,0,0\n".into(),
        ),
        ("../e.csv", "source,target\n5.0,6.0\n6.0,7.0\n".into()),
        ("../rows.csv", "source,target\n0.0,1.0\n".into()),
        ("../half.csv", "source,target\n5.5,6\n".into()),
    ])?;
    // A column of such a name may be the ids.
    let import = ["import", "n.csv", "g.zv", "--edges"];
    let ran = home.zvf(&[&import[..], &["rows.csv"]].concat())?;
    ensure!(
        ran.code == 2 && ran.stderr.contains("--node-id node"),
        "{}",
        ran.stderr
    );
    let by_id =
        |edges: &'static str| home.zvf(&[&import[..], &[edges, "--node-id", "node"]].concat());
    let ran = by_id("half.csv")?;
    ensure!(ran.code == 4, "{}", ran.stderr);
    let ran = by_id("e.csv")?;
    ensure!(ran.code == 0, "{}", ran.stderr);
    home.text(&["export", "g.zv", "n2.csv", "--edges", "e2.csv"])?;
    let nodes = std::fs::read_to_string(home.file("n2.csv"))?;
    let edges = std::fs::read_to_string(home.file("e2.csv"))?;
    ensure!(nodes.contains("20.0,0.0,0.0,7,0"), "{nodes}");
    ensure!(edges.lines().count() == 3, "{edges}");
    let rows = [
        "import",
        "n.csv",
        "r.zv",
        "--edges",
        "rows.csv",
        "--links-by-row",
    ];
    home.text(&rows)?;
    Ok(())
}

/// Sides of chunks that float64 does not tell apart seemed to hold all vertices again, and were chosen.
#[test]
fn chunks_far_from_the_origin_are_as_large_as_the_data() -> Result<()> {
    let far = 1_u64 << 52;
    let row = |x: u64, y: u64| format!("{},{}\n", far + x, far + y);
    let table = format!("x,y\n{}{}{}", row(0, 0), row(35, 20), row(7, 8));
    let home = Home::made(&[("../far.csv", table.into())])?;
    home.text(&["import", "far.csv", "far.zv"])?;
    home.validates("far.zv")?;
    let rows = home.text(&["query", "far.zv", "--format", "csv"])?;
    ensure!(
        rows.contains("4503599627370531.0,4503599627370516.0"),
        "{rows}"
    );
    Ok(())
}

/// Lists and arrays of positions have no names of axes: a time that was first came back as x.
#[test]
fn four_axes_without_names_are_said() -> Result<()> {
    let home = Home::made(&[("../p.csv", "t,x,y,z,v\n0,1,2,3,4\n1,5,6,7,8\n".into())])?;
    let named = ["import", "p.csv", "s.zv", "--position", "t,x,y,z"];
    let ran = home.zvf(&named)?;
    ensure!(
        ran.code == 0 && !ran.stderr.contains("four axes"),
        "{}",
        ran.stderr
    );
    for file in ["p.ndjson", "p.npy", "p.arrow"] {
        home.text(&["query", "s.zv", "-o", file])?;
        let store = format!("{file}.zv");
        let ran = home.zvf(&["import", file, &store])?;
        let said = ran.stderr.contains("does not name its four axes");
        ensure!(
            ran.code == 0 && said == (file != "p.arrow"),
            "{file}: {}",
            ran.stderr
        );
    }
    home.text(&["import", "p.npy", "t.zv", "--axis", "x:time"])?;
    Ok(())
}
