//! Fuzzer binary of `zvf_fuzz::padded`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::padded(data));
