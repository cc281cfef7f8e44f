//! Missing dates, times and texts: in conditions, means, sums and appends.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

use crate::run::Home;

const POINTS: &str = "x,y,z,d,t\n\
    1,2,3,2024-01-01,2024-01-01T05:00:00\n\
    4,5,6,,\n\
    7,8,9,2020-03-01,2024-05-31T12:30:00\n";

/// The first coordinates of the rows that a condition selects.
fn rows(home: &Home, condition: &str) -> Result<BTreeSet<String>> {
    let words = [
        "query",
        "s.zv",
        "--where",
        condition,
        "--columns",
        "x",
        "--format",
        "csv",
    ];
    let text = home.text(&words)?;
    Ok(text.lines().skip(1).map(str::to_owned).collect())
}

#[test]
fn a_missing_date_is_in_no_comparison_and_dates_are_texts() -> Result<()> {
    let home = Home::made(&[("../p.csv", POINTS.into())])?;
    home.text(&["import", "p.csv", "s.zv"])?;
    for (condition, wanted) in [
        ("d < 19000", &["7.0"][..]),
        ("not d < 19000", &["1.0"]),
        ("d is null", &["4.0"]),
        ("d is not null", &["1.0", "7.0"]),
        ("d > '2023-01-01'", &["1.0"]),
        ("'2020-03-01' = d", &["7.0"]),
        ("d between '2020-01-01' and '2024-01-01'", &["1.0", "7.0"]),
        ("d in ('2024-01-01', '1999-12-31')", &["1.0"]),
        ("t >= '2024-05-31T12:30:00'", &["7.0"]),
        ("t < '2024-05-31' or t is null", &["1.0", "4.0"]),
        ("d + 1 > 19000", &["1.0"]),
        ("max(d, 0) < 19000", &["7.0"]),
    ] {
        let wanted: BTreeSet<String> = wanted.iter().map(|one| (*one).to_owned()).collect();
        assert_eq!(rows(&home, condition)?, wanted, "{condition}");
    }
    for (condition, word) in [
        ("d < t", "different units"),
        ("d - t > 0", "several units"),
        ("d > 'yesterday'", "2024-05-31"),
    ] {
        let ran = home.zvf(&["query", "s.zv", "--where", condition])?;
        ensure!(
            ran.code == 2 && ran.stderr.contains(word),
            "{condition}: {}",
            ran.stderr
        );
    }
    home.text(&["edit", "s.zv", "delete", "--where", "d < 19000"])?;
    assert_eq!(rows(&home, "x > 0")?.len(), 2);
    Ok(())
}

