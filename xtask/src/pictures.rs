//! `cargo xtask pictures`: the pictures in the documentation, made of bundled stores.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::{Outcome, demo, sh};

/// A picture: its name in `docs/pictures`, the bundled stores, and the arguments of `zvf plot`.
struct Shown {
    name: &'static str,
    stores: &'static [(&'static str, &'static str)],
    arguments: &'static [&'static str],
}

const NEURON: (&str, &str) = ("real_skeleton", "neuron.zarrvectors");
const TRACTS: (&str, &str) = ("real_tractogram", "tracts.zarrvectors");
const MESH: (&str, &str) = ("real_mesh", "mesh.zarrvectors");
const SYNAPSES: (&str, &str) = ("real_synapses", "synapses.zarrvectors");

/// The pictures, with the commands that the guide shows.
const PICTURES: &[Shown] = &[
    Shown {
        name: "tracts",
        stores: &[TRACTS],
        arguments: &["--view", "yz", "--size", "480,320"],
    },
    Shown {
        name: "neuron",
        stores: &[NEURON],
        arguments: &["--view", "x-z", "--size", "560,400"],
    },
    Shown {
        name: "mesh",
        stores: &[MESH],
        arguments: &[
            "--view",
            "iso",
            "--perspective",
            "--background",
            "white",
            "--size",
            "560,400",
        ],
    },
    Shown {
        name: "several",
        stores: &[NEURON, SYNAPSES],
        arguments: &[
            "--view",
            "x-z",
            "--color",
            "grey",
            "--color",
            "confidence",
            "--size",
            "640,440",
        ],
    },
];

/// The largest file in bytes: pictures stay in the history for ever.
const LARGEST: u64 = 60_000;

/// The largest mean difference by channel, of 255, and the largest share of pixels that differ by more than a fifth.
const TOLERANCE: (f64, f64) = (0.5, 0.004);

/// Makes the pictures again; with `--check` compares them with those that are there.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let check = sh::flag(arguments, "--check");
    let folder = sh::target().join("pictures");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let program = sh::build_lean_zvf()?;
    let kept = sh::root().join("docs/pictures");
    std::fs::create_dir_all(&kept)?;
    for picture in PICTURES {
        let mut command = sh::command(&program);
        command.current_dir(&folder).arg("plot");
        for (case, name) in picture.stores {
            if !folder.join(name).exists() {
                demo::unpack(case, &folder.join(name))?;
            }
            command.arg(name);
        }
        let file = format!("{}.png", picture.name);
        sh::run(command.args(picture.arguments).args(["-q", "-o", &file]))?;
        let (made, kept) = (folder.join(&file), kept.join(&file));
        let size = std::fs::metadata(&made)?.len();
        if size > LARGEST {
            return Err(format!("{file} has {size} bytes, expected at most {LARGEST}").into());
        }
        if check {
            compare(&made, &kept)?;
            println!("{file}: as committed");
        } else {
            std::fs::copy(&made, &kept)?;
            println!("{file}: {size} bytes");
        }
    }
    Ok(())
}

/// Compares a picture with the one that is committed.
fn compare(made: &Path, kept: &Path) -> Outcome {
    let (found, wanted) = (read(made)?, read(kept)?);
    let differ = difference(&found, &wanted)
        .ok_or_else(|| format!("{}: another size than {}", made.display(), kept.display()))?;
    if differ.0 <= TOLERANCE.0 && differ.1 <= TOLERANCE.1 {
        return Ok(());
    }
    Err(format!(
        "{} differs from {}: {:.2} of 255 on average, {:.2} % of the pixels by much; `cargo xtask pictures` replaces it, look at it first",
        made.display(),
        kept.display(),
        differ.0,
        differ.1 * 100.0
    )
    .into())
}

/// Width and samples of a PNG file, three for each pixel: these pictures have a ground.
fn read(path: &Path) -> Outcome<(u32, Vec<u8>)> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut reader = png::Decoder::new(BufReader::new(file)).read_info()?;
    let size = reader
        .output_buffer_size()
        .ok_or("a picture without a size")?;
    let mut samples = vec![0; size];
    let info = reader.next_frame(&mut samples)?;
    Ok((info.width, samples))
}

/// The mean difference of two pictures, and the share of pixels of which a channel differs by more than a fifth.
fn difference(one: &(u32, Vec<u8>), other: &(u32, Vec<u8>)) -> Option<(f64, f64)> {
    if one.0 != other.0 || one.1.len() != other.1.len() {
        return None;
    }
    let (mut sum, mut far) = (0_u64, 0_u64);
    for (a, b) in one.1.chunks(3).zip(other.1.chunks(3)) {
        let steps = a.iter().zip(b).map(|(a, b)| u64::from(a.abs_diff(*b)));
        sum += steps.clone().sum::<u64>();
        far += u64::from(steps.max().unwrap_or(0) > 51);
    }
    let all = one.1.len() as f64;
    Some((sum as f64 / all, far as f64 * 3.0 / all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_counted() {
        let dark = (2, vec![0; 12]);
        let mut samples = vec![0; 12];
        samples[3] = 120;
        assert_eq!(difference(&dark, &dark), Some((0.0, 0.0)));
        assert_eq!(difference(&dark, &(2, samples.clone())), Some((10.0, 0.25)));
        assert_eq!(difference(&dark, &(3, samples)), None);
    }
}
