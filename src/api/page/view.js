// What is seen. Every text goes in as text, never as markup; rows are kept and changed in place, so that nothing jumps.

import { bytes, moment, reasonWords, span, words } from "/assets/words.js";

const FINISHED_SHOWN = 20;
const LETTERS = { free: "F", busy: "B", idle: "I", drained: "D", lost: "L" };
const FINAL = new Set(["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL"]);

export function make(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

// Characters that move the cursor or turn the text around, so that what is seen is not what is there.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const plain = (text) => text.replace(HIDDEN, "?");

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Names come from people: kept apart from the text around them, whichever way they run.
const isolated = (className) => make("bdi", className);

function setAttribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

// Keep the children of list in step with items: made once per key, moved only when they must be.
function keep(list, items, key, create, update) {
  const known = (list.rows ??= new Map());
  const wanted = new Set(items.map(key));
  for (const [id, node] of known) {
    if (wanted.has(id)) continue;
    node.remove();
    known.delete(id);
  }
  let at = list.firstElementChild;
  for (const item of items) {
    let node = known.get(key(item));
    if (!node) known.set(key(item), (node = create(item)));
    if (node === at) at = at.nextElementSibling;
    else list.insertBefore(node, at);
    update(node, item);
  }
}

function meter() {
  const label = make("span", "label"), bar = make("progress"), value = make("span", "value");
  bar.max = 1000;
  const node = make("div", "meter", label, bar, value);
  node.show = (name, permille, text) => {
    setText(label, name);
    setAttribute(bar, "aria-label", `${name} ${text}`);
    bar.value = permille ?? 0;
    setText(value, text);
  };
  return node;
}

function createCard() {
  const node = make("li", "card");
  const parts = { index: make("span", "index"), model: make("span", "model"), letter: make("b"), state: make("span"), holder: make("div", "holder"), since: make("div", "holder quiet"), use: meter(), memory: meter() };
  node.append(make("div", "top", parts.index, parts.model, make("span", "state", parts.letter, parts.state)), parts.holder, parts.since, parts.use, parts.memory);
  parts.user = isolated();
  parts.job = make("span");
  parts.holder.append(parts.user, parts.job);
  node.parts = parts;
  return node;
}

function updateCard(node, gpu, live) {
  const p = node.parts, w = words();
  setAttribute(node, "data-state", gpu.state);
  setText(p.index, String(gpu.index));
  setText(p.model, gpu.model);
  setText(p.letter, LETTERS[gpu.state] ?? "?");
  setText(p.state, w.card_states[gpu.state] ?? gpu.state);
  setText(p.user, gpu.user ?? (gpu.drain ? w.drained_by(gpu.drain.by, plain(gpu.drain.note)) : w.nobody));
  setText(p.job, gpu.jobs.length ? ` · ${gpu.jobs.map(w.job).join(", ")}` : "");
  setText(p.since, gpu.since ? w.since(span(live.now() - new Date(gpu.since))) : "");
  p.use.show(w.use, gpu.util_permille, gpu.util_permille === null ? w.unknown : `${Math.round(gpu.util_permille / 10)} %`);
  p.memory.show(w.memory, gpu.mem_used_bytes === null ? null : Math.round((gpu.mem_used_bytes / gpu.mem_total_bytes) * 1000),
    gpu.mem_used_bytes === null ? w.unknown : `${bytes(gpu.mem_used_bytes)} / ${bytes(gpu.mem_total_bytes)}`);
}

function createJob(job, actions) {
  const node = make("li");
  const p = { id: make("span", "id"), name: isolated("name"), user: isolated("user"), state: make("span"), gpus: make("span", "gpus"), line: make("span"), sub: make("div", "sub"), bar: make("progress"), output: make("button"), cancel: make("button", "bad"), log: make("pre", "log") };
  p.bar.max = 1000;
  p.log.hidden = true;
  p.log.tabIndex = 0;
  p.output.type = p.cancel.type = "button";
  p.output.addEventListener("click", () => actions.output(job.id, p));
  p.cancel.addEventListener("click", () => actions.cancel(node.job));
  node.append(make("div", "job", p.id, p.name, p.user, p.gpus, make("div", "what", make("div", "line", make("span", "state", p.state), p.line), p.bar, p.sub), make("div", "buttons", p.output, p.cancel)), p.log);
  node.parts = p;
  return node;
}

const indexes = (job) => job.device_indexes.filter((i) => i !== null).join(", ");

function runningText(job, live) {
  const w = words();
  const ran = job.start_time ? live.now() - new Date(job.start_time) : 0;
  return job.limit_ms === null ? w.ran(span(ran)) : w.ran_of(span(ran), span(job.limit_ms));
}

function finishedText(job) {
  const w = words();
  if (!job.start_time) return w.ended_unrun(moment(job.end_time));
  return w.ended(moment(job.end_time), span(new Date(job.end_time) - new Date(job.start_time)));
}

function waitingText(job, live) {
  const w = words();
  const start = job.predicted_start;
  const waits = w.waited(span(live.now() - new Date(job.submit_time)));
  if (!start || job.state === "HELD") return waits;
  // What could begin at once, but waits all the same, has only one end worth telling.
  const isLater = start.earliest && new Date(start.earliest) - live.now() > 60000;
  return `${waits} · ${w.starts(isLater ? moment(start.earliest) : null, start.latest && moment(start.latest))}`;
}

function progressText(progress) {
  if (!progress) return words().no_progress;
  const count = progress.total === null ? "" : `${progress.done}/${progress.total}`;
  return [count, plain(progress.text)].filter(Boolean).join(" · ");
}

const permilleOf = (progress) => (progress && progress.total > 0 ? Math.min(1000, Math.round((progress.done / progress.total) * 1000)) : 0);

function reasonLine(job) {
  if (job.state === "COMPLETED") return words().exit(job.exit_code, job.signal);
  return job.state === "CANCELLED" && job.reason.code === "Cancelled" ? "" : reasonWords(job.reason);
}

function updateJob(node, job, live, kind) {
  const p = node.parts, w = words();
  node.job = job;
  setAttribute(node, "data-state", job.state);
  setText(p.id, String(job.id));
  setText(p.name, plain(job.name));
  p.name.title = plain(job.name);
  setText(p.user, job.user);
  const on = indexes(job);
  setText(p.gpus, `${job.tier} · ${w.gpus(job.gpus)}${on ? ` · ${w.on(on)}` : ""}`);
  const isStarting = job.reason.code === "Starting";
  setText(p.state, kind === "waiting" && job.position ? `#${job.position}` : w.states[job.state] ?? job.state);
  const reason = reasonLine(job);
  const main = kind === "running" && !isStarting && job.state !== "STOPPING" ? progressText(job.progress) : reason;
  setText(p.line, main);
  setText(p.sub, kind === "running" ? runningText(job, live) : kind === "waiting" ? waitingText(job, live) : finishedText(job));
  p.bar.hidden = kind !== "running";
  p.bar.value = permilleOf(job.progress);
  setAttribute(p.bar, "aria-label", progressText(job.progress));
  setText(p.output, p.log.hidden ? w.output : w.hide);
  setAttribute(p.output, "aria-label", w.output_of(job.id));
  setAttribute(p.output, "aria-expanded", String(!p.log.hidden));
  p.output.hidden = job.attempt === 0;
  setText(p.cancel, w.cancel);
  setAttribute(p.cancel, "aria-label", w.cancel_of(job.id));
  p.cancel.hidden = kind === "finished" || job.state === "STOPPING";
}

const isWaiting = (job) => job.state === "HELD" || (job.state === "PENDING" && job.reason.code !== "Starting");
const byPlace = (a, b) => (a.position ?? Infinity) - (b.position ?? Infinity) || a.id - b.id;

export function show(live, actions) {
  const w = words();
  const at = (id) => document.getElementById(id);
  const jobs = [...live.jobs.values()];
  const lists = {
    running: jobs.filter((job) => !FINAL.has(job.state) && !isWaiting(job)).sort((a, b) => a.id - b.id),
    queue: jobs.filter(isWaiting).sort(byPlace),
    finished: jobs.filter((job) => FINAL.has(job.state)).sort((a, b) => new Date(b.end_time) - new Date(a.end_time) || b.id - a.id).slice(0, FINISHED_SHOWN),
  };
  const kinds = { running: "running", queue: "waiting", finished: "finished" };
  const gpus = [...live.gpus.values()].sort((a, b) => a.index - b.index);

  keep(at("cards"), gpus, (gpu) => gpu.uuid, createCard, (node, gpu) => updateCard(node, gpu, live));
  for (const [id, list] of Object.entries(lists)) {
    keep(at(id), list, (job) => job.id, (job) => createJob(job, actions), (node, job) => updateJob(node, job, live, kinds[id]));
    at(`${id}-empty`).hidden = list.length > 0 || !live.status;
  }
  setText(at("cards-count"), gpus.length ? w.cards_count(gpus.filter((gpu) => gpu.state === "free").length, gpus.length) : "");
  setText(at("running-count"), lists.running.length ? String(lists.running.length) : "");
  setText(at("queue-count"), lists.queue.length ? String(lists.queue.length + (live.leftOut ? live.leftOut : 0)) : "");
  at("queue-more").hidden = live.leftOut === 0;
  setText(at("queue-more"), live.leftOut ? w.queue_more(live.leftOut) : "");
}
