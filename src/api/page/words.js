// All that the page says, in both languages. Reasons are made from their codes and parameters.

const plural = (n, word) => `${n ?? "?"} ${word}${n === 1 ? "" : "s"}`;

const english = {
  language: "中文",
  language_code: "zh",
  skip: "Skip to content",
  simulated: "Simulated cards: no GPU is behind them. Jobs are real programs; utilisation and memory are made up.",
  cards: "Cards", running: "Running", queue: "Queue", finished: "Recently finished",
  cards_count: (free, all) => `${free} of ${all} free`,
  running_empty: "Nothing runs. Submit a job: berth submit --gpus 1 -- python train.py",
  queue_empty: "Nobody waits.",
  finished_empty: "Nothing has finished lately.",
  queue_more: (n) => `and ${n} more; berth queue lists all`,
  live: "live", connecting: "connecting…", reconnecting: "reconnecting…", out: "signed out",
  signed_out: "Your session is over. Type berth web in a terminal on the machine and open the link it prints.",
  stale: (at) => `The daemon does not answer. What you see is from ${at}; running jobs go on without it.`,
  use: "use", memory: "memory", unknown: "unknown",
  card_states: { free: "free", busy: "busy", idle: "idle", drained: "drained", lost: "lost" },
  states: { PENDING: "waiting", HELD: "held", RUNNING: "running", STOPPING: "stopping", COMPLETED: "completed", FAILED: "failed", CANCELLED: "cancelled", TIMEOUT: "timed out", OUT_OF_MEMORY: "out of memory", NODE_FAIL: "card lost" },
  job: (id) => `job ${id}`,
  since: (span) => `for ${span}`,
  nobody: "nobody",
  drained_by: (by, note) => `by ${by}${note ? `: ${note}` : ""}`,
  gpus: (n) => (n === 0 ? "no GPU" : plural(n, "GPU")),
  on: (indexes) => `on ${indexes}`,
  ran_of: (span, limit) => `${span} of ${limit}`,
  ran: (span) => `${span}, no limit`,
  no_progress: "no progress reported",
  waited: (span) => `waits ${span}`,
  starts: (earliest, latest) => (latest ? (earliest && earliest !== latest ? `starts ${earliest} to ${latest}` : `starts by ${latest}`) : "start not known yet"),
  ended: (at, span) => `${at}, ran ${span}`,
  ended_unrun: (at) => `${at}, never ran`,
  exit: (code, signal) => (signal ? `signal ${signal}` : code === null ? "exit code unknown" : `exit code ${code}`),
  output: "Output", hide: "Hide", cancel: "Cancel",
  output_of: (id) => `Output of job ${id}`, cancel_of: (id) => `Cancel job ${id}`,
  no_output: "No output yet.", loading: "Loading…",
  cancel_ask: (id, name) => `Cancel job ${id} (${name})?`,
  cancel_help: "A running job is asked to stop, and killed when its grace time is over.",
  cancel_yes: "Cancel the job", keep: "Keep it",
  failed: (message) => `That did not work: ${message}`,
  reasons: {
    None: () => "",
    Starting: () => "is being started",
    JobHeldUser: () => "held until somebody releases it",
    BeginTime: (p, t) => `begins not before ${t(p.begin_at)}`,
    BackOff: (p, t) => `failed ${plural(p.failures, "time")} in a row; again at ${t(p.retry_at)}`,
    Resources: (p) => `needs ${plural(p.asked, "GPU")}; ${p.free} of the ${p.suit} that suit ${p.free === 1 ? "is" : "are"} free`,
    Priority: (p) => `would fit, but starting now could delay job ${p.job}, which is ahead`,
    NoDevices: (p) => `needs ${plural(p.asked, "GPU")}; ${p.in_service} of those that suit in service, ${p.out_of_service} drained or lost`,
    Stopping: (p, t) => (p.deadline_at ? `is being stopped; killed at ${t(p.deadline_at)} if it has not ended` : "is ending"),
    NonZeroExitCode: (p) => `ended with exit code ${p.exit_code}`,
    RaisedSignal: (p) => `ended by signal ${p.signal}`,
    TimeLimit: (p, t, d) => `reached its time limit of ${d(p.limit_ms)}`,
    Cancelled: () => "cancelled",
    Requeued: () => "put back into the queue by somebody",
    Preempted: () => "stopped for a more urgent job; runs again",
    DeviceFailed: (p) => `the driver lost GPU ${p.index ?? "?"}`,
    OutOfMemory: () => "killed by the kernel: the machine's memory was out",
    ExitCodeUnknown: () => "its watcher was killed, so nobody saw the exit code",
    JobLaunchFailure: () => "could not be started",
    OutputFailed: () => "its output file could not be opened",
    ExecFailed: () => "its command could not be run",
  },
};

