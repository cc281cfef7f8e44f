//! Columns of tables that are appended: their names and number types.

use anyhow::Result;

use crate::run::Home;

/// The source file of a store can be appended with all of its columns, also columns with names that a store cannot hold.
#[test]
fn columns_have_the_names_that_an_import_gives_them() -> Result<()> {
    let table = |x: usize| format!("x,y,z,gene/name,gene_name,\"v/2\"\n{x},1,1,a{x},b{x},{x}.5\n");
    let home = Home::made(&[
        ("../1.csv", table(1).into()),
        ("../2.csv", table(2).into()),
        ("../new.csv", "x,y,z,gene/name\n1,1,1,q\n2,1,1,r\n".into()),
    ])?;
    home.text(&["import", "1.csv", "s.zv"])?;
    let ran = home.zvf(&["append", "s.zv", "2.csv"])?;
    assert_eq!((ran.code, &*ran.stderr), (0, ""));
    let found = |names: &str| home.text(&["query", "s.zv", "--columns", names, "--format", "csv"]);
    let names = "x,gene_name,gene_name_2,v_2";
    let columns = "position,gene_name,gene_name_2,v_2";
    assert_eq!(
        found(columns)?,
        format!(
            "{}\n1.0,1.0,1.0,b1,a1,1.5\n2.0,1.0,1.0,b2,a2,2.5\n",
            names.replace("x,", "x,y,z,")
        )
    );
    home.text(&["import", "new.csv", "n.zv"])?;
    home.text(&[
        "edit",
        "n.zv",
        "set-attribute",
        "gene_name",
        "--from",
        "new.csv",
    ])?;
    Ok(())
}

/// A float64 of a typed table is rounded to the float32 of the store, and refused if float32 has no such number.
#[test]
fn floats_of_typed_tables_never_become_infinite() -> Result<()> {
    let home = Home::made(&[
        ("../s.csv", "x,y,z,v\n1,2,3,0.5\n".into()),
        ("../d.csv", "x,y,z,v\n4,5,6,1e39\n".into()),
        ("../e.csv", "x,y,z,v\n4,5,6,0.1\n".into()),
    ])?;
    home.text(&["import", "s.csv", "s.zv"])?;
    let before = home.text(&["query", "s.zv", "--format", "csv"])?;
    for (table, fits) in [("d", false), ("e", true)] {
        let (csv, wide) = (format!("{table}.csv"), format!("{table}.zv"));
        home.text(&["import", &csv, &wide, "--attribute-type", "v=float64"])?;
        for ending in ["arrow", "parquet"] {
            let file = format!("{table}.{ending}");
            home.text(&["query", &wide, "-o", &file])?;
            let set = [
                "edit",
                "s.zv",
                "set-attribute",
                "w",
                "--from",
                &file,
                "--by-order",
            ];
            for args in [
                &["append", "s.zv", &file][..],
                &["edit", "s.zv", "append", &file],
            ] {
                let ran = home.zvf(args)?;
                assert_eq!(ran.code == 0, fits, "{args:?}: {}", ran.stderr);
            }
            let more = ["--type", "float32", "--rename", "v=w"];
            if !fits {
                let ran = home.zvf(&[&set[..], &more].concat())?;
                assert_eq!(ran.code, 2, "{}", ran.stderr);
                assert_eq!(home.text(&["query", "s.zv", "--format", "csv"])?, before);
            }
        }
    }
    Ok(())
}
