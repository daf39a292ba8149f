//! Everything by its name: what can be done, and where one can go. Ctrl+P.

use egui::{Align2, Role, Sense, Ui, vec2};
use netreel_inspector_model::{Command, LaneMove, Model};
use netreel_protocol::session::{PacketId, SessionTime};

use super::bar::Asked;
use super::dialogs::{self, Said, Typed};
use super::{columns, control, filter_box, label, replay};
use crate::keys::{self, Do};
use crate::layout::{Edge, Move, Pane};
use crate::theme::{self, Theme};

/// How many rows are shown.
const ROWS: usize = 14;
/// How many objects, findings and links can be found by their names.
const NAMES_MAX: usize = 5_000;
const ROW: f32 = 21.0;

/// What is being looked for.
#[derive(Clone, Debug, Default)]
pub struct Finder {
    typed: Typed,
    /// Which of the rows that fit.
    at: usize,
    names: Names,
}

/// What the session has names for, as it was when somebody began to type.
#[derive(Clone, Debug, Default)]
struct Names {
    /// How many of each there were.
    of: Option<[usize; 5]>,
    rows: Vec<Named>,
    /// Those that fit the text that was looked for last: how well, and their places.
    fit: Option<(String, Vec<(usize, usize)>)>,
}

/// Something with a name.
#[derive(Clone, Debug)]
struct Named {
    lower: String,
    found: Found,
}

/// Something that can be found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// By what it is found.
    pub name: String,
    /// Its key, where it has one.
    pub key: String,
    /// What it does.
    pub what: Do,
}

impl Found {
    fn new(name: String, what: Do) -> Found {
        let key = String::new();
        Found { name, key, what }
    }
}

