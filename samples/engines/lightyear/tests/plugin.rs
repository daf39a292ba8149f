//! The example's layer as a plugin, which cargo builds beside the tests.

use std::path::PathBuf;

use lightyear_recorded::example::{Plan, record};
use netreel_plugin::Plugin;
use netreel_replay::{Driver, Outcome};

/// `examples/layer.rs`, built.
fn plugin() -> Plugin {
    let test = std::env::current_exe().expect("this program");
    let built = test
        .ancestors()
        .nth(2)
        .expect("the folder of what was built");
    let library: PathBuf = built.join("examples/liblightyear_layer.so");
    Plugin::load(&library).expect("cargo builds examples with tests: cargo test -p lightyear-links")
}

#[test]
fn every_node_is_replayed_exactly_by_the_plugin() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path(), Plan::default()).expect("a session");
    let session = proof::open(folder.path());
    let plugin = plugin();
    for node in ["server", "a", "b"] {
        let reel = session.reel(node);
        let driver = Driver::with_sockets(reel.clone()).expect("a reel that can be replayed");
        let io = Box::new(driver.transport());
        let mut layer = plugin.layer(&reel, io).expect("start conditions");
        let report = driver.run(&mut layer);
        assert_eq!(report.outcome, Outcome::Exact, "{node}");
        assert!(report.sends > 0, "{node}");
    }
}
