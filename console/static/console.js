// What this adds to pages that are complete without it: newer data while the page is
// shown, keys, and buttons that copy. It writes text and nodes that the browser parsed as
// a document without scripts, never markup.

const base = document.body.dataset.base;
const pause = 5000;

// A page that is typed in, or that has the focus in its content, is not changed under the
// hands of the user.
function busy(region) {
  const at = document.activeElement;
  return region.contains(at) && at !== region || !document.getSelection().isCollapsed;
}

function read(address, type) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = type;
    request.timeout = 60000;
    request.onload = () => {
      if (request.status === 401) { // the session has ended: what is shown goes, and the log-in comes
        location.reload();
      }
      if (request.status < 500 && request.response) {
        resolve(request.response);
      } else {
        reject(new Error(String(request.status)));
      }
    };
    request.onerror = request.ontimeout = () => reject(new Error("no answer"));
    request.send();
  });
}

function say(text) {
  const live = document.getElementById("live");
  if (live.textContent === text) {
    return;
  }
  live.replaceChildren();
  if (text) {
    const line = document.createElement("p");
    line.className = "note bad";
    line.textContent = text;
    live.append(line);
  }
}

async function refresh(generation) {
  const region = document.querySelector("[data-live]");
  if (busy(region)) {
    return;
  }
  const page = await read(location.href, "document");
  const newer = page.querySelector("[data-live]");
  if (!newer && page.querySelector("main.login")) {
    location.reload();
  }
  if (!newer || busy(region)) {
    return;
  }
  for (const open of region.querySelectorAll("details[open] > summary")) {
    for (const summary of newer.querySelectorAll("details > summary")) {
      if (summary.textContent === open.textContent) {
        summary.parentElement.open = true;
      }
    }
  }
  if (newer.isEqualNode(region) === false) {
    region.replaceWith(document.adoptNode(newer));
    addCopyButtons();
  }
  document.body.dataset.generation = generation;
  document.body.dataset.every = page.body.dataset.every || 0;
}

// What is known of the data, and when there was word of the console. Times are those of this
// machine, which the console runs on, too.
let known = { generation: Number(document.body.dataset.generation), at: 0, problem: "" };
let heard = 0;
let renewing = false;
let renewed = Date.now();

function age() {
  const seconds = Math.round((Date.now() - known.at) / 1000);
  return seconds < pause / 1000 + 1 ? "now" : `${seconds} s ago`;
}

async function take(state) {
  heard = Date.now();
  known = state;
  say(state.problem ? `Live data stopped: ${state.problem}. What is shown was read ${age()}; the console tries again.` : "");
  await renew();
}

async function renew() {
  const every = Number(document.body.dataset.every || 0) * 1000;
  const due = String(known.generation) !== document.body.dataset.generation || every > 0 && Date.now() - renewed > every;
  if (!due || renewing || document.visibilityState !== "visible") {
    return;
  }
  renewing = true;
  try {
    await refresh(known.generation);
    renewed = Date.now();
  } catch {
    heard = 0;
  } finally {
    renewing = false;
  }
}

// Browsers have few connections to a host. Of the tabs that are shown, one holds a stream and
// tells the others; it is the one that has the lock.
const others = new BroadcastChannel(`fairlead ${base}`);
let leave = null;

function lead() {
  if (document.visibilityState !== "visible") {
    leave?.();
    leave = null;
    return;
  }
  if (leave || !navigator.locks) {
    return;
  }
  const waiting = new AbortController();
  leave = () => waiting.abort();
  navigator.locks.request(`fairlead ${base}`, { signal: waiting.signal }, () => new Promise((done) => {
    const source = new EventSource(`${base}live`);
    const pulse = setInterval(() => {
      if (source.readyState === EventSource.OPEN) {
        heard = Date.now();
        others.postMessage(null);
      } else if (source.readyState === EventSource.CLOSED) {
        leave();
        leave = null; // and the next look tries again
      }
    }, pause);
    source.addEventListener("objects", (event) => {
      const state = JSON.parse(event.data);
      others.postMessage(state);
      take(state);
    });
    leave = () => {
      clearInterval(pulse);
      source.close();
      done();
    };
  })).catch(() => {});
}

