//! `cargo xtask minimal`: whether the versions that `Cargo.toml` asks for are enough.

use crate::{Outcome, sh, test};

/// Checks a copy of the workspace with the oldest allowed version of each direct dependency. The copy has a lock file of its own; the unstable option
/// of cargo that makes it is allowed for this command alone.
pub(crate) fn run(_: &[String]) -> Outcome {
    let copy = sh::target().join("minimal");
    if copy.exists() {
        std::fs::remove_dir_all(&copy)?;
    }
    let root = sh::root();
    for file in sh::files(&root)? {
        let to = copy.join(file.strip_prefix(&root)?);
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::copy(&file, to)?;
    }
    let lock = ["update", "--quiet", "-Z", "direct-minimal-versions"];
    sh::run(
        sh::cargo()
            .env("RUSTC_BOOTSTRAP", "1")
            .args(lock)
            .current_dir(&copy),
    )?;
    let check = [
        "check",
        "--quiet",
        "--workspace",
        "--features",
        test::FEATURES,
    ];
    let target = sh::target().join("minimal-build");
    sh::run(
        sh::cargo()
            .args(check)
            .env("CARGO_TARGET_DIR", target)
            .current_dir(&copy),
    )
}
