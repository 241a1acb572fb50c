//! The door for Python: texts of JSON in and out. `python/tapster` makes objects of them.

use pyo3::prelude::*;

#[pymodule]
mod _tapster {
    use std::path::PathBuf;

    use pyo3::prelude::*;
    use tapster_door::clock;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Answers requests, from several threads if need be.
    #[pyclass(frozen)]
    struct Door(tapster_door::Door);

    #[pymethods]
    impl Door {
        #[new]
        fn new(folders: Vec<PathBuf>) -> Self {
            Self(tapster_door::Door::new(folders, Some(clock::now)))
        }

        /// Other threads go on meanwhile. Signals such as Ctrl-C end long calls.
        fn call_text(&self, py: Python<'_>, request: &[u8]) -> PyResult<String> {
            let mut interrupt = Ok(());
            let response = py.detach(|| {
                self.0.call_text_with_events(request, &mut |_| {
                    interrupt = Python::attach(|py| py.check_signals());
                    interrupt.is_ok()
                })
            });
            interrupt.map(|()| response)
        }
    }
}
