//! `netreel inspect`: the window, or a picture of it.

mod bookmarks;
mod comparing;
mod cutting;
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
    Answer as Heard, Command, Inspector, Model, Options, Pane, Place, SCALE_MAX, SCALE_MIN,
    Settings, Workspace,
};

use netreel_protocol::history::History;
use netreel_protocol::rules::RuleFile;
use netreel_protocol::session::PacketId;

use crate::arguments::{Inspect, Source};
use crate::open::{self, Story};
use crate::outcome::{Answer, Failure};
use crate::replay::boxes::Changes;
use crate::replay::engine::Engine;
use crate::replay::watched;
use crate::rules;
use host::Opener;

/// A file of rules, whose tests have passed.
pub type Own = (PathBuf, RuleFile);

/// What opens within this is shown with the first frame, or told on the terminal where it fails.
const AT_ONCE: Duration = Duration::from_millis(400);

/// A workspace, where somebody chose one, and the pane of it that has all of the window.
pub type Shown = (Option<Workspace>, Option<Pane>);

pub fn run(arguments: &Inspect, out: &mut dyn Write) -> Result<Answer, Failure> {
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

fn run_here(arguments: &Inspect, out: &mut dyn Write) -> Result<Answer, Failure> {
    let filter = arguments.filter.clone().unwrap_or_default();
    let workspace = arguments.workspace.as_deref().map(Workspace::named);
    let workspace = workspace.transpose();
    let workspace = workspace.map_err(|why| Failure::new(format!("--workspace: {why}")))?;
    let alone = arguments.alone.as_deref().map(Pane::named).transpose();
    let alone = alone.map_err(|why| Failure::new(format!("--alone: {why}")))?;
    let shown_first = (workspace, alone);
    let theme = arguments.theme.as_deref().map(Theme::named).transpose();
    let theme = theme.map_err(|why| Failure::new(format!("--theme: {why}")))?;
    let size = size(&arguments.size)?;
    let scale = arguments.scale;
    if scale.is_some_and(|scale| !(SCALE_MIN..=SCALE_MAX).contains(&scale)) {
        let why = format!("--scale: give a factor from {SCALE_MIN} to {SCALE_MAX}");
        return Err(Failure::new(why));
    }
    let own = arguments.rules.as_deref();
    let own = own.map(|path| Ok::<Own, Failure>((path.to_owned(), rules::tested(path)?)));
    let own = own.transpose()?;
    let own_rules = own.as_ref().map_or(&[][..], |(_, file)| &file.rules);
    let is_named = !arguments.source.paths.is_empty();
    if !is_named && (arguments.screenshot.is_some() || arguments.follow) {
        let why = "name what to show: reels, a folder of reels, or a packet capture";
        return Err(Failure::new(why));
    }
    if let Some(file) = &arguments.screenshot {
        let looks = Looks {
            shown: shown_first,
            theme: theme.unwrap_or_default(),
            scale: scale.unwrap_or(1.0),
        };
        match kept::run(&arguments.source.paths) {
            None => {}
            Some(Heard::Failed(why)) => return Err(Failure::new(why)),
            Some(run) => {
                let nothing = Model::of_session(Arc::default(), &[]);
                draw_with(nothing, looks, size, file, vec![run])?;
                writeln!(out, "{}", file.display())?;
                return Ok(Answer::Clean);
            }
        }
        let mut story = open::story(&arguments.source)?;
        open::query_beside(Some(&filter), &story.session, own_rules)?;
        let mut model = ruled(&mut story, &filter, own.as_ref())?;
        model.finish();
        if let Err(why) = bookmarks::show(&arguments.source.paths, &mut model) {
            anstream::eprintln!("netreel: {why}");
        }
        point(&mut model, arguments)?;
        let stands = match &arguments.sit {
            None => Vec::new(),
            Some(node) => sitting::stands(&arguments.source, &story, node, arguments)?,
        };
        let mut stands = stands;
        if let Some(path) = &arguments.compare {
            stands.push(comparing::opened(&arguments.source, path, &|| true)?);
        }
        let mut _played = None;
        if let Some(changes) = &arguments.played_on {
            let with = (changes.as_str(), arguments.layer.as_deref());
            let (answer, folder) = comparing::played_on(&arguments.source, with, &|| true)?;
            stands.push(answer);
            _played = Some(folder);
        }
        draw_with(model, looks, size, file, stands)?;
        writeln!(out, "{}", file.display())?;
        story.wait_for_index();
        return story.answered(out);
    }
    let mut opener = Opener::new(arguments.source.clone(), filter.clone());
    opener.rules.clone_from(&own);
    opener.layer.clone_from(&arguments.layer);
    if let Some(path) = &arguments.compare {
        opener.compare_first(path.clone());
    }
    let shown = opener.shown();
    match arguments.follow {
        _ if !is_named => {}
        true => opener.follow(),
        false => opener.open(),
    }
    if arguments.filters {
        opener.hear_filters();
    }
    let place = match arguments.beside {
        true => Place::Right,
        false => Place::Whole,
    };
    let model = match opener.wait(AT_ONCE) {
        Some(Heard::Failed(why)) => return Err(Failure::new(why)),
        Some(Heard::Opened { model, .. }) => {
            open::query_beside(Some(&filter), model.session(), own_rules)?;
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
            filtered(&mut model, &filter);
            model
        }
    };
    let paths = &arguments.source.paths;
    show(model, shown_first, (theme, scale, place), paths, opener)?;
    // What the window has found out meanwhile is kept as well.
    let story = shown.lock().ok().and_then(|mut shown| shown.take());
    match story {
        Some(story) => story.answered(out),
        None => Ok(Answer::Clean),
    }
}

/// Shows the time and the packet that were asked for.
fn point(model: &mut Model, arguments: &Inspect) -> Result<(), Failure> {
    if let Some(number) = arguments.select {
        let packet = PacketId(number);
        let count = model.session().packet_count();
        if model.packet(packet).is_none() {
            return Err(Failure::new(format!(
                "--select {number}: the session has {count} packets, numbered from 0"
            )));
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
            return Err(Failure::new(why));
        }
        model.apply(Command::Show(range));
    }
    if let Some(at) = time(&arguments.at)? {
        model.apply(Command::SetCursor(Some(at)));
    }
    if arguments.around {
        let Some((before, after)) = model.around_packet() else {
            let why = "--around: no packet is selected; give one with --select NUMBER";
            return Err(Failure::new(why));
        };
        model.apply(Command::SetCursor(Some(after)));
        model.apply(Command::Pin(Some(before)));
    }
    Ok(())
}

/// `1600x1000`
pub fn size(text: &str) -> Result<(u32, u32), Failure> {
    let parsed = text.split_once('x').and_then(|(width, height)| {
        let size = (width.parse::<u32>().ok()?, height.parse::<u32>().ok()?);
        let sane = (320..=8192).contains(&size.0) && (240..=8192).contains(&size.1);
        sane.then_some(size)
    });
    parsed.ok_or_else(|| {
        Failure::new(format!(
            "--size {text}: write WIDTHxHEIGHT, from 320x240 to 8192x8192"
        ))
    })
}

/// A model of the story, filtered. The history of many packets is worked out while they are shown.
/// Their index is kept meanwhile, so that whoever opens them again finds it whenever the window closes,
/// and once more with the history.
pub fn model(story: &mut Story, filter: &str) -> Model {
    let keep = story.take_index();
    let mut model = Model::open_and(story.session.clone(), &story.unread, keep);
    filtered(&mut model, filter);
    model
}

/// The same with what the rules of a file find.
fn ruled(story: &mut Story, filter: &str, rules: Option<&Own>) -> Result<Model, Failure> {
    let Some((path, file)) = rules else {
        return Ok(model(story, filter));
    };
    let mut history = History::build(&story.session);
    rules::add((path, file), &story.session, &mut history)?;
    story.keep_index();
    let history = Arc::new(history);
    let mut model = Model::without(story.session.clone(), history, &story.unread);
    filtered(&mut model, filter);
    Ok(model)
}

fn filtered(model: &mut Model, filter: &str) {
    if !filter.is_empty() {
        model.apply(Command::SetFilter(filter.to_owned()));
    }
}

/// Draws a picture of the window as it is laid out at first.
pub fn draw(
    model: Model,
    looks: (Shown, Theme),
    size: (u32, u32),
    file: &Path,
) -> Result<(), Failure> {
    let (shown, theme) = looks;
    let looks = Looks {
        shown,
        theme,
        scale: 1.0,
    };
    draw_with(model, looks, size, file, Vec::new())
}

/// How a picture is drawn.
struct Looks {
    shown: Shown,
    theme: Theme,
    scale: f32,
}

/// The same of a window that has heard these answers.
fn draw_with(
    mut model: Model,
    looks: Looks,
    size: (u32, u32),
    file: &Path,
    heard: Vec<Heard>,
) -> Result<(), Failure> {
    model.finish();
    let (workspace, alone) = looks.shown;
    let mut inspector = Inspector::new(model, workspace);
    inspector.show_alone(alone);
    inspector.set_settings(Settings {
        theme: looks.theme.name().to_owned(),
        scale: looks.scale,
        ..Settings::default()
    });
    heard.into_iter().for_each(|answer| inspector.hear(answer));
    netreel_inspector::draw(&mut inspector, size, file).map_err(Failure::new)
}

/// Opens the window on a session that is there; returns when it is closed.
pub fn window(model: Model, folder: &Path) -> Result<(), Failure> {
    let opener = Opener::new(alone(folder), String::new());
    let paths = [folder.to_owned()];
    let looks = (None, None, Place::Whole);
    show(model, Shown::default(), looks, &paths, opener)
}

/// What is recorded at a path, with nothing beside it, and no index of it.
fn alone(path: &Path) -> Source {
    Source {
        paths: vec![path.to_owned()],
        keys: None,
        wire: None,
        bounds: None,
        no_index: true,
    }
}

/// A session of the samples.
#[cfg(test)]
fn sample() -> Source {
    alone(&Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/sessions/host"))
}

fn show(
    model: Model,
    (workspace, alone): Shown,
    (theme, scale, place): (Option<Theme>, Option<f32>, Place),
    paths: &[PathBuf],
    opener: Opener,
) -> Result<(), Failure> {
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
    netreel_inspector::run(model, options, Box::new(opener)).map_err(Failure::new)
}
