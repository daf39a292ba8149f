//! `netreel inspect`: the window, or a picture of it.

mod bookmarks;
mod comparing;
mod cutting;
pub mod drawn;
mod host;
mod kept;
mod listing;
mod opening;
mod settings;
mod sitting;
mod wires;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use netreel_inspector::theme::Theme;
use netreel_inspector::{
    Answer as Heard, Command, Model, Options, Pane, Place, SCALE_MAX, SCALE_MIN, Settings,
    Workspace,
};
use netreel_protocol::session::{PacketId, Session};
use netreel_system::{Cancel, locked};

use crate::arguments::{Inspect, Source};
use crate::open;
use crate::outcome::{Answer, Result, fail};
use crate::replay::boxes::Changes;
use crate::replay::engine::Engine;
use crate::replay::watched;
use crate::rules::Tested;
use drawn::{Looks, Shown, draw_with, filtered, ruled, size};
use host::Opener;

/// What opens within this is shown with the first frame, or told on the terminal where it fails.
const AT_ONCE: Duration = Duration::from_millis(400);

pub fn run(arguments: &Inspect, out: &mut dyn Write) -> Result<Answer> {
    let Some(layer) = &arguments.layer else {
        return run_here(arguments, out);
    };
    if !watched::is_child() {
        return watched::run(layer);
    }
    watched::say_safe(false);
    // A file that is no plugin is told before there is a window.
    let loaded = Engine::asked(Some(layer), Changes::default()).map(drop);
    let answer = loaded.and_then(|()| run_here(arguments, out));
    out.flush()?;
    watched::say_safe(true);
    answer
}

/// What the command line asks for, read.
struct Asked {
    filter: String,
    shown: Shown,
    theme: Option<Theme>,
    size: (u32, u32),
    rules: Option<Tested>,
}

impl Asked {
    fn read(arguments: &Inspect) -> Result<Asked> {
        let workspace = named("--workspace", &arguments.workspace, Workspace::named)?;
        let alone = named("--alone", &arguments.alone, Pane::named)?;
        let theme = named("--theme", &arguments.theme, Theme::named)?;
        let size = size(&arguments.size)?;
        let scale = arguments.scale;
        if scale.is_some_and(|scale| !(SCALE_MIN..=SCALE_MAX).contains(&scale)) {
            let why = format!("--scale: give a factor from {SCALE_MIN} to {SCALE_MAX}");
            return fail(why);
        }
        Ok(Asked {
            filter: arguments.filter.clone().unwrap_or_default(),
            shown: (workspace, alone),
            theme,
            size,
            rules: Tested::named(arguments.rules.as_deref())?,
        })
    }

    /// Fails where the filter is none for this session.
    fn check_filter(&self, session: &Session) -> Result {
        let own = self.rules.as_ref().map_or(&[][..], |it| &it.file.rules);
        open::query_beside(Some(&self.filter), session, own).map(drop)
    }
}

/// What an option names.
fn named<T>(
    option: &str,
    name: &Option<String>,
    find: fn(&str) -> Result<T, String>,
) -> Result<Option<T>> {
    let found = name.as_deref().map(find).transpose();
    Ok(found.map_err(|why| format!("{option}: {why}"))?)
}

fn run_here(arguments: &Inspect, out: &mut dyn Write) -> Result<Answer> {
    let asked = Asked::read(arguments)?;
    let is_named = !arguments.source.paths.is_empty();
    if !is_named && (arguments.screenshot.is_some() || arguments.follow) {
        let why = "name what to show: reels, a folder of reels, or a packet capture";
        return fail(why);
    }
    match &arguments.screenshot {
        Some(file) => draw_asked(arguments, asked, file, out),
        None => show_asked(arguments, asked, out),
    }
}

/// Draws a picture of what was asked for.
fn draw_asked(
    arguments: &Inspect,
    asked: Asked,
    file: &Path,
    out: &mut dyn Write,
) -> Result<Answer> {
    let looks = Looks {
        shown: asked.shown,
        theme: asked.theme.unwrap_or_default(),
        scale: arguments.scale.unwrap_or(1.0),
    };
    match kept::run(&arguments.source.paths) {
        None => {}
        Some(Heard::Failed(why)) => return fail(why),
        Some(run) => {
            let nothing = Model::of_session(Arc::default(), &[]);
            draw_with(nothing, looks, asked.size, file, vec![run])?;
            writeln!(out, "{}", file.display())?;
            return Ok(Answer::Clean);
        }
    }
    let mut story = open::story(&arguments.source)?;
    asked.check_filter(&story.session)?;
    let mut model = ruled(&mut story, &asked.filter, asked.rules.as_ref())?;
    model.finish();
    if let Err(why) = bookmarks::show(&arguments.source.paths, &mut model) {
        anstream::eprintln!("netreel: {why}");
    }
    point(&mut model, arguments)?;
    let mut heard = match &arguments.sit {
        None => Vec::new(),
        Some(node) => sitting::stands(&arguments.source, &story, node, arguments)?,
    };
    if let Some(path) = &arguments.compare {
        heard.push(comparing::opened(
            &arguments.source,
            path,
            &Cancel::default(),
        )?);
    }
    let mut _played = None;
    if let Some(changes) = &arguments.played_on {
        let with = (changes.as_str(), arguments.layer.as_deref());
        let (answer, folder) = comparing::played_on(&arguments.source, with, &Cancel::default())?;
        heard.push(answer);
        _played = Some(folder);
    }
    draw_with(model, looks, asked.size, file, heard)?;
    writeln!(out, "{}", file.display())?;
    story.wait_for_index();
    story.answered(out)
}

