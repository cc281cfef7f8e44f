//! Voxels of volumes as regions, and objects that pass several regions, on the command line.

use anyhow::Result;
use serde_json::json;

use crate::run::{Home, STORE};

/// A NIfTI-1 file: its extents, the code of its type with the bytes of the elements (the first axis is the fastest), the rows of its sform, and its code of units.
pub(crate) fn nifti(
    shape: &[i16],
    (code, bits): (i16, i16),
    bytes: &[u8],
    affine: [[f32; 4]; 3],
    unit: u8,
) -> Vec<u8> {
    let mut header = vec![0; 352];
    header[..4].copy_from_slice(&348_i32.to_le_bytes());
    header[40..42].copy_from_slice(&(shape.len() as i16).to_le_bytes());
    for (at, size) in shape.iter().enumerate() {
        header[42 + 2 * at..44 + 2 * at].copy_from_slice(&size.to_le_bytes());
    }
    header[70..72].copy_from_slice(&code.to_le_bytes());
    header[72..74].copy_from_slice(&bits.to_le_bytes());
    header[108..112].copy_from_slice(&352_f32.to_le_bytes());
    header[254..256].copy_from_slice(&1_i16.to_le_bytes());
    for (at, number) in affine.iter().flatten().enumerate() {
        header[280 + 4 * at..284 + 4 * at].copy_from_slice(&number.to_le_bytes());
    }
    header[123] = unit;
    header[344..348].copy_from_slice(b"n+1\0");
    header.extend(bytes);
    header
}

pub(crate) const U8: (i16, i16) = (2, 8);
pub(crate) const F32: (i16, i16) = (16, 32);

/// Voxels of size 20, rotated by a quarter turn around z, with a negative determinant.
pub(crate) const TURNED: [[f32; 4]; 3] =
    [[0., 20., 0., 10.], [20., 0., 0., 10.], [0., 0., 20., 10.]];

/// Labels of 8 x 7 x 6 voxels, by a formula.
fn label(i: usize, j: usize, k: usize) -> u8 {
    [0, 12, 17, 0, 3][(i * 3 + j * 5 + k * 7) % 5]
}

pub(crate) fn labels() -> Vec<u8> {
    let all = (0..6).flat_map(|k| (0..7).flat_map(move |j| (0..8).map(move |i| label(i, j, k))));
    all.collect()
}

/// Positions of all vertices, with the object of each.
fn vertices(home: &Home) -> Result<Vec<([f64; 3], i64)>> {
    let text = home.text(&[
        "query",
        STORE,
        "--format",
        "csv",
        "--columns",
        "x,y,z,object_id",
    ])?;
    let row = |line: &str| -> Result<([f64; 3], i64)> {
        let words: Vec<&str> = line.split(',').collect();
        let number = |at: usize| words[at].parse::<f64>();
        Ok(([number(0)?, number(1)?, number(2)?], words[3].parse()?))
    };
    text.lines().skip(1).map(row).collect()
}

/// The label at a position: that of the voxel with the nearest centre, in the rotated volume.
pub(crate) fn at([x, y, z]: [f64; 3]) -> Option<u8> {
    let voxel = |one: f64, extent: f64| {
        let place = ((one - 10.0) / 20.0 + 0.5).floor();
        (0.0 <= place && place < extent).then_some(place as usize)
    };
    Some(label(voxel(y, 8.0)?, voxel(x, 7.0)?, voxel(z, 6.0)?))
}

