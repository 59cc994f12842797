// Refreshes a page's figures in place, every 30 seconds, while its button says so. Neither focus,
// scroll position nor open details change. Without this script, the page is complete as it came.
"use strict";

const EVERY_MS = 30000;

const form = document.querySelector("form[data-refresh]");
let isWaiting = false;

async function refresh() {
  if (form?.dataset.refresh !== "on" || document.hidden || isWaiting || isBusy()) return;
  let html;
  isWaiting = true;
  try {
    const response = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!response.ok || response.redirected) return;
    html = await response.text();
  } catch {
    return; // The next one may succeed.
  } finally {
    isWaiting = false;
  }
  if (isBusy()) return;
  const next = new DOMParser().parseFromString(html, "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = next.querySelector(`[data-live="${part.dataset.live}"]`);
    if (other) replace(part, other);
  }
}

// Whether the user is at something that a replacement would take away.
function isBusy() {
  const live = (node) => node instanceof Element && node.closest("[data-live]");
  const selection = getSelection();
  const selects = !selection.isCollapsed && live(selection.anchorNode?.parentElement);
  return Boolean(selects || live(document.activeElement));
}

function replace(part, other) {
  for (const details of part.querySelectorAll("details[open][id]")) {
    other.querySelector(`#${CSS.escape(details.id)}`)?.setAttribute("open", "");
  }
  const scrolled = Array.from(part.querySelectorAll("details[open] .tall"), (it) => it.scrollTop);
  part.replaceChildren(...other.childNodes);
  part.querySelectorAll("details[open] .tall").forEach((it, at) => (it.scrollTop = scrolled[at]));
}

setInterval(refresh, EVERY_MS);
