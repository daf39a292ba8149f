//! The recorded sessions of the repository stay readable, with their index.

use std::path::Path;

use netreel_reel::{Ending, Reel};

#[test]
fn every_recorded_sample_opens_clean_and_whole() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../samples/sessions");
    let mut opened = 0;
    for folder in ["host", "owner"] {
        for entry in std::fs::read_dir(samples.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "reel") {
                continue;
            }
            let reel = Reel::from_bytes(std::fs::read(&path).unwrap()).unwrap();
            assert_eq!(reel.ending(), &Ending::Clean, "{}", path.display());
            let walk = reel.for_each(|_| {});
            assert_eq!((walk.events, &walk.damaged[..]), (reel.len(), &[][..]));
            let over = reel.overhead_per_packet().unwrap();
            let (low, high) = reel.span().unwrap();
            let rate = reel.totals().packets() as f64 / high.since(low).as_secs_f64();
            println!(
                "{}: {over:.2} bytes a packet at {rate:.0}/s",
                path.display()
            );
            opened += 1;
        }
    }
    assert_eq!(opened, 8);
}
