//! Which files a recorded program opens: what its reel tells of them.

mod support;

use netreel_reel::{CallId, Event};
use support::programs::{Bench, records, text};

#[test]
fn each_file_is_told_once_and_those_below_proc_each_time_and_none_that_is_empty() {
    let bench = Bench::new();
    let (program, folder) = (bench.compile("files"), bench.at("folder"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("line"), "a line\n").unwrap();
    std::fs::write(folder.join("empty"), "").unwrap();
    bench
        .record(&[], &[text(&program), text(&folder)])
        .expect(0);
    let told: Vec<(bool, String)> = records(&bench.reel())
        .iter()
        .filter_map(|it| match it.as_record().event {
            Event::Called {
                call: CallId::FILE,
                result,
                details,
            } => {
                let path = String::from_utf8_lossy(&details[25..]).into_owned();
                Some((result >= 0, path))
            }
            _ => None,
        })
        .collect();
    let at = |name: &str| text(&folder.join(name)).to_owned();
    // What is missing is named as lying below the directory that it was looked for in.
    let (of_proc, others): (Vec<_>, Vec<_>) = told
        .into_iter()
        .partition(|(_, path)| path.starts_with("/proc/"));
    assert_eq!(others, [(true, at("line")), (false, at("nothing"))]);
    let both = ["/proc/self/maps", "/proc/uptime"].map(|path| (true, path.to_owned()));
    assert!(of_proc.chunks(2).all(|it| it == both), "{of_proc:?}");
    assert_eq!(of_proc.len(), 20);
}