function listen() {
  others.addEventListener("message", (event) => {
    heard = Date.now();
    if (event.data) {
      take(event.data);
    }
  });
  document.addEventListener("visibilitychange", lead);
  lead();
}

// look asks if there was no word for a while.
async function look() {
  const shown = document.getElementById("age");
  if (shown && known.at > 0) {
    shown.textContent = age();
  }
  if (document.visibilityState !== "visible") {
    return;
  }
  lead();
  if (Date.now() - heard < 2 * pause) {
    await renew();
    return;
  }
  try {
    await take(await read(`${base}state`, "json"));
  } catch {
    say("Live data stopped: the console does not answer. Has it ended?");
  }
}

// What is typed into the filter of a list renews the list, without another page: the field keeps
// the focus. A text that is not understood, or not yet, changes nothing.
function filters() {
  const found = document.createElement("p");
  found.className = "unseen";
  found.setAttribute("role", "status");
  document.getElementById("main").append(found);
  let asking = false;
  let again = false;
  let said = 0;
  const narrow = async (form) => {
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    try {
      do {
        again = false;
        const address = `${form.action}?${new URLSearchParams(new FormData(form))}`;
        replaceList(form, await read(address, "document"), address);
      } while (again);
    } catch {
      // The text is still there, and Enter asks again.
    } finally {
      asking = false;
    }
    clearTimeout(said);
    said = setTimeout(() => {
      found.textContent = document.querySelector("#window, #content > .empty")?.textContent || "";
    }, 1000);
  };
  document.addEventListener("input", (event) => {
    const form = event.target.closest("form.query");
    if (form && event.target.id === "q") {
      narrow(form);
    }
  });
}

// replaceList puts what follows the form of another page in the place of what follows this one.
function replaceList(form, page, address) {
  const newer = page.querySelector("form.query");
  if (!newer || newer.querySelector("[aria-invalid]") || !form.isConnected) {
    return;
  }
  const after = (of) => [...of.parentElement.children].filter((e) => of.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING && !e.matches("details.help"));
  form.querySelector("#q").removeAttribute("aria-invalid");
  for (const old of after(form)) {
    old.remove();
  }
  form.parentElement.append(...after(newer).map((e) => document.adoptNode(e)));
  history.replaceState(null, "", address);
}

function addCopyButtons() {
  for (const code of document.querySelectorAll("code.copy:not([data-copy])")) {
    code.dataset.copy = "";
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    const done = document.createElement("span");
    done.setAttribute("role", "status");
    done.className = "copied";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      done.textContent = "copied";
    });
    code.after(" ", button, done);
  }
}

function keys() {
  const dialog = document.getElementById("keys");
  const on = document.getElementById("keys-on");
  on.checked = localStorage.getItem("fairlead-keys") !== "off";
  on.addEventListener("change", () => localStorage.setItem("fairlead-keys", on.checked ? "on" : "off"));
  const open = document.getElementById("keys-open");
  open.hidden = false;
  open.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.showModal();
  });
  let going = false;
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, dialog");
    if (!on.checked || typing || event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    const go = going && document.querySelector(`nav [data-key="${CSS.escape(event.key)}"]`);
    going = event.key === "g";
    if (go) {
      go.click();
    } else if (event.key === "/") {
      event.preventDefault();
      (document.getElementById("q") || document.getElementById("find")).focus();
    } else if (event.key === "?") {
      dialog.showModal();
    }
  });
}

function colours() {
  const choice = document.getElementById("scheme");
  const show = () => {
    document.documentElement.dataset.scheme = choice.value;
  };
  choice.value = localStorage.getItem("fairlead-colours") || "";
  choice.addEventListener("change", () => {
    localStorage.setItem("fairlead-colours", choice.value);
    show();
  });
  show();
  document.getElementById("colours").hidden = false;
}

addCopyButtons();
colours();
keys();
filters();
listen();
setInterval(look, pause);
