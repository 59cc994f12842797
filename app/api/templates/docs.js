// Tabs, copy buttons and the box that calls the API. Without this script, the page shows all
// samples one below the other. A key stays in its field and in the request: nothing stores it.
"use strict";

const PLACES = { chat: "/v5/chat/completions", text: "/v5/completions" };
const SHOWN_HEADERS = ["x-request-id", "x-tollgate-attempts", "x-tollgate-cost", "retry-after"];

function make(tag, attributes, text) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

async function copy(source) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(source.textContent);
    return;
  }
  // Pages without TLS have no clipboard.
  getSelection().selectAllChildren(source);
  document.execCommand("copy");
  getSelection().removeAllRanges();
}

for (const source of document.querySelectorAll("pre[data-copy]")) {
  const name = `Copy: ${source.dataset.copy}`;
  const button = make("button", { type: "button", class: "copy", "aria-label": name }, "Copy");
  button.addEventListener("click", async () => {
    await copy(source);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  source.before(button);
}

for (const group of document.querySelectorAll("[data-tabs]")) {
  const panels = Array.from(group.querySelectorAll(":scope > [data-tab]"));
  const list = make("div", { role: "tablist", class: "tabs", "aria-label": group.dataset.tabs });
  const tabs = panels.map((panel) => make("button", {
    type: "button", role: "tab", id: `${panel.id}-tab`, "aria-controls": panel.id,
  }, panel.dataset.tab));
  const show = (chosen) => tabs.forEach((tab, at) => {
    tab.setAttribute("aria-selected", at === chosen);
    tab.tabIndex = at === chosen ? 0 : -1;
    panels[at].hidden = at !== chosen;
  });
  tabs.forEach((tab, at) => {
    const panel = panels[at];
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    panel.querySelector(".tab-name").hidden = true;
    tab.addEventListener("click", () => show(at));
    tab.addEventListener("keydown", (event) => {
      const next = {
        ArrowRight: (at + 1) % tabs.length,
        ArrowLeft: (at + tabs.length - 1) % tabs.length,
        Home: 0,
        End: tabs.length - 1,
      }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      show(next);
      tabs[next].focus();
    });
    list.append(tab);
  });
  group.prepend(list);
  show(0);
}

const folds = Array.from(document.querySelectorAll("details"));

// A link to what is folded opens it, also when it was closed again.
function reveal(id) {
  const target = id ? document.getElementById(id) : null;
  for (let it = target?.closest("details"); it; it = it.parentElement.closest("details")) it.open = true;
}
addEventListener("hashchange", () => reveal(location.hash.slice(1)));
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link) reveal(link.hash.slice(1));
});
reveal(location.hash.slice(1));

function setAll(open) {
  for (const it of folds) it.open = open;
  unfold.textContent = open ? "Close all sections" : "Open all sections";
}
const unfold = document.getElementById("unfold");
unfold.addEventListener("click", () => setAll(!folds.every((it) => it.open)));
addEventListener("beforeprint", () => setAll(true));
document.getElementById("unfold-place").hidden = false;

const form = document.getElementById("try-form");
const field = (name) => document.getElementById(`try-${name}`);
let running = null;
let failed = false;

function body() {
  const asked = { model: field("model").value.trim(), stream: field("stream").checked };
  const prompt = field("prompt").value;
  if (field("place").value === "text") asked.prompt = prompt;
  else asked.messages = [{ role: "user", content: prompt }];
  return asked;
}

function showText(answer) {
  for (const choice of answer.choices ?? []) {
    const part = choice.delta ?? choice.message ?? choice;
    field("text").append(part.content ?? part.text ?? "");
  }
}

// Beside the status, the id and the text so far.
function fail(why) {
  field("status").append(` · The stream failed: ${why}`);
  failed = true;
}

function showFrame(frame) {
  field("raw").append(`${frame}\n\n`);
  const lines = frame.split("\n");
  const data = lines.filter((it) => it.startsWith("data: ")).map((it) => it.slice(6)).join("\n");
  if (lines.includes("event: error")) fail(JSON.parse(data).error.message);
  else if (data && !lines.includes("event: done")) showText(JSON.parse(data));
}

async function showStream(response) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const frames = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = frames.pop();
    frames.forEach(showFrame);
  }
}

async function call(signal) {
  const response = await fetch(PLACES[field("place").value], {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-api-key": field("key").value.trim(),
      "x-tollgate-include-cost": "true",
    },
    body: JSON.stringify(body()),
    signal,
  });
  const headers = SHOWN_HEADERS.filter((name) => response.headers.has(name));
  field("status").textContent = [
    `HTTP ${response.status}`,
    ...headers.map((name) => `${name}: ${response.headers.get(name)}`),
  ].join(" · ");
  if ((response.headers.get("content-type") ?? "").startsWith("text/event-stream")) {
    try {
      await showStream(response);
    } catch (error) {
      if (signal.aborted) throw error;
      if (!failed) fail("the connection was aborted.");
    }
    return;
  }
  const answer = await response.json();
  field("raw").textContent = JSON.stringify(answer, null, 2);
  if (answer.error) field("text").textContent = answer.error.message;
  else showText(answer);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (running) return;
  running = new AbortController();
  failed = false;
  field("text").textContent = field("raw").textContent = "";
  field("status").textContent = "Waiting for the answer …";
  field("output").hidden = false;
  field("output").scrollIntoView({ block: "nearest" });
  field("stop").disabled = false;
  try {
    await call(running.signal);
  } catch (error) {
    const stopped = running.signal.aborted;
    field("status").textContent = stopped ? "Stopped." : `No answer: ${error.message}`;
  }
  running = null;
  field("stop").disabled = true;
});
field("stop").addEventListener("click", () => running?.abort());
// A page that comes back from the browser's cache has no key.
addEventListener("pagehide", () => { field("key").value = ""; });
form.hidden = false;