/// Draws the box and the rows that fit.
/// `sits` is whether somebody sits in a replay.
pub fn show(ui: &Ui, model: &Model, shown: (&[Pane], bool), finder: &mut Finder) -> Said<Do> {
    dialogs::over(ui, "finder", 600.0, |ui, said| {
        let before = finder.typed.text.clone();
        // Up and down are the list's.
        filter_box::moved_by_keys(ui, &mut finder.at, usize::MAX);
        let hint = "a command, a pane, an object, a finding, `packet 120`, `1.2s`, a filter";
        let title = label::body("Do or go");
        let (_, entered) = dialogs::line(ui, (title, hint), &mut finder.typed, false);
        if finder.typed.text != before {
            finder.at = 0;
        }
        let found = find(model, shown, &finder.typed.text, &mut finder.names);
        finder.at = finder.at.min(found.len().saturating_sub(1));
        ui.add_space(4.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        for (place, row) in found.iter().enumerate() {
            if line(ui, row, place == finder.at) || (entered && place == finder.at) {
                *said = Said::Answer(row.what.clone());
            }
        }
        if found.is_empty() {
            ui.label(label::weak("nothing is called so"));
        }
        // As high with few rows as with many, so that nothing jumps while somebody types.
        ui.add_space((ROWS - found.len().clamp(1, ROWS)) as f32 * ROW);
    })
}

fn line(ui: &mut Ui, row: &Found, is_selected: bool) -> bool {
    let (rect, response) = control::row(ui, ROW, Sense::click());
    control::selectable(&response, Role::ListItem, is_selected, &row.name);
    let painter = ui.painter();
    control::shade(painter, rect, 2.0, is_selected, &response);
    let key = label::elided(painter, &row.key, theme::small(), 120.0, theme::weak());
    let room = rect.width() - key.size().x - 24.0;
    label::cell(painter, rect, 6.0, room, &row.name, theme::text());
    let at = Align2::RIGHT_CENTER.anchor_size(rect.right_center() - vec2(6.0, 0.0), key.size());
    painter.galley(at.min, key, theme::weak());
    response.clicked()
}

/// What fits a text best; without one what there is to do.
fn find(model: &Model, shown: (&[Pane], bool), text: &str, names: &mut Names) -> Vec<Found> {
    let text = text.trim();
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let mut fits: Vec<(usize, Found)> = Vec::new();
    for row in to_do(model, shown) {
        fits.extend(fit(&row.name.to_lowercase(), &words).map(|first| (first, row)));
    }
    if !words.is_empty() {
        names.look(model);
        fits.extend(
            names
                .fitting(&lower, &words)
                .map(|(first, it)| (first, it.found.clone())),
        );
    }
    fits.sort_by_key(|(first, _)| *first);
    let mut found: Vec<Found> = direct(model, text).into_iter().collect();
    found.extend(fits.into_iter().map(|(_, row)| row));
    found.truncate(ROWS);
    if !text.is_empty() && found.len() < ROWS {
        found.push(Found {
            name: format!("filter by {text}"),
            key: "/".to_owned(),
            what: Do::Command(Command::SetFilter(text.to_owned())),
        });
    }
    found
}

/// Whether a name has all words: 0 where it begins so, which comes first.
fn fit(lower: &str, words: &[&str]) -> Option<usize> {
    let has_all = words.iter().all(|word| lower.contains(word));
    let begins = words.first().is_none_or(|word| lower.starts_with(word));
    has_all.then_some(usize::from(!begins))
}

impl Names {
    /// Gathers them, unless they are those that were gathered before.
    fn look(&mut self, model: &Model) {
        let of = [
            model.session().traffic().len(),
            model.history().objects.len(),
            model.bookmark_rows().len(),
            model.history().findings.len(),
            model.lanes().len(),
        ];
        if self.of == Some(of) {
            return;
        }
        let rows = named(model).into_iter().map(|found| Named {
            lower: found.name.to_lowercase(),
            found,
        });
        *self = Names {
            of: Some(of),
            rows: rows.collect(),
            fit: None,
        };
    }

    /// The first that fit, those that begin so before the others.
    fn fitting(&mut self, text: &str, words: &[&str]) -> impl Iterator<Item = (usize, &Named)> {
        if self.fit.as_ref().is_none_or(|(of, _)| of != text) {
            let mut fits: Vec<(usize, usize)> = self
                .rows
                .iter()
                .enumerate()
                .filter_map(|(place, row)| Some((fit(&row.lower, words)?, place)))
                .collect();
            fits.sort_unstable();
            fits.truncate(ROWS);
            self.fit = Some((text.to_owned(), fits));
        }
        let fits = self.fit.as_ref().map_or(&[][..], |(_, fits)| fits);
        fits.iter()
            .filter_map(|&(first, place)| Some((first, self.rows.get(place)?)))
    }
}

/// What a text names by itself: a packet, a time.
fn direct(model: &Model, text: &str) -> Option<Found> {
    let number = text.strip_prefix("packet ").unwrap_or(text).trim();
    if let Ok(number) = number.parse::<u32>()
        && model.packet(PacketId(number)).is_some()
    {
        let command = Command::SelectPacket(PacketId(number));
        let name = format!("go to packet {number}");
        return Some(Found::new(name, Do::Command(command)));
    }
    let units = [("ms", 1e6), ("us", 1e3), ("ns", 1.0), ("s", 1e9)];
    let (number, ns) = units
        .into_iter()
        .find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)))?;
    let number: f64 = number
        .trim()
        .parse()
        .ok()
        .filter(|it: &f64| it.is_finite())?;
    let at = SessionTime((number * ns) as i64);
    let name = format!("put the cursor at {text}");
    Some(Found::new(name, Do::Command(Command::GoToTime(at))))
}

