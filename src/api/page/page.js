// Wiring: data, view, language, buttons.

import { Live } from "/assets/live.js";
import { setText, show } from "/assets/view.js";
import { languageCode, moment, switchLanguage, words } from "/assets/words.js";

const LOG_BYTES = 16384;
const LOG_MS = 2000;
const TROUBLE_MS = 10000;

const at = (id) => document.getElementById(id);
const openLogs = new Map(); // job id -> parts of its row
let trouble = "";

// Colours and cursor movements of terminals mean nothing here.
const ANSI = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007]*(?:\u0007|\u001b\\)|[\u0000-\u0008\u000b-\u001f\u007f]/g;

function lastState(text) {
  // A progress bar of the terminal rewrites its line: only what stood last is shown.
  return text.split("\n").map((line) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1)).join("\n").replace(ANSI, "");
}

async function readLog(id, parts) {
  const reply = await fetch(`/api/v1/jobs/${id}/log?offset=-${LOG_BYTES}&length=${LOG_BYTES}`, { cache: "no-store" });
  const isAtEnd = parts.log.scrollTop + parts.log.clientHeight >= parts.log.scrollHeight - 4;
  const text = reply.ok ? lastState(await reply.text()) : "";
  setText(parts.log, text || words().no_output);
  if (isAtEnd) parts.log.scrollTop = parts.log.scrollHeight;
}

async function readLogs() {
  for (const [id, parts] of openLogs) {
    if (!parts.log.isConnected) openLogs.delete(id);
    else await readLog(id, parts).catch(() => {});
  }
  setTimeout(readLogs, LOG_MS);
}

async function sendCancel(job) {
  const reply = await fetch(`/api/v1/jobs/${job.id}/cancel`, { method: "POST" });
  if (reply.ok) return "";
  const body = await reply.json().catch(() => null);
  return words().failed(body?.error?.message ?? String(reply.status));
}

const actions = {
  output(id, parts) {
    parts.log.hidden = !parts.log.hidden;
    if (parts.log.hidden) {
      openLogs.delete(id);
    } else {
      setText(parts.log, words().loading);
      openLogs.set(id, parts);
      readLog(id, parts).catch(() => {});
    }
    refresh();
  },
  cancel(job) {
    const dialog = at("confirm");
    setText(at("confirm-text"), words().cancel_ask(job.id, job.name));
    dialog.returnValue = "no";
    dialog.onclose = async () => {
      if (dialog.returnValue !== "yes") return;
      trouble = await sendCancel(job).catch((error) => words().failed(error.message));
      if (trouble) setTimeout(() => { trouble = ""; refresh(); }, TROUBLE_MS);
      refresh();
    };
    dialog.showModal();
  },
};

function showState() {
  const w = words();
  setText(at("live"), w[live.state]);
  at("live").dataset.state = live.state;
  document.body.toggleAttribute("data-ready", live.status !== null);
  document.body.toggleAttribute("data-stale", live.state === "reconnecting" || live.state === "out");
  const text = live.state === "out" ? w.signed_out : live.state === "reconnecting" && live.heardAt ? w.stale(moment(live.heardAt.toISOString())) : trouble;
  at("trouble").hidden = !text;
  setText(at("trouble"), text);
  at("simulated").hidden = !live.status?.is_simulated;
  setText(at("node"), live.status ? `${live.status.node} · ${live.status.owner} · ${live.status.devices} · ${live.status.version}` : "");
}

function showWords() {
  const w = words();
  document.documentElement.lang = languageCode();
  for (const node of document.querySelectorAll("[data-word]")) setText(node, w[node.dataset.word]);
  setText(at("language"), w.language);
  at("language").lang = w.language_code;
}

let isDue = false;
function refresh() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    showState();
    show(live, actions);
  });
}

const live = new Live(refresh);
at("language").addEventListener("click", () => { switchLanguage(); showWords(); refresh(); });
document.addEventListener("visibilitychange", refresh);
showWords();
setInterval(refresh, 1000);
live.start();
readLogs();
