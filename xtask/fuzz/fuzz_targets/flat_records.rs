//! Fuzzer binary of `zvf_fuzz::flat_records`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::flat_records(data));
