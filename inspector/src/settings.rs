//! How the window is laid out and looks: what is kept between two times that it is opened.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use netreel_inspector_model::{
    Column, FIELDS_MAX, LanePlan, OwnColumns, PlotBy, Plotted, Rules, Sorting,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::layout::{Tree, Workspace};
use crate::theme::Theme;

/// How the window looks, and what was opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// `dark`, `light`, `contrast`, `contrast-light` or `system`.
    pub theme: String,
    /// How large everything is: 1 is as designed. From [`SCALE_MIN`] to [`SCALE_MAX`].
    pub scale: f32,
    /// The panes of the workspaces that a hand has changed, by their names.
    pub layouts: BTreeMap<String, Tree>,
    /// Fields that are columns of the packet table, by their paths: at most [`FIELDS_MAX`].
    pub columns: Vec<String>,
    /// Whether the packet table has the time on the wall clock.
    pub clock: bool,
    /// Whether it has the time since the row before.
    pub since: bool,
    /// Whether it has the time since the packet before of the same link.
    pub since_on_link: bool,
    /// Whether the packet table has the time from the selected packet.
    pub since_selected: bool,
    /// By which column the packet table is sorted; `None`: by time.
    pub sorted: Option<KeptSorting>,
    /// The field that is drawn over time; `None`: the value in focus is.
    pub plotted: Option<KeptPlot>,
    /// What was opened, the last first: at most [`RECENT_MAX`] sessions, each with its paths.
    #[serde(deserialize_with = "recent")]
    pub recent: Vec<Vec<PathBuf>>,
    /// The rules whose findings are neither listed nor marked.
    #[serde(with = "rules")]
    pub muted: Rules,
    /// The sessions whose lanes lie otherwise than at first, the last changed first: at most
    /// [`LANES_MAX`].
    pub lanes: Vec<KeptLanes>,
}

/// How the lanes of a session lie.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptLanes {
    /// Of what is recorded at these paths.
    pub of: Vec<PathBuf>,
    /// How.
    #[serde(flatten, with = "Plan")]
    pub plan: LanePlan,
}

/// By which column the packet table is sorted, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSorting {
    by: KeptColumn,
    down: bool,
}

/// A column as it is kept: a field by its path, another one by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KeptColumn {
    Field(String),
    #[serde(untagged)]
    Named(String),
}

/// The columns that are of no single packet, by the names by which they are kept.
const TIMES: [(&str, Column); 3] = [
    ("since", Column::Since),
    ("since-on-link", Column::OnLink),
    ("since-selected", Column::Selected),
];

/// All columns but those of fields, by their names.
fn named() -> impl Iterator<Item = (&'static str, Column)> {
    Column::fields()
        .map(|(name, field)| (name, Column::Of(field)))
        .chain(TIMES)
}

/// A field that is drawn over time, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPlot {
    path: String,
    /// A line for each object, and not for each link.
    by_object: bool,
}

impl KeptSorting {
    /// Of a table with these columns.
    pub(crate) fn new(sorting: Sorting, columns: &OwnColumns) -> Option<KeptSorting> {
        let by = match sorting.by {
            Column::Field(place) => {
                KeptColumn::Field(columns.fields.get(usize::from(place))?.clone())
            }
            by => KeptColumn::Named(named().find(|(_, it)| *it == by)?.0.to_owned()),
        };
        let down = sorting.down;
        Some(KeptSorting { by, down })
    }

    /// For a table with these columns; `None` where it has not the one that this is by.
    pub(crate) fn sorting(&self, columns: &OwnColumns) -> Option<Sorting> {
        let by = match &self.by {
            KeptColumn::Named(name) => named().find(|(known, _)| known == name)?.1,
            KeptColumn::Field(path) => {
                Column::Field(u8::try_from(columns.fields.iter().position(|it| it == path)?).ok()?)
            }
        };
        let down = self.down;
        Some(Sorting { by, down })
    }
}

impl KeptPlot {
    pub(crate) fn new(plotted: &Plotted) -> KeptPlot {
        KeptPlot {
            path: plotted.path.clone(),
            by_object: plotted.by == PlotBy::Object,
        }
    }

