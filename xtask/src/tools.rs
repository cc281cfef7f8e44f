//! Programs of others that a task needs, installed once below the target folder.

use std::path::PathBuf;

use crate::{Outcome, sh};

/// The program of a crate in one version, compiled without optimisation if it is not there yet.
pub(crate) fn installed(name: &str, version: &str) -> Outcome<PathBuf> {
    // A folder a version: another version is another program.
    let root = sh::target().join("tools").join(format!("{name}-{version}"));
    let program = root.join(format!("bin/{name}{}", std::env::consts::EXE_SUFFIX));
    if !program.is_file() {
        println!("installing {name} {version}");
        let mut install = sh::cargo();
        install.args(["install", "--quiet", "--locked", "--debug", name]);
        install.args(["--version", version]).arg("--root");
        sh::run(install.arg(&root))?;
    }
    Ok(program)
}
