//! `cargo xtask damage`: stores with one damaged member of one document, or one damaged file, read in every way.

use crate::{Outcome, sh, test};

/// Damages `--cases N` (10,000) members, drawn by `--seed S` (1), of the bundled stores and of copies of them, and prints how
/// many reads were right, failed, warned, or gave another answer in silence, which is a failure.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let cases = sh::option(arguments, "--cases")?.unwrap_or(10_000_usize);
    let seed = sh::option(arguments, "--seed")?.unwrap_or(1_u64);
    sh::run(
        sh::cargo()
            .args(["test", "--workspace", "--features", test::FEATURES])
            .args(["--test", "damage", "--", "--nocapture"])
            .env("ZVF_DAMAGE_CASES", cases.to_string())
            .env("ZVF_DAMAGE_SEED", seed.to_string()),
    )
}
