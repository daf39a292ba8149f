// Starts `netreel wire lsp`, which does the rest.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate(context) {
  const settings = vscode.workspace.getConfiguration("netreel");
  const server = { command: settings.get("command"), args: ["wire", "lsp"] };
  const options = {
    documentSelector: [{ language: "netreel" }],
    initializationOptions: { capture: settings.get("capture") },
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.wire") },
  };
  client = new LanguageClient("netreel", "netreel wire", server, options);
  const choose = async () => {
    const chosen = await vscode.window.showOpenDialog({
      canSelectFiles: true,
      canSelectFolders: true,
      openLabel: "Show its values",
    });
    if (chosen === undefined || chosen.length === 0) {
      return;
    }
    try {
      await vscode.commands.executeCommand("netreel.openCapture", chosen[0].fsPath);
    } catch (error) {
      vscode.window.showErrorMessage(`netreel: ${error.message}`);
    }
  };
  context.subscriptions.push(vscode.commands.registerCommand("netreel.chooseCapture", choose));
  await client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
