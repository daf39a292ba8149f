//! Which pane is drawn where, and by what.

use egui::{CentralPanel, Frame, Margin, Panel, Ui};
use netreel_inspector_model::Commands;

use super::Inspector;
use crate::layout::{Pane, Workspace};
use crate::panes;
use crate::theme;
use crate::views::{
    bar, bytes, candidates, compare, course, fields, findings, ledger, link, links, map, minimap,
    notes, objects, packets, parting, replay, status, timeline, top, values, welcome,
};

impl Inspector {
    pub(super) fn panels(&mut self, ui: &mut Ui, commands: &mut Commands) {
        let model = &self.model;
        let is_welcome = self.welcomes && model.session().nodes.is_empty();
        self.bar.welcomes = is_welcome;
        let (bar, workspace, settings) = (&mut self.bar, self.workspace, &self.settings);
        let panes = self.arrangement.tree(workspace).panes();
        let bars = Panel::top("top").frame(bar_frame()).show(ui, |ui| {
            top::show(ui, model, bar, (workspace, &panes), settings, commands);
        });
        if let Some((sentence, color)) = top::said(model, bar) {
            let at = bars.response.rect.left_bottom() + egui::vec2(8.0, 4.0);
            top::sentence(ui, at, (&sentence, color), bar);
        }
        if !is_welcome {
            Panel::bottom("status")
                .frame(bar_frame())
                .show(ui, |ui| status::show(ui, model, bar, commands));
        }
        let (arrangement, pointed) = (&mut self.arrangement, &mut self.pointed);
        let looks = &mut self.looks;
        let (seat, requests) = (&mut self.seat, &mut self.requests);
        let (other, settings) = (&mut self.other, &self.settings);
        let plain = Frame::NONE.fill(theme::panel());
        CentralPanel::default().frame(plain).show(ui, |ui| {
            // Nothing is there yet: what there is to say is what is being done.
            if model.session().nodes.is_empty()
                && let Some(working) = &bar.working
            {
                return findings::empty(ui, &format!("{working}…"));
            }
            if is_welcome {
                return welcome::show(ui, settings, &mut bar.asked);
            }
            minimap::show(ui, model, commands);
            panes::show(ui, model, workspace, arrangement, &mut |ui, pane| {
                if ui
                    .input(|input| input.pointer.hover_pos())
                    .is_some_and(|at| ui.max_rect().contains(at))
                {
                    *pointed = Some(pane);
                }
                // What was selected in the session below is shown where one packet is.
                if other.is_focus && workspace == Workspace::Compare {
                    match pane {
                        Pane::Packets => return compare::of_other(ui, other, packets::show),
                        Pane::Fields => return compare::of_other(ui, other, fields::show),
                        Pane::Bytes => return compare::of_other(ui, other, bytes::show),
                        _ => {}
                    }
                }
                match pane {
                    Pane::Timeline => timeline::show(ui, model, commands),
                    Pane::Objects => objects::show(ui, model, commands),
                    Pane::Packets => packets::show(ui, model, commands),
                    Pane::Fields => fields::show(ui, model, commands),
                    Pane::Bytes => bytes::show(ui, model, commands),
                    Pane::Findings => findings::show(ui, model, commands),
                    Pane::Values => values::show(ui, model, &mut looks.values, commands),
                    Pane::Map => map::show(ui, model, &mut looks.map, commands),
                    Pane::Course => course::show(ui, model, commands),
                    Pane::Other => compare::show(ui, model, other, commands),
                    Pane::Differences => {
                        compare::differences(ui, model, other, settings, commands, requests);
                    }
                    Pane::Replay => replay::show(ui, model, seat, requests),
                    Pane::Layer => replay::layer(ui, seat),
                    Pane::Parting => parting::show(ui, seat),
                    Pane::Links => links::show(ui, model, commands),
                    Pane::Link => link::show(ui, model, commands),
                    Pane::Notes => {
                        bar.asked.extend(
                            notes::show(ui, model, &mut looks.notes, commands)
                                .map(bar::Asked::Bookmark),
                        );
                    }
                    Pane::Ledger => ledger::show(ui, model, &mut looks.ledger, commands),
                }
            });
            if candidates::is_asked(ui.ctx()) {
                bar.asked.push(bar::Asked::Candidates);
            }
        });
    }
}

fn bar_frame() -> Frame {
    Frame::NONE
        .fill(theme::head())
        .inner_margin(Margin::symmetric(10, 5))
}
