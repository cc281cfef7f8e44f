//! Regions on the command line.

use std::fs;

use anyhow::Result;

use crate::run::{Home, STORE};

const SQUARE: &str = "POLYGON ((20 20, 120 20, 120 120, 20 120, 20 20))";

#[test]
fn every_form_of_a_region_is_the_same_selection() -> Result<()> {
    let home = Home::new("streamlines")?;
    let rows = |args: &[&str]| -> Result<u64> {
        let answer = home.json(&[&["query", STORE, "--json"], args].concat())?;
        Ok(answer["vertices"].as_u64().unwrap_or(u64::MAX))
    };
    let json = r#"{"type": "Polygon", "coordinates": [[[20, 20], [120, 20], [120, 120], [20, 120], [20, 20]]]}"#;
    fs::write(home.file("square.geojson"), json)?;
    fs::write(home.file("square.wkt"), SQUARE)?;
    let boxed = rows(&["--bbox", "20,20,-inf:120,120,inf"])?;
    let all = rows(&[])?;
    assert!(0 < boxed && boxed < all);
    for polygon in [SQUARE, json, "square.geojson", "square.wkt"] {
        assert_eq!(rows(&["--polygon", polygon])?, boxed, "{polygon}");
    }
    assert_eq!(rows(&["--region", "polygon(@square.wkt)"])?, boxed);
    assert_eq!(
        rows(&["--near", "x=70,50", "--region", "near(y=70,50)"])?,
        boxed
    );
    assert_eq!(
        rows(&["--region", "not (box(x=20:120) and box(y=20:120))"])?,
        all - boxed
    );
    assert_eq!(
        rows(&["--polygon", SQUARE, "--plane", "xy,z=0:50"])?,
        rows(&["--bbox", "20,20,0:120,120,50"])?
    );
    assert_eq!(
        rows(&["--polygon", SQUARE, "--plane", "z,x"])?,
        rows(&["--bbox", "20,-inf,20:120,inf,120"])?
    );
    assert_eq!(
        rows(&["--sphere", "70,70,70,30", "--bbox", "70,70,70:inf,inf,inf"])?,
        rows(&["--region", "sphere(70,70,70,30) and box(x=70:,y=70:,z=70:)"])?
    );
    Ok(())
}

#[test]
fn objects_are_selected_by_how_they_lie() -> Result<()> {
    let home = Home::new("streamlines")?;
    let objects = |args: &[&str]| -> Result<u64> {
        let answer =
            home.json(&[&["query", STORE, "--json", "--near", "x=70,50"], args].concat())?;
        Ok(answer["objects"].as_u64().unwrap_or(u64::MAX))
    };
    let touching = objects(&["--touching"])?;
    assert_eq!(touching, objects(&["--select", "objects"])?);
    let starting = objects(&["--starting"])?;
    assert_eq!(
        starting,
        home.json(&[
            "query",
            STORE,
            "--json",
            "--where",
            "start.x between 20 and 120"
        ])?["objects"]
    );
    assert_eq!(
        objects(&["--ending"])?,
        home.json(&[
            "query",
            STORE,
            "--json",
            "--where",
            "end.x between 20 and 120"
        ])?["objects"]
    );
    let inside = objects(&["--inside"])?;
    assert!(inside <= starting && starting <= touching && touching > 0);
    // `get`, `export` and `splits` take the same flags.
    let all = home.json(&[
        "get",
        STORE,
        "0-9999",
        "--ignore-missing",
        "--json",
        "--near",
        "x=70,50",
        "--inside",
    ])?;
    assert_eq!(all["objects"], inside);
    let file = home.json(&[
        "export",
        STORE,
        "out.tck",
        "--json",
        "--near",
        "x=70,50",
        "--touching",
    ])?;
    assert_eq!(file["objects"], touching);
    let splits = home.json(&[
        "splits",
        STORE,
        "--json",
        "--near",
        "x=70,50",
        "--touching",
        "--count",
        "2",
    ])?;
    let pieces = splits["splits"].as_array().map_or(0, Vec::len);
    assert_eq!(pieces, 2);
    let some = |piece: &str| -> Result<u64> { objects(&["--touching", "--split", piece]) };
    assert_eq!(some("0/2")? + some("1/2")?, touching);
    Ok(())
}