#[test]
fn masks_select_the_vertices_in_their_voxels() -> Result<()> {
    let home = Home::new("streamlines")?;
    std::fs::write(
        home.file("labels.nii"),
        nifti(&[8, 7, 6], U8, &labels(), TURNED, 2),
    )?;
    // The same labels as floats, with NaN instead of 0.
    let floats = labels().into_iter().flat_map(|one| match one {
        0 => f32::NAN.to_le_bytes(),
        one => f32::from(one).to_le_bytes(),
    });
    let floats: Vec<u8> = floats.collect();
    std::fs::write(
        home.file("floats.nii"),
        nifti(&[8, 7, 6], F32, &floats, TURNED, 2),
    )?;
    // A volume without a map to positions.
    home.text(&["volume", "convert", "labels.nii", "labels.b2nd"])?;
    let all = vertices(&home)?;
    let counted = |args: &[&str]| -> Result<u64> {
        let answer = home.json(&[&["query", STORE, "--json"], args].concat())?;
        answer["vertices"]
            .as_u64()
            .ok_or_else(|| anyhow::anyhow!("{answer}"))
    };
    let wanted = |belongs: &dyn Fn(u8) -> bool| {
        all.iter()
            .filter(|(p, _)| at(*p).is_some_and(belongs))
            .count() as u64
    };
    let (any, some) = (
        wanted(&|one| one != 0),
        wanted(&|one| one == 12 || one == 3),
    );
    assert!(
        some > 0 && any > some && any < all.len() as u64,
        "{some} {any}"
    );
    let affine = "0,20,0,10,20,0,0,10,0,0,20,10";
    for (args, count) in [
        (&["--mask", "labels.nii"][..], any),
        (&["--mask", "floats.nii"], any),
        (&["--mask", "labels.b2nd", "--mask-affine", affine], any),
        (
            &["--mask", "labels.b2nd", "--mask-affine", "floats.nii"],
            any,
        ),
        (&["--region", "mask(@labels.nii)"], any),
        (&["--mask", "labels.nii", "--labels", "12,3"], some),
        (&["--mask", "floats.nii", "--labels", "3,12"], some),
        (
            &[
                "--region",
                "mask(@labels.nii, 12) or mask(@`labels.nii`, 3)",
            ],
            some,
        ),
        (&["--region", "mask(@labels.nii, 3, 12)"], some),
        // Of a range, labels without a voxel are left out.
        (&["--mask", "labels.nii", "--labels", "1-100"], any),
        (
            &[
                "--mask",
                "labels.nii",
                "--labels",
                "-7-9223372036854775807,0",
            ],
            wanted(&|_| true),
        ),
        (&["--mask", "floats.nii", "--labels", "2-5,10-16"], some),
        (&["--mask", "labels.nii", "--labels", "3,1-5,2-16"], some),
        (&["--region", "mask(@labels.nii, 3, 4-16)"], some),
        (
            &[
                "--region",
                "mask(@labels.nii) and not mask(@labels.nii, 17)",
            ],
            some,
        ),
    ] {
        assert_eq!(counted(args)?, count, "{args:?}");
    }
    // The result agrees with samples of the nearest element.
    let home = Home::to_damage("streamlines")?;
    std::fs::write(
        home.file("labels.nii"),
        nifti(&[8, 7, 6], U8, &labels(), TURNED, 2),
    )?;
    home.text(&["sample", STORE, "--volume", "labels.nii", "--as", "label"])?;
    let sampled = home.json(&["query", STORE, "--json", "--where", "label in (3, 12)"])?;
    assert_eq!(sampled["vertices"], some);
    Ok(())
}

#[test]
fn units_of_masks_are_converted() -> Result<()> {
    let home = Home::made(&[
        ("../mm.csv", "x,y,z\n0.4,1,1\n1,1,1\n9,9,9\n".into()),
        (
            "../um.csv",
            "x,y,z\n400,1000,1000\n1000,1000,1000\n9000,9000,9000\n".into(),
        ),
    ])?;
    let identity = [[1., 0., 0., 0.], [0., 1., 0., 0.], [0., 0., 1., 0.]];
    let bytes: Vec<u8> = (0..27).map(|at| u8::from(at % 3 == 1)).collect();
    std::fs::write(
        home.file("mm.nii"),
        nifti(&[3, 3, 3], U8, &bytes, identity, 2),
    )?;
    home.text(&["import", "mm.csv", "mm.zv", "--unit", "mm"])?;
    home.text(&["import", "um.csv", "um.zv", "--unit", "um"])?;
    for (store, remark) in [
        ("mm.zv", ""),
        ("um.zv", "millimeter: they were converted to micrometer"),
    ] {
        let ran = home.zvf(&[
            "query",
            store,
            "--mask",
            "mm.nii",
            "--format",
            "csv",
            "--columns",
            "x",
        ])?;
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains(remark), "{}", ran.stderr);
        let found = String::from_utf8(ran.stdout)?;
        let wanted = if store == "mm.zv" {
            "x\n1.0\n"
        } else {
            "x\n1000.0\n"
        };
        assert_eq!(found, wanted, "{store}");
    }
    Ok(())
}

