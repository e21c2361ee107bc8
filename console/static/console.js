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
    request.onload = () => (request.status < 500 && request.response ? resolve(request.response) : reject(new Error(String(request.status))));
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
}

async function look() {
  if (document.visibilityState !== "visible") {
    return;
  }
  try {
    const state = await read(base + "state", "json");
    const age = document.getElementById("age");
    if (age) {
      age.textContent = state.age;
    }
    say(state.problem ? `Live data stopped: ${state.problem}. What is shown was read ${state.age}; the console tries again.` : "");
    if (String(state.generation) !== document.body.dataset.generation) {
      await refresh(state.generation);
    }
  } catch {
    say("Live data stopped: the console does not answer. Has it ended?");
  }
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
setInterval(look, pause);
