// The script of the dashboard. Every page works without it. It makes times local, lets commands be copied, and keeps pages live.
import {Idiomorph} from "./idiomorph.js";

const main = () => document.getElementById("main");
const told = document.getElementById("told");

// say tells users of screen readers.
function say(text) {
  told.textContent = "";
  requestAnimationFrame(() => { told.textContent = text; });
}

/* Times: the server sends UTC. */
const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const words = new Intl.RelativeTimeFormat("en", {numeric: "auto", style: "short"});
const full = new Intl.DateTimeFormat(undefined, {dateStyle: "medium", timeStyle: "medium"});

// relative returns a time as people say it, to the nearest unit; times more than a month away are dates.
function relative(at, now) {
  const seconds = (at - now) / 1000;
  if (Math.abs(seconds) > 30 * 86400) return full.format(at);
  if (Math.abs(seconds) < 1) return "now";
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size);
  return words.format(Math.trunc(seconds / size), unit);
}

/* People read times in their own zone. UTC is a choice that this browser keeps. */
const zoneKey = "perdure-utc";
const local = {day: new Intl.DateTimeFormat(undefined, {month: "short", day: "numeric"}), time: new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23"})};
let utc = false;
try {
  utc = localStorage.getItem(zoneKey) === "1";
} catch { /* storage is switched off */ }

const inUTC = (e) => e.dateTime.replace("T", " ").replace(/\.\d+Z$/, " UTC");

// clock returns the time of day, with the day if that is not today.
function clock(e, at, now) {
  if (utc) return e.dateTime.slice(0, 10) === new Date(now).toISOString().slice(0, 10) ? e.dateTime.slice(11) : e.dateTime.replace("T", " ");
  const today = new Date(now);
  return at.toDateString() === today.toDateString() ? local.time.format(at) : `${local.day.format(at)}${at.getFullYear() === today.getFullYear() ? "" : ` ${at.getFullYear()}`}, ${local.time.format(at)}`;
}

function showTimes(root = document) {
  const now = Date.now();
  for (const e of root.querySelectorAll("time[datetime]")) {
    const at = new Date(e.dateTime);
    const text = "clock" in e.dataset ? clock(e, at, now) : utc ? inUTC(e) : relative(at, now);
    if (e.textContent !== text) e.textContent = text;
    const title = `${full.format(at)} (${inUTC(e)})`;
    if (e.title !== title) e.title = title;
  }
}

const zone = document.getElementById("zone");

function showZone() {
  if (!zone) return;
  zone.hidden = false;
  zone.setAttribute("aria-pressed", String(utc));
}

function changeZone() {
  utc = !utc;
  try {
    localStorage.setItem(zoneKey, utc ? "1" : "");
  } catch { /* storage is switched off */ }
  showZone();
  showTimes();
  say(utc ? "Times are in UTC." : "Times are local.");
}

zone?.addEventListener("click", changeZone);

/* Copy: navigator.clipboard is missing where the page came over plain HTTP. */
async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return true;
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  let done = false;
  try {
    done = await copy(button.dataset.copy);
  } catch {
    done = false;
  }
  if (!button.dataset.label) button.dataset.label = button.innerHTML;
  button.textContent = done ? "Copied" : "Not copied";
  say(button.textContent);
  setTimeout(() => { button.innerHTML = button.dataset.label; }, 1500);
});

function showCopies(root = document) {
  for (const button of root.querySelectorAll("button[data-copy]")) button.hidden = false;
}

/* Choosing rows: boxes belong to a form by its ID, so that the rows of a live page can change around them. */
const boxes = (form) => [...document.querySelectorAll(`input[type="checkbox"][form="${form}"]`)];

function showChosen() {
  for (const count of document.querySelectorAll("[data-count]")) {
    const n = boxes(count.dataset.count).filter((box) => box.checked).length;
    const text = n ? ` (${n})` : "";
    if (count.textContent !== text) count.textContent = text;
  }
  for (const all of document.querySelectorAll("input[data-all]")) {
    const rows = boxes(all.dataset.all);
    const n = rows.filter((box) => box.checked).length;
    all.hidden = false;
    all.checked = n > 0 && n === rows.length;
    all.indeterminate = n > 0 && n < rows.length;
  }
}

document.addEventListener("change", (event) => {
  const all = event.target.closest("input[data-all]");
  if (all) for (const box of boxes(all.dataset.all)) box.checked = all.checked;
  showChosen();
});

/* A form that was refused because the session had ended: what was typed is kept in this tab alone. It comes back into the same form, for the same
   person, and is not sent. What is hidden in the form does not come back: the page says anew what it is about. Nor does what confirms that. */
const kept = "perdure-form";

function keep(form) {
  const fields = [...form.elements].filter((e) => e.name && e.type !== "hidden" && e.type !== "password" && e.tagName !== "BUTTON" && !e.dataset.anew)
    .map((e) => ({name: e.name, value: e.type === "checkbox" ? e.checked : e.value}));
  const entry = {address: location.pathname + location.search, who: document.body.dataset.who || "", fields, refused: false};
  try {
    sessionStorage.setItem(kept, JSON.stringify(entry));
  } catch { /* storage is switched off, or the text is too long */ }
}

