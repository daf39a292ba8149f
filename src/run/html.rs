//! A run as one page: what it comes to, and a picture of each bad match.

use std::fmt::Write;
use std::path::Path;

use netreel_scenario::{Share, Sums};

use super::report;
use super::sums::{Over, matches, percent};
use crate::outcome::{Failure, Result};

/// So many bad matches have a picture: a page is to be read.
#[cfg(feature = "gui")]
const PICTURES_MAX: usize = 20;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;\
    color:#222}table{border-collapse:collapse}td,th{text-align:left;padding:.15rem 1.2rem .15rem 0;\
    vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
    img{max-width:100%;border:1px solid #ccc}code{background:#f2f2f2;padding:.1rem .3rem}\
    h2{margin-top:2.2rem}.bad{color:#b00020}";

/// Writes it.
pub fn write(file: &Path, over: &Over<'_>, sums: &Sums) -> Result {
    let name = escaped(over.name);
    let word = if sums.bad.count > 0 { "bad" } else { "good" };
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{name}</title>\
         <style>{STYLE}</style>\n<h1>{name}</h1>\n<p>{}: <b class=\"{word}\">{} bad</b>, {}; {:.1} s \
         each.</p>\n",
        matches(sums.bad.of),
        sums.bad.count,
        percent(sums.bad),
        sums.took[1],
    );
    if !sums.rules.is_empty() {
        page.push_str("<table><tr><th>finding<th class=n>matches<th>share\n");
        for (rule, share) in &sums.rules {
            page.push_str(&row(rule, *share));
        }
        page.push_str("</table>\n");
    }
    let bad = over.matches.iter().filter(|it| it.is_bad(over.level));
    for (at, played) in bad.enumerate() {
        let (number, seed, took) = (played.number, played.seed, played.took);
        let _ = writeln!(
            page,
            "<h2>Match {number}</h2>\n<p>Seed {seed}, {took:.1} s.</p>\n<ul>"
        );
        for reason in report::reasons(played, over.level) {
            let _ = writeln!(page, "<li>{}", escaped(&reason));
        }
        page.push_str("</ul>\n");
        if let Some(folder) = over.kept.get(&number) {
            let shown = escaped(&folder.display().to_string());
            let _ = writeln!(page, "<p><code>netreel inspect {shown}</code></p>");
            page.push_str(&picture(folder, at));
        }
    }
    std::fs::write(file, page)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))
}

fn row(rule: &str, share: Share) -> String {
    let (rule, count) = (escaped(rule), share.count);
    format!("<tr><td>{rule}<td class=n>{count}<td>{}\n", percent(share))
}

/// The timeline of the `at`th bad match, in the page itself; nothing where it cannot be drawn.
#[cfg(feature = "gui")]
fn picture(folder: &Path, at: usize) -> String {
    use base64::Engine;
    use netreel_inspector::theme::Theme;

    use crate::inspect::drawn::{Shown, draw};
    use crate::inspect::models::model;

    if at >= PICTURES_MAX {
        return String::new();
    }
    let file = folder.join("timeline.png");
    let drawn = super::judge::story(folder, None).and_then(|mut story| {
        let looks = (Shown::default(), Theme::default());
        let drawn = draw(model(&mut story, ""), looks, (1400, 760), &file);
        drawn.map_err(|failure| failure.to_string())
    });
    let bytes = drawn.ok().and_then(|()| std::fs::read(&file).ok());
    bytes.map_or(String::new(), |bytes| {
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        format!("<img alt=\"the timeline\" src=\"data:image/png;base64,{text}\">\n")
    })
}

#[cfg(not(feature = "gui"))]
fn picture(_: &Path, _: usize) -> String {
    String::new()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
