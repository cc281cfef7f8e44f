//! `cargo xtask no-std`: proof that the decoders need neither `std` nor an allocator.

use std::process::Command;

use crate::Outcome;
use crate::sh;

/// Crates and feature sets that must build, with what each is for.
const FEATURES: &[(&str, &str, &str)] = &[
    ("zvf-format", "", "views only"),
    ("zvf-format", "alloc", "encoders"),
    ("zvf-format", "std", "std errors"),
    ("zvf-grid", "", "selections and copies"),
    ("zvf-tet", "", "views and checks"),
    ("zvf-tet", "alloc", "proofs of any order"),
    ("zvf-blosc", "", "views, filters, BloscLZ"),
    ("zvf-blosc", "alloc", "whole chunks, encoder"),
    ("zvf-caterva", "", "views of frames"),
];

/// Crates and feature sets below which no `std` feature may be on.
const WITHOUT: &[(&str, &str)] = &[
    ("zvf-format", ""),
    ("zvf-format", "alloc"),
    ("zvf-grid", ""),
    ("zvf-tet", ""),
    ("zvf-tet", "alloc"),
    ("zvf-blosc", ""),
    ("zvf-blosc", "alloc"),
    ("zvf-caterva", ""),
];

/// Crates whose `std` feature must stay off.
const BARE: &[&str] = &[
    "zvf-format",
    "zvf-grid",
    "zvf-tet",
    "zvf-blosc",
    "zvf-caterva",
    "zerocopy",
];

/// Builds the feature sets, checks the feature tree, then builds, links and runs the probe.
pub(crate) fn run(_: &[String]) -> Outcome {
    for (name, features, why) in FEATURES {
        println!("{name} with [{features}]: {why}");
        sh::run(
            sh::cargo()
                .args([
                    "check",
                    "--quiet",
                    "--package",
                    name,
                    "--no-default-features",
                ])
                .args(["--features", features]),
        )?;
    }
    for (name, features) in WITHOUT {
        tree(name, features)?;
    }
    probe()
}

/// Fails when a feature named `std` is switched on in `name` or anywhere below it.
fn tree(name: &str, features: &str) -> Outcome {
    let mut command = sh::cargo();
    command.args([
        "tree",
        "--package",
        name,
        "--no-default-features",
        "--features",
        features,
    ]);
    command.args([
        "--edges",
        "features,no-dev,no-build,no-proc-macro",
        "--prefix",
        "none",
    ]);
    let text = sh::capture(&mut command)?;
    for below in BARE {
        let wanted = format!("{below} feature \"std\"");
        if text.contains(&wanted) {
            return Err(
                format!("std creeps into {name} with [{features}]: {wanted}\n{text}").into(),
            );
        }
    }
    println!("cargo tree of {name} with [{features}]: no std");
    Ok(())
}

/// Builds the probe (`no_std`, no allocator, panic = abort), runs it, reports the size of its code.
fn probe() -> Outcome {
    let folder = sh::build_apart("no-std-probe", None)?;
    let program = folder.join(format!("no-std-probe{}", std::env::consts::EXE_SUFFIX));
    let status = Command::new(&program).status()?;
    if !status.success() {
        return Err(
            format!("the probe did not find what the worked example holds: {status}").into(),
        );
    }
    println!(
        "probe: decodes the worked examples (ZVF, TET, Caterva) without std and without an allocator"
    );
    println!(
        "probe: {} bytes of code",
        code_bytes(&std::fs::read(program)?)?
    );
    Ok(())
}

/// Sum of the sizes of the executable sections of a 64-bit little-endian ELF file.
fn code_bytes(file: &[u8]) -> Outcome<u64> {
    const EXECUTABLE: u64 = 4;
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return Err("the probe is not a 64-bit ELF file".into());
    }
    let table = usize::try_from(number(file, 0x28, 8)?)?;
    let (size, count) = (
        usize::try_from(number(file, 0x3a, 2)?)?,
        usize::try_from(number(file, 0x3c, 2)?)?,
    );
    let mut sum = 0;
    for section in 0..count {
        let at = table + section * size;
        if number(file, at + 8, 8)? & EXECUTABLE != 0 {
            sum += number(file, at + 0x20, 8)?;
        }
    }
    Ok(sum)
}

/// A little-endian number of a file.
pub(crate) fn number(file: &[u8], at: usize, width: usize) -> Outcome<u64> {
    let field = file
        .get(at..at + width)
        .ok_or("a table of the program is cut short")?;
    Ok(field
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte)))
}
