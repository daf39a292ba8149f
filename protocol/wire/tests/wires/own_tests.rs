//! The `test` blocks of the wires of `samples/wires`.

use std::path::Path;

use crate::explained::wire;

/// What they describe is tested elsewhere, as a whole.
const WITHOUT_TESTS: [&str; 1] = ["boxes.wire"];

#[test]
fn every_wire_has_tests_of_its_own_that_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/wires");
    for entry in std::fs::read_dir(folder).expect("the wires") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_str().expect("a name");
        let results = wire(name).run_tests();
        assert_eq!(results.is_empty(), WITHOUT_TESTS.contains(&name), "{name}");
        for result in results {
            assert!(result.passed(), "{name}: {result:#?}");
        }
    }
}
