//! Fuzzer binary of `zvf_fuzz::dense_manifests`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| zvf_fuzz::dense_manifests(data));
