//! How a library is linked that Node loads.

fn main() {
    napi_build::setup();
}