    pub(crate) fn plotted(&self) -> Plotted {
        let by = if self.by_object {
            PlotBy::Object
        } else {
            PlotBy::Link
        };
        let path = self.path.clone();
        Plotted { path, by }
    }
}

/// A plan of lanes as it is kept: nodes by their names.
#[derive(Serialize, Deserialize)]
#[serde(remote = "LanePlan")]
struct Plan {
    #[serde(default)]
    order: Vec<String>,
    #[serde(default)]
    hidden: BTreeSet<String>,
    #[serde(default)]
    alone: BTreeSet<String>,
    #[serde(default)]
    by_host: bool,
    #[serde(default)]
    folded: BTreeSet<String>,
}

/// Rules as a list of their names.
mod rules {
    use super::*;

    pub fn serialize<S: Serializer>(rules: &Rules, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(rules.iter())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Rules, D::Error> {
        BTreeSet::deserialize(from).map(Arc::new)
    }
}

/// An older netreel kept one text for each session.
fn recent<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Vec<PathBuf>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Kept {
        Path(PathBuf),
        Paths(Vec<PathBuf>),
    }
    let kept = Vec::<Kept>::deserialize(from)?;
    Ok(kept
        .into_iter()
        .map(|kept| match kept {
            Kept::Path(path) => vec![path],
            Kept::Paths(paths) => paths,
        })
        .collect())
}

/// The least and the largest scale at which the window can be worked with.
pub const SCALE_MIN: f32 = 0.5;
/// See [`SCALE_MIN`].
pub const SCALE_MAX: f32 = 3.0;

/// How many paths are kept.
pub const RECENT_MAX: usize = 8;

