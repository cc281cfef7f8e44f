//! `cargo xtask cortex-m`: firmware that decodes a fragment index and rows from flash, for a Cortex-M4, and run by QEMU if that is there.

use std::path::Path;

use crate::no_std::number;
use crate::{Outcome, sh, targets};

const TARGET: &str = "thumbv7em-none-eabihf";
const EMULATOR: &str = "qemu-system-arm";

/// Builds the firmware, prints how much flash it takes, and runs it.
pub(crate) fn run(_: &[String]) -> Outcome {
    if let Err(error) = targets::install(TARGET) {
        println!("{TARGET}: not built, {error}");
        return Ok(());
    }
    let firmware = sh::build_apart("cortex-m", Some(TARGET))?.join("cortex-m");
    println!("flash: {} bytes", flash_bytes(&std::fs::read(&firmware)?)?);
    if !targets::is_there(EMULATOR) {
        println!("not run: {EMULATOR} is missing (apt install qemu-system-arm)");
        return Ok(());
    }
    emulate(&firmware)
}

/// Runs the firmware. Its exit code is that of the emulator.
fn emulate(firmware: &Path) -> Outcome {
    let mut command = sh::command(EMULATOR);
    command.args(["-machine", "mps2-an386", "-nographic"]);
    command.args(["-monitor", "none", "-serial", "none"]);
    command.args(["-semihosting-config", "enable=on,target=native"]);
    command.arg("-kernel").arg(firmware);
    sh::run(&mut command)?;
    println!("it decodes the rows of a fragment from flash on a Cortex-M4");
    Ok(())
}

/// Sum of the segments that a 32-bit little-endian ELF file loads.
fn flash_bytes(file: &[u8]) -> Outcome<u64> {
    const LOAD: u64 = 1;
    if !file.starts_with(b"\x7fELF\x01\x01") {
        return Err("the firmware is not a 32-bit ELF file".into());
    }
    let table = usize::try_from(number(file, 0x1c, 4)?)?;
    let size = usize::try_from(number(file, 0x2a, 2)?)?;
    let count = usize::try_from(number(file, 0x2c, 2)?)?;
    let mut sum = 0;
    for segment in 0..count {
        let at = table + segment * size;
        if number(file, at, 4)? == LOAD {
            sum += number(file, at + 0x10, 4)?;
        }
    }
    Ok(sum)
}
