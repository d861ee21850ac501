// The data: read once, then kept true by the event stream. Survives a restart of the daemon.

const ACTIVE = "/api/v1/jobs?active=1&limit=300";
const FINISHED = "/api/v1/jobs?state=COMPLETED,FAILED,CANCELLED,TIMEOUT,OUT_OF_MEMORY,NODE_FAIL&limit=20";
const RETRY_MS = [500, 1000, 2000, 5000];

export class Live {
  constructor(onChange) {
    this.onChange = onChange;
    this.jobs = new Map();
    this.gpus = new Map();
    this.leftOut = 0;
    this.status = null;
    this.state = "connecting"; // live, reconnecting, out
    this.seq = 0;
    this.skewMs = 0;           // the daemon's clock minus ours
    this.heardAt = null;
    this.failures = 0;
    this.source = null;
    this.timer = null;
    this.lists = null;
    this.late = null;          // what the stream told while the lists were being read
    this.isStale = false;      // they changed meanwhile and are to be read again
  }

  now() { return Date.now() + this.skewMs; }

  async start() {
    try {
      await this.readAll();
      this.listen();
    } catch (error) {
      this.lost(error);
    }
  }

  async get(path) {
    const reply = await fetch(path, { headers: { Accept: "application/json" }, cache: "no-store", signal: AbortSignal.timeout(15000) });
    if (reply.status === 401) throw new SignedOut();
    if (!reply.ok) throw new Error(`${reply.status}`);
    return reply.json();
  }

  async readAll() {
    const [status, gpus, active, finished] = await Promise.all([this.get("/api/v1/status"), this.get("/api/v1/gpus"), this.get(ACTIVE), this.get(FINISHED)]);
    this.status = status;
    this.skewMs = new Date(status.now).getTime() - Date.now();
    this.gpus = new Map(gpus.gpus.map((gpu) => [gpu.uuid, gpu]));
    // What changed between them is told by the events since the earliest.
    this.seq = Math.min(status.seq, gpus.seq, active.seq, finished.seq);
    this.takeLists(active, finished);
  }

  takeLists(active, finished) {
    this.jobs = new Map([...active.jobs, ...finished.jobs].map((job) => [job.id, job]));
    this.leftOut = active.left_out;
    this.heardAt = new Date();
    this.onChange();
  }

  // Places, reasons and forecasts of those who wait shift with every change of others: the list is read again soon after.
  readListSoon() {
    if (this.late) this.isStale = true;
    else if (!this.lists) this.lists = setTimeout(() => this.readLists(), 1000);
  }

  // A list is as old as its answer: what the stream told meanwhile is newer and is put over it, in order.
  async readLists() {
    const late = this.late = [];
    try {
      const lists = await Promise.all([this.get(ACTIVE), this.get(FINISHED)]);
      this.takeLists(...lists);
      late.forEach((change) => change());
      this.onChange();
    } catch { /* the stream notices what is wrong */ }
    this.lists = this.late = null;
    if (this.isStale) this.readListSoon();
    this.isStale = false;
  }

  apply(change) {
    this.late?.push(change);
    change();
    this.onChange();
  }

  listen() {
    const source = new EventSource(`/api/v1/events?since=${this.seq}`);
    this.source = source;
    const on = (name, take) => source.addEventListener(name, (event) => {
      if (event.lastEventId) this.seq = Number(event.lastEventId);
      this.heardAt = new Date();
      take(JSON.parse(event.data));
    });
    // Progress has no number to resume from: the lists tell what was missed between them and the stream.
    on("hello", () => { this.failures = 0; this.set("live"); this.readListSoon(); });
    on("reset", () => { this.close(); this.start(); });
    on("job", (job) => { this.apply(() => this.takeJob(job)); this.readListSoon(); });
    on("gpu", (gpu) => { this.gpus.set(gpu.uuid, gpu); this.onChange(); });
    on("progress", (note) => this.apply(() => this.takeProgress(note)));
    on("sample", (sample) => {
      const gpu = this.gpus.get(sample.uuid);
      if (gpu) { gpu.util_permille = sample.util_permille; gpu.mem_used_bytes = sample.mem_used_bytes; this.onChange(); }
    });
    source.onerror = () => this.lost(new Error("stream"));
  }

  takeJob(job) {
    if (job.forgotten) this.jobs.delete(job.id);
    else this.jobs.set(job.id, job);
  }

  takeProgress(note) {
    const job = this.jobs.get(note.id);
    if (job) job.progress = note.progress;
  }

  close() {
    this.source?.close();
    this.source = null;
  }

  lost(error) {
    this.close();
    if (error instanceof SignedOut) {
      this.set("out");
      return;
    }
    this.set("reconnecting");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.start(), RETRY_MS[Math.min(this.failures++, RETRY_MS.length - 1)]);
  }

  set(state) {
    this.state = state;
    this.onChange();
  }
}

export class SignedOut extends Error {}