/// What can be done, whatever the session holds.
fn to_do(model: &Model, (panes, sits): (&[Pane], bool)) -> Vec<Found> {
    let mut all = Vec::new();
    for act in keys::ACTS {
        match act.done(model) {
            // It is open already.
            Some(Do::Asked(Asked::Find)) | None => {}
            // No lane is at hand where one types: each is found by its name.
            Some(Do::Asked(Asked::Lane(_))) => {}
            Some(what) => all.push(Found {
                name: act.name.to_owned(),
                key: act.keys(),
                what,
            }),
        }
    }
    let mut add = |name: String, what: Do| all.push(Found::new(name, what));
    for (name, command) in [
        ("take the cursor away", Command::SetCursor(None)),
        ("end the story", Command::EndStory),
        ("clear the filter", Command::SetFilter(String::new())),
        (
            "lanes by their hosts, or not",
            Command::Lanes(LaneMove::ByHost(!model.lane_plan().by_host)),
        ),
        ("all lanes as at first", Command::Lanes(LaneMove::AsAtFirst)),
    ] {
        add(name.to_owned(), Do::Command(command));
    }
    let sorts = columns::sort_offers(model, &model.columns());
    let plots = model.plot_offers();
    for (name, command) in model.column_offers().into_iter().chain(sorts).chain(plots) {
        add(name, Do::Command(command));
    }
    for (name, asked) in [
        ("open a wire", Asked::Wire),
        ("try the wires that are known", Asked::Candidates),
        ("list the matches of the run", Asked::Run),
        ("copy a text for a bug report", Asked::Report),
        ("write a picture of the window", Asked::Picture),
        ("write what the filter takes as a session", Asked::Cut),
        ("follow while it is recorded", Asked::Follow(true)),
        ("panes as they were at first", Asked::Layout),
    ] {
        add(name.to_owned(), Do::Asked(asked));
    }
    let heard = model.heard_rules().map(|rule| ("mute", rule, true));
    let muted = model.muted_rows().into_iter();
    for (word, rule, mutes) in heard.chain(muted.map(|row| ("unmute", row.rule, false))) {
        let command = Do::Command(Command::Mute(rule.to_owned(), mutes));
        add(format!("{word} the rule {rule}"), command);
    }
    for (_, name, command) in replay::BUTTONS.into_iter().filter(|_| sits) {
        add(format!("replay: {name}"), Do::Asked(Asked::Say(command)));
    }
    for node in model
        .session()
        .nodes
        .iter()
        .filter(|node| node.recorded && !sits)
    {
        let sit = Do::Asked(Asked::Sit(node.name.clone()));
        add(format!("replay {}", node.name), sit);
    }
    all.extend(looks(panes));
    all
}

/// What can be done to how the window looks.
fn looks(panes: &[Pane]) -> Vec<Found> {
    let mut all = Vec::new();
    let mut add = |name: String, asked: Asked| all.push(Found::new(name, Do::Asked(asked)));
    for (name, theme) in Theme::ALL {
        add(format!("colours: {name}"), Asked::Theme(theme));
    }
    for (name, pane) in Pane::ALL {
        let (word, what) = if panes.contains(&pane) {
            ("hide", Move::Hide(pane))
        } else {
            ("show", Move::Edge(pane, Edge::Bottom))
        };
        add(format!("{word} pane {name}"), Asked::Pane(what));
        add(format!("pane {name} alone"), Asked::Pane(Move::Alone(pane)));
    }
    all
}

/// What the session has names for.
fn named(model: &Model) -> Vec<Found> {
    let mut all = Vec::new();
    let mut add = |name: String, command: Command| {
        all.push(Found::new(name, Do::Command(command)));
    };
    for &link in model.session().traffic().keys().take(NAMES_MAX) {
        add(
            format!("link {}", model.link_label(link)),
            Command::SelectLink(Some(link)),
        );
    }
    for &object in model.history().objects.keys().take(NAMES_MAX) {
        add(
            format!("object {}", model.object_name(object)),
            Command::SelectObject(Some(object)),
        );
    }
    for row in model.bookmark_rows().iter().take(NAMES_MAX) {
        add(
            format!("bookmark {}: {}", row.title, row.note),
            Command::GoToBookmark(row.place),
        );
    }
    for &node in model.lanes().iter().take(NAMES_MAX) {
        let name = model.lane_name(node);
        for (what, change) in [
            ("hide, or show again", LaneMove::Toggle(node)),
            ("alone, or all again", LaneMove::Alone(node)),
            ("up", LaneMove::Up(node)),
            ("down", LaneMove::Down(node)),
            (
                "with all nodes of its host in one lane, or not",
                LaneMove::Fold(node),
            ),
        ] {
            add(format!("lane {name}: {what}"), Command::Lanes(change));
        }
    }
    for (place, finding) in model.history().findings.iter().enumerate().take(NAMES_MAX) {
        let name = format!("finding {}: {}", finding.rule, finding.sentence);
        add(name, Command::SelectFinding(place));
    }
    all
}
