//! What stands in the places of a scenario's texts, once there is a match.

use std::net::Ipv4Addr;

use crate::file::{ConsolePlan, NodePlan, Start};
use crate::fill::{Unfilled, fill};
use crate::node::Filled;
use crate::places::Ports;
use crate::stage::Stage;

impl Stage<'_> {
    /// A node's command and console, with every place filled.
    pub(crate) fn filled(&mut self, plan: &NodePlan) -> Result<(Filled, ConsolePlan), String> {
        // A path of this machine begins where the scenario is; another machine has no such folder.
        let here = &self.scenario.folder;
        let console = match &plan.console {
            ConsolePlan::Remote {
                way,
                address,
                token,
            } => {
                let mut filled = |text: &String| self.fill(plan, text, "");
                let (way, address) = (*way, filled(address)?);
                let token = token.as_ref().map(filled).transpose()?;
                let token = token.map(|file| here.join(file).display().to_string());
                ConsolePlan::Remote {
                    way,
                    address,
                    token,
                }
            }
            other => other.clone(),
        };
        let address = match &console {
            ConsolePlan::Remote { address, .. } => address.as_str(),
            _ => "",
        };
        let mut filled = |text: &String| self.fill(plan, text, address);
        let words = plan.command.iter().map(&mut filled);
        let words = words.collect::<Result<_, _>>()?;
        let environment = plan.environment.iter();
        let environment = environment.map(|(name, value)| Ok((name.clone(), filled(value)?)));
        let environment = environment.collect::<Result<_, String>>()?;
        let folder = plan.folder.as_ref().map(&mut filled).transpose()?;
        let folder = if plan.reach.is_empty() {
            let folder = folder.map_or_else(|| here.clone(), |folder| here.join(folder));
            Some(folder.display().to_string())
        } else {
            folder
        };
        let start = match &plan.start {
            Start::Through(words) => {
                // The command itself comes later.
                let words = words
                    .iter()
                    .map(|word| word.replace("{command}", "{{command}}"));
                let words = words.map(|word| filled(&word));
                Start::Through(words.collect::<Result<_, _>>()?)
            }
            start => start.clone(),
        };
        let quit = plan.quit.as_ref().map(filled).transpose()?;
        let filled = Filled {
            words,
            environment,
            folder,
            start,
            quit,
        };
        Ok((filled, console))
    }

    pub(crate) fn fill(
        &mut self,
        plan: &NodePlan,
        text: &str,
        console: &str,
    ) -> Result<String, String> {
        let (ports, wants, scenario) = (&mut self.ports, self.wants, self.scenario);
        let network = self.network.as_ref();
        let address = |node: &str| -> Result<String, &'static str> {
            let place = scenario.place(node).ok_or("there is no such node")?;
            let network = network.and_then(|it| it.networks.get(place));
            Ok(network
                .map_or(Ipv4Addr::LOCALHOST, |it| it.address())
                .to_string())
        };
        let folder = &self.folder;
        let mut value = |name: &str| {
            let port = |ports: &mut Ports, name: &str| {
                let port = ports.port(name).ok_or("no port is free at 127.0.0.1");
                port.map(|port| port.to_string())
            };
            Ok(match name {
                "address" => address(&plan.name)?,
                "console" => console.to_owned(),
                "match" => wants.number.to_string(),
                "netreel" => wants.asked.netreel.display().to_string(),
                "node" => plan.name.clone(),
                "port" => port(ports, &format!("node {}", plan.name))?,
                "reels" => folder.display().to_string(),
                "role" => plan.role.clone(),
                "run" => wants.run.display().to_string(),
                "seed" => wants.seed.to_string(),
                _ => match name.split_once('.') {
                    Some(("address", node)) => address(node)?,
                    Some(("port", name)) => port(ports, name)?,
                    Some(("secret", name)) => {
                        let file = wants.secrets.file(name).ok_or("there is no such secret")?;
                        file.display().to_string()
                    }
                    _ => scenario.values.get(name).cloned().unwrap_or_default(),
                },
            })
        };
        fill(text, &mut value).map_err(|unfilled: Unfilled<&str>| match unfilled {
            Unfilled::Open => format!("{text:?}: a {{ is not closed"),
            Unfilled::Name(name, why) => format!("{{{name}}}: {why}"),
        })
    }
}