/// Shows what was asked for in the window, until it is closed.
fn show_asked(arguments: &Inspect, asked: Asked, out: &mut dyn Write) -> Result<Answer> {
    let mut opener = Opener::new(arguments.source.clone(), asked.filter.clone());
    opener.rules.clone_from(&asked.rules);
    opener.layer.clone_from(&arguments.layer);
    if let Some(path) = &arguments.compare {
        opener.compare_first(path.clone());
    }
    let shown = opener.shown();
    match arguments.follow {
        _ if arguments.source.paths.is_empty() => {}
        true => opener.follow(),
        false => opener.open(),
    }
    if arguments.filters {
        opener.hear_filters();
    }
    let place = if arguments.beside {
        Place::Right
    } else {
        Place::Whole
    };
    let model = match opener.wait(AT_ONCE) {
        Some(Heard::Failed(why)) => return fail(why),
        Some(Heard::Opened { model, .. }) => {
            asked.check_filter(model.session())?;
            let mut model = *model;
            if let Err(why) = bookmarks::show(&arguments.source.paths, &mut model) {
                opener.unheard(Heard::Failed(why));
            }
            model
        }
        // The window hears it with its first frame.
        answer => {
            if let Some(answer) = answer {
                opener.unheard(answer);
            }
            let mut model = Model::of_session(Arc::default(), &[]);
            filtered(&mut model, &asked.filter);
            model
        }
    };
    let looks = (asked.theme, arguments.scale, place);
    show(model, asked.shown, looks, &arguments.source.paths, opener)?;
    // What the window has found out meanwhile is kept as well.
    let story = locked(&shown).take();
    match story {
        Some(story) => story.answered(out),
        None => Ok(Answer::Clean),
    }
}

/// Shows the time and the packet that were asked for.
fn point(model: &mut Model, arguments: &Inspect) -> Result {
    if let Some(number) = arguments.select {
        let packet = PacketId(number);
        let count = model.session().packet_count();
        if model.packet(packet).is_none() {
            return fail(format!(
                "--select {number}: the session has {count} packets, numbered from 0"
            ));
        }
        model.apply(Command::SelectPacket(packet));
    }
    let time = |text: &Option<String>| text.as_deref().map(open::time).transpose();
    let (from, to) = (time(&arguments.from)?, time(&arguments.to)?);
    if from.is_some() || to.is_some() {
        let span = model.span();
        let range = from.unwrap_or(span.start)..to.unwrap_or(span.end);
        if range.start >= range.end {
            let why = "--from and --to: the session's picture has to begin before it ends";
            return fail(why);
        }
        model.apply(Command::Show(range));
    }
    if let Some(at) = time(&arguments.at)? {
        model.apply(Command::SetCursor(Some(at)));
    }
    if arguments.around {
        let Some((before, after)) = model.around_packet() else {
            let why = "--around: no packet is selected; give one with --select NUMBER";
            return fail(why);
        };
        model.apply(Command::SetCursor(Some(after)));
        model.apply(Command::Pin(Some(before)));
    }
    Ok(())
}

/// Opens the window on a session that is there; returns when it is closed.
pub fn window(model: Model, folder: &Path) -> Result {
    let opener = Opener::new(Source::alone(folder), String::new());
    let paths = [folder.to_owned()];
    let looks = (None, None, Place::Whole);
    show(model, Shown::default(), looks, &paths, opener)
}

/// A session of the samples.
#[cfg(test)]
fn sample() -> Source {
    Source::alone(&Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host"))
}

fn show(
    model: Model,
    (workspace, alone): Shown,
    (theme, scale, place): (Option<Theme>, Option<f32>, Place),
    paths: &[PathBuf],
    opener: Opener,
) -> Result {
    let mut settings = settings::kept();
    let recent = settings.recent.clone();
    settings.opened(paths);
    if settings.recent != recent
        && let Err(why) = settings::keep(&settings)
    {
        anstream::eprintln!("netreel: {why}");
    }
    if let Some(theme) = theme {
        settings.theme = theme.name().to_owned();
    }
    if let Some(scale) = scale {
        settings.scale = scale;
    }
    let options = Options {
        workspace,
        alone,
        title: Settings::named(paths),
        settings,
        place,
        welcomes: paths.is_empty(),
        ..Options::default()
    };
    Ok(netreel_inspector::run(model, options, Box::new(opener))?)
}
