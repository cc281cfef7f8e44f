//! Fuzzer binary of `zvf_fuzz::codecs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::codecs(data));