/// The cube from 20 to 120, with faces of four corners.
fn cube(ply: bool, faces: usize) -> String {
    let corners = (0..8).map(|at| [at & 1, at >> 1 & 1, at >> 2].map(|end| 20 + 100 * end));
    let corners: Vec<String> = corners.map(|[x, y, z]| format!("{x} {y} {z}\n")).collect();
    let quads = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let quads = quads.into_iter().take(faces);
    if ply {
        let quads: Vec<String> = quads
            .map(|[a, b, c, d]| format!("4 {a} {b} {c} {d}\n"))
            .collect();
        return format!(
            "ply\nformat ascii 1.0\nelement vertex 8\nproperty float x\nproperty float y\nproperty float z\nelement face {faces}\n\
             property list uchar int vertex_indices\nend_header\n{}{}",
            corners.concat(),
            quads.concat()
        );
    }
    let corners: Vec<String> = corners.iter().map(|corner| format!("v {corner}")).collect();
    let quads = quads.map(|quad| {
        let [a, b, c, d] = quad.map(|corner| corner + 1);
        format!("f {a} {b} {c} {d}\n")
    });
    corners.concat() + &quads.collect::<String>()
}

#[test]
fn the_inside_of_a_mesh_is_selected() -> Result<()> {
    let home = Home::new("streamlines")?;
    fs::write(home.file("cube.obj"), cube(false, 6))?;
    fs::write(home.file("cube.ply"), cube(true, 6))?;
    fs::write(home.file("open.obj"), cube(false, 5))?;
    let boxed = home.json(&["query", STORE, "--json", "--bbox", "20,20,20:120,120,120"])?;
    for args in [
        ["--mesh", "cube.obj"],
        ["--mesh", "cube.ply"],
        ["--region", "mesh(@cube.obj)"],
    ] {
        let found = home.json(&[&["query", STORE, "--json"], &args[..]].concat())?;
        assert_eq!(found["vertices"], boxed["vertices"], "{args:?}");
        assert!(found["chunks_read"].as_u64() <= boxed["chunks_read"].as_u64());
    }
    let ran = home.zvf(&["query", STORE, "--mesh", "open.obj"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let words = "found 4 open edges, expected a closed mesh";
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    Ok(())
}

#[test]
fn points_and_objects_in_a_region_are_deleted() -> Result<()> {
    let home = Home::to_damage("streamlines")?;
    let inside = ["--near", "x=70,50", "--inside"];
    let dry = home.json(
        &[
            &["edit", STORE, "delete", "--dry-run", "--json"],
            &inside[..],
        ]
        .concat(),
    )?;
    let ids = dry["objects"].as_array().map_or(0, Vec::len) as u64;
    assert!(ids > 0, "{dry}");
    let before = home.json(&["query", STORE, "--json"])?;
    home.text(&[&["edit", STORE, "delete"], &inside[..]].concat())?;
    let after = home.json(&["query", STORE, "--json"])?;
    assert_eq!(
        after["objects"].as_u64(),
        before["objects"].as_u64().map(|all| all - ids)
    );
    assert_eq!(
        home.json(&[&["query", STORE, "--json"], &inside[..]].concat())?["objects"],
        0
    );
    Ok(())
}

#[test]
fn regions_that_cannot_be_are_usage() -> Result<()> {
    let home = Home::to_damage("streamlines")?;
    let ran = home.zvf(&["edit", STORE, "delete", "1", "--inside"])?;
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    for (args, words) in [
        (&["--sphere", "1,2,3,-4"][..], "sphere: found the radius -4"),
        (
            &["--sphere", "1,2,x,4"],
            "sphere, at byte 4: expected a number",
        ),
        (
            &["--sphere", "1,2,3"],
            "sphere: found a centre of 2 numbers, expected 3",
        ),
        (&["--near", "t=0,1"], "near: no axis \"t\""),
        (&["--near", "x=0"], "near, at byte 3: expected `,`"),
        (
            &["--polygon", "POLYGON ((0 0, 1 1))"],
            "polygon, at byte 0: polygon 0, ring 0: found 2 vertices",
        ),
        (&["--polygon", "none.geojson"], "none.geojson"),
        (
            &["--polygon", SQUARE, "--plane", "xt"],
            "plane: no axis \"t\"",
        ),
        (
            &["--region", "cube(1)"],
            "region, at byte 0: expected sphere",
        ),
        (&["--region", "polygon(@none.wkt)"], "none.wkt"),
        (&["--plane", "xy"], "plane: found a plane, but no polygon"),
        (&["--inside"], "inside: found neither a box nor a region"),
        (
            &["--near", "x=0,1", "--inside", "--ending"],
            "cannot be used with",
        ),
        (
            &["--near", "x=0,1", "--inside", "--select", "vertices"],
            "--inside: found --select vertices as well",
        ),
    ] {
        let ran = home.zvf(&[&["query", STORE], args].concat())?;
        let code = if words.starts_with("none") { 3 } else { 2 };
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
    Ok(())
}
