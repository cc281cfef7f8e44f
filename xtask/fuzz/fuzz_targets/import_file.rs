//! Fuzzer binary of `zvf_fuzz::import_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::import_file(data));
