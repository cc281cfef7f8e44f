//! An archive of the program, and its installer for a shell, tried with it: part of `cargo xtask release`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Outcome, sh, wasm};

/// Packs the folder `name` of `folder`, and writes the checksum of the archive beside it; prints it.
pub(crate) fn pack(folder: &Path, name: &str) -> Outcome<PathBuf> {
    let archive = format!("{name}.tar.gz");
    let mut tar = sh::command("tar");
    tar.current_dir(folder).args(["czf", &archive, name]);
    sh::run(&mut tar)?;
    let mut sum = sh::command(if cfg!(target_os = "macos") {
        "shasum"
    } else {
        "sha256sum"
    });
    if cfg!(target_os = "macos") {
        sum.args(["-a", "256"]);
    }
    let sum = sh::capture(sum.current_dir(folder).arg(&archive))?;
    print!("{sum}");
    fs::write(folder.join(format!("{archive}.sha256")), sum)?;
    Ok(folder.join(archive))
}

/// The installer with a version and the address of the archives, as the workflow of releases makes it.
fn script(version: &str, address: &str) -> Outcome<String> {
    let file = sh::root().join("xtask/install/install.sh");
    let text = fs::read_to_string(file)?;
    Ok(text.replace("@VERSION@", version).replace("@URL@", address))
}

/// Serves an archive with its checksum, installs it into `prefix`, and runs the program there. A changed archive is not installed.
pub(crate) fn rehearse(version: &str, archive: &Path, prefix: &Path) -> Outcome {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let mut files = BTreeMap::new();
    for name in [name.to_string(), format!("{name}.sha256")] {
        let bytes = fs::read(archive.with_file_name(&name))?;
        files.insert(name, bytes);
    }
    let mut changed = files.clone();
    if let Some(byte) = changed.get_mut(&*name).and_then(|bytes| bytes.last_mut()) {
        *byte ^= 1;
    }
    let program = prefix.join("bin").join("zvf");
    if install(version, changed, prefix)?.is_ok() || program.exists() {
        return Err("an archive that is not what its checksum says was installed".into());
    }
    install(version, files, prefix)??;
    for file in [
        "man/man1/zvf.1",
        "bash-completion/completions/zvf",
        "zsh/site-functions/_zvf",
    ] {
        let file = prefix.join("share").join(file);
        if !file.is_file() {
            return Err(format!("{} was not installed", file.display()).into());
        }
    }
    sh::run(sh::command(program).arg("--version"))
}

/// Runs the installer on served files.
fn install(version: &str, files: BTreeMap<String, Vec<u8>>, prefix: &Path) -> Outcome<Outcome> {
    let (address, _) = wasm::serve(files)?;
    let text = script(version, &address)?;
    let mut shell = sh::command("sh");
    shell.args(["-c", &text]).env("ZVF_PREFIX", prefix);
    Ok(sh::run(&mut shell).map_err(|_| "install.sh failed".into()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_installed_if_it_is_what_its_checksum_says() {
        let folder = tempfile::tempdir().unwrap();
        let (machine, system) = (std::env::consts::ARCH, std::env::consts::OS);
        let name = format!("zvf-9.8.7-{machine}-{system}");
        let content = folder.path().join(&name);
        fs::create_dir_all(content.join("man")).unwrap();
        for file in ["man/zvf.1", "zvf.bash", "zvf.zsh", "zvf.fish"] {
            fs::write(content.join(file), "text").unwrap();
        }
        let program = content.join("zvf");
        fs::write(&program, "#!/bin/sh\necho zvf 9.8.7\n").unwrap();
        let runs = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, runs).unwrap();
        let archive = pack(folder.path(), &name).unwrap();
        let prefix = folder.path().join("with blanks in it");
        rehearse("9.8.7", &archive, &prefix).unwrap();
        // Again, over the first one.
        fs::remove_file(prefix.join("bin/zvf")).unwrap();
        rehearse("9.8.7", &archive, &prefix).unwrap();
    }
}