#[test]
fn durations_and_moments_are_compared_in_one_unit() -> Result<()> {
    let values = "x,y,z,object_id,ds,dms,ts,tms\n\
        0,0,0,5,1,500,1717158600,1717158600000\n\
        1,0,0,6,2,2000,5,1717158600001\n\
        2,0,0,7,3,99999,0,0\n\
        3,0,0,8,4,1,1,\n";
    let home = Home::made(&[
        (
            "../p.csv",
            "x,y,z,object_id\n0,0,0,5\n1,0,0,6\n2,0,0,7\n3,0,0,8\n".into(),
        ),
        ("../v.csv", values.into()),
    ])?;
    home.text(&["import", "p.csv", "s.zv"])?;
    for (name, type_) in [
        ("ds", "timedelta64[s]"),
        ("dms", "timedelta64[ms]"),
        ("ts", "datetime64[s]"),
        ("tms", "datetime64[ms]"),
    ] {
        for of in [&[][..], &["--object"]] {
            let set = ["edit", "s.zv", "set-attribute", name, "--from", "v.csv"];
            home.text(&[&set[..], of, &["--type", type_]].concat())?;
        }
    }
    // Each condition for attributes of vertices, and for those of objects.
    for (condition, wanted) in [
        ("@dms < @ds * 1000", &["0.0", "3.0"][..]),
        ("@dms == @ds * 1000", &["1.0"]),
        ("@dms + @ds * 1000 > 5000", &["2.0"]),
        ("@dms > 600", &["1.0", "2.0"]),
        ("@tms > @ts * 1000", &["1.0"]),
        ("max(@tms, @tms) >= @tms", &["0.0", "1.0", "2.0"]),
        ("@tms - 1 < @tms", &["0.0", "1.0", "2.0"]),
        ("@ts - 1 > 5 and @ts > '2020-01-01'", &["0.0"]),
        ("@tms >= '2024-05-31T12:30:00.000000001'", &["1.0"]),
        ("@tms == '2024-05-31T12:30:00.000000001'", &[]),
        ("@tms > '2024-05-31T12:29:59.999999999'", &["0.0", "1.0"]),
        ("@tms in ('2024-05-31T12:30:00.000999999', 0)", &["2.0"]),
    ] {
        let wanted: BTreeSet<String> = wanted.iter().map(|one| (*one).to_owned()).collect();
        for of in ["", "object."] {
            let condition = condition.replace('@', of);
            assert_eq!(rows(&home, &condition)?, wanted, "{condition}");
        }
    }
    for (condition, word) in [
        ("@dms < @ds", "different units"),
        ("@dms == @ds", "`seconds * 1000`"),
        ("@dms in (@ds, 3)", "different units"),
        ("@dms between 1 and @ds", "different units"),
        ("@dms + @ds > 3", "several units"),
        ("max(@dms, @ds) > 3", "several units"),
        ("@dms / @ds > 3", "several units"),
        ("@tms > @ts", "different units"),
        ("max(@tms, @tms) > @ts", "different units"),
        ("min(@ts, @ts) == @tms", "different units"),
        ("abs(@ts) == @tms", "different units"),
        ("@tms + 0 > @ts", "different units"),
        ("-@tms < @ts", "different units"),
        ("@tms > @ds", "different units"),
        ("@tms + 0 > '2024-05-31'", "cannot be compared"),
        ("@ds > '2024-05-31'", "cannot be compared"),
    ] {
        for of in ["", "object."] {
            let condition = condition.replace('@', of);
            let ran = home.zvf(&["query", "s.zv", "--where", &condition])?;
            ensure!(
                ran.code == 2 && ran.stderr.contains(word),
                "{condition}: {}",
                ran.stderr
            );
        }
    }
    Ok(())
}

#[test]
fn means_leave_out_missing_dates() -> Result<()> {
    let lines =
        "x,y,z,object_id,d\n1,2,3,0,2024-01-01\n4,5,6,0,\n7,8,9,1,2024-03-01\n8,8,9,1,2024-03-01\n";
    let home = Home::made(&[("../l.csv", lines.into())])?;
    home.text(&["import", "l.csv", "s.zv", "--kind", "polyline"])?;
    let list = home.json(&["measure", "s.zv", "--mean", "d", "--json"])?;
    let text = list.to_string();
    ensure!(text.contains("19723") && text.contains("19783"), "{text}");
    ensure!(!text.contains("e18") && !text.contains("e+18"), "{text}");
    Ok(())
}