function takeBack() {
  let entry;
  try {
    entry = JSON.parse(sessionStorage.getItem(kept) || "null");
    const refused = document.querySelector("[data-refused]");
    const login = document.querySelector("form.login");
    if (entry && refused) {
      entry.refused = true;
      sessionStorage.setItem(kept, JSON.stringify(entry));
    } else if (!login) {
      sessionStorage.removeItem(kept);
    }
    if (entry && entry.refused && (refused || login)) {
      const root = new URL(document.querySelector("a.brand").href).pathname.replace(/\/$/, "");
      const back = refused?.querySelector("a.button");
      if (login) login.elements.back.value = entry.address.slice(root.length);
      else if (back) back.href = entry.address;
      return;
    }
  } catch {
    return;
  }
  const form = document.querySelector("form[data-keep]");
  if (!form || !entry?.refused || entry.address !== location.pathname + location.search || entry.who !== (document.body.dataset.who || "")) return;
  for (const {name, value} of entry.fields) {
    const e = form.elements[name];
    if (!e || e.type === "hidden") continue;
    if (e.type === "checkbox") e.checked = value === true;
    else e.value = value;
  }
  const note = document.createElement("p");
  note.className = "warning";
  note.setAttribute("role", "status");
  note.textContent = "This is what you typed before your session ended. Nothing was sent: look at it, and send it again.";
  form.prepend(note);
}

document.addEventListener("submit", (event) => {
  if (event.target.matches("form[data-keep]")) keep(event.target);
});

/* Live pages: the same address is read again with the ETag of what is shown. */
const key = "perdure-paused";
const button = document.getElementById("live");
let etag = document.body.dataset.etag || "";
let wait = 0;
let failures = 0;
let reads = 0; // each 20th is a whole one, for the axis of the timeline, which moves although nothing changes
let timer = 0;

const paused = () => button?.getAttribute("aria-pressed") === "false";

// busy reports whether somebody reads or writes on the page: a change would take it away from under their eyes.
function busy() {
  if (document.hidden || paused()) return true;
  const focus = document.activeElement;
  if (focus && main().contains(focus) && focus.matches("input:not([type=checkbox]), select, textarea")) return true;
  const selection = document.getSelection();
  return Boolean(selection && !selection.isCollapsed && main().contains(selection.anchorNode));
}

function morph(text) {
  const next = new DOMParser().parseFromString(text, "text/html").getElementById("main");
  if (!next) return false;
  showTimes(next);
  showCopies(next);
  Idiomorph.morph(main(), next, {
    morphStyle: "outerHTML",
    restoreFocus: true,
    ignoreActiveValue: true,
    callbacks: {
      beforeNodeMorphed(from, to) {
        if (from.nodeName === "DETAILS" && to.nodeName === "DETAILS") to.open = from.open;
        if (from.type === "checkbox" && to.type === "checkbox") to.checked = from.checked;
        if (from.nodeName === "FORM") return false; // what was chosen and not yet sent stays
        return true;
      },
    },
  });
  showChosen();
  return true;
}

// refresh reads the page once. It returns false if the server cannot be reached or wants something else.
async function refresh() {
  const answer = await fetch(location.href, {
    headers: {"X-Perdure-Fragment": "1", "If-None-Match": ++reads % 20 ? etag : ""}, cache: "no-store", redirect: "error", signal: AbortSignal.timeout(15000),
  });
  if (answer.status === 304) return true;
  if (answer.status === 401) {
    location.reload();
    return true;
  }
  if (!answer.ok) return false;
  const text = await answer.text();
  if (!busy() && morph(text)) etag = answer.headers.get("ETag") || "";
  return true;
}

function show(state) {
  if (!button) return;
  button.classList.toggle("away", state === "away");
  const text = paused() ? "Paused" : state === "away" ? "Not reached" : "Live";
  const word = button.querySelector(".word");
  if (word.textContent !== text) {
    word.textContent = text;
    if (state === "away") say("The server is not reached. Trying again.");
  }
}

async function tick() {
  clearTimeout(timer);
  if (!busy()) {
    let well = false;
    try {
      well = await refresh();
    } catch {
      well = false;
    }
    failures = well ? 0 : failures + 1;
    show(failures > 1 ? "away" : "live");
  }
  showTimes();
  timer = setTimeout(tick, Math.min(wait * 2 ** Math.min(failures, 4), 60000));
}

function startLive() {
  const seconds = Number(main()?.dataset.live);
  if (!button || !seconds) return;
  wait = seconds * 1000;
  button.hidden = false;
  let choice = "";
  try {
    choice = localStorage.getItem(key) || "";
  } catch { /* storage is switched off */ }
  if (choice === "1") button.setAttribute("aria-pressed", "false");
  show("live");
  button.addEventListener("click", () => {
    const stop = !paused();
    button.setAttribute("aria-pressed", String(!stop));
    try {
      localStorage.setItem(key, stop ? "1" : "");
    } catch { /* storage is switched off */ }
    show("live");
    say(stop ? "The page stays as it is." : "The page is live.");
    if (!stop) tick();
  });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && !paused()) tick(); });
  timer = setTimeout(tick, wait);
}

/* Keys, of which ? tells. None works while somebody types. */
const keys = document.getElementById("keys");

// search goes to the box of the page's search, or else to the one that finds an instance.
function search() {
  const box = document.querySelector('[data-focus="/"]') || document.getElementById("find");
  box?.focus();
  box?.select();
}

const toggleKeys = () => { if (keys.open) keys.close(); else keys.showModal(); };
const bound = {
  "?": toggleKeys,
  "/": search,
  "u": changeZone,
  "p": () => button?.click(),
};

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input:not([type=checkbox]), select, textarea, [contenteditable]");
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing || !Object.hasOwn(bound, event.key)) return;
  if (keys?.open && event.key !== "?") return;
  event.preventDefault();
  bound[event.key]();
});

for (const open of document.querySelectorAll("button.keyboard")) {
  open.hidden = false;
  open.addEventListener("click", toggleKeys);
}

takeBack();
showZone();
showTimes();
showCopies();
showChosen();
startLive();
