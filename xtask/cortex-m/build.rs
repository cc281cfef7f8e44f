//! Links the firmware by `memory.x`, which places it in flash.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo:rustc-link-arg-bins=-T{folder}/memory.x");
    println!("cargo:rustc-link-arg-bins=--gc-sections");
    println!("cargo:rerun-if-changed=memory.x");
}
