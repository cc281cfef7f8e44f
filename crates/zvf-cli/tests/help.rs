//! Help and completions.

use std::path::Path;

use anyhow::Result;

use crate::run::zvf_in;

const COMMANDS: [&str; 39] = [
    "info",
    "query",
    "splits",
    "get",
    "objects",
    "links",
    "head",
    "tail",
    "sample-rows",
    "stats",
    "measure",
    "diff",
    "doctor",
    "inspect",
    "import",
    "export",
    "plot",
    "create",
    "copy",
    "split",
    "merge",
    "resample",
    "simplify",
    "migrate",
    "rechunk",
    "pyramid",
    "append",
    "edit",
    "vacuum",
    "validate",
    "repair",
    "sample",
    "group",
    "volume",
    "serve",
    "run",
    "schema",
    "completions",
    "man",
];

#[test]
fn every_command_explains_itself_with_examples() -> Result<()> {
    for command in COMMANDS {
        let ran = zvf_in(Path::new("."), &[command, "--help"])?;
        let text = String::from_utf8(ran.stdout)?;
        assert_eq!(ran.code, 0, "{command}");
        assert!(
            text.contains(&format!("Examples:\n  zvf {command} ")),
            "{command}: {text}"
        );
        assert!(text.contains("Usage: zvf"), "{command}");
        let purpose = text.lines().next().unwrap_or_default();
        assert!(
            purpose.split_whitespace().count() > 4,
            "{command}: {purpose}"
        );
    }
    Ok(())
}

#[test]
fn only_what_works_is_offered() -> Result<()> {
    let text = String::from_utf8(zvf_in(Path::new("."), &["--help"])?.stdout)?;
    for command in COMMANDS {
        assert!(text.contains(&format!("\n  {command} ")), "{command}");
    }
    assert!(!text.contains("\n  view"));
    assert_eq!(zvf_in(Path::new("."), &["view"])?.code, 2);
    Ok(())
}

#[test]
fn version_and_nothing() -> Result<()> {
    let ran = zvf_in(Path::new("."), &["--version"])?;
    let text = String::from_utf8(ran.stdout)?;
    let first = format!("zvf {}", env!("CARGO_PKG_VERSION"));
    assert_eq!((ran.code, text.lines().next()), (0, Some(&*first)));
    for part in ["0.9.2", "parquet", "trx", "s3://"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let short = zvf_in(Path::new("."), &["-V"])?;
    assert_eq!(String::from_utf8(short.stdout)?, format!("{first}\n"));
    let ran = zvf_in(Path::new("."), &[])?;
    assert_eq!((ran.code, ran.stdout.len()), (2, 0));
    assert!(ran.stderr.contains("Usage: zvf"));
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_an_error() -> Result<()> {
    for line in [["--help"], ["--version"]] {
        let full = std::fs::File::options().write(true).open("/dev/full")?;
        let mut command = crate::run::command(Path::new("."), &line);
        let ran = command.stdout(full).output()?;
        let words = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(3), "{words}");
        assert!(words.starts_with("zvf: write <stdout>: "), "{words}");
    }
    Ok(())
}

#[test]
fn completions_for_every_shell() -> Result<()> {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = zvf_in(Path::new("."), &["completions", shell])?;
        assert_eq!(ran.code, 0, "{shell}");
        let script = String::from_utf8(ran.stdout)?;
        assert!(
            script.contains("inspect") && script.contains("ignore-missing"),
            "{shell}"
        );
    }
    Ok(())
}

#[test]
fn every_command_has_a_manual_page() -> Result<()> {
    let home = tempfile::tempdir()?;
    let ran = zvf_in(home.path(), &["man", "share/man1"])?;
    assert_eq!((ran.code, ran.stdout.len(), &*ran.stderr), (0, 0, ""));
    let folder = home.path().join("share/man1");
    let inner = ["edit-delete", "edit-group-add", "volume-convert"];
    for command in COMMANDS.iter().chain(&inner) {
        let page = std::fs::read_to_string(folder.join(format!("zvf-{command}.1")))?;
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"] {
            assert!(
                page.contains(&format!("\n.SH {section}\n")),
                "{command}: {section}"
            );
        }
    }
    let page = std::fs::read_to_string(folder.join("zvf.1"))?;
    assert!(page.contains("zvf\\-query(1)"), "{page}");
    for page in std::fs::read_dir(&folder)? {
        let page = page?.path();
        let mut groff = std::process::Command::new("groff");
        groff
            .args(["-Kutf8", "-Tutf8", "-ww", "-z", "-man"])
            .arg(&page);
        // The check requires groff.
        let Ok(rendered) = groff.output() else { break };
        let said = String::from_utf8_lossy(&rendered.stderr);
        let name = page.display();
        assert!(
            rendered.status.success() && said.is_empty(),
            "{name}: {said}"
        );
    }
    let ran = zvf_in(home.path(), &["man", "share/man1/zvf.1"])?;
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    Ok(())
}
