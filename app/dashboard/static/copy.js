// Adds a button that copies an id. Without this script, one click selects the whole id.
"use strict";

for (const source of document.querySelectorAll("[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(source.textContent.trim());
    button.textContent = "Copied";
  });
  if (navigator.clipboard) source.after(" ", button);
}
