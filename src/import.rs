//! `netreel import`: reels from a packet capture.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use netreel_capture::FileAppend;
use netreel_capture::import::{self, Imported, NamedNode, Origin, Target};
use netreel_reel::WireText;
use netreel_wire::Wire;

use crate::arguments::Import;
use crate::outcome::{Answer, Failure, Result};
use crate::{open, text};

pub fn run(arguments: &Import, out: &mut dyn Write) -> Result<Answer> {
    let path = &arguments.capture;
    let failed = |why: &dyn std::fmt::Display| Failure::at(path, why);
    let mut file = File::open(path).map_err(|error| failed(&error))?;
    let is_file = file.metadata().is_ok_and(|found| found.is_file());
    if !is_file {
        return Err(failed(&"it is not a file; name a pcap or pcapng file"));
    }
    let nodes =
        NamedNode::gather(arguments.node.clone()).map_err(|error| format!("--node: {error}"))?;
    let mut origin = Origin::of(path, &mut file).map_err(|error| failed(&error))?;
    origin.wires = arguments
        .wire
        .as_deref()
        .map(wire_text)
        .transpose()?
        .into_iter()
        .collect();
    // Before a file is made, so that what is no capture leaves none behind.
    let start = std::io::Read::by_ref(&mut file);
    netreel_capture::pcap::UdpPayloads::new(start).map_err(|error| failed(&error))?;
    std::io::Seek::rewind(&mut file).map_err(|error| failed(&error))?;

    let was_there = arguments.out.exists();
    let (targets, reels) = targets(&arguments.out, &origin, nodes)?;
    let undo = || {
        remove(&reels);
        if !was_there {
            let _ = std::fs::remove_dir(&arguments.out);
        }
    };
    let imported = import::import(file, &origin, targets).map_err(|error| {
        undo();
        match error {
            import::ImportError::Write { reel, error } => {
                let reel = reels.get(reel).unwrap_or(&arguments.out).display();
                Failure::new(format!(
                    "{reel}: cannot be written: {error}; make room there, or choose another --out. \
                     What was written so far is removed"
                ))
            }
            other => failed(&other),
        }
    })?;
    let left_out = import::left_out(&imported.counts, &imported.ending);
    let counts = &imported.counts;
    if counts.frames > 0 && counts.read() == 0 {
        undo();
        return Err(failed(&left_out.join("; ")));
    }
    for sentence in left_out {
        anstream::eprintln!("netreel: {}: {sentence}", path.display());
    }
    let empty = told(&imported, &reels, !arguments.node.is_empty(), out)?;
    let whole = matches!(
        imported.ending,
        netreel_capture::pcap::Ending::Whole | netreel_capture::pcap::Ending::Open
    );
    // What a snap length cut was asked for; the ends of a capture miss fragments by nature.
    Ok(Answer::clean_if(
        whole && !empty && counts.dropped == 0 && counts.not_readable() == 0,
    ))
}

/// The text of a wire and its name, as a reel carries it: with what it imports in one bundle.
pub fn wire_text(path: &Path) -> Result<WireText> {
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy().into_owned();
    let text = open::wire(path)?.text().to_owned();
    // A wire that does not compile would be a surprise for whoever opens the reel.
    Wire::compile(&name, &text).map_err(|error| {
        format!(
            "--wire {}: in one text with what it imports it does not compile\n{error}",
            path.display()
        )
    })?;
    Ok(WireText { name, text })
}

/// The files that are to be made in `folder`: one for each node, or the observer's.
fn targets(
    folder: &Path,
    origin: &Origin,
    nodes: Vec<NamedNode>,
) -> Result<(Vec<Target<FileAppend>>, Vec<PathBuf>)> {
    let told = |path: &Path, error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::new(format!(
            "{}: there is a file already; choose another --out or remove it",
            path.display()
        )),
        _ => Failure::at(path, error),
    };
    std::fs::create_dir_all(folder).map_err(|error| told(folder, error))?;
    let mut whose: Vec<Option<NamedNode>> = nodes.into_iter().map(Some).collect();
    if whose.is_empty() {
        whose.push(None);
    }
    let mut targets = Vec::new();
    let mut paths = Vec::new();
    for node in whose {
        let name = origin.header(node.as_ref()).node;
        let path = folder.join(format!("{name}.reel"));
        let made = File::options().write(true).create_new(true).open(&path);
        let out = FileAppend::new(made.map_err(|error| {
            remove(&paths);
            told(&path, error)
        })?);
        targets.push(Target { out, node });
        paths.push(path);
    }
    Ok((targets, paths))
}

/// Takes away reels that hold nothing, or not all.
fn remove(reels: &[PathBuf]) {
    for reel in reels {
        let _ = std::fs::remove_file(reel);
    }
}

/// How many packets are in no reel, where there are such.
pub fn nobodys(count: u64) -> Option<String> {
    let belong = if count == 1 { "belongs" } else { "belong" };
    let packets = text::counted(count, "packet");
    (count > 0).then(|| format!("{packets} {belong} to no node of --node, and are in no reel"))
}

/// What is said of the reel of a node that has no packet.
pub fn without_packets(reel: &Path) -> String {
    format!(
        "{}: no packet has this node's address; check what stands behind --node",
        reel.display()
    )
}

/// Says what was made; whether a node that was named has no packet.
fn told(imported: &Imported, reels: &[PathBuf], named: bool, out: &mut dyn Write) -> Result<bool> {
    let counts = &imported.counts;
    for (path, packets) in reels.iter().zip(&imported.packets) {
        let packets = text::counted(*packets, "packet");
        writeln!(out, "{packets}: {}", path.display())?;
    }
    let other = counts.not_ip + counts.not_udp;
    if other > 0 {
        let frames = text::counted(counts.frames, "frame");
        writeln!(out, "of {frames} {other} were no UDP and were left out")?;
    }
    if let Some(sentence) = nobodys(imported.nobodys) {
        writeln!(out, "{sentence}")?;
    }
    let mut empty = false;
    for (path, packets) in reels.iter().zip(&imported.packets) {
        if named && *packets == 0 {
            writeln!(out, "{}", without_packets(path))?;
            empty = true;
        }
    }
    Ok(empty)
}