const chinese = {
  language: "English",
  language_code: "en",
  skip: "跳到内容",
  simulated: "模拟的卡：背后没有真实的 GPU。任务是真实的程序，利用率和显存数字是模拟的。",
  cards: "显卡", running: "运行中", queue: "排队", finished: "最近结束",
  cards_count: (free, all) => `${all} 张中空闲 ${free} 张`,
  running_empty: "没有任务在运行。提交一个：berth submit --gpus 1 -- python train.py",
  queue_empty: "没有人在排队。",
  finished_empty: "最近没有任务结束。",
  queue_more: (n) => `还有 ${n} 个；用 berth queue 查看全部`,
  live: "实时", connecting: "连接中…", reconnecting: "重新连接中…", out: "未登录",
  signed_out: "会话已结束。请在这台机器的终端里输入 berth web，再打开它给出的链接。",
  stale: (at) => `守护进程没有应答。下面是 ${at} 的情况；运行中的任务不受影响。`,
  use: "利用率", memory: "显存", unknown: "未知",
  card_states: { free: "空闲", busy: "忙", idle: "占而不用", drained: "停用", lost: "掉卡" },
  states: { PENDING: "等待", HELD: "挂起", RUNNING: "运行", STOPPING: "停止中", COMPLETED: "完成", FAILED: "失败", CANCELLED: "已取消", TIMEOUT: "超时", OUT_OF_MEMORY: "内存不足", NODE_FAIL: "掉卡" },
  job: (id) => `任务 ${id}`,
  since: (span) => `已 ${span}`,
  nobody: "无人使用",
  drained_by: (by, note) => `${by} 停用${note ? `：${note}` : ""}`,
  gpus: (n) => (n === 0 ? "不用卡" : `${n} 张卡`),
  on: (indexes) => `卡 ${indexes}`,
  ran_of: (span, limit) => `${span} / ${limit}`,
  ran: (span) => `${span}，无时限`,
  no_progress: "没有报告进度",
  waited: (span) => `已等 ${span}`,
  starts: (earliest, latest) => (latest ? (earliest && earliest !== latest ? `${earliest} 到 ${latest} 之间开始` : `最迟 ${latest} 开始`) : "开始时间还不知道"),
  ended: (at, span) => `${at}，运行了 ${span}`,
  ended_unrun: (at) => `${at}，没有运行过`,
  exit: (code, signal) => (signal ? `信号 ${signal}` : code === null ? "退出码未知" : `退出码 ${code}`),
  output: "输出", hide: "收起", cancel: "取消",
  output_of: (id) => `任务 ${id} 的输出`, cancel_of: (id) => `取消任务 ${id}`,
  no_output: "还没有输出。", loading: "读取中…",
  cancel_ask: (id, name) => `取消任务 ${id}（${name}）？`,
  cancel_help: "运行中的任务会先收到停止请求，宽限时间过后才会被强制结束。",
  cancel_yes: "取消任务", keep: "保留",
  failed: (message) => `没有成功：${message}`,
  reasons: {
    None: () => "",
    Starting: () => "正在启动",
    JobHeldUser: () => "被挂起，要有人放行才会继续",
    BeginTime: (p, t) => `指定了开始时间，${t(p.begin_at)} 之后才开始`,
    BackOff: (p, t) => `连续失败 ${p.failures} 次，${t(p.retry_at)} 再试`,
    Resources: (p) => `需要 ${p.asked} 张卡；合适的 ${p.suit} 张里空闲 ${p.free} 张`,
    Priority: (p) => `放得下，但现在开始可能耽误排在前面的任务 ${p.job}`,
    NoDevices: (p) => `需要 ${p.asked} 张卡；合适的卡里可用 ${p.in_service} 张，停用或掉卡 ${p.out_of_service} 张`,
    Stopping: (p, t) => (p.deadline_at ? `正在停止；到 ${t(p.deadline_at)} 还没结束就强制结束` : "正在结束"),
    NonZeroExitCode: (p) => `以退出码 ${p.exit_code} 结束`,
    RaisedSignal: (p) => `被信号 ${p.signal} 终止`,
    TimeLimit: (p, t, d) => `到达时限 ${d(p.limit_ms)}`,
    Cancelled: () => "已取消",
    Requeued: () => "有人把它放回了队列",
    Preempted: () => "为更紧急的任务让路，会重新运行",
    DeviceFailed: (p) => `驱动丢失了卡 ${p.index ?? "?"}`,
    OutOfMemory: () => "机器内存用尽，被内核终止",
    ExitCodeUnknown: () => "看护进程被杀，没有人看到退出码",
    JobLaunchFailure: () => "没能启动",
    OutputFailed: () => "打不开输出文件",
    ExecFailed: () => "命令无法运行",
  },
};

const languages = { en: english, zh: chinese };
const remembered = () => { try { return localStorage.getItem("berth-language"); } catch { return null; } };
const preferred = () => (navigator.languages ?? [navigator.language ?? "en"])[0].startsWith("zh") ? "zh" : "en";

let code = languages[remembered()] ? remembered() : preferred();

export const words = () => languages[code];
export const languageCode = () => code;
export function switchLanguage() {
  code = languages[code].language_code;
  try { localStorage.setItem("berth-language", code); } catch { /* a private window forgets */ }
}

export function reasonWords(reason) {
  const make = words().reasons[reason.code];
  return make ? make(reason.params, moment, span) : reason.code;
}

const two = (n) => String(n).padStart(2, "0");

// 0:42, 3:05:09, 2d 04:11
export function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  const days = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
  if (days > 0) return `${days}d ${two(h)}:${two(m)}`;
  return h > 0 ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}

// 19:16 today, otherwise with its date
export function moment(iso) {
  const at = new Date(iso);
  if (!iso || Number.isNaN(at.getTime())) return words().unknown;
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
  const today = new Date();
  if (at.toDateString() === today.toDateString()) return clock;
  const day = `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return at.getFullYear() === today.getFullYear() ? `${day} ${clock}` : `${at.getFullYear()}-${day}`;
}

export function bytes(n) {
  if (n === null || n === undefined) return "?";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return `${n >= 10 || Number.isInteger(n) ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}