/// How many sessions keep the order of their lanes.
pub const LANES_MAX: usize = 32;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            theme: Theme::default().name().to_owned(),
            scale: 1.0,
            layouts: BTreeMap::new(),
            columns: Vec::new(),
            clock: false,
            since: false,
            since_on_link: false,
            since_selected: false,
            sorted: None,
            plotted: None,
            recent: Vec::new(),
            muted: Rules::default(),
            lanes: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads what [`Settings::to_json`] wrote.
    ///
    /// # Errors
    /// The text is no such JSON: where, and what was expected.
    pub fn from_json(text: &str) -> Result<Settings, String> {
        let settings: Settings = serde_json::from_str(text).map_err(|it| it.to_string())?;
        Ok(settings.sane())
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Nobody can drag back what has no room left.
    fn sane(mut self) -> Settings {
        self.layouts = std::mem::take(&mut self.layouts)
            .into_iter()
            .filter(|(name, _)| Workspace::named(name).is_ok())
            .filter_map(|(name, tree)| Some((name, tree.sane()?)))
            .collect();
        self.recent.truncate(RECENT_MAX);
        self.lanes.truncate(LANES_MAX);
        self.columns.retain(|path| !path.is_empty());
        self.columns.truncate(FIELDS_MAX);
        self.scale = if self.scale.is_finite() {
            self.scale.clamp(SCALE_MIN, SCALE_MAX)
        } else {
            1.0
        };
        self
    }

    /// The theme; the usual one where there is none of that name.
    pub fn theme(&self) -> Theme {
        Theme::named(&self.theme).unwrap_or_default()
    }

    /// The columns that somebody has added to the packet table.
    pub(crate) fn own_columns(&self) -> OwnColumns {
        OwnColumns {
            clock: self.clock,
            since: self.since,
            on_link: self.since_on_link,
            selected: self.since_selected,
            fields: self.columns.clone(),
        }
    }

    /// The paths of a session as a person reads them.
    pub fn named(paths: &[PathBuf]) -> String {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Puts the paths of a session before those that were opened earlier, so that they can be opened
    /// from any folder. A path that is no text cannot be kept.
    pub fn opened(&mut self, paths: &[PathBuf]) {
        let Some(paths) = lasting(paths) else {
            return;
        };
        self.recent.retain(|known| *known != paths);
        self.recent.insert(0, paths);
        self.recent.truncate(RECENT_MAX);
    }

    /// How the lanes of what is recorded at these paths lay last.
    pub(crate) fn lanes_of(&self, paths: &[PathBuf]) -> Arc<LanePlan> {
        let paths = lasting(paths);
        let mut kept = self.lanes.iter();
        let kept = paths.and_then(|paths| kept.find(|kept| kept.of == paths));
        kept.map(|kept| kept.plan.clone())
            .unwrap_or_default()
            .into()
    }

    /// Keeps how they lie.
    pub(crate) fn keep_lanes(&mut self, paths: &[PathBuf], plan: &LanePlan) {
        let Some(of) = lasting(paths) else {
            return;
        };
        self.lanes.retain(|kept| kept.of != of);
        if *plan != LanePlan::default() {
            let plan = plan.clone();
            self.lanes.insert(0, KeptLanes { of, plan });
            self.lanes.truncate(LANES_MAX);
        }
    }
}

/// Paths that name the same from any folder; `None` where one of them is no text, or there are none.
fn lasting(paths: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let paths: Vec<PathBuf> = paths
        .iter()
        .map(std::path::absolute)
        .collect::<Result<_, _>>()
        .ok()?;
    (paths.iter().all(|path| path.to_str().is_some()) && !paths.is_empty()).then_some(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Pane;

    #[test]
    fn what_is_kept_is_what_was_there() {
        let tree = Tree::beside(Some(0.25), Pane::Bytes, Pane::Timeline);
        let mut settings = Settings {
            layouts: [("why".to_owned(), tree)].into(),
            columns: vec!["messages.create.object".to_owned()],
            clock: true,
            since: true,
            since_on_link: true,
            since_selected: true,
            muted: Arc::new(["late-action".to_owned()].into()),
            ..Settings::default()
        };
        let plan = LanePlan {
            order: vec!["X".to_owned(), "A".to_owned()],
            hidden: ["B".to_owned()].into(),
            by_host: true,
            ..LanePlan::default()
        };
        let [race, other] = ["/race", "/the other one"].map(|it| vec![PathBuf::from(it)]);
        let both = [race.clone(), other.clone()].concat();
        settings.keep_lanes(&race, &plan);
        settings.opened(&race);
        settings.opened(&both);
        settings.opened(&race);
        let again = Settings::from_json(&settings.to_json());
        assert_eq!(again.as_ref(), Ok(&settings));
        assert_eq!(*again.unwrap_or_default().lanes_of(&race), plan);
        assert_eq!(*settings.lanes_of(&both), LanePlan::default());
        assert_eq!(settings.recent, [race.clone(), both]);
        // Lanes that lie as at first take no room.
        settings.keep_lanes(&race, &LanePlan::default());
        assert_eq!(settings.lanes, []);
    }

    #[test]
    fn a_path_of_an_older_netreel_is_a_session() {
        let settings = Settings::from_json(r#"{"recent": ["/race", ["/a", "/b"]]}"#).unwrap();
        let [race, a, b] = ["/race", "/a", "/b"].map(PathBuf::from);
        assert_eq!(settings.recent, [vec![race], vec![a, b]]);
    }

    #[test]
    fn what_makes_no_sense_is_refused_or_put_right() {
        assert!(Settings::from_json("{").is_err());
        // What an older netreel kept is left out.
        assert!(Settings::from_json("{\"details\": 7.0}").is_ok());
        let text = r#"{"theme": "mauve", "scale": 40.0, "layouts": {
            "why": {"beside": {"share": 7.0, "first": {"pane": "bytes"}, "second": {"pane": "packets"}}},
            "packets": {"above": {"share": 0.5, "first": {"pane": "bytes"}, "second": {"pane": "bytes"}}},
            "cellar": {"pane": "bytes"}
        }}"#;
        let settings = Settings::from_json(text).unwrap();
        let right = Tree::beside(Some(0.95), Pane::Bytes, Pane::Packets);
        assert_eq!(settings.layouts, [("why".to_owned(), right)].into());
        assert_eq!(settings.theme(), Theme::Dark);
        assert_eq!(settings.scale, SCALE_MAX);
    }
}