#[test]
fn masks_that_cannot_be_are_refused() -> Result<()> {
    let home = Home::new("streamlines")?;
    let write = |name: &str, shape: &[i16], bytes: &[u8]| {
        std::fs::write(home.file(name), nifti(shape, U8, bytes, TURNED, 2))
    };
    write("labels.nii", &[8, 7, 6], &labels())?;
    write("zeros.nii", &[2, 2, 2], &[0; 8])?;
    write("time.nii", &[2, 2, 2, 3], &[1; 24])?;
    let far = [[1., 0., 0., 1e6], [0., 1., 0., 0.], [0., 0., 1., 0.]];
    std::fs::write(home.file("far.nii"), nifti(&[2, 2, 2], U8, &[1; 8], far, 2))?;
    let flat = [[1., 0., 0., 0.], [1., 0., 0., 0.], [0., 0., 1., 0.]];
    std::fs::write(
        home.file("flat.nii"),
        nifti(&[2, 2, 2], U8, &[1; 8], flat, 2),
    )?;
    let found = home.json(&["query", STORE, "--json", "--mask", "far.nii"])?;
    assert_eq!(
        (&found["vertices"], &found["chunks_read"]),
        (&json!(0), &json!(0))
    );
    for (args, words) in [
        (
            &["--mask", "labels.nii", "--labels", "12,18,19"][..],
            "labels: no element is 18, 19; there are 0, 3, 12, 17",
        ),
        (
            &["--mask", "labels.nii", "--labels", "12,18-19,4-11,1-9"],
            "labels: no element is 4-11, 18-19; there are 0, 3, 12, 17",
        ),
        (
            &["--region", "mask(@labels.nii, 18-19, 12)"],
            "labels: no element is 18-19",
        ),
        (
            &["--mask", "labels.nii", "--labels", "12,19-18"],
            "--labels: found \"12,19-18\", expected whole numbers",
        ),
        (
            &["--mask", "zeros.nii"],
            "zeros.nii: no element is other than 0",
        ),
        (
            &["--mask", "time.nii"],
            "has 3 indices, expected one: a volume in space alone",
        ),
        (&["--mask", "flat.nii"], "lie in one plane has no inverse"),
        (&["--mask", "none.nii"], "none.nii"),
        (
            &["--mask", "labels.nii", "--labels", "x"],
            "--labels: found \"x\", expected whole numbers",
        ),
        (
            &["--mask", "labels.nii", "--labels", ""],
            "--labels: found none",
        ),
        (&["--labels", "1"], "--mask <VOLUME>"),
        (&["--mask-affine", "1"], "--mask <VOLUME>"),
        (&["--hull"], "--mesh <FILE>"),
        (&["--region", "mask(@none.nii, 3)"], "none.nii"),
        (
            &["--mask", "labels.nii", "--mask-affine", "1,2,3"],
            "affine: found \"1,2,3\", which is not a file",
        ),
        (
            &["--passing", "sphere(1,2,3,4) and"],
            "passing, at byte 19: expected touching, inside",
        ),
    ] {
        let ran = home.zvf(&[&["query", STORE], args].concat())?;
        let code = match words {
            "none.nii" => 3,
            "lie in one plane has no inverse" => 4,
            _ => 2,
        };
        assert!(ran.code == code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{args:?}: {}", ran.stderr);
    }
    Ok(())
}

#[test]
fn objects_pass_masks_and_hulls() -> Result<()> {
    let home = Home::to_damage("streamlines")?;
    std::fs::write(
        home.file("labels.nii"),
        nifti(&[8, 7, 6], U8, &labels(), TURNED, 2),
    )?;
    // Two faces of a tetrahedron: the mesh is open, but its hull contains all of it.
    let corners = "v 20 20 20\nv 140 20 20\nv 20 140 20\nv 20 20 140\n";
    std::fs::write(
        home.file("open.obj"),
        format!("{corners}f 1 3 2\nf 1 2 4\n"),
    )?;
    std::fs::write(
        home.file("closed.obj"),
        format!("{corners}f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"),
    )?;
    let all = vertices(&home)?;
    let ids = |holds: &dyn Fn([f64; 3]) -> bool| -> std::collections::BTreeSet<i64> {
        all.iter()
            .filter(|(p, _)| holds(*p))
            .map(|(_, id)| *id)
            .collect()
    };
    let hull = |[x, y, z]: [f64; 3]| x >= 20. && y >= 20. && z >= 20. && x + y + z <= 180.;
    let (twelve, seventeen) = (ids(&|p| at(p) == Some(12)), ids(&|p| at(p) == Some(17)));
    let inside = ids(&hull);
    let objects = |args: &[&str]| -> Result<u64> {
        let answer = home.json(&[&["query", STORE, "--json"], args].concat())?;
        answer["objects"]
            .as_u64()
            .ok_or_else(|| anyhow::anyhow!("{answer}"))
    };
    let both = twelve.intersection(&seventeen).count() as u64;
    let (first, second) = ("mask(@labels.nii, 12)", "mask(@labels.nii, 17)");
    assert!(both > 0);
    assert_eq!(objects(&["--passing", first, "--passing", second])?, both);
    assert_eq!(
        objects(&["--passing", &format!("{first} and {second}")])?,
        both
    );
    let text = format!("touching({first}) and not {second}");
    assert_eq!(
        objects(&["--passing", &text])?,
        twelve.difference(&seventeen).count() as u64
    );
    // No vertex is in both regions.
    let text = format!("touching({first} and {second})");
    assert_eq!(objects(&["--passing", &text])?, 0);
    for args in [
        ["--mesh", "open.obj", "--hull", "--touching"],
        ["--mesh", "closed.obj", "--hull", "--touching"],
    ] {
        assert_eq!(objects(&args)?, inside.len() as u64, "{args:?}");
    }
    assert_eq!(
        objects(&["--passing", "hull(@open.obj)"])?,
        inside.len() as u64
    );
    assert_eq!(
        objects(&["--mesh", "closed.obj", "--touching"])?,
        inside.len() as u64
    );
    let exported = home.json(&[
        "export",
        STORE,
        "both.tck",
        "--json",
        "--passing",
        first,
        "--passing",
        second,
    ])?;
    assert_eq!(exported["objects"], both);
    let measured = home.json(&[
        "measure",
        STORE,
        "--json",
        "--passing",
        first,
        "--passing",
        second,
    ])?;
    assert!(measured.to_string().len() > 2);
    // A condition on vertices selects vertices, which are not deleted from objects.
    let mixed = [
        "edit",
        STORE,
        "delete",
        "--passing",
        first,
        "--where",
        "x > 0",
    ];
    let refused = home.zvf(&mixed)?;
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--select objects"),
        "{}",
        refused.stderr
    );
    home.text(&[
        "edit",
        STORE,
        "delete",
        "--passing",
        first,
        "--passing",
        second,
    ])?;
    let left = home.json(&[
        "query",
        STORE,
        "--json",
        "--passing",
        first,
        "--passing",
        second,
    ])?;
    assert_eq!(left["objects"], 0);
    Ok(())
}