#[test]
fn stores_with_dates_in_other_units_are_converted_or_refused() -> Result<()> {
    let home = Home::made(&[
        ("../days.csv", "x,y,z,d\n1,2,3,2024-01-01\n".into()),
        (
            "../whole.csv",
            "x,y,z,d\n4,2,3,2024-01-02T00:00:00\n".into(),
        ),
        ("../part.csv", "x,y,z,d\n4,2,3,2024-01-01T05:00:00\n".into()),
        ("../plain.csv", "x,y,z,d\n4,2,3,7\n".into()),
    ])?;
    for name in ["days", "whole", "part", "plain"] {
        home.text(&["import", &format!("{name}.csv"), &format!("{name}.zv")])?;
    }
    // A time within a day is not a date.
    let ran = home.zvf(&["append", "days.zv", "part.zv"])?;
    ensure!(
        ran.code != 0 && ran.stderr.contains("2024-01-01T05:00:00"),
        "{}",
        ran.stderr
    );
    home.text(&["append", "part.zv", "days.zv"])?;
    let text = home.text(&["query", "part.zv", "--columns", "d", "--format", "csv"])?;
    let found: BTreeSet<&str> = text.lines().skip(1).collect();
    assert_eq!(
        found,
        BTreeSet::from(["2024-01-01T05:00:00", "2024-01-01T00:00:00"])
    );
    let ran = home.zvf(&["merge", "plain.zv", "part.zv", "m.zv"])?;
    ensure!(
        ran.code == 2 && ran.stderr.contains("no unit"),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[test]
fn an_object_without_a_text_has_none() -> Result<()> {
    let home = Home::made(&[
        (
            "../o.csv",
            "object_id,x,y,z\n1,0,0,0\n2,1,1,1\n3,2,2,2\n".into(),
        ),
        ("../a.csv", "object_id,c\n1,b\n2,a\n".into()),
    ])?;
    home.text(&["import", "o.csv", "s.zv", "--kind", "polyline"])?;
    let set = [
        "edit",
        "s.zv",
        "set-attribute",
        "c",
        "--object",
        "--type",
        "text",
    ];
    home.text(&[&set[..], &["--from", "a.csv"]].concat())?;
    let ids = |words: &[&str]| -> Result<Vec<i64>> {
        let list = home.json(&[&["objects", "s.zv", "--json"], words].concat())?;
        let list = list["objects"].as_array().into_iter().flatten();
        Ok(list.filter_map(|one| one["object_id"].as_i64()).collect())
    };
    assert_eq!(ids(&["--where", "c is null"])?, [3]);
    assert_eq!(ids(&["--where", "c != 'a'"])?, [1]);
    assert_eq!(ids(&["--where", "c not like 'b%'"])?, [2]);
    assert_eq!(ids(&["--sort", "c"])?, [2, 1, 3]);
    assert_eq!(ids(&["--sort=-c"])?, [1, 2, 3]);
    Ok(())
}

#[test]
fn formats_of_numbers_say_which_units_they_lose() -> Result<()> {
    let home = Home::made(&[(
        "../p.csv",
        "x,y,z,d\n1,2,3,2024-01-01\n4,5,6,2020-03-01\n".into(),
    )])?;
    home.text(&["import", "p.csv", "s.zv"])?;
    for (file, said) in [
        ("p.npz", true),
        ("p.ply", true),
        ("p.las", true),
        ("p.csv", false),
        ("p.parquet", false),
        ("p.arrow", false),
    ] {
        let done = home.json(&["export", "s.zv", file, "--json"])?;
        let lost = "units of attributes are not kept: d (days since 1970-01-01)";
        let notes = done["notes"].to_string();
        ensure!(notes.contains(lost) == said, "{file}: {notes}");
    }
    let done = home.json(&["export", "s.zv", "out", "--format", "precomputed", "--json"])?;
    let warnings = done["warnings"].to_string();
    ensure!(
        warnings.contains("attribute d is written as float32"),
        "{warnings}"
    );
    Ok(())
}

#[test]
fn lists_show_dates_as_dates() -> Result<()> {
    let home = Home::made(&[
        ("../n.csv", "x,y,z,id\n0,0,0,7\n4,0,0,7\n".into()),
        ("../e.csv", "one,two,when\n0,1,2024-05-31\n".into()),
        ("../o.csv", "object_id,born\n7,2020-03-01\n".into()),
    ])?;
    let import = ["import", "n.csv", "g.zv", "--object-column", "id"];
    let edges = ["--edges", "e.csv", "--link-columns", "one,two"];
    home.text(&[&import[..], &edges].concat())?;
    home.text(&[
        "edit",
        "g.zv",
        "set-attribute",
        "born",
        "--from",
        "o.csv",
        "--object",
        "--type",
        "date",
    ])?;
    for (words, date) in [
        (["links", "g.zv"], "2024-05-31"),
        (["objects", "g.zv"], "2020-03-01"),
    ] {
        for json in [&[][..], &["--json"]] {
            let text = home.text(&[&words[..], json].concat())?;
            ensure!(text.contains(date), "{words:?} {json:?}: {text}");
        }
    }
    Ok(())
}

#[test]
fn attributes_of_dates_are_added() -> Result<()> {
    let home = Home::made(&[
        ("../p.csv", "x,y,z\n1,0,0\n2,0,0\n3,0,0\n".into()),
        (
            "../d.csv",
            "x,y,z,d,t,l\n1,0,0,2024-05-31,2024-05-31T12:30:00,1.5\n3,0,0,,,\n".into(),
        ),
    ])?;
    home.text(&["import", "p.csv", "s.zv"])?;
    for (name, type_) in [("d", "date"), ("t", "datetime64[ms]")] {
        let set = ["edit", "s.zv", "set-attribute", name, "--from", "d.csv"];
        home.text(&[&set[..], &["--type", type_]].concat())?;
    }
    assert_eq!(
        rows(&home, "d = '2024-05-31' and t > '2024-05-31T12:00'")?,
        ["1.0".to_owned()].into()
    );
    assert_eq!(
        rows(&home, "d is null and t is null")?,
        ["2.0".to_owned(), "3.0".to_owned()].into()
    );
    home.text(&["validate", "s.zv", "--level", "5"])?;
    let set = ["edit", "s.zv", "set-attribute", "l", "--from", "d.csv"];
    let ran = home.zvf(&[&set[..], &["--type", "datetime64[fortnight]"]].concat())?;
    ensure!(
        ran.code == 2 && ran.stderr.contains("datetime64[s]"),
        "{}",
        ran.stderr
    );
    Ok(())
}

#[test]
fn numbers_without_a_unit_for_dates_are_remarked() -> Result<()> {
    let home = Home::made(&[
        (
            "../p.csv",
            "x,y,z,d\n1,0,0,2024-01-01\n2,0,0,2020-03-01\n".into(),
        ),
        ("../n.csv", "x,y,z,d\n3,0,0,19000\n".into()),
        ("../t.csv", "x,y,z,d\n4,0,0,2021-05-05\n".into()),
    ])?;
    home.text(&["import", "p.csv", "s.zv"])?;
    home.text(&["import", "n.csv", "n.zv"])?;
    home.text(&["query", "n.zv", "-o", "n.arrow"])?;
    let said = "column d states no unit: its numbers are taken as days since 1970-01-01";
    for (words, remark) in [
        (&["append", "s.zv", "n.arrow"][..], true),
        (&["append", "s.zv", "n.csv"], true),
        (&["append", "s.zv", "t.csv"], false),
        (
            &["edit", "s.zv", "set-attribute", "d", "--from", "n.arrow"],
            true,
        ),
    ] {
        let ran = home.zvf(words)?;
        ensure!(
            ran.code == 0 && ran.stderr.contains(said) == remark,
            "{words:?}: {}",
            ran.stderr
        );
    }
    Ok(())
}

#[test]
fn a_moment_at_midnight_is_a_day() -> Result<()> {
    let home = Home::made(&[
        ("../d.csv", "x,y,z,d\n1,0,0,2024-01-01\n".into()),
        ("../m.csv", "x,y,z,d\n2,0,0,2024-01-02T00:00:00\n".into()),
        ("../late.csv", "x,y,z,d\n3,0,0,2024-01-02T00:00:01\n".into()),
    ])?;
    home.text(&["import", "d.csv", "s.zv"])?;
    for (file, store) in [("m.csv", "m.zv"), ("late.csv", "late.zv")] {
        home.text(&["import", file, store])?;
    }
    for from in ["m.csv", "m.zv"] {
        home.text(&["append", "s.zv", from])?;
    }
    assert_eq!(rows(&home, "d = '2024-01-02'")?, ["2.0".to_owned()].into());
    for from in ["late.csv", "late.zv"] {
        let ran = home.zvf(&["append", "s.zv", from])?;
        ensure!(matches!(ran.code, 2 | 4), "{from}: {}", ran.stderr);
    }
    Ok(())
}

/// A fill that no append could use was recorded, and each append without the column failed.
#[test]
fn a_fill_out_of_range_is_refused() -> Result<()> {
    let home = Home::made(&[("../p.csv", POINTS.into())])?;
    home.text(&["import", "p.csv", "s.zv"])?;
    let set = |fill: &str| home.zvf(&["edit", "s.zv", "set-attribute", "d", "--fill", fill]);
    let ran = set("99999999999")?;
    ensure!(
        ran.code == 2 && ran.stderr.contains("days that 32 bits hold"),
        "{}",
        ran.stderr
    );
    assert_eq!(set("2020-02-29")?.code, 0);
    Ok(())
}

/// Axes are of time by few names; what others may mean is said, since units with a factor scale them.
#[test]
fn an_axis_of_space_with_a_name_of_time_is_said() -> Result<()> {
    let table = "POSITION_T,x,y\n0,1,1\n4,2,2\n";
    let home = Home::made(&[("../t.csv", table.into())])?;
    let import = ["import", "t.csv", "s.zv", "--position", "POSITION_T,x,y"];
    for (kind, store, said) in [
        ("", "a.zv", true),
        ("time", "b.zv", false),
        ("space", "c.zv", false),
    ] {
        let mut words = import.to_vec();
        words[2] = store;
        let axis = format!("POSITION_T:{kind}");
        if !kind.is_empty() {
            words.extend(["--axis", axis.as_str()]);
        }
        let ran = home.zvf(&words)?;
        ensure!(
            ran.code == 0 && ran.stderr.contains("--axis POSITION_T:time") == said,
            "{words:?}: {}",
            ran.stderr
        );
    }
    Ok(())
}
