//! Fuzzer binary of `zvf_fuzz::vlen`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::vlen(data));
